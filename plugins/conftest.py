"""Shared by the tests of all packs."""

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory):
    """Spaces are cached per test session, not in the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLEG_CACHE", str(tmp_path_factory.getbasetemp() / "spaces"))
        yield


@pytest.fixture(scope="session", autouse=True)
def interrupts_arrive():
    """A shell starts what runs in its background with SIGINT ignored, and processes started here would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
