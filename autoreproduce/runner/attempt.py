"""One trial from start to close: task, data, model, folder, sandbox, solver, and what is left behind.

Whatever ends a trial, its folder says so: the solver's own failures are outcomes; what came from outside
(budget, model, sandbox, the user) is the status «stopped», and the same command goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoreproduce import Observer, turns
from autoreproduce.benchmarks.autoexperiment import data_of
from autoreproduce.benchmarks.reproducebench import load_task, prepare
from autoreproduce.budget import Budget
from autoreproduce.config import Settings, digest
from autoreproduce.errors import AutoReproduceError, ReplyError, TrialError
from autoreproduce.eval.report import write_report
from autoreproduce.eval.report.evidence import gather
from autoreproduce.eval.result_folder import write_result
from autoreproduce.model_errors import shown
from autoreproduce.runner.accounts import accounted, close_accounts
from autoreproduce.runner.choose import ModelChoice, choose_model
from autoreproduce.runner.find import data_folder
from autoreproduce.runner.machine import hardware, versions
from autoreproduce.sandboxes import open_sandbox
from autoreproduce.solvers import open_solver
from autoreproduce.tape import TapeHead, tape_from_journal, write_tape
from autoreproduce.task import Task
from autoreproduce.trial import Outcome, Trial, TrialRecord, now


@dataclass
class Shared:
    """What trials that run beside each other have in common; a trial alone has nothing of it.

    `guard` is given each chat model that was opened; `starts` is held while a container starts.
    """

    budget: Budget | None = None
    guard: Callable[[Any, str], Any] = lambda model, name: model
    starts: AbstractContextManager[Any] = field(default_factory=nullcontext)


@dataclass
class Request:
    """What is to be attempted, and how."""

    task: Task
    settings: Settings
    solver: str = "autoreproduce"
    out: Path | None = None
    number: int = 1
    paper_file: Path | None = None
    data: Path | None = None
    tape: Path | None = None
    command: str = ""
    observers: Sequence[Observer] = field(default_factory=list)
    shared: Shared = field(default_factory=Shared)


@dataclass
class Finished:
    """A trial that has ended, now or earlier."""

    folder: Path
    outcome: Outcome
    report: Path
    task: Task
    earlier: bool = False


@turns.at_door()
def attempt(request: Request) -> Finished:
    """Attempt the task, or go on with the attempt that is there. Raises UsageError and TrialError before it begins."""
    choice = choose_model(request.settings, request.task, request.solver, request.tape)
    settings = choice.settings
    folder = request.out or _folder(request, settings)
    note = _noter(request.observers)
    if choice.announcement:
        note(choice.announcement)
    task = _with_data(request, settings, note)
    trial = Trial.open(folder, _record(request, task, settings, choice), request.observers)
    try:
        outcome = trial.outcome
        earlier = outcome is not None and outcome.status != "stopped" and accounted(outcome, trial.steps)
        if outcome is None or not earlier:
            outcome = _run(request, task, settings, choice, trial)
        report = _close(trial, task, outcome, earlier)
        if settings.record:
            _record_tape(settings.record, trial)
        return Finished(folder, outcome, report, task, earlier)
    finally:
        trial.close()


def _run(request: Request, task: Task, settings: Settings, choice: ModelChoice, trial: Trial) -> Outcome:
    """The solver's own outcome, or «stopped» with the reason."""
    began = time.monotonic()
    (trial.folder / "outcome.json").unlink(missing_ok=True)
    try:
        _solve(request, task, settings, choice, trial)
        outcome = trial.outcome
        assert outcome is not None, "a solver writes outcome.json"
    except ReplyError as error:
        outcome = Outcome(status="failed", reason=str(error), phase=trial.phase_name)
    except KeyboardInterrupt:
        outcome = Outcome(
            status="stopped", reason="stopped by the user: the same command goes on", phase=trial.phase_name
        )
    except AutoReproduceError as error:
        outcome = Outcome(status="stopped", reason=str(error), phase=trial.phase_name)
        outcome.details |= {"exit_code": error.exit_code, "error": type(error).__name__}
    close_accounts(outcome, trial, task, time.monotonic() - began)
    outcome.warnings += choice.warnings()
    trial.write("outcome.json", outcome.model_dump_json(indent=1))
    return outcome


def _record_tape(path: Path, trial: Trial) -> None:
    """The tape of what was said so far; the journal is what makes it durable, so it is written when a trial rests."""
    record = trial.record
    head = TapeHead(
        model=record.model, recorded=record.created[:10], task=record.task, profile=record.profile,
        settings=record.settings,
    )  # fmt: skip
    write_tape(path, head, tape_from_journal(trial.steps))


def _solve(request: Request, task: Task, settings: Settings, choice: ModelChoice, trial: Trial) -> None:
    budget = request.shared.budget or Budget.parse(settings.budget)
    models = choice.guarded(request.shared.guard)
    solver = open_solver(request.solver, settings=settings, budget=budget, paper_file=request.paper_file)
    with turns.left():
        sandbox = open_sandbox(
            settings, trial.workspace.resolve(), data_dir=task.data_dir, packages=trial.folder.resolve() / "packages",
            label=digest(str(trial.folder.resolve())), trusted=choice.trusted, note=trial.note,
            starts=request.shared.starts,
        )  # fmt: skip
    try:
        trial.moved = sandbox.name != _last_sandbox(trial.folder, sandbox.name)
        trial.write("sandbox.json", json.dumps({"name": sandbox.name, "promises": sandbox.promises}) + "\n")
        with turns.inside():
            solver.solve(task, models, sandbox, trial)
    finally:
        with turns.left():
            sandbox.close()


