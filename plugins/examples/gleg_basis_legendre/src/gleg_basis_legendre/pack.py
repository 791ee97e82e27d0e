"""Entry point of the pack ``legendre``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_bases() -> list[Entry]:
    return [
        Entry(
            "legendre",
            "Legendre polynomials of total degree ≤ p on the box Q",
            params="gleg_basis_legendre.params:LegendreParams",
            factory="gleg_basis_legendre.legendre:LegendreBasis",
            capabilities={"dims": [1, 2, 3], "periodic": False, "isotropic": False, "resolution": "degree"},
            examples=({"degree": 30},),
        )
    ]
