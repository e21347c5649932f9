"""What people curated beside a task: the paper's key points, its lineage, the human scale."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from autoreproduce.benchmarks.reproducebench.task_yaml import TaskPart


class Point(TaskPart):
    """One key point of the paper, as the judge uses it. Formulas in LaTeX."""

    kind: Literal["method", "hyperparameters", "training"]
    title: str
    text: str


class Points(TaskPart):
    """points.yaml: five key points, three on the method, one on hyperparameters, one on
    training.
    """

    points: list[Point]

    @model_validator(mode="after")
    def _three_one_one(self) -> Points:
        kinds = [point.kind for point in self.points]
        if kinds != ["method"] * 3 + ["hyperparameters", "training"]:
            raise ValueError(
                "give five points in this order: method, method, method, hyperparameters, training"
            )
        return self


class CuratedReference(TaskPart):
    """One paper that someone who reproduces this one should read, and where its code is."""

    title: str
    arxiv: str | None = None
    repository: str | None = None
    why: str


class LineageFile(TaskPart):
    """lineage.yaml: the five curated references of a task, the best first; recall of a lineage
    counts them.
    """

    references: list[CuratedReference] = Field(min_length=5, max_length=5)


class RubricItem(TaskPart):
    """One part of the human scale, worth `score` points."""

    score: float = Field(gt=0)
    requirement: str


class Rubric(TaskPart):
    """rubric.yaml: the human scale, 10 for the method, 5 for hyperparameters, 5 for training."""

    method: list[RubricItem]
    hyperparameters: list[RubricItem]
    training: list[RubricItem]

    @model_validator(mode="after")
    def _ten_five_five(self) -> Rubric:
        for part, worth in (("method", 10), ("hyperparameters", 5), ("training", 5)):
            total = sum(item.score for item in getattr(self, part))
            if abs(total - worth) > 1e-9:
                raise ValueError(f"the scores of `{part}` sum to {total:g}, not to {worth}")
        return self
