"""Are the truths of the battery true? Each is put into its equation by finite differences, without any solver.

    python benchmarks/battery/verify.py [names or globs]

Formulas are read by a small evaluator of its own, derivatives of ``exact`` are central differences of order six, and only the shape of the
domain is asked of gleg. Printed for every problem, relative to the largest terms: what the equation leaves at points inside (99 of 100
points, and the worst), what the conditions leave on the boundary, and how far ``exact`` at the start is from the initial state. Ends with
status 1 if one of them is above LIMIT and the file does not say LOOSE = "why".
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from run import cases, fields_of, load, unseen_points
from scipy.special import erf, expit, jv

LIMIT = 1e-3
STEPS = (2e-2, 6e-3, 2e-3, 6e-4, 2e-4, 2e-5)
"""Steps of differences as parts of the domain's extents and of the duration; at each point the best one counts."""
FIRST = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
SECOND = {0: -49 / 18, 1: 3 / 2, 2: -3 / 20, 3: 1 / 90}
ONE_SIDED = (-49 / 20, 6, -15 / 2, 20 / 3, -15 / 4, 6 / 5, -1 / 6)

Array = np.ndarray
Function = Callable[[Array, float], Array]
"""(points (n, dim), t) → values (n,)"""
NAMES: dict[str, Any] = {
    "pi": np.pi, "e": np.e, "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan, "atan2": np.arctan2, "exp": np.exp,
    "log": np.log, "sqrt": np.sqrt, "abs": np.abs, "sign": np.sign, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "erf": erf,
    "step": lambda v: np.heaviside(v, 0.5), "min": np.minimum, "max": np.maximum, "sigmoid": expit, "gauss": lambda v: np.exp(-(v**2)),
    "besselj": jv, "besselj0": lambda v: jv(0, v), "besselj1": lambda v: jv(1, v), "where": np.where,
    "both": np.logical_and, "either": np.logical_or, "opposite": np.logical_not,
}  # fmt: skip


class Logic(ast.NodeTransformer):
    """a < b < c, and, or, not as calls that take arrays."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        parts: list[ast.expr] = [
            ast.Compare(a, [op], [b]) for a, op, b in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return _joined("both", parts)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        return _joined("both" if isinstance(node.op, ast.And) else "either", node.values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _joined_call("opposite", [node.operand]) if isinstance(node.op, ast.Not) else node


def _joined(name: str, parts: list[ast.expr]) -> ast.expr:
    whole = parts[0]
    for part in parts[1:]:
        whole = _joined_call(name, [whole, part])
    return whole


def _joined_call(name: str, arguments: list[ast.expr]) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), arguments, [])


class Formulas:
    """The formulas of a problem file as functions."""

    def __init__(self, problem: Mapping[str, Any]):
        self.given = [*problem.get("constants", {}).items(), *problem.get("formulas", {}).items()]

    def __call__(self, text: Any, extra: str | None = None) -> Callable[..., Array]:
        """f(points, t), or f(points, t, u) of a formula of a field's value."""
        compiled = [(name, _compiled(v)) for name, v in self.given]
        wanted = _compiled(text)

        def value(points: Array, t: float, u: Array | None = None) -> Array:
            names = NAMES | dict(zip("xyz", points.T, strict=False)) | {"t": t}
            names |= {} if extra is None else {extra: u}
            for name, code in compiled:
                names[name] = eval(code, {"__builtins__": {}}, names)
            return np.broadcast_to(np.asarray(eval(wanted, {"__builtins__": {}}, names), dtype=float), len(points))

        return value


def _compiled(text: Any) -> Any:
    tree = ast.parse(re.sub(r"\^", "**", str(text)), mode="eval")
    return compile(ast.fix_missing_locations(Logic().visit(tree)), "formula", "eval")


