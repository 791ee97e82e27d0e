"""Checks of the contract Block: its interface. Every response is a pure function of the jets it is given."""

import random
from dataclasses import replace
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from gleg_conformance.block_states import Responses, apart, bound, reads, reference_of, worst
from gleg_conformance.kit import Finding, Subject, check, not_applicable, require
from gleg_core.contracts.block import Mode, Structure
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location
from gleg_core.errors import GlegError

_ROUNDING = 1e-13


@check("block", group="interface")
def declared_modes_work(subject: Subject) -> None:
    """Traits are well formed, every declared realisation exists, and responses have their points last."""
    made = bound(subject)
    traits, block, n = made.block.traits, made.block, len(made.at.x)
    require(traits.structure in get_args(Structure), f"structure {traits.structure!r} is none of E, H, R, auxiliary")
    require(bool(traits.modes), "no realisation is declared: traits.modes is empty")
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


@check("block", group="interface")
def listing_tells_the_traits(subject: Subject) -> None:
    """Structure, order, degree and modes in the entry's capabilities are those of the block."""
    traits = bound(subject).block.traits
    stated = subject.capabilities
    plain: dict[str, object] = {}
    if stated.structure in get_args(Structure):
        plain["structure"] = stated.structure
    plain |= {key: getattr(stated, key) for key in ("order", "degree") if isinstance(getattr(stated, key), int)}
    if stated.modes and set(stated.modes) <= set(get_args(Mode)):
        plain["modes"] = sorted(stated.modes)
    actual = {
        "structure": traits.structure,
        "order": traits.order,
        "degree": traits.degree,
        "modes": sorted(traits.modes),
    }
    if not plain:
        not_applicable("the entry states no structure, order, degree or modes as plain values")
    for key, value in plain.items():
        require(value == actual[key], f"the entry says {key} {value!r}, the block's traits say {actual[key]!r}")


@check("block", group="interface")
def reads_the_field_it_names(subject: Subject) -> None:
    """A linear block of one field names it in acts_on, and a block reads no other field than acts_on."""
    made = bound(subject)
    names, named = {name for name, _ in reads(made)}, made.block.acts_on
    if made.block.traits.degree == 1 and len(names) == 1:
        only = next(iter(names))
        require(named == only, f"it is linear and reads the field '{only}' alone, but acts_on is {named!r}: core assembles its "
                "matrix only if acts_on names that field")  # fmt: skip
    if named is None:
        not_applicable("it reads several fields or none, or is not linear")
    require(names <= {named}, f"acts_on is '{named}', but it reads {', '.join(sorted(names))}")


@check("block", group="interface")
def batches_agree(subject: Subject) -> Finding:
    """A stack of states gives the stack of responses, for any leading dimensions, empty ones included."""
    made = bound(subject)
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
    gap, where = worst(apart(together, single), apart(together, permuted), apart(one, first))
    return Finding(gap, _ROUNDING, f"a batch against single states ({where or 'all'})")


@check("block", group="interface")
def many_times_at_once(subject: Subject) -> Finding:
    """With a column of times (T, 1) the reference gives one row per time."""
    made = bound(subject)
    times = torch.tensor([[0.1], [0.7], [1.9]], dtype=torch.float64)
    c = made.state(3)
    inside = made.jets(c, made.at)
    rows = reference_of(made.block, inside, made.at.moment(times))
    if rows is None:
        not_applicable("it was learned from data: there is no formula")
    single = [made.block.reference(made.jets(c[i], made.at), made.at.moment(float(t))) for i, t in enumerate(times)]
    shape = (3, len(made.at.x))
    gap, _ = apart({"": rows.expand(shape)}, {"": torch.stack([s.expand(shape[1:]) for s in single])})
    return Finding(gap, _ROUNDING, "reference at three times at once against one at a time")


@check("block", group="interface")
def double_precision_throughout(subject: Subject) -> Finding:
    """Double precision in gives double precision out, and no digit is lost inside."""
    made = bound(subject)
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
    gap, where = worst(*gaps)
    return Finding(gap, 1e-4, f"slope at a small step against that at a large one ({where})")


