"""Entry point of the pack ``learning``."""

from gleg_core.pack import Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_commands() -> list[Tool]:
    return [
        Tool("train", "Train a learned mechanism", "gleg_learning.train_command:train"),
        Tool(
            "blocks",
            "List installed mechanisms, with the certified error of learned ones",
            "gleg_learning.blocks_command:blocks",
        ),
    ]
