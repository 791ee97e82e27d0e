"""The section ``notes`` of a problem file."""

from typing import Annotated

from annotated_types import MinLen
from pydantic import Field, field_validator

from gleg_core.spec.params import PackParams

Word = Annotated[str, MinLen(1)]


class Notes(PackParams):
    """What a reader of the file should know."""

    author: Word = Field(description="who wrote the file")
    keywords: list[Word] = Field(default_factory=list, description="words to find it by")

    @field_validator("keywords")
    @classmethod
    def _distinct(cls, keywords: list[str]) -> list[str]:
        if double := next((word for word in keywords if keywords.count(word) > 1), None):
            raise ValueError(f"'{double}' is listed twice")
        return keywords


class NotesKey(PackParams):
    """At the top of a problem file."""

    notes: Notes | None = Field(None, description="author and keywords, which `gleg mass` prints")
