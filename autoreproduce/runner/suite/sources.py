"""Where a suite's tasks come from: a benchmark by its name, and tasks of the user's own.

A benchmark is a module with `task_names() -> list[str]` and `load_task(name, profile) -> Task`, and one line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.config import digest
from autoreproduce.errors import UsageError

if TYPE_CHECKING:
    from autoreproduce.runner.suite.schema import SuiteFile, TaskEntry
    from autoreproduce.task import Task

BENCHMARKS = {
    "reproducebench": "autoreproduce.benchmarks.reproducebench",
    "autoexperiment": "autoreproduce.benchmarks.autoexperiment",
}


@dataclass(frozen=True)
class Found:
    """A task as an attempt needs it, with the user's own paper and data where it has them."""

    task: Task
    paper: Path | None = None
    data: Path | None = None

    def content(self) -> dict[str, str]:
        """What of the user's own files bears on a trial: the paper's bytes, the names and sizes of the data."""
        import hashlib

        inputs = {}
        if self.paper is not None:
            inputs["paper"] = hashlib.sha256(self.paper.read_bytes()).hexdigest()[:16]
        if self.data is not None:
            files = sorted(path for path in self.data.rglob("*") if path.is_file())
            inputs["data"] = digest([[str(path.relative_to(self.data)), path.stat().st_size] for path in files])
        return inputs


class Tasks:
    """The tasks of one suite, by name; each is loaded when it is asked for, and not kept."""

    def __init__(self, suite: SuiteFile) -> None:
        self.suite = suite
        self._entries = {entry.name: (number, entry) for number, entry in enumerate(suite.tasks or ())}

    def names(self) -> list[str]:
        """All of them, in the file's order."""
        if self.suite.tasks is not None:
            return list(self._entries)
        chosen = {"n": self.suite.n} if self._set else {}
        return list(self._benchmark().task_names(**self._set, **chosen))

    def find(self, name: str, profile: str) -> Found:
        """One task under a profile. Raises UsageError that names the file's line."""
        number, entry = self._entries.get(name, (None, None))
        try:
            if entry is not None and entry.metric is not None:
                return self._found(entry, profile)
            task = self._benchmark().load_task(name, profile, **self._set)
            more = f"\n\n{entry.instruction}" if entry is not None and entry.instruction else ""
            return Found(task.model_copy(update={"instruction": task.instruction + more}))
        except UsageError as error:
            place = ("tasks",) if number is None else ("tasks", number)
            raise self.suite.wrong(place, str(error)) from None

    def _found(self, own: TaskEntry, profile: str) -> Found:
        from autoreproduce.runner.find import find_or_make_task

        paper, data = (path and self.suite.folder / path for path in (own.paper, own.data))
        if data is not None and not data.is_dir():
            raise UsageError(f"data {data} is no folder: name the folder that holds the data")
        return Found(find_or_make_task(own.name, own.arxiv, paper, own.metric, own.instruction, profile), paper, data)

    @property
    def _set(self) -> dict[str, Any]:
        """Where the masked tasks lie; other benchmarks have one place."""
        if self.suite.benchmark != "autoexperiment":
            return {}
        return {"where": self.suite.dataset and self.suite.folder / self.suite.dataset}

    def _benchmark(self) -> Any:
        if self.suite.benchmark not in BENCHMARKS:
            raise self.suite.wrong(("benchmark",), f"there is {', '.join(BENCHMARKS)}")
        return import_module(BENCHMARKS[self.suite.benchmark])
