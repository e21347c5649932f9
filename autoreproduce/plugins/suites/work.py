"""A worker: attempts one job in a process of its own, on any machine that sees its folder.

The same whether Slurm started it, Ray, or a person by `autoreproduce work JOB.json`. Nothing runs
twice: the trial's folder is held by a lease. The suite's budget is asked in its ledger.
"""

import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autoreproduce.config import Settings
from autoreproduce.files.lease import PATIENCE, hold
from autoreproduce.job import Job
from autoreproduce.plugins.suites.finished_trials import EndedTrial, make_folder, spent_so_far
from autoreproduce.plugins.suites.job import suite_trial
from autoreproduce.plugins.suites.leases import GPUS_IN, Gpus, granted_by_engine
from autoreproduce.plugins.suites.ledger import GrantedBudget, Ledger, LedgerAccess
from autoreproduce.plugins.suites.progress import Running, TrialWatch
from autoreproduce.plugins.suites.rate_limit import Gates
from autoreproduce.plugins.suites.retrying import WorkerContext, attempt_job
from autoreproduce.runner.settings import settings_here
from autoreproduce.trials.folders import refuse_links
from autoreproduce.trials.steps import Step

LEASE = ".lease"
Note = Callable[[str], None]


class Worker:
    """The attempt of one job. `ledger` is that of the suite's folder unless given.

    `synced` is called after each step, with the trial's folder as it is between two steps.
    """

    def __init__(
        self,
        job: Job,
        note: Note,
        ledger: LedgerAccess | None = None,
        synced: Callable[[], None] = lambda: None,
        gpus_in: tuple[str, ...] = GPUS_IN,
        patience: float = PATIENCE,
    ) -> None:
        self.job, self.note, self.synced, self.patience = job, note, synced, patience
        self.gpus_in = gpus_in
        self.ledger = ledger or Ledger(suite_trial(job).suite)
        self.stop = threading.Event()

    def run(self) -> EndedTrial:
        """How the trial ended, now or earlier.

        Raises TrialError if another process attempts it.
        """
        refuse_links(suite_trial(self.job).folder)
        make_folder(suite_trial(self.job).folder)
        lease = hold(suite_trial(self.job).folder / LEASE, self.patience + 30, self.patience)
        try:
            return self._attempt(lambda: lease.lost)
        finally:
            lease.release()

    def _attempt(self, lost: Callable[[], bool]) -> EndedTrial:
        self.note(f"{suite_trial(self.job).planned.words} on {platform.node()}")
        journal = spent_so_far(suite_trial(self.job).folder)
        budget = GrantedBudget(self.ledger, suite_trial(self.job).key, journal, self.stop)
        try:
            attempts = settings_here(self.job).model.max_retries + 1
            gates = Gates(4, self.stop, attempts)
            machine = with_gpus(self.job, self.gpus_in, self.stop)
            around = WorkerContext(budget, self.stop, gates.guard, machine, note=self.note)
            watch = _Watch(self.stop, lost, self.synced)
            return attempt_job(self.job, around, watch)
        finally:
            budget.leave()


def with_gpus(
    job: Job, variables: tuple[str, ...], stop: threading.Event
) -> Callable[[Settings], Any]:
    """Settings with the GPUs that the engine granted this process, in the first of `variables` that
    its environment has; without an engine, with leased ones of this machine.
    """

    @contextmanager
    def machine(settings: Settings) -> Iterator[Settings]:
        if not suite_trial(job).needs.gpus:
            yield settings
        elif (granted := granted_by_engine(variables)) is not None:
            yield settings.having(gpus=granted)
        else:
            gpus = Gpus(
                settings.sandbox.gpus, suite_trial(job).needs.gpus, stop, settings.cache_dir
            )
            with gpus.lease(settings) as leased:
                yield leased

    return machine


class _Watch(TrialWatch):
    """Ends the trial if its lease was lost, and sends what it wrote after each step."""

    def __init__(
        self, stop: threading.Event, lost: Callable[[], bool], synced: Callable[[], None]
    ) -> None:
        super().__init__(Running(time.monotonic()), stop)
        self.lost, self.synced = lost, synced

    def phase(self, name: str) -> None:
        """See TrialWatch."""
        super().phase(name)
        self._end_if_lost()

    def step(self, step: Step, replayed: bool) -> None:
        """See TrialWatch."""
        super().step(step, replayed)
        if not replayed:
            self._end_if_lost()
            self.synced()

    def _end_if_lost(self) -> None:
        if self.lost():
            self.stop.set()
            raise KeyboardInterrupt
