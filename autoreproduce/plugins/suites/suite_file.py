"""The fields of a suite's YAML file. Unknown ones are errors; every error names its line."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    create_model,
    field_validator,
    model_validator,
)

from autoreproduce.benchmarks import OptionError, benchmark_class, open_benchmark
from autoreproduce.config import FLAGS, SECRETS, Settings
from autoreproduce.content import folder
from autoreproduce.errors import UsageError
from autoreproduce.files.shared import inside
from autoreproduce.files.unpacking import is_url
from autoreproduce.options import File, ReproduceOptions, declared
from autoreproduce.papers.paths import folder_and_main
from autoreproduce.plugins.suites.yaml_errors import Place, YamlFile, in_plain_words
from autoreproduce.runner.executors import parse_options
from autoreproduce.sandboxes import check_name

if TYPE_CHECKING:
    from autoreproduce.benchmarks import Benchmark


def _named(pattern: str, words: str) -> Any:
    """A name that fits the pattern, which `words` say to whoever writes another."""

    def check(name: str) -> str:
        if not re.fullmatch(pattern, name.strip()):
            raise ValueError(f"a name has {words}")
        return name.strip()

    return AfterValidator(check)


Name = Annotated[
    str, _named(r"[A-Za-z0-9][A-Za-z0-9._,+-]{0,79}", "letters, digits and . _ , + -, up to 80")
]
# As --task takes it, such as "Table 1 (left)"; a folder of the suite is called so.
TaskName = Annotated[str, _named(r"\w[^/\x00-\x1f\x7f]{0,79}", "up to 80 characters and no slash")]
Seconds = Annotated[float, Field(ge=0, le=1e6)]
PATHS = {"paper", "data"}  # of a task's line
NOT_SET = SECRETS | {name for name, one in FLAGS.items() if one.facts.of_one_trial}


class SuitePart(BaseModel):
    """A part of a suite: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


# A line has the task as its name. The trials, their folders and solvers are the suite's, and what
# a paper's plan will hold isn't known yet.
NOT_OF_A_LINE = {"task", "out", "trial", "solver", "experiment"}
OF_A_LINE: dict[str, Any] = {
    name: (kind, Field(option.default, description=option.help))
    for name, (kind, option) in declared(ReproduceOptions).items()
    if name not in NOT_OF_A_LINE
}
_Asked: Any = create_model("_Asked", __base__=SuitePart, **OF_A_LINE)


