"""Entry point of the pack ``conformance``."""

from gleg_core.pack import Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_commands() -> list[Tool]:
    return [
        Tool("check", "Run the conformance kit on installed packs", "gleg_conformance.check_command:check"),
        Tool("new-pack", "Write a complete distribution for a new pack", "gleg_conformance.scaffold.command:new_pack"),
    ]
