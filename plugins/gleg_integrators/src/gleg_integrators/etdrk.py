"""Exponential time differencing Runge–Kutta methods: exact for n constant, no step limit from A.

The tables leave out the first column, see :mod:`gleg_integrators.exponential`.
"""

from gleg_integrators.exponential import ExponentialRungeKutta, ExponentialTable, PhiSum, phi
from gleg_integrators.params import Etdrk4Params

HALF = 0.5

# Cox & Matthews, J. Comput. Phys. 176 (2002)
ETDRK2 = ExponentialTable(order=2, c=(0.0, 1.0), rows=({}, {}), weights={2: phi(2)})


def quadratic(c: float) -> tuple[PhiSum, PhiSum]:
    """Weights of the abscissae c and 1 in the exponential quadrature through 0, c and 1, exact for quadratic n(t)."""
    inner = 1.0 / (c * (1.0 - c)) * (phi(2) - 2.0 * phi(3))
    return inner, phi(2) - c * inner


MIDDLE, END = quadratic(HALF)  # 4φ_2 − 8φ_3 and −φ_2 + 4φ_3

COX_MATTHEWS = ExponentialTable(
    order=4,
    c=(0.0, HALF, HALF, 1.0),
    rows=({}, {}, {2: 0.5 * phi(1, HALF)}, {3: phi(1, HALF)}),
    weights={2: 0.5 * MIDDLE, 3: 0.5 * MIDDLE, 4: END},
)

# Krogstad, J. Comput. Phys. 203 (2005)
KROGSTAD = ExponentialTable(
    order=4,
    c=(0.0, HALF, HALF, 1.0),
    rows=({}, {}, {2: phi(2, HALF)}, {3: 2.0 * phi(2)}),
    weights={2: 0.5 * MIDDLE, 3: 0.5 * MIDDLE, 4: END},
)

# Hochbruck & Ostermann, SIAM J. Numer. Anal. 43 (2005): stiff order 4
A52 = 0.5 * phi(2, HALF) - phi(3) + 0.25 * phi(2) - 0.5 * phi(3, HALF)
HOCHBRUCK_OSTERMANN = ExponentialTable(
    order=4,
    c=(0.0, HALF, HALF, 1.0, HALF),
    rows=({}, {}, {2: phi(2, HALF)}, {2: phi(2), 3: phi(2)}, {2: A52, 3: A52, 4: 0.25 * phi(2, HALF) - A52}),
    weights={4: END, 5: MIDDLE},
)

# A sixth stage at ¼ with error O(h³), and the quadrature through 0, ¼ and 1: order 3, stiff problems included. Without
# another abscissa an estimate of order 3 is blind to the error in a forcing n(t): the weights of 0, ½, 1 are unique.
QUARTER = 0.25
NEAR, FAR = quadratic(QUARTER)
HOCHBRUCK_OSTERMANN_43 = ExponentialTable(
    order=4,
    c=(*HOCHBRUCK_OSTERMANN.c, QUARTER),
    rows=(*HOCHBRUCK_OSTERMANN.rows, {2: QUARTER**2 * phi(2, QUARTER), 3: QUARTER**2 * phi(2, QUARTER)}),
    weights=HOCHBRUCK_OSTERMANN.weights,
    embedded={4: FAR, 6: NEAR},
)

SCHEMES = {"cox-matthews": COX_MATTHEWS, "krogstad": KROGSTAD, "hochbruck-ostermann": HOCHBRUCK_OSTERMANN}


class Etdrk2(ExponentialRungeKutta):
    """Exponential Heun method, order 2, also for stiff problems (Cox & Matthews 2002)."""

    table = ETDRK2


class Etdrk4(ExponentialRungeKutta):
    """Exponential Runge–Kutta method of order 4."""

    def __init__(self, params: Etdrk4Params) -> None:
        self.table = SCHEMES[params.scheme]
        super().__init__(params)


class ExponentialAdaptive(ExponentialRungeKutta):
    """Hochbruck–Ostermann of order 4, compared with exponential quadrature through 0, ¼ and 1 of order 3."""

    table = HOCHBRUCK_OSTERMANN_43
