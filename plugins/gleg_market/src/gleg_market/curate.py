"""Bringing a catalogue up to date with the packs that are installed.

    python -m gleg_market.curate                                    the shipped catalogue
    python -m gleg_market.curate ours.json acme-blocks-plasma       these distributions, in a catalogue of one's own

Components and their summaries come from the packs, summary and licence from the metadata. What is written by hand stays: keywords,
homepages, and distributions that are not installed here.
"""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import importlib_metadata

from gleg_core import atomic
from gleg_core.errors import GlegError, PackError
from gleg_core.registry import Pack, default_registry
from gleg_core.registry.catalogue import SHIPPED, canonical
from gleg_market.catalogue import FORMAT, check, offers_of


def curate(path: Path, names: Sequence[str], installed: Iterable[Pack]) -> None:
    """Describe the distributions ``names``, or those that ``path`` lists already and that are installed."""
    data: dict[str, Any] = {"catalogue": FORMAT, "distributions": {}}
    if path.exists():
        data = json.loads(path.read_text(encoding="utf-8"))
        check(data, str(path))
    known = data["distributions"]
    packs: dict[str, list[Pack]] = {}
    for pack in installed:
        packs.setdefault(canonical(pack.distribution), []).append(pack)
    for name in names or [n for n in known if canonical(n) in packs]:
        if canonical(name) not in packs:
            raise PackError(f"no pack of the distribution '{name}' is installed")
        ours = packs[canonical(name)]
        known[ours[0].distribution] = _described(ours, known.get(ours[0].distribution, {}))
    data["distributions"] = dict(sorted(known.items()))
    check(data, str(path))
    text = json.dumps(data, indent=1, ensure_ascii=False)
    lists = re.compile(r"\[([^][{}]*)\]")  # keywords on one line: it is read and edited by people
    atomic.write_text(path, lists.sub(lambda m: f"[{' '.join(m[1].split())}]", text) + "\n")


def _described(packs: Sequence[Pack], before: dict[str, Any]) -> dict[str, Any]:
    """The part of one distribution, in place of what was there ``before``."""
    keywords = {(c["contract"], c["key"]): c.get("keywords", []) for c in before.get("components", [])}
    offers = sorted((o for pack in packs for o in offers_of(pack)), key=lambda o: (o.contract, o.key))
    return {
        **before,
        "summary": importlib_metadata.metadata(packs[0].distribution)["Summary"],
        "licence": packs[0].licence,
        "contract": ".".join(map(str, packs[0].contract)),
        "components": [
            {
                "key": o.key,
                "contract": o.contract,
                "summary": o.summary,
                "keywords": keywords.get((o.contract, o.key), []),
            }
            for o in offers
        ],
    }


def main() -> None:
    """The first word that ends in .json is the catalogue, the others are distributions."""
    files = [word for word in sys.argv[1:] if word.endswith(".json")] or [str(SHIPPED)]
    try:
        curate(Path(files[0]), [w for w in sys.argv[1:] if w not in files], default_registry().packs)
    except GlegError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
