"""Which candidates are in the law: evidence of subsets, stepwise search with a stability check, thresholded ridge.

    BIC(S) = RSS(S)/σ² + |S| ln n

with RSS from the triangular factor of the information, so that every subset is a least-squares problem with P rows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np

from gleg_discovery.legendre import Array
from gleg_discovery.regression import Information

Support = tuple[int, ...]


@dataclass(frozen=True)
class Selection:
    """``support``: indices of the candidates kept. ``inclusion`` (P,): probability of each from BIC weights over all subsets tried.
    ``bayes_factor`` (P,): odds of the laws with it against those without. ``stability`` (P,): how often each is kept when the data
    are drawn again, after a stepwise search. ``ranking``: the best supports with their BIC above the least."""

    support: Support
    inclusion: Array
    bayes_factor: Array
    ranking: tuple[tuple[Support, float], ...]
    exhaustive: bool
    stability: Array | None = None


def select(info: Information, keep: Collection[int] = (), signs: Sequence[int] | None = None) -> Selection:
    """The support of least BIC that contains ``keep`` and respects ``signs``: among all, or stepwise if more than 14 are free."""
    forced = tuple(sorted(keep))
    exhaustive = len(info.labels) - len(forced) <= 14
    tried = (evidence if exhaustive else _stepwise)(info, forced, signs)
    stability = None if exhaustive else _stability(info, forced, signs)
    least = min(tried.values())
    ranking = sorted(((S, bic - least) for S, bic in tried.items()), key=lambda pair: pair[1])
    weights = [(S, np.exp(-above / 2)) for S, above in ranking]
    having = np.array([sum(w for S, w in weights if p in S) for p in range(len(info.labels))])
    lacking = np.array([sum(w for S, w in weights if p not in S) for p in range(len(info.labels))])
    with np.errstate(divide="ignore", over="ignore"):
        odds = having / lacking
    return Selection(ranking[0][0], having / (having + lacking), odds, tuple(ranking[:20]), exhaustive, stability)


def evidence(info: Information, forced: Support = (), signs: Sequence[int] | None = None) -> dict[Support, float]:
    """BIC of every subset that contains ``forced``; those whose coefficients have a wrong sign are left out."""
    free = [p for p in range(len(info.labels)) if p not in forced]
    found: dict[Support, float] = {}
    for size in range(len(free) + 1):
        subsets = combinations(free, size)
        while batch := list(islice(subsets, 4096)):
            found |= _bic(info, [tuple(sorted((*forced, *S))) for S in batch], signs)
    return found


def _bic(info: Information, supports: list[Support], signs: Sequence[int] | None) -> dict[Support, float]:
    """BIC of subsets of one size, those with a wrong sign left out unless they are empty."""
    least = info.least / info.variance
    if not supports[0]:
        return {(): least + float((info.right**2).sum()) / info.variance}
    index = np.array(supports)
    X = info.design[:, index].transpose(1, 0, 2)  # (subsets, P, size)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    Q, R = np.linalg.qr(X / np.where(norms > 0, norms, 1.0))
    projected = np.einsum("spk,p->sk", Q, info.right)
    rest = info.right - np.einsum("spk,sk->sp", Q, projected)
    bic = least + (rest**2).sum(axis=1) / info.variance + index.shape[1] * np.log(max(info.number, 2))
    sound = np.abs(np.diagonal(R, axis1=1, axis2=2)).min(axis=1) > 1e-12
    if signs is not None:
        c = np.zeros_like(projected)
        c[sound] = np.linalg.solve(R[sound], projected[sound, :, None])[:, :, 0]
        sound &= (np.array(signs)[index] * c >= 0).all(axis=1)
    return {S: float(value) for S, value, good in zip(supports, bic, sound, strict=True) if good}


def _stepwise(info: Information, forced: Support, signs: Sequence[int] | None) -> dict[Support, float]:
    """BIC of the subsets met by adding or removing one candidate at a time, from ``forced`` and from all, while it improves."""
    everything = tuple(range(len(info.labels)))
    found: dict[Support, float] = {}
    for start in (forced, everything):
        found |= (begun := _bic(info, [start], signs))
        here, value = start, begun.get(start, np.inf)
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


def _stability(info: Information, forced: Support, signs: Sequence[int] | None) -> Array:
    """How often each candidate is kept, to 5 %: recordings resampled with replacement, or noise drawn again if there are few."""
    random, K = np.random.default_rng(0), len(info.parts)
    kept = np.zeros(len(info.labels))
    for _ in range(100):
        again = info.resampled(random.integers(K, size=K)) if K >= 8 else _redrawn(info, random)
        tried = _stepwise(again, forced, signs)
        best: Support = min(tried, key=tried.__getitem__)
        kept[list(best)] += 1
    return kept / 100


def _redrawn(info: Information, random: np.random.Generator) -> Information:
    """The right-hand side with noise drawn once more: ĉ ~ N(ĉ, F⁻¹σ²)."""
    root = info.root.copy()
    root[:-1, -1] += np.sqrt(info.variance) * random.standard_normal(len(info.labels))
    return replace(info, root=root)


def thresholded_ridge(
    info: Information, threshold: float, ridge: float = 1e-10, keep: Collection[int] = ()
) -> tuple[Support, Array]:
    """Sequential thresholded ridge regression on columns of unit norm: drop |β| < threshold until nothing changes, then refit.

    β = c·|column| is the size of a contribution in units of the data. Returns the support and c (P,), zero where dropped.
    """
    norms = np.linalg.norm(info.design, axis=0)
    X = info.design / np.where(norms > 0, norms, 1.0)
    active = [p for p in range(len(norms)) if norms[p] > 0]

    def fit(chosen: list[int]) -> Array:
        stacked = np.concatenate([X[:, chosen], np.sqrt(ridge) * np.eye(len(chosen))])
        return np.linalg.lstsq(stacked, np.concatenate([info.right, np.zeros(len(chosen))]), rcond=None)[0]

    for _ in range(10):
        beta = fit(active)
        left = [p for p, size in zip(active, np.abs(beta), strict=True) if size >= threshold or p in keep]
        left = left or [active[int(np.argmax(np.abs(beta)))]]
        if left == active:
            break
        active = left
    c = np.zeros(len(norms))
    c[active] = fit(active) / norms[active]
    return tuple(active), c
