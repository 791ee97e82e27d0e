"""Checks of the contract Block: its interface. Every response is a pure function of the jets it is given."""

from dataclasses import replace
from typing import get_args

import torch
from torch import Tensor

from gleg_conformance.block_states import Bound, Waves, apart, bound, evaluate_watched, fields_read, gap, reference_of
from gleg_conformance.components import generator_states
from gleg_conformance.kit import Finding, applies_if, check, not_applicable, require
from gleg_core.contracts.block import Mode, Structure
from gleg_core.contracts.location import Location
from gleg_core.errors import GlegError

_ROUNDING = 1e-13


@check("block", group="interface", of=bound)
def declared_modes_work(made: Bound) -> None:
    """Traits are well formed, every declared realisation exists, and responses have their points last."""
    traits, block, n = made.traits, made.block, len(made.at.x)
    require(traits.structure in get_args(Structure), f"structure {traits.structure!r} is none of E, H, R, auxiliary")
    require(traits.modes, "no realisation is declared: traits.modes is empty")
    unknown = [m for m in traits.modes if m not in get_args(Mode)]
    require(not unknown, f"unknown realisations {unknown} in traits.modes; possible: {list(get_args(Mode))}")
    require(traits.order >= 0 and (traits.degree is None or traits.degree >= 0), "order and degree cannot be negative")
    beyond = [k for k in traits.weak_traces if not 0 <= k < max(traits.order, 1)]
    require(not beyond, f"weak_traces {traits.weak_traces}: a weak form of order {traits.order} has no trace {beyond}")
    c = made.state(3)
    inside, edge = made.jets(c, made.at), made.jets(c, made.edge)
    outputs = {"pointwise": block.pointwise(inside, made.at)}
    if (exact := reference_of(block, inside, made.at)) is not None:
        outputs["reference"] = exact
    if "weak" in traits.modes:
        weak = block.weak(inside, made.at)
        for alpha in weak:
            good = isinstance(alpha, tuple) and len(alpha) == made.dim and all(type(a) is int and a >= 0 for a in alpha)
            require(good, f"weak: {alpha!r} is not a multi-index of {made.dim} dimensions, such as {(1,) * made.dim}")
        outputs |= {f"weak {alpha}": values for alpha, values in weak.items()}
        if (boundary := block.weak_boundary(edge, made.edge)) is not None:
            outputs["weak_boundary"] = boundary
    for name, values in outputs.items():
        require(isinstance(values, Tensor), f"{name} returned {type(values).__name__} instead of a tensor")
        shape = tuple(values.shape)
        fits = shape[-1:] in ((n,), (1,), ()) and shape[:-1] in ((3,), (1,), ())
        require(fits, f"{name} returned shape {shape} for 3 states at {n} points, allowed is (3, {n})")
    if "ambient" in traits.modes and made.basis is not None:
        require(
            block.acts_on in made.fields,
            f"a block with an ambient map must say which field it acts_on: {block.acts_on!r}",
        )
        made.responses(c)


@check("block", group="interface", of=bound)
def listing_tells_the_traits(made: Bound) -> None:
    """Structure, order, degree and modes in the entry's capabilities are those of the block."""
    stated, traits = made.subject.capabilities, made.traits
    plain = {
        "structure": stated.structure in get_args(Structure),
        "order": isinstance(stated.order, int),
        "degree": isinstance(stated.degree, int),
        "modes": stated.modes and set(stated.modes) <= set(get_args(Mode)),
    }
    applies_if(any(plain.values()), "the entry states no structure, order, degree or modes as plain values")
    for key in (key for key, is_plain in plain.items() if is_plain):
        said, true = (sorted(getattr(t, key)) if key == "modes" else getattr(t, key) for t in (stated, traits))
        require(said == true, f"the entry says {key} {said!r}, the block's traits say {true!r}")


@check("block", group="interface", of=bound)
def reads_the_field_it_names(made: Bound) -> None:
    """A linear block of one field names it in acts_on, and a block reads no other field than acts_on."""
    names, named = fields_read(made), made.block.acts_on
    if made.traits.degree == 1 and len(names) == 1:
        only = next(iter(names))
        require(named == only, f"it is linear and reads the field '{only}' alone, but acts_on is {named!r}: core assembles its "
                "matrix only if acts_on names that field")  # fmt: skip
    applies_if(named is not None, "it reads several fields or none, or is not linear")
    require(names <= {named}, f"acts_on is '{named}', but it reads {', '.join(sorted(names))}")


@check("block", group="interface", of=bound)
def batches_agree(made: Bound) -> Finding:
    """A stack of states gives the stack of responses, for any leading dimensions, empty ones included."""
    c = made.state(2, 3)
    together = made.responses(c)
    rows = [[made.responses(c[i, j]) for j in range(3)] for i in range(2)]
    single = {k: torch.stack([torch.stack([r[k] for r in row]) for row in rows]) for k in together}
    order = torch.tensor([2, 0, 1])
    permuted = {k: v[:, torch.argsort(order)] for k, v in made.responses(c[:, order]).items()}
    one = {k: v[None] for k, v in made.responses(c[:1, :1]).items()}
    first = {k: v[:1, :1][None] for k, v in together.items()}
    for name, values in made.responses(c[:, :0]).items():
        require(values.shape[:2] == (2, 0), f"{name} of no states has the shape {tuple(values.shape)}")
    gaps = [apart(together, single), apart(together, permuted), apart(one, first)]
    return Finding.worst(gaps, _ROUNDING, "a batch against single states")


