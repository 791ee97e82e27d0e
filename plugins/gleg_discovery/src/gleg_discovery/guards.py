"""What is wrong, or may be, with observations of a problem: each guard looks at one thing and speaks only if it finds it. No torch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from gleg_core.contracts.domain import Domain
from gleg_discovery.observations import FUNCTIONS_PER_SENSOR, Recording, shown_point

_UNITS = {
    1e-6: ("m", "µm"),
    1e-3: ("m", "mm"),
    1e-2: ("m", "cm"),
    1e-1: ("cm", "mm"),
    1 / 3600: ("degrees", "arc seconds"),
    1 / 60: ("degrees", "arc minutes"),
    math.pi / 180: ("radians", "degrees"),
    1 / 25.4: ("inches", "mm"),
    1 / 2.54: ("inches", "cm"),
    0.3048: ("m", "feet"),
}
"""(number in the first unit) = factor × (number in the second unit)."""


@dataclass(frozen=True)
class Remark:
    """Something to tell the user. With an error among them there is nothing to estimate."""

    level: Literal["error", "warning", "note"]
    text: str


def warning(text: str) -> list[Remark]:
    """What a guard answers that found something."""
    return [Remark("warning", text)]


def data_remarks(recordings: Sequence[Recording], domain: Domain) -> list[Remark]:
    """All that can be said before anything is fitted."""
    return [
        *sensors_outside(recordings, domain),
        *sensors_on_boundary(recordings, domain),
        *sensors_at_one_place(recordings),
        *silent_sensors(recordings),
        *short_recordings(recordings),
        *different_time_units(recordings),
        *constant_in_time(recordings),
    ]


# --- places ---------------------------------------------------------------------------------------------------------


def sensors_outside(recordings: Sequence[Recording], domain: Domain) -> list[Remark]:
    """Sensors that are not in the closure of Ω, and the unit or the shift that would explain most of them."""
    points = _places(recordings)
    outside = np.flatnonzero(~_around(domain, points).any(axis=0))
    if not len(outside):
        return []
    first = points[outside[0]]
    outline = np.concatenate([s.outline(400) for s in domain.segments])
    distance = np.nanmin(np.linalg.norm(outline - first, axis=1))
    text = (
        f"{len(outside):,} of {len(points):,} sensors are outside the domain, "
        f"the first at {shown_point(first)}, about {distance:.2g} from the boundary"
    )
    if len(outside) > len(points) / 2:
        text += _shifted(domain, points) or _other_units(domain, points)
    return [Remark("error", text)]


def sensors_on_boundary(recordings: Sequence[Recording], domain: Domain) -> list[Remark]:
    points = _places(recordings)
    around = _around(domain, points)
    on = np.flatnonzero(around.any(axis=0) & ~around.all(axis=0))
    if not len(on):
        return []
    return warning(
        f"{len(on):,} of {len(points):,} sensors are on the boundary, the first at {shown_point(points[on[0]])}: "
        "where the condition prescribes the value they tell nothing about the law"
    )


def _places(recordings: Sequence[Recording]) -> np.ndarray:
    """Distinct positions (n, dim) of all recordings, in the order of the file."""
    points = np.concatenate([r.points for r in recordings])
    return points[np.sort(np.unique(points, axis=0, return_index=True)[1])]


def _around(domain: Domain, points: np.ndarray) -> np.ndarray:
    """Which of the points a tiny step away in every direction, and of the points themselves, are in Ω: (3^dim, n)."""
    step = 1e-6 * float(np.ptp(domain.bounds, axis=1).max())  # positions are often written with six digits
    return np.array([domain.contains(points + step * np.array(d)) for d in product((-1, 0, 1), repeat=domain.dim)])


def _shifted(domain: Domain, points: np.ndarray) -> str:
    """The shift of the cloud's bounding box onto that of Ω, if they are of a size."""
    low, high = points.min(axis=0), points.max(axis=0)
    ratio = (high - low) / np.ptp(domain.bounds, axis=1)
    if (ratio < 0.5).any() or (ratio > 1.01).any():
        return ""
    shift = ", ".join(f"{c:.2g}" for c in (low + high) / 2 - domain.bounds.mean(axis=1))
    return f"; coordinates look shifted by about ({shift}): their bounding box has the size of the domain's"


