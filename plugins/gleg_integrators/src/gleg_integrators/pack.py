"""Entry point of the pack ``integrators``."""

from gleg_core.pack import Entry, Tool, hookimpl

CONTRACT = (3, 0)


def _entry(
    name: str, summary: str, where: str, order: int, *examples: dict[str, object], embedded: bool = False
) -> Entry:
    """``where`` is ``module Factory`` inside this pack, followed by its parameter model if it has parameters. All but
    the explicit rk4 suit stiff problems."""
    module, factory, *params = where.split()
    return Entry(
        name,
        summary,
        params=f"gleg_integrators.params:{params[0] if params else 'NoParams'}",
        factory=f"gleg_integrators.{module}:{factory}",
        capabilities={"order": order, "stiff": name != "rk4", "embedded": embedded},
        examples=({}, *examples),
    )


@hookimpl
def gleg_integrators() -> list[Entry]:
    return [
        _entry("rk4", "Classical explicit Runge-Kutta, order 4", "runge_kutta RungeKutta4", 4),
        _entry(
            "midpoint",
            "Implicit midpoint rule, order 2: conserves quadratic invariants",
            "midpoint ImplicitMidpoint ImplicitMidpointParams",
            2,
            {"tolerance": 1e-12, "iterations": 200},
        ),
        _entry(
            "crank-nicolson",
            "Crank-Nicolson for the linear part, Heun for the rest, order 2",
            "crank_nicolson CrankNicolson",
            2,
        ),
        _entry(
            "strang",
            "Strang splitting: half nonlinear, full linear, half nonlinear, order 2",
            "strang Strang StrangParams",
            2,
            {"linear": "crank-nicolson", "nonlinear": "heun", "substeps": 2},
        ),
        _entry(
            "imex-ars443",
            "Implicit-explicit Runge-Kutta of Ascher, Ruuth and Spiteri (4,4,3), order 3, L-stable",
            "ascher_ruuth_spiteri ImexArs443",
            3,
        ),
        _entry(
            "imex-ark4",
            "Implicit-explicit Runge-Kutta ARK4(3)6L[2]SA (Kennedy, Carpenter), order 4, L-stable, error estimate",
            "kennedy_carpenter ImexArk4",
            4,
            embedded=True,
        ),
        _entry(
            "rosenbrock",
            "Linearly implicit Rodas4P2 (Steinebach), order 4: L-stable in all terms, error estimate",
            "rosenbrock Rosenbrock",
            4,
            embedded=True,
        ),
        _entry(
            "imex-bdf",
            "Implicit-explicit backward differentiation, order 2 to 5: one solution in a step, for equal steps",
            "bdf ImexBdf ImexBdfParams",
            4,
            {"order": 4},
        ),
        _entry("etdrk2", "Exponential Runge-Kutta of Cox and Matthews, order 2", "etdrk Etdrk2", 2),
        _entry(
            "etdrk4",
            "Exponential Runge-Kutta, order 4: Hochbruck-Ostermann, Krogstad or Cox-Matthews",
            "etdrk Etdrk4 Etdrk4Params",
            4,
            {"scheme": "krogstad"},
        ),
        _entry(
            "exponential-adams4",
            "Exponential Adams-Bashforth, order 4: one evaluation in a step, for equal steps",
            "adams ExponentialAdams4",
            4,
        ),
        _entry(
            "exponential-adams6",
            "Exponential Adams-Bashforth, order 6: one evaluation in a step, for equal steps",
            "adams ExponentialAdams6",
            6,
        ),
        _entry(
            "exponential-collocation",
            "Exponential collocation, order 6: all stages of a long step at once, for smooth solutions",
            "collocation ExponentialCollocation CollocationParams",
            6,
            embedded=True,
        ),
        _entry(
            "exponential-adaptive",
            "Exponential Runge-Kutta of Hochbruck and Ostermann, order 4, with an embedded error estimate",
            "etdrk ExponentialAdaptive",
            4,
            embedded=True,
        ),
    ]


@hookimpl
def gleg_defaults() -> list[Tool]:
    return [Tool("integrator", "For problem files that name none", "gleg_integrators.suggest:integrator")]
