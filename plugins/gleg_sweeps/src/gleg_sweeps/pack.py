"""Entry point of the pack ``sweeps``."""

from gleg_core.pack import Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_commands() -> list[Tool]:
    return [Tool("sweep", "Solve PROBLEM for many values of some of its keys", "gleg_sweeps.command:sweep")]


@hookimpl
def gleg_engines() -> list[Tool]:
    return [
        Tool("local", "Processes of this machine, one thread each", "gleg_sweeps.local:run_cases"),
        Tool(
            "batch",
            "Cases that share their space in one rollout, in this process",
            "gleg_sweeps.batch_engine:run_cases",
        ),
        Tool(
            "dask",
            "Workers of a Dask cluster",
            "gleg_sweeps.dask_engine:run_cases",
            needs=("distributed",),
            facts={"extra": "dask"},
        ),
    ]


@hookimpl
def gleg_names() -> list[Tool]:
    return [
        Tool(
            "ensemble", "One problem for many initial states or coefficients at once", "gleg_sweeps.ensembles:ensemble"
        ),
        Tool("SolutionMap", "A problem as a differentiable function", "gleg_sweeps.solution_map:SolutionMap"),
        Tool("Ensemble", "The runs of all members of an ensemble", "gleg_sweeps.ensembles:Ensemble"),
    ]
