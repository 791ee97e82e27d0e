"""The catalogue: reading, merging, searching and curating it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import test_broken_packs as broken
from click.testing import CliRunner, Result
from test_broken_packs import Install

from gleg_cli.main import gleg
from gleg_market.search import find
from gleg_core.errors import SpecError
from gleg_core.pack import Entry
from gleg_core.registry import Pack, Registry, default_registry
from gleg_market import catalogue
from gleg_market.catalogue import Offer, merged, read_catalogue, shipped_catalogue
from gleg_market.curate import curate

install = broken.install


@pytest.fixture(autouse=True)
def no_other_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLEG_CATALOGUE", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def component(key: str = "plasma:ionisation", contract: str = "block", **facts: Any) -> dict[str, Any]:
    return {"key": key, "contract": contract, "summary": "α(E) u", "keywords": ["avalanche"], **facts}


def described(*components: Any, **facts: Any) -> dict[str, Any]:
    known = {"summary": "Plasma", "licence": "BSD-3-Clause", "contract": "1.0", "components": list(components)}
    return {"catalogue": 1, "distributions": {"acme-plasma": {**known, **facts}}}


def written(path: Path, data: Any) -> str:
    path.write_text(json.dumps(data), encoding="utf-8")
    return str(path)


def search(*arguments: str) -> Result:
    return CliRunner().invoke(gleg, ["search", *arguments])


# --- the shipped one ------------------------------------------------------------------------------------------------


def test_the_shipped_catalogue_has_our_packs_and_the_examples() -> None:
    offers = shipped_catalogue()
    by_distribution: dict[str, set[str]] = {}
    for o in offers:
        by_distribution.setdefault(o.distribution, set()).add(o.name)
    assert by_distribution["gleg-basis-legendre"] >= {"legendre"}
    assert by_distribution["gleg-domains-drawings"] >= {"svg", "map"}
    assert by_distribution["gleg-blocks-phase-field"] >= {"biharmonic", "cahn-hilliard", "kuramoto-sivashinsky"}
    assert by_distribution["gleg-blocks-kinetics"] >= {"gray-scott-u", "fitzhugh-nagumo-w", "brusselator-v", "logistic"}
    assert {"gleg-bc", "gleg-blocks-diffusion", "gleg-domains", "gleg-integrators"} <= set(by_distribution)
    assert all(o.licence == "MIT" and o.version == "3.0" and o.about for o in offers)
    assert len({(o.contract, o.key) for o in offers}) == len(offers)


def test_reading_it_imports_nothing_heavy() -> None:
    program = (
        "import sys, gleg_market.catalogue as c; c.read_catalogue();"
        "print([m for m in ('torch', 'numpy', 'pydantic', 'urllib.request') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- further ones ---------------------------------------------------------------------------------------------------


def test_files_are_added_to_the_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = written(tmp_path / "first.json", described(component(), homepage="https://acme.example"))
    second = written(tmp_path / "second.json", described(component(summary="another"), component("plasma:drift")))
    shipped = shipped_catalogue()
    monkeypatch.setenv("GLEG_CATALOGUE", f" {first} ,")
    offers = read_catalogue(second)
    assert offers[: len(shipped)] == shipped
    assert [o.key for o in offers[len(shipped) :]] == ["plasma:ionisation", "plasma:drift"]
    ionisation = offers[len(shipped)]
    assert ionisation == Offer(
        *("plasma:ionisation", "block", "α(E) u", "acme-plasma", "BSD-3-Clause", ("avalanche",)),
        *("https://acme.example", "1.0", "Plasma"),
    )


def test_nobody_redescribes_what_is_known(tmp_path: Path) -> None:
    data = described(component("diffusion:diffusion", summary="mine"))
    data["distributions"]["Gleg_Blocks.Diffusion"] = data["distributions"].pop("acme-plasma")
    found = [o for o in read_catalogue(written(tmp_path / "c.json", data)) if o.key == "diffusion:diffusion"]
    assert [(o.distribution, o.summary) for o in found] == [("gleg-blocks-diffusion", "Δu")]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where the files of ``tmp_path`` are served."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_catalogue_on_the_network(address: str, tmp_path: Path) -> None:
    written(tmp_path / "c.json", described(component()))
    assert read_catalogue(f"{address}/c.json")[-1].key == "plasma:ionisation"
    with pytest.raises(SpecError, match=r"none\.json: the catalogue cannot be read: .*"):
        read_catalogue(f"{address}/none.json")


def test_a_network_that_is_not_there() -> None:
    for url in ("http://127.0.0.1:1/c.json", "http://", "https://[bad/c.json"):
        with pytest.raises(SpecError) as caught:
            read_catalogue(url)
        assert str(caught.value).startswith(f"{url}: the catalogue cannot be read: ")
        assert "\n" not in str(caught.value)


def test_a_huge_file_is_not_read(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "c.json", described(component(summary="x" * 400)))
    monkeypatch.setattr(catalogue, "_MOST_BYTES", 300)
    for source in (str(tmp_path / "c.json"), f"{address}/c.json"):
        with pytest.raises(SpecError, match="more than 300 bytes"):
            catalogue.read_offers(source)


WRONG: dict[str, tuple[Any, str]] = {
    "a list": ([], "the top: found a list, a mapping is needed"),
    "no version": ({"distributions": {}}, "catalogue: found null, this gleg-core reads version 1"),
    "newer version": ({"catalogue": 2}, "catalogue: found 2, this gleg-core reads version 1"),
    "old flat format": ({"bc:robin": "gleg-bc"}, "catalogue: found null"),
    "no distributions": ({"catalogue": 1}, "distributions: found nothing, a mapping is needed"),
    "name": ({"catalogue": 1, "distributions": {"a; rm x": {}}}, "distributions.a; rm x: not the name of a dist"),
    "licence": (described(licence=3), "distributions.acme-plasma.licence: found a number, one line of text is needed"),
    "two lines": (described(summary="a\nb"), "distributions.acme-plasma.summary: found another text"),
    "terminal codes": (described(summary="\x1b[2J"), "distributions.acme-plasma.summary: found another text"),
    "components": (described() | {"distributions": {"a": {**described()["distributions"]["acme-plasma"], "components": {}}}},
                   "distributions.a.components: found a mapping, a list is needed"),
    "component": (described(component(), 3), "acme-plasma.components[1]: found a number, a mapping is needed"),
    "key": (described(component("ionisation")), "components[0].key: found 'ionisation', it has the form pack:name"),
    "contract": (described(component(contract="blok")), "components[0].contract: found 'blok', allowed: basis, block"),
    "summary": (described(component(summary=None)), "components[0].summary: found nothing"),
    "keywords": (described(component(keywords="a")), "components[0].keywords: found another text, a list is needed"),
    "keyword": (described(component(keywords=[1])), "components[0].keywords: a list of texts is needed"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_malformed_catalogue_is_refused_with_the_place(tmp_path: Path, case: str) -> None:
    data, says = WRONG[case]
    source = written(tmp_path / "c.json", data)
    with pytest.raises(SpecError) as caught:
        read_catalogue(source)
    assert str(caught.value).startswith(f"{source}: not a catalogue: ")
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_files_that_are_no_catalogue(tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("{,")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00\xd8")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    says = {"absent.json": "No such file", ".": "directory", "text.json": "not valid JSON", "bytes.json": "not valid",
            "deep.json": "not valid JSON"}  # fmt: skip
    for name, words in says.items():
        with pytest.raises(SpecError) as caught:
            read_catalogue(str(tmp_path / name))
        assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_catalogue_that_cannot_be_read_does_not_hide_the_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLEG_CATALOGUE", "absent.json")
    with pytest.raises(Exception, match=r"no installed pack provides the block 'logistic'") as caught:
        Registry(catalogue=read_catalogue).find("block", "logistic")
    assert "It is in gleg-blocks-kinetics:   pip install gleg-blocks-kinetics" in str(caught.value)
    assert "absent.json: the catalogue cannot be read" in str(caught.value)


# --- searching ------------------------------------------------------------------------------------------------------


def offer(key: str, summary: str = "…", *keywords: str, distribution: str = "acme-x") -> Offer:
    return Offer(key, "block", summary, distribution, "MIT", keywords)


def test_the_closest_come_first() -> None:
    ranked = [
        offer("z:wave"),
        offer("y:wave-packet"),
        offer("x:signal", "…", "Waves"),
        offer("w:beat", "sum of two waves"),
        offer("v:beat", distribution="acme-waves"),
    ]
    others = [offer("a:decay", "…", "growth")]
    found = find([*others, *reversed(ranked)], ["WAVE"])
    assert found[:3] == ranked[:3] and set(found[3:]) == set(ranked[3:])


def test_all_words_must_match() -> None:
    offers = [offer("a:one", "red green"), offer("a:two", "red", "blue")]
    assert [o.key for o in find(offers, ["red", "BLUE"])] == ["a:two"]
    assert find(offers, ["red", "yellow"]) == []
    assert find(offers, []) == offers


def test_a_search_shows_what_one_needs() -> None:
    result = search("Cahn-Hilliard")
    assert result.exit_code == 0
    first, second = result.output.splitlines()[:2]
    assert first.split()[:2] == ["phase-field:cahn-hilliard", "block"]
    assert "gleg-blocks-phase-field, MIT, " in second
    here = default_registry().versions.get("gleg-blocks-phase-field")
    assert second.endswith(f"installed {here}" if here else "pip install gleg-blocks-phase-field")
    assert "gleg-domains, MIT, installed " in search("rosette").output


def test_a_search_by_keyword_contract_and_catalogue(tmp_path: Path) -> None:
    assert "transport:transport" in search("burgers").output
    assert "domains:geojson" in search("lake", "--contract", "domain").output
    assert "legendre:legendre" in search("--contract", "basis").output
    assert search("diffusion", "--contract", "blok").exit_code == 2
    source = written(tmp_path / "c.json", described(component()))
    text = search("avalanche", "--catalogue", source).output
    assert "plasma:ionisation block" in text and "acme-plasma, BSD-3-Clause, pip install acme-plasma" in text


def test_a_search_as_json() -> None:
    (hit,) = json.loads(search("gray-scott-u", "--json").output)
    assert hit["key"] == "kinetics:gray-scott-u" and hit["contract"] == "block"
    assert hit["distribution"] == "gleg-blocks-kinetics" and hit["licence"] == "MIT" and "installed" in hit
    assert json.loads(search("surelynot", "--json").output) == []


def test_a_search_without_a_hit_suggests_words() -> None:
    result = search("grey-scot")
    assert result.exit_code == 1
    assert "nothing in the catalogue matches grey-scot." in result.output and "gray-scott" in result.output
    assert "Nothing is close to 'qqqqqq'" in search("qqqqqq").output
    assert "Nearest to 'lapacian': laplacian" in search("diffusion", "lapacian").output


def test_installed_packs_are_found_without_a_catalogue(install: Install) -> None:
    install("broken")
    text = search("broken:sink").output
    assert "broken:sink" in text and "installed 0.7" in text


def test_an_installed_pack_that_is_refused_is_called_so(install: Install, tmp_path: Path) -> None:
    install("broken", pack="import surely_absent")
    data = described(component("broken:sink"))
    data["distributions"]["acme-broken"] = data["distributions"].pop("acme-plasma")
    text = search("sink", "--catalogue", written(tmp_path / "c.json", data)).output
    assert "installed 0.7, but refused: see gleg packs" in text


# --- curating -------------------------------------------------------------------------------------------------------


def test_curating_keeps_what_is_written_by_hand(tmp_path: Path) -> None:
    pack = Pack(
        *("bc", "gleg-bc", "9.9", "gleg_bc.pack", (3, 0), "MIT"),
        {"boundary": (Entry("robin", "∂u/∂n + κ u = g", "a:b", "a:b"), Entry("slip", "u·n = 0", "a:b", "a:b"))},
    )
    data = described(component())
    stale = [component("bc:robin", "boundary", summary="old", keywords=["impedance"]), component("bc:gone", "boundary")]
    data["distributions"]["gleg-bc"] = {"summary": "old", "homepage": "https://bc.example", "licence": "?",
                                        "contract": "0.9", "components": stale}  # fmt: skip
    path = tmp_path / "c.json"
    written(path, data)
    curate(path, [], [pack])
    new = json.loads(path.read_text(encoding="utf-8"))["distributions"]
    assert new["acme-plasma"] == data["distributions"]["acme-plasma"]
    assert new["gleg-bc"]["homepage"] == "https://bc.example" and new["gleg-bc"]["contract"] == "3.0"
    assert new["gleg-bc"]["summary"].startswith("Boundary conditions") and new["gleg-bc"]["licence"] == "MIT"
    found = [(c["key"], c["summary"], c["keywords"]) for c in new["gleg-bc"]["components"]]
    assert found == [("bc:robin", "∂u/∂n + κ u = g", ["impedance"]), ("bc:slip", "u·n = 0", [])]
    before = path.read_bytes()
    curate(path, [], [pack])
    assert path.read_bytes() == before


def test_merging_keeps_two_distributions_with_one_key() -> None:
    offers = [offer("a:x"), offer("a:x", distribution="acme-y"), offer("a:x", "again")]
    assert merged(offers) == tuple(offers[:2])