class Equation:
    """Right-hand sides of a problem by differences of step h (dim,) of given fields."""

    def __init__(
        self,
        problem: Mapping[str, Any],
        fields: Mapping[str, Function],
        h: Array,
        mean: Callable[[Function, float], float],
    ):
        self.formula, self.fields, self.h, self.mean = Formulas(problem), fields, h, mean

    def d(self, f: Function, axis: int) -> Function:
        e = np.eye(len(self.h))[axis] * self.h
        return lambda p, t: sum(c * (f(p + k * e, t) - f(p - k * e, t)) for k, c in FIRST.items()) / self.h[axis]

    def dd(self, f: Function, axis: int) -> Function:
        e = np.eye(len(self.h))[axis] * self.h

        def second(p: Array, t: float) -> Array:
            return (
                sum(c * (f(p + k * e, t) + (f(p - k * e, t) if k else 0)) for k, c in SECOND.items())
                / self.h[axis] ** 2
            )

        return second

    def laplacian(self, f: Function) -> Function:
        parts = [self.dd(f, i) for i in range(len(self.h))]
        return lambda p, t: sum(part(p, t) for part in parts)

    def flux(self, D: Function, f: Function) -> Function:
        """∇·(D ∇f) = D Δf + ∇D·∇f."""
        whole, slopes = self.laplacian(f), [(self.d(D, i), self.d(f, i)) for i in range(len(self.h))]
        return lambda p, t: D(p, t) * whole(p, t) + sum(a(p, t) * b(p, t) for a, b in slopes)

    def term(self, term: Mapping[str, Any], name: str, f: Function | None = None) -> Function:
        """One term of the equation of a field; ``f`` in place of the field, inside a square."""
        factor = self.formula(term.get("coefficient", 1))
        inner = self.mechanism(term, name, f)
        return lambda p, t: factor(p, t) * inner(p, t)

    def mechanism(self, term: Mapping[str, Any], name: str, f: Function | None) -> Function:
        u = f or self.fields[term.get("of", name)]
        if "square" in term:
            once = self.sum(term["square"], name, u)
            return self.sum(term["square"], name, once)
        match term["block"]:
            case "diffusion":
                return self.laplacian(u)
            case "variable-diffusion":
                return self.flux(self.formula(term["diffusivity"]), u)
            case "nonlinear-diffusion":
                law = self.formula(term["diffusivity"], "u")
                return self.flux(lambda p, t: law(p, t, u(p, t)), u)
            case "power":
                return lambda p, t: u(p, t) ** term.get("p", 1)
            case "product":
                powers = [(self.fields[n], k) for n, k in term["powers"].items()]
                return lambda p, t: np.prod([g(p, t) ** k for g, k in powers], axis=0)
            case "constant":
                return lambda p, t: np.ones(len(p))
            case "source":
                return self.formula(term["value"])
            case "reaction":
                rate = self.formula(term["rate"], "u")
                return lambda p, t: rate(p, t, u(p, t))
            case "conserved-reaction":
                rate = self.formula(term["rate"], "u")
                reaction = lambda p, t: rate(p, t, u(p, t))  # noqa: E731
                return lambda p, t: reaction(p, t) - self.mean(reaction, t)
            case "advection":
                parts = [(self.formula(b), self.d(u, i)) for i, b in enumerate(term["velocity"])]
                return lambda p, t: sum(b(p, t) * slope(p, t) for b, slope in parts)
            case "transport":
                slope = self.d(u, "xyz".index(term["direction"]))
                return lambda p, t: u(p, t) * slope(p, t)
            case "cross-advection":
                slope, by = self.d(u, "xyz".index(term["direction"])), self.fields[term["by"]]
                return lambda p, t: by(p, t) * slope(p, t)
            case "stream-advection":
                stream = self.fields[term["stream"]]
                return lambda p, t: (
                    self.d(stream, 1)(p, t) * self.d(u, 0)(p, t) - self.d(stream, 0)(p, t) * self.d(u, 1)(p, t)
                )
            case other:
                raise ValueError(f"this script does not know the mechanism '{other}'")

    def sum(self, terms: list[Mapping[str, Any]], name: str, f: Function) -> Function:
        parts = [self.term(t, name, f) for t in terms]
        return lambda p, t: sum(part(p, t) for part in parts)


def truths(case: ModuleType) -> dict[str, Function]:
    """The fields of ``exact``, one function each."""
    names = tuple(case.PROBLEM["fields"])

    def field(name: str) -> Function:
        return lambda p, t: fields_of(case.exact(*p.T, t), names, p.shape[:1])[name]

    return {name: field(name) for name in names}


def domain_of(case: ModuleType) -> Any:
    from gleg_core.spec.problem import load_problem

    problem = load_problem(case.PROBLEM)
    return problem.build(problem.domain)


