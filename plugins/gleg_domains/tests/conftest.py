"""Helpers: build a domain from its parameters as a problem file writes them, and an independent check of integrals."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest

from gleg_core.contracts.domain import Domain
from gleg_core.spec.params import Scope
from gleg_domains.pack import gleg_domains

Build = Callable[..., Domain]


def build_domain(kind: str, folder: str = ".", **params: Any) -> Domain:
    entry = next(e for e in gleg_domains() if e.name == kind)
    return resolve_name(entry.factory)(resolve_name(entry.params).model_validate(params, context=Scope(folder=folder)))


@pytest.fixture(scope="session")
def build() -> Build:
    cache: dict[str, Domain] = {}

    def call(kind: str, folder: str = ".", **params: Any) -> Domain:
        key = repr((kind, folder, params))
        if key not in cache:
            cache[key] = build_domain(kind, folder, **params)
        return cache[key]

    return call


@pytest.fixture(scope="session")
def wave_error() -> Callable[[Domain, float, int], float]:
    """Largest difference, relative to the area, between ∫_Ω e^{iκ·x} dx and  ∮ e^{iκ·x} (κ·n) ds / (i|κ|²)."""

    def call(domain: Domain, wavenumber: float, boundary_nodes: int = 1500) -> float:
        rule = domain.quadrature(wavenumber)
        boundary = [s.sample(boundary_nodes) for s in domain.segments]
        random = np.random.default_rng(3)
        angles, sizes = random.uniform(0, np.pi, 24), wavenumber * np.append(np.ones(12), random.uniform(0.2, 1, 12))
        worst = 0.0
        for angle, size in zip(angles, sizes, strict=True):
            k = size * np.array([np.cos(angle), np.sin(angle)])
            volume = rule.weights @ np.exp(1j * rule.points @ k)
            flux = sum(b.weights @ (np.exp(1j * b.points @ k) * (b.normals @ k)) for b in boundary)
            worst = max(worst, abs(volume - flux / (1j * size**2)))
        return worst / domain.measure

    return call
