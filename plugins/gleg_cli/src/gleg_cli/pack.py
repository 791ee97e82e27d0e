"""Entry point of the pack ``cli``."""

from gleg_core.pack import Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_commands() -> list[Tool]:
    return [
        Tool("run", "Solve PROBLEM and write one folder: fields, metrics, pictures, resolved spec", "gleg_cli.run:run"),
        Tool(
            "score",
            "Score a run: its error and where it comes from, boundary residuals, balances",
            "gleg_cli.score:score",
        ),
        Tool("verify", "A second opinion on PROBLEM by another discretisation", "gleg_cli.verify:verify"),
        Tool("validate", "Check PROBLEM without solving it", "gleg_cli.problem_files:validate"),
        Tool(
            "resolve",
            "Print PROBLEM with all defaults, full keys, versions and hashes",
            "gleg_cli.problem_files:resolve",
        ),
        Tool("schema", "Print a JSON Schema of problem files, for editors", "gleg_cli.problem_files:schema"),
        Tool("examples", "Problem files to start from", "gleg_cli.examples:examples"),
        Tool("doctor", "Check this installation: packs, versions, threads, cache", "gleg_cli.doctor:doctor"),
    ]
