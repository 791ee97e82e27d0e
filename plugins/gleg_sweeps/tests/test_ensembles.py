"""Ensembles in one rollout, and the solution of a problem as a differentiable function."""

import numpy as np
import pytest
import torch

import gleg
from gleg_core.errors import SpecError

POINTS = np.array([[0.1, 0.2], [-0.3, 0.1], [0.2, -0.3]])
DISK = {"kind": "disk", "radius": 0.6}
J01 = 2.404825557695773


def heat(**changes: object) -> dict:
    """u_t = D Δu + r u − r u³ + moving data, from a bump."""
    return {
        "domain": DISK,
        "basis": {"kind": "fourier", "K": 8},
        "constants": {"D": 0.05, "r": 0.7, "a": 1.0},
        "fields": {
            "u": {
                "initial": "a*exp(-8*(x^2 + y^2))",
                "boundary": [{"kind": "dirichlet", "value": "0.2*sin(3*t)*x"}],
                "equation": [
                    {"block": "diffusion", "coefficient": "D"},
                    {"block": "power", "coefficient": "r"},
                    {"block": "power", "p": 3, "coefficient": "-r"},
                ],
            }
        },
        "time": {"end": 0.5, "step": 0.01},
        "output": {"frames": 5, "grid": 15, "pictures": False},
    } | changes  # fmt: skip


MEMBERS = [
    {"constants": {"D": D, "r": r, "a": a}} for D, r, a in ((0.05, 0.7, 1.0), (0.1, 0.7, 0.5), (0.02, 1.5, -0.8))
]


def test_members_are_their_single_runs() -> None:
    together = gleg.ensemble(heat(), MEMBERS)
    assert len(together) == 3
    points = np.array([[0.1, 0.2], [-0.3, 0.1], [0.0, -0.45]])
    everywhere = together.evaluate("u", points, 0.5)
    for i, member in enumerate(MEMBERS):
        alone = gleg.solve(heat(), **member, space={"lift": "mass-minimal"})
        expected = alone.u(points[:, 0], points[:, 1], 0.5)
        assert np.allclose(everywhere[i], expected, rtol=0, atol=1e-9)
        assert np.allclose(together[i].u(points[:, 0], points[:, 1], 0.5), expected, rtol=0, atol=1e-9)
        assert together[i].problem.section.constants == member["constants"]


def test_a_heat_ensemble_against_the_exact_rates() -> None:
    """Every member decays with its own D (j01/R)²."""
    spec = heat(constants={"D": 0.05, "j01": J01})
    spec["fields"]["u"] = {
        "initial": "besselj0(j01*sqrt(x^2 + y^2)/0.6)",
        "boundary": [{"kind": "dirichlet"}],
        "equation": [{"block": "diffusion", "coefficient": "D"}],
    }
    D = [0.05, 0.2, 0.11]
    together = gleg.ensemble(spec, [{"constants": {"D": d}} for d in D])
    value = together.evaluate("u", np.array([[0.0, 0.0]]), 0.5)[:, 0]
    assert np.allclose(value, np.exp(-np.array(D) * (J01 / 0.6) ** 2 * 0.5), rtol=2e-6)


def test_small_members_are_controlled_like_large_ones() -> None:
    """A small and lively member beside large and quiet ones keeps its own relative accuracy."""
    quiet, lively = {"constants": {"D": 1e-3, "r": 1e-3, "a": 100.0}}, {"constants": {"D": 0.05, "r": 30.0, "a": 1e-3}}
    adaptive = {"end": 0.5, "integrator": "exponential-adaptive", "step": "auto", "tolerance": 1e-7}
    spec = heat(time=adaptive)
    spec["fields"]["u"]["boundary"] = [{"kind": "neumann"}]
    spec["fields"]["u"]["equation"][2] = {"block": "power", "p": 3, "coefficient": "-r*1e-6"}
    spec["fields"]["u"]["equation"].append({"block": "advection", "velocity": [1, 0.5], "coefficient": "0.01*r"})
    u = gleg.ensemble(spec, [quiet, lively, quiet]).evaluate("u", POINTS, 0.5)[1]
    exact = gleg.solve(spec, **lively, time={**adaptive, "tolerance": 1e-11})
    assert np.abs(u / exact.u(POINTS[:, 0], POINTS[:, 1], 0.5) - 1).max() < 2e-5


