"""What a second run takes from the first one, and evaluation by transforms instead of tables."""

from pathlib import Path

import numpy as np
import pytest
import torch

import gleg
from gleg_core.algebra import frame, tables
from gleg_core.algebra.boundary_system import BoundarySystem
from gleg_core.contracts.domain import Domain
from gleg_core.expressions import formula
from gleg_core.system import assembly, identity, spaces
from gleg_core.system.discretise import discretise


def spec(**changes: object) -> dict:
    return {
        "domain": {"kind": "polar", "radius": "0.5 + 0.1*cos(3*theta)"},
        "basis": {"kind": "fourier", "K": 8},
        "constants": {"D": 0.05, "g": 0.1},
        "fields": {
            "u": {
                "initial": "exp(-8*(x^2 + y^2))",
                "boundary": [{"kind": "dirichlet", "value": "g*x*cos(t)"}],
                "equation": [
                    {"block": "diffusion", "coefficient": "D"},
                    {"block": "power", "coefficient": 0.3},
                    {"block": "power", "p": 3, "coefficient": -1},
                    {"block": "transport", "direction": "x", "coefficient": 0.2},
                ],
            }
        },
        "time": {"end": 0.2, "step": 0.02},
        "output": {"frames": 2, "pictures": False},
    } | changes  # fmt: skip


@pytest.fixture
def nothing_new(monkeypatch: pytest.MonkeyPatch):
    """Makes every factorisation, every assembly of a matrix, every boundary row and every rule of a domain an error."""

    def forbid() -> None:
        def wrong(*arguments: object, **keys: object) -> None:
            raise AssertionError("made again")

        monkeypatch.setattr(spaces, "build_space", wrong)
        monkeypatch.setattr(torch.linalg, "eigh", wrong)
        monkeypatch.setattr(assembly, "state_matrix", wrong)
        monkeypatch.setattr(BoundarySystem, "rows", wrong)
        for kind in {type(gleg.load(spec()).build(gleg.load(spec()).domain))}:
            monkeypatch.setattr(kind, "quadrature", wrong)

    return forbid


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"constants": {"D": 0.2}},
        {"constants": {"g": 0.7}},
        {"time": {"end": 0.3, "step": 0.05}},
        {"time": {"integrator": "imex-ark4"}},
    ],
    ids=["nothing", "coefficient", "data", "step", "integrator"],
)
def test_another_coefficient_datum_or_step_factorises_nothing(
    changes: dict, nothing_new, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path))
    gleg.solve(spec())
    nothing_new()
    again = gleg.solve(spec(), **changes)
    monkeypatch.undo()
    monkeypatch.setenv("GLEG_CACHE", "off")
    fresh = gleg.solve(spec(), **changes)
    end = float(fresh.times[-1])
    assert again.u(0.1, 0.2, end) == pytest.approx(fresh.u(0.1, 0.2, end), abs=1e-9)


def test_another_domain_or_mechanism_is_not_taken_for_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path))
    gleg.solve(spec())
    files = set(tmp_path.glob("*.safetensors"))
    for change in (
        {"domain": {"kind": "disk", "radius": 0.5}},
        {"space": {"quadrature": 1e-6}},
        {"basis": {"kind": "fourier", "K": 7}},
    ):
        gleg.solve(spec(), **change)
        assert set(tmp_path.glob("*.safetensors")) > files
        files = set(tmp_path.glob("*.safetensors"))


def named_constants(**constants: float) -> dict:
    """A problem whose constants stand in formulas of its domain, of a condition and of a mechanism."""
    changed = spec(
        domain={"kind": "polar", "radius": "0.5 + a*sin(4*theta)"},
        constants={"a": 0.1, "k": 1.0, "D": 0.05} | constants,
    )
    changed["fields"]["u"]["boundary"] = [{"kind": "robin", "kappa": "k*(2 + x)", "value": "k*x"}]
    changed["fields"]["u"]["equation"] = [{"block": "variable-diffusion", "diffusivity": "D*(1 + x/2)"}]
    return changed


