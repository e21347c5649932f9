"""A Job: what the user asked for.

A command line, a call in Python, a line of a suite, an MCP call, a button of `view` and `resume`
each build one, and nothing else carries options. It lies in the trial's folder as `job.json`,
without secrets. What isn't data (who watches, a budget that trials share) is a
`runner.runtime.Runtime`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    field_validator,
)

from autoreproduce.config import FLAGS, SECRETS, Settings, digest, sha256_of
from autoreproduce.errors import TrialError, UsageError, shown
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.handed_over import named_tape
from autoreproduce.files.shared import read_plain
from autoreproduce.files.unpacking import at_revision
from autoreproduce.options import PointsSource
from autoreproduce.task import Task

FILE = "job.json"
EXTERNAL = "external"  # the solver that runs a program from outside as it is told
# Of a program: what makes its trial another one. Its files' contents count by their digests.
HOW_IT_IS_RUN = {"run", "metric_from", "data_at", "carry", "system"}
Section = TypeVar("Section", bound=BaseModel)
# Of a task: what doesn't affect a trial. Where it lies, and what others measured.
BESIDE_THE_POINT: set[str] = set(
    {"folder", "modules", "paper_file", "benchmark_options", "data_dir", "decoy_dir"}
    | {"recomputes"}  # the instruction asks for the predictions
    | {"paper_result", "published", "measured", "notes"}
    | {"number_cannot_tell"}
)


def _path(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("a path has no null byte")
    return path


File = Annotated[Path, AfterValidator(_path)]


class JobPart(BaseModel):
    """A part of a Job: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Program(JobPart):
    """Code that exists, and how it is run."""

    code: str = Field(description="a file, folder, archive, git URL or trial")
    run: str | None = Field(None, description="the command; None: it isn't run")
    metric_from: tuple[str, ...] = Field((), description="FILE:KEY of each number")
    data_at: str = Field("", description="where it expects its data")
    requirements: File | None = Field(None, description="the file of its packages")
    beside: tuple[File, ...] = Field((), description="the user's files that lie beside it")
    carry: tuple[str, ...] = Field((), description="its large files that the run needs")
    system: str | None = Field(None, description="who wrote it, as tables name it")
    draw: str = Field("", description="the secret seed of the data; else new")

    @property
    def name(self) -> str:
        """The last of the path or the address that it's at, which names a trial without a task."""
        address, _ = at_revision(self.code)
        last = re.split(r"[/:]", address.rstrip("/"))[-1].removesuffix(".git")
        return last or "code"


