"""Entry point of the pack ``accuracy``."""

from gleg_core.pack import Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_judges() -> list[Tool]:
    return [
        Tool("space", "What the trial space leaves of the equation and the data", "gleg_accuracy.space:parts"),
        Tool("nodes", "What initial states and sources are between the nodes of a space", "gleg_accuracy.nodes:parts"),
        Tool("time", "What the steps leave, and what they may have stepped over", "gleg_accuracy.time:parts"),
    ]
