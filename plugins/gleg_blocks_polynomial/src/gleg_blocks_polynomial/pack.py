"""Entry point of the pack ``polynomial``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)


def _entry(
    name: str, summary: str, factory: str, degree: object, *examples: dict[str, object], **more: object
) -> Entry:
    """``factory`` is ``module:name`` inside this pack; ``more`` are further capabilities."""
    return Entry(
        name,
        summary,
        params=f"gleg_blocks_polynomial.params:{name.title().replace('-', '')}Params",
        factory=f"gleg_blocks_polynomial.{factory}",
        capabilities={"structure": "R", "order": 0, "degree": degree, "modes": ["pointwise"], **more},
        examples=examples,
    )


@hookimpl
def gleg_blocks() -> list[Entry]:
    return [
        _entry(
            "power",
            "u^p (p = 1: linear growth or decay)",
            "polynomial:Power",
            "p",
            {},
            {"p": 3},
            modes=["pointwise", "ambient (p = 1)"],
        ),
        _entry(
            "product", "product of powers of fields, such as u²v", "polynomial:Product", "Σ p", {"powers": {"u": 2}}
        ),
        _entry("constant", "1 (scaled by the term's coefficient)", "polynomial:Constant", 0, {}),
        _entry("source", "a given f(x, t)", "polynomial:Source", 0, {"value": "sin(x)*t"}),
        _entry(
            "reaction",
            "r(u), a formula of u or learned from data",
            "reaction:reaction",
            None,
            {"rate": "u*(1 - u)*(u - 0.3)"},
            learned="gleg_blocks_polynomial.reaction:LearnedReaction",
        ),
        _entry(
            "conserved-reaction",
            "r(u) − mean of r(u) over Ω: a reaction that keeps ∫u (volume constraint, non-local)",
            "reaction:ConservedReaction",
            None,
            {"rate": "u - u^3"},
        ),
    ]