def _last_sandbox(folder: Path, otherwise: str) -> str:
    """The sandbox that this trial used before."""
    kept = folder / "sandbox.json"
    return str(json.loads(kept.read_text())["name"]) if kept.exists() else otherwise


def _close(trial: Trial, task: Task, outcome: Outcome, earlier: bool) -> Path:
    """The result folder and the report; of a trial that ended earlier they are left as they are."""
    report = trial.folder / "report.html"
    if earlier and report.exists():
        return report
    found = gather(trial.folder)
    if outcome.status == "succeeded":
        write_result(trial.folder, task, found)
    return write_report(trial.folder, task, found)


@turns.left()
def _with_data(request: Request, settings: Settings, note: Any) -> Task:
    """The task with its data: the user's folder, else the task's own, prepared once a machine."""
    task = request.task
    if request.data is not None:
        return task.model_copy(update={"data_dir": data_folder(request.data)})
    if task.masked_set is not None and (wanted := data_of(task)):
        return task.model_copy(update={"data_dir": prepare(*wanted, settings.cache_dir, note)})
    if task.folder is None:
        return task
    return task.model_copy(update={"data_dir": prepare(task.id, task.profile, settings.cache_dir, note)})


def _folder(request: Request, settings: Settings) -> Path:
    """runs/TASK-PROFILE-DIGEST: the same command finds the same folder."""
    what = digest(
        [
            settings.kept(),
            request.solver,
            str(request.paper_file),
            str(request.data),
            task_digest(request.task),
        ]
    )
    number = f"-{request.number}" if request.number > 1 else ""
    return settings.runs_dir / f"{request.task.id}-{request.task.profile}-{what[:8]}{number}"


def task_digest(task: Task) -> str:
    """What of a task bears on a trial; where it lies and what others measured does not."""
    return digest(
        task.model_dump(
            mode="json", exclude={"folder", "masked_set", "data_dir", "paper_result", "published", "measured", "notes"}
        )
    )


def _record(request: Request, task: Task, settings: Settings, choice: ModelChoice) -> TrialRecord:
    return TrialRecord(
        task=task.id, profile=task.profile, solver=request.solver, model=choice.name, settings=settings.kept(),
        task_digest=task_digest(task), created=now(), versions=versions(), hardware=hardware(settings.gpus),
        seed=settings.seed, replayed=choice.replayed, command=shown(request.command),
        task_json=task.model_dump(mode="json", exclude={"digest"}),
        inputs={
            "paper_file": _absolute(request.paper_file), "data": _absolute(request.data),
            "tape": _absolute(_tape_of(settings)), "paper_digest": _digest_of(request.paper_file),
        },
    )  # fmt: skip


def _digest_of(file: Path | None) -> str | None:
    """Of what a file holds; None where there is none (any more)."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file and file.is_file() else None


def _tape_of(settings: Settings) -> Path | None:
    """The file of `--model tape:FILE`."""
    kind, _, path = (settings.model or "").partition(":")
    return Path(path) if kind == "tape" and path else None


def resumed(folder: Path, settings: Settings, flags: Sequence[str] = ()) -> Request:
    """The request that made a trial folder, with this machine's settings (budget, sandbox, where things lie).

    Raises TrialError where one of `flags` names another value of what makes the trial what it is.
    """
    record = Trial.read(folder).record
    given = {name: value for name, value in settings.kept().items() if name in flags}
    changed = [
        f"{name}: {was!r} → {given[name]!r}" for name, was in record.settings.items() if was != given.get(name, was)
    ]
    if changed:
        raise TrialError(f"{folder} was begun with other settings ({'; '.join(changed)}): leave these flags out")
    machine = {name: getattr(settings, name) for name in Settings.MACHINE}
    task = Task.model_validate(record.task_json)
    if task.folder is not None:
        task = _told(load_task(task.id, task.profile), task.instruction)
    inputs = {name: Path(value) for name, value in record.inputs.items() if value}
    return Request(
        task=task, settings=Settings(**{**record.settings, **machine}), solver=record.solver, out=folder,
        paper_file=inputs.get("paper_file"), data=inputs.get("data"), tape=inputs.get("tape"), command=record.command,
    )  # fmt: skip


def _told(task: Task, instruction: str) -> Task:
    """The benchmark's task as it is now, with what --instruction added to it then."""
    added = instruction.startswith(f"{task.instruction}\n\n")
    return task.model_copy(update={"instruction": instruction}) if added else task


def _absolute(path: Path | None) -> str | None:
    return str(path.resolve()) if path else None


def _noter(observers: Sequence[Observer]) -> Any:
    def note(text: str) -> None:
        for observer in observers:
            observer.note(text)

    return note
