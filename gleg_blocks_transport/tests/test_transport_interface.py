"""The transport blocks as components: batches, dtype, purity, gradients, parameters, the pack's listing."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from transport_functions import Waves, block

from gleg_blocks_transport.pack import gleg_blocks
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location

BLOCKS = {
    "transport": {"direction": "y"},
    "advection": {"velocity": ["sin(2*x+t)", "x*y"]},
    "cross-advection": {"by": "v", "direction": "x"},
    "stream-advection": {"stream": "v", "background": "sin(2*x+t)*y"},
}
N = 11


def place(dtype: torch.dtype = torch.float64) -> Location:
    random = torch.Generator().manual_seed(7)
    x = torch.rand(N, 2, generator=random, dtype=torch.float64)
    normal = torch.nn.functional.normalize(torch.randn(N, 2, generator=random, dtype=torch.float64))
    return Location(x.to(dtype), 0.4, normal.to(dtype))


def responses(name: str, u: Tensor, v: Tensor, at: Location, waves: Waves) -> list[Tensor]:
    """Everything the block returns for amplitudes u and v: reference, weak fluxes, boundary term."""
    mechanism = block(name, **BLOCKS[name])
    fields = {"u": waves.jet(u, at.x), "v": waves.jet(v, at.x)}
    outer = mechanism.weak_boundary(fields, at)
    assert outer is not None
    return [mechanism.reference(fields, at), *mechanism.weak(fields, at).values(), outer]


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("batch", [(), (1,), (4,), (2, 3), (0,), (3, 0)])
def test_batches(name: str, batch: tuple[int, ...]) -> None:
    waves, at = Waves(2), place()
    u, v = waves.amplitudes(*batch), waves.amplitudes(*batch)
    together = responses(name, u, v, at, waves)
    assert all(part.shape == (*batch, N) for part in together)
    for i, (one_u, one_v) in enumerate(zip(u.reshape(-1, waves.size), v.reshape(-1, waves.size), strict=True)):
        for part, alone in zip(together, responses(name, one_u, one_v, at, waves), strict=True):
            assert torch.allclose(part.reshape(-1, N)[i], alone, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_is_preserved(name: str, dtype: torch.dtype) -> None:
    waves = Waves(2, dtype=dtype)
    parts = responses(name, waves.amplitudes(2), waves.amplitudes(2), place(dtype), waves)
    assert {part.dtype for part in parts} == {dtype}


@pytest.mark.parametrize("name", BLOCKS)
def test_pure_and_deterministic(name: str) -> None:
    waves, at = Waves(2), place()
    u, v = waves.amplitudes(2), waves.amplitudes(2)
    tables: dict[tuple[str, MultiIndex], Tensor] = {}

    def remembered(field: str, a: Tensor) -> Jet:
        def derivative(alpha: MultiIndex) -> Tensor:
            return tables.setdefault((field, alpha), a @ waves.table(at.x, alpha))

        return Jet(derivative, 2)

    mechanism = block(name, **BLOCKS[name])
    fields = {"u": remembered("u", u), "v": remembered("v", v)}
    state = torch.random.get_rng_state()
    first = [mechanism.reference(fields, at), *mechanism.weak(fields, at).values(), mechanism.weak_boundary(fields, at)]
    before = {key: table.clone() for key, table in tables.items()}
    again = [mechanism.reference(fields, at), *mechanism.weak(fields, at).values(), mechanism.weak_boundary(fields, at)]
    assert all(torch.equal(p, q) for p, q in zip(first, again, strict=True))
    assert all(torch.equal(before[key], tables[key]) for key in before)
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize("name", BLOCKS)
def test_differentiable_in_the_state(name: str) -> None:
    waves, at = Waves(2, size=3), place()
    u, v = waves.amplitudes().requires_grad_(True), waves.amplitudes().requires_grad_(True)
    assert torch.autograd.gradcheck(lambda p, q: tuple(responses(name, p, q, at, waves)), (u, v))


@pytest.mark.parametrize("name", BLOCKS)
def test_many_times_at_once(name: str) -> None:
    """A column of times gives a row per time."""
    waves, at = Waves(2), place()
    fields = {"u": waves.jet(waves.amplitudes(3), at.x), "v": waves.jet(waves.amplitudes(3), at.x)}
    times = torch.tensor([[0.0], [0.4], [1.1]], dtype=torch.float64)
    mechanism = block(name, **BLOCKS[name])
    together = mechanism.reference(fields, at.moment(times))
    assert together.shape == (3, N)
    for row, t in enumerate(times[:, 0].tolist()):
        assert torch.allclose(together[row], mechanism.reference(fields, at.moment(t))[row], atol=1e-14)


def test_examples_validate_and_capabilities_are_true() -> None:
    for entry in gleg_blocks():
        for example in entry.examples:
            traits = block(entry.name, **example).traits
            assert traits.structure in str(entry.capabilities["structure"])
            assert traits.order == entry.capabilities["order"]
            assert str(traits.degree) in str(entry.capabilities["degree"])
            assert list(traits.modes) == entry.capabilities["modes"]


@pytest.mark.parametrize(
    ("name", "dim", "params", "message"),
    [
        ("transport", 2, {}, "direction"),
        ("transport", 2, {"direction": "z"}, "coordinates of this domain are x, y"),
        ("transport", 1, {"direction": "y"}, "coordinates of this domain are x"),
        ("transport", 2, {"direction": "x", "of": "w"}, "no field is called 'w'"),
        ("transport", 2, {"direction": "x", "off": "u"}, "off"),
        ("advection", 2, {"velocity": [1]}, "found 1 components, one per coordinate"),
        ("advection", 1, {"velocity": [1, 0]}, "found 2 components"),
        ("advection", 2, {"velocity": ["z", 0]}, "velocity"),
        ("advection", 2, {"velocity": "x"}, "velocity"),
        ("cross-advection", 2, {"direction": "x"}, "by"),
        ("cross-advection", 2, {"by": "V", "direction": "x"}, "Did you mean 'v'"),
        ("stream-advection", 2, {}, "give stream .a field., background .a formula., or both"),
        ("stream-advection", 3, {"stream": "v"}, "a streamfunction needs two dimensions, this domain has 3"),
        ("stream-advection", 1, {"background": "x"}, "needs two dimensions"),
        ("stream-advection", 2, {"stream": "psi"}, "no field is called 'psi'"),
        ("stream-advection", 2, {"stream": "v", "of": "v"}, "does not change along its own flow"),
    ],
)
def test_bad_parameters_are_refused(name: str, dim: int, params: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        block(name, dim, **params)


def test_listing_and_checking_do_not_import_torch() -> None:
    code = (
        "import sys, gleg_blocks_transport.pack as p, gleg_blocks_transport.params;"
        "p.gleg_blocks(); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
