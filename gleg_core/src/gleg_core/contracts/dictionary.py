"""Contract Dictionary: a named set of candidate mechanisms for law discovery,  u_t = Σ_p c_p L_p(u)  with unknown c_p.

Candidates are ordinary equation terms in the spelling of a problem file, so they may come from any installed pack and are
realised by the same reduced interface as the forward solver. The factory of a dictionary entry is called as
``factory(params)``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """``label`` as printed in a law (``Δu``), ``term`` as written under ``equation``. A
    ``coefficient`` in the term is part of the candidate (a sign, say): the discovered coefficient multiplies it."""

    label: str
    term: Mapping[str, object]


class Dictionary(ABC):
    """A set of candidates for the equation of one field."""

    @abstractmethod
    def candidates(self, field: str, fields: tuple[str, ...], dim: int) -> Sequence[Candidate]:
        """Candidates for the equation of ``field`` in a problem with these fields and this space dimension."""