@pytest.mark.parametrize("constant", [{"a": -0.1}, {"k": 5.0}, {"D": 0.5}])
def test_a_constant_that_a_formula_names_is_noticed(
    constant: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path))
    gleg.solve(named_constants())
    second = gleg.solve(named_constants(**constant))
    monkeypatch.setenv("GLEG_CACHE", "off")
    fresh = gleg.solve(named_constants(**constant))
    assert second.u(0.1, 0.2, 0.2) == pytest.approx(fresh.u(0.1, 0.2, 0.2), abs=1e-6)


def key_of_space(boundary: list[dict]) -> str:
    sides = spec(domain={"kind": "rectangle", "x": [-0.5, 0.5], "y": [-0.4, 0.4]}, basis={"kind": "fourier", "K": 4})
    sides["fields"]["u"]["boundary"] = boundary
    return spaces.build_spaces(gleg.load(sides), []).fields[0].space.key


def test_a_space_is_known_by_what_its_conditions_do_not_by_their_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLEG_CACHE", "off")
    robin = {"kind": "robin", "kappa": 1.0}
    same = [[robin], [robin | {"value": "x*t"}], [robin | {"kappa": "1 + 0*x"}]]
    different = [
        same[0],
        [robin | {"kappa": 1.0 + 1e-15}],
        [robin | {"kappa": "1 + 1e-12*x"}],
        [{"kind": "neumann"}],
        [{"kind": "dirichlet"}],
        [{"kind": "floating"}],
        [robin | {"where": ["left"]}, {"kind": "neumann", "where": "rest"}],
        [robin | {"where": ["right"]}, {"kind": "neumann", "where": "rest"}],
        [{"kind": "dirichlet", "where": ["left", "right"]}, {"kind": "dirichlet", "where": "rest"}],
        [{"kind": "dirichlet", "where": ["right", "left"]}, {"kind": "dirichlet", "where": "rest"}],
    ]
    assert len({key_of_space(boundary) for boundary in same}) == 1
    assert len({key_of_space(boundary) for boundary in different}) == len(different)


