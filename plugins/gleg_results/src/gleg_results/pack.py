"""Entry point of the pack ``results``."""

from gleg_core.pack import Keys, Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_keys() -> list[Keys]:
    return [
        Keys(
            "output",
            ("grid", "probes", "pictures", "movie", "formats"),
            "gleg_results.sections:OutputKeys",
            check="gleg_results.fit:check_output",
        ),
        Keys(
            "problem",
            ("reference",),
            "gleg_results.sections:ReferenceKey",
            check="gleg_results.reference:read_reference",
        ),
        Keys(
            "problem",
            ("restart",),
            "gleg_results.sections:RestartKey",
            initial="gleg_results.restart:stored_state",
            fills="gleg_results.restart:last_time",
            replaces=("initial",),
        ),
    ]


@hookimpl
def gleg_run_attributes() -> list[Tool]:
    value, method = {"kind": "value"}, {"kind": "method"}
    return [
        Tool("arrays", "Fields on a grid, at nodes and at probes, as plain arrays", "gleg_results.dataset:tabulated", facts=value),
        Tool("dataset", "The same as an xarray dataset", "gleg_results.dataset:as_dataset", facts=value),
        Tool("metrics", "Errors, boundary residuals, invariants, space and timing", "gleg_results.metrics:measure", facts=value),
        Tool("plot", "Snapshots of all fields", "gleg_results.pictures:plot", facts=method),
        Tool("save", "Write the run to a folder, all of it or nothing", "gleg_results.folder:save", facts=method),
    ]  # fmt: skip


@hookimpl
def gleg_names() -> list[Tool]:
    return [Tool("open_run", "A saved run, to be evaluated and drawn like a fresh one", "gleg_results.stored:open_run")]
