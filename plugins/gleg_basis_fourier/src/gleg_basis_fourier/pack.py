"""Entry point of the pack ``fourier``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_bases() -> list[Entry]:
    return [
        Entry(
            "fourier",
            "Real Fourier functions with radial cutoff |k| ≤ K on the box Q",
            params="gleg_basis_fourier.params:FourierParams",
            factory="gleg_basis_fourier.fourier:FourierBasis",
            capabilities={"dims": [1, 2, 3], "periodic": True, "isotropic": True, "resolution": "K"},
            examples=({"K": 22},),
        )
    ]
