"""From a suite's file to its trials: their names, their folders, and what determines each.

A planned trial is a few words, however large its task: 200 that wait have no papers and no settings
in memory. Each is identified by the digest of all that determines it: task, solver, settings with
the models, prompts, and its number (which is its seed). Trial n has the same seed under every
variant, so that variants are compared in pairs.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from autoreproduce.config import Settings, digest, sha256_of
from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.files.shared import check_tree
from autoreproduce.job import task_digest
from autoreproduce.plugins.suites.suite_file import SuiteFile, TaskEntry, refused
from autoreproduce.runner.settings import load_settings
from autoreproduce.solvers import source_digest
from autoreproduce.task import Task, folder_name


@dataclass(frozen=True)
class SuiteTask:
    """A task as an attempt needs it, with the user's own paper and data where it has them."""

    task: Task
    paper: Path | None = None
    data: Path | None = None

    def content(self) -> dict[str, str]:
        """What of the user's own files affects a trial: the paper's bytes, the names and sizes of
        the data.
        """
        inputs = {}
        if self.paper is not None:
            inputs["paper"] = sha256_of(self.paper)[:16]
        if self.data is not None:
            files = sorted(path for path in self.data.rglob("*") if path.is_file())
            inputs["data"] = digest(
                [[str(path.relative_to(self.data)), path.stat().st_size] for path in files]
            )
        return inputs


class Tasks:
    """The tasks of one suite, by name; each is loaded when it is asked for, and not held."""

    def __init__(self, suite: SuiteFile) -> None:
        self.suite = suite
        self.benchmark = suite.open_benchmark()
        self._entries = {
            entry.name: (number, entry) for number, entry in enumerate(suite.tasks or ())
        }

    def names(self) -> list[str]:
        """All of them, in the file's order."""
        return list(self._entries) if self.suite.tasks is not None else self.benchmark.names()

    def find(self, name: str, profile: str) -> SuiteTask:
        """One task under a profile. Raises UsageError that names the file's line."""
        from autoreproduce.runner.find import with_claims

        number, entry = self._entries.get(name, (None, None))
        try:
            if entry is not None and entry.metric is not None:
                return self._own(entry, profile)
            task = self.benchmark.load(name, profile)
            more = f"\n\n{entry.instruction}" if entry is not None and entry.instruction else ""
            task = task.model_copy(update={"instruction": task.instruction + more})
            return SuiteTask(with_claims(task, entry.claims if entry is not None else ()))
        except UsageError as error:
            place = ("tasks",) if number is None else ("tasks", number)
            raise self.suite.wrong(place, str(error)) from None

    def _own(self, own: TaskEntry, profile: str) -> SuiteTask:
        """A task that the entry itself describes, with its paper and data."""
        from autoreproduce.runner.find import find_or_make_task

        paper, data = (path and self.suite.path(path) for path in (own.paper, own.data))
        if data is not None and not data.is_dir():
            raise UsageError(
                f"data {data} isn't a folder", fix="name the folder that holds the data"
            )
        if data is not None:
            check_tree(data)
        return SuiteTask(
            find_or_make_task(
                own.name, own.arxiv, paper, own.metric, own.instruction, profile, own.claims
            ),
            paper,
            data,
        )


PLUGIN = "suites"  # its section in a Job


@dataclass(frozen=True, slots=True)
class Planned:
    """One trial of a suite, not yet attempted or attempted already."""

    task: str
    variant: str
    number: int
    digest: str

    def __post_init__(self) -> None:
        """Raises UsageError for a task's name that is no folder's: a set of others gives it."""
        folder_name(self.task)

    def folder(self, suite: Path) -> Path:
        """Its folder below the suite's."""
        return suite / "trials" / self.key

    @property
    def key(self) -> str:
        """As "lsm/no-lineage/2"."""
        return f"{self.task}/{self.variant}/{self.number}"

    @property
    def words(self) -> str:
        """As "lsm · no-lineage · 2"."""
        return f"{self.task} · {self.variant} · {self.number}"


