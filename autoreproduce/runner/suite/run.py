"""Runs a suite: what is not finished is attempted, a few at once, within one budget; and the rows are written.

Nothing here is needed to go on after a kill: each trial's folder says by itself how far it came, and the same command
reads them again.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock
from filelock import Timeout as LockTimeout

from autoreproduce import turns
from autoreproduce.budget import Budget, Cost
from autoreproduce.errors import AutoReproduceError, TrialError, UsageError
from autoreproduce.prices import Usage, price_of
from autoreproduce.runner.attempt import Request, Shared, attempt
from autoreproduce.runner.choose import choose_model
from autoreproduce.runner.suite import failures
from autoreproduce.runner.suite.executors import Executor, Threads
from autoreproduce.runner.suite.gate import Gates
from autoreproduce.runner.suite.kept import Ended, check, make_folder, spent, write_ended, write_mark
from autoreproduce.runner.suite.leases import Gpus, divided
from autoreproduce.runner.suite.money import Purse
from autoreproduce.runner.suite.plan import Plan, Planned
from autoreproduce.runner.suite.progress import Progress, Running, Watch, write_state
from autoreproduce.runner.suite.results import write_plan, write_results
from autoreproduce.runner.suite.view import SuiteView
from autoreproduce.sandboxes.leftovers import sweep

EXIT = {"": 0, "budget": 3, "not scored": 4, "interrupted": 130}
OF_ALL = ("ModelError", "SandboxError", "TrialError", "OSError")  # what, met again and again, will meet every trial


@dataclass
class Summary:
    """How a run of a suite ended. `why`: "" where every trial is scored; else what kept the others from it."""

    folder: Path
    why: str = ""
    reason: str = ""
    abandoned: bool = False
    ended: dict[Planned, Ended] = field(default_factory=dict)
    snapshot: dict[str, Any] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 all scored, 3 the budget ended it, 4 infrastructure left trials without a score, 130 interrupted."""
        return EXIT[self.why]


