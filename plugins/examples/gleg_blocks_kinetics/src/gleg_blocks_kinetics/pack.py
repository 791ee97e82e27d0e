"""Entry point of the pack ``kinetics``: reaction terms, one function each. The first argument is the field of the equation."""

from typing import TYPE_CHECKING, Annotated

from gleg_core.mechanisms import Formula, NonNegative, Number, Positive, blocks, pointwise

if TYPE_CHECKING:
    from torch import Tensor

CONTRACT = (3, 0)

Feed = Annotated[NonNegative, "F, rate of supply"]
Conversion = Annotated[Positive, "rate of conversion of u into v"]
Supply = Annotated[NonNegative, "supply"]
Scale = Annotated[Positive, "γ, speed of the reaction"]


@pointwise("logistic growth r u (1 − u/c)", degree=2, examples=({"rate": 1},))
def logistic(
    u: "Tensor", *, rate: Annotated[Number, "r, 1/time"], capacity: Annotated[Positive, "c, where growth ends"] = 1.0
) -> "Tensor":
    return rate * u * (1 - u / capacity)


@pointwise("Gray–Scott, substrate: −u v² + F (1 − u)", degree=3, examples=({"feed": 0.04},))
def gray_scott_u(u: "Tensor", v: "Tensor", *, feed: Feed) -> "Tensor":
    return -u * v**2 + feed * (1 - u)


@pointwise("Gray–Scott, activator: u v² − (F + κ) v", degree=3, examples=({"of": "v", "feed": 0.04, "kill": 0.06},))
def gray_scott_v(
    v: "Tensor", u: "Tensor", *, feed: Feed, kill: Annotated[NonNegative, "κ, rate of removal"]
) -> "Tensor":
    return u * v**2 - (feed + kill) * v


@pointwise("FitzHugh–Nagumo, voltage: v − v³/3 − w + I", degree=3, examples=({"w": "v", "current": 0.5},))
def fitzhugh_nagumo_v(v: "Tensor", w: "Tensor", *, current: Annotated[Formula, "I(x, t), stimulus"] = 0.0) -> "Tensor":
    return v - v**3 / 3 - w + current


# affine, not linear: degree 1 would promise L(0) = 0
@pointwise("FitzHugh–Nagumo, recovery: ε (v + a − b w)", examples=({"epsilon": 0.08, "a": 0.7, "b": 0.8},))
def fitzhugh_nagumo_w(
    w: "Tensor",
    v: "Tensor",
    *,
    epsilon: Annotated[Positive, "ε, ratio of time scales"],
    a: Annotated[Number, "a, excitation threshold"],
    b: Annotated[Number, "b, damping of the recovery"],
) -> "Tensor":
    return epsilon * (v + a - b * w)


@pointwise("Brusselator, activator: A − (B + 1) u + u² v", degree=3, examples=({"A": 1, "B": 2},))
def brusselator_u(u: "Tensor", v: "Tensor", *, A: Annotated[Positive, "supply"], B: Conversion) -> "Tensor":
    return A - (B + 1) * u + u**2 * v


@pointwise("Brusselator, inhibitor: B u − u² v", degree=3, examples=({"of": "v", "B": 2},))
def brusselator_v(v: "Tensor", u: "Tensor", *, B: Conversion) -> "Tensor":
    return B * u - u**2 * v


@pointwise("Schnakenberg, activator: γ (a − u + u² v)", degree=3, examples=({"a": 0.1},))
def schnakenberg_u(u: "Tensor", v: "Tensor", *, a: Supply, gamma: Scale = 1.0) -> "Tensor":
    return gamma * (a - u + u**2 * v)


@pointwise("Schnakenberg, substrate: γ (b − u² v)", degree=3, examples=({"of": "v", "b": 0.9},))
def schnakenberg_v(v: "Tensor", u: "Tensor", *, b: Supply, gamma: Scale = 1.0) -> "Tensor":
    return gamma * (b - u**2 * v)


gleg_blocks = blocks(
    logistic,
    gray_scott_u,
    gray_scott_v,
    fitzhugh_nagumo_v,
    fitzhugh_nagumo_w,
    brusselator_u,
    brusselator_v,
    schnakenberg_u,
    schnakenberg_v,
)
