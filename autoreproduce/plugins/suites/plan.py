"""From a suite's file to its trials: their names, their folders, and what determines each.

A planned trial is a few words, however large its task: 200 that wait have no papers and no settings
in memory. Its line of the file becomes a Job as the options of `reproduce` do, and it is identified
by the digest of all that determines it: what its Job decides, the prompts, and the solver's source.
Trial n has the same seed under every variant, so that variants are compared in pairs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from autoreproduce.config import Settings, digest
from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.job import Job, Program
from autoreproduce.plugins.suites.suite_file import SuiteFile, refused
from autoreproduce.runner.api import reproduce_job
from autoreproduce.runner.settings import load_settings
from autoreproduce.solvers import source_digest
from autoreproduce.task import folder_name

PLUGIN = "suites"  # its section in a Job


@dataclass(frozen=True, slots=True)
class Planned:
    """One trial of a suite, not yet attempted or attempted already.

    `digest` is of all that determines it, where that is known.
    """

    task: str
    variant: str
    number: int
    digest: str = field(default="", compare=False)

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
    """All trials of a suite, and the Job of each."""

    def __init__(self, suite: SuiteFile, changed: dict[str, Any] | None = None) -> None:
        self.suite = suite
        self.changed = changed or {}
        self.benchmark = suite.open_benchmark()
        self.trials: list[Planned] = []
        self._settings: dict[str, Settings] = {}
        self._read: tuple[Any, Job] | None = None  # the task read last, and what was asked of it
        from autoreproduce.agents.prompts import Prompts

        self._prompts = Prompts().digest()
        self._sources: dict[str, str] = {}  # by solver

    def tasks(self) -> list[str]:
        """The names of all tasks, in the file's order."""
        named = self.suite.tasks
        return self.benchmark.names() if named is None else [line.name for line in named]

    def choose(
        self, tasks: Sequence[str] = (), variants: Sequence[str] = (), trials: int | None = None
    ) -> None:
        """Fill `trials` with the tasks and variants named (all if none is), number by number.

        Raises UsageError for names that the suite does not have, and if --set would change what
        defines a variant.
        """
        names = _chosen("--tasks", tasks, self.tasks())
        chosen = _chosen("--variants", variants, list(self.suite.variants))
        for name in chosen:
            self._check_changed(name)
        found = []
        for task in names:
            for variant in chosen:
                parts = self.parts(self.job(task, variant), variant)
                for number in range(1, (trials or self.suite.trials) + 1):
                    seeded = digest({**parts, "settings seed": self.seed(number)})
                    found.append(Planned(task, variant, number, seeded))
        self.trials += sorted(found, key=lambda trial: trial.number)

    def settings(self, variant: str, number: int = 1) -> Settings:
        """The settings of a trial: the suite's, then --set's, the variant's own, and the seed."""
        if variant not in self._settings:
            own = self.suite.variants[variant].settings
            with self.suite.naming(variant, next(iter(own), "")):
                given = {**self.suite.settings, **self.changed, **own}
                self._settings[variant] = load_settings(given)
        return self._settings[variant].model_copy(update={"seed": self.seed(number)})

    def seed(self, number: int) -> int:
        """That of a trial by its number, under every variant."""
        return self.suite.first_seed + number - 1

    def solver(self, variant: str) -> str:
        """The name of the solver under a variant."""
        return self.suite.variants[variant].solver or self.suite.solver

    def job(self, task: str, variant: str, number: int = 1) -> Job:
        """What is asked for by a trial, as `reproduce` is by the same options. Raises UsageError
        that names the file's line.
        """
        settings, solver = self.settings(variant, number), self.solver(variant)
        carry, name = tuple(self.suite.carry), solver.partition(":")[2]
        return self._asked(task, settings).having(
            settings=settings,
            solver=solver,
            number=number,
            program=Program(code=name, carry=carry) if carry else None,
        )

    def _asked(self, task: str, settings: Settings) -> Job:
        """A task's Job, with digests of what it holds; the last is kept, for the other variants."""
        wanted = (task, settings.profile)
        if self._read is None or self._read[0] != wanted:
            try:
                job = reproduce_job(settings, "", self.benchmark, **self.suite.asked(task))
            except UsageError as error:
                raise self.suite.wrong(self.suite.place(task), str(error)) from None
            self._read = wanted, job.having(digests=job.fixed().digests)
        return self._read[1]

    def parts(self, job: Job, variant: str) -> dict[str, Any]:
        """All that determines a trial: what a folder that is resumed must agree in."""
        if job.solver not in self._sources:
            with self.suite.naming(variant, "solver"):
                self._sources[job.solver] = source_digest(job.solver)
        source = self._sources[job.solver]
        return {
            **job.decides(),
            "prompts": self._prompts,
            **({"solver's source": source} if source else {}),
        }

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
