"""The keys of a problem file that belong to results: what is written, what a run is compared with, what it starts from."""

from typing import Annotated

from annotated_types import Ge, Le
from pydantic import AfterValidator, Field, ValidationInfo

from gleg_core.coordinates import COORDINATES
from gleg_core.spec.params import FilePath, Number, PackParams, Whole, scope_of


def _in_dimensions(probe: list[float], info: ValidationInfo) -> list[float]:
    names = COORDINATES[: scope_of(info).dim]
    if len(probe) != len(names):
        raise ValueError(f"found {len(probe)} coordinate{'s' * (len(probe) != 1)}, write [{', '.join(names)}]")
    return probe


class OutputKeys(PackParams):
    """In ``output``: what a run writes."""

    grid: Annotated[Whole, Ge(8), Le(2000)] = Field(
        101, description="points of the output grid along the longest side of the domain"
    )
    probes: list[Annotated[list[Number], AfterValidator(_in_dimensions)]] = Field(
        default_factory=list, description="points [x, y] in the domain whose time series are written"
    )
    pictures: bool = Field(True, description="write pictures of the fields and of their histories")
    movie: bool = Field(False, description="write an animation")
    formats: list[str] = Field(
        default_factory=list,
        description="further outputs by the names that packs give them; each gets a folder of its own",
    )


def subfolder(name: str) -> str:
    """Of an output format, which may be named with its pack."""
    return name.rpartition(":")[2]


class RestartSection(PackParams):
    """States to start from, instead of ``initial``: of another run, or of a discovered law."""

    file: FilePath = Field(
        description="NetCDF file with coefficients, such as result.nc of a run, relative to this file"
    )
    trajectory: Annotated[Whole, Ge(0)] = Field(0, description="which of the file's trajectories, counted from 0")


class RestartKey(PackParams):
    """At the top of a problem file."""

    restart: RestartSection | None = Field(None, description="start from stored states instead of 'initial'")


class ReferenceKey(PackParams):
    """At the top of a problem file."""

    reference: FilePath | None = Field(
        None,
        description="NetCDF file with values of the fields by another method, relative to this file: the run then reports its error "
        "(docs/scoring.md says what it holds)",
    )