def _other_units(domain: Domain, points: np.ndarray) -> str:
    """The factor that brings nearly all sensors into Ω and the cloud to its size, one of a decimal unit before others."""
    known = _UNITS | {1 / f: units[::-1] for f, units in _UNITS.items()}
    size = np.ptp(points, axis=0).max() / np.ptp(domain.bounds, axis=1).max()
    fits = {}
    for factor in {*known, *(10.0**k for k in range(-9, 10) if k)}:
        if 0.3 * factor < size < 1.05 * factor and np.mean(domain.contains(points / factor)) >= 0.9:
            decimal = math.isclose(factor, 10.0 ** round(math.log10(factor)))
            fits[factor] = abs(math.log(size / factor)) + (0 if decimal else math.log(1.5))
    if not fits:
        return ""
    factor = min(fits, key=fits.__getitem__)
    theirs, ours = next((units for f, units in known.items() if math.isclose(f, factor)), ("", ""))
    guess = f"look like {theirs}, the domain is in {ours}" if theirs else "look like another unit"
    inside = int(np.sum(domain.contains(points / factor)))
    how = f"divided by {factor:.5g}" if factor > 1 else f"multiplied by {1 / factor:.5g}"
    return f"; coordinates {guess}: {how}, {inside:,} of {len(points):,} sensors are inside"


# --- what was recorded ----------------------------------------------------------------------------------------------


def sensors_at_one_place(recordings: Sequence[Recording]) -> list[Remark]:
    found = []
    for r in recordings:
        places, counts = np.unique(r.points, axis=0, return_counts=True)
        for point, n in zip(places[counts > 1], counts[counts > 1], strict=True):
            found.append((r, point, f"{n} sensors stand at {shown_point(point)}"))
    rest = ": they count as independent readings; leave one out if they are the same"
    return _at_places(recordings, found, rest)


def silent_sensors(recordings: Sequence[Recording]) -> list[Remark]:
    """Sensors without a value of any field in a recording."""
    found = []
    for r in recordings:
        heard = np.any([np.isfinite(v).any(axis=0) for v in r.values.values()], axis=0)
        for i in np.flatnonzero(~heard):
            found.append((r, r.points[i], f"sensor {i} at {shown_point(r.points[i])} never reports"))
    return _at_places(recordings, found)


def _at_places(
    recordings: Sequence[Recording], found: Sequence[tuple[Recording, np.ndarray, str]], rest: str = ""
) -> list[Remark]:
    """The first of what was ``found`` (in a recording, at a point, what), and how many more there are."""
    if not found:
        return []
    first, _, text = found[0]
    if len(recordings) > 1:
        text = f"recording '{first.name}'{_more(len({id(r) for r, _, _ in found}) - 1, 'recording')}: {text}"
    return warning(f"{text}{_more(len({tuple(point) for _, point, _ in found}) - 1, 'place')}{rest}")


def _more(count: int, what: str) -> str:
    return f" (and {count:,} more {what}{'s' * (count > 1)})" if count else ""


def short_recordings(recordings: Sequence[Recording]) -> list[Remark]:
    short = [r for r in recordings if len(r.times) < 3]
    if not short:
        return []
    text = (
        f"{len(short)} of {len(recordings)} recordings have fewer than 3 times, the first is '{short[0].name}' "
        f"with {len(short[0].times)}: that is too few to tell change from noise"
    )
    return [Remark("error" if len(short) == len(recordings) else "warning", text)]


