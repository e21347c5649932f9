"""A trial's numbers in TensorBoard, MLflow and Weights & Biases, by one observer.

AUTOREPRODUCE_TRACK names them, as `tensorboard,mlflow,wandb`; without it nothing is imported. Where
they write is said by their own variables (MLFLOW_TRACKING_URI, WANDB_MODE, WANDB_PROJECT);
TensorBoard's events lie in the trial's folder. After each step tokens, dollars and seconds so far
are sent, after each execution the curves of its metrics.json, at the end the numbers, the verdicts
and the files. Steps that a resumed trial reads from its journal are counted and not sent again. A
tracker's error ends no trial: it's one note, and that tracker gets nothing more.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.plugins.integrations import optional_module
from autoreproduce.trials.metrics_file import parse_metrics
from autoreproduce.trials.steps import ExecutionResult, ModelResult, Observer, Step

if TYPE_CHECKING:
    from autoreproduce.trials.result import Result
    from autoreproduce.trials.trial import TrialRecord

VARIABLE = "AUTOREPRODUCE_TRACK"
PROJECT = "autoreproduce"  # unless MLFLOW_EXPERIMENT_NAME or WANDB_PROJECT says otherwise
FILES = ("report.html", "result.json", "claims.json")
LARGEST = 20_000_000  # bytes of a file that is sent
MOST_POINTS = 1_000  # of a curve; a longer one is thinned

Facts = Mapping[str, Any]


class Tracker(Protocol):
    """Where a trial's numbers go."""

    def numbers(self, values: Mapping[str, float], step: int) -> None:
        """Numbers by name, as "full_run-1/loss", at one place of their curves."""

    def end(self, facts: Facts, files: list[Path], failed: bool) -> None:
        """What it ended with; nothing comes after it."""


class TensorBoardTracker:
    """An event file in the trial's folder, which `tensorboard --logdir runs` finds."""

    def __init__(self, name: str, folder: Path, facts: Facts) -> None:
        writer = optional_module("tensorboard.summary.writer.event_file_writer", "tensorboard")
        self._events = optional_module("tensorboard.compat.proto.event_pb2", "tensorboard")
        self._summaries = optional_module("tensorboard.compat.proto.summary_pb2", "tensorboard")
        self._writer = writer.EventFileWriter(str(folder / "tensorboard"))
        self._text("trial", facts)

    def numbers(self, values: Mapping[str, float], step: int) -> None:
        """A scalar each."""
        summary = self._summaries.Summary
        self._add([summary.Value(tag=name, simple_value=v) for name, v in values.items()], step)

    def end(self, facts: Facts, files: list[Path], failed: bool) -> None:
        """The facts as a table; files lie beside it already."""
        self._text("outcome", facts)
        self._writer.close()

    def _text(self, tag: str, facts: Facts) -> None:
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.plugins.text.metadata import create_summary_metadata

        rows = [f"| {name} | {' '.join(str(value).split())} |" for name, value in facts.items()]
        table = "\n".join(["| | |", "|---|---|", *rows])
        tensor = TensorProto(dtype="DT_STRING", string_val=[table.encode()])
        metadata = create_summary_metadata(display_name=tag, description="")
        value = self._summaries.Summary.Value(tag=tag, tensor=tensor, metadata=metadata)
        self._add([value], 0)

    def _add(self, values: list[Any], step: int) -> None:
        import time

        summary = self._summaries.Summary(value=values)
        self._writer.add_event(
            self._events.Event(wall_time=time.time(), step=step, summary=summary)
        )


