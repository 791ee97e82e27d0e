"""Shared by all cross-distribution tests: spaces are cached per test session, not in the user's folder."""

from pathlib import Path

import pytest
from distributions import SOURCES, UMBRELLA
from environments import Environment, build_wheels


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory):
    """One cache of admissible spaces for the whole session, shared by worker processes through a common parent."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLEG_CACHE", str(tmp_path_factory.getbasetemp() / "spaces"))
        yield


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Distribution name → its wheel, for core, the packs and the umbrella."""
    built = build_wheels([s.folder for s in [*SOURCES, UMBRELLA]], tmp_path_factory.mktemp("wheels"))
    assert sorted(built) == sorted(source.name for source in [*SOURCES, UMBRELLA])
    return built


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory, wheels: dict[str, Path]) -> Environment:
    """An environment with those wheels, for tests that leave it as it is."""
    return Environment.make(tmp_path_factory.mktemp("environment"), wheels.values())
