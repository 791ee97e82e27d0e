"""Entry point of the pack ``elements``."""

from gleg_core.pack import Entry, Tool, hookimpl

CONTRACT = (3, 0)


@hookimpl
def gleg_bases() -> list[Entry]:
    return [
        Entry(
            "elements",
            "Finite elements of any order, refined at corners and where the given functions need it",
            params="gleg_basis_elements.params:ElementsParams",
            factory="gleg_basis_elements.basis:elements",
            capabilities={"dims": [1, 2], "isotropic": False, "local": True, "tolerance": "tolerance"},
            examples=({"order": 3, "size": 0.25},),
        )
    ]


@hookimpl
def gleg_defaults() -> list[Tool]:
    return [
        Tool(
            "basis",
            "For problem files that name none and whose solution is not smooth",
            "gleg_basis_elements.suggest:basis",
        )
    ]


@hookimpl
def gleg_run_attributes() -> list[Tool]:
    return [
        Tool(
            "plot_mesh",
            "The mesh of a run on finite elements",
            "gleg_basis_elements.picture:plot_mesh",
            needs=("matplotlib",),
            facts={"kind": "method", "extra": "pictures"},
        )
    ]


@hookimpl
def gleg_outputs() -> list[Tool]:
    return [
        Tool(
            "mesh",
            "A picture of the finite elements of a run, mesh.png",
            "gleg_basis_elements.picture:write",
            needs=("matplotlib",),
            facts={"extra": "pictures"},
        )
    ]
