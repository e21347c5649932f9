"""Tasks of the user's own: a paper, a metric, and what else they say of the experiment.

There is no code for the metric. One with a well-known name is recomputed from what the program
saved; of others the number that the program claims is the one that there is.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from autoreproduce.benchmarks.recounting import read_targets, recounts, write_shuffled
from autoreproduce.benchmarks.reproducebench.prepared_data import made_once
from autoreproduce.claims.claim import Claim, claims_of
from autoreproduce.claims.user_claims import direction_of, read_user_claims
from autoreproduce.config import digest
from autoreproduce.errors import UsageError
from autoreproduce.files.shared import check_tree, link_files
from autoreproduce.files.tree import Tree
from autoreproduce.papers.arxiv_client import normal_id
from autoreproduce.sandboxes.counted_run import DECOYS_SHOWN, CountedData
from autoreproduce.task import Metric, Task
from autoreproduce.trials.measurement import (
    Measurement,
    Recomputed,
    Recount,
    measured_from,
    not_measured,
)
from autoreproduce.trials.predictions_file import NAME

if TYPE_CHECKING:
    from autoreproduce.contracts import Submission
    from autoreproduce.sandboxes.setup import SandboxSetup
    from autoreproduce.trials.trial import Trial

LONGEST_ID = 60  # letters


class OwnTask(BaseModel):
    """A task as its user describes it: each metric as NAME, NAME:higher or NAME:lower (in one text
    with commas between them, or in a list), each claim as --claim takes it.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    metric: tuple[str, ...]
    arxiv: str | None = None
    instruction: str = ""
    claims: tuple[str, ...] = ()
    dataset: str = Field("", description="if it is not the name")
    experiment: str = Field("", description="the paper's own name for it, such as Table 2")
    experiments: tuple[str, ...] = Field((), description="names, if one program is for several")
    targets: str = Field(
        "",
        description="where the test targets lie in its data, withheld from the run that counts: "
        "labels.npy, test.npz:ARRAY or test.csv:COLUMN",
    )

    @field_validator("metric", mode="before")
    @classmethod
    def _each_metric(cls, given: Any) -> Any:
        texts = [given] if isinstance(given, str) else list(given)
        return tuple(name.strip() for text in texts for name in str(text).split(","))

    @property
    def id(self) -> str:
        """Its name as part of a folder's; of a long one the beginning, and what tells it apart."""
        name = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") or "task"
        return name if len(name) <= LONGEST_ID else f"{name[:LONGEST_ID]}-{digest(name)[:8]}"


class OwnTasks:
    """The tasks that a user described."""

    class Options(BaseModel):
        """The descriptions."""

        model_config = ConfigDict(extra="forbid")

        tasks: list[OwnTask] = []

    def __init__(self, options: Options) -> None:
        self.tasks = {entry.id: entry for entry in options.tasks}

    def names(self) -> list[str]:
        """Their names, as they were given."""
        return [entry.name for entry in self.tasks.values()]

    def load(self, name: str, profile: str) -> Task:
        """The task of that name or id. It has one profile, `full`.

        Raises UsageError for an unknown name, and for a metric or arXiv id that is none.
        """
        known = [entry for entry in self.tasks.values() if name in (entry.id, entry.name)]
        if not known:
            raise UsageError(f"{name} is not described", fix="give its metric and its paper")
        return _task_of(known[0])

    def prepare(
        self, task: Task, cache: Path, note: Callable[[str], None], given: Path | None = None
    ) -> Task:
        """The task with the user's data. Without any they are the solver's to find.

        Raises UsageError for what is no folder, or if a link in it leads out of it, and if the
        targets that the task names aren't there.
        """
        targets = self.tasks[task.id].targets if task.id in self.tasks else ""
        if given is None:
            if targets:
                raise UsageError(f"--targets {targets} is a file of your data", fix="add --data")
            return task
        if not given.is_dir():
            raise UsageError(
                f"--data {given} isn't a folder", fix="name the folder that holds the data"
            )
        check_tree(given)
        shown = _with_decoys(task.id, given.resolve(), targets, cache, note) if targets else None
        return task.model_copy(update={"data_dir": given.resolve(), "decoy_dir": shown})

    def ready(self, task: Task, sandboxes: SandboxSetup) -> SandboxSetup:
        """The same; if targets are withheld, the run that counts sees them shuffled."""
        shown = task.decoy_dir
        if shown is None:
            return sandboxes

        def counted(asked: str) -> CountedData:
            sandboxes.note_once(DECOYS_SHOWN)
            return CountedData(shown, asked)

        return replace(sandboxes, counted=counted)

    def measure(
        self, task: Task, submission: Submission, trial: Trial, sandboxes: SandboxSetup
    ) -> Measurement:
        """What its predictions give if the metric is well known, else what the program claims.

        Of a program whose numbers are read where it writes them, nobody asks for predictions.
        """
        if nothing := not_measured(submission):
            return nothing
        targets = self.tasks[task.id].targets if task.id in self.tasks else ""
        places = (targets, task.data_dir, task.decoy_dir) if task.decoy_dir else ("", None, None)

        def again(written: Mapping[str, Sequence[float]]) -> dict[str, Recount]:
            names = _metric_names(task, trial.folder)
            return recounts(trial.workspace, names, written, *places)

        asked = not submission.metric_from or Tree(trial.workspace).kind(NAME)
        return measured_from(
            task,
            trial.workspace,
            Recomputed(None, possible=False),
            submission.run,
            metric_from=submission.metric_from,
            again=again if asked else None,
        )