@check("block", group="interface")
def single_precision_not_mixed(subject: Subject) -> None:
    """Single precision in gives single precision out, or a clear refusal: nothing is raised to double silently."""
    made = replace(bound(subject), basis=None)
    waves = replace(made.waves, wavevectors=made.waves.wavevectors.float(), phases=made.waves.phases.float())
    single = replace(made, waves=waves, at=_single(made.at), edge=_single(made.edge))
    try:
        outputs = single.responses(made.state().float())
    except GlegError:
        return
    for name, values in outputs.items():
        require(values.dtype == torch.float32, f"{name} returned {values.dtype} for single precision (torch.float32)")


def _single(at: Location) -> Location:
    normal, weights = (None if tensor is None else tensor.float() for tensor in (at.normal, at.weights))
    return Location(at.x.float(), at.t, normal, weights)


@check("block", group="interface")
def inputs_left_alone(subject: Subject) -> None:
    """Evaluation changes neither the fields nor the points it is given."""
    made = bound(subject)
    handed: list[tuple[str, Tensor, Tensor]] = []

    def guarded(name: str, jet: Jet) -> Jet:
        def derivative(alpha: MultiIndex) -> Tensor:
            values = jet.d(alpha)
            handed.append((f"∂^{alpha} of {name}", values, values.clone()))
            return values

        return Jet(derivative, made.dim)

    for place, at in (("points", made.at), ("boundary points", made.edge)):
        for what in ("x", "normal", "weights"):
            if (tensor := getattr(at, what)) is not None:
                handed.append((f"{what} of the {place}", tensor, tensor.clone()))
    c = made.state()
    inside, edge = ({n: guarded(n, j) for n, j in made.jets(c, at).items()} for at in (made.at, made.edge))
    made.at_jets(inside, edge)
    if made.basis is not None:
        a = made.mixing[0].clone()
        handed.append(("coefficients", a, a.clone()))
        made.block.ambient(made.basis, str(made.block.acts_on))(a)
    for what, now, before in handed:
        require(torch.equal(now, before), f"{what} was modified in place by {type(made.block).__name__}")


@check("block", group="interface")
def same_answer_every_time(subject: Subject) -> None:
    """The same state gives the same bits, whatever was evaluated before."""
    made = bound(subject)
    c, other = made.state(2)
    first = made.responses(c)
    made.responses(other)
    made.moment(1.1).responses(other)
    for name, values in made.responses(c).items():
        require(torch.equal(values, first[name]), f"{name} of the same state differs after other states were evaluated: "
                f"by {float((values - first[name]).abs().max()):.2g}")  # fmt: skip


@check("block", group="interface")
def random_numbers_left_alone(subject: Subject) -> None:
    """Evaluation draws no global random numbers."""
    made = bound(subject)
    c = made.state()
    before = torch.random.get_rng_state(), random.getstate(), np.random.get_state()
    made.responses(c)
    require(torch.equal(before[0], torch.random.get_rng_state()), "it draws from torch's global generator")
    require(before[1] == random.getstate(), "it draws from Python's global generator")
    now = np.random.get_state()
    require(all(np.array_equal(a, b) for a, b in zip(before[2], now, strict=True)), "it draws from numpy's generator")


@check("block", group="interface")
def gradients_on_or_off(subject: Subject) -> Finding:
    """Responses are the same with and without gradients, and carry no graph unless a state does."""
    made = bound(subject)
    c = made.state()
    with torch.no_grad():
        off = made.responses(c)
    plain = made.responses(c)
    kept = [name for name, values in plain.items() if values.requires_grad]
    require(not kept, f"{', '.join(kept)} carries a graph for a state that needs no gradient: freeze the parameters")
    on: Responses = {k: v.detach() for k, v in made.responses(c.clone().requires_grad_()).items()}
    gap, where = worst(apart(off, on), apart(off, plain))
    return Finding(gap, _ROUNDING, f"with against without gradients ({where or 'all'})")


@check("block", group="interface")
def not_a_number_stays(subject: Subject) -> None:
    """A state that is not a number is not turned into one."""
    made = bound(subject)
    if made.block.traits.degree == 0:
        not_applicable("it does not read the fields")
    first, second = made.state(2)
    a, b = made.responses(first), made.responses(second)
    for name, values in made.responses(torch.full_like(first, torch.nan)).items():
        lost = (a[name] != b[name]) & torch.isfinite(values)
        require(not bool(lost.any()), f"{name} is finite at {int(lost.sum())} points where the state is not a number: leave it, so "
                "that core can say where a solution broke down")  # fmt: skip
