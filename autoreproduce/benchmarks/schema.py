"""What a task folder's YAML files may hold, and how they are read.

A task is written by people, so the schema forbids what it does not know and an error names file and field.
The number of a task means nothing without its proof; hence a profile is either measured or says why not,
and the checks against the authors' code and the known mistakes stand beside the numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from autoreproduce.errors import UsageError
from autoreproduce.task import Metric, Result

Content = TypeVar("Content", bound=BaseModel)


class Strict(BaseModel):
    """A part of a task folder: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class Licences(Strict):
    """Under what terms the paper's code and data come, in a sentence each."""

    code: str
    data: str


class Results(Strict):
    """Numbers that others printed: the paper's own, and the benchmark's published reference."""

    paper: Result | None = None
    published: Result | None = None


class Profile(Strict):
    """One size of the experiment. `measured` is our own implementation's result, or `not_run` says why."""

    instruction: str = Field("", description="its special settings, appended to the task's instruction")
    stand_in: str = Field("", description="what the data stand in for, where they are not the paper's")
    time_limit_minutes: float = Field(gt=0)
    hardware: str
    shapes: dict[str, list[int]] = Field({}, description="what the loader's result holds, by attribute")
    measured: Result | None = None
    not_run: str = ""
    notes: list[str] = []

    @model_validator(mode="after")
    def _measured_or_not(self) -> Profile:
        if (self.measured is None) == (not self.not_run):
            raise ValueError("give either `measured` or the reason in `not_run`, not both and not neither")
        return self


class Proof(Strict):
    """One check of the reference against the authors' code: outside this repository, its result inside."""

    what: str
    repository: str
    commit: str = Field(pattern="^[0-9a-f]{40}$")
    comparison: str
    result: str
    date: str


class Edit(Strict):
    """One exact replacement in a file of the reference; `old` stands there once."""

    file: str
    old: str
    new: str


class Breaking(Strict):
    """A known mistake, put into the reference on purpose, and what could tell it from the right thing.

    `edits` are how it is put in, so that anyone can do it again; `points` are the key points (1 to 5, as in
    points.yaml) that the mistake breaks, which a judge has to see.
    """

    mistake: str
    edits: list[Edit] = []
    points: list[int] = []
    profile: str
    values: list[float] = Field(description="the metric of the broken runs, one a seed")
    seeds: list[int]
    metric: str = Field(description="what the metric says of it")
    structure: str = Field(description="what a structure check says of it")
    judge: str = Field("", description="what a judge says of it at the mixed level: of 100, and by key point")
    told_by_metric: bool
    date: str


class TaskFile(Strict):
    """task.yaml."""

    id: str = Field(pattern="^[a-z0-9][a-z0-9_-]*$")
    arxiv: str | None
    title: str
    method: str
    dataset: str
    aliases: list[str] = []
    licences: Licences
    metric: Metric
    instruction: str
    preprocess: str | None = Field(None, description="the file with the data code that is given to the agent")
    loader: str | None = Field(None, description="the data code's function that takes the data folder")
    predictions: str | None = Field(None, description="the file that a program saves and metric.py reads")
    results: Results
    profiles: dict[Literal["full", "small"], Profile]
    notes: list[str] = []
    proofs: list[Proof] = []
    breaking: list[Breaking] = []

    @property
    def names(self) -> list[str]:
        """Every name that the task answers to."""
        return [self.id, self.dataset, self.method, *self.aliases]


class Point(Strict):
    """One key point of the paper, as the judge uses it. Formulas in LaTeX."""

    kind: Literal["method", "hyperparameters", "training"]
    title: str
    text: str


class Points(Strict):
    """points.yaml: five key points, three on the method, one on hyperparameters, one on training."""

    points: list[Point]

    @model_validator(mode="after")
    def _three_one_one(self) -> Points:
        kinds = [point.kind for point in self.points]
        if kinds != ["method"] * 3 + ["hyperparameters", "training"]:
            raise ValueError("give five points in this order: method, method, method, hyperparameters, training")
        return self


class Reference(Strict):
    """One paper that someone who reproduces this one should read, and where its code is."""

    title: str
    arxiv: str | None = None
    repository: str | None = None
    why: str


class LineageFile(Strict):
    """lineage.yaml: the five curated references of a task, the best first; recall of a lineage counts them."""

    references: list[Reference] = Field(min_length=5, max_length=5)


class RubricItem(Strict):
    """One part of the human scale, worth `score` points."""

    score: float = Field(gt=0)
    requirement: str


class Rubric(Strict):
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


class _Loader(yaml.SafeLoader):
    """Safe YAML in which a date is the text that stands there."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path, schema: type[Content]) -> Content:
    """A YAML file of a task folder, checked. Raises UsageError that names the file and each wrong field."""
    try:
        content: Any = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except FileNotFoundError:
        raise UsageError(f"{path} is missing: a task folder needs it") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not YAML ({' '.join(str(error).split())}): mend the file") from None
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        wrong = "; ".join(f"{_field(item['loc'])}: {item['msg']}" for item in error.errors())
        raise UsageError(f"{path} does not fit its schema: {wrong}") from None


def _field(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in place) or "the whole file"