class TaskLine(_Asked):
    """A task by name, with what else `reproduce` takes of one (`options.ReproduceOptions`).

    Paths are relative to the suite's file.
    """

    name: TaskName

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, given: Any) -> Any:
        return {"name": given} if isinstance(given, str) else given

    @field_validator("metric", "claims", mode="before")
    @classmethod
    def _list_of_one(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given


class Variant(SuitePart):
    """One way of attempting the tasks: a solver and settings over the suite's."""

    solver: str | None = None
    settings: dict[str, Any] = {}


class SuiteFile(SuitePart):
    """A suite or a sweep: tasks × variants × trials."""

    name: Name
    description: str = ""
    benchmark: str = Field("reproducebench", description="where the tasks' names are looked up")
    options: dict[str, Any] = Field({}, description="of the benchmark, as its own schema has them")
    tasks: list[TaskLine] | None = Field(description="names, tasks of one's own, or all (None)")
    variants: dict[Name, Variant] = Field({"default": Variant()}, min_length=1)
    trials: int = Field(
        1,
        ge=1,
        le=10_000,
        description="attempts of each task under each variant, each with its own seed",
    )
    first_seed: int = Field(
        0, description="of trial 1; trial n has the seed first_seed + n - 1 under every variant"
    )
    solver: str = "autoreproduce"
    carry: list[str] = Field([], description="large files of the code that a solver code:PATH runs")
    settings: dict[str, Any] = Field({}, description="of all variants")
    executor: dict[str, dict[str, Any]] = Field(
        {"local": {}},
        description="what attempts the trials: a name, or names with their options; the first is "
        "used if --executor names none",
    )
    workers: int = Field(4, ge=1, description="trials at once")
    budget: str | None = Field(None, description="over the whole suite: dollars, tokens or calls")
    gpus_per_trial: float = Field(
        1.0,
        gt=0,
        allow_inf_nan=False,
        description="of those in settings.sandbox.gpus; 0.5 lets two trials share one",
    )
    starts: int = Field(4, ge=1, description="containers that may be starting at once")
    retry_after: list[Seconds] = Field(
        [5.0, 30.0, 120.0],
        description="seconds to wait before each further attempt of "
        "a trial that the model's endpoint, the sandbox or the disk ended",
    )
    _source: YamlFile | None = PrivateAttr(None)

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
    def _none_twice(cls, tasks: list[TaskLine] | None) -> list[TaskLine] | None:
        names = [task.name for task in tasks or ()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"these are there twice: {', '.join(twice)}")
        return tasks

    @field_validator("executor", mode="before")
    @classmethod
    def _name_or_options(cls, given: Any) -> Any:
        found = {given: {}} if isinstance(given, str) else given
        if not isinstance(found, dict) or not found:
            raise ValueError("give a name, or a name with its options: {slurm: {partition: gpu}}")
        return {str(name): options or {} for name, options in found.items()}

    @field_validator("executor")
    @classmethod
    def _known_executor(cls, given: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for name, options in given.items():
            try:
                parse_options(name, options)
            except UsageError as error:
                raise ValueError(str(error)) from None
        return given

    @property
    def folder(self) -> Path:
        """The folder of the suite's file, to which its paths are relative."""
        return self._source.path.parent if self._source else Path()

    def change_options(self, changed: dict[str, Any]) -> None:
        """What the command line says of the benchmark's options; its paths are relative to there.

        Raises UsageError where the benchmark has no such option, or it does not fit.
        """
        for key, value in changed.items():
            self.options[key] = value.resolve() if isinstance(value, Path) else value
        self.open_benchmark()

    @property
    def dataset_option(self) -> str:
        """The option of the benchmark that --dataset sets."""
        return getattr(benchmark_class(self.benchmark), "dataset_option", "dataset")

    def change_solvers(self, names: Sequence[str]) -> None:
        """Attempt the tasks by these solvers, one variant each, in place of the file's variants."""
        if each := [name.strip() for part in names for name in part.split(",") if name.strip()]:
            self.variants = {_variant_name(name): Variant(solver=name) for name in each}

    def change_executor(self, name: str | None, changed: dict[str, dict[str, Any]]) -> None:
        """What the command line says of executors and their options. Raises UsageError."""
        for each, options in changed.items():
            self.executor[each] = {**self.executor.get(each, {}), **options}
            parse_options(each, self.executor[each])
        if name is not None:
            parse_options(name, self.executor.get(name, {}))
            self.executor = {name: self.executor.get(name, {}), **self.executor}

    def open_benchmark(self) -> Benchmark:
        """The benchmark with its options; their paths are relative to the suite's file.

        Raises UsageError that names the line of what does not fit.
        """
        try:
            return open_benchmark(self.benchmark, self.options, self.path)
        except OptionError as error:
            raise self.wrong(("options", *error.place), error.option_fault) from None
        except UsageError as error:
            raise self.wrong(("benchmark",), str(error)) from None

    def asked(self, task: str) -> ReproduceOptions:
        """What `reproduce` is asked for a task: its name, and what its line says. Raises
        UsageError.
        """
        line = next((each for each in self.tasks or () if each.name == task), None)
        given = line.model_dump(exclude={"name"}, exclude_unset=True) if line else {}
        for name in PATHS & given.keys():
            given[name] = self.path(given[name])
        for name, value in given.items():
            if check := declared(ReproduceOptions)[name][1].check:
                given[name] = check(value)
        given["task"] = task
        return cast(ReproduceOptions, given)

    def place(self, task: str) -> Place:
        """Where the file names a task."""
        names = [each.name for each in self.tasks or ()]
        return ("tasks", names.index(task)) if task in names else ("tasks",)

    def path(self, named: File) -> Path:
        """What the suite's file calls so: a path is relative to it.

        One that says that it lies beside the file must lie there (UsageError).
        """
        if is_elsewhere(named):
            return Path(named)
        beside = self.folder.absolute()
        for part in folder_and_main(self.folder / named) or (self.folder / named,):
            full = Path(os.path.normpath(part.absolute()))
            if full.is_relative_to(beside):
                inside(beside, full)
        return self.folder / named

    def lies_beside(self, named: File) -> bool:
        """Whether what the file calls so lies beside it, wherever links lead. Never of a name with
        a null byte, which no path has.
        """
        if "\0" in str(named) or is_elsewhere(named):
            return False
        parts = folder_and_main(self.folder / named) or (self.folder / named,)
        return all(part.resolve().is_relative_to(self.folder.resolve()) for part in parts)

    def wrong(self, place: Place, what: str) -> UsageError:
        """The error for a field that the schema alone cannot judge."""
        field = ".".join(map(str, place))
        return UsageError(self._source.at(place, what) if self._source else f"{field}: {what}")

    @contextmanager
    def naming(self, variant: str, field: str) -> Iterator[None]:
        """UsageErrors within name the variant, and the file's line that says its `field` (`solver`,
        or a setting): the variant's own, else the suite's, else the variant.
        """
        try:
            yield
        except UsageError as error:
            own = self.variants.get(variant)
            in_settings = () if field == "solver" else ("settings",)
            given = own.model_dump() if own else {}
            where: Place = ("variants", variant)
            if field in (given.get("settings") or {}) or (field == "solver" and given.get(field)):
                where = (*where, *in_settings, field)
            elif field in self.settings or field == "solver":
                where = (*in_settings, field)
            place = (
                f"{self._source.path}, line {self._source.line(where)}, " if self._source else ""
            )
            raise UsageError(f"{place}variant {variant}: {error.what}", fix=error.fix) from None


def read_suite(path: Path) -> SuiteFile:
    """A suite's file, checked: also that each setting exists and has a value of its kind.

    `path` may be the name of one that ships: `reproducebench`, `ablations`. Raises UsageError that
    names file, line and field.
    """
    source = YamlFile(_shipped(path) if not path.is_file() and path.parent == Path() else path)
    suite = source.read(SuiteFile)
    suite._source = source
    _check_settings(suite, ("settings",), suite.settings)
    for name, variant in suite.variants.items():
        _check_settings(suite, ("variants", name, "settings"), variant.settings)
    return suite


def is_elsewhere(named: File) -> bool:
    """True for what is no path: an address that git clones, a data set of the Hub."""
    return is_url(str(named)) or str(named).startswith("hf:")


def _check_settings(suite: SuiteFile, place: Place, settings: dict[str, Any]) -> None:
    for key, value in settings.items():
        if (reason := refused(key)) is not None:
            raise suite.wrong((*place, key), reason)
        try:
            check_name(Settings.model_validate({key: value}).sandbox.name)
        except UsageError as error:
            raise suite.wrong((*place, key), str(error)) from None
        except ValueError as error:
            errors = error.errors() if hasattr(error, "errors") else [{"type": "", "msg": error}]
            what = f"{in_plain_words(errors[0])} (it is {value!r})"
            raise suite.wrong((*place, key), what) from None


def refused(key: str) -> str | None:
    """Why a suite may not set this, None if it may."""
    if key in NOT_SET:
        return {"seed": "set first_seed instead"}.get(key, "a suite cannot set this")
    known = set(FLAGS) - NOT_SET
    if key in known:
        return None
    close = difflib.get_close_matches(key, known, 1)
    return f"unknown setting{f': did you mean {close[0]}?' if close else ''}"


def _variant_name(solver: str) -> str:
    """A solver's name as that of a variant: agent:codex is agent-codex."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", solver).strip("-.")[-80:] or "solver"


def _shipped(name: Path) -> Path:
    """The file of that name in eval/suites/ or eval/sweeps/."""
    found = {path.stem: path for path in sorted(folder("eval").glob("s*s/*.yaml"))}
    if name.stem not in found:
        raise UsageError(
            f"{name} does not exist", fix=f"name a YAML file, or one that ships: {', '.join(found)}"
        )
    return found[name.stem]