@pytest.mark.parametrize(
    ("member", "what"),
    [
        ({"domain": {"kind": "disk", "radius": 0.5}}, "domain"),
        ({"basis": {"kind": "fourier", "K": 9}}, "basis"),
        ({"time": {"end": 0.5, "step": 0.02}}, "time"),
        ({"fields": {"u": {"boundary": [{"kind": "neumann"}]}}}, "fields.u.boundary"),
        ({"fields": {"u": {"equation": [{"block": "diffusion", "coefficient": "D"}]}}}, "fields.u.equation"),
    ],
)
def test_what_cannot_differ(member: dict, what: str) -> None:
    with pytest.raises(SpecError, match=rf"{what}.* differs between members.*gleg sweep"):
        gleg.ensemble(heat(), [{}, member])


def derivative(function, at: torch.Tensor, direction: torch.Tensor, h: float) -> float:
    """By central differences of order 4: a long step, because values are rounded to 1e-11."""
    with torch.no_grad():
        f = {k: float(function(at + k * h * direction)) for k in (-2, -1, 1, 2)}
    return (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)


@pytest.fixture(scope="module")
def flow() -> gleg.SolutionMap:
    return gleg.SolutionMap(heat())


def test_gradients_in_state_coefficients_and_boundary_data(flow: gleg.SolutionMap) -> None:
    """Against differences of whole rollouts."""

    def observed(z: torch.Tensor, c: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        u = flow.values("u", flow(z, c, g)[-1], POINTS, 0.5, g)
        return (u * torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64)).sum()

    generator = torch.Generator().manual_seed(1)
    start = [flow.initial, flow.coefficients, torch.ones(1, dtype=torch.float64)]
    variables = [v.clone().requires_grad_(True) for v in start]
    gradients = torch.autograd.grad(observed(*variables), variables)
    for i, gradient in enumerate(gradients):
        direction = torch.randn(start[i].shape, dtype=torch.float64, generator=generator)
        direction = direction / direction.norm()

        def along(value: torch.Tensor, i: int = i) -> torch.Tensor:
            return observed(*(value if j == i else v for j, v in enumerate(start)))

        assert float(gradient @ direction) == pytest.approx(derivative(along, start[i], direction, 2e-3), rel=1e-6)


def test_the_map_is_the_solution(flow: gleg.SolutionMap) -> None:
    """To rounding: the coefficients of the two lifts differ by hundreds outside the domain, and their sums cancel within it."""
    run = gleg.solve(heat(), space={"lift": "mass-minimal"})
    with torch.no_grad():
        u = flow.values("u", flow()[-1], POINTS, 0.5)
    assert np.allclose(u.numpy(), run.u(POINTS[:, 0], POINTS[:, 1], 0.5), rtol=0, atol=1e-11)


def test_memory_of_a_gradient_grows_little_with_the_steps() -> None:
    """Counted as the tensors that autograd saves beside checkpoints: √n steps at most are alive at once."""
    saved: dict[int, int] = {}
    for n in (16, 256):
        flow = gleg.SolutionMap(heat(time={"end": 0.5, "step": 0.5 / n}, output={"frames": 1, "pictures": False}))
        count = 0

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            nonlocal count
            count += tensor.numel()
            return tensor

        z = flow.initial.clone().requires_grad_(True)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            flow(z)
        saved[n] = count
    assert saved[256] <= 6 * saved[16]


def test_large_batches_are_their_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluated some states at a time, with factors that differ between members."""
    from gleg_core.system import responses
    from gleg_core.system.discretise import discretise

    system = discretise(gleg.load(heat())).system
    c = torch.linspace(0.5, 2, 7, dtype=torch.float64)[:, None]
    varied = system.scaled([c, c**2, 1 / c], data_scale=c)
    z = torch.randn(7, system.size, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    whole = varied.nonlinear(z, 0.3)
    monkeypatch.setattr(responses, "VALUES_AT_ONCE", 3 * len(system.fields["u"].space.weights))
    assert torch.allclose(varied.nonlinear(z, 0.3), whole, rtol=0, atol=1e-11 * float(whole.abs().max()))
    for i, factor in enumerate(c):
        alone = system.scaled([factor, factor**2, 1 / factor], data_scale=factor).nonlinear(z[i], 0.3)
        assert torch.allclose(whole[i], alone, rtol=0, atol=1e-11 * float(whole.abs().max()))
