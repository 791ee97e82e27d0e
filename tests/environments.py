"""Environments as a user has them: wheels of this repository installed in an empty environment, away from the sources."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from distributions import canonical


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Standard output of a command that must succeed; nothing of this process' Python settings leaks into it."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "GLEG_", "VIRTUAL_ENV"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_wheels(folders: Iterable[Path], into: Path) -> dict[str, Path]:
    """Distribution name → its wheel."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", into, *folders, cwd=into)
    return {canonical(path.name.partition("-")[0]): path for path in into.glob("*.whl")}


@dataclass(frozen=True)
class Environment:
    """A virtual environment; third-party packages come from the environment of the tests.

    A ``.pth`` file puts links to that environment's packages on the path, those of this repository left out. The links lie where wheels
    find what they install beside Python's folder, as netgen-occt does with its libraries.
    """

    home: Path

    @classmethod
    def make(cls, home: Path, wheels: Iterable[Path]) -> Environment:
        venv.create(home, with_pip=False, symlinks=True)
        made = cls(home)
        made.pip("install", "--no-deps", *wheels)
        query = "import sysconfig; print(sysconfig.get_path('purelib'))"
        own = Path(run(made.python, "-c", query, cwd=home).strip())
        others = own.parent / "third-party"
        others.mkdir()
        for parent in dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))):
            for path in Path(parent).iterdir():
                if "gleg" not in path.name and path.suffix != ".pth":
                    (others / path.name).symlink_to(path)
            for path in Path(parent).parents[1].glob("*.so*"):
                (own.parents[1] / path.name).symlink_to(path)
        (own / "third-party.pth").write_text(f"{others}\n", encoding="utf-8")
        for tool in ("pip", "pytest"):
            script = home / "bin" / tool
            script.write_text(f'#!/bin/sh\nexec {made.python} -m {tool} "$@"\n')
            script.chmod(0o755)
        return made

    @property
    def python(self) -> Path:
        return self.home / "bin" / "python"

    def pip(self, *arguments: str | Path) -> str:
        """pip for this environment, without an index."""
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.python)
        return run(*pip, arguments[0], "--quiet", *arguments[1:], cwd=self.home, PIP_NO_INDEX="1")

    def gleg(self, *arguments: str, cwd: Path, **environment: str) -> str:
        return run(self.home / "bin" / "gleg", *arguments, cwd=cwd, **environment)

    def shell(self, command: str, cwd: Path, **environment: str) -> str:
        """A command line as a user types it, this environment's commands first; pip builds with what is installed."""
        path = f"{self.home / 'bin'}:{os.environ['PATH']}"
        offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        return run("sh", "-c", command, cwd=cwd, PATH=path, **offline, **environment)
