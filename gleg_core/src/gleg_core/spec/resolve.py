"""A problem with every default filled in, full keys, and where each component comes from."""

from __future__ import annotations

from typing import Any

from gleg_core.spec.problem import FieldSpec, Problem, Resolved, TermSpec


def resolved(problem: Problem) -> dict[str, Any]:
    """Plain data that is itself a valid problem file and gives the same run."""
    section = problem.section
    data: dict[str, Any] = {}
    if section.title:
        data["title"] = section.title
    data["domain"] = _component(problem.domain)
    data["basis"] = _component(problem.basis)
    if section.constants:
        data["constants"] = dict(section.constants)
    if section.formulas:
        data["formulas"] = dict(section.formulas)
    data["fields"] = {f.name: _field(f) for f in problem.fields}
    data["time"] = section.time.model_dump(mode="json") | {"integrator": _component(problem.integrator)}
    data["space"] = section.space.model_dump(mode="json")
    data["output"] = section.output.model_dump(mode="json")
    return data


def _component(resolved: Resolved) -> dict[str, Any]:
    return {"kind": resolved.key, **resolved.dump()}


def _field(field: FieldSpec) -> dict[str, Any]:
    dumped = field.section.model_dump(mode="json", include={"initial", "exact", "forcing", "steady"}, exclude_none=True)
    conditions = []
    for c in field.conditions:
        where = c.where[0] if len(c.where) == 1 else list(c.where)
        conditions.append(_component(c.operator) | {"where": where, "data": "exact" if c.data_from_exact else "given"})
    return dumped | {"boundary": conditions, "equation": [_term(t) for t in field.terms]}


def _term(term: TermSpec) -> dict[str, Any]:
    shared = term.section.model_dump(mode="json", include={"coefficient", "realisation"}, exclude_none=True)
    if term.block is None:
        return {"square": [_term(t) for t in term.square], **shared}
    return {"block": term.block.key, **{k: v for k, v in term.block.dump().items() if v is not None}, **shared}


def components(problem: Problem) -> list[Resolved]:
    """Every component the problem uses."""
    found = [problem.domain, problem.basis, problem.integrator]

    def of_term(term: TermSpec) -> None:
        if term.block is not None:
            found.append(term.block)
        for part in term.square:
            of_term(part)

    for field in problem.fields:
        found.extend(c.operator for c in field.conditions)
        for term in field.terms:
            of_term(term)
    return found


def provenance(problem: Problem) -> dict[str, dict[str, str]]:
    """Pack id → distribution, version, contract and a hash of its installed files' record."""
    packs = {c.installed.pack.id: c.installed.pack for c in components(problem)}
    return {
        pack.id: {
            "distribution": pack.distribution,
            "version": pack.version,
            "contract": ".".join(map(str, pack.contract)),
            "hash": _hash(pack.module),
        }
        for pack in sorted(packs.values(), key=lambda p: p.id)
    }


def _hash(module: str) -> str:
    """A hash of the pack's source and weight files, so that an edited pack is noticed."""
    import hashlib
    import importlib.util
    from pathlib import Path

    spec = importlib.util.find_spec(module.split(".")[0])
    folder = Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None
    if folder is None:
        return "unknown"
    h = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        h.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return h.hexdigest()[:16]


def resolved_yaml(problem: Problem) -> str:
    """The resolved problem as YAML, opened by a comment that says which packs it came from."""
    import yaml

    lines = ["# resolved by gleg; packs used:"]
    for pack, facts in provenance(problem).items():
        lines.append(
            f"#   {pack}: {facts['distribution']} {facts['version']}, contract {facts['contract']}, sha256 {facts['hash']}"
        )
    body = yaml.safe_dump(resolved(problem), sort_keys=False, allow_unicode=True, width=120)
    return "\n".join(lines) + "\n" + body
