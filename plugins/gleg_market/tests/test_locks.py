"""Locks: a run is repeated with the same packs, or refused with what differs and what helps."""

from __future__ import annotations

import json
import platform
import shutil
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import test_broken_packs as broken
from test_broken_packs import PROBLEM, Install, gleg

import gleg as front_door
from gleg_core.errors import OutputError, PackError, SpecError
from gleg_core.registry import default_registry
from gleg_core.spec.loading import load_document
from gleg_core.spec.problem import load_problem
from gleg_core.weight_files import card_path, locate
from gleg_core.weights.card import read_card
from gleg_market.lock import make_lock, write_lock

install = broken.install
RUN = ("run", "p.yaml", "--quiet", "--out", "out")
LOCK = Path("p.lock.json")


@pytest.fixture
def locked(install: Install, tmp_path: Path) -> Path:
    """A problem with a block of acme-broken 0.7 and its lock; the result is the folder of that package."""
    install("broken")
    Path("p.yaml").write_text(PROBLEM.replace("BLOCK", "broken:sink"), encoding="utf-8")
    assert gleg("lock", "p.yaml") == (0, "")
    return tmp_path / "site" / "acme_broken"


def discovered_again() -> None:
    """As in a new process."""
    default_registry.cache_clear()
    for name in [n for n in sys.modules if n.startswith("acme_")]:
        del sys.modules[name]


def upgrade(package: Path, new: str) -> None:
    """The distribution in another version."""
    old = package.with_name("acme_broken-0.7.dist-info")
    (old / "METADATA").write_text(f"Metadata-Version: 2.4\nName: acme-broken\nVersion: {new}\n")
    old.rename(package.with_name(f"acme_broken-{new}.dist-info"))
    discovered_again()


def uninstall(package: Path) -> None:
    shutil.rmtree(package)
    shutil.rmtree(package.with_name("acme_broken-0.7.dist-info"))
    discovered_again()


def edit_lock(**changes: Any) -> None:
    LOCK.write_text(json.dumps(json.loads(LOCK.read_text()) | changes))


@pytest.mark.usefixtures("locked")
def test_a_lock_says_what_a_run_depends_on() -> None:
    lock = json.loads(LOCK.read_text(encoding="utf-8"))
    assert set(lock["packs"]) == {"bc", "broken", "diffusion", "domains", "fourier", "integrators"}
    ours = lock["packs"]["broken"]
    assert (ours["distribution"], ours["version"], ours["contract"]) == ("acme-broken", "0.7", "3.0")
    card = read_card(card_path(locate("gleg_blocks_diffusion:diffusion")), "diffusion")
    assert lock["packs"]["diffusion"]["weights"] == {"diffusion:diffusion": card.sha256}
    assert lock["core"]["version"] == version("gleg-core")
    assert lock["environment"] == {
        "python": platform.python_version(), "torch": version("torch"), "numpy": version("numpy")
    }  # fmt: skip
    digests = {p["sha256"] for p in (*lock["packs"].values(), lock["core"])}
    assert len(digests) == len(lock["packs"]) + 1 and {len(d) for d in digests} == {64}
    assert {p.name for p in Path().iterdir()} == {"p.yaml", "p.lock.json"}


@pytest.mark.usefixtures("locked")
def test_the_same_packs_run_without_a_word() -> None:
    assert gleg(*RUN) == gleg(*RUN, "--locked") == (0, "")


@pytest.mark.usefixtures("locked")
def test_a_lock_does_not_change_when_it_is_made_again() -> None:
    before = LOCK.read_bytes()
    assert gleg("lock", "p.yaml") == (0, "")
    assert LOCK.read_bytes() == before


def test_another_version_is_refused_until_it_is_accepted(locked: Path) -> None:
    upgrade(locked, "0.8")
    code, message = gleg(*RUN)
    assert code == 3
    assert message.startswith("p.yaml: the installed packs differ from p.lock.json (locked → found)\n")
    assert "  pack 'broken': acme-broken 0.7 → acme-broken 0.8\n" in message
    assert "  To go back:   pip install acme-broken==0.7\n" in message
    assert "gleg lock p.yaml" in message and "gleg run p.yaml --ignore-lock" in message
    assert "diffusion" not in message and not Path("out").exists()
    assert gleg(*RUN, "--ignore-lock") == (0, "")
    assert gleg("lock", "p.yaml") == gleg(*RUN) == (0, "")


def test_edited_files_are_refused(locked: Path) -> None:
    (locked / "block.py").write_text((locked / "block.py").read_text() + "\n# edited\n")
    code, message = gleg(*RUN)
    assert code == 3 and "pack 'broken': acme-broken 0.7, files changed, sha256 " in message
    assert "pip install --force-reinstall --no-deps acme-broken==0.7" in message


def test_compiled_files_do_not_count(locked: Path) -> None:
    (locked / "__pycache__").mkdir(exist_ok=True)
    (locked / "__pycache__" / "block.cpython-399.pyc").write_bytes(b"anything")
    assert gleg(*RUN) == (0, "")


@pytest.mark.usefixtures("locked")
def test_changed_weights_and_another_core_are_refused() -> None:
    lock = json.loads(LOCK.read_text())
    lock["packs"]["diffusion"] |= {"weights": {"diffusion:diffusion": "0" * 64}, "sha256": "0" * 64}
    edit_lock(packs=lock["packs"], core=lock["core"] | {"version": "0.0.1"})
    code, message = gleg(*RUN)
    assert code == 3 and "pack 'diffusion': gleg-blocks-diffusion" in message and "weights and files changed" in message
    assert f"gleg-core: gleg-core 0.0.1 → gleg-core {front_door.__version__}" in message
    assert "pip install gleg-core==0.0.1" in message


