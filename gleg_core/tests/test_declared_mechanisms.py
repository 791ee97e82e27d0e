"""Mechanisms declared by a decorator, against closed forms computed by hand."""

from __future__ import annotations

import math
import subprocess
import sys
from functools import reduce
from typing import Annotated

import pytest
import torch
from pydantic import ValidationError
from specimens import Specimen
from torch import Tensor

from gleg_core.contracts.block import Binding, Block
from gleg_core.contracts.jet import Jet
from gleg_core.contracts.location import Location
from gleg_core.expressions import Expression, formula
from gleg_core.mechanisms import Formula, Mechanism, Number, Positive, blocks, energy, flux, hamiltonian, pointwise
from gleg_core.spec.params import Scope
from gleg_core.spec.problem import load_problem
from gleg_core.system.discretise import discretise

X = torch.rand(40, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 2 - 1
U = formula("sin(2*x)*exp(y) + 0.3*x*y", ("x", "y"))
V = formula("cos(x + 2*y)", ("x", "y"))


def jet(expression: Expression, at: Location) -> Jet:
    def derivative(alpha: tuple[int, ...]) -> Tensor:
        axes = [c for c, order in zip("xy", alpha, strict=True) for _ in range(order)]
        return at(reduce(lambda f, c: f.d(c), axes, expression)).expand(at.x.shape[0])

    return Jet(derivative, 2)


def make(mechanism: Mechanism, **params: object) -> Block:
    validated = mechanism.Params.model_validate(params, context=Scope(dim=2, fields=("u", "v")))
    return mechanism.block(validated, Binding("u", ("u", "v"), 2))


def response(mechanism: Mechanism, t: float = 0.7, **params: object) -> Tensor:
    at = Location(X, t)
    return make(mechanism, **params).reference({"u": jet(U, at), "v": jet(V, at)}, at)


def exact(text: str, t: float = 0.7) -> Tensor:
    """A formula of u, v and their derivatives u_x, …, evaluated symbolically."""
    names: dict[str, Expression | float] = {}
    for name, f in (("u", U), ("v", V)):
        names[name] = f
        for a in ("x", "y", "xx", "yy", "xy", "xxx", "xyy", "xxxx", "xxyy", "yyyy"):
            names[f"{name}_{a}"] = reduce(lambda g, c: g.d(c), a, f)
    return Location(X, t)(formula(text, ("x", "y", "t"), names)).expand(len(X))


@pointwise("logistic", degree=2, examples=({"rate": 2},))
def logistic(u: Tensor, *, rate: Annotated[Positive, "growth rate"], capacity: Positive = 1.0) -> Tensor:
    return rate * u * (1 - u / capacity)


@pointwise("grazing")
def grazing(u: Tensor, v: Tensor, grad_v: tuple[Tensor, ...], x: Tensor, t: float, *, k: Formula = 1.0) -> Tensor:
    return k * u * v + grad_v[1] * x * t


@flux("∇·((1 + u²) k(x) ∇u + x v)")
def conduction(u: Tensor, grad_u: tuple[Tensor, ...], v: Tensor, x: Tensor, *, k: Formula = 1.0) -> tuple[Tensor, ...]:
    return k * (1 + u**2) * grad_u[0] + x * v, k * (1 + u**2) * grad_u[1]


@energy("Allen–Cahn")
def allen_cahn(u: Tensor, grad_u: tuple[Tensor, ...], *, eps: Number) -> Tensor:
    return 0.5 * eps**2 * (grad_u[0] ** 2 + grad_u[1] ** 2) + 0.25 * (1 - u**2) ** 2


@energy("plate", degree=1)
def plate(u: Tensor, laplacian_u: Tensor) -> Tensor:
    return 0.5 * laplacian_u**2


@energy("beam between hinges", degree=1, traces=(0,), conditions=1)
def hinged(u: Tensor, laplacian_u: Tensor) -> Tensor:
    return 0.5 * laplacian_u**2


@energy("beam whose ends slide", degree=1, traces=(1,), conditions=1)
def sliding(u: Tensor, laplacian_u: Tensor) -> Tensor:
    return 0.5 * laplacian_u**2


@hamiltonian("Burgers", degree=2, invariants=("mass", "energy"))
def burgers(u: Tensor) -> Tensor:
    return u**3 / 6


@hamiltonian("dispersion", degree=1)
def dispersion(u: Tensor, grad_u: tuple[Tensor, ...]) -> Tensor:
    return 0.5 * (grad_u[0] ** 2 + grad_u[1] ** 2) + 0 * u


CASES = [
    (logistic, {"rate": 2, "capacity": 3}, "2*u*(1 - u/3)"),
    (logistic, {"rate": 2, "of": "v"}, "2*v*(1 - v)"),
    (grazing, {"k": "x*y + t"}, "(x*y + t)*u*v + v_y*x*t"),
    (grazing, {"v": "u"}, "u^2 + u_y*x*t"),
    (
        conduction,
        {"k": "1 + x*y"},
        "(1 + x*y)*((1 + u^2)*(u_xx + u_yy) + 2*u*(u_x^2 + u_y^2)) + (1 + u^2)*(y*u_x + x*u_y) + v + x*v_x",
    ),
    (allen_cahn, {"eps": 0.1}, "0.01*(u_xx + u_yy) + u - u^3"),
    (plate, {}, "-(u_xxxx + 2*u_xxyy + u_yyyy)"),
    (burgers, {"direction": "y"}, "u*u_y"),
    (dispersion, {"direction": "x"}, "-(u_xxx + u_xyy)"),
]


@pytest.mark.parametrize(("mechanism", "params", "formula_"), CASES, ids=lambda c: getattr(c, "name", None))
def test_the_reference_operator_is_the_one_the_function_means(
    mechanism: Mechanism, params: dict[str, object], formula_: str
) -> None:
    assert torch.allclose(response(mechanism, **params), exact(formula_), rtol=1e-12, atol=1e-12)


def test_times_in_a_column_are_a_batch() -> None:
    times = torch.tensor([[0.1], [0.7]], dtype=torch.float64)
    at = Location(X, times)
    both = make(grazing, k="t").reference({"u": jet(U, at), "v": jet(V, at)}, at)
    assert both.shape == (2, len(X))
    assert torch.allclose(both[1], response(grazing, k="t"))


@pytest.mark.parametrize("mechanism", [conduction, allen_cahn, burgers], ids=lambda m: m.name)
def test_weak_form_and_boundary_term_are_those_of_the_reference(mechanism: Mechanism) -> None:
    """∫ v L(u) = Σ ∫ ∂^αv F_α + ∮ v B on the square [−1, 1]², by Gauss quadrature, for v = exp(x − y/2)."""
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(30)
    grid = torch.tensor(np.stack([a.ravel() for a in np.meshgrid(nodes, nodes)], axis=1))
    w = torch.tensor(np.outer(weights, weights).ravel())
    test = formula("exp(x - y/2)", ("x", "y"))
    block = make(mechanism, **({"eps": 0.3} if mechanism is allen_cahn else {}))
    at = Location(grid)
    inside = {"u": jet(U, at), "v": jet(V, at)}
    strong = (w * at(test) * block.reference(inside, at)).sum()
    weak = sum((w * jet(test, at).d(alpha) * F).sum() for alpha, F in block.weak(inside, at).items())
    for axis in (0, 1):
        for side in (-1.0, 1.0):
            points = torch.full((30, 2), side, dtype=torch.float64)
            points[:, 1 - axis] = torch.tensor(nodes)
            normal = torch.zeros(30, 2, dtype=torch.float64)
            normal[:, axis] = side
            edge = Location(points, normal=normal)
            B = block.weak_boundary({"u": jet(U, edge), "v": jet(V, edge)}, edge)
            assert B is not None
            weak = weak + (torch.tensor(weights) * edge(test) * B).sum()
    assert float(weak) == pytest.approx(float(strong), rel=1e-11)


def test_traits_follow_from_the_declaration() -> None:
    assert make(logistic, rate=1).traits.degree == 2
    assert make(plate).traits.order == 4 and make(plate).traits.weak_traces == (0, 1)
    assert make(plate).acts_on == "u"
    assert make(sliding).traits.weak_traces == (1,) and make(sliding).traits.conditions == 1
    assert make(sliding).traits.modes == ("weak",), "elsewhere the natural condition would be lost"
    assert make(grazing).traits.time_dependent and make(grazing).acts_on is None
    assert make(dispersion).traits.modes == ("pointwise",)
    assert make(conduction).traits.order == 2


BEAMS = [
    (hinged, "dirichlet", [math.pi, 2 * math.pi]),
    (sliding, "neumann", [0.0, math.pi, 2 * math.pi]),
    (sliding, "clamped", [4.730040744862704, 7.853204624095838]),  # cosh k cos k = 1
]


@pytest.mark.parametrize(("mechanism", "condition", "k"), BEAMS, ids=lambda c: getattr(c, "name", None))
def test_conditions_left_natural_hold(
    mechanism: Mechanism, condition: str, k: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A beam of length 1 decays with k⁴: u = u″ = 0, u′ = u‴ = 0, or u = u′ = 0 at both ends."""
    monkeypatch.setenv("GLEG_CACHE", "off")
    entry = f"{__name__}:{mechanism.name}"
    _, registry = Specimen("block", f"{entry}.block", f"{entry}.Params").component()
    field = {"initial": 0, "boundary": [{"kind": condition}], "equation": [{"block": "specimen"}]}
    problem = {
        "domain": {"kind": "interval", "left": 0, "right": 1},
        "basis": {"kind": "fourier", "K": 16},
        "fields": {"u": field},
        "time": {"end": 1},
    }
    linear = discretise(load_problem(problem, registry=registry)).system.linear
    found = -linear.eigenvalues.sort(descending=True).values  # type: ignore[attr-defined]
    assert found[: len(k)].tolist() == pytest.approx([s**4 for s in k], rel=1e-7, abs=1e-7)


def test_keys_are_checked_like_those_of_any_block() -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        make(logistic, rate=-1)
    with pytest.raises(ValidationError, match="no field is called 'w'"):
        make(grazing, v="w")
    assert logistic.Params.model_fields["rate"].description == "growth rate"


def test_a_declared_mechanism_is_still_the_function() -> None:
    assert logistic(2.0, rate=1.0, capacity=4.0) == 1.0


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: pointwise("s")(lambda u, grad_w: u), "grad_w is there"),
        (lambda: flux("s")(lambda x: (x,)), "needs a field"),
        (lambda: flux("s")(lambda u, laplacian_u: (u,)), "not laplacian_u"),
        (lambda: pointwise("s")(lambda u, net: u), "belong together"),
        (lambda: pointwise("s")(lambda u, *more: u), "plain arguments"),
        (lambda: energy("s", traces=(1,))(lambda u, laplacian_u: u), "traces and conditions belong together"),
        (lambda: energy("s", traces=(1,), conditions=1)(lambda u, grad_u: u), "an energy that reads a Laplacian"),
        (lambda: pointwise("s")(lambda u, *, k: u).Params, "has no type"),
        (lambda: pointwise("s")(lambda u, *, of: u).Params, "has the name of a key"),
    ],
)
def test_a_declaration_that_makes_no_sense_says_so(declare: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        declare()  # type: ignore[operator]


def test_the_entry_names_the_mechanism_where_it_stands() -> None:
    (entry,) = blocks(logistic)()
    assert entry.name == "logistic"
    assert entry.params.endswith(":logistic.Params") and entry.factory.endswith(":logistic.block")


def test_declaring_imports_neither_torch_nor_pydantic() -> None:
    program = "import sys, gleg_core.mechanisms; print([m for m in ('torch', 'pydantic', 'numpy') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
        == "[]"
    )


def test_no_submodule_takes_the_place_of_a_decorator() -> None:
    """Importing a submodule sets an attribute of the package: none may have the name of something it exports."""
    import pkgutil

    import gleg_core.mechanisms as package

    assert {m.name for m in pkgutil.iter_modules(package.__path__)} & set(package.__all__) == set()