def test_a_space_is_known_by_the_files_of_packs_and_by_the_functions_of_its_basis(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GLEG_CACHE", "off")
    keys = [key_of_space([{"kind": "dirichlet"}])]
    for pack in ("gleg_basis_fourier", "gleg_bc"):
        with monkeypatch.context() as patch:
            patch.setattr(identity, "installed_files", lambda module, pack=pack: "other" * module.startswith(pack))
            keys.append(key_of_space([{"kind": "dirichlet"}]))
    problem = gleg.load(spec())
    kind = type(spaces._basis(problem, problem.build(problem.domain)))
    tabulate = kind.tabulate
    monkeypatch.setattr(kind, "tabulate", lambda *arguments: {a: 2 * f for a, f in tabulate(*arguments).items()})
    keys.append(key_of_space([{"kind": "dirichlet"}]))
    assert len(set(keys)) == len(keys)


def test_a_formula_is_written_out_with_its_constants_and_without_repetition() -> None:
    texts = [identity.graph(formula("a*x + y", names={"a": a})) for a in (1.0, 2.0, 2.0)]
    assert texts[0] != texts[1] == texts[2] == identity.graph(formula("2*x + y"))
    nested = formula("1 + x")
    for _ in range(60):
        nested = formula("f*f + 1", names={"f": nested})
    assert len(identity.graph(nested)) < 10_000  # as a tree it would have 2^60 leaves


def test_the_box_is_turned_to_where_it_is_smallest() -> None:
    problem = gleg.load(spec(domain={"kind": "ellipse", "a": 0.6, "b": 0.1, "angle": 0.1}))
    domain: Domain = problem.build(problem.domain)
    points = frame.outline(domain)
    turned = frame.fit_frame(domain, margin=0.0, isotropic=True, rotate=True)
    angle = np.arctan2(turned.rotation[1, 0], turned.rotation[0, 0])
    local = {a: np.ptp(points @ frame._rotation(np.deg2rad(a), 2), axis=0).max() for a in range(90)}
    assert np.rad2deg(angle) == pytest.approx(min(local, key=local.__getitem__))
    assert frame.fit_frame(domain, margin=0.0, isotropic=True, rotate=False).rotation.tolist() == np.eye(2).tolist()


def test_a_damaged_file_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLEG_CACHE", str(tmp_path))
    first = gleg.solve(spec())
    for path in tmp_path.glob("*.safetensors"):
        content = bytearray(path.read_bytes())
        content[-5] ^= 0xFF
        path.write_bytes(content)
    again = gleg.solve(spec())
    assert torch.equal(first.trajectory.states[-1], again.trajectory.states[-1])


def test_transforms_and_tables_give_the_same_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule of this domain is made of lines, so that the Fourier basis has a transform at its nodes."""
    monkeypatch.setenv("GLEG_CACHE", "off")
    domain = {"kind": "polygon", "vertices": [[-0.5, -0.4], [0.6, -0.3], [0.4, 0.5], [-0.3, 0.6]]}
    problem = gleg.load(spec(domain=domain, space={"rotate": False}))
    responses = []
    for call in (1e9, -1e9):  # a transform that costs too much, or nothing
        monkeypatch.setattr(tables, "_CALL", call)
        with torch.no_grad():
            d = discretise(problem)
            functions = d.system.fields["u"].interior.functions
            assert functions.by_transform == (call < 0)
            generator = torch.Generator().manual_seed(4)
            z = d.initial * (1 + torch.randn(3, 1, dtype=torch.float64, generator=generator))
            u = d.basis.evaluate(
                d.system.coefficients("u", d.system.nonlinear(z, 0.1), 0.1), d.system.fields["u"].space.nodes.x
            )
        responses.append(u)
    assert torch.allclose(*responses, rtol=0, atol=1e-8 * float(responses[0].abs().max()))


@pytest.mark.parametrize("kind", ["rosette", "pinwheel", "crescent"])
def test_a_tolerance_saves_nodes_and_costs_no_more_than_it_says(kind: str) -> None:
    problem = gleg.load(spec(domain={"kind": kind}))
    domain: Domain = problem.build(problem.domain)
    rules = [domain.quadrature(60.0, tolerance) for tolerance in (1e-13, 1e-8, 1e-4)]
    assert len(rules[2].weights) < 0.6 * len(rules[0].weights)
    for rule, tolerance in zip(rules[1:], (1e-8, 1e-4), strict=True):
        assert abs(rule.weights.sum() / rules[0].weights.sum() - 1) < 20 * tolerance


def test_fields_with_one_space_and_one_leading_mechanism_share_coordinates() -> None:
    """Then their coupling by u itself is the identity, and nothing is made twice; other conditions make another space."""

    def coordinates(kind: str) -> tuple[torch.Tensor, torch.Tensor]:
        own = {
            name: {
                "initial": "0",
                "boundary": [{"kind": boundary}],
                "equation": [{"block": "diffusion", "coefficient": D}, {"block": "power", "of": other}],
            }
            for name, other, boundary, D in (("u", "v", "dirichlet", 1.0), ("v", "u", kind, 0.1))
        }
        problem = {
            "domain": {"kind": "disk", "radius": 0.5},
            "basis": {"kind": "fourier", "K": 6},
            "fields": own,
            "time": {"end": 1},
        }
        fields = discretise(gleg.load(problem)).system.fields
        return fields["u"].space.N, fields["v"].space.N

    one, other = coordinates("dirichlet")
    assert one is other
    one, other = coordinates("neumann")
    assert one.shape != other.shape
