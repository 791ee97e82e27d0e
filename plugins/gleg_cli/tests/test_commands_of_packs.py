"""Commands that packs bring: listed, called, missing, and listed anew when something changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACK = """
from gleg_core.pack import Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_commands():
    return [Tool("greet", "Say hello", "acme_greetings.command:greet"), Tool("run", "Another run", "acme_greetings.command:greet")]
"""
COMMAND = """
import click


@click.command()
@click.argument("problem")
@click.pass_obj
def greet(terminal, problem):
    print("hello", ", ".join(f.name for f in terminal.problem(__import__("pathlib").Path(problem)).fields))
"""
HEAT = """
domain: {kind: disk, radius: 1}
fields: {u: {initial: 1, boundary: [{kind: neumann}], equation: [{block: diffusion}]}}
time: {end: 1}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages with one stranger's pack."""
    site = tmp_path / "site"
    package, info = site / "acme_greetings", site / "acme_greetings-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text("")
    (package / "pack.py").write_text(PACK)
    (package / "command.py").write_text(COMMAND)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-greetings\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gleg.packs]\ngreetings = acme_greetings.pack\n")
    (tmp_path / "heat.yaml").write_text(HEAT)
    return site


def gleg(site: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "GLEG_CACHE": str(site.parent / "cache")} | variables
    return subprocess.run(
        [sys.executable, "-m", "gleg_cli", *arguments],
        env=environment,
        cwd=site.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_command_of_a_stranger_is_listed_and_called(site: Path) -> None:
    for _ in range(2):  # asked for, then remembered
        text = gleg(site, "--help").stdout
        assert "greet" in text and "Say hello" in text and "greetings:run" in text and "Solve PROBLEM and write" in text
    assert gleg(site, "greet", "heat.yaml").stdout == "hello u\n"
    assert "Solve PROBLEM and write one folder" in gleg(site, "run", "--help").stdout


def test_the_list_follows_what_is_installed(site: Path) -> None:
    assert "Say hello" in gleg(site, "--help").stdout
    module = site / "acme_greetings" / "pack.py"
    module.write_text(PACK.replace("Say hello", "Say good morning"))
    os.utime(module, ns=(1, 10**18))
    assert "Say good morning" in gleg(site, "--help").stdout
    shutil.rmtree(site / "acme_greetings-1.0.dist-info")
    os.utime(site, ns=(1, 2 * 10**18))
    assert "good morning" not in gleg(site, "--help").stdout


def test_what_is_no_command(site: Path) -> None:
    (site / "acme_greetings" / "command.py").write_text("greet = 3\n")
    done = gleg(site, "greet", "heat.yaml")
    assert done.returncode == 3 and "pack 'greetings' (acme-greetings 1.0): its command 'greet' is int" in done.stderr
    (site / "acme_greetings" / "command.py").write_text("raise SystemExit(0)\n")
    done = gleg(site, "greet", "heat.yaml")
    assert done.returncode == 3 and "pack 'greetings' (acme-greetings 1.0)" in done.stderr
    done = gleg(site, "gret")
    assert done.returncode == 2 and "Did you mean 'greet'?" in done.stderr


def test_warnings_of_packs_are_one_line_each_and_said_once(site: Path) -> None:
    (site / "acme_greetings" / "command.py").write_text(
        "import warnings\n"
        + COMMAND.replace(
            'print("hello"',
            'for _ in range(2): warnings.warn("old\\n  stuff", DeprecationWarning, stacklevel=1)\n'
            '    warnings.warn("mind the gap", stacklevel=1)\n    print("hello"',
        )
    )
    done = gleg(site, "greet", "heat.yaml", PYTHONWARNINGS="always::DeprecationWarning:acme_greetings.command")
    told = [line for line in done.stderr.splitlines() if "acme" in line or "mind" in line]
    assert told == [
        "warning: old stuff (DeprecationWarning in acme_greetings/command.py, line 10)",
        "warning: mind the gap",
    ]


def test_an_allow_list_that_leaves_commands_out_is_named(site: Path) -> None:
    done = gleg(site, "--help", GLEG_PACKS="diffusion")
    assert done.returncode == 0 and "none: the allow-list GLEG_PACKS has no pack with a command" in done.stdout
    done = gleg(site, "run", "heat.yaml", GLEG_PACKS="diffusion")
    left_out = "comes with gleg-cli, which is installed, but the allow-list GLEG_PACKS leaves it out:   add cli"
    assert done.returncode == 3 and left_out in done.stderr
    done = gleg(site, "validate", "heat.yaml", GLEG_PACKS="diffusion,cli,domains")
    assert done.returncode == 3 and "It is in gleg-bc, which is installed, but the allow-list GLEG_PACKS" in done.stderr


def test_a_name_that_two_strangers_have_is_listed_by_its_full_keys(site: Path) -> None:
    package = site / "acme_other"
    shutil.copytree(site / "acme_greetings", package)
    info = site / "acme_other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gleg.packs]\nother = acme_other.pack\n")
    lines = [line.split()[0] for line in gleg(site, "--help").stdout.splitlines() if "Say hello" in line]
    assert lines == ["greetings:greet", "other:greet"]
    done = gleg(site, "greet", "heat.yaml")
    assert done.returncode == 3 and "Write one of: greetings:greet, other:greet" in done.stderr


def test_a_misspelt_command_that_is_not_there_is_answered_with_what_brings_it(site: Path) -> None:
    done = gleg(site, "discovr", GLEG_PACKS="cli,results")
    assert done.returncode == 2
    assert (
        "No such command 'discovr'. Did you mean 'discover'? The command 'discover' comes with gleg-discovery"
        in done.stderr
    )
    done = gleg(site, "valdate")
    assert "Did you mean 'validate'?" in done.stderr and "comes with" not in done.stderr