@check("block", group="interface", of=bound)
def many_times_at_once(made: Bound) -> Finding:
    """With a column of times (T, 1) the reference gives one row per time."""
    times = torch.tensor([[0.1], [0.7], [1.9]], dtype=torch.float64)
    c = made.state(3)
    inside = made.jets(c, made.at)
    rows = reference_of(made.block, inside, made.at.moment(times))
    if rows is None:
        not_applicable("it was learned from data: there is no formula")
    single = [made.block.reference(made.jets(c[i], made.at), made.at.moment(float(t))) for i, t in enumerate(times)]
    shape = (3, len(made.at.x))
    difference = gap(rows.expand(shape), torch.stack([s.expand(shape[1:]) for s in single]))
    return Finding(difference, _ROUNDING, "reference at three times at once against one at a time")


@check("block", group="interface", of=bound)
def double_precision_throughout(made: Bound) -> Finding:
    """Double precision in gives double precision out, and no digit is lost inside."""
    c = made.state()
    base = made.responses(c)
    for name, values in base.items():
        require(values.dtype == torch.float64, f"{name} returned {values.dtype} for double precision (torch.float64)")
    # a change of 1e-8 must give the slope that a change of 1e-4 gives: single precision has noise of 1e-7 there
    close, far = 1e-8, 1e-4
    plus, minus, near = (made.responses(c * (1 + s)) for s in (far, -far, close))
    gaps = [(0.0, "all")]
    for name, values in base.items():
        slope, fine = (plus[name] - minus[name]) / (2 * far), (near[name] - values) / close
        size = max(float(values.abs().max()), float(slope.abs().max()), 1e-300)
        gaps.append((float((fine - slope).abs().max()) / size, name))
    return Finding.worst(gaps, 1e-4, "slope at a small step against that at a large one")


@check("block", group="interface", of=bound)
def single_precision_not_mixed(made: Bound) -> None:
    """Single precision in gives single precision out, or a clear refusal: nothing is raised to double silently."""
    waves = Waves(made.waves.wavevectors.float(), made.waves.phases.float())
    single = replace(made, waves=waves, at=_single(made.at), edge=_single(made.edge), basis=None)
    try:
        outputs = single.responses(made.state().float())
    except GlegError:
        return
    for name, values in outputs.items():
        require(values.dtype == torch.float32, f"{name} returned {values.dtype} for single precision (torch.float32)")


def _single(at: Location) -> Location:
    normal, weights = (None if tensor is None else tensor.float() for tensor in (at.normal, at.weights))
    return Location(at.x.float(), at.t, normal, weights)


@check("block", group="interface", of=bound)
def inputs_left_alone(made: Bound) -> None:
    """Evaluation changes neither the fields nor the points it is given."""
    handed: list[tuple[str, Tensor, Tensor]] = []
    for place, at in (("points", made.at), ("boundary points", made.edge)):
        for what in ("x", "normal", "weights"):
            if (tensor := getattr(at, what)) is not None:
                handed.append((f"{what} of the {place}", tensor, tensor.clone()))
    evaluate_watched(made, lambda name, alpha, values: handed.append((f"∂^{alpha} of {name}", values, values.clone())))
    if made.basis is not None:
        a = made.mixing[0].clone()
        handed.append(("coefficients", a, a.clone()))
        made.block.ambient(made.basis, str(made.block.acts_on))(a)
    for what, now, before in handed:
        require(torch.equal(now, before), f"{what} was modified in place by {type(made.block).__name__}")


@check("block", group="interface", of=bound)
def same_answer_every_time(made: Bound) -> None:
    """The same state gives the same bits, whatever was evaluated before."""
    c, other = made.state(2)
    first = made.responses(c)
    made.responses(other)
    made.moment(1.1).responses(other)
    for name, values in made.responses(c).items():
        require(torch.equal(values, first[name]), f"{name} of the same state differs after other states were evaluated: "
                f"by {float((values - first[name]).abs().max()):.2g}")  # fmt: skip


@check("block", group="interface", of=bound)
def random_numbers_left_alone(made: Bound) -> None:
    """Evaluation draws no global random numbers."""
    c = made.state()
    before = generator_states()
    made.responses(c)
    for name, state in generator_states().items():
        require(state == before[name], f"it draws from {name}'s global generator")


@check("block", group="interface", of=bound)
def gradients_on_or_off(made: Bound) -> Finding:
    """Responses are the same with and without gradients, and carry no graph unless a state does."""
    c = made.state()
    with torch.no_grad():
        off = made.responses(c)
    plain = made.responses(c)
    kept = [name for name, values in plain.items() if values.requires_grad]
    require(not kept, f"{', '.join(kept)} carries a graph for a state that needs no gradient: freeze the parameters")
    on = {k: v.detach() for k, v in made.responses(c.clone().requires_grad_()).items()}
    return Finding.worst([apart(off, on), apart(off, plain)], _ROUNDING, "with against without gradients")


@check("block", group="interface", of=bound)
def not_a_number_stays(made: Bound) -> None:
    """A state that is not a number is not turned into one."""
    applies_if(made.traits.degree != 0, "it does not read the fields")
    first, second = made.state(2)
    a, b = made.responses(first), made.responses(second)
    for name, values in made.responses(torch.full_like(first, torch.nan)).items():
        lost = (a[name] != b[name]) & torch.isfinite(values)
        require(not bool(lost.any()), f"{name} is finite at {int(lost.sum())} points where the state is not a number: leave it, so "
                "that core can say where a solution broke down")  # fmt: skip
