"""A block given only as a nonlinear map of ambient coefficients, realised as q = NᵀM_Ω F(a)."""

import torch

import gleg
from gleg_core.contracts.block import Block, Traits
from gleg_core.expressions import formula
from gleg_core.system.discretise import discretise
from gleg_core.system.reduced import ReducedSystem
from gleg_core.system.terms import Term


class Saturation(Block):
    """F(a)_j = tanh(a_j): no formula in u, only an action on coefficients."""

    traits = Traits("R", order=0, degree=None, modes=("ambient",))
    acts_on = "u"

    def reference(self, fields, at):
        raise AssertionError("an ambient realisation does not evaluate the reference")

    def ambient(self, basis, field):
        return torch.tanh


def test_nonlinear_ambient_map() -> None:
    spec = {
        "domain": {"kind": "disk", "radius": 0.5},
        "basis": {"kind": "fourier", "K": 5},
        "fields": {
            "u": {
                "initial": "1 + x",
                "boundary": [{"kind": "dirichlet", "value": "1 + x*t"}],
                "equation": [{"block": "diffusion"}],
            }
        },
        "time": {"end": 1},
    }
    d = discretise(gleg.load(spec))
    field = d.system.fields["u"]
    term = Term("u", Saturation(), formula(2.5), where="test")
    system = ReducedSystem([field], [term], {}, (0.0, 1.0))
    z, t = torch.randn(3, system.size, dtype=torch.float64), 0.4
    response = system.nonlinear(z, t) - ReducedSystem([field], [], {}, (0.0, 1.0)).nonlinear(z, t)
    mapped = torch.tanh(system.coefficients("u", z, t))
    values = d.basis.evaluate(mapped, field.space.nodes.x)
    phi = d.basis.evaluate(system.fields["u"].space.N.T, field.space.nodes.x)
    expected = 2.5 * (values * field.space.weights) @ phi.T
    assert torch.allclose(response, expected, rtol=1e-9, atol=1e-9 * float(expected.abs().max()))


class MinusMean(Block):
    """L(u) = −|Ω|⁻¹ ∫ u: a non-local mechanism written with the quadrature weights."""

    traits = Traits("R", order=0, degree=1)
    acts_on = "u"

    def reference(self, fields, at):
        u = fields["u"].value
        return -(u * at.weights).sum(dim=-1, keepdim=True) / at.weights.sum() * torch.ones_like(u)


def test_non_local_mechanism() -> None:
    """u_t = −mean(u): with no flux the mean decays like e^{−t} and everything else stays."""
    spec = {
        "domain": {"kind": "disk", "radius": 0.5},
        "basis": {"kind": "fourier", "K": 6},
        "fields": {"u": {"initial": "1 + x", "boundary": [{"kind": "free"}], "equation": [{"block": "power"}]}},
        "time": {"end": 1},
    }
    d = discretise(gleg.load(spec))
    system = ReducedSystem([d.system.fields["u"]], [Term("u", MinusMean(), formula(1.0), where="test")], {}, (0.0, 1.0))
    z = system.initial({"u": lambda at: 1 + at.x[:, 0]}, 0.0)
    rate = system.rhs(z, 0.0)
    values = d.basis.evaluate(system.coefficients("u", rate, 0.0), system.fields["u"].space.nodes.x)
    assert torch.allclose(values, -torch.ones_like(values), atol=1e-9)
