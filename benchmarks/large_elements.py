"""Large problems on finite elements, one thread, cold: time and memory, batches of states, gradients.

    OMP_NUM_THREADS=1 python benchmarks/large_elements.py             # 10⁴ and 10⁵ unknowns, batches, gradients: some minutes
    OMP_NUM_THREADS=1 python benchmarks/large_elements.py 1e6         # instead: about a million unknowns, 8 GB, two minutes

Allen–Cahn on the L-shape in 100 steps. Sizes are solved in processes of their own, from the problem to the last state, with the default
integrator of elements and with imex-bdf. A batch of 64 states is one rollout, compared with a rollout of one state in the same process. The
gradient of ‖u‖² at the end with respect to a coefficient is compared with a central difference.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

L_SHAPE = [[0, 0], [1, 0], [1, 1], [-1, 1], [-1, -1], [0, -1]]
SIZES = {1e4: 0.0755, 1e5: 0.0235, 1e6: 0.0074}
"""Unknowns → length of edges, with order 4."""
MEMBERS = 64


def problem(size: float, steps: int, integrator: str = "imex-ark4") -> dict[str, Any]:
    u = {
        "initial": "0.5 + 0.4*cos(6*x)*cos(5*y)",
        "boundary": [{"kind": "neumann"}],
        "equation": [{"block": "diffusion", "coefficient": 1e-3}, {"block": "reaction", "rate": "u - u^3"}],
    }
    return {
        "domain": {"kind": "polygon", "vertices": L_SHAPE},
        "basis": {"kind": "elements", "order": 4, "size": size, "grading": 0},
        "fields": {"u": u},
        "time": {"end": 1.0, "step": 1.0 / steps, "integrator": integrator},
        "output": {"frames": 1},
    }


def one_run(size: float, integrator: str) -> dict[str, float]:
    import torch

    import gleg

    torch.set_num_threads(1)
    began = time.perf_counter()
    run = gleg.solve(problem(size, 100, integrator))
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"unknowns": run.discretisation.system.size, "seconds": seconds, "GB": peak}


def sizes(wanted: list[float]) -> None:
    print(f"{'integrator':12}{'unknowns':>10}{'seconds':>9}{'GB':>6}{'  growth of the time':>10}")
    for integrator in ("imex-ark4", "imex-bdf"):
        before = None
        for unknowns in wanted:
            command = [sys.executable, __file__, "--one", str(SIZES[unknowns]), integrator]
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLEG_CACHE": "off"}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            growth = f"{found['seconds'] / before:.1f}" if before else ""
            before = found["seconds"]
            print(
                f"{integrator:12}{found['unknowns']:10,}{found['seconds']:9.1f}{found['GB']:6.1f}{growth:>10}",
                flush=True,
            )


def batches() -> None:
    import torch

    from gleg_core.spec.problem import load_problem
    from gleg_core.system.discretise import discretise
    from gleg_core.system.rollout import rollout

    torch.set_num_threads(1)
    print(f"\n{'unknowns':>10}  one state, each of {MEMBERS} (ms per step), ratio")
    for size in (0.107, 0.0335):
        ready = load_problem(problem(size, 20))
        system, start = (found := discretise(ready)).system, found.initial
        integrator = ready.build(ready.integrator)
        factors = torch.linspace(0.5, 1.0, MEMBERS, dtype=torch.float64)[:, None]

        def seconds(z: Any, system: Any = system, integrator: Any = integrator) -> float:
            began = time.perf_counter()
            rollout(system, integrator, z, [0.0, 1.0], 0.05, 1e-6)
            return time.perf_counter() - began

        with torch.no_grad():
            seconds(start)
            one = min(seconds(start) for _ in range(5))
            each = min(seconds(factors * start) for _ in range(2)) / MEMBERS
        print(f"{system.size:10,}  {50 * one:8.2f} {50 * each:8.2f} {one / each:8.2f}", flush=True)


def gradient() -> None:
    import torch

    import gleg

    flow = gleg.SolutionMap(problem(0.107, 20))

    def square(c: torch.Tensor) -> torch.Tensor:
        """‖u‖² at the end."""
        return flow.system.norm(flow(coefficients=c)[-1]) ** 2

    c = flow.coefficients.clone()
    c[1] = 1.0
    at = c.clone().requires_grad_()
    square(at).backward()
    step = torch.tensor([1e-7, 0.0], dtype=torch.float64)
    with torch.no_grad():
        difference = (square(c + step) - square(c - step)) / 2e-7
    print(f"\ngradient {float(at.grad[0]):.10g}, difference {float(difference):.10g}")


def main() -> int:
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one_run(float(sys.argv[2]), sys.argv[3])))
        return 0
    if sys.argv[1:]:
        sizes([float(word) for word in sys.argv[1:]])
        return 0
    sizes([1e4, 1e5])
    batches()
    gradient()
    return 0


if __name__ == "__main__":
    sys.exit(main())
