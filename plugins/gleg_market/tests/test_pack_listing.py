"""``gleg packs``: where packs come from and whether they can be trusted; certificates and hashes behind it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import test_broken_packs as broken
from click.testing import CliRunner, Result
from test_broken_packs import LIGHT, PROBLEM, Install

from gleg_cli.main import gleg
from gleg_core.registry import Pack, default_registry
from gleg_core.registry.fingerprint import files_hash
from gleg_core.weight_files import card_path, locate
from gleg_core.weights.card import read_card
from gleg_market import certificates
from gleg_market.certificates import Certificate

install = broken.install
REPORT = {"kit": "1.0", "passed": 31, "failed": 0, "expected": 0, "checks": [{"id": "a"}]}


@pytest.fixture(autouse=True)
def checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Certificates of this test only."""
    monkeypatch.setenv("GLEG_CHECKS", str(tmp_path / "checks"))
    return tmp_path / "checks"


def packs(*arguments: str) -> Result:
    result = CliRunner().invoke(gleg, ["packs", *arguments])
    assert result.exception is None, result.output
    return result


def heading(pack: str) -> str:
    (line,) = [line for line in packs().stdout.splitlines() if line.startswith(f"{pack}  ")]
    return line


def the(pack: str) -> Pack:
    return next(p for p in default_registry().packs if p.id == pack)


def add_metadata(tmp_path: Path, lines: str) -> None:
    path = tmp_path / "site" / "acme_broken-0.7.dist-info" / "METADATA"
    path.write_text(path.read_text() + lines + "\n\nDescription: not a header\n")
    default_registry.cache_clear()


# --- the heading ----------------------------------------------------------------------------------------------------


def test_the_heading_says_where_a_pack_comes_from(install: Install, tmp_path: Path) -> None:
    install("broken")
    plain = "broken  acme-broken 0.7, contract 3.0, no licence stated, by —, 1 component, weights —, not checked"
    assert heading("broken") == plain
    add_metadata(
        tmp_path, "License-Expression: BSD-3-Clause\nAuthor-email: Ada Byron <ada@acme.example>, bob@acme.example"
    )
    assert "BSD-3-Clause, by Ada Byron, bob@acme.example, 1 component" in heading("broken")


@pytest.mark.parametrize(
    ("lines", "provider"),
    [
        ("Author: Ada", "Ada"),
        ("Author: Ada\nAuthor-email: a@b.example", "Ada"),
        ("Maintainer-email: <a@b.example>", "a@b.example"),
        ("Maintainer: The Acme team", "The Acme team"),
        ('Author-email: "Ada Byron" <a@b.example>', "Ada Byron"),
    ],
)
def test_the_provider_is_author_or_maintainer(install: Install, tmp_path: Path, lines: str, provider: str) -> None:
    install("broken")
    add_metadata(tmp_path, lines)
    assert the("broken").provider == provider


def test_components_are_listed_below_it(install: Install) -> None:
    install("broken")
    assert "\n  block      sink                 −u²\n" in packs().stdout


def test_weights_are_those_of_the_card() -> None:
    card = read_card(card_path(locate("gleg_blocks_diffusion:diffusion")), "diffusion")
    assert f", weights {card.sha256[:12]}, " in heading("diffusion")
    assert f"diffusion:diffusion sha256 {card.sha256}" in packs("diffusion").stdout


def test_weights_that_are_not_there_are_called_so(install: Install) -> None:
    entry = 'factory="PACKAGE.block:Sink"'
    install("broken", pack=LIGHT.replace(entry, f'{entry}, capabilities={{"weights": "PACKAGE:none"}}'))
    assert ", weights missing, " in heading("broken")


# --- one pack, all of them, JSON ------------------------------------------------------------------------------------


def test_one_pack_in_full(install: Install) -> None:
    install("broken")
    text = packs("broken").stdout
    for words in ("acme-broken 0.7", "acme_broken.pack", f"sha256 {files_hash('acme_broken')}", "not checked", "−u²"):
        assert words in text
    assert packs("acme_broken").stdout == packs("ACME-broken").stdout == text
    assert text in packs("-v").stdout
    assert "structure E, order 2, degree 1, modes weak pointwise ambient" in packs("diffusion").stdout


def test_a_pack_that_is_not_installed() -> None:
    result = CliRunner().invoke(gleg, ["packs", "difusion"])
    assert "no pack 'difusion' is installed. Did you mean 'diffusion'?" in str(result.exception)


def test_json_has_everything(install: Install) -> None:
    install("broken")
    (ours,) = json.loads(packs("broken", "--json").stdout)["packs"]
    assert ours["sha256"] == files_hash("acme_broken") and ours["conformance"] is None
    assert ours["entries"] == {"block": {"sink": "−u²"}} and ours["capabilities"] == {"block": {"sink": {}}}
    assert (ours["provider"], ours["module"], ours["weights"]) == (None, "acme_broken.pack", {})
    certificates.store(the("broken"), REPORT)
    everything = json.loads(packs("--json").stdout)["packs"]
    (ours,) = [p for p in everything if p["id"] == "broken"]
    assert ours["conformance"]["passed"] == 31 and ours["conformance"]["current"] is True
    assert ours["sha256"] is None, "hashing the files of every pack is left to -v"


