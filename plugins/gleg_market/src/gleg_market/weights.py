"""Hashes of the weights that packs bring; nothing of a pack is imported for them."""

from gleg_core.errors import PackError
from gleg_core.registry import Pack
from gleg_core.registry.fingerprint import sha256_of
from gleg_core.weight_files import locate, weight_path


def weights_hashes(pack: Pack) -> dict[str, str]:
    """Full key → sha256 of the weights that come with a learned component ("missing" if the file is not there)."""
    found: dict[str, str] = {}
    for entries in pack.entries.values():
        for entry in entries:
            reference = getattr(entry.capabilities, "weights", None)
            if isinstance(reference, str):
                found[f"{pack.id}:{entry.name}"] = _weights_hash(reference)
    return found


def _weights_hash(reference: str) -> str:
    try:
        return sha256_of(weight_path(locate(reference)))
    except (OSError, PackError):
        return "missing"
