"""Entry point of the pack ``discovery``."""

from gleg_core.pack import Keys, Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_keys() -> list[Keys]:
    return [
        Keys("problem", ("discover", "plan"), "gleg_discovery.sections:ProblemKeys"),
        Keys(
            "field",
            ("candidates",),
            "gleg_discovery.sections:FieldKeys",
            read="gleg_discovery.sections:read_candidates",
            schema="gleg_discovery.sections:candidates_schema",
            replaces=("equation", "initial"),
            unsolved="the law of '{field}' is still to be found: gleg discover {file} DATA writes it",
        ),
    ]


@hookimpl
def gleg_commands() -> list[Tool]:
    return [
        Tool(
            "discover",
            "Find the law of PROBLEM's fields among their candidates",
            "gleg_discovery.discover_command:discover",
        ),
        Tool("plan", "How well a planned experiment will determine a guessed law", "gleg_discovery.plan_command:plan"),
    ]


@hookimpl
def gleg_names() -> list[Tool]:
    return [
        Tool("discover", "The law of a problem's fields from observations", "gleg_discovery.discover:discover"),
        Tool("plan", "Standard errors of an experiment before it is made", "gleg_discovery.plan:plan"),
    ]
