"""Entry point of the pack ``market``."""

from gleg_core.pack import Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_commands() -> list[Tool]:
    return [
        Tool("packs", "List installed packs, where they come from and what they offer", "gleg_market.packs:packs"),
        Tool("search", "Find mechanisms, domains, bases, … and how to install them", "gleg_market.search:search"),
        Tool(
            "lock",
            "Write NAME.lock.json beside PROBLEM: versions and hashes of all it uses",
            "gleg_market.lock_command:lock",
        ),
    ]


@hookimpl
def gleg_guards() -> list[Tool]:
    return [Tool("lock", "Refuses a run with other packs than those locked", "gleg_market.lock:GUARD")]


@hookimpl
def gleg_catalogues() -> list[Tool]:
    return [
        Tool(
            "files", "The shipped catalogue and those that GLEG_CATALOGUE names", "gleg_market.catalogue:read_catalogue"
        )
    ]
