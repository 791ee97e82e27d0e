"""Entry point of the pack ``accuracy``."""

from gleg_core.pack import Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_strategies() -> list[Tool]:
    return [
        Tool(
            "accuracy",
            "Trials until an accuracy is reached, and judges of what comes out",
            "gleg_accuracy.strategy:solved",
        )
    ]


@hookimpl
def gleg_judges() -> list[Tool]:
    return [
        Tool("space", "What the trial space leaves of the equation and the data", "gleg_accuracy.space:parts"),
        Tool("nodes", "What initial states and sources are between the nodes of a space", "gleg_accuracy.nodes:parts"),
        Tool("time", "What the steps leave, and what they may have stepped over", "gleg_accuracy.time:parts"),
    ]
