"""PaperBench's papers as tasks: a whole paper to replicate, graded by its rubric afterwards.

What the solver leaves is a repository of several files with a `reproduce.sh`, and nothing of it is
measured here: it is graded by a judge (`autoreproduce grade`), for the full benchmark after
`autoreproduce rerun` ran its script. Addresses of the paper's blacklist that the files or the calls
of an agent's tools name are reported in the outcome.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from autoreproduce.errors import SandboxError, UsageError
from autoreproduce.files.kinds import REMADE
from autoreproduce.files.tree import Tree
from autoreproduce.papers.blacklist import used_addresses
from autoreproduce.plugins.paperbench.papers import load_paper, paper_folders
from autoreproduce.task import Metric, Task
from autoreproduce.trials.measurement import Measurement, not_measured
from autoreproduce.trials.steps import ModelResult

if TYPE_CHECKING:
    from autoreproduce.contracts import Submission
    from autoreproduce.sandboxes.setup import SandboxSetup
    from autoreproduce.trials.trial import Trial

SCORE = Metric(
    name="replication_score",
    direction="higher",
    unit="none",
    definition="the weighted share of the rubric's requirements that the submission meets",
)
ASKED = (
    "Replicate the paper's empirical contributions: write one repository with the code of the "
    "method, of all baselines and of all experiments whose results the main text reports, with a "
    "README.md that says what is where, and a script `reproduce.sh` at its root that runs all "
    "experiments from the start to the end and writes their results as tables (.csv, .json or .md)."
)
CODE_DEV = "Only the code is graded, requirement by requirement; it is not run."
FULL = (
    "The code is graded, requirement by requirement; then `bash reproduce.sh` is run in a fresh "
    "sandbox without a network, and what it prints and the tables that it writes are graded too. "
    "Results that were there before that run do not count."
)
LARGEST_READ = 1_000_000  # bytes of one file that is searched for addresses


class PaperBench:
    """The papers of a clone of PaperBench, or of a folder in its form."""

    method = "autoreproduce.plugins.paperbench.repository:RepositoryLoop"
    dataset_option = "data"

    class Options(BaseModel):
        """Where the papers lie, and what is graded of an attempt."""

        model_config = ConfigDict(extra="forbid")

        data: Path | None = Field(
            None, description="a clone of PaperBench, its folder of papers, or one paper's"
        )
        mode: Literal["code-dev", "full"] = Field(
            "code-dev", description="code-dev: the code alone; full: its run and results too"
        )

    def __init__(self, options: Options) -> None:
        if options.data is None:
            raise UsageError(
                "PaperBench's papers are not part of this package",
                fix="name a clone of frontier-evals with --dataset, or as options.data in the file",
            )
        self.data = options.data
        self.mode = options.mode

    def names(self) -> list[str]:
        """The papers, by their folders' names."""
        return [path.name for path in paper_folders(self.data)]

    def load(self, name: str, profile: str) -> Task:
        """The paper with its addendum as a task. Raises UsageError where it has no text."""
        folder = self._folder(name)
        paper = load_paper(folder)
        if not paper.text:
            raise UsageError(
                f"{folder / 'paper.md'} is missing, or a pointer",
                fix="fetch it with `git lfs pull`",
            )
        asked = [ASKED, CODE_DEV if self.mode == "code-dev" else FULL, paper.addendum.strip()]
        if paper.blacklist:
            asked.append(f"Use no code from: {', '.join(paper.blacklist)}.")
        return Task(
            id=name,
            benchmark="paperbench",
            benchmark_options={"data": str(self.data.resolve()), "mode": self.mode},
            writes="repository",
            title=paper.title or name,
            metric=SCORE,
            instruction="\n\n".join(filter(None, asked)),
            digest=paper.text,
            paper_file=(folder / "paper.md").resolve(),
            blacklist=paper.blacklist,
            claims={"none_because": "the whole paper is graded by its rubric"},
            profile=profile,
        )

    def prepare(
        self, task: Task, cache: Path, note: Callable[[str], None], given: Path | None = None
    ) -> Task:
        """The task as it is: PaperBench brings no data."""
        return task

    def ready(self, task: Task, sandboxes: SandboxSetup) -> SandboxSetup:
        """The same: nothing has to be installed or tried first."""
        return sandboxes

    def measure(
        self, task: Task, submission: Submission, trial: Trial, sandboxes: SandboxSetup
    ) -> Measurement:
        """No number: the rubric is graded by a judge, later. Hits of the blacklist are reported."""
        if (failed := not_measured(submission)) is not None:
            return failed
        rubric, hits = self._folder(task.id), blacklist_hits(task, trial)
        command = f"autoreproduce grade {trial.folder} {rubric}"
        if self.mode == "full":
            run = f"autoreproduce rerun {trial.folder} --out DIR"
            command = f"{run} && autoreproduce grade DIR {rubric} --full"
        return Measurement(
            wanted=False,
            reason=f"it is graded by its rubric: {command}",
            warnings=[f"names an address of the paper's blacklist: {each}" for each in hits],
            summary={"blacklisted": hits},
        )

    def _folder(self, name: str) -> Path:
        for path in paper_folders(self.data):
            if path.name == name:
                return path
        raise UsageError(
            f"{self.data} has no paper {name}", fix=f"it has {', '.join(self.names())}"
        )


def blacklist_hits(task: Task, trial: Trial) -> list[str]:
    """Where the files of an attempt, and the calls of an agent's tools, name an address of the
    task's blacklist. Whether its code was used is for people to say.
    """
    if not task.blacklist:
        return []
    tree, texts = Tree(trial.workspace), dict[str, str]()
    for name in tree.files(skip=REMADE):
        with suppress(SandboxError, FileNotFoundError):  # too large to be code, or gone by now
            shown = name.encode("utf-8", "replace").decode()
            texts[shown] = tree.read_text(name, LARGEST_READ)
    for step in trial.steps:
        if isinstance(step.result, ModelResult) and step.result.tool_calls:
            texts[f"tool calls of step {step.index}"] = json.dumps(step.result.tool_calls)
    return sorted(used_addresses(texts, task.blacklist))
