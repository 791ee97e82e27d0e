"""Exponential time differencing Runge–Kutta methods: exact for n constant, no step limit from A.

The tables leave out the first column, see :mod:`gleg_integrators.exponential`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gleg_core.spec.params import PackParams
from gleg_integrators.exponential import ExponentialRungeKutta, ExponentialTable, phi

HALF = 0.5

# Cox & Matthews, J. Comput. Phys. 176 (2002), eqs. 22 and 26–29
ETDRK2 = ExponentialTable(order=2, c=(0.0, 1.0), rows=({}, {}), weights={2: phi(2)})

MIDDLE = 4.0 * phi(2) - 8.0 * phi(3)
"""Weight of abscissa ½ in the exponential Simpson rule; φ_1 − 3φ_2 + 4φ_3 belongs to 0 and the next one to 1."""
END = 4.0 * phi(3) - phi(2)

COX_MATTHEWS = ExponentialTable(
    order=4,
    c=(0.0, HALF, HALF, 1.0),
    rows=({}, {}, {2: 0.5 * phi(1, HALF)}, {3: phi(1, HALF)}),
    weights={2: 0.5 * MIDDLE, 3: 0.5 * MIDDLE, 4: END},
)

# Krogstad, J. Comput. Phys. 203 (2005), eq. 51
KROGSTAD = ExponentialTable(
    order=4,
    c=(0.0, HALF, HALF, 1.0),
    rows=({}, {}, {2: phi(2, HALF)}, {3: 2.0 * phi(2)}),
    weights={2: 0.5 * MIDDLE, 3: 0.5 * MIDDLE, 4: END},
)

# Hochbruck & Ostermann, SIAM J. Numer. Anal. 43 (2005), eq. 5.19: stiff order 4
A52 = 0.5 * phi(2, HALF) - phi(3) + 0.25 * phi(2) - 0.5 * phi(3, HALF)
HOCHBRUCK_OSTERMANN = ExponentialTable(
    order=4,
    c=(0.0, HALF, HALF, 1.0, HALF),
    rows=({}, {}, {2: phi(2, HALF)}, {2: phi(2), 3: phi(2)}, {2: A52, 3: A52, 4: 0.25 * phi(2, HALF) - A52}),
    weights={4: END, 5: MIDDLE},
)

# The same stages; replacing n_5 by (n_2 + n_3)/2 leaves order 3, as the errors of U_2 and U_3 at order 2 cancel.
HOCHBRUCK_OSTERMANN_43 = ExponentialTable(
    order=4,
    c=HOCHBRUCK_OSTERMANN.c,
    rows=HOCHBRUCK_OSTERMANN.rows,
    weights=HOCHBRUCK_OSTERMANN.weights,
    embedded={2: 0.5 * MIDDLE, 3: 0.5 * MIDDLE, 4: END},
)

SCHEMES = {"cox-matthews": COX_MATTHEWS, "krogstad": KROGSTAD, "hochbruck-ostermann": HOCHBRUCK_OSTERMANN}


class Etdrk2Params(PackParams):
    """The method has no parameters."""


class Etdrk2(ExponentialRungeKutta):
    """Exponential Heun method, order 2, also for stiff problems (Cox & Matthews 2002)."""

    def __init__(self, params: Etdrk2Params) -> None:
        super().__init__(params, ETDRK2)


class Etdrk4Params(PackParams):
    scheme: Literal["cox-matthews", "krogstad", "hochbruck-ostermann"] = Field(
        "hochbruck-ostermann",
        description="hochbruck-ostermann has 5 stages and keeps its order in stiff problems; the others have 4 and lose "
        "up to one order and a half where the forcing does not vanish on the boundary",
    )


class Etdrk4(ExponentialRungeKutta):
    """Exponential Runge–Kutta method of order 4."""

    def __init__(self, params: Etdrk4Params) -> None:
        super().__init__(params, SCHEMES[params.scheme])


class ExponentialAdaptiveParams(PackParams):
    """The method has no parameters."""


class ExponentialAdaptive(ExponentialRungeKutta):
    """Hochbruck–Ostermann 4(3): error = h (4φ_2 − 8φ_3)(hA) [n_5 − (n_2 + n_3)/2]."""

    def __init__(self, params: ExponentialAdaptiveParams) -> None:
        super().__init__(params, HOCHBRUCK_OSTERMANN_43)
