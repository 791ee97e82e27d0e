"""Which candidates are in the law: evidence of subsets, stepwise search with a stability check, thresholded ridge.

    BIC(S) = RSS(S)/σ² + |S| ln n

with RSS from the triangular factor of the information, so that every subset is a least-squares problem with P rows.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from gleg_discovery.legendre import Array
from gleg_discovery.regression import Information

_ALL_SUBSETS = 14
"""Up to so many candidates every subset is tried."""
_BATCH = 4096
"""Subsets that are fitted together."""
_DRAWS = 100
"""How often data are drawn again for the stability of a stepwise search: to 5 %."""
_ENOUGH = 8
"""Recordings that are worth resampling."""

Support = tuple[int, ...]


@dataclass(frozen=True)
class Selection:
    """``support``: indices of the candidates kept. ``inclusion`` (P,): probability of each from BIC weights over all subsets tried.
    ``bayes_factor`` (P,): odds of the laws with it against those without. ``stability`` (P,): how often each is kept when the data
    are drawn again, if that was asked for. ``ranking``: the best supports with their BIC above the least."""

    support: Support
    inclusion: Array
    bayes_factor: Array
    ranking: tuple[tuple[Support, float], ...]
    exhaustive: bool
    stability: Array | None = None


def select(
    info: Information, keep: Collection[int] = (), signs: Sequence[int] | None = None, draws: int = 0, seed: int = 0
) -> Selection:
    """The support of least BIC that contains ``keep`` and respects ``signs``. ``draws``: resample the recordings so often for the
    stability of the choice (of a stepwise search always)."""
    forced = tuple(sorted(keep))
    exhaustive = len(info.labels) - len(forced) <= _ALL_SUBSETS
    tried = (evidence if exhaustive else _stepwise)(info, forced, signs)
    draws = draws or (0 if exhaustive else _DRAWS)
    search: Callable[[Information], dict[Support, float]] = lambda some: _stepwise(some, forced, signs)  # noqa: E731
    stability = _stability(info, search, draws, seed) if draws else None
    support = min(tried, key=tried.__getitem__)
    least = tried[support]
    weights = {S: np.exp(-(bic - least) / 2) for S, bic in tried.items()}
    having = np.array([sum(w for S, w in weights.items() if p in S) for p in range(len(info.labels))])
    lacking = np.array([sum(w for S, w in weights.items() if p not in S) for p in range(len(info.labels))])
    with np.errstate(divide="ignore", over="ignore"):
        odds = having / lacking
    ranking = sorted(((S, bic - least) for S, bic in tried.items()), key=lambda pair: pair[1])[:20]
    return Selection(support, having / (having + lacking), odds, tuple(ranking), exhaustive, stability)


def evidence(info: Information, forced: Support = (), signs: Sequence[int] | None = None) -> dict[Support, float]:
    """BIC of every subset that contains ``forced``; those whose coefficients have a wrong sign are left out."""
    free = [p for p in range(len(info.labels)) if p not in forced]
    found: dict[Support, float] = {}
    for size in range(len(free) + 1):
        for batch in _batches(combinations(free, size), _BATCH):
            found |= _bic(info, [tuple(sorted((*forced, *S))) for S in batch], signs)
    return found


def _batches(items: Iterable[Support], size: int) -> Iterator[list[Support]]:
    batch: list[Support] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _bic(info: Information, supports: list[Support], signs: Sequence[int] | None) -> dict[Support, float]:
    """BIC of subsets of one size, those with a wrong sign left out unless they are empty."""
    size = len(supports[0])
    penalty = size * np.log(max(info.number, 2))
    least = info.least / info.variance
    if size == 0:
        return {(): least + float((info.right**2).sum()) / info.variance}
    index = np.array(supports)
    X = info.design[:, index].transpose(1, 0, 2)  # (subsets, P, size)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    Q, R = np.linalg.qr(X / np.where(norms > 0, norms, 1.0))
    projected = np.einsum("spk,p->sk", Q, info.right)
    rest = info.right - np.einsum("spk,sk->sp", Q, projected)
    bic = least + (rest**2).sum(axis=1) / info.variance + penalty
    diagonal = np.abs(np.diagonal(R, axis1=1, axis2=2))
    sound = diagonal.min(axis=1) > 1e-12
    if signs is not None:
        wanted = np.array(signs)[index]
        c = np.zeros_like(projected)
        c[sound] = np.linalg.solve(R[sound], projected[sound, :, None])[:, :, 0]
        sound &= (wanted * c >= 0).all(axis=1)
    return {S: float(value) for S, value, good in zip(supports, bic, sound, strict=True) if good}


def _stepwise(info: Information, forced: Support, signs: Sequence[int] | None) -> dict[Support, float]:
    """BIC of the subsets met by adding or removing one candidate at a time, from ``forced`` and from all, while it improves."""
    everything = tuple(range(len(info.labels)))
    found: dict[Support, float] = {}
    for start in (forced, everything):
        here, value = start, np.inf
        found |= (begun := _bic(info, [start], signs))
        value = begun.get(start, np.inf)
        while True:
            grown = [tuple(sorted((*here, p))) for p in everything if p not in here]
            shrunk = [tuple(q for q in here if q != p) for p in here if p not in forced]
            near = {S: v for some in (grown, shrunk) if some for S, v in _bic(info, some, signs).items()}
            found |= near
            best = min(near, key=near.__getitem__, default=here)
            if not near or near[best] >= value:
                break
            here, value = best, near[best]
    return found


def _stability(
    info: Information, search: Callable[[Information], dict[Support, float]], draws: int, seed: int
) -> Array:
    """How often each candidate is kept: recordings resampled with replacement, or noise drawn again if there are few of them."""
    random = np.random.default_rng(seed)
    kept = np.zeros(len(info.labels))
    for _ in range(draws):
        K = len(info.parts)
        tried = search(info.resampled(random.integers(K, size=K)) if K >= _ENOUGH else _redrawn(info, random))
        best: Support = min(tried, key=tried.__getitem__)
        kept[list(best)] += 1
    return kept / draws


def _redrawn(info: Information, random: np.random.Generator) -> Information:
    """The right-hand side with noise drawn once more: ĉ ~ N(ĉ, F⁻¹σ²)."""
    root = info.root.copy()
    root[:-1, -1] += np.sqrt(info.variance) * random.standard_normal(len(info.labels))
    return replace(info, root=root)


def thresholded_ridge(
    info: Information, threshold: float, ridge: float = 1e-10, iterations: int = 10, keep: Collection[int] = ()
) -> tuple[Support, Array]:
    """Sequential thresholded ridge regression on columns of unit norm: drop |β| < threshold until nothing changes, then refit.

    β = c·|column| is the size of a contribution in units of the data. Returns the support and c (P,), zero where dropped.
    """
    norms = np.linalg.norm(info.design, axis=0)
    X = info.design / np.where(norms > 0, norms, 1.0)
    active = [p for p in range(len(norms)) if norms[p] > 0]

    def fit(chosen: list[int]) -> Array:
        A = X[:, chosen]
        stacked = np.concatenate([A, np.sqrt(ridge) * np.eye(len(chosen))])
        return np.linalg.lstsq(stacked, np.concatenate([info.right, np.zeros(len(chosen))]), rcond=None)[0]

    for _ in range(iterations):
        beta = fit(active)
        left = [p for p, size in zip(active, np.abs(beta), strict=True) if size >= threshold or p in keep]
        left = left or [active[int(np.argmax(np.abs(beta)))]]
        if left == active:
            break
        active = left
    c = np.zeros(len(norms))
    c[active] = fit(active) / norms[active]
    return tuple(active), c