def _metric_names(task: Task, folder: Path) -> dict[str, str]:
    """What each number in metrics.json is, by its key: the task's metrics and the claims'."""
    named = {metric.name: metric.paper_name or metric.name for metric in _all_metrics(task)}
    with suppress(UsageError):
        claims = claims_of(folder)
        named |= {claim.id: claim.metric for claim in claims.claims} if claims else {}
    return named


def _all_metrics(task: Task) -> list[Metric]:
    return [task.metric, *task.more_metrics]


def _with_decoys(
    task_id: str, data: Path, targets: str, cache: Path, note: Callable[[str], None]
) -> Path:
    """A folder that shows `data` with the test targets in another order, made once."""
    name = targets.partition(":")[0]
    if not (data / name).resolve().is_relative_to(data):
        raise UsageError(f"--targets {targets} leads out of the data", fix="name a file below it")
    read_targets(data, targets)
    known = (data / name).stat()
    what = digest([str(data), targets, known.st_size, known.st_mtime_ns])
    made = cache / "decoys" / "own" / f"{task_id}-{what[:12]}"

    def write(part: Path) -> None:
        write_shuffled(data, part, targets, np.random.default_rng(secrets.randbits(128)))
        link_files(data, part, ["*"])

    return made_once(made, f"withhold {targets}", note, write)


def _task_of(entry: OwnTask) -> Task:
    metric, *more = _metrics_of(entry.metric, read_user_claims(entry.claims))
    return Task(
        id=entry.id,
        benchmark="own",
        benchmark_options={"tasks": [entry.model_dump(mode="json", exclude_defaults=True)]},
        arxiv_id=normal_id(entry.arxiv) if entry.arxiv else None,
        dataset=entry.dataset or entry.name,
        experiment=entry.experiment,
        experiments=list(entry.experiments),
        metric=metric,
        more_metrics=more,
        user_claims=list(entry.claims),
        instruction="\n".join(
            filter(None, [_first_sentence(entry), entry.instruction, _withheld(entry.targets)])
        ).strip(),
        profile="full",
    )


def _withheld(targets: str) -> str:
    """What the agents are told of targets that the run that counts doesn't see."""
    if not targets:
        return ""
    return (
        f"The test targets are {targets} in the data folder. The numbers are recomputed against "
        "them from predictions.npz, whose entries stand in their order, one for each. Nothing is "
        "trained or chosen by them."
    )


def _first_sentence(entry: OwnTask) -> str:
    """What the agents are asked first."""
    if entry.experiment:
        return f"Replicate {entry.experiment} of the paper."
    return f"Replicate the experiment on {entry.name}."


def _metrics_of(texts: Sequence[str], claims: Sequence[Claim]) -> list[Metric]:
    """The metrics that are asked for. Raises UsageError for none, one without a name or direction,
    and one that is asked for twice.
    """
    metrics = [_metric_of(text, claims) for text in texts]
    names = [metric.name for metric in metrics]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice or not names:
        raise UsageError(
            f"--metric {','.join(texts)}", fix="name each number once" if twice else "name a number"
        )
    return metrics


def _metric_of(text: str, claims: Sequence[Claim]) -> Metric:
    """One metric; its direction as asked for, else that of a claim on it, else by its name."""
    name, colon, direction = (part.strip() for part in text.partition(":"))
    if not name:
        raise UsageError(
            f"--metric {text!r} names nothing",
            fix="write the number's key in metrics.json, such as --metric mse",
        )
    if colon and direction not in ("lower", "higher"):
        raise UsageError(
            f"--metric {text}", fix="write lower or higher after the colon, whichever is better"
        )
    claimed = next((c.direction for c in claims if c.metric.casefold() == name.casefold()), None)
    better = direction or claimed or direction_of(name)
    if better is None:
        raise UsageError(
            f"--metric {name} does not say which way is better, and its name does not tell",
            fix=f"write --metric {name}:lower or --metric {name}:higher",
        )
    return Metric(name=name, direction="higher" if better == "higher" else "lower")
