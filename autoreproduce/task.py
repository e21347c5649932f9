"""A Task: one experiment to reproduce, whoever wrote it down (a folder of `reproducebench/`, or the user)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Metric(BaseModel):
    """What is measured. `direction` says which way is better."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="its true name, and its key in metrics.json")
    paper_name: str = ""
    definition: str = ""
    unit: str = ""
    direction: Literal["lower", "higher"] = "lower"


class Result(BaseModel):
    """A number with its provenance. `low` and `high` are the band over seeds, where it was measured so."""

    model_config = ConfigDict(extra="forbid")

    value: float
    low: float | None = None
    high: float | None = None
    values: list[float] = []
    seeds: list[int] = []
    source: str = Field("", description="where it stands in print, or the command that measured it")
    date: str = ""
    machine: str = ""
    versions: str = ""
    seconds: float | None = Field(None, description="wall time of one run")
    memory_mb: float | None = None


class Task(BaseModel):
    """One experiment under one profile, ready for a solver.

    `instruction` is what the solver is told; `preprocess` is the text of the data code that it is given;
    `digest` is the paper in our words. `folder` is None for an ad-hoc task.
    """

    id: str
    arxiv_id: str | None = None
    title: str = ""
    method: str = ""
    dataset: str = ""
    metric: Metric
    instruction: str
    profile: str = "full"
    stand_in: str = Field("", description="what the data stand in for, where they are not the paper's")
    preprocess: str | None = None
    digest: str | None = None
    folder: Path | None = None
    data_dir: Path | None = None
    masked_set: Path | None = Field(None, description="the folder of the set, where the task is a masked one")
    time_limit_minutes: float = 60.0
    paper_result: Result | None = None
    published: Result | None = Field(None, description="the benchmark's published reference, full profile")
    measured: Result | None = Field(None, description="our reference implementation under this profile")
    notes: list[str] = Field([], description="what a reader of the result must know")

    @property
    def reference(self) -> Result | None:
        """What a trial is compared with: our measured reference, else the published one."""
        return self.measured or self.published
