"""How well a space represents the initial states of a problem."""

import math
from collections.abc import Iterable, Mapping

from gleg_core.algebra.boundary_system import spread
from gleg_core.system.discrete_field import DiscreteField
from gleg_core.system.sources import NodalSource


def representation_errors(
    fields: Iterable[DiscreteField], functions: Mapping[str, NodalSource], start: float
) -> dict[str, float]:
    """‖u − Pu‖/‖u‖ on Ω of the initial field u of every field that evolves, Pu its projection on the admissible space."""
    found = {}
    for field in fields:
        if field.name in functions:
            values = spread(functions[field.name](field.interior.at.moment(start)), field.interior.at)
            theta = field.theta(start)
            closest = field.interior.of_state(field.state_of(values, theta), theta).value
            missed = (closest - values) ** 2 @ field.space.weights
            size = values**2 @ field.space.weights
            found[field.name] = math.sqrt(float(missed / size)) if float(size) > 0 else 0.0
    return found
