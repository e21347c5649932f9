"""A Task: one experiment to reproduce, whoever wrote it down (a folder of `reproducebench/`, or the
user).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from autoreproduce.errors import UsageError

SEVERAL_EXPERIMENTS = (
    "Several experiments of this paper are reproduced, each as a task of its own. Write for all of "
    "them."
)


LONGEST_FOLDER = 200  # bytes of a name; a file system takes 255, and digests are added


def folder_name(name: str) -> str:
    """`name`, which a folder is called by. Raises UsageError if it would lie elsewhere, or cannot
    be one's name.
    """
    odd = name in ("", ".", "..") or not {"/", "\0"}.isdisjoint(name)
    halves = any("\ud800" <= letter <= "\udfff" for letter in name)
    if odd or halves or len(name.encode()) > LONGEST_FOLDER:
        raise UsageError(
            f"{name[:80]!r} is called as no folder can be, where its trials would lie in one",
            fix="rename it, without a slash and shorter than 200 letters",
        )
    return name


FolderName = Annotated[str, AfterValidator(folder_name)]


class Metric(BaseModel):
    """What is measured. `direction` says which way is better."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="its true name, and its key in metrics.json")
    paper_name: str = ""
    definition: str = ""
    unit: str = ""
    direction: Literal["lower", "higher"] = "lower"


class Bound(BaseModel, extra="forbid"):
    """What runs of one method have of a statistic of their predictions on the same draw.

    A side that is None tells nothing. `n`: pairs of runs that were measured, or runs where a
    statistic is of one run by itself.
    """

    low: float | None = None
    high: float | None = None
    n: int = Field(ge=3)
    source: str = Field(description="what was run, when and where, and how the bounds follow")

    def holds(self, value: float) -> bool:
        """Whether a value lies within."""
        above = self.low is None or value >= self.low
        return above and (self.high is None or value <= self.high)


class ReferenceNumber(BaseModel):
    """A number with its provenance. `low` and `high` are the band over seeds, where it was measured
    so.
    """

    model_config = ConfigDict(extra="forbid")

    value: float
    low: float | None = None
    high: float | None = None
    values: list[float] = []
    seeds: list[int] = []
    source: str = Field("", description="where it is printed, or the command that measured it")
    date: str = ""
    machine: str = ""
    versions: str = ""
    seconds: float | None = Field(None, description="wall time of one run")
    memory_mb: float | None = None

    @property
    def band(self) -> tuple[float, float] | None:
        """The band over seeds; None if it was not measured so."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class Task(BaseModel):
    """One experiment under one profile, ready for a solver.

    `instruction` is what the solver is asked; `preprocess` is the text of the data code that it is
    given; `digest` is the paper in our words. `folder` is None for an ad-hoc task.
    """

    PATHS: ClassVar = ("folder", "paper_file", "data_dir", "decoy_dir")

    id: FolderName
    benchmark: str = Field("own", description="what loads, prepares and measures it")
    benchmark_options: dict[str, Any] = Field(
        {}, description="what that benchmark must be opened with to load the task again"
    )
    writes: str = Field(
        "program", description="program, repository, or what a plugin's own tasks ask for"
    )
    arxiv_id: str | None = None
    title: str = ""
    method: str = ""
    dataset: str = ""
    experiment: str = Field("", description="the paper's own name for it, such as Table 2")
    experiments: list[str] = Field([], description="the names, if one program is for several")
    metric: Metric = Field(description="the one that counts, where there are several")
    more_metrics: list[Metric] = Field([], description="what is measured beside it")
    claims: dict[str, Any] | None = Field(
        None,
        description="the content of claims.json, where the task brings its claims; None: they are "
        "read from the paper",
    )
    user_claims: list[str] = Field([], description="as --claim gives them")
    instruction: str
    profile: FolderName = "full"
    stand_in: str = Field("", description="what the data replace, where they are not the paper's")
    preprocess: str | None = None
    digest: str | None = None
    paper_file: Path | None = Field(None, description="the paper's text, with its figures beside")
    blacklist: list[str] = Field(
        [], description="addresses whose code no attempt may use; hits are in the outcome"
    )
    folder: Path | None = None
    modules: list[str] = Field(
        [], description="what programs for this task import: the sandbox is checked for them"
    )
    data_dir: Path | None = None
    decoy_dir: Path | None = Field(
        None, description="the data with decoys for the test targets: what the run that counts sees"
    )
    time_limit_minutes: float = 60.0
    paper_result: ReferenceNumber | None = None
    published: ReferenceNumber | None = Field(
        None, description="the benchmark's published reference, full profile"
    )
    measured: ReferenceNumber | None = Field(
        None, description="our reference implementation under this profile"
    )
    agreement: dict[str, Bound] = Field(
        {}, description="of each statistic of agreement.py, what runs of the method have on a draw"
    )
    learns: bool = Field(False, description="the method learns weights, which a program hands in")
    half_band: float | None = Field(
        None, description="how far apart two runs of the method are on a draw, with 95 to 99 %"
    )
    recomputes: bool = Field(
        False, description="the benchmark recomputes the metric, from the predictions saved"
    )
    number_cannot_tell: str = Field(
        "", description="why a number alone does not show that the method is the paper's"
    )
    notes: list[str] = Field([], description="what a reader of the result must know")

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All that is measured, the metric that counts first."""
        return (self.metric, *self.more_metrics)

    def of_paper(self) -> Task:
        """For prompts about the whole paper: of a paper's several experiments without what only
        this one has, so that all of them ask the same; else the task itself.
        """
        if not self.experiment:
            return self
        alike = {"id": "paper", "experiment": "", "dataset": "", "more_metrics": []}
        return self.model_copy(
            update={**alike, "metric": Metric(name=""), "instruction": SEVERAL_EXPERIMENTS}
        )

    @property
    def wants_program(self) -> bool:
        """True if a program is to be written whose numbers are held against the paper's."""
        return self.writes == "program"

    @property
    def wants_repository(self) -> bool:
        """True if code for the whole paper is to be written, graded and without a number."""
        return self.writes == "repository"

    @property
    def wants_else(self) -> bool:
        """True if something is to be written that only the task's plugin knows (`Plugin.asks`)."""
        return not self.wants_program and not self.wants_repository

    @property
    def own(self) -> bool:
        """True for a task that its user described: it brings its data and no reference."""
        return self.benchmark == "own"

    @property
    def reference(self) -> ReferenceNumber | None:
        """What a trial is compared with: our measured reference, else the published one."""
        return self.measured or self.published
