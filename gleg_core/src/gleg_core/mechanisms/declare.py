"""Decorators that turn a function into a mechanism: what it says, read from its signature, without evaluating anything."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gleg_core.coordinates import COORDINATES
from gleg_core.pack import Entry, hookimpl

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gleg_core.contracts.block import Binding, Block, Mode
    from gleg_core.contracts.learned import LearnedBlock

Form = Literal["pointwise", "flux", "energy", "hamiltonian"]
GRADIENT, LAPLACIAN = "grad_", "laplacian_"


@dataclass(frozen=True)
class Kind:
    """Name of a type in ``gleg_core.spec.params``, which parameters with it become; torch and pydantic are not needed to say so."""

    name: str


Number = Annotated[float, Kind("Number")]
"""A number, or a formula of named constants."""
Positive = Annotated[float, Kind("Positive")]
NonNegative = Annotated[float, Kind("NonNegative")]
Whole = Annotated[int, Kind("Whole")]
Formula = Annotated[Any, Kind("Formula")]
"""A formula of x, y, z, t; the function receives its values at the points."""


@dataclass(frozen=True)
class Mechanism:
    """A declared mechanism. It can still be called as the plain function it was made from."""

    function: Callable[..., Any]
    form: Form
    summary: str
    degree: int | None
    structure: str
    invariants: tuple[str, ...] = ()
    examples: tuple[Mapping[str, object], ...] = ()
    net: str | None = None
    """``"module:Class"`` of a torch module without constructor arguments, passed to the function as ``net``."""
    weights: str | None = None
    """``"package:stem"`` of the net's trained weights and card."""
    recipe: str = ""
    """``"package:file.yaml"``: how it is trained."""
    twin: "Mechanism | None" = field(default=None, repr=False)
    """The exact mechanism a net was trained to follow."""
    traces: tuple[int, ...] | None = None
    """For an energy that reads a Laplacian with a condition left natural: orders of the normal derivatives of test functions that
    vanish on ∂Ω, (1,) if ∂u/∂n is prescribed; otherwise (0, 1), value and normal derivative."""
    conditions: int | None = None
    """With ``traces``: the number of conditions that remain, 1."""
    expected_failures: Mapping[str, str] = field(default_factory=dict)
    """Conformance checks it cannot pass, with the reasons."""

    def __post_init__(self) -> None:
        kinds = {p.kind for p in self.signature.values()}
        if not kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}:
            raise TypeError(f"{self.name}: write plain arguments, then * and the parameters")
        if ("net" in self.reads) != (self.net is not None):
            raise TypeError(f"{self.name}: an argument called net and net='module:Class' belong together")
        if self.form != "pointwise" and not self.roles:
            raise TypeError(f"{self.name}: a {self.form} needs a field to act on")
        if (self.traces is None) != (self.conditions is None):
            raise TypeError(f"{self.name}: traces and conditions belong together")
        if self.traces is not None and (self.form, self.order) != ("energy", 4):
            raise TypeError(f"{self.name}: traces and conditions are for an energy that reads a Laplacian")
        for word in self.reads:
            role = word.partition("_")[2]
            if word.startswith((GRADIENT, LAPLACIAN)) and role not in self.roles:
                raise TypeError(f"{self.name}: {word} is there, but its field {role} is not an argument")
            if word.startswith(LAPLACIAN) and self.form in ("flux", "hamiltonian"):
                raise TypeError(f"{self.name}: a {self.form} reads fields and gradients, not {word}")

    def __call__(self, *arguments: Any, **parameters: Any) -> Any:
        return self.function(*arguments, **parameters)

    @property
    def name(self) -> str:
        """As written in a problem file."""
        return self.function.__name__.replace("_", "-")

    @cached_property
    def signature(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The positional arguments: fields, gradients, coordinates, time, net."""
        return tuple(n for n, p in self.signature.items() if p.kind is not inspect.Parameter.KEYWORD_ONLY)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The arguments that are fields; the first is the field of the equation, unless ``of`` names another."""
        reserved = (*COORDINATES, "t", "net")
        return tuple(n for n in self.reads if n not in reserved and not n.startswith((GRADIENT, LAPLACIAN)))

    @cached_property
    def order(self) -> int:
        """Highest derivative in L."""
        gradient, laplacian = (any(n.startswith(word) for n in self.reads) for word in (GRADIENT, LAPLACIAN))
        read = 2 if laplacian else int(gradient)
        return {"pointwise": read, "flux": read + 1, "energy": 2 * read, "hamiltonian": 2 * read + 1}[self.form]

    @property
    def modes(self) -> "tuple[Mode, ...]":
        """Admissible realisations: a weak form where integration by parts leaves derivatives that tests have; nothing else where it
        brings a natural condition."""
        if self.conditions is not None:
            return ("weak",)
        weak = self.form in ("flux", "energy") or (self.form == "hamiltonian" and self.order == 1)
        return ("weak", "pointwise") if weak else ("pointwise",)

    @cached_property
    def Params(self) -> "type[BaseModel]":
        """The keys of the mechanism in a problem file."""
        from gleg_core.mechanisms.keys import parameter_model

        return parameter_model(self)

    def block(self, params: "BaseModel", binding: "Binding") -> "Block":
        """The factory of the entry."""
        from gleg_core.mechanisms.declared import declared_block

        return declared_block(self, params, binding)

    @cached_property
    def Learned(self) -> "type[LearnedBlock]":
        """The class that training works with, for a mechanism with a net."""
        from gleg_core.mechanisms.declared import learned_class

        return learned_class(self)

    @property
    def entry(self) -> Entry:
        """What its pack lists."""
        here = f"{self.function.__module__}:{self.function.__qualname__}"
        capabilities: dict[str, object] = {
            "structure": self.structure,
            "order": self.order,
            "degree": self.degree,
            "modes": list(self.modes),
        }
        if self.expected_failures:
            capabilities["expected_failures"] = dict(self.expected_failures)
        if self.net is not None:
            capabilities |= {"learned": f"{here}.Learned", "weights": self.weights}
        return Entry(self.name, self.summary, f"{here}.Params", f"{here}.block", capabilities, self.examples)


def _decorator(form: Form, structure: str) -> Callable[..., Callable[[Callable[..., Any]], Mechanism]]:
    def declare(summary: str, *, degree: int | None = None, structure: str = structure, **more: Any) -> Any:
        """A decorator; ``more`` are fields of :class:`Mechanism`."""
        return lambda function: Mechanism(function, form, summary, degree, structure, **more)

    return declare


pointwise = _decorator("pointwise", "R")
"""L(u) = f(u, ∇u, x, t): the function returns L."""
flux = _decorator("flux", "R")
"""L(u) = ∇·F(u, ∇u, x, t): the function returns F as a tuple, one tensor per coordinate."""
energy = _decorator("energy", "E")
"""L(u) = −δE/δu with E = ∫ e(u, ∇u, Δu, x, t): the function returns the density e. Dissipative by construction.
With ``traces=(1,), conditions=1`` an energy of Δu needs one condition, on ∂u/∂n, and the other is natural."""
hamiltonian = _decorator("hamiltonian", "H")
"""L(u) = ∂_i δH/δu with H = ∫ h(u, ∇u, x, t), i the parameter ``direction``: the function returns h. Conserves H by construction."""


def blocks(*mechanisms: Mechanism) -> Callable[[], list[Entry]]:
    """The hook ``gleg_blocks`` of a pack that offers these mechanisms."""

    def gleg_blocks() -> list[Entry]:
        return [mechanism.entry for mechanism in mechanisms]

    return hookimpl(gleg_blocks)
