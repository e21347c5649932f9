"""Where a suite's tasks come from: its benchmark by their names, and tasks of the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.config import digest
from autoreproduce.errors import UsageError
from autoreproduce.files.shared import check_tree

if TYPE_CHECKING:
    from autoreproduce.runner.suite.schema import SuiteFile, TaskEntry
    from autoreproduce.task import Task


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
        import hashlib

        inputs = {}
        if self.paper is not None:
            inputs["paper"] = hashlib.sha256(self.paper.read_bytes()).hexdigest()[:16]
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
            raise UsageError(f"data {data} is no folder", fix="name the folder that holds the data")
        if data is not None:
            check_tree(data)
        return SuiteTask(
            find_or_make_task(
                own.name, own.arxiv, paper, own.metric, own.instruction, profile, own.claims
            ),
            paper,
            data,
        )
