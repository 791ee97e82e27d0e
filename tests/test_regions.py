"""Named regions: conditions in formulas, whose edges meshes follow.

Independent: closed forms of layered disks, strips and intervals, areas, and the same problems without regions.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

import gleg
from gleg_core.errors import GeometryError, SpecError
from gleg_core.expressions import formula, switches
from gleg_core.expressions.switches import written
from gleg_core.run import Run
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import discretise
from gleg_results.resolved import resolved

DISK = {"kind": "disk", "radius": 1}
SQUARE = {"kind": "rectangle", "x": [-1, 1], "y": [-1, 1]}
INTERVAL = {"kind": "interval", "left": 0, "right": 1}
CORE = {"kind": "disk", "radius": 0.5}
ENDS = [{"kind": "dirichlet", "where": ["left", "right"], "value": 0}, {"kind": "neumann", "where": "rest"}]


def box(x0: float, x1: float, y0: float, y1: float) -> dict[str, Any]:
    return {"kind": "rectangle", "x": [x0, x1], "y": [y0, y1]}


def stated(regions: Any, domain: dict = DISK, **keys: Any) -> dict[str, Any]:
    """u_t = Δu with u = 0 on ∂Ω; ``keys`` replace those of the field or stand beside them."""
    field = {"initial": 0, "boundary": [{"kind": "dirichlet", "value": 0}], "equation": [{"block": "diffusion"}]}
    field |= {key: keys.pop(key) for key in list(keys) if key in field}
    return {
        "domain": domain,
        "regions": regions,
        "fields": {"u": field},
        "time": {"end": 0.01},
        "output": {"frames": 1},
        **keys,
    }


def conducting(diffusivity: str, regions: Any, domain: dict = DISK, **keys: Any) -> dict[str, Any]:
    """u_t = ∇·(D∇u) + 1 until it rests."""
    equation = [
        {"block": "variable-diffusion", "diffusivity": diffusivity},
        {"block": "source", "value": 1},
    ]
    basis = {"kind": "elements", "order": 5, "grading": 4}
    return stated(regions, domain, **{"equation": equation, "time": {"end": 40}, "basis": basis, **keys})


def disk_in_disk(x: float, y: float, core: float = 10.0, radius: float = 0.5) -> float:
    """−∇·(D∇u) = 1 with D = ``core`` for r < ``radius`` and 1 beyond, u(1) = 0."""
    r = math.hypot(x, y)
    return (1 - r**2) / 4 if r > radius else (radius**2 - r**2) / (4 * core) + (1 - radius**2) / 4


def strips(x: float, y: float) -> float:
    """−(D u′)′ = 1 with D = 10 for x < 0 and 1 beyond, u(±1) = 0."""
    c = (0.5 - 0.05) / 1.1
    return (c * (x + 1) - (x**2 - 1) / 2) / 10 if x < 0 else (1 - x**2) / 2 - c * (1 - x)


def error(run: Run, exact: Callable[[float, float], float]) -> float:
    """Largest at some points on both sides of all interfaces below."""
    points = [(r * math.cos(a), r * math.sin(a)) for r in (0.05, 0.3, 0.49, 0.51, 0.7, 0.95) for a in (0.3, 2.0, 4.4)]
    end = float(run.times[-1])
    return max(abs(float(run.u(x, y, end)) - exact(x, y)) for x, y in points)


@pytest.mark.parametrize(
    ("regions", "diffusivity"),
    [
        ({"core": CORE}, "where(core, 10, 1)"),
        ({"core": CORE}, "1 + 9*core"),
        ({"rim": {"kind": "annulus", "outer": 1, "inner": 0.5}}, "where(not rim, 10, 1)"),
        ({"rim": {"kind": "difference", "of": [{"kind": "disk", "radius": 2}, CORE]}}, "where(rim, 1, 10)"),
        (
            {
                "upper": {"kind": "sector", "radius": 0.5, "angles": [0, "pi"]},
                "lower": {"kind": "sector", "radius": 0.5, "angles": ["pi", "2*pi"]},
            },
            "where(upper or lower, 10, 1)",
        ),
        ({"core": CORE}, "where(core and x^2 + y^2 < 0.25, 10, 1)"),
        ({"core": {"kind": "level-set", "function": "0.25 - x^2 - y^2", "box": [[-1, 1], [-1, 1]]}}, "1 + 9*core"),
        ({"core": {"kind": "disk", "radius": "h/2"}}, "where(core, 10, 1)"),
    ],
    ids=["where", "a number", "not, edge on ∂Ω", "difference beyond ∂Ω", "two share an edge", "same as a formula",
         "level set", "constant"],
)  # fmt: skip
def test_a_disk_that_conducts_ten_times_better(regions: dict, diffusivity: str) -> None:
    constants = {"h": 1}
    assert error(gleg.solve(conducting(diffusivity, regions, constants=constants)), disk_in_disk) < 1e-8


@pytest.mark.parametrize(
    ("regions", "diffusivity"),
    [
        ({"a": box(-1, 0, -1, 1)}, "where(a, 10, 1)"),
        ({"a": box(-3, 0, -2, 2)}, "where(a, 10, 1)"),
        ({"a": box(-1, 0, -1, 1), "b": box(0, 1, -1, 1)}, "where(a, 10, where(b, 1, 1e9))"),
        ({"a": {"kind": "polygon", "vertices": [[-2, -2], [0, -2], [0, 2], [-2, 2]]}}, "where(a, 10, 1)"),
        ({"a": box(-2, 0.5, -2, 2)}, "where(a and x < 0, 10, 1)"),
    ],
    ids=["edges on ∂Ω", "crosses ∂Ω", "two share an edge", "polygon", "and"],
)
def test_a_half_that_conducts_ten_times_better(regions: dict, diffusivity: str) -> None:
    spec = conducting(diffusivity, regions, SQUARE, boundary=ENDS, basis={"kind": "elements", "order": 3, "grading": 0})
    assert error(gleg.solve(spec), strips) < 1e-9


def test_on_an_interval() -> None:
    """−(D u′)′ = 1, D = 10 on (¼, ½), where the region that goes on to −2 is left out, and 1 beyond."""
    regions = {
        "a": {"kind": "interval", "left": 0.25, "right": 0.5},
        "b": {"kind": "interval", "left": -2, "right": 0.25},
    }
    spec = conducting("where(a and not b, 10, 1)", regions, INTERVAL)
    run = gleg.solve(spec)
    x = np.linspace(0, 1, 400_001)
    middle = 0.5 * (x[1:] + x[:-1])
    slow = np.where((middle > 0.25) & (middle < 0.5), 0.1, 1.0) * (x[1] - x[0])
    c = (slow * middle).sum() / slow.sum()
    u = np.append(0.0, np.cumsum(slow * (c - middle)))
    assert max(abs(float(run.u(x[i], 40.0)) - u[i]) for i in (40_000, 99_000, 150_000, 250_000, 390_000)) < 1e-10


def test_edges_are_edges_of_cells() -> None:
    """The integral of a region's condition, as an initial state, is its area; a disk that crosses ∂Ω leaves a lens."""
    d, r = 0.8, 0.5
    lens = (
        r**2 * math.acos((d**2 + r**2 - 1) / (2 * d * r))
        + math.acos((d**2 + 1 - r**2) / (2 * d))
        - 0.5 * math.sqrt((-d + r + 1) * (d + r - 1) * (d - r + 1) * (d + r + 1))
    )
    spec = stated({"a": {**CORE, "centre": [d, 0]}}, initial="where(a, 1, 0)", basis={"kind": "elements", "order": 6})
    cells = discretise(load_problem(spec)).basis.cells  # type: ignore[attr-defined]
    region = load_problem(spec).regions[0]
    found = sum(
        float(c.weights.reshape(-1)[torch.from_numpy(region.contains(c.points.reshape(-1, 2)))].sum()) for c in cells
    )
    assert found == pytest.approx(lens, rel=1e-9)