class MlflowTracker:
    """A run of the experiment MLFLOW_EXPERIMENT_NAME on the server MLFLOW_TRACKING_URI."""

    def __init__(self, name: str, folder: Path, facts: Facts) -> None:
        self._mlflow = optional_module("mlflow", "mlflow")
        self._client = self._mlflow.MlflowClient()
        experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        found = self._client.get_experiment_by_name(experiment)
        number = found.experiment_id if found else self._client.create_experiment(experiment)
        tags = {f"{PROJECT}.{key}": str(value) for key, value in facts.items()}
        self._run = self._client.create_run(number, run_name=name, tags=tags).info.run_id
        for key, value in facts.items():
            self._client.log_param(self._run, key, str(value)[:500])

    def numbers(self, values: Mapping[str, float], step: int) -> None:
        """A metric each, under a name that MLflow takes."""
        for name, value in values.items():
            key = re.sub(r"[^\w\-. /]", "_", name)
            self._client.log_metric(self._run, key, value, step=step)

    def end(self, facts: Facts, files: list[Path], failed: bool) -> None:
        """Tags, artefacts, and the run's end."""
        for key, value in facts.items():
            self._client.set_tag(self._run, f"{PROJECT}.{key}", str(value)[:5000])
        for file in files:
            self._client.log_artifact(self._run, str(file))
        self._client.set_terminated(self._run, "FAILED" if failed else "FINISHED")


class WandbTracker:
    """A run of the project WANDB_PROJECT; its files lie where W&B puts them (WANDB_DIR, ./wandb),
    since they hold links, and a trial's folder with a link is refused.
    """

    def __init__(self, name: str, folder: Path, facts: Facts) -> None:
        wandb = optional_module("wandb", "wandb")
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=name,
            config=dict(facts),
            reinit="create_new",
            settings=wandb.Settings(silent=True, disable_git=True, console="off"),
        )
        self._groups: set[str] = set()

    def numbers(self, values: Mapping[str, float], step: int) -> None:
        """Each group ("full_run-1") has a step of its own, as W&B's only rises."""
        group = next(iter(values), "").partition("/")[0]
        if group not in self._groups:
            self._groups.add(group)
            self._run.define_metric(f"{group}/step")
            self._run.define_metric(f"{group}/*", step_metric=f"{group}/step")
        self._run.log({**values, f"{group}/step": step})

    def end(self, facts: Facts, files: list[Path], failed: bool) -> None:
        """The run's summary, its files and its exit code."""
        self._run.summary.update(dict(facts))
        for file in files:
            self._run.save(str(file), base_path=str(file.parent), policy="now")
        self._run.finish(exit_code=int(failed))


TRACKERS: Mapping[str, Callable[[str, Path, Facts], Tracker]] = {
    "tensorboard": TensorBoardTracker,
    "mlflow": MlflowTracker,
    "wandb": WandbTracker,
}


