"""What a suite's YAML file may hold. Unknown fields are errors, and every error names file, line and field."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StringConstraints, field_validator, model_validator

from autoreproduce.config import Limits, Settings
from autoreproduce.content import folder
from autoreproduce.errors import UsageError
from autoreproduce.runner.suite.lines import Place, Source

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._,+-]*$", max_length=80)]
Seconds = Annotated[float, Field(ge=0, le=1e6)]
# Secrets come from the environment, and what follows is the runner's own to say.
NOT_SET = {"api_key", "github_token", "runs_dir", "record", "seed"}


class Strict(BaseModel):
    """A part of a suite: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


class TaskEntry(Strict):
    """A task: a name that the benchmark knows, or, with a metric, one of the user's own as `reproduce` takes it.

    Paths are relative to the suite's file.
    """

    name: Name
    metric: str | None = Field(None, description="NAME, or NAME:higher")
    arxiv: str | None = None
    paper: Path | None = None
    data: Path | None = None
    instruction: str = ""

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, given: Any) -> Any:
        return {"name": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _own_has_a_metric(self) -> TaskEntry:
        if self.metric is None and (self.paper or self.data or self.arxiv):
            raise ValueError("a task of your own needs its metric: NAME, or NAME:higher")
        return self


class Variant(Strict):
    """One way of attempting the tasks: a solver and settings over the suite's."""

    solver: str | None = None
    settings: dict[str, Any] = {}


class SuiteFile(Strict):
    """A suite or a sweep: tasks × variants × trials."""

    name: Name
    description: str = ""
    benchmark: str = Field("reproducebench", description="where the tasks' names are looked up")
    dataset: Path | None = Field(
        None, description="of autoexperiment: the set's folder; the one that ships where unset"
    )
    n: list[int] = Field([1], description="of autoexperiment, where tasks is `all`: how many functions are masked")
    tasks: list[TaskEntry] | None = Field(description="names, tasks of one's own, or all (None)")
    variants: dict[Name, Variant] = Field({"default": Variant()}, min_length=1)
    trials: int = Field(1, ge=1, description="attempts of each task under each variant, each with its own seed")
    first_seed: int = Field(0, description="of trial 1; trial n has the seed first_seed + n - 1 under every variant")
    solver: str = "autoreproduce"
    settings: dict[str, Any] = Field({}, description="of all variants")
    workers: int = Field(4, ge=1, description="trials at once")
    budget: str | None = Field(None, description="over the whole suite: dollars or tokens")
    gpus_per_trial: float = Field(
        1.0, gt=0, allow_inf_nan=False, description="of those in settings.gpus; 0.5 lets two trials share one"
    )
    starts: int = Field(4, ge=1, description="containers that may be starting at once")
    retry_after: list[Seconds] = Field([5.0, 30.0, 120.0], description="seconds to wait before each further attempt of "
                                     "a trial that the model's endpoint, the sandbox or the disk ended")  # fmt: skip
    _source: Source | None = PrivateAttr(None)

    @field_validator("tasks", mode="before")
    @classmethod
    def _all_or_some(cls, given: Any) -> Any:
        if given == "all":
            return None
        if not isinstance(given, list) or not given:
            raise ValueError("give a list of tasks, or all")
        return given

    @field_validator("tasks")
    @classmethod
    def _none_twice(cls, tasks: list[TaskEntry] | None) -> list[TaskEntry] | None:
        names = [task.name for task in tasks or ()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"these stand there twice: {', '.join(twice)}")
        return tasks

    @property
    def folder(self) -> Path:
        """Where the file lies: what its paths are relative to."""
        return self._source.path.parent if self._source else Path()

    def masked(self, dataset: Path | None, n: Sequence[str]) -> None:
        """What the command line says of masked tasks. Raises UsageError where the suite has none, or n is no number."""
        if (dataset or n) and self.benchmark != "autoexperiment":
            raise UsageError("--dataset and --n are for suites of autoexperiment: leave them out")
        if wrong := [each for each in n if not each.isdecimal()]:
            raise UsageError(f"--n {wrong[0]} is no number: write e.g. --n 1,2")
        self.dataset = dataset.resolve() if dataset else self.dataset
        self.n = [int(each) for each in n] or self.n

    def wrong(self, place: Place, what: str) -> UsageError:
        """The error for a field that the schema alone cannot judge."""
        return UsageError(self._source.at(place, what) if self._source else f"{'.'.join(map(str, place))}: {what}")


def read_suite(path: Path) -> SuiteFile:
    """A suite's file, checked: also that each setting exists and has a value of its kind.

    `path` may be the name of one that ships: `reproducebench`, `ablations`. Raises UsageError that names file, line
    and field.
    """
    source = Source(_shipped(path) if not path.is_file() and path.parent == Path() else path)
    suite = source.read(SuiteFile)
    suite._source = source
    _check_settings(suite, ("settings",), suite.settings)
    for name, variant in suite.variants.items():
        _check_settings(suite, ("variants", name, "settings"), variant.settings)
    return suite


def _check_settings(suite: SuiteFile, place: Place, settings: dict[str, Any]) -> None:
    for key, value in settings.items():
        if (reason := refused(key)) is not None:
            raise suite.wrong((*place, key), reason)
        kind: type[BaseModel] = Limits if key in Limits.model_fields else Settings
        try:
            kind.__pydantic_validator__.validate_assignment(kind.model_construct(), key, value)
        except ValueError as error:
            told = error.errors()[0] if hasattr(error, "errors") else {"msg": str(error)}
            raise suite.wrong((*place, key), f"{told['msg']} (it is {value!r})") from None


def refused(key: str) -> str | None:
    """Why a suite may not set this, None where it may."""
    if key in NOT_SET:
        return {"seed": "the suite's first_seed says it"}.get(key, "this is not a suite's to set")
    known = {*Settings.model_fields, *Limits.model_fields} - NOT_SET - {"limits"}
    if key in known:
        return None
    close = difflib.get_close_matches(key, known, 1)
    return f"there is no such setting{f': did you mean {close[0]}?' if close else ''}"


def _shipped(name: Path) -> Path:
    """The suite or sweep of that name in the folder `eval`."""
    found = {path.stem: path for path in sorted(folder("eval").glob("s*s/*.yaml"))}  # suites/ and sweeps/
    if name.stem not in found:
        raise UsageError(f"{name} does not exist: name a YAML file, or one that ships: {', '.join(found)}")
    return found[name.stem]
