"""The keys of a problem file that belong to discovery: candidates of a field, how their law is found, a planned experiment."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import Field

from gleg_core.spec.keys import Reader, Reading
from gleg_core.spec.loading import Place
from gleg_core.spec.models import ComponentSection, TermSection
from gleg_core.spec.params import Number, PackParams, Positive, Whole
from gleg_core.spec.problem import FieldSpec, Resolved, TermSpec, term_components
from gleg_results.resolved import term_data

_OF_DICTIONARIES = ("signs", "known")
_OF_BLOCKS = ("block", "square", "sign", "label")


class CandidateSection(TermSection):
    """A mechanism that may be in the law to be discovered, or all those of a dictionary."""

    dictionary: str | None = Field(None, description="instead of block: all candidates of this dictionary of a pack")
    label: str | None = Field(None, description="block: its name in the law; default: the block with its parameters")
    keep: bool | list[str] = Field(False, description="true, or the labels of those that are in the law for certain")
    sign: Literal["positive", "negative"] | None = Field(None, description="block: the known sign of its coefficient")
    signs: dict[str, Literal["positive", "negative"]] = Field(
        default_factory=dict, description="dictionary: known signs of coefficients, by label"
    )
    known: dict[str, Number] = Field(
        default_factory=dict, description="dictionary: known coefficients, by label (0 leaves a candidate out)"
    )
    guess: Number | dict[str, Number] | None = Field(
        None, description="coefficient to plan an experiment with (gleg plan), for a dictionary by label"
    )


class FieldKeys(PackParams):
    """In a field."""

    candidates: list[CandidateSection] = Field(
        default_factory=list,
        min_length=1,
        description="for gleg discover: terms whose coefficients are unknown, beside those of equation",
    )


class DiscoverSection(PackParams):
    """How a law is discovered; the defaults are chosen from the data."""

    select: Literal["evidence", "threshold"] = Field(
        "evidence",
        description="which candidates are kept: by the evidence for them (BIC), or by sequential thresholded ridge regression",
    )
    threshold: Positive = Field(1e-7, description="threshold of |coefficient|·|column| for select: threshold")
    ridge: Annotated[Number, Ge(0.0)] = Field(1e-10, description="weight of the ridge for select: threshold")
    degree: Literal["auto"] | Annotated[Whole, Ge(1), Le(200)] = Field(
        "auto", description="degree in time of the smooth paths that the responses are evaluated on"
    )
    noise: Literal["auto"] | Positive = Field(
        "auto", description="standard deviation of a reading, in its units; auto: estimated from the data"
    )


class PlanSection(PackParams):
    """The experiment that gleg plan assesses."""

    sensors: Annotated[Whole, Ge(1)] = Field(240, description="number of sensors, spread evenly")
    window: Positive = Field(description="how long is measured")
    samples: Annotated[Whole, Ge(3)] = Field(241, description="readings of each sensor within the window")
    recordings: Annotated[Whole, Ge(1)] = Field(16, description="number of experiments, each from another state")
    amplitudes: Annotated[list[Positive], Field(min_length=1)] = Field(
        [0.08, 0.12, 0.16, 0.20, 0.24], description="largest |u| of the states the experiments start from, in turn"
    )
    modes: Annotated[Whole, Ge(1)] = Field(36, description="number of smoothest functions a starting state is made of")


class ProblemKeys(PackParams):
    """At the top of a problem file."""

    discover: DiscoverSection | None = Field(
        None, description="how gleg discover finds the law of fields with candidates"
    )
    plan: PlanSection | None = Field(None, description="the experiment that gleg plan assesses")


@dataclass(frozen=True)
class CandidateSpec:
    """A term whose coefficient is unknown, or a dictionary of such terms."""

    dictionary: Resolved | None
    term: TermSpec | None
    section: CandidateSection
    place: Place

    @property
    def components(self) -> list[Resolved]:
        assert self.dictionary is not None or self.term is not None
        return [self.dictionary] if self.dictionary is not None else term_components(self.term)  # type: ignore[arg-type]

    def dump(self) -> dict[str, Any]:
        """Plain data with full keys."""
        said = self.section.model_dump(
            mode="json", include={"label", "keep", "sign", "signs", "known", "guess"}, exclude_defaults=True
        )
        if self.dictionary is None:
            assert self.term is not None
            return term_data(self.term) | said
        return {"dictionary": self.dictionary.key, **self.dictionary.dump(), **said}


def candidate_specs(field: FieldSpec) -> list[CandidateSpec]:
    """The candidates of a field, as its file states them."""
    return field.reading(FieldKeys) or []


def read_candidates(keys: FieldKeys, place: Place, reader: Reader) -> Reading:
    """Blocks and dictionaries of the candidates."""
    read = [_candidate(s, (*place, "candidates", i), reader) for i, s in enumerate(keys.candidates)]
    found = [c for c in read if c is not None]
    used = tuple(component for c in found for component in c.components)
    return Reading(found, used, {"candidates": [c.dump() for c in found]})


def _candidate(section: CandidateSection, place: Place, reader: Reader) -> CandidateSpec | None:
    if section.dictionary is None:
        for word in _OF_DICTIONARIES:
            if getattr(section, word):
                text = f"'{word}' is for a dictionary; a single block has 'sign', and a known coefficient belongs in 'equation'"
                reader.complain((*place, word), text)
        term = reader.term(section, place)
        return None if term is None else CandidateSpec(None, term, section, place)
    for word in _OF_BLOCKS:
        if getattr(section, word) is not None:
            reader.complain((*place, word), f"'{word}' and 'dictionary' exclude each other")
    component = ComponentSection(kind=section.dictionary, **section.parameters)
    dictionary = reader.component("dictionary", component, place)
    return None if dictionary is None else CandidateSpec(dictionary, None, section, place)


def candidates_schema(choices: Any) -> None:
    """A candidate is one of the installed mechanisms or dictionaries, with the keys that belong to it."""
    terms = choices.terms(CandidateSection, without={"dictionary", *_OF_DICTIONARIES})
    without = {"coefficient", "realisation", *_OF_BLOCKS}
    dictionaries = choices.components("dictionary", CandidateSection, "dictionary", without)
    choices.definitions["CandidateSection"] = {"anyOf": [*terms, *dictionaries["anyOf"]]}
