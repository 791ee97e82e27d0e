"""The tutorial docs/write-a-pack.md, done word for word in an environment with gleg's wheels and nothing else of ours."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from distributions import ROOT
from environments import Environment

from gleg_core.pack import HOOKS

pytestmark = pytest.mark.xdist_group("packaging")

TUTORIAL = (ROOT / "docs" / "write-a-pack.md").read_text(encoding="utf-8")
PATH, TOOLS = TUTORIAL.split("## 5. More than components")
STEPS = re.findall(r"```(console|python|yaml)\n(.*?)```", PATH, re.S)


def test_the_tutorial_leads_to_an_installed_pack_that_solves_a_pde(
    tmp_path_factory: pytest.TempPathFactory, wheels: dict[str, Path]
) -> None:
    home = tmp_path_factory.mktemp("author")
    environment = Environment.make(home / "environment", wheels.values())
    folder = home / "work"
    folder.mkdir()
    said: list[str] = []
    written = 0
    for language, text in STEPS:
        if language == "console":
            for line in text.strip().splitlines():
                command = line.removeprefix("$ ")
                if command.startswith("cd "):
                    folder = folder / shlex.split(command)[1]
                else:
                    said.append(environment.shell(command, folder, GLEG_CHECKS=str(home / "checks")))
        else:
            path = re.match(r"# (\S+?):?\s", text)
            assert path, text
            (folder / path[1]).write_text(text, encoding="utf-8")
            written += len([line for line in text.splitlines() if line.strip() and not line.startswith("#")])
    metrics = json.loads((folder / "front-run" / "metrics.json").read_text())
    assert metrics["relative_l2"]["max"] < 1e-4
    assert (folder.parent / "wheelhouse" / "gleg_blocks_ecology-0.1.0-py3-none-any.whl").exists()
    assert any("ecology" in text and "gleg-blocks-ecology 0.1.0" in text for text in said), "gleg packs ecology"
    assert written <= 50, "the author's own lines: mechanisms, tests and problem file"


def test_the_tools_it_shows_are_records_of_hooks_there_are() -> None:
    (text,) = re.findall(r"```python\n(.*?)```", TOOLS, re.S)
    shown: dict = {}
    exec(compile(text, "write-a-pack.md", "exec"), shown)
    hooks = [name for name in shown if name.startswith("gleg_")]
    assert len(hooks) >= 5
    for name in hooks:
        assert all(isinstance(record, HOOKS[name].record) for record in shown[name]()), name
