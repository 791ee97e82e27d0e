"""What a pack's entry-point module needs, and nothing heavier.

A pack is an installed distribution with one entry point in the group ``gleg.packs``. The entry point's name is the pack id, its value a
*light* module: it imports only this file, states the contract version it was written against, and lists what the pack offers in hooks.
Components (mechanisms, domains, …) are :class:`Entry` records, everything else :class:`Tool` or :class:`Keys`; whatever is heavy in
them is a string, imported when it is used::

    from gleg_core.pack import Entry, Tool, hookimpl

    CONTRACT = (3, 0)

    @hookimpl
    def gleg_blocks():
        return [Entry("logistic", "Logistic growth r u (1 − u/c)",
                      params="my_pack.kinetics:LogisticParams", factory="my_pack.kinetics:Logistic")]

    @hookimpl
    def gleg_outputs():
        return [Tool("vtu", "Fields for ParaView", "my_pack.vtu:write", needs=("meshio",))]

:data:`TABLE` lists all hooks. Importing this module imports neither torch nor numpy nor pydantic, so a thousand packs can be listed
quickly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import pluggy

from gleg_core.capabilities import (
    BasisCapabilities,
    BlockCapabilities,
    BoundaryCapabilities,
    Capabilities,
    DictionaryCapabilities,
    DomainCapabilities,
    IntegratorCapabilities,
)

CONTRACT: tuple[int, int] = (3, 0)
"""(major, minor) of the contracts in this core. Another major, or a newer minor, is refused."""

ENTRY_POINT_GROUP = "gleg.packs"

hookimpl = pluggy.HookimplMarker("gleg")


@dataclass(frozen=True, slots=True)
class Entry:
    """One component offered by a pack; imported only when a problem file names it.

    ``params`` is ``"module:PydanticModel"`` for the component's keys in a problem file and ``factory`` is
    ``"module:callable"``; what the factory is called with is documented with each contract.
    ``capabilities`` are what :mod:`gleg_core.capabilities` has for the contract, as a record or as a mapping of its keys.
    ``examples`` are parameter dictionaries that must validate.
    """

    name: str
    summary: str
    params: str
    factory: str
    capabilities: Capabilities | Mapping[str, object] = field(default_factory=dict)
    examples: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A command, an output format, a check, …: anything that is one object, ``target`` = ``"module:attribute"``.

    ``needs`` are modules that the target imports and that the pack does not depend on (an extra of its distribution); ``facts`` are plain
    data that the hook's documentation asks for.
    """

    name: str
    summary: str
    target: str
    needs: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)


Place = Literal["problem", "field", "output"]
"""Where keys stand: at the top of a problem file, in every field, in the section ``output``."""
OWN_KEYS: Mapping[str, tuple[str, ...]] = {
    "problem": ("title", "domain", "basis", "constants", "formulas", "regions", "fields", "time", "accuracy", "patience", "unresolved",
                "space", "output"),
    "field": ("equation", "boundary", "initial", "exact", "forcing", "steady"),
    "output": ("frames",),
}  # fmt: skip
"""Core's own keys there, which no pack can take."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys that a pack adds to problem files.

    ``model`` is ``"module:PydanticModel"`` (derived from ``PackParams``) with the keys ``names`` as its fields, none of them required.
    The others are functions, ``"module:function"``, where they are needed:

    * ``read(model, place, reader)`` → :class:`gleg_core.spec.keys.Reading`: resolves names of components in the keys;
    * ``check(problem, domain)`` raises an error if the keys do not fit the domain;
    * ``initial(problem, field)`` → a function of a Location: the state a field without ``initial`` starts from (where ``replaces`` has it);
    * ``fills(stated, folder)`` → keys of core that follow from these where the file leaves them out, ``{("time", "start"): 0.5}``;
      ``stated`` are the keys as they are written, ``folder`` is that of the file;
    * ``schema(choices)`` refines the JSON Schema of the keys for editors: ``choices.definitions`` holds that of each model by its name,
      ``choices.components(contract, model)`` and ``choices.terms(model)`` what is installed.

    ``replaces`` are those of ``equation`` and ``initial`` that a file may leave out where these stand; ``unsolved`` says why a problem with
    them cannot be solved yet, ``{field}`` and ``{file}`` filled in.
    """

    at: Place
    names: tuple[str, ...]
    model: str
    read: str = ""
    check: str = ""
    initial: str = ""
    fills: str = ""
    schema: str = ""
    replaces: tuple[str, ...] = ()
    unsolved: str = ""


