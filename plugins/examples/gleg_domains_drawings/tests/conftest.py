"""Write a drawing or a map and make it a domain, as a problem file would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gleg_core.spec.params import Scope
from gleg_domains_drawings.maps import map_domain
from gleg_domains_drawings.params import MapParams, SvgParams
from gleg_domains_drawings.region import Region
from gleg_domains_drawings.svg import svg_domain


@pytest.fixture
def draw(tmp_path: Path) -> Callable[..., Region]:
    def call(body: str, **keys: Any) -> Region:
        text = body if body.startswith("<?xml") else f'<svg xmlns="http://www.w3.org/2000/svg">{body}</svg>'
        (tmp_path / "drawing.svg").write_text(text, encoding="utf-8")
        scope = Scope(folder=str(tmp_path))
        return svg_domain(SvgParams.model_validate({"path": "drawing.svg", **keys}, context=scope))

    return call


@pytest.fixture
def chart(tmp_path: Path) -> Callable[..., Region]:
    def call(content: Any, **keys: Any) -> Region:
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "map.geojson").write_text(text, encoding="utf-8")
        scope = Scope(folder=str(tmp_path))
        return map_domain(MapParams.model_validate({"path": "map.geojson", **keys}, context=scope))

    return call
