"""Entry point of the pack ``toolbox``: everything a pack can add to gleg besides components, one hook each."""

from gleg_core.pack import Keys, Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_commands() -> list[Tool]:
    return [Tool("mass", "Print ∫u of every field of PROBLEM at the start", "gleg_toolbox.command:mass")]


@hookimpl
def gleg_names() -> list[Tool]:
    return [Tool("mass", "∫u of every field at the start", "gleg_toolbox.integrals:mass")]


@hookimpl
def gleg_run_attributes() -> list[Tool]:
    return [Tool("total", "∫u of a field at a time", "gleg_toolbox.integrals:total", facts={"kind": "method"})]


@hookimpl
def gleg_outputs() -> list[Tool]:
    return [Tool("vtu", "Fields at the quadrature nodes, for ParaView", "gleg_toolbox.vtu:write")]


@hookimpl
def gleg_keys() -> list[Keys]:
    return [Keys("problem", ("notes",), "gleg_toolbox.notes:NotesKey")]


@hookimpl
def gleg_checks() -> list[Tool]:
    facts = {"contracts": ["block", "domain"], "group": "style"}
    return [
        Tool("summary-has-no-full-stop", "A summary is no sentence", "gleg_toolbox.checks:no_full_stop", facts=facts)
    ]


@hookimpl
def gleg_engines() -> list[Tool]:
    return [Tool("serial", "One case after the other in this process", "gleg_toolbox.engine:run_cases")]