def verify(case: ModuleType) -> dict[str, float]:
    """What is left of the equation (99 of 100 points; the worst), the conditions, the initial state."""
    domain, fields, problem = domain_of(case), truths(case), case.PROBLEM
    start, end = float(problem["time"].get("start", 0)), float(problem["time"]["end"])
    points, weights = unseen_points(domain, getattr(case, "NEAR", None))
    exclude = getattr(case, "EXCLUDE", lambda *x: np.zeros(np.shape(x[0]), dtype=bool))
    points, weights = points[~exclude(*points.T)], weights[~exclude(*points.T)]
    extent = np.ptp(np.asarray(domain.bounds, dtype=float), axis=1)

    def mean(f: Function, t: float) -> float:
        return float(f(points, t) @ weights / weights.sum())

    some = points[:: max(len(points) // 400, 1)]
    steady = {name for name, f in problem["fields"].items() if f.get("steady")}
    left = []
    times = getattr(case, "TIMES", start + (end - start) * np.array([0.1234, 0.4321, 0.8765]))
    sizes = {name: max(np.abs(f(some, t)).max() for t in times) for name, f in fields.items()}
    for t in times:
        best = {name: np.full(len(some), np.inf) for name in fields}
        for part in STEPS:
            h, k = part * extent, part * (end - start) * 0.5
            reach = np.concatenate([some + s * 3.2 * h * e for e in np.eye(len(h)) for s in (-1, 1)])
            free = domain.contains(reach).reshape(-1, len(some)).all(axis=0)
            equation = Equation(problem, fields, h, mean)
            for name, f in fields.items():
                section = problem["fields"][name]
                values = [equation.term(term, name)(some, t) for term in section["equation"]]
                rate = 0.0
                if name not in steady:
                    rate = sum(c * (f(some, t + i * k) - f(some, t - i * k)) for i, c in FIRST.items()) / k
                total = sum(np.abs(v) for v in values) + np.abs(rate)
                scale = max(np.nanmax(np.where(free, total, 0.0)), sizes[name] / (end - start) * 1e-3, 1e-300)
                if section.get("forcing"):
                    values = [rate]  # the source is whatever makes it exact
                rest = np.where(free, np.abs(rate - sum(values)) / scale, np.inf)
                best[name] = np.fmin(best[name], rest)
        left += [b[np.isfinite(b)] for b in best.values()]
    rest = np.concatenate(left)
    result = {"equation": float(np.quantile(rest, 0.99)), "worst": float(rest.max()), "points": len(rest)}
    return result | {
        "boundary": boundary_left(case, domain, fields, exclude),
        "initial": initial_left(case, points, fields, start),
    }


def boundary_left(case: ModuleType, domain: Any, fields: Mapping[str, Function], exclude: Any) -> float:
    problem, formula, worst = case.PROBLEM, Formulas(case.PROBLEM), 0.0
    start, end = float(problem["time"].get("start", 0)), float(problem["time"]["end"])
    extent = float(np.ptp(np.asarray(domain.bounds, dtype=float), axis=1).min())
    for name, f in fields.items():
        conditions = problem["fields"][name]["boundary"]
        taken = {w for c in conditions for w in np.atleast_1d(c.get("where", "all"))}
        for segment in domain.segments:
            sample = segment.sample(60)
            keep = ~exclude(*sample.points.T)
            p, n = sample.points[keep], sample.normals[keep]
            for c in conditions:
                named = np.atleast_1d(c.get("where", "all"))
                if not (segment.name in named or "all" in named or ("rest" in named and segment.name not in taken)):
                    continue
                times = (*getattr(case, "TIMES", ()), *(start + (end - start) * np.array([0.31, 0.77, 1.0])))
                size = max(max(np.abs(f(_inner(domain), t)).max(), np.abs(f(p, t)).max()) for t in times) or 1.0
                for t in times:
                    u = f(p, t)
                    g = u if c.get("data") == "exact" else formula(c.get("value", 0))(p, t)
                    slopes = [
                        -sum(w * f(p - i * s * extent * n, t) for i, w in enumerate(ONE_SIDED)) / (s * extent)
                        for s in (2e-2, 5e-3, 1e-3, 1e-4, 1e-5)
                    ]
                    left: list[Array] = []
                    if c.get("data") == "exact" or c["kind"] == "free":
                        left = [np.zeros(len(p))]
                    elif c["kind"] in ("dirichlet", "clamped"):
                        left = [np.abs(u - g) / size]
                        if c["kind"] == "clamped":
                            slope = formula(c.get("slope", 0))(p, t)
                            left[0] = left[0] + np.min([np.abs(s - slope) for s in slopes], axis=0) * extent / size
                    else:
                        kappa = formula(c.get("kappa", 0))(p, t)
                        unit = size / extent + np.abs(kappa).max() * size
                        left = [np.min([np.abs(s + kappa * u - g) for s in slopes], axis=0) / unit]
                    worst = max(worst, float(np.max(left[0], initial=0.0)))
    return worst


def _inner(domain: Any) -> Array:
    return unseen_points(domain)[0][:200]


def initial_left(case: ModuleType, points: Array, fields: Mapping[str, Function], start: float) -> float:
    worst, formula = 0.0, Formulas(case.PROBLEM)
    for name, f in fields.items():
        section = case.PROBLEM["fields"][name]
        if section.get("steady"):
            continue
        given = formula(section.get("initial", section.get("exact")))(points, start)
        gap = np.abs(given - f(points, start))
        worst = max(
            worst, float(np.sqrt((gap**2).mean()) / max(np.sqrt((given**2).mean()), 1e-300 if given.any() else 1.0))
        )
    return worst


def main() -> int:
    bad = []
    print(f"{'problem':42} {'equation':>9} {'worst':>9} {'boundary':>9} {'initial':>9} {'points':>6}")
    for path in cases(sys.argv[1:]):
        case = load(path)
        name = f"{path.parent.name}/{path.stem}"
        with np.errstate(all="ignore"):
            try:
                left = verify(case)
            except Exception as error:
                print(f"{name:42} {type(error).__name__}: {str(error)[:150]}")
                bad.append(name)
                continue
        print(
            f"{name:42} " + " ".join(f"{left[k]:9.1e}" for k in ("equation", "worst", "boundary", "initial")),
            left["points"],
            flush=True,
        )
        if not max(left["equation"], left["boundary"], left["initial"]) <= LIMIT and not hasattr(case, "LOOSE"):
            bad.append(name)
    print(f"{len(bad)} to look at" + "".join(f"\n    {n}" for n in bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
