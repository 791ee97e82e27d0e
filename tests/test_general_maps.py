"""A block given only as a nonlinear map of ambient coefficients, realised as q = NᵀM_Ω F(a)."""

import torch

import gleg_core as gleg
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
    d = discretise(gleg.load_problem(spec))
    field = d.system.fields["u"]
    term = Term("u", Saturation(), formula(2.5), where="test")
    system = ReducedSystem([field], [term], {}, (0.0, 1.0))
    z, t = torch.randn(3, system.size, dtype=torch.float64), 0.4
    response = system.nonlinear(z, t) - system.source(t)
    mapped = torch.tanh(system.coefficients("u", z, t))
    values = d.basis.evaluate(mapped, field.space.nodes.x)
    phi = d.basis.evaluate(system.fields["u"].space.N.T, field.space.nodes.x)
    expected = 2.5 * (values * field.space.weights) @ phi.T
    assert torch.allclose(response, expected, rtol=1e-9, atol=1e-9 * float(expected.abs().max()))