def test_as_boundary_data() -> None:
    """Harmonic in the unit disk, 1 on the arc of angle β that lies in the region, 0 elsewhere: β/2π in the middle."""
    spec = stated(
        {"a": box(0.5, 2, -2, 2)}, boundary=[{"kind": "dirichlet", "value": "where(a, 1, 0)"}], time={"end": 8}
    )
    assert float(gleg.solve(spec).u(0.0, 0.0, 8.0)) == pytest.approx(1 / 3, abs=1e-4)


def test_as_a_source() -> None:
    """With no flux the mean grows by the area of the region over that of the domain."""
    spec = stated({"a": CORE}, boundary=[{"kind": "neumann"}], time={"end": 5},
                  equation=[{"block": "diffusion"}, {"block": "source", "value": "where(a, 1, 0)"}])  # fmt: skip
    run = gleg.solve(spec)
    # −Δv = f − ¼ in polar coordinates, v of mean zero: v(0) − v(1) = ∫ r⁻¹ (∫ s f ds − r²/8) dr
    drop = float(run.u(0.0, 0.0, 5.0)) - float(run.u(1.0 - 1e-12, 0.0, 5.0))
    assert drop == pytest.approx(1 / 16 + math.log(2) / 8 - 1 / 16, abs=1e-6)


def test_the_derivative_of_a_region_is_zero_and_formulas_are_written_back() -> None:
    problem = load_problem(stated({"core": CORE}, initial="where(core and x > 0, x^2, 1)"))
    initial = problem.fields[0].section.initial
    x, y = np.array([0.1, -0.1, 0.9]), np.zeros(3)
    assert initial(x=x, y=y).tolist() == pytest.approx([0.01, 1, 1])
    assert initial.d("x")(x=x, y=y).tolist() == pytest.approx([0.2, 0, 0])
    assert {s.level.text for s in switches(initial)} == {"core - 0.5", "x"}
    again = formula(written(initial.node), ("x", "y"), {"core": problem.regions[0].condition(2)})
    assert again.node is initial.node


