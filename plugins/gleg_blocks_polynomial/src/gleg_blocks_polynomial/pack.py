"""Entry point of the pack ``polynomial``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)

_MODULE = "gleg_blocks_polynomial.polynomial"


@hookimpl
def gleg_blocks() -> list[Entry]:
    return [
        Entry(
            "power",
            "u^p (p = 1: linear growth or decay)",
            params="gleg_blocks_polynomial.params:PowerParams",
            factory=f"{_MODULE}:Power",
            capabilities={"structure": "R", "order": 0, "degree": "p", "modes": ["pointwise", "ambient (p = 1)"]},
            examples=({}, {"p": 3}),
        ),
        Entry(
            "product",
            "product of powers of fields, such as u²v",
            params="gleg_blocks_polynomial.params:ProductParams",
            factory=f"{_MODULE}:Product",
            capabilities={"structure": "R", "order": 0, "degree": "Σ p", "modes": ["pointwise"]},
            examples=({"powers": {"u": 2}},),
        ),
        Entry(
            "constant",
            "1 (scaled by the term's coefficient)",
            params="gleg_blocks_polynomial.params:ConstantParams",
            factory=f"{_MODULE}:Constant",
            capabilities={"structure": "R", "order": 0, "degree": 0, "modes": ["pointwise"]},
            examples=({},),
        ),
        Entry(
            "source",
            "a given f(x, t)",
            params="gleg_blocks_polynomial.params:SourceParams",
            factory=f"{_MODULE}:Source",
            capabilities={"structure": "R", "order": 0, "degree": 0, "modes": ["pointwise"]},
            examples=({"value": "sin(x)*t"},),
        ),
        Entry(
            "reaction",
            "r(u), a formula of u or learned from data",
            params="gleg_blocks_polynomial.params:ReactionParams",
            factory="gleg_blocks_polynomial.reaction:reaction",
            capabilities={
                "learned": "gleg_blocks_polynomial.reaction:LearnedReaction",
                "structure": "R",
                "order": 0,
                "degree": None,
                "modes": ["pointwise"],
            },
            examples=({"rate": "u*(1 - u)*(u - 0.3)"},),
        ),
        Entry(
            "conserved-reaction",
            "r(u) − mean of r(u) over Ω: a reaction that keeps ∫u (volume constraint, non-local)",
            params="gleg_blocks_polynomial.params:ConservedReactionParams",
            factory="gleg_blocks_polynomial.reaction:ConservedReaction",
            capabilities={"structure": "R", "order": 0, "degree": None, "modes": ["pointwise"]},
            examples=({"rate": "u - u^3"},),
        ),
    ]
