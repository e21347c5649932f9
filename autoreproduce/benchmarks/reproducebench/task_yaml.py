"""What a task folder's YAML files may hold, and how they are read.

A task is written by people, so the schema forbids what it does not know and an error names file and
field. The number of a task means nothing without its proof; hence a profile is either measured or
says why not, and the checks against the authors' code and the known mistakes are beside the
numbers.
"""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from autoreproduce.benchmarks.reproducebench.altered import Breaking, SimpleBaseline
from autoreproduce.claims.claim import Claim
from autoreproduce.claims.replies import field_errors
from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.task import Bound, Metric, ReferenceNumber

Content = TypeVar("Content", bound=BaseModel)
_parsed = functools.lru_cache(maxsize=256)(parse_yaml)  # a suite needs a task for each trial


class TaskPart(BaseModel):
    """A part of a task folder: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class Licences(TaskPart):
    """Under what terms the paper's code and data come, in a sentence each."""

    code: str
    data: str


class Results(TaskPart):
    """Numbers that others printed: the paper's own, and the benchmark's published reference."""

    paper: ReferenceNumber | None = None
    published: ReferenceNumber | None = None


class Profile(TaskPart):
    """One size of the experiment. `measured` is our own implementation's result, or `not_run` says
    why.
    """

    instruction: str = Field(
        "", description="its special settings, appended to the task's instruction"
    )
    stand_in: str = Field("", description="what the data replace, where they are not the paper's")
    time_limit_minutes: float = Field(gt=0)
    hardware: str
    redrawn: str = Field(
        "",
        description="what of the data a secret seed makes anew for the run that counts; prepare.py "
        "draws it from its SEED",
    )
    agreement: dict[str, Bound] = Field(
        {},
        description="of each statistic of agreement.py, what runs of the method have beside the "
        "reference on the same draw; a statistic without a measured bound tells nothing",
    )
    half_band: float | None = Field(
        None,
        description="how far apart two runs of the method are on a draw, with 95 to 99 %, where "
        "that was measured on draws; else it is that of the seeds in `measured`",
    )
    shapes: dict[str, list[int]] = Field(
        {}, description="what the loader's result holds, by attribute"
    )
    measured: ReferenceNumber | None = None
    not_run: str = ""
    number_cannot_tell: str = Field(
        "",
        description="why the number alone does not show that the method is the paper's, where it "
        "does not; by the known mistakes",
    )
    notes: list[str] = []

    @model_validator(mode="after")
    def _measured_or_not(self) -> Profile:
        if (self.measured is None) == (not self.not_run):
            raise ValueError(
                "give either `measured` or the reason in `not_run`, not both and not neither"
            )
        return self


class ReferenceProof(TaskPart):
    """One check of the reference against the authors' code: outside this repository, its result
    inside.
    """

    what: str
    repository: str
    commit: str = Field(pattern="^[0-9a-f]{40}$")
    comparison: str
    result: str
    date: str


class Targets(TaskPart):
    """What the metric compares predictions with, and whether the run that counts sees it.

    `withheld`: "all" of the test targets, in whose place decoys.py puts decoys, all of those that
    are "drawn" and none of the published ones, or "none"; "samples" where there are no targets,
    since predictions are samples that are held against the training data. Not "all" has its reason
    in `why`. `files` are patterns of what the data code reads; the run that counts sees
    nothing else of the data's folder.
    """

    what: str
    withheld: Literal["all", "drawn", "none", "samples"]
    why: str = ""
    files: list[str] = []

    @model_validator(mode="after")
    def _reason_or_files(self) -> Targets:
        if (self.withheld == "all") == bool(self.why):
            raise ValueError("give in `why` why targets are not withheld, and only then")
        if self.withheld not in ("none", "samples") and not self.files:
            raise ValueError(
                "list in `files` what the run that counts sees, if targets are withheld"
            )
        return self


class Serving(TaskPart):
    """What `predict` of a program that hands in its weights is given (docs/handing-in.md)."""

    inputs: list[str] = Field(description="attributes of the loader's result, an item a row")
    array: str = Field("prediction", description="what predict returns, in the predictions file")
    together: bool = Field(
        False, description="the inputs belong together, as a graph's nodes and edges do"
    )


class TaskFile(TaskPart):
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
    preprocess: str | None = Field(
        None, description="the file with the data code that is given to the agent"
    )
    loader: str | None = Field(
        None, description="the data code's function that takes the data folder"
    )
    predictions: str | None = Field(
        None, description="the file that a program saves and metric.py reads"
    )
    learns: bool = Field(
        True, description="the method learns weights; `served` says how they are called"
    )
    served: Serving | None = None
    targets: Targets = Targets(
        what="not declared", withheld="none", why="the task does not declare its test targets"
    )
    results: Results
    claims: list[dict[str, Any]] = Field(
        [],
        description="what the paper states, with the fields of a claim (docs/claims.md); metric, "
        "direction, unit, scale and id are those of the metric where they are left out",
    )
    profiles: dict[Literal["full", "small"], Profile]
    notes: list[str] = []
    proofs: list[ReferenceProof] = []
    breaking: list[Breaking] = []
    baseline: SimpleBaseline | None = Field(
        None, description="the nearest simple baseline that the paper beats, if no known mistake is"
    )

    @model_validator(mode="after")
    def _claims_fit(self) -> TaskFile:
        for number, given in enumerate(self.claims):
            try:
                claim_of(given, self.metric)
            except ValidationError as error:
                raise ValueError(f"claims.{number}: {'; '.join(field_errors(error))}") from None
        ids = [claim.id for claim in self.paper_claims]
        if twice := next((one for one in ids if ids.count(one) > 1), None):
            raise ValueError(f"claims: the id {twice} is given to several: give each its own")
        return self

    @property
    def paper_claims(self) -> tuple[Claim, ...]:
        """The claims that it lists."""
        return tuple(claim_of(given, self.metric) for given in self.claims)

    @property
    def names(self) -> list[str]:
        """Every name that the task answers to."""
        return [self.id, self.dataset, self.method, *self.aliases]


def claim_of(given: dict[str, Any], metric: Metric) -> Claim:
    """A claim of task.yaml; what it leaves out is the task's metric's.

    Raises ValidationError for a field that is unknown, missing or wrong.
    """
    fraction = "fraction" if "fraction" in metric.unit else "raw"
    scale = "percent" if metric.unit == "percent" else fraction
    metrics = {
        "id": metric.name,
        "metric": metric.name,
        "direction": metric.direction,
        "unit": "" if metric.unit.startswith("none") else metric.unit,
        "scale": scale,
    }
    return Claim.model_validate({**metrics, **given, "source": "task"})


def read_yaml(path: Path, schema: type[Content]) -> Content:
    """A YAML file of a task folder, checked. Raises UsageError that names the file and each wrong
    field.
    """
    try:
        content = copy.deepcopy(_parsed(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(f"{path} is missing", fix="a task folder needs it") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(
            f"{path} is not YAML ({' '.join(str(error).split())})", fix="fix the file"
        ) from None
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        wrong = "; ".join(f"{_field(item['loc'])}: {item['msg']}" for item in error.errors())
        raise UsageError(f"{path} does not fit its schema: {wrong}") from None


def _field(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in place) or "the whole file"
