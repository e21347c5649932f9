"""What a judge answers at each level, as schemas.

Sources: AutoReproduce (arXiv 2505.20662), section 4.3 and appendix A: five key points of 0 to 20 at
the paper level and the mixed level, four axes of 0 to 25 at the code level, so that each level sums
to 100.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt

AXES = ("overall_structure", "model_details", "training_details", "experimental_integrity")
POINT_BANDS = (
    (0, 2, "total difference"),
    (3, 8, "unsimilar"),
    (9, 14, "similar"),
    (15, 18, "roughly the same"),
    (19, 20, "same"),
)
# What each band of a key point means against the reference (the paper's figures 10 to 15).
POINT_MEANINGS = (
    "absent, or fundamentally wrong",
    "there, but neither accurate nor complete: errors, missing details, other logic",
    "complete and accurate, with differences that are not critical, or by another method that "
    "comes to the same core outcome",
    "complete and accurate in depth; only very small differences, none in function",
    "identical, or functionally equivalent: the same computation, however it is written",
)
AXIS_BANDS = (
    (0, 4, "total difference"),
    (5, 10, "unsimilar"),
    (12, 16, "similar"),
    (17, 22, "roughly the same"),
    (23, 25, "same"),
)


class Answer(BaseModel):
    """A part of a judge's reply; numbers are whole numbers, not text."""

    model_config = ConfigDict(extra="ignore")


class LineReference(Answer):
    """Lines of a file, from 1, both included."""

    file: str
    first: StrictInt = Field(ge=1)
    last: StrictInt = Field(ge=1)


class PaperPoint(Answer):
    """One key point at the paper level."""

    number: StrictInt = Field(ge=1, le=5)
    generated: str = Field(min_length=1)
    lines: list[LineReference] = []
    reason: str = Field(min_length=1)
    score: Annotated[StrictInt, Field(ge=0, le=20)]


class MixedPoint(PaperPoint):
    """One key point at the mixed level: what the reference does is what the point means."""

    reference: str = Field(min_length=1)
    reference_lines: list[LineReference] = []


class Axis(Answer):
    """One axis of the code level."""

    axis: Literal[
        "overall_structure", "model_details", "training_details", "experimental_integrity"
    ]
    lines: list[LineReference] = []
    reason: str = Field(min_length=1)
    score: Annotated[StrictInt, Field(ge=0, le=25)]


Points = TypeVar("Points", list[PaperPoint], list[MixedPoint])


def _all_five_points(points: Points) -> Points:
    if sorted(point.number for point in points) != [1, 2, 3, 4, 5]:
        raise ValueError("give each of the points 1 to 5 once")
    return points


def _all_four_axes(axes: list[Axis]) -> list[Axis]:
    if sorted(axis.axis for axis in axes) != sorted(AXES):
        raise ValueError(f"give each of these axes once: {', '.join(AXES)}")
    return axes


class PaperVerdict(Answer):
    """The paper level: the sum of five points."""

    points: Annotated[list[PaperPoint], AfterValidator(_all_five_points)]


class MixedVerdict(Answer):
    """The mixed level: the sum of five points."""

    points: Annotated[list[MixedPoint], AfterValidator(_all_five_points)]


class CodeVerdict(Answer):
    """The code level: the sum of four axes."""

    axes: Annotated[list[Axis], AfterValidator(_all_four_axes)]


def band_of(score: int, bands: tuple[tuple[int, int, str], ...] = POINT_BANDS) -> str:
    """The band's name; a number between two bands (11 of 25) belongs to the lower one."""
    return next(name for low, _, name in reversed(bands) if score >= low)


def between_bands(bands: tuple[tuple[int, int, str], ...]) -> list[int]:
    """The whole numbers that no band holds, as published: 11 of 25 for an axis, none of a point."""
    held = {number for low, high, _ in bands for number in range(low, high + 1)}
    return [number for number in range(bands[0][0], bands[-1][1]) if number not in held]
