"""A trial in short: what it is and how it ended, as lists, estimates, rows and suites need it.

The files may be another person's, of another version, or damaged: what can't be read is None, which
`problems` says, and nothing raises. Whoever needs the journal too opens the folder by `Trial.read`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from autoreproduce.errors import AutoReproduceError, TrialError, UsageError
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.job import FILE as JOB
from autoreproduce.trials.chain import TRIAL
from autoreproduce.trials.folders import trials_below
from autoreproduce.trials.metrics_file import MAX_BYTES
from autoreproduce.trials.result import Result, read_result
from autoreproduce.trials.trial import TrialRecord, read_record

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class TrialSummary:
    """The record and the result of a trial's folder, each read when it is first asked for."""

    folder: Path
    problems: list[str] = field(default_factory=list, compare=False)

    @cached_property
    def record(self) -> TrialRecord | None:
        """What the trial is."""
        if own_text(self.folder / TRIAL) is None:
            return None
        try:
            return read_record(self.folder)
        except (TrialError, UsageError, OSError) as error:
            said = error.what if isinstance(error, AutoReproduceError) else error.strerror
            name = JOB if JOB in str(error) else TRIAL
            self.problems.append(f"{name} is damaged ({said}) and was left out.")
            return None

    @cached_property
    def result(self) -> Result | None:
        """How it ended, None too of one that has not."""
        try:
            return read_result(self.folder)
        except (OSError, TrialError) as error:
            self.problems.append(f"{error}; it was left out.")
            return None

    def read(self, name: str, kind: type[Model]) -> Model | None:
        """A file of the folder as `kind`."""
        text = own_text(self.folder / name)
        try:
            return None if text is None else kind.model_validate_json(text)
        except ValidationError as error:
            problem = error.errors()[0]["msg"]
            self.problems.append(f"{name} is damaged ({problem}) and was left out.")
            return None

    @property
    def scored(self) -> Result | None:
        """The result if the solver itself left a number or failed."""
        return self.result if self.result and self.result.status != "stopped" else None

    @property
    def paper_characters(self) -> int | None:
        """The length of the paper's text as the trial read it, None if it kept none."""
        found = read_json(self.folder / "paper" / "paper.json") or {}
        paper = found.get("paper")
        body = paper.get("body") if isinstance(paper, dict) else None
        return len(body) if isinstance(body, str) else None


def summaries_below(runs: Path) -> list[TrialSummary]:
    """Every trial of a folder of runs and of its suites, the one changed last at the end."""
    folders = sorted(trials_below(runs), key=lambda path: path.stat().st_mtime)
    return [TrialSummary(folder) for folder in folders]


def own_text(path: Path, limit: int = MAX_BYTES) -> str | None:
    """The text of a plain file of at most `limit` bytes, else None: a link could lead anywhere."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > limit:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file, None if there is none that can be read."""
    try:
        found = parse_json(read_plain(path))
    except (OSError, ValueError, UsageError):
        return None
    return found if isinstance(found, dict) else None
