"""A problem with every default filled in, full keys, and where each component comes from."""

from typing import Any

from gleg_core.registry.fingerprint import files_hash
from gleg_core.spec.keys import dumped
from gleg_core.spec.loading import Place
from gleg_core.spec.problem import FieldSpec, Problem, Resolved, TermSpec, packs_of


def resolved(problem: Problem) -> dict[str, Any]:
    """Plain data that is itself a valid problem file and gives the same run."""
    section = problem.section
    data: dict[str, Any] = {}
    if section.title:
        data["title"] = section.title
    data["domain"] = _component(problem.domain)
    data["basis"] = _component(problem.basis)
    if section.accuracy is not None and "auto" in data["basis"].values():  # else it is in the numbers already
        data["accuracy"] = section.accuracy
    if section.unresolved != "warn":
        data["unresolved"] = section.unresolved
    if problem.regions:
        data["regions"] = {region.name: _component(region.resolved) for region in problem.regions}
    if section.constants:
        data["constants"] = dict(section.constants)
    if section.formulas:
        data["formulas"] = dict(section.formulas)
    data["fields"] = {f.name: _field(f) for f in problem.fields}
    data["time"] = section.time.model_dump(mode="json") | {"integrator": _component(problem.integrator)}
    data["space"] = section.space.model_dump(mode="json")
    data["output"] = section.output.model_dump(mode="json") | _added(problem, "output", ("output",))
    return data | _added(problem, "problem", ())


def _added(problem: Problem, at: str, place: Place) -> dict[str, Any]:
    """Plain data of the keys of packs at a place: as stated, else the defaults of first-party packs."""
    registry, found = problem.registry, dict[str, Any]()
    known = {id(a.offered.keys): a for a in problem.added if a.place == place}
    for offered in {id(o.keys): o for o in registry.keys(at).values()}.values():
        stated = known.pop(id(offered.keys), None)
        found |= dumped(registry.model(offered)()) if stated is None else stated.dump()
    for stated in known.values():
        found |= stated.dump()
    return found


def _component(resolved: Resolved) -> dict[str, Any]:
    return {"kind": resolved.key, **resolved.dump()}


def _field(field: FieldSpec) -> dict[str, Any]:
    dumped = field.section.model_dump(mode="json", include={"initial", "exact", "forcing", "steady"}, exclude_none=True)
    conditions = []
    for c in field.conditions:
        where = c.where[0] if len(c.where) == 1 else list(c.where)
        conditions.append(_component(c.operator) | {"where": where, "data": "exact" if c.data_from_exact else "given"})
    dumped["boundary"] = conditions
    if field.terms:
        dumped["equation"] = [term_data(t) for t in field.terms]
    for added in field.added:
        dumped |= added.dump()
    return dumped


def term_data(term: TermSpec) -> dict[str, Any]:
    """A term as it is written in a problem file, with full keys."""
    shared = term.section.model_dump(mode="json", include={"coefficient", "realisation"}, exclude_none=True)
    if term.block is None:
        return {"square": [term_data(t) for t in term.square], **shared}
    return {"block": term.block.key, **{k: v for k, v in term.block.dump().items() if v is not None}, **shared}


def provenance(problem: Problem) -> dict[str, dict[str, str]]:
    """Pack id → distribution, version, contract and a hash of its installed files."""
    return {
        pack.id: {
            "distribution": pack.distribution,
            "version": pack.version,
            "contract": ".".join(map(str, pack.contract)),
            "hash": files_hash(pack.module)[:16] or "unknown",
        }
        for pack in packs_of(problem)
    }


def resolved_yaml(problem: Problem) -> str:
    """The resolved problem as YAML, opened by a comment that says which packs it came from."""
    import yaml

    lines = ["# resolved by gleg; packs used:"]
    for pack, facts in provenance(problem).items():
        lines.append(
            f"#   {pack}: {facts['distribution']} {facts['version']}, contract {facts['contract']}, sha256 {facts['hash']}"
        )
    if problem.basis.reason:
        lines.append(f"# basis {problem.basis.key}, because the solution is not smooth: {problem.basis.reason}")
    body = yaml.safe_dump(resolved(problem), sort_keys=False, allow_unicode=True, width=120)
    return "\n".join(lines) + "\n" + body
