"""Peer: NGSolve in its own language. Formulas are CoefficientFunctions, sources come from Diff, loads are assembled at every step.

    python benchmarks/peers/ngsolve_idiom_peer.py PROBLEM --order P --maxh H --steps N --points p.npy --out out.json [--bdf K] [--bend B]

    MMS-I       u_t = ε²Δu + μu − βu³ + f               on the rosette,  u = 0 on the rim
    MMS-V       u_t = νΔu − u u_x − u u_y + f           on the pinwheel, u = 0 on the rim
    Allen–Cahn  u_t = ε²Δu + r − mean of r, r = u − u³  on the disk,     u_n = 0 on the rim

Geometry, space and implicit matrix are those of ngsolve_peer.py. What differs is the right-hand side: there it is made of numpy tables,
here it is one compiled LinearForm, written as the equation is. With the exact solution u* typed as a function of x, y and t,

    f = u*_t − DΔu* − μu* − N(u*),    load = ∫ (f(t_{n+1}) + N(û)) v,    û = Σ_{j=1}^{k} b_j u_{n+1−j},

    (a_0/h M + D K − μ M) u_{n+1} = load − Σ_{j=1}^{k} a_j/h M u_{n+1−j}

with the a, b of multistep.formula. N is taken of the extrapolated u, so that one GridFunction and one assembly serve a step. Start-up:
the exact solution by GridFunction.Set; for Allen–Cahn the extrapolated IMEX Euler method as in multistep.py.

Stages: source and nonlinear term are one form, so for MMS its assembly counts as forcing as a whole, for Allen–Cahn as stepping.
"""

from __future__ import annotations

from outcome import Clock, Settings, read_task, write_outcome

CLOCK = Clock()
with CLOCK.stage("import"):
    from collections.abc import Callable
    from dataclasses import dataclass
    from functools import partial
    from typing import Any, TypeAlias

    import ngsolve as ng
    import numpy as np
    from exact import END
    from multistep import ALLEN_CAHN_EPS2, allen_cahn_start, extrapolated, formula
    from ngsolve import cos, exp, grad, pi, sin, x, y
    from ngsolve.comp import IntegrationRuleSpace
    from ngsolve_peer import Space, mesh_of
    from sources import BETA, EPS2, MU, NU

Array = np.ndarray
CF: TypeAlias = ng.CoefficientFunction


def tanh(z: CF) -> CF:
    """NGSolve has none."""
    return 1 - 2 / (exp(2 * z) + 1)


def rosette(t: ng.Parameter) -> CF:
    """u* of MMS-I, as in examples/mms-1-rosette.yaml."""
    q = 0.53**6 - (x**2 + y**2) ** 3 + 0.72 * (x**6 - 15 * x**4 * y**2 + 15 * x**2 * y**4 - y**6)
    phi = 12 * t
    envelope = 1.05 + 0.35 * sin(0.40 * phi) + 0.25 * cos(1.25 * phi)
    m1 = sin(2 * pi * x + phi) * cos(pi * y - 0.45 * phi)
    m2 = cos(pi * x - 0.75 * phi) * sin(3 * pi * y + 0.90 * phi)
    m3 = sin(2 * pi * (x + 0.40 * y) - 0.55 * phi) * sin(pi * (x - 2.10 * y) + 0.70 * phi)
    m4 = cos(3 * pi * x + 0.35 * phi) * cos(2 * pi * y - 1.20 * phi)
    waves = (
        (0.45 + 0.40 * sin(0.65 * phi)) * m1
        + (0.30 + 0.45 * cos(1.10 * phi + 0.35)) * m2
        + 0.34 * sin(0.95 * phi) * m3
        + 0.22 * cos(1.55 * phi) * m4
    )
    return 0.42 * envelope * q * waves


