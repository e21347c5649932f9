"""Runs a suite: its unfinished trials are attempted, a few at once, within one budget.

Nothing here is needed to resume after a kill: each trial's folder shows how far it came, and the
same command reads them again.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError, BudgetError
from autoreproduce.job import Job
from autoreproduce.models.budget import Budget, Cost
from autoreproduce.plugins.suites import retrying
from autoreproduce.plugins.suites.checks import check_models, locked, refuse_planted
from autoreproduce.plugins.suites.finished_trials import (
    EndedTrial,
    check,
    make_folder,
    spent,
    spent_so_far,
    write_ended,
)
from autoreproduce.plugins.suites.job import job_of, suite_trial, write_job
from autoreproduce.plugins.suites.leases import Gpus, divided
from autoreproduce.plugins.suites.ledger import Ledger
from autoreproduce.plugins.suites.plan import Plan, Planned
from autoreproduce.plugins.suites.progress import (
    SuiteProgress,
    TrialWatch,
    read_running,
    write_state,
)
from autoreproduce.plugins.suites.rate_limit import Gates
from autoreproduce.plugins.suites.results import write_plan, write_results
from autoreproduce.plugins.suites.retrying import RESUME, WorkerContext, attempt_job
from autoreproduce.plugins.suites.view import SuiteView
from autoreproduce.runner.executors import ExecutorSetup, attempt_all, open_executor
from autoreproduce.runner.signals import undisturbed
from autoreproduce.sandboxes.engine import sweep

EXIT = {"": 0, "budget": 3, "not scored": 4, "not written": 4, "interrupted": 130}


@dataclass
class SuiteSummary:
    """How a run of a suite ended.

    `why`: "" if every trial is scored; "budget", "not scored" or "interrupted" if some are not;
    "not written" if all are, but the tables of results could not be written.
    """

    folder: Path
    why: str = ""
    reason: str = ""
    abandoned: bool = False
    ended: dict[Planned, EndedTrial] = field(default_factory=dict)
    snapshot: dict[str, Any] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 all scored, 3 budget used up, 4 scores or tables are missing, 130 interrupted."""
        return EXIT[self.why]