class SuiteRun:
    """One run of a plan's unfinished trials in a folder."""

    def __init__(
        self, plan: Plan, folder: Path, *, workers: int, budget: str | None = None, command: str = "",
        view: SuiteView | None = None, executor: Executor | None = None,
    ) -> None:  # fmt: skip
        self.plan, self.folder, self.command = plan, folder, command
        self.view = view or SuiteView(sys.stdout)
        self.suite = plan.suite
        self.workers = workers
        self.budget = Budget.parse(budget)
        self.executor = executor or Threads(workers)
        self.stop = threading.Event()
        self.why = self.reason = ""  # why no further trial is begun
        self._misses = 0
        self._state_at = 0.0
        self._said_stopping = False
        settings = {name: plan.settings(name) for name in {trial.variant for trial in plan.trials}}
        tries = max((each.max_retries for each in settings.values()), default=6) + 1
        self.gates = Gates(max(workers, 1), self.stop, tries=tries)
        gpus = ",".join(dict.fromkeys(each.gpus for each in settings.values() if each.gpus))
        self.gpus = Gpus("all" if "all" in gpus else gpus, self.suite.gpus_per_trial, self.stop)
        self.starts = threading.BoundedSemaphore(self.suite.starts)

    def run(self) -> Summary:
        """Attempt what is not finished. Raises UsageError, before anything begins, for what can be known then."""
        make_folder(self.folder)
        with _alone(self.folder):
            kept = check(self.plan, self.folder)
            self._check_models(kept)
            for tokens, dollars in spent(self.folder):
                self.budget.spend(Cost(tokens, dollars))
            write_plan(self.folder, self.plan, self.command)
            if removed := sweep():
                self._note(f"removed {removed} containers of a runner that was killed")
            return self._run(kept)

    def _run(self, kept: dict[Planned, Ended]) -> Summary:
        self.ended = dict(kept)
        self.progress = Progress(self.suite.name, self.plan.trials, kept, self.workers)
        write_state(self.folder, self._snapshot())  # whoever watches sees no longer how an earlier run ended
        self.view.begin(self._snapshot())
        whole = False
        try:
            whole = self.executor.run(self._waiting(kept), self._attempt, self._tell, self._tick, self.stop)
        finally:  # also for what was not foreseen: the rows of what is finished are worth having
            if not whole:
                self._give_up()
            self._judge()
            self._close()
        return Summary(self.folder, self.why, self.reason, not whole, self.ended, self._snapshot())

    def _waiting(self, kept: dict[Planned, Ended]) -> Iterator[Planned]:
        """The trials still to be attempted, one at a time, as long as going on makes sense."""
        for planned in self.plan.trials:
            if self.why or self.stop.is_set():
                return
            if planned not in kept:
                yield planned

    def _attempt(self, planned: Planned) -> Ended:
        """One trial, tried again after a while where what it runs on failed."""
        running = self.progress.begin(planned)
        began, tries = time.monotonic(), 0
        while True:
            tries += 1
            ended, again = self._once(planned, running)
            left = self.suite.retry_after[tries - 1 :]
            if not again or not left or self.why:
                break
            self._note(f"{planned.words}: {ended.reason} (again in {left[0]:g} s)")
            with turns.left():
                self.stop.wait(left[0])
            if self.stop.is_set():
                break
        ended.tries, ended.seconds = tries, ended.seconds or round(time.monotonic() - began, 1)
        write_ended(planned.folder(self.folder), ended)
        return ended

    def _once(self, planned: Planned, running: Running) -> tuple[Ended, bool]:
        settings = divided(self.plan.settings(planned.variant, planned.number), self.workers)
        purse = Purse(self.budget, settings.budget, self.stop)
        settings = settings.model_copy(update={"max_retries": 0})  # the gate's to do
        try:
            folder = write_mark(self.plan, planned, self.folder)
            found = self.plan.tasks.find(planned.task, settings.profile)
            with self.gpus.lease(settings) as leased:
                done = attempt(Request(
                    found.task, leased, solver=self.plan.solver(planned.variant), out=folder, number=planned.number,
                    paper_file=found.paper, data=found.data, command=self.command,
                    observers=[Watch(running, self.stop)], shared=Shared(purse, self.gates.guard, self.starts),
                ))  # fmt: skip
        except KeyboardInterrupt:
            return Ended(status="stopped", reason="stopped by the user: the same command goes on"), False
        except (Exception, SystemExit) as error:  # a solver that exits would end its worker without a word
            return failures.of_error(error)
        return failures.of_outcome(done, purse.exhausted)

    def _tell(self, planned: Planned, ended: Ended) -> None:
        """A trial ended: count it, and see whether going on makes sense. One at a time."""
        self.ended[planned] = ended
        self.progress.end(planned, ended)
        self._misses = self._misses + 1 if ended.status == "not scored" and ended.kind in OF_ALL else 0
        if self._misses >= max(5, self.workers):
            self._end("not scored", f"{self._misses} trials in a row could not be scored: {ended.reason}")
        if ended.status == "stopped" and ended.kind == "BudgetError":
            self._end("budget", ended.reason)
        self.view.trial(planned, ended, self._snapshot())

    def _end(self, why: str, reason: str) -> None:
        if not self.why:
            self.why, self.reason = why, reason

    def _tick(self) -> None:
        if self.stop.is_set() and not self._said_stopping:
            self._said_stopping = True
            self._note("stopping: what is under way ends within seconds or is given up; Ctrl-C again ends at once")
        snapshot = self._snapshot()
        if time.monotonic() - self._state_at > 1:
            self._state_at = time.monotonic()
            write_state(self.folder, snapshot)
        self.view.tick(snapshot)

    def _judge(self) -> None:
        """Say what kept trials from a score, where anything did."""
        missing = [ended for ended in self.ended.values() if ended.status == "not scored"]
        if self.stop.is_set():
            self.why, self.reason = "interrupted", "stopped by the user: the same command goes on"
        elif missing:
            self._end("not scored", f"{len(missing)} trials could not be scored: {missing[-1].reason}")

    def _give_up(self) -> None:
        """The trials that did not end in time: their folders go on later, their containers go now."""
        for planned in list(self.progress.running):
            self.ended[planned] = Ended(status="stopped", reason="given up: the same command goes on")
            self.progress.end(planned, self.ended[planned])
        sweep(own=True)

    def _close(self) -> None:
        """The rows and the last state, whatever ended the run; what cannot be written is said."""
        with suppress(KeyboardInterrupt):
            write_state(self.folder, self._snapshot() | {"ended": self.reason or "at its end"})
            try:
                write_results(self.folder)
            except (AutoReproduceError, OSError) as error:
                self._note(f"the results could not be written: {error}")

    def _check_models(self, kept: dict[Planned, Ended]) -> None:
        """Open the model of each variant, and ask for its price where dollars are limited, before anything begins."""
        for name in dict.fromkeys(trial.variant for trial in self.plan.trials if trial not in kept):
            settings = self.plan.settings(name)
            first = next(trial for trial in self.plan.trials if trial.variant == name)
            task = self.plan.tasks.find(first.task, settings.profile).task
            try:
                choice = choose_model(settings, task, self.plan.solver(name))
            except UsageError as error:
                raise UsageError(f"variant {name}: {error}") from None
            if choice.replayed is not None:
                continue
            names = {choice.models.research_name, choice.models.code_name} - {""}
            dollars = self.budget.limit_dollars is not None or Budget.parse(settings.budget).limit_dollars is not None
            if dollars and any(price_of(Usage(1, 0, 1), each, settings) is None for each in names):
                raise UsageError(f"variant {name}: a budget in dollars needs the model's price, which is unknown: give "
                                 "--set price=INPUT,CACHED,OUTPUT, or --budget '1000000 tokens'")  # fmt: skip

    def _snapshot(self) -> dict[str, Any]:
        return self.progress.snapshot(self.budget, self.gates)

    def _note(self, text: str) -> None:
        if hasattr(self, "progress"):
            self.progress.note(text)
        self.view.note(text)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """The suite's folder for this process alone. Raises TrialError where another has it."""
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except LockTimeout:
        raise TrialError(
            f"{folder} is being run by another process: wait for it, watch it (autoreproduce watch {folder}), or "
            "give --out another folder"
        ) from None
    except OSError as error:
        raise TrialError(f"cannot lock {folder} ({error.strerror}): make room, then run the same command") from error
    try:
        yield
    finally:
        lock.release()