def pinwheel(t: ng.Parameter) -> CF:
    """u* of MMS-V, as in examples/mms-5-pinwheel.yaml."""
    rho2, z3 = x**2 + y**2, x**3 - 3 * x * y**2
    z5, z6 = 5 * x**4 * y - 10 * x**2 * y**3 + y**5, x**6 - 15 * x**4 * y**2 + 15 * x**2 * y**4 - y**6
    level = (0.60**8 - rho2**4 + 0.30 * z6 - 0.10 * z5 + 0.12 * rho2 * z3) / 0.45
    phi = 4 * t
    a1, a2 = 0.35 + 0.30 * sin(0.55 * t), -0.95 + 0.22 * cos(0.70 * t)
    s1, s2 = x * cos(a1) + y * sin(a1), x * cos(a2) - y * sin(a2)
    k1, k2 = 4.0 + 0.9 * sin(0.60 * t) ** 2, 3.4 + 0.8 * cos(0.75 * t) ** 2
    h1, h2 = -0.28 + 0.52 * t + 0.06 * sin(0.40 * phi), 0.12 * cos(0.35 * phi) - 0.08
    turning = tanh(k1 * (s1 - h1)) - 0.85 * tanh((k1 - 0.45) * (s1 - h1 - 0.24))
    crossing = tanh(k2 * (s2 - h2))
    bump1 = hill(0.26 * cos(0.52 * phi + 0.3), 0.20 * sin(0.60 * phi - 0.4), 0.23, 0.17)
    bump2 = hill(-0.18 + 0.16 * sin(0.48 * phi + 0.9), 0.24 * cos(0.44 * phi + 0.1), 0.18, 0.22)
    wake = sin(2 * pi * (0.72 * x + 0.30 * y) - 0.75 * phi) * exp(-(((s1 + 0.04 * cos(t)) / 0.44) ** 2))
    envelope = 1 + 0.24 * sin(0.35 * phi) + 0.18 * cos(0.80 * t)
    large = envelope * (0.72 * turning + 0.35 * crossing + 0.52 * bump1 - 0.42 * bump2 + 0.18 * wake)
    xi1, xi2 = 0.74 * x - 0.36 * y - 0.14 * sin(0.43 * phi), 0.29 * x + 0.81 * y + 0.11 * cos(0.37 * phi)
    e1 = hill(-0.06 + 0.18 * cos(0.41 * phi + 0.5), 0.03 - 0.16 * sin(0.46 * phi - 0.2), 0.44, 0.34)
    e2 = hill(0.14 * sin(0.57 * phi + 0.8), -0.17 * cos(0.49 * phi - 0.4), 0.24, 0.24)
    strip = exp(-(((0.52 * x - 0.61 * y + 0.10 * cos(0.33 * phi)) / 0.28) ** 2))
    fine = (
        0.022 * e1 * sin(21 * pi * xi1) * sin(17 * pi * xi2)
        + 0.013 * sin(19 * pi * (0.63 * x + 0.28 * y) - 0.95 * phi) * strip
        + 0.010 * cos(17 * pi * (x + 0.22 * y) + 0.61 * phi) * e2
    )
    return 2.6 * level * (0.82 * large + (1 + 0.08 * sin(0.31 * phi)) * fine)


def hill(cx: CF, cy: CF, wx: float, wy: float) -> CF:
    return exp(-(((x - cx) / wx) ** 2) - ((y - cy) / wy) ** 2)


@dataclass(frozen=True)
class Law:
    """u_t = diffusion Δu + linear u + nonlinear(u, ∇u) + f with the exact solution u*(t)."""

    exact: Callable[[ng.Parameter], CF]
    diffusion: float
    linear: float
    nonlinear: Callable[[CF, CF], CF]


LAWS = {
    "mms-1-rosette": Law(rosette, EPS2, MU, lambda u, slope: -BETA * u**3),
    "mms-5-pinwheel": Law(pinwheel, NU, 0.0, lambda u, slope: -u * (slope[0] + slope[1])),
}


def source(law: Law, exact: CF, t: ng.Parameter) -> CF:
    """f = u*_t − DΔu* − μu* − N(u*), the strong form: it is assembled in 0.85 of the time of the fastest weak one.

    In a LinearForm a flux is evaluated anew for each component of ∇v, which costs more than the second derivatives.
    """
    slope = ng.CF((exact.Diff(x), exact.Diff(y)))
    laplacian = slope[0].Diff(x) + slope[1].Diff(y)
    return exact.Diff(t) - law.diffusion * laplacian - law.linear * exact - law.nonlinear(exact, slope)


def load_form(space: Space, density: CF) -> ng.LinearForm:
    """∫ density v, compiled together with the test function, by the quadrature of the mass matrix."""
    return ng.LinearForm((density * space.space.TestFunction()).Compile() * ng.dx(bonus_intorder=-2))


@dataclass(frozen=True)
class Explicit:
    """``load(n)``: the vector of all that is explicit in step n, with the values that ``guess`` has then."""

    guess: ng.GridFunction
    load: Callable[[int], ng.BaseVector]


Solve = Callable[[ng.BaseVector], ng.BaseVector]


def march(
    space: Space, settings: Settings, h: float, solve: Solve, past: ng.MultiVector, explicit: Explicit
) -> ng.BaseVector:
    """Steps k … N from the values 0 … k − 1 in ``past``."""
    k = settings.bdf
    a, b = formula(k)
    state, old = explicit.guess.vec.CreateVector(), explicit.guess.vec.CreateVector()
    for n in range(k, settings.steps + 1):
        # u_i lies at place i mod k, so that the newest takes the place of the oldest
        turn = (n - 1 - np.arange(k)) % k
        explicit.guess.vec.data = past * ng.Vector(b[turn])
        old.data = past * ng.Vector(-a[1:][turn] / h)
        state.data = solve((explicit.load(n) + space.mass * old).Evaluate())
        past[n % k].data = state
    return state


