"""What README and docs show is executed."""

import json
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml
from distributions import SOURCES

from gleg_basis_elements.params import ElementsParams
from gleg_core.pack import CONTRACT, CONTRACTS
from gleg_core.registry import default_registry
from gleg_core.registry.catalogue import shipped_offers
from gleg_core.spec.problem import load_problem
from gleg_learning.recipe import Recipe, read_recipe
from gleg_market.catalogue import offers_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LEARNED = (ROOT / "docs" / "learned-blocks.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the README's problem file."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "lake.yaml").write_text(blocks(README, "yaml")[0], encoding="utf-8")
    return folder


def run_commands(text: str, folder: Path) -> None:
    """Run the ``$ gleg …`` lines of the first console block."""
    commands = [line[2:] for line in blocks(text, "console")[0].splitlines() if line.startswith("$ ")]
    assert len(commands) == 3
    for command in commands:
        arguments = command.split()[1:]
        done = subprocess.run(
            [sys.executable, "-m", "gleg_cli", *arguments], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def after_commands(folder: Path) -> Path:
    """The same folder after the README's commands."""
    run_commands(README, folder)
    return folder


@pytest.mark.xdist_group("readme")
def test_readme_commands(after_commands: Path) -> None:
    written = {p.name for p in (after_commands / "lake-run").iterdir()}
    named = set(re.findall(r"`(\w[\w.]*\.(?:nc|json|png|yaml))`", README)) - {"lake.yaml"}
    assert named <= written


@pytest.mark.xdist_group("readme")
def test_readme_python(after_commands: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(after_commands)
    scope: dict = {}
    exec(compile(blocks(README, "python")[0], "README.md", "exec"), scope)
    assert 0 < scope["run"].u(0.1, 0.2, 0.55) < 1
    assert (after_commands / "lake.png").exists()


def test_the_page_on_speed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    many, gradient = blocks((ROOT / "docs" / "speed.md").read_text(encoding="utf-8"), "python")
    scope: dict = {}
    exec(compile(many, "speed.md", "exec"), scope)
    assert len(scope["runs"]) == 5 and 0 < scope["runs"][3].u(0.1, 0.2, 0.05) < 1
    exec(compile(gradient, "speed.md", "exec"), scope)
    assert scope["gradient"].shape == (3,) and scope["gradient"].abs().min() > 0


def test_the_page_on_elements(tmp_path: Path) -> None:
    """Its files run by its commands, and print lines with the words it shows; its keys are keys; its cells have the area it says."""
    text = (ROOT / "docs" / "elements.md").read_text(encoding="utf-8")
    for source in map(textwrap.dedent, blocks(text, "yaml")):
        if name := re.match(r"# (\w+\.yaml):", source):
            (tmp_path / name[1]).write_text(source, encoding="utf-8")
            assert load_problem(tmp_path / name[1]).basis.key == "elements:elements"
        else:
            keys = yaml.safe_load(source)["basis"]
            assert set(keys) - {"kind"} == set(ElementsParams.model_fields)
            ElementsParams.model_validate({key: value for key, value in keys.items() if key != "kind"})
    for line in "".join(blocks(text, "console")).splitlines():
        if line.startswith("$ gleg "):
            command = [sys.executable, "-m", "gleg_cli", *shlex.split(line)[2:]]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        else:
            shown, said = (set(re.findall(r"[A-Za-z]{2,}", part)) for part in (line, done.stdout + done.stderr))
            assert shown <= said, line
    assert (tmp_path / "plate-run" / "mesh" / "mesh.png").is_file()
    scope: dict = {}
    exec(compile(blocks(text, "python")[0], "elements.md", "exec"), scope)
    assert abs(scope["error"]) <= 1e-14


def test_the_page_on_estimates(tmp_path: Path) -> None:
    """Its file runs by its commands, which print the words it shows."""
    text = (ROOT / "docs" / "estimates.md").read_text(encoding="utf-8")
    (source,) = blocks(text, "yaml")
    (tmp_path / "front.yaml").write_text(source, encoding="utf-8")
    for line in "".join(blocks(text, "console")).splitlines():
        if line.startswith("$ gleg "):
            command = [sys.executable, "-m", "gleg_cli", *shlex.split(line)[2:]]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        else:
            shown, said = (set(re.findall(r"[A-Za-z]{2,}", part)) for part in (line, done.stdout + done.stderr))
            assert shown <= said, line
    assert json.loads((tmp_path / "resolved-run" / "metrics.json").read_text())["relative_l2"]["max"] < 1e-5
    opinion = json.loads((tmp_path / "front-verify" / "verify.json").read_text())
    assert 0.03 < opinion["differences"][0]["relative"] < 0.1 and opinion["believed"] == "elements with imex-ark4"
    failed = subprocess.run(
        [sys.executable, "-m", "gleg_cli", "run", "front.yaml", "--set", "unresolved=fail", "--out", "failed"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert failed.returncode == 5 and (tmp_path / "failed" / "result.nc").is_file()


def test_the_page_on_formulas(tmp_path: Path) -> None:
    """Its formulas are formulas, and its file runs."""
    named, source = blocks((ROOT / "docs" / "formulas.md").read_text(encoding="utf-8"), "yaml")
    problem = load_problem({**yaml.safe_load(source), "formulas": yaml.safe_load(named)})
    assert [region.name for region in problem.regions] == ["core", "slot"]
    (tmp_path / "core.yaml").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "gleg_cli", "run", "core.yaml", "--set", "regions.core.radius=0.4"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    assert load_problem(tmp_path / "core-run" / "spec.resolved.yaml").regions[0].domain.bounds[0, 1] == 0.4


def test_readme_names_every_distribution() -> None:
    for source in SOURCES:
        assert f"`{source.name}`" in README


def test_commands_named_in_the_docs_exist() -> None:
    for text in (README, *(p.read_text(encoding="utf-8") for p in sorted((ROOT / "docs").glob("*.md")))):
        for name in re.findall(r"`gleg (\w[\w-]*)", text):
            assert default_registry().tool("gleg_commands", name), name


def test_the_pack_in_the_readme_is_one() -> None:
    scope: dict = {"__name__": "readme_pack"}
    exec(compile(blocks(README, "python")[1], "README.md", "exec"), scope)
    (entry,) = scope["gleg_blocks"]()
    assert entry.name == "logistic" and scope["CONTRACT"] == CONTRACT
    assert scope["logistic"](0.5, rate=2.0) == 0.5


def test_makefile_has_the_two_commands() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", "\n".join(blocks(README, "sh")), re.M):
        assert re.search(rf"^{target}:", makefile, re.M)


def test_learned_blocks_page(tmp_path: Path) -> None:
    """Its commands run and write what they say, its first recipe is the shipped one, its second is valid."""
    run_commands(LEARNED, tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"my-diffusion.safetensors", "my-diffusion.card.json"}
    shown, closure = (Recipe.model_validate(yaml.safe_load(text)) for text in blocks(LEARNED, "yaml"))
    shipped, _ = read_recipe(ROOT / "gleg_blocks_diffusion/src/gleg_blocks_diffusion/diffusion.recipe.yaml")
    assert shown == shipped
    assert closure.data is not None and closure.data.kind == "pairs"


def test_the_pack_in_the_docs_solves_a_problem(tmp_path: Path) -> None:
    """docs/architecture.md, 'Writing a pack': its three files, installed by metadata only, used from a problem file."""
    package = tmp_path / "site" / "my_pack"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for source in blocks(ARCHITECTURE, "python"):
        name = re.match(r"# my_pack/(\w+\.py)", source)
        assert name
        (package / name[1]).write_text(source, encoding="utf-8")
    metadata = tmp_path / "site" / "my_pack-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-pack\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[gleg.packs]\npopulation = my_pack.pack\n")
    program = textwrap.dedent("""
        import math, sys
        sys.path.insert(0, sys.argv[1])
        import gleg
        run = gleg.solve({
            "domain": {"kind": "disk", "radius": 1},
            "basis": {"kind": "fourier", "K": 4},
            "fields": {"u": {"initial": 0.1, "boundary": [{"kind": "neumann"}], "equation": [
                {"block": "diffusion"}, {"block": "population:logistic", "rate": 2}]}},
            "time": {"end": 1, "step": 0.05},
        })
        exact = 0.1 * math.exp(2) / (1 + 0.1 * (math.exp(2) - 1))
        assert abs(run.u(0.2, 0.1, 1.0) - exact) < 1e-6, (run.u(0.2, 0.1, 1.0), exact)
    """)
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "site")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("**/*.yaml")), ids=lambda p: p.stem)
def test_examples_validate_and_open_with_a_comment(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert len(text.splitlines()) <= 60
    load_problem(path)
    assert yaml.safe_load(text)


def test_problem_files_of_laws_to_discover_are_valid() -> None:
    texts = [README, (ROOT / "docs" / "discovery.md").read_text(encoding="utf-8")]
    files = [text for page in texts for text in blocks(page, "yaml") if "candidates" in text]
    assert len(files) >= 2
    for text in files:
        assert load_problem(yaml.safe_load(text)).fields[0].added


def test_catalogue_matches_the_first_party_packs() -> None:
    """``python -m gleg_market.curate`` brings it up to date."""
    known = {o.distribution for o in shipped_offers()}
    ours = [pack for pack in default_registry().packs if pack.distribution in known]
    first_party = set(re.findall(r"^\| `(gleg-[a-z-]+)` \|", README, re.M)) - {"gleg-core"}
    assert {pack.distribution for pack in ours} >= first_party > {"gleg-bc"}
    installed = {(o.key, o.contract, o.summary, o.distribution, o.licence) for p in ours for o in offers_of(p)}
    names = {pack.distribution for pack in ours}
    assert installed == {
        (o.key, o.contract, o.summary, o.distribution, o.licence) for o in shipped_offers() if o.distribution in names
    }
    assert [o.key for o in shipped_offers() if o.contract in CONTRACTS and not o.keywords] == []