class Judging(JobPart):
    """How a program is scored."""

    levels: tuple[str, ...] = Field((), description="all that can be, if empty")
    judges: tuple[str, ...] = Field((), description="models' names")
    repeats: int = Field(1, ge=1, description="readings by each judge")
    points: PointsSource | None = Field(
        None, description="where key points come from; None: the paper if it's at hand"
    )
    reference: str | None = Field(None, description="the user's own reference program")


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Job(JobPart):
    """What the user asked for.

    `task` is None for several `experiments` of a paper, and for a trial that names its own.
    """

    task: Task | None = None
    arxiv: str | None = Field(None, description="the paper's id, where no task has it")
    paper: File | None = Field(None, description="the paper's file")
    experiments: tuple[str, ...] = Field((), description="names in the paper's plan, main, all")
    program: Program | None = None
    judging: Judging | None = None
    solver: str = "autoreproduce"
    settings: Settings = Settings()
    number: int = Field(1, ge=1, description="which attempt of the same")
    instruction: str = Field("", description="of several experiments: what else a model must know")
    data: File | None = None
    tape: File | None = Field(None, description="the file of the model tape:FILE")
    paper_folder: File | None = Field(
        None, description="the folder of a paper whose trials share replies"
    )
    out: File | None = Field(None, description="the trial's folder, if the user named it")
    command: str = Field("", description="as it was typed")
    created: str = Field(default_factory=now)
    digests: dict[str, str] = Field(
        {}, description="of the task, and of what the paper and the data hold"
    )
    left_out: tuple[str, ...] = Field(
        (), description="settings that hold a password: given, and not stored"
    )
    more: dict[str, Any] = Field({}, description="a section for each plugin that has one")

    @field_validator("settings", mode="before")
    @classmethod
    def _by_flag_alone(cls, given: Any) -> Any:
        """A stored Job names settings by their flags: a whole section would bring others in."""
        if isinstance(given, dict):
            for name, value in given.items():
                if name not in FLAGS or isinstance(value, dict | list):
                    raise ValueError(f"{name[:80]!r} isn't a setting that it may have")
        return given

    @field_validator("more")
    @classmethod
    def _sections(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Each section by the schema that its plugin declares."""
        from autoreproduce.extensions import found_at, installed

        read: dict[str, Any] = {}
        for name, section in given.items():
            plugin = installed().get(name)
            if plugin is None or not plugin.job:
                raise ValueError(f"there is no plugin {name} that adds to a job")
            schema: type[BaseModel] = found_at(plugin.job)
            read[name] = section if isinstance(section, schema) else schema.model_validate(section)
        return read

    @field_serializer("task")
    def _task_without_defaults(self, task: Task | None) -> dict[str, Any] | None:
        """Shorter, and the same in a later version that has more fields."""
        if task is None:
            return None
        return task.model_dump(mode="json", exclude={"digest"}, exclude_defaults=True)

    @field_serializer("settings")
    def _settings_without_secrets(self, settings: Settings) -> dict[str, Any]:
        return stored_settings(settings)

    @field_serializer("more")
    def _sections_as_data(self, more: dict[str, BaseModel]) -> dict[str, Any]:
        return {name: section.model_dump(mode="json") for name, section in more.items()}

    def section(self, plugin: str, schema: type[Section]) -> Section:
        """A plugin's own section. Raises UsageError if there is none."""
        found = self.more.get(plugin)
        if not isinstance(found, schema):
            raise UsageError(
                f"the job has no section {plugin}", fix="it belongs to another command"
            )
        return found

    @property
    def of_task(self) -> Task:
        """The task. Raises UsageError without one."""
        if self.task is None:
            raise UsageError("the job names no task", fix="add --task NAME")
        return self.task

    @property
    def of_program(self) -> Program:
        """The program. Raises UsageError without one."""
        if self.program is None:
            raise UsageError("the job names no program", fix="name a file, folder or git URL")
        return self.program

    @property
    def to_judge(self) -> Judging:
        """How the program is scored."""
        return self.judging or Judging()

    @property
    def system(self) -> str:
        """Who wrote the program, as tables and pages name it: the solver, or the name that was
        given to one from outside, else the last of where it is.
        """
        if self.program is None or self.program.system:
            return (self.program.system if self.program else None) or self.solver
        named = "/".join(PurePosixPath(self.program.code.rsplit("@", 1)[0]).parts[-2:])
        return f"code {named.removesuffix('.git')}"

    def having(self, **changes: Any) -> Job:
        """This Job with other values for some fields, checked."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return Job(**{**fields, **changes})

    def fixed(self) -> Job:
        """As it is stored: files by absolute paths, with digests of what they hold.

        What was fixed before stays: a file may have moved since.
        """
        named = named_tape(self.settings.model.name)
        held = {"paper": self.paper, "data": self.data if self.task and self.task.own else None}
        program = self.program
        if program is not None:
            held |= {"requirements": program.requirements}
            held |= {f"beside {path.name}": path for path in program.beside}
            files = {"requirements": _absolute(program.requirements)}
            beside = tuple(path.resolve() for path in program.beside)
            program = program.model_copy(update={**files, "beside": beside})
        new = {name: path for name, path in held.items() if path and name not in self.digests}
        digests = {**self.digests, **{name: _content_digest(path) for name, path in new.items()}}
        if self.task is not None:
            digests.setdefault("task", task_digest(self.task))
        return self.having(
            paper=_absolute(self.paper),
            paper_folder=_absolute(self.paper_folder),
            data=_absolute(self.data),
            program=program,
            tape=self.tape or (_absolute(Path(named)) if named else None),
            command=shown(self.command),
            digests=digests,
            left_out=self.left_out or with_passwords(self.settings),
        )

    def decides(self) -> dict[str, Any]:
        """All that decides the result, in the user's words. Where files lie, what may be spent and
        what else `config.MACHINE` names may differ when a trial is resumed.
        """
        job, task = self.fixed(), self.of_task
        given = job.program.model_dump(include=HOW_IT_IS_RUN) if job.program else {}
        asked = {
            "task": task.id,
            "solver": job.solver,
            **{f"program's {name}": value for name, value in given.items() if value},
        }
        if self.solver == EXTERNAL:  # no setting and no paper reaches it
            content = digest([task.profile, task.instruction, *task.user_claims])
            held = {name: of for name, of in job.digests.items() if name not in ("task", "paper")}
            return {**asked, **held, "task content": content}
        return {
            **asked,
            "task content": job.digests["task"],
            **{name: of for name, of in job.digests.items() if name != "task"},
            **{f"settings {name}": value for name, value in job.settings.identity().items()},
        }

    def folder(self) -> Path:
        """The trial's: as named, else RUNS/TASK-PROFILE-DIGEST, the same for the same Job."""
        if self.out is not None:
            return self.out
        number = f"-{self.number}" if self.number > 1 else ""
        name = f"{self.of_task.id}-{self.of_task.profile}-{digest(self.decides())[:8]}{number}"
        return self.settings.runs_dir / name


def task_digest(task: Task) -> str:
    """Of what in a task affects a trial."""
    later = {"experiment", "blacklist"}  # left out if empty
    unset = {name for name in later if not getattr(task, name)}
    return digest(task.model_dump(mode="json", exclude={*BESIDE_THE_POINT, *unset}))


def read_job(path: Path) -> Job:
    """The Job in a file. Raises TrialError that names the field, and never quotes the file."""
    try:
        return Job.model_validate(parse_json(read_plain(path)))
    except FileNotFoundError:
        raise TrialError(
            f"{path.parent} has no {FILE}: it was made by an earlier version, or isn't a trial",
            fix="look at it with the version that made it, or start another trial",
        ) from None
    except (ValueError, RecursionError) as error:  # also UnicodeDecodeError
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        place = ".".join(map(str, first["loc"])) if first else ""
        # pydantic quotes the value alone in what it says of a value that we refuse
        why = f"{place}: {first['msg']}" if first else "no JSON"
        raise TrialError(
            f"{path} cannot be read ({why})", fix="restore it, or start another trial"
        ) from None


def stored_settings(settings: Settings) -> dict[str, Any]:
    """All that decides a result, and what else was given, as JSON without secrets."""
    flat = settings.flat()
    kept_back = {*SECRETS, "record", *with_passwords(settings)}
    given = {name: flat[name] for name in settings.given() - kept_back if flat[name] is not None}
    paths = {name: str(each.absolute()) for name, each in given.items() if isinstance(each, Path)}
    return dict(sorted({**given, **paths, **settings.identity()}.items()))


def with_passwords(settings: Settings) -> tuple[str, ...]:
    """The settings that are an address with a password: a user alone may be a token."""
    texts = {name: value for name, value in settings.flat().items() if isinstance(value, str)}
    return tuple(sorted(name for name, text in texts.items() if re.match(r"\w+://[^/?#]*@", text)))


def _absolute(path: Path | None) -> Path | None:
    return path if path is None or str(path).startswith("hf:") else path.resolve()


def _content_digest(path: Path) -> str:
    """Of a file's bytes; of a folder, the names and sizes of the files in it."""
    if not path.exists():
        folder, _, main = str(path).rpartition(":")  # FOLDER:MAIN, or a data set of the Hub
        return digest([main, _content_digest(Path(folder))] if folder else str(path))
    if path.is_file():
        return sha256_of(path)[:16]
    files = sorted(each for each in path.rglob("*") if each.is_file())
    return digest([[str(each.relative_to(path)), each.stat().st_size] for each in files])
