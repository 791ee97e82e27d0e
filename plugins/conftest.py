"""Shared by the tests of all packs: spaces are cached per test session, not in the user's folder."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLEG_CACHE", str(tmp_path_factory.getbasetemp() / "spaces"))
        yield