# --- certificates ---------------------------------------------------------------------------------------------------


def test_a_certificate_is_kept_and_shown(install: Install, checks: Path) -> None:
    install("broken")
    assert certificates.load(the("broken")) is None
    path = certificates.store(the("broken"), REPORT)
    assert path is not None and list(checks.iterdir()) == [path]
    kept = certificates.load(the("broken"))
    assert kept is not None and kept == Certificate("1.0", 31, 0, 0, kept.date, True)
    assert heading("broken").endswith(", conformance 1.0: 31 passed")
    assert json.loads(path.read_text())["report"] == REPORT


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ({"passed": 29, "failed": 2}, "conformance 1.0: 29 passed, 2 FAILED"),
        ({"passed": 30, "expected": 1}, "conformance 1.0: 30 passed, 1 expected to fail"),
        ({"passed": 0}, "conformance 1.0: no checks"),
    ],
)
def test_failures_are_shown(install: Install, counts: dict[str, Any], shown: str) -> None:
    install("broken")
    certificates.store(the("broken"), REPORT | counts)
    assert heading("broken").endswith(f", {shown}")


def test_changed_files_make_a_certificate_stale(install: Install, tmp_path: Path) -> None:
    install("broken")
    certificates.store(the("broken"), REPORT)
    source = tmp_path / "site" / "acme_broken" / "block.py"
    before = source.read_text()
    source.write_text(before + "# edited")
    assert heading("broken").endswith(", changed since checked")
    source.write_text(before)
    assert heading("broken").endswith(", conformance 1.0: 31 passed")


def test_another_version_is_not_checked(install: Install, tmp_path: Path) -> None:
    install("broken")
    certificates.store(the("broken"), REPORT)
    info = tmp_path / "site" / "acme_broken-0.7.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: acme-broken\nVersion: 0.8\n")
    default_registry.cache_clear()
    assert heading("broken").endswith(", not checked")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"report": {"kit": "1.0"}}', '{"report": 3}'])
def test_a_damaged_certificate_certifies_nothing(install: Install, text: str) -> None:
    install("broken")
    path = certificates.store(the("broken"), REPORT)
    assert path is not None
    path.write_text(text)
    assert heading("broken").endswith(", not checked")


def test_certificates_can_be_off_or_unwritable(install: Install, checks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("broken")
    checks.write_text("a file where the folder should be")
    assert certificates.store(the("broken"), REPORT) is None
    monkeypatch.setenv("GLEG_CHECKS", "off")
    assert certificates.store(the("broken"), REPORT) is None and certificates.load(the("broken")) is None


# --- hashes ---------------------------------------------------------------------------------------------------------


def test_the_hash_of_files_is_that_of_sha256sum(install: Install, tmp_path: Path) -> None:
    """sha256 of what ``sha256sum`` prints for the sorted files."""
    install("broken")
    package = tmp_path / "site" / "acme_broken"
    names = sorted(p.name for p in package.glob("*.py"))
    printed = "".join(f"{hashlib.sha256((package / n).read_bytes()).hexdigest()}  {n}\n" for n in names)
    assert files_hash("acme_broken.pack") == hashlib.sha256(printed.encode()).hexdigest()


def test_the_hash_sees_names_and_contents_only(install: Install, tmp_path: Path) -> None:
    install("broken")
    package = tmp_path / "site" / "acme_broken"
    first = files_hash("acme_broken")
    (package / "block.py").touch()
    assert files_hash("acme_broken") == first
    (package / "block.py").rename(package / "blocks.py")
    renamed = files_hash("acme_broken")
    shutil.move(package / "blocks.py", package / "block.py")
    assert renamed != first == files_hash("acme_broken")
    assert files_hash("surely_absent.pack") == ""


# --- weight and documentation ---------------------------------------------------------------------------------------


def test_listing_imports_nothing_heavy() -> None:
    program = (
        "import sys; from click.testing import CliRunner; from gleg_cli.main import gleg;"
        "[CliRunner().invoke(gleg, c, catch_exceptions=False) for c in (['packs'], ['packs', '-v'], ['search', 'heat'])];"
        "print([m for m in ('torch', 'numpy', 'pydantic', 'scipy', 'matplotlib', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


PAGE = (Path(__file__).parents[3] / "docs" / "packs.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("install")
def test_the_page_on_packs_is_true() -> None:
    """The commands of docs/packs.md work in the order they are shown, and print the lines shown below them."""
    Path("lake.yaml").write_text(PROBLEM.replace("BLOCK", "power"), encoding="utf-8")
    shown = [line for block in PAGE.split("```console\n")[1:] for line in block.partition("```")[0].splitlines()]
    output = ""
    for line in shown:
        if line.startswith("$ gleg "):
            result = CliRunner().invoke(gleg, line.split()[2:], catch_exceptions=False)
            assert result.exit_code == 0, result.output
            output = " ".join(result.output.split())
        elif not line.startswith("$ "):
            assert " ".join(line.split()) in output