def test_a_pack_removed_after_locking_is_named_with_its_version(locked: Path) -> None:
    uninstall(locked)
    code, message = gleg(*RUN)
    assert code == 3 and "  pack 'broken': acme-broken 0.7 → not installed\n" in message
    assert "pip install acme-broken==0.7" in message
    for command in (("validate", "p.yaml"), ("resolve", "p.yaml"), (*RUN, "--ignore-lock")):
        code, message = gleg(*command)
        assert code == 3 and message.startswith("p.yaml:9: fields.u.equation[1].block: no installed pack provides")
        assert "  p.lock.json has the pack 'broken' from acme-broken 0.7:   pip install acme-broken==0.7\n" in message
    LOCK.unlink()
    broken.others_go_on()


def test_a_pack_that_broke_after_locking_is_named_with_its_failure(locked: Path) -> None:
    (locked / "pack.py").write_text("import surely_absent")
    discovered_again()
    code, message = gleg(*RUN)
    assert code == 3 and "acme-broken 0.7 → refused at stage 'import': ModuleNotFoundError" in message


@pytest.mark.usefixtures("locked")
def test_other_versions_of_the_libraries_are_a_warning() -> None:
    edit_lock(environment={"python": platform.python_version(), "torch": "1.0", "numpy": version("numpy")})
    code, message = gleg(*RUN)
    assert code == 0
    assert message == f"warning: p.lock.json: torch 1.0 → {version('torch')}; numbers may differ in their last digits\n"


@pytest.mark.usefixtures("locked")
def test_comments_may_change_and_content_is_a_warning() -> None:
    path = Path("p.yaml")
    path.write_text("# another comment\n" + path.read_text())
    assert gleg(*RUN) == (0, "")
    path.write_text(path.read_text().replace("radius: 0.6", "radius: 0.60"))
    assert gleg(*RUN, "--set", "domain.radius=0.59") == (0, "")
    path.write_text(path.read_text().replace("radius: 0.60", "radius: 0.61"))
    assert gleg(*RUN) == (0, "warning: p.lock.json: p.yaml has changed since it was locked\n")


@pytest.mark.usefixtures("install")
def test_a_file_the_problem_uses_is_part_of_it() -> None:
    ring = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]]
    island = Path("island.geojson")
    island.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    text = PROBLEM.replace("{kind: disk, radius: 0.6}", "{kind: geojson, path: island.geojson}")
    Path("p.yaml").write_text(text.replace("BLOCK", "power") + "\nunresolved: ignore\n")
    assert gleg("lock", "p.yaml") == (0, "")
    assert set(json.loads(LOCK.read_text())["problem"]["files"]) == {"island.geojson"}
    assert gleg(*RUN) == (0, "")
    island.write_text(json.dumps({"type": "Polygon", "coordinates": [[[1.1 * x, y] for x, y in ring]]}))
    code, message = gleg(*RUN)
    assert code == 0 and "island.geojson, which p.yaml uses, has changed" in message


@pytest.mark.usefixtures("locked")
def test_locked_needs_a_lock() -> None:
    LOCK.unlink()
    code, message = gleg(*RUN, "--locked")
    assert (code, message) == (2, "p.yaml: there is no lock p.lock.json beside it. Make one:   gleg lock p.yaml\n")
    assert gleg(*RUN) == (0, "")
    assert gleg(*RUN, "--locked", "--ignore-lock")[0] == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not a lock"),
        ("[]", "not a lock"),
        ('{"lock": 2}', "lock: input should be 1"),
        ('{"lock": 1, "packs": {"a": 3}}', "problem: field required"),
    ],
)
@pytest.mark.usefixtures("locked")
def test_a_damaged_lock_is_not_ignored(text: str, says: str) -> None:
    LOCK.write_text(text)
    code, message = gleg(*RUN)
    assert code == 2 and message.startswith("p.lock.json: not a lock: ") and says in message
    assert "gleg lock" in message and message.count("\n") == 1
    assert gleg(*RUN, "--ignore-lock") == (0, "")


@pytest.mark.usefixtures("locked")
def test_a_lock_that_cannot_be_written() -> None:
    LOCK.unlink()
    LOCK.mkdir()
    document = load_document("p.yaml")
    with pytest.raises(OutputError, match=r"p\.lock\.json: cannot be written"):
        write_lock(LOCK, make_lock(load_problem(document)))
    assert {p.name for p in Path().iterdir()} == {"p.yaml", "p.lock.json"}


def test_solve_warns_and_refuses_only_if_asked(locked: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        front_door.solve("p.yaml", locked=True)
    upgrade(locked, "0.8")
    with pytest.warns(UserWarning, match=r"acme-broken 0\.7 → acme-broken 0\.8"):
        run = front_door.solve("p.yaml", time={"end": 0.05})
    assert run.times[-1] == 0.05
    with pytest.raises(PackError, match=r"acme-broken==0\.7"):
        front_door.solve("p.yaml", locked=True)
    LOCK.unlink()
    with pytest.raises(SpecError, match="there is no lock"):
        front_door.solve("p.yaml", locked=True)
