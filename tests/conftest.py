"""Shared by all cross-distribution tests: spaces are cached per test session, not in the user's folder."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory):
    """One cache of admissible spaces for the whole session, shared by worker processes through a common parent."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLEG_CACHE", str(tmp_path_factory.getbasetemp() / "spaces"))
        yield
