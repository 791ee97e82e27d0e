"""The cache of spaces: content-addressed, atomic, tolerant of damage, of full disks and of concurrent writers."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from gleg_core.algebra import cache


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path / "spaces"))
    return tmp_path / "spaces"


def tensors(seed: int = 0, size: int = 50) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {"N": torch.randn(size, size, dtype=torch.float64, generator=generator)}


def test_round_trip() -> None:
    cache.store("key", tensors(), {"r": 7})
    loaded = cache.load("key")
    assert loaded is not None
    assert torch.equal(loaded[0]["N"], tensors()["N"])
    assert loaded[1] == {"r": 7}


def test_unknown_key() -> None:
    assert cache.load("nothing") is None


def test_digest_sees_values_shapes_and_order() -> None:
    a = torch.arange(6.0, dtype=torch.float64)
    assert cache.digest([a]) != cache.digest([a.reshape(2, 3)])
    assert cache.digest([a, "x"]) != cache.digest(["x", a])
    assert cache.digest([a]) != cache.digest([a + 1e-15 * (a == 3)])
    assert cache.digest([a]) == cache.digest([a.clone()])


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "garbage"])
def test_damaged_files_are_removed(folder: Path, damage: str) -> None:
    cache.store("key", tensors(), {})
    path = folder / "key.safetensors"
    data = bytearray(path.read_bytes())
    if damage == "truncate":
        data = data[: len(data) // 2]
    elif damage == "flip":
        data[-5] ^= 0xFF
    elif damage == "empty":
        data = bytearray()
    else:
        data = bytearray(b"not a space" * 100)
    path.write_bytes(data)
    assert cache.load("key") is None
    assert not path.exists()


def test_off(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("GLEG_CACHE", "off")
    cache.store("key", tensors(), {})
    assert cache.load("key") is None
    assert not folder.exists()


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    cache.store("key", tensors(), {})
    assert cache.load("key") is None
    assert list(folder.iterdir()) == []


WRITER = """
import sys, torch
from gleg_core.algebra import cache
generator = torch.Generator().manual_seed(0)
t = {"N": torch.randn(400, 400, dtype=torch.float64, generator=generator)}
print("ready", flush=True)
for _ in range(int(sys.argv[1])):
    cache.store("key", t, {"r": 1})
"""


def test_killed_and_concurrent_writers(folder: Path) -> None:
    """Two writers of one key, one of them killed on the way: a reader sees nothing or the whole file."""
    environment = {**os.environ, "GLEG_CACHE": str(folder)}
    command = [sys.executable, "-c", WRITER]
    killed = subprocess.Popen([*command, "100000"], env=environment, stdout=subprocess.PIPE)
    steady = subprocess.Popen([*command, "60"], env=environment, stdout=subprocess.PIPE)
    assert killed.stdout is not None
    killed.stdout.readline()
    expected = tensors(0, 400)["N"]
    seen = 0
    for i in range(40):
        found = cache.load("key")
        if found is not None:
            seen += 1
            assert torch.equal(found[0]["N"], expected)
        if i == 15:
            killed.kill()
        time.sleep(0.01)
    steady.wait(timeout=60)
    killed.wait(timeout=10)
    assert seen > 0
    final = cache.load("key")
    assert final is not None
    assert torch.equal(final[0]["N"], expected)