def different_time_units(recordings: Sequence[Recording]) -> list[Remark]:
    """A recording whose duration and steps differ from those of others by the same large factor."""
    several = [r for r in recordings if len(r.times) > 1]
    if len(several) < 2:
        return []
    spans = np.array([np.ptp(r.times) for r in several])
    steps = np.array([np.median(np.diff(r.times)) for r in several])
    # The lower median is that of a recording, not a mean of two units.
    span, step = (float(np.sort(a)[(len(a) - 1) // 2]) for a in (spans, steps))
    longer, coarser = np.log(spans / span), np.log(steps / step)
    apart = np.where(np.abs(longer - coarser) < math.log(5), np.abs(longer), 0)
    i = int(np.argmax(apart))
    if apart[i] < math.log(30):
        return []
    units = {1e3: "ms", 1e6: "µs", 1e9: "ns", 60.0: "minutes", 3600.0: "hours", 86400.0: "days"}
    unit = next((name for f, name in units.items() if abs(apart[i] - math.log(f)) < 0.2), None)
    whose = "its" if (longer[i] > 0) == (unit in ("ms", "µs", "ns")) else "the other"
    hint = f"; are {whose} times in {unit}?" if unit else "; are they in the same unit?"
    return warning(
        f"recording '{several[i].name}' lasts {spans[i]:.3g} in steps of {steps[i]:.3g}, "
        f"others {span:.3g} in steps of {step:.3g}{hint}"
    )


def constant_in_time(recordings: Sequence[Recording]) -> list[Remark]:
    """Fields whose readings never change, though they were taken more than once."""
    remarks = []
    for name in sorted({name for r in recordings for name in r.values}):
        still = [r for r in recordings if name in r.values and _still(r.values[name])]
        if still:
            remarks += warning(
                f"'{name}' does not change in time in {len(still)} of {len(recordings)} recordings, the first is "
                f"'{still[0].name}': a steady state tells coefficients only relative to each other"
            )
    return remarks


def quantised_values(recordings: Sequence[Recording], noise: Mapping[str, float]) -> list[Remark]:
    """Readings in steps that are larger than twice the standard deviation ``noise`` of a field."""
    remarks = []
    for name, sigma in noise.items():
        step = _step(np.concatenate([r.values[name].ravel() for r in recordings if name in r.values]))
        if step is not None and step > 2 * sigma:
            remarks += warning(
                f"'{name}' comes in steps of {step:.3g}, the noise is {sigma:.2g}: rounding is not random noise, "
                "and intervals may be too narrow; record more digits"
            )
    return remarks


def _still(values: np.ndarray) -> bool:
    """Whether no sensor's readings (T, S) vary, and some sensor has two."""
    twice = np.isfinite(values).sum(axis=0) > 1
    values = values[:, twice]
    return bool(twice.any() and (np.nanmax(values, axis=0) == np.nanmin(values, axis=0)).all())


def _step(values: np.ndarray) -> float | None:
    """The step of which all differences are multiples, if values repeat; None if there is none."""
    values = values[np.isfinite(values)]
    values = values[:: max(1, len(values) // 100_000)]
    distinct = np.unique(values)
    rounding = 1e-9 * float(np.abs(distinct).max(initial=0.0))
    distinct = distinct[np.diff(distinct, prepend=-np.inf) > rounding]
    if len(distinct) < 3 or len(distinct) > len(values) / 2:
        return None
    gaps = np.diff(distinct)
    step = float(gaps[gaps < 1.5 * gaps.min()].mean())  # a single gap carries the rounding of binary numbers
    away = np.abs(gaps / step - np.round(gaps / step))
    return step if away.max() < 0.05 else None


# --- sensors and the space ------------------------------------------------------------------------------------------


def few_sensors(recordings: Sequence[Recording], ranks: Mapping[str, int]) -> list[Remark]:
    """N_obs < r: the state is not determined; N_obs < r / 0.6: hardly more than that. ``ranks``: field → r."""
    remarks = []
    for name, rank in ranks.items():
        counts = [(int(np.isfinite(r.values[name]).any(axis=0).sum()), r) for r in recordings if name in r.values]
        fewest, worst = min(counts, key=lambda pair: pair[0], default=(math.inf, None))
        enough = math.ceil(rank / FUNCTIONS_PER_SENSOR)
        if worst is None or fewest >= enough:
            continue
        who = f"{fewest} sensors of '{name}'" + (f" in recording '{worst.name}'" if len(recordings) > 1 else "")
        remedy = f"take at least {enough} sensors, or space.rank at most {max(1, int(FUNCTIONS_PER_SENSOR * fewest))}"
        if fewest < rank:
            remarks.append(Remark("error", f"{who} cannot determine {rank} functions; {remedy}"))
        else:
            remarks += warning(f"{who} are few for {rank} functions, noise is amplified; {remedy}")
    return remarks


def ill_placed_sensors(matrix: np.ndarray, name: str) -> list[Remark]:
    """``matrix`` (S, r): the functions of the space at the sensors of field ``name``."""
    condition = float(np.linalg.cond(matrix))
    if condition <= 1e6:
        return []
    return warning(
        f"the sensors of '{name}' leave some functions of the space almost unseen: condition number {condition:.2g}, "
        "above 1e+06; spread them over the whole domain or lower space.rank"
    )


def outlying_sensors(residual: np.ndarray, points: np.ndarray, name: str, rounding: float = 0.0) -> list[Remark]:
    """``residual`` (S,): root-mean-square over time of what the fit leaves at each sensor, NaN for silent ones; below
    ``rounding`` it means nothing. Fewer than eight sensors show no spread to compare with."""
    if np.isfinite(residual).sum() < 8:
        return []
    middle = np.nanmedian(residual)
    deviation = 1.4826 * np.nanmedian(np.abs(residual - middle))
    far = np.flatnonzero(residual > max(middle + 6 * deviation, rounding))
    if not len(far):
        return []
    worst = far[np.argmax(residual[far])]
    return warning(
        f"sensor {worst} of '{name}' at {shown_point(points[worst])} does not fit the others: its residual is "
        f"{residual[worst]:.2g}, theirs {middle:.2g}{_more(len(far) - 1, 'sensor')}; leave it out or check it"
    )