def test_the_resolved_file_says_the_same(tmp_path: Path) -> None:
    spec = conducting("where(core, 10, 1)", {"core": {"kind": "disk", "radius": "h/2"}}, constants={"h": 0.8})
    problem = gleg.load(spec)
    (tmp_path / "again.yaml").write_text(yaml.safe_dump(resolved(problem)), encoding="utf-8")
    again = gleg.load(tmp_path / "again.yaml")
    assert again.regions == problem.regions
    assert error(gleg.solve(again), lambda x, y: disk_in_disk(x, y, radius=0.4)) < 1e-8


@pytest.mark.parametrize("overrides", [{"regions": {"core": {"radius": 0.4}}}, {"constants": {"h": 0.8}}])
def test_overrides_of_a_region_are_not_taken_from_what_is_kept(overrides: dict) -> None:
    """The same file first as it is, then with another radius: spaces and meshes are those of the latter."""
    spec = conducting("where(core, 10, 1)", {"core": {"kind": "disk", "radius": "h/2"}}, constants={"h": 1})
    assert error(gleg.solve(spec), disk_in_disk) < 1e-8
    assert error(gleg.solve(spec, **overrides), lambda x, y: disk_in_disk(x, y, radius=0.4)) < 1e-8


def test_global_functions_warn() -> None:
    with pytest.warns(UserWarning, match="jump at the edge of core"):
        gleg.solve(conducting("where(core, 10, 1)", {"core": CORE}, basis={"kind": "fourier", "K": 4}))


def test_a_region_outside_the_domain_warns() -> None:
    spec = stated({"far": {"kind": "disk", "radius": 0.2, "centre": [5, 5]}}, initial="where(far, 1, 0)")
    with pytest.warns(UserWarning, match="regions.far: the region lies outside the domain: 'far' holds nowhere"):
        run = gleg.solve(spec)
    assert float(abs(run.state(0.0)).max()) == 0.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("radius", [1, 3])
def test_a_region_that_holds_everywhere_is_no_interface(radius: float) -> None:
    run = gleg.solve(conducting("where(core, 10, 1)", {"core": {"kind": "disk", "radius": radius}}))
    assert error(run, lambda x, y: (1 - x**2 - y**2) / 40) < 1e-8


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (stated({"k": CORE}, constants={"k": 1}), "regions.k: 'k' is also a constant"),
        (stated({"k": CORE}, formulas={"k": "x"}), "formulas.k: 'k' is also a region"),
        (stated({"u": CORE}), "fields.u: 'u' is also a region"),
        (stated({"sin": CORE}), "regions.sin: 'sin' has a meaning in formulas already"),
        (stated({"x": CORE}), "regions.x: 'x' has a meaning in formulas already"),
        (stated({"a b": CORE}), r"'a b' is not a name"),
        (stated({"a": {"kind": "dsik"}}), "regions.a.kind: .* Did you mean 'disk'"),
        (stated({"a": {"radius": 1}}), "regions.a.kind: this key is missing"),
        (stated({"a": 3}), "regions.a: found 3, a mapping of keys is needed"),
        (stated([CORE]), "regions: found .*, a mapping of names is needed"),
        (stated({"a": {"kind": "disk", "radus": 1}}), "regions.a.radus: unknown key. .*Did you mean 'radius'"),
        (stated({"a": {"kind": "disk", "radius": -1}}), "regions.a.radius: found -1, it must be greater than 0"),
        (stated({"a": INTERVAL}), "regions.a.kind: 'interval' has dimension 1, the domain 2. Kinds of that: .*disk"),
        (stated({"core": CORE}, initial="where(cor, 1, 0)"), "fields.u.initial: unknown name 'cor' .*Did you mean 'core'"),
        (stated({"core": CORE}, constants={"c": "core"}), "constants.c: unknown name 'core'"),
    ],
)  # fmt: skip
def test_one_message_with_its_place(spec: dict, message: str, tmp_path: Path) -> None:
    (tmp_path / "problem.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    with pytest.raises(SpecError, match=rf"(?s)problem\.yaml.*{message}") as found:
        gleg.load(tmp_path / "problem.yaml")
    assert str(found.value).count("problem.yaml") == 1


def test_edges_that_touch_are_blamed() -> None:
    touching = {
        "a": {"kind": "disk", "radius": 0.25, "centre": [0.25, 0]},
        "b": {"kind": "disk", "radius": 0.25, "centre": [-0.25, 0]},
    }
    with pytest.raises(GeometryError, match="edges of regions"):
        gleg.solve(conducting("where(a or b, 10, 1)", touching, basis={"kind": "elements", "size": 0.5}))
