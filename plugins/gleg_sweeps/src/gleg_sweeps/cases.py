"""The cases of a sweep: every combination of the varied values, validated before anything runs."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from gleg_core import __version__
from gleg_core.errors import GlegError, SpecError
from gleg_core.registry.fingerprint import installed_files, named_files
from gleg_core.spec.loading import Document
from gleg_core.spec.problem import Problem, load_problem, packs_of
from gleg_results.resolved import resolved
from gleg_results.settings import with_settings
from gleg_sweeps.values import Variation

_MOST_CASES = 100_000


@dataclass(frozen=True)
class Case:
    """One problem of a sweep, small enough to travel between processes. ``settings`` are its ``key=value``."""

    settings: tuple[str, ...]
    document: Document
    packs: dict[str, str]
    """Pack → version, here: a worker elsewhere must have the same."""
    space: str
    """Equal for cases that are likely to share their spaces."""
    digest: str
    """A hash of all that the result depends on: the problem as written and as resolved, core, packs, the files it names."""

    def __str__(self) -> str:
        return ", ".join(self.settings)


@dataclass(frozen=True)
class Plan:
    """A sweep: ``cases`` run through the product of the variations, the last one fastest, or walk them together if ``zipped``."""

    variations: tuple[Variation, ...]
    zipped: bool
    cases: tuple[Case, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.cases),) if self.zipped else tuple(len(v.texts) for v in self.variations)

    def in_order(self) -> list[Case]:
        """Every different case once. One of each space goes first, so that processes build different spaces."""
        unique = list({case.digest: case for case in self.cases}.values())
        first = {case.space: case for case in reversed(unique)}
        return sorted(unique, key=lambda case: first[case.space] is not case)


def plan_sweep(document: Document, settings: Sequence[str], variations: Sequence[Variation], zipped: bool) -> Plan:
    """All cases, or every mistake in them with the case it is in."""
    cases: list[Case] = []
    mistakes: dict[str, tuple[GlegError, str]] = {}
    document = replace(document, folder=str(Path(document.folder).resolve()))  # workers may have another current folder
    _check_keys(document, settings, variations)
    combinations = list(_combinations(variations, zipped))
    for texts in combinations:
        words = tuple(f"{v.key}={text}" for v, text in zip(variations, texts, strict=True))
        try:
            cases.append(_case(words, load_problem(with_settings(document, [*settings, *words]))))
        except GlegError as error:
            message = str(error)
            for word in words:
                message = message.replace(f"--set {word}", f"--vary {word}")
            mistakes.setdefault(message, (error, ", ".join(words)))
    if mistakes:
        lines = [f"{message}\n  in the case {case}" for message, (_, case) in list(mistakes.items())[:5]]
        wrong = len(combinations) - len(cases)
        lines.append(f"{wrong} of {len(combinations)} cases cannot be run as they are; nothing was run")
        raise type(next(iter(mistakes.values()))[0])("\n".join(lines))
    return Plan(tuple(variations), zipped, tuple(cases))


def _check_keys(document: Document, settings: Sequence[str], variations: Sequence[Variation]) -> None:
    keys = [v.key for v in variations]
    if not keys:
        raise SpecError("nothing is varied: add --vary key=values, for example --vary basis.K=10,14,18")
    if double := next((key for key in keys if keys.count(key) > 1), None):
        raise SpecError(f"--vary {double}: this key is varied twice; write all its values in one list")
    for variation in variations:
        if not settings and variation.key.startswith("constants."):
            with_settings(document, [f"{variation.key}={variation.texts[0]}"])  # a constant that is used nowhere


def _combinations(variations: Sequence[Variation], zipped: bool) -> Iterator[tuple[str, ...]]:
    counts = {v.key: len(v.texts) for v in variations}
    if zipped and len(set(counts.values())) > 1:
        found = ", ".join(f"{key} has {n}" for key, n in counts.items())
        raise SpecError(f"--zip walks all keys together, so they need equally many values: {found}")
    if not zipped and prod(counts.values()) > _MOST_CASES:
        raise SpecError(f"{prod(counts.values()):,} cases are more than the {_MOST_CASES:,} a sweep may have")
    texts = [v.texts for v in variations]
    return zip(*texts, strict=True) if zipped else product(*texts)


def _case(settings: tuple[str, ...], problem: Problem) -> Case:
    data, packs = resolved(problem), packs_of(problem)
    boundary = [field["boundary"] for field in data["fields"].values()]
    space = [data["domain"], data["basis"], data["space"], boundary]
    everything = [
        problem.document.data,
        data,
        {pack.id: [pack.version, installed_files(pack.module)] for pack in packs},
        [__version__, installed_files("gleg_core")],
        dict(named_files(data, Path(problem.document.folder))),
    ]
    versions = {pack.id: pack.version for pack in packs}
    return Case(settings, problem.document, versions, _hash(space), _hash(everything))


def _hash(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:24]