class TrackedTrial(Observer):
    """An Observer that tells all trackers."""

    def __init__(self, trackers: dict[str, Tracker], folder: Path, note: Any) -> None:
        self._trackers, self._folder, self._note = trackers, folder, note
        self._sums: Counter[str] = Counter()
        self._runs: Counter[str] = Counter()  # executions of a phase

    def step(self, step: Step, replayed: bool) -> None:
        """The sums so far, and an execution's curves."""
        result = step.result
        self._sums["seconds"] += step.seconds  # type: ignore[assignment]
        if isinstance(result, ModelResult):
            self._sums["calls"] += 1
            self._sums["tokens_in"] += result.usage.input
            self._sums["tokens_out"] += result.usage.output
            self._sums["dollars"] += result.price or 0.0  # type: ignore[assignment]
        if isinstance(result, ExecutionResult):
            self._runs[step.phase] += 1
        if replayed:
            return
        self._tell({f"trial/{name}": float(sum_) for name, sum_ in self._sums.items()}, step.index)
        if isinstance(result, ExecutionResult) and result.metrics_json:
            self._curves(result.metrics_json, f"{step.phase}-{self._runs[step.phase]}")

    def close(self, outcome: Result | None) -> None:
        """The numbers and verdicts, the files, the end."""
        facts, values = self._ended(outcome)
        self._tell(values, 0)
        files = [self._folder / name for name in FILES]
        files += sorted((self._folder / "result").glob("*.py"))  # copies of ours, without links
        plain = [path for path in files if path.is_file() and not path.is_symlink()]
        sent = [path for path in plain if path.stat().st_size <= LARGEST]
        failed = outcome is None or outcome.status != "measured"
        self._each(lambda tracker: tracker.end(facts, sent, failed))

    def _ended(self, outcome: Result | None) -> tuple[dict[str, Any], dict[str, float]]:
        if outcome is None:
            return {"status": "ended without a result"}, {}
        facts: dict[str, Any] = {"status": outcome.status, "verdict": outcome.verdict}
        facts |= {"sentence": outcome.sentence or outcome.reason, "integrity": outcome.integrity}
        values = {f"result/{name}": value for name, value in outcome.metrics.items()}
        named = {"metric": outcome.metric, "gap": outcome.gap, "cost_usd": outcome.cost.dollars}
        values |= {f"result/{name}": v for name, v in named.items() if v is not None}
        for judged in outcome.judged:
            facts[f"claim {judged.claim.id}"] = judged.verdict.word
            if judged.verdict.mean is not None:
                values[f"claims/{judged.claim.id}"] = judged.verdict.mean
        return facts, values

    def _curves(self, text: str, group: str) -> None:
        """Its history, a point an entry, else its final numbers."""
        try:
            read = parse_metrics(text)
        except AutoReproduceError:
            return
        every = -(-len(read.history) // MOST_POINTS) or 1
        for number, row in enumerate(read.history, 1):
            if number % every == 0 or number == len(read.history):
                known = {f"{group}/{name}": v for name, v in row.items() if v is not None}
                self._tell(known, number)
        self._tell({f"{group}-final/{name}": v for name, v in read.metrics.items()}, 0)

    def _tell(self, values: dict[str, float], step: int) -> None:
        if values:
            self._each(lambda tracker: tracker.numbers(values, step))

    def _each(self, work: Callable[[Tracker], None]) -> None:
        """Do it with each tracker; one that fails is left out from then on."""
        for name, tracker in list(self._trackers.items()):
            try:
                work(tracker)
            except Exception as error:  # a tracker's fault is none of the trial's
                del self._trackers[name]
                self._note(f"{name} gets nothing more of this trial ({error!s:.200})")


def wanted_trackers() -> list[str]:
    """Those that AUTOREPRODUCE_TRACK names. Raises UsageError for an unknown one."""
    names = [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]
    for name in names:
        if name not in TRACKERS:
            known = ", ".join(TRACKERS)
            raise UsageError(f"{VARIABLE} names {name!r}", fix=f"it takes {known}, with commas")
    return list(dict.fromkeys(names))


@contextmanager
def tracked(
    record: TrialRecord, folder: str, observers: list[Observer]
) -> Iterator[TrackedTrial | None]:
    """Watch a trial with the trackers that are asked for, while the block runs."""
    names = wanted_trackers()
    if not names:
        yield None
        return
    path = Path(folder).resolve()
    facts = {"task": record.task, "profile": record.profile, "solver": record.solver}
    facts |= {"model": record.model, "seed": str(record.seed), "folder": str(path)}
    title = f"{record.task} {record.solver} {path.name}"
    opened = {name: _opened(name, title, path, facts) for name in names}

    def note(text: str) -> None:
        for each in observers:
            each.note(text)

    watching = TrackedTrial(opened, path, note)
    observers.append(watching)
    try:
        yield watching
    except BaseException:
        watching.close(None)
        raise


def _opened(name: str, title: str, folder: Path, facts: Facts) -> Tracker:
    """Raises UsageError if the extra is missing, or if the tracker can't begin."""
    try:
        return TRACKERS[name](title, folder, facts)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(
            f"{name} cannot begin ({' '.join(str(error).split())[:200]})",
            fix=f"set it up, or take it out of {VARIABLE}",
        ) from None