@dataclass(frozen=True, slots=True)
class Contract:
    """A row of the table: what packs may offer, the ``hook`` that lists it, the type of its records.

    Components also have the ``base`` class that their factories return and their kind of ``capabilities``; ``facts`` of a tool have these
    values only.
    """

    name: str
    hook: str
    about: str
    record: type = Tool
    base: str = ""
    capabilities: type[Capabilities] = Capabilities
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_IN = "gleg_core.contracts."
_COMPONENTS = ("basis", "block", "boundary", "integrator", "dictionary", "domain")
TABLE: tuple[Contract, ...] = (
    Contract("basis", "gleg_bases", "Trial spaces", Entry, _IN + "basis:Basis", BasisCapabilities),
    Contract("block", "gleg_blocks", "Mechanisms of an equation", Entry, _IN + "block:Block", BlockCapabilities),
    Contract("boundary", "gleg_boundary_operators", "Boundary conditions", Entry,
             _IN + "boundary:BoundaryOperator", BoundaryCapabilities),
    Contract("integrator", "gleg_integrators", "Time integrators", Entry,
             _IN + "integrator:Integrator", IntegratorCapabilities),
    Contract("dictionary", "gleg_dictionaries", "Sets of candidate mechanisms for law discovery", Entry,
             _IN + "dictionary:Dictionary", DictionaryCapabilities),
    Contract("domain", "gleg_domains", "Shapes with boundary and quadrature", Entry,
             _IN + "domain:Domain", DomainCapabilities),
    Contract("command", "gleg_commands", "Commands of gleg: the target is a click command; its object is a Terminal"),
    Contract("keys", "gleg_keys", "Keys of problem files", Keys),
    Contract("output", "gleg_outputs", "What output.formats may name: the target is called with (run, folder) after a run"),
    Contract("name", "gleg_names", "Names of the module gleg"),
    Contract("run attribute", "gleg_run_attributes",
             "Attributes of runs: the target is called with the run, once for `kind: value`, at every call for `kind: method`",
             facts={"kind": ("value", "method")}),
    Contract("default", "gleg_defaults",
             "What stands in for a component that a file does not name (basis, integrator): called with a Question"),
    Contract("strategy", "gleg_strategies",
             "How problems are solved, the one called accuracy: called with a Problem, solver.attempt and a Listener, returns a Run"),
    Contract("judge", "gleg_judges",
             "What is wrong with a finished run: the target is called with it and returns estimate.Part records"),
    Contract("guard", "gleg_guards", "First-party packs only: looks at a problem file before it is read, see spec.guard.Guard"),
    Contract("catalogue", "gleg_catalogues", "First-party packs only: tells what could be installed, called without arguments"),
    Contract("check", "gleg_checks", "Checks of the conformance kit; facts: contracts, group", facts={"contracts": _COMPONENTS}),
    Contract("engine", "gleg_engines", "Who solves the cases of a sweep"),
)  # fmt: skip
"""All that packs may offer. The list is open: a pack may implement hooks ``gleg_…`` of another tool, as lists of :class:`Tool`."""

HOOKS: Mapping[str, Contract] = MappingProxyType({row.hook: row for row in TABLE})
CONTRACTS: Mapping[str, Contract] = MappingProxyType({row.name: row for row in TABLE if row.record is Entry})
"""The rows of components, by name."""
