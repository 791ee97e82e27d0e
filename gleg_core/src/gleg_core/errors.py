"""Errors that are a user's or a pack's doing. The command line prints their text and nothing else."""

from collections.abc import Iterable
from typing import Any, Self


class GlegError(Exception):
    """Base of every error whose message is meant for the user. ``exit_code`` is the command's exit status."""

    exit_code = 1
    place: tuple[str | int, ...] = ()
    """Key of the problem file it concerns, where the raiser knows the key but not the file."""

    def at(self, *place: str | int) -> Self:
        """The error, about this key: ``raise NumericsError("too long").at("time", "step")``."""
        self.place = place
        return self


class SpecError(GlegError):
    """A problem file is wrong: the message names file, location, what was found and what is allowed."""

    exit_code = 2


class PackError(GlegError):
    """A pack is missing, broken, incompatible or in conflict: the message names it, the stage and the remedy."""

    exit_code = 3


class GeometryError(GlegError):
    """A domain, its segments, its quadrature or its place in the box Q is not usable."""

    exit_code = 4


class NumericsError(GlegError):
    """A computation left the numbers: non-finite state, rank zero, step below the smallest step. ``run`` is what there is of the solution,
    if anything."""

    exit_code = 5
    run: Any = None


class OutputError(GlegError):
    """A result could not be written. Nothing half-written is left behind."""

    exit_code = 6


def nearest(word: str, allowed: Iterable[str]) -> str | None:
    """The allowed word closest to ``word``, or None if none is close."""
    import difflib  # not needed while all goes well

    choices = list(allowed)
    lowered = {c.lower(): c for c in choices}
    found = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` if something is close, else the empty string."""
    close = nearest(word, allowed)
    return f" Did you mean '{close}'?" if close else ""


def listing(words: Iterable[str], limit: int = 12) -> str:
    """Words for a message: ``a, b, c`` with the tail counted when it is long."""
    words = sorted(words)
    if not words:
        return "(none)"
    head = ", ".join(words[:limit])
    return head if len(words) <= limit else f"{head}, … ({len(words) - limit} more)"