class SuiteRun:
    """One run of a plan's unfinished trials in a folder; `named`: by the user, who believes it."""

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        *,
        workers: int,
        named: bool = True,
        budget: str | None = None,
        command: str = "",
        data: Path | None = None,
        view: SuiteView | None = None,
    ) -> None:
        self.plan, self.folder, self.command = plan, folder, command
        self.data = data  # published files that the user has
        self.view = view or SuiteView(sys.stdout)
        self.suite = plan.suite
        self.workers, self.named = workers, named
        self.budget = Budget.parse(budget)
        self.stop = threading.Event()
        self.why = self.reason = ""  # why no further trial is begun
        self._misses = 0
        self._state_at = 0.0
        self._stop_was_noted = False
        settings = [plan.settings(name) for name in {trial.variant for trial in plan.trials}]
        attempts = max((each.model.max_retries for each in settings), default=6) + 1
        self.gates = Gates(max(workers, 1), self.stop, attempts)
        gpus = ",".join(dict.fromkeys(each.sandbox.gpus for each in settings if each.sandbox.gpus))
        setup = ExecutorSetup(folder.resolve(), workers, self._attempt, self._note)
        name = next(iter(self.suite.executor))
        self.executor = open_executor(name, setup, self.suite.executor[name])
        if self.executor.remote:  # the machines that attempt the trials have the GPUs
            gpus = ""
        gpus = "all" if "all" in gpus else gpus
        self.cache = settings[0].cache_dir if settings else Settings().cache_dir
        self.gpus = Gpus(gpus, self.suite.gpus_per_trial, self.stop, self.cache)
        self.starts = threading.BoundedSemaphore(self.suite.starts)

    def run(self) -> SuiteSummary:
        """Attempt what is not finished. Raises UsageError before anything begins."""
        new = not self.folder.exists()
        if new:  # what cannot begin leaves nothing behind
            check_models(self.plan, (), self.budget)
        make_folder(self.folder)
        if not self.named:
            refuse_planted(self.cache, self.folder)
        with locked(self.folder):
            finished = check(self.plan, self.folder)
            if not new:
                check_models(self.plan, finished, self.budget)
            for cost in spent(self.folder):
                self.budget.spend(cost)
            self.ledger = Ledger(self.folder)
            if self.executor.remote:
                self._begin_ledger(self.budget)
            write_plan(self.folder, self.plan, self.command)
            if not self.executor.remote:
                self._note_budget(self.budget)
            if removed := sweep():
                self._note(f"removed {removed} containers of a runner that was killed")
            return self._run(finished)

    def _run(self, finished: dict[Planned, EndedTrial]) -> SuiteSummary:
        self.ended = dict(finished)
        self.progress = SuiteProgress(self.suite.name, self.plan.trials, finished, self.workers)
        write_state(self.folder, self._snapshot())  # replaces the end of an earlier run
        self.view.begin(self._snapshot())
        whole = False
        try:
            jobs = self._jobs(finished)
            whole = attempt_all(self.executor, jobs, self._record_end, self._tick, self.stop)
        finally:  # also after an unexpected error: the rows of finished trials are worth having
            with undisturbed():
                if not whole:
                    self._give_up()
                self.executor.close(whole)
                self._set_reason()
                self._close()
        return SuiteSummary(
            self.folder, self.why, self.reason, not whole, self.ended, self._snapshot()
        )

    def _jobs(self, finished: dict[Planned, EndedTrial]) -> Iterator[Job]:
        """The trials still to be attempted, one at a time, as long as more attempts make sense.

        First those that an earlier runner submitted and that go on.
        """
        waiting = [planned for planned in self.plan.trials if planned not in finished]
        under_way = set(self.executor.under_way)
        for planned in sorted(waiting, key=lambda each: each.key not in under_way):
            if self.why or self.stop.is_set():
                return
            self.progress.begin(planned)
            try:
                job = job_of(self.plan, planned, self.folder, self.command, self.data)
                write_job(job)
            except AutoReproduceError as error:
                self._record(planned, retrying.of_error(error)[0])
                continue
            yield job

    def _attempt(self, job: Job) -> EndedTrial:
        """The attempt of a job by this process itself."""
        around = WorkerContext(
            self.budget,
            self.stop,
            self.gates.guard,
            self._on_this_machine,
            self.starts,
            lambda: bool(self.why),
            self._note,
        )
        running = self.progress.running[suite_trial(job).planned]
        return attempt_job(job, around, TrialWatch(running, self.stop))

    @contextmanager
    def _on_this_machine(self, settings: Settings) -> Iterator[Settings]:
        with self.gpus.lease(divided(settings, self.workers)) as leased:
            yield leased

    def _record_end(self, job: Job, ended: EndedTrial) -> None:
        """Count a job that ended. One at a time."""
        if self.executor.remote and not ended.scored:  # a worker that was lost could not write it
            write_ended(suite_trial(job).folder, ended)
        self._record(suite_trial(job).planned, ended)

    def _record(self, planned: Planned, ended: EndedTrial) -> None:
        """Count a trial that ended, and see whether more attempts make sense."""
        self.ended[planned] = ended
        self.progress.end(planned, ended)
        missed = ended.status == "not scored" and ended.kind in retrying.SHARED
        self._misses = self._misses + 1 if missed else 0
        if self._misses >= max(5, self.workers):
            self._end(
                "not scored", f"{self._misses} trials in a row could not be scored: {ended.reason}"
            )
        if ended.status == "stopped" and ended.kind == BudgetError.kind:
            self._end("budget", ended.reason)
        self.view.trial(planned, ended, self._snapshot())

    def _end(self, why: str, reason: str) -> None:
        if not self.why:
            self.why, self.reason = why, reason

    def _begin_ledger(self, budget: Budget) -> None:
        """The budget that workers in other processes share."""
        journals = {key: self.folder / "trials" / key for key in self.ledger.read().open}

        def journal_of(key: str) -> Cost:
            return spent_so_far(journals[key])

        self.ledger.begin(budget, self.executor.under_way, journal_of)

    def _follow(self) -> None:
        """Read what workers in other processes wrote of their trials and of the budget."""
        for planned, running in list(self.progress.running.items()):
            read_running(planned.folder(self.folder), running)
        with suppress(AutoReproduceError):
            self.budget = self.ledger.read().budget()

    def _tick(self) -> None:
        if self.stop.is_set() and not self._stop_was_noted:
            self._stop_was_noted = True
            self._note(
                "stopping: what is under way ends within seconds or is given up; Ctrl-C again ends "
                "at once"
            )
        due = time.monotonic() - self._state_at > 1
        if due and self.executor.remote:
            self._follow()
        snapshot = self._snapshot()
        if due:
            self._state_at = time.monotonic()
            write_state(self.folder, snapshot)
        self.view.tick(snapshot)

    def _set_reason(self) -> None:
        """Set why trials are without a score, if any is."""
        missing = [ended for ended in self.ended.values() if ended.status == "not scored"]
        if self.stop.is_set():
            self.why, self.reason = "interrupted", f"stopped by the user: {RESUME}"
        elif missing:
            self._end(
                "not scored", f"{len(missing)} trials could not be scored: {missing[-1].reason}"
            )

    def _give_up(self) -> None:
        """End the trials that did not stop in time: their folders are resumed later."""
        for planned in list(self.progress.running):
            self.ended[planned] = EndedTrial(status="stopped", reason=f"given up: {RESUME}")
            self.progress.end(planned, self.ended[planned])
            write_ended(planned.folder(self.folder), self.ended[planned])
        sweep(own=True)

    def _close(self) -> None:
        """The rows and the last state, whatever ended the run."""
        try:
            write_results(self.folder)
        except (AutoReproduceError, OSError) as error:
            missing = f"the results could not be written: {error}"
            if self.why:
                self._note(missing)
            self._end("not written", missing)
        if self.executor.remote:
            self._follow()
        else:
            self._note_budget()
        write_state(self.folder, self._snapshot() | {"ended": self.reason or "complete"})

    def _note_budget(self, budget: Budget | None = None) -> None:
        """Write the limit and what was spent, counted again unless given, for trials by hand."""
        with suppress(AutoReproduceError, OSError):  # a suite here needs no ledger
            if budget is None:
                mine = self.budget
                budget = Budget(mine.limit_dollars, mine.limit_tokens, limit_calls=mine.limit_calls)
                for cost in spent(self.folder):
                    budget.spend(cost)
            self._begin_ledger(budget)

    def _snapshot(self) -> dict[str, Any]:
        return self.progress.snapshot(self.budget, self.gates)

    def _note(self, text: str) -> None:
        if hasattr(self, "progress"):
            self.progress.note(text)
        self.view.note(text)