class Plan:
    """All trials of a suite, and how to make the request of each."""

    def __init__(self, suite: SuiteFile, changed: dict[str, Any] | None = None) -> None:
        self.suite = suite
        self.changed = changed or {}
        self.tasks = Tasks(suite)
        self.trials: list[Planned] = []
        self._settings: dict[str, Settings] = {}
        self._identities: dict[str, dict[str, Any]] = {}
        self._task_digests: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}
        from autoreproduce.agents.prompts import Prompts

        self._prompts = Prompts().digest()
        self._sources: dict[str, str] = {}  # by solver

    def choose(
        self, tasks: Sequence[str] = (), variants: Sequence[str] = (), trials: int | None = None
    ) -> None:
        """Fill `trials` with the tasks and variants named (all if none is), number by number.

        Raises UsageError for names that the suite does not have, and if --set would change what
        defines a variant.
        """
        names = _chosen("--tasks", tasks, self.tasks.names())
        chosen = _chosen("--variants", variants, list(self.suite.variants))
        for name in chosen:
            self._check_changed(name)
        for number in range(1, (trials or self.suite.trials) + 1):
            for task in names:
                for variant in chosen:
                    self.trials.append(
                        Planned(task, variant, number, digest(self.parts(task, variant, number)))
                    )

    def settings(self, variant: str, number: int = 1) -> Settings:
        """The settings of a trial: the suite's, then --set's, the variant's own, and the seed."""
        if variant not in self._settings:
            own = self.suite.variants[variant].settings
            with self.suite.naming(variant, next(iter(own), "")):
                given = {**self.suite.settings, **self.changed, **own}
                self._settings[variant] = load_settings(given)
            self._identities[variant] = self._settings[variant].identity()
        return self._settings[variant].model_copy(
            update={"seed": self.suite.first_seed + number - 1}
        )

    def solver(self, variant: str) -> str:
        """The name of the solver under a variant."""
        return self.suite.variants[variant].solver or self.suite.solver

    def parts(self, task: str, variant: str, number: int) -> dict[str, Any]:
        """All that affects a trial: what a folder that is resumed must agree in."""
        seed = self.settings(variant, number).seed
        identity = {**self._identities[variant], "seed": seed}
        content, inputs = self._content(task, identity["profile"])
        solver = self.solver(variant)
        if solver not in self._sources:
            with self.suite.naming(variant, "solver"):
                self._sources[solver] = source_digest(solver)
        source = self._sources[solver]
        return {
            "solver": solver,
            **({"solver's source": source} if source else {}),
            **({"carry": self.suite.carry} if self.suite.carry else {}),
            "task content": content,
            "prompts": self._prompts,
            **{f"task's {name}": value for name, value in inputs.items()},
            **{f"settings {name}": value for name, value in identity.items()},
        }

    def mark(self, planned: Planned) -> str:
        """A trial's place in the suite, as its job.json has it."""
        head = {
            "suite": self.suite.name,
            "task": planned.task,
            "variant": planned.variant,
            "number": planned.number,
        }
        parts = self.parts(planned.task, planned.variant, planned.number)
        return json.dumps({**head, "digest": planned.digest, "parts": parts}, indent=1)

    def _content(self, task: str, profile: str) -> tuple[str, dict[str, str]]:
        if (task, profile) not in self._task_digests:
            found = self.tasks.find(task, profile)
            self._task_digests[task, profile] = (task_digest(found.task), found.content())
        return self._task_digests[task, profile]

    def _check_changed(self, variant: str) -> None:
        both = sorted(self.changed.keys() & self.suite.variants[variant].settings.keys())
        if both:
            raise UsageError(
                f"--set {both[0]} would not reach the variant {variant}, which sets {both[0]} "
                "itself",
                fix="choose others with --variants, or change the suite's file",
            )


def parse_changes(given: Iterable[str]) -> dict[str, Any]:
    """`key=value` of --set, each value read as YAML. Raises UsageError."""
    changes = {}
    for each in given:
        key, equals, value = each.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            raise UsageError(f"--set {each}", fix="write key=value, e.g. --set k=5")
        if (reason := refused(key)) is not None:
            raise UsageError(f"--set {key}: {reason}")
        changes[key] = _yaml_or_text(value)
    return changes


def split_changes(given: Iterable[str]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The `executor.NAME.OPTION=value` of --set by executor, and the others as `parse_changes`.

    Raises UsageError.
    """
    of_executors: dict[str, dict[str, Any]] = {}
    others = []
    for each in given:
        key, equals, value = each.partition("=")
        first, *rest = key.strip().split(".")
        if first != "executor":
            others.append(each)
        elif not equals or len(rest) != 2:
            raise UsageError(f"--set {each}", fix="write executor.NAME.OPTION=value")
        else:
            of_executors.setdefault(rest[0], {})[rest[1]] = _yaml_or_text(value)
    return of_executors, parse_changes(others)


def _yaml_or_text(value: str) -> Any:
    try:
        return parse_yaml(value)
    except (yaml.YAMLError, ValueError):
        return value


def _chosen(flag: str, wanted: Sequence[str], there: list[str]) -> list[str]:
    """Those of `there` that are wanted, in its order; a wanted name may be a list with commas."""
    if not wanted:
        return there
    names = set(_split(wanted, there))
    if unknown := names - set(there):
        raise UsageError(
            f"{flag}: the suite has no {', '.join(sorted(unknown))}",
            fix=f"it has {', '.join(there)}",
        )
    return [name for name in there if name in names]


def _split(wanted: Sequence[str], there: list[str]) -> Iterator[str]:
    """The names in lists with commas between; a name may have commas itself: the longest counts."""
    for each in wanted:
        parts = [part.strip() for part in each.split(",") if part.strip()]
        while parts:
            sizes = range(len(parts), 0, -1)
            size = next((n for n in sizes if ",".join(parts[:n]) in there), 1)
            yield ",".join(parts[:size])
            parts = parts[size:]