def manufactured(problem: str, space: Space, settings: Settings, clock: Clock) -> ng.BaseVector:
    law, k, h = LAWS[problem], settings.bdf, END[problem] / settings.steps
    with clock.stage("factorisation"):
        solve = space.factorised(formula(k)[0][0] / h - law.linear, law.diffusion)
    with clock.stage("forcing"):
        t, guess = ng.Parameter(0.0), ng.GridFunction(space.space)
        exact = law.exact(t)
        form = load_form(space, source(law, exact, t) + law.nonlinear(guess, grad(guess)))

    def load(n: int) -> ng.BaseVector:
        with clock.stage("forcing"):
            t.Set(n * h)
            return form.Assemble().vec

    with clock.stage("stepping"):
        start, past = exact.Compile(), ng.MultiVector(guess.vec, k)
        for j in range(k):
            t.Set(j * h)
            guess.Set(start)
            past[j].data = guess.vec
        return march(space, settings, h, solve, past, Explicit(guess, load))


def allen_cahn(problem: str, space: Space, settings: Settings, clock: Clock) -> ng.BaseVector:
    """The mean of r is a Parameter, integrated before each assembly by the quadrature of the form, so that ∫u stays what it was."""
    k, h, degree = settings.bdf, END[problem] / settings.steps, 2 * settings.order - 2
    with clock.stage("factorisation"):
        solve = space.factorised(formula(k)[0][0] / h, ALLEN_CAHN_EPS2)
        substeppers = [space.factorised(m / h, ALLEN_CAHN_EPS2) for m in range(1, k + 1)] if k > 1 else []
        project = space.factorised(1.0, 0.0)
    with clock.stage("stepping"):
        mean, guess = ng.Parameter(0.0), ng.GridFunction(space.space)
        reaction = (guess - guess**3).Compile()
        form = load_form(space, reaction - mean)
        area = ng.Integrate(ng.CF(1.0), space.mesh, order=degree)

        def load(n: int) -> ng.BaseVector:
            mean.Set(ng.Integrate(reaction, space.mesh, order=degree) / area)
            return form.Assemble().vec

        explicit, past = Explicit(guess, load), ng.MultiVector(guess.vec, k)
        past[0].data = project(start_load(space, settings.order))
        for j in range(1, k):
            substepped = partial(euler, space, substeppers, h, past[j - 1], explicit)
            past[j].FV().NumPy()[:] = extrapolated(substepped, k)
        return march(space, settings, h, solve, past, explicit)


def start_load(space: Space, order: int) -> ng.BaseVector:
    """∫ u(0) v. NGSolve has no Bessel functions: values at the quadrature points go through a GridFunction there."""
    quadrature = IntegrationRuleSpace(space.mesh, order=order - 1)
    place, start = ng.GridFunction(quadrature**2), ng.GridFunction(quadrature)
    place.Interpolate(ng.CF((x, y)))
    px, py = (part.vec.FV().NumPy() for part in place.components)
    start.vec.FV().NumPy()[:] = allen_cahn_start(px, py)
    rules = ng.dx(intrules=quadrature.GetIntegrationRules())
    return ng.LinearForm(start * space.space.TestFunction() * rules).Assemble().vec


def euler(
    space: Space, substeppers: list[Solve], h: float, u: ng.BaseVector, explicit: Explicit, substeps: int
) -> Array:
    """One step from u by the IMEX Euler method in several substeps."""
    state = explicit.guess.vec
    state.data = u
    for _ in range(substeps):
        right = explicit.load(0) + substeps / h * (space.mass * state).Evaluate()
        state.data = substeppers[substeps - 1](right.Evaluate())
    return state.FV().NumPy().copy()


def solve(problem: str, settings: Settings, points: Array, clock: Clock) -> tuple[Array, int, dict[str, Any]]:
    """u(T) at the points (n, 2), the number of unknowns, and what else to record."""
    ng.SetNumThreads(1)
    with clock.stage("geometry"):
        mesh = mesh_of(problem, settings)
    space = Space(mesh, settings.order, problem in LAWS, clock)
    state = (manufactured if problem in LAWS else allen_cahn)(problem, space, settings, clock)
    with clock.stage("output"):
        values = space.at(state, points)
    return values, space.free.NumSet(), {"elements": mesh.ne, "version": ng.__version__}


def main() -> None:
    task = read_task(__doc__)
    values, unknowns, details = solve(task.problem, task.settings, np.load(task.points), CLOCK)
    write_outcome("ngsolve-idiom", task, CLOCK, unknowns, values, details)


if __name__ == "__main__":
    main()
