"""Reading what installed distributions claim, from their metadata alone: nothing of theirs is imported here."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass

import importlib_metadata

from gleg_core.errors import did_you_mean, listing
from gleg_core.pack import ENTRY_POINT_GROUP
from gleg_core.registry.catalogue import canonical, first_party
from gleg_core.registry.records import Failure, Stage, one_line

IDENTIFIER = re.compile(r"[a-z][a-z0-9-]*")
MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class Claim:
    """One entry point of the group ``gleg.packs``: a distribution says that ``module`` is the pack ``pack``."""

    pack: str
    module: str
    distribution: str
    version: str
    licence: str
    provider: str

    @property
    def first_party(self) -> bool:
        """Whether it is a pack of this project, under the id that is its own."""
        return self.pack in first_party().get(canonical(self.distribution), ())

    def refused(self, stage: Stage, message: str, remedy: str) -> Failure:
        return Failure(self.pack, self.distribution, self.version, stage, message, remedy)


def read_claims(only: Collection[str] | None) -> tuple[list[Claim], list[Failure]]:
    """Usable claims sorted by pack id, one per id, and the failures of the others. ``only`` limits the pack ids. The ids of this
    project's packs belong to them; two strangers with one id are both refused."""
    claims, failures = _all_claims()
    if only is not None:
        failures = [f for f in failures if f.pack in only] + _not_installed(only, {c.pack for c in claims})
        claims = [c for c in claims if c.pack in only]
    by_id: dict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        by_id[claim.pack].append(claim)
    usable = []
    owners = {pack: name for name, packs in first_party().items() for pack in packs}
    for pack, rivals in sorted(by_id.items()):
        if pack in owners:
            failures += [_impostor(claim, owners[pack]) for claim in rivals if not claim.first_party]
            rivals = [claim for claim in rivals if claim.first_party]
        if not rivals:
            continue
        if len(rivals) > 1:
            failures += [_collision(claim, rivals) for claim in rivals]
        elif failure := _malformed(rivals[0]):
            failures.append(failure)
        else:
            usable += rivals
    return usable, failures


def _all_claims() -> tuple[list[Claim], list[Failure]]:
    """Claims of every distribution on sys.path. The first of several copies of a distribution counts, as for import."""
    claims: list[Claim] = []
    failures: list[Failure] = []
    seen: set[str] = set()
    for distribution in importlib_metadata.distributions():
        if ENTRY_POINT_GROUP not in (_read(distribution, "entry_points.txt") or ""):
            continue
        header = _header(distribution)
        name, version = header.get("name", ""), header.get("version", "")
        if name and canonical(name) in seen:
            continue
        seen.add(canonical(name))
        licence, provider = header.get("license-expression") or header.get("license", ""), _provider(header)
        try:
            points = [e for e in distribution.entry_points if e.group == ENTRY_POINT_GROUP]
            claims += [Claim(e.name, e.value, name, version, licence, provider) for e in points]
        except Exception as error:
            remedy = f"pip install --force-reinstall --no-deps {name}" if name else "reinstall the distribution"
            message = f"its entry_points.txt cannot be read ({one_line(error)})"
            failures.append(Failure("?", name, version, "metadata", message, remedy))
    return claims, failures


def _read(distribution: importlib_metadata.IDistribution, filename: str) -> str | None:
    """A metadata file, or None if it cannot be read: a broken distribution of somebody else is not our concern."""
    try:
        return distribution.read_text(filename)
    except (OSError, ValueError):
        return None


_PROVIDERS = ("author", "author-email", "maintainer", "maintainer-email")
_KEPT = frozenset(["name", "version", "license", "license-expression", *_PROVIDERS])


def _header(distribution: importlib_metadata.IDistribution) -> dict[str, str]:
    """Name, version, licence and provider. Reading these lines by hand is much cheaper than parsing METADATA as an e-mail."""
    text = _read(distribution, "METADATA") or _read(distribution, "PKG-INFO") or ""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            break
        key, colon, value = line.partition(":")
        if colon and key.lower() in _KEPT:
            found.setdefault(key.lower(), value.strip())
    return found


def _provider(header: dict[str, str]) -> str:
    """Whom to trust or to write to: names where there are names (``Ada <ada@x.org>`` → ``Ada``), else addresses."""
    stated = next((header[key] for key in _PROVIDERS if header.get(key)), "")
    return ", ".join(re.sub(r"^(.+?)\s*<.*>$", r"\1", person.strip()).strip('"<>') for person in stated.split(","))


def _collision(claim: Claim, rivals: list[Claim]) -> Failure:
    owners = sorted({f"{c.distribution} {c.version}" for c in rivals})
    if len(owners) == 1:
        message = f"{owners[0]} declares the pack id '{claim.pack}' {len(rivals)} times"
        return claim.refused("collision", message, f"pip uninstall {claim.distribution}, or tell its author")
    others = sorted({c.distribution for c in rivals})
    message = f"the pack id '{claim.pack}' is claimed by {' and by '.join(owners)}; none of them is used"
    return claim.refused("collision", message, "keep one: " + "   or   ".join(f"pip uninstall {o}" for o in others))


def _impostor(claim: Claim, owner: str) -> Failure:
    message = f"the pack id '{claim.pack}' belongs to {owner}, which is used instead if it is installed"
    return claim.refused("collision", message, f"pip uninstall {claim.distribution}, or ask its author for another id")


_CHECKS: tuple[tuple[Callable[[Claim], bool], str], ...] = (
    (lambda c: bool(c.distribution and c.version), "its METADATA has no Name or no Version"),
    (lambda c: bool(IDENTIFIER.fullmatch(c.pack)), "its pack id must match [a-z][a-z0-9-]*"),
    (lambda c: bool(MODULE.fullmatch(c.module)), "its entry point must name a module such as my_pack.pack"),
)


def _malformed(claim: Claim) -> Failure | None:
    for holds, complaint in _CHECKS:
        if not holds(claim):
            message = f"{complaint} (found '{claim.pack} = {claim.module}')"
            return claim.refused("metadata", message, f"pip install --upgrade {claim.distribution}, or tell its author")
    return None


def _not_installed(only: Collection[str], installed: Collection[str]) -> list[Failure]:
    """Ids in the allow-list that nobody provides: a typing error there must not pass silently."""
    remedy = "install the pack, or correct the allow-list (GLEG_PACKS)"

    def message(pack: str) -> str:
        return f"no installed distribution provides it.{did_you_mean(pack, installed)} Installed: {listing(installed)}"

    return [Failure(p, "", "", "allow-list", message(p), remedy) for p in sorted(set(only) - set(installed))]
