"""The hooks of gleg: one per contract. Each returns a list of :class:`gleg_core.pack.Entry`."""

from gleg_core.pack import Entry, hookspec


@hookspec
def gleg_bases() -> list[Entry]:  # type: ignore[empty-body]
    """Ambient trial spaces on the box Q (contract ``gleg_core.contracts.basis``)."""


@hookspec
def gleg_blocks() -> list[Entry]:  # type: ignore[empty-body]
    """Mechanisms of an equation (contract ``gleg_core.contracts.block``)."""


@hookspec
def gleg_boundary_operators() -> list[Entry]:  # type: ignore[empty-body]
    """Boundary conditions (contract ``gleg_core.contracts.boundary``)."""


@hookspec
def gleg_integrators() -> list[Entry]:  # type: ignore[empty-body]
    """Time integrators (contract ``gleg_core.contracts.integrator``)."""


@hookspec
def gleg_dictionaries() -> list[Entry]:  # type: ignore[empty-body]
    """Sets of candidate mechanisms for law discovery (contract ``gleg_core.contracts.dictionary``)."""


@hookspec
def gleg_domains() -> list[Entry]:  # type: ignore[empty-body]
    """Shapes with boundary and quadrature (contract ``gleg_core.contracts.domain``)."""
