"""Entry point of the pack ``bc``."""

from gleg_core.pack import Entry, hookimpl

CONTRACT = (3, 0)


def _entry(name: str, summary: str, conditions: int, *examples: dict[str, object], **more: object) -> Entry:
    """The class is called like its module; ``more`` are further capabilities."""
    return Entry(
        name,
        summary,
        params=f"gleg_bc.params:{name.title()}Params",
        factory=f"gleg_bc.{name}:{name.title()}",
        capabilities={"conditions": conditions, "dims": [1, 2, 3], **more},
        examples=examples,
    )


@hookimpl
def gleg_boundary_operators() -> list[Entry]:
    return [
        _entry("dirichlet", "u = g", 1, {}, {"value": "sin(t)"}, prescribes="value"),
        _entry("neumann", "∂u/∂n = g", 1, {}, {"value": "x*t"}, natural=True),
        _entry("robin", "∂u/∂n + κ u = g", 1, {"kappa": 2}, {"kappa": "1+x^2", "value": "t"}, natural=True),
        _entry("clamped", "u = g and ∂u/∂n = h", 2, {}, {"value": "x", "slope": "t"}),
        _entry(
            "floating",
            "u = c(t), an unknown constant, with no net flux ∮∂u/∂n ds = 0",
            1,
            {},
            dims=[2, 3],
            expected_failures={
                "normal-order-is-true": "the check's functions are constant on the boundary, which is what the condition allows",
                "traces-are-local": "the condition compares u with its mean over the segment",
                "flux-tells-the-normal-derivative": "∂u/∂n is zero in the mean over the segment only, which is all that test "
                "functions constant there can see",
            },
        ),
        _entry("free", "no condition (for equations without derivatives)", 0, {}),
    ]
