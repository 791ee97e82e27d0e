"""Whether probes and output formats fit a problem, once its domain is built. No torch."""

import numpy as np

from gleg_core.contracts.closure import covers
from gleg_core.contracts.domain import Domain
from gleg_core.errors import PackError, SpecError
from gleg_core.spec.problem import Problem
from gleg_results.sections import OutputKeys, subfolder


def check_output(problem: Problem, domain: Domain) -> None:
    """Refuse probes outside the domain and formats that nobody writes."""
    keys, locate = problem.keys(OutputKeys), problem.document.locate
    for i, name in enumerate(keys.formats):
        try:
            problem.registry.required("gleg_outputs", name)
        except PackError as error:
            raise PackError(f"{locate(('output', 'formats', i))}: {error}") from None
        if subfolder(name) in map(subfolder, keys.formats[:i]):
            raise SpecError(
                f"{locate(('output', 'formats', i))}: '{subfolder(name)}' is written already, to a folder of that name"
            )
    if not keys.probes:
        return
    inside = covers(domain, np.array(keys.probes, dtype=float))
    extent = " × ".join(f"[{low:.4g}, {high:.4g}]" for low, high in domain.bounds)
    outside = [
        f"{locate(('output', 'probes', i))}: the point ({', '.join(f'{v:g}' for v in probe)}) is not in the domain, "
        f"which lies in {extent}"
        for i, probe in enumerate(keys.probes)
        if not inside[i]
    ]
    if outside:
        raise SpecError("\n".join(outside))
