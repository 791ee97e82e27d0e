"""Entry point of the pack ``dictionary``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_dictionaries() -> list[Entry]:
    return [
        Entry(
            "paper-six",
            "Δu, −∂x(u²/2), −∂y(u²/2), u, u², u³",
            params="gleg_dictionary.params:PaperSixParams",
            factory="gleg_dictionary.paper_six:PaperSix",
            capabilities={"order": 2, "degree": 3},
            examples=({},),
        ),
        Entry(
            "polynomial-diffusion",
            "Δu and all products of fields up to a degree",
            params="gleg_dictionary.params:PolynomialDiffusionParams",
            factory="gleg_dictionary.polynomial_diffusion:PolynomialDiffusion",
            capabilities={"order": 2, "degree": "max_degree"},
            examples=({}, {"max_degree": 2, "constant": True, "cross_diffusion": True}, {"products": False}),
        ),
    ]
