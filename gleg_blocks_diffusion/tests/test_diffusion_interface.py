"""The diffusion blocks as components: batches, dtype, purity, gradients, parameters, the pack's listing."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from diffusion_functions import Waves, block
from pydantic import ValidationError
from torch import Tensor

from gleg_blocks_diffusion.pack import gleg_blocks
from gleg_core.contracts.jet import Jet, MultiIndex
from gleg_core.contracts.location import Location

BLOCKS = {"diffusion": {}, "variable-diffusion": {"diffusivity": "1 + x^2*y"}}
N = 11


def place(dtype: torch.dtype = torch.float64) -> Location:
    random = torch.Generator().manual_seed(7)
    x = torch.rand(N, 2, generator=random, dtype=torch.float64)
    normal = torch.nn.functional.normalize(torch.randn(N, 2, generator=random, dtype=torch.float64))
    return Location(x.to(dtype), 0.4, normal.to(dtype))


def responses(name: str, u: Jet, at: Location) -> list[Tensor]:
    """Everything the block returns: reference, weak fluxes, boundary term."""
    mechanism = block(name, **BLOCKS[name])
    outer = mechanism.weak_boundary({"u": u}, at)
    assert outer is not None
    return [mechanism.reference({"u": u}, at), *mechanism.weak({"u": u}, at).values(), outer]


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("batch", [(), (1,), (4,), (2, 3), (0,), (3, 0)])
def test_batches(name: str, batch: tuple[int, ...]) -> None:
    waves, at = Waves(2), place()
    a = waves.amplitudes(*batch)
    together = responses(name, waves.jet(a, at.x), at)
    assert all(part.shape == (*batch, N) for part in together)
    for i, one in enumerate(a.reshape(-1, waves.size)):
        for part, alone in zip(together, responses(name, waves.jet(one, at.x), at), strict=True):
            assert torch.allclose(part.reshape(-1, N)[i], alone, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_is_preserved(name: str, dtype: torch.dtype) -> None:
    waves, at = Waves(2, dtype=dtype), place(dtype)
    assert {part.dtype for part in responses(name, waves.jet(waves.amplitudes(2), at.x), at)} == {dtype}


@pytest.mark.parametrize("name", BLOCKS)
def test_pure_and_deterministic(name: str) -> None:
    waves, at = Waves(2), place()
    a = waves.amplitudes(2)
    tables: dict[MultiIndex, Tensor] = {}
    jet = Jet(lambda alpha: tables.setdefault(alpha, a @ waves.table(at.x, alpha)), 2)
    state = torch.random.get_rng_state()
    first = responses(name, jet, at)
    before = {alpha: table.clone() for alpha, table in tables.items()}
    assert all(torch.equal(p, q) for p, q in zip(first, responses(name, jet, at), strict=True))
    assert all(torch.equal(before[alpha], tables[alpha]) for alpha in before)
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize("name", BLOCKS)
def test_differentiable_in_the_state(name: str) -> None:
    waves, at = Waves(2, size=3), place()
    a = waves.amplitudes().requires_grad_(True)
    assert torch.autograd.gradcheck(lambda p: tuple(responses(name, waves.jet(p, at.x), at)), (a,))


@pytest.mark.parametrize("name", BLOCKS)
def test_linear_and_blind_to_constants(name: str) -> None:
    waves, at = Waves(2), place()
    a, c = waves.amplitudes(), waves.amplitudes()
    parts = zip(*(responses(name, waves.jet(b, at.x), at) for b in (2 * a - 3 * c, a, c)), strict=True)
    for combined, of_a, of_c in parts:
        assert torch.allclose(combined, 2 * of_a - 3 * of_c, rtol=1e-11, atol=1e-11)
    constant = Jet(lambda alpha: torch.full((N,), float(sum(alpha) == 0), dtype=torch.float64), 2)
    assert not any(part.any() for part in responses(name, constant, at))


def test_examples_validate_and_capabilities_are_true() -> None:
    for entry in gleg_blocks():
        for example in entry.examples:
            traits = block(entry.name, **example).traits
            declared = {"structure": traits.structure, "order": traits.order, "degree": traits.degree}
            assert declared | {"modes": list(traits.modes)} == {
                k: v for k, v in entry.capabilities.items() if k not in ("learned", "weights")
            }


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("diffusion", {"of": "w"}, "no field is called 'w'"),
        ("diffusion", {"coefficient": 2}, "coefficient"),
        ("variable-diffusion", {}, "diffusivity"),
        ("variable-diffusion", {"diffusivity": "1 + t"}, "diffusivity"),
    ],
)
def test_bad_parameters_are_refused(name: str, params: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        block(name, **params)


def test_listing_and_checking_do_not_import_torch() -> None:
    code = (
        "import sys, gleg_blocks_diffusion.pack as p, gleg_blocks_diffusion.params;"
        "p.gleg_blocks(); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
