"""What runs on a Ray cluster for a suite: the keeper, beside its folder, and a task a trial.

A task gets the trial's folder from the keeper as an archive, and sends back after each step what
changed. A task whose node was lost is started on another, which gets what the keeper has: so it
resumes at the last step that was sent. Each start has a number, and only the last one's archives
are taken: nothing runs twice although a lost node may still be alive.
"""

import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from autoreproduce.errors import ExecutorError, TrialError
from autoreproduce.files.lease import Lease
from autoreproduce.models.budget import Cost
from autoreproduce.plugins.suites.clusters.travelling import TravellingFolder
from autoreproduce.plugins.suites.finished_trials import EndedTrial, finished, read_ended
from autoreproduce.plugins.suites.job import PATHS, Job, Needs
from autoreproduce.plugins.suites.ledger import Grant, Ledger, LedgerState
from autoreproduce.plugins.suites.pauses import Pauses
from autoreproduce.plugins.suites.retrying import RESUME
from autoreproduce.plugins.suites.work import LEASE, Worker
from autoreproduce.sandboxes.owners import temporary_folder
from autoreproduce.trials.chain import STEPS

STAY = (".lock", LEASE, "job.json")  # files of a trial that mean something on one machine alone

ASK_SECONDS = 1.0  # between two questions of a task whether it is to end


def resources(needs: Needs) -> dict[str, float]:
    """What a trial needs by Ray's names: CPU, memory in bytes, GPU."""
    found = {"CPU": float(needs.cpus), "memory": needs.memory_gb * 2**30, "GPU": needs.gpus}
    return {name: amount for name, amount in found.items() if amount}


class Keeper:
    """An actor beside the suite's folder: it starts tasks and writes what they send."""

    def __init__(self, folder: str, name: str, namespace: str, env: dict[str, str]) -> None:
        self.folder = Path(folder)
        self.name, self.namespace, self.env = name, namespace, env
        self.ledger, self.pauses = Ledger(self.folder), Pauses(self.folder)
        self._tasks: dict[str, Any] = {}
        self._starts: dict[str, int] = {}
        self._inputs: dict[Path, Any] = {}
        self._lock = threading.Lock()
        self._was_cancelled = False

    def submit(self, text: str, retries: int) -> None:
        """Start the task of a job."""
        import ray

        job = Job.model_validate_json(text)
        needs = resources(job.needs)
        task = ray.remote(attempt_travelling).options(
            num_cpus=needs.pop("CPU"),
            num_gpus=needs.pop("GPU", 0),
            memory=needs.pop("memory"),
            max_retries=retries,
            scheduling_strategy="SPREAD",
            name=job.key,
        )
        with self._lock:
            inputs = [self._input(job.paper), self._input(job.data)]
            self._tasks[job.key] = task.remote(text, self.name, self.namespace, *inputs)

    def environment(self) -> dict[str, str]:
        """The variables that tasks get. As a runtime environment of theirs Ray would write them
        into a log of each node, for all to read.
        """
        return self.env

    def under_way(self) -> list[str]:
        """The keys of trials that have not ended."""
        import ray

        with self._lock:
            tasks = dict(self._tasks)
        return [key for key, ref in tasks.items() if not ray.wait([ref], timeout=0)[0]]

    def ended(self) -> dict[str, str]:
        """The ends of trials, as JSON by key, each of them once."""
        import ray

        with self._lock:
            tasks = {ref: key for key, ref in self._tasks.items()}
            over, _ = ray.wait(list(tasks), num_returns=len(tasks), timeout=0) if tasks else ([], 0)
            for ref in over:
                del self._tasks[tasks[ref]]
        return {tasks[ref]: self._end_of(tasks[ref], ref).model_dump_json() for ref in over}

    def cancel(self) -> None:
        """End every task: one that waits is dropped, a trial under way ends with its step."""
        import ray

        self._was_cancelled = True
        with self._lock:
            for ref in self._tasks.values():
                ray.cancel(ref, force=False)

    def was_cancelled(self) -> bool:
        """True once the tasks are to end; they ask, for Ray's own interrupt may be lost in them."""
        return self._was_cancelled

    def start(self, key: str) -> tuple[int, bytes]:
        """A task starts a trial: the number of its start, and the trial's folder so far."""
        with self._lock:
            self._starts[key] = number = self._starts.get(key, 0) + 1
        return number, self._travelling(key).pack(whole=True)

    def sync(self, key: str, number: int, archive: bytes) -> bool:
        """Write what a task sends. False if another start has taken its place."""
        with self._lock:
            if self._starts.get(key) != number:
                return False
        self._travelling(key).unpack(archive)
        return True

    def enter(self, trial: str, journal: Cost) -> LedgerState:
        """See LedgerAccess; so are `refill` and `leave`."""
        return self.ledger.enter(trial, journal)

    def refill(self, trial: str, spent: Cost, kept: float, wanted: float) -> Grant:
        """See LedgerAccess."""
        return self.ledger.refill(trial, spent, kept, wanted)

    def leave(self, trial: str, spent: Cost) -> None:
        """See LedgerAccess."""
        self.ledger.leave(trial, spent)

    def wait_before(self, model: str) -> float:
        """See PauseAccess; so is `refused`."""
        return self.pauses.wait_before(model)

    def refused(self, model: str, seconds: float) -> None:
        """See PauseAccess."""
        self.pauses.refused(model, seconds)

    def _travelling(self, key: str) -> TravellingFolder:
        return TravellingFolder(self.folder / "trials" / key, skip=STAY, last=STEPS)

    def _input(self, path: Path | None) -> Any:
        """A paper or a folder of data in the object store, put there once."""
        import ray

        if path is None:
            return None
        if path not in self._inputs:
            data = path.read_bytes() if path.is_file() else TravellingFolder(path).pack(whole=True)
            self._inputs[path] = ray.put(data)
        return self._inputs[path]

    def _end_of(self, key: str, ref: Any) -> EndedTrial:
        """How a task's trial ended: by its folder, else by what Ray says."""
        import ray
        from ray.exceptions import RayError, TaskCancelledError

        folder = self.folder / "trials" / key
        try:
            return EndedTrial.model_validate_json(ray.get(ref))
        except TaskCancelledError:
            stopped = EndedTrial(status="stopped", reason=f"stopped by the user: {RESUME}")
            return finished(folder) or read_ended(folder) or stopped
        except RayError as error:
            lines = [line for line in str(error).splitlines() if line.strip()] or ["unknown"]
            reason = f"Ray ended the trial ({lines[-1].strip()[:300]})"
            failed = EndedTrial(
                status="not scored", kind=ExecutorError.kind, reason=reason, cost=None
            )
            return finished(folder) or failed


class RemoteKeeper:
    """The keeper as a task sees it: the suite's ledger and pauses."""

    def __init__(self, name: str, namespace: str) -> None:
        import ray

        self._actor = ray.get_actor(name, namespace=namespace)

    def ask(self, method: str, *given: Any) -> Any:
        """What it answers. Raises ExecutorError if it is gone."""
        import ray
        from ray.exceptions import RayError

        try:
            return ray.get(getattr(self._actor, method).remote(*given))
        except RayError as error:
            raise ExecutorError(
                f"the suite's keeper does not answer ({str(error).splitlines()[0]})",
                fix="run the suite's command again",
            ) from None

    def enter(self, trial: str, journal: Cost) -> LedgerState:
        """See LedgerAccess."""
        state: LedgerState = self.ask("enter", trial, journal)
        return state

    def refill(self, trial: str, spent: Cost, kept: float, wanted: float) -> Grant:
        """See LedgerAccess."""
        grant: Grant = self.ask("refill", trial, spent, kept, wanted)
        return grant

    def leave(self, trial: str, spent: Cost) -> None:
        """See LedgerAccess."""
        self.ask("leave", trial, spent)

    def wait_before(self, model: str) -> float:
        """See PauseAccess."""
        return float(self.ask("wait_before", model))

    def refused(self, model: str, seconds: float) -> None:
        """See PauseAccess."""
        self.ask("refused", model, seconds)


def attempt_travelling(
    text: str, name: str, namespace: str, paper: bytes | None, data: bytes | None
) -> str:
    """A task: attempt a job in a folder of this node that travels. How it ended, as JSON."""
    keeper = RemoteKeeper(name, namespace)
    os.environ.update(keeper.ask("environment"))
    with temporary_folder("autoreproduce-trial-") as scratch:
        job = _job_here(Job.model_validate_json(text), scratch, paper, data)
        number, archive = keeper.ask("start", job.key)
        folder = TravellingFolder(job.folder, skip=STAY, last=STEPS)
        folder.unpack(archive)
        worker = Worker(
            job,
            note=lambda text: print(text, flush=True),
            ledger=keeper,
            pauses=keeper,
            synced=_synced(keeper, job.key, number, folder),
            gpus_in=("CUDA_VISIBLE_DEVICES",),
        )
        ended = threading.Event()
        threading.Thread(target=_stop_if_cancelled, args=(keeper, worker, ended)).start()
        try:
            return worker.run().model_dump_json()
        finally:
            ended.set()
            with suppress(KeyboardInterrupt, TrialError):
                worker.synced()


def _stop_if_cancelled(keeper: RemoteKeeper, worker: Worker, ended: threading.Event) -> None:
    """Stop the worker once the suite is stopped; also if nobody can say whether it is."""
    while not ended.wait(ASK_SECONDS):
        try:
            if not keeper.ask("was_cancelled"):
                continue
        except ExecutorError:
            pass
        worker.stop.set()
        return


def _synced(
    keeper: RemoteKeeper, key: str, number: int, folder: TravellingFolder
) -> Callable[[], None]:
    def synced() -> None:
        if not keeper.ask("sync", key, number, folder.pack()):
            raise TrialError(f"{key} was started on another node", fix="nothing: it goes on there")

    return synced


def _job_here(job: Job, scratch: Path, paper: bytes | None, data: bytes | None) -> Job:
    """The job with this node's paths: its scratch folder, its cache, what came with the task."""
    settings = {name: each for name, each in job.settings.items() if name not in PATHS}
    changes: dict[str, Any] = {"suite": scratch / "suite", "settings": settings}
    if paper is not None and job.paper is not None:
        changes["paper"] = scratch / job.paper.name
        changes["paper"].write_bytes(paper)
    local = job.model_copy(update=changes)
    if data is not None:
        local.data = _data_here(local.loaded_settings().cache_dir / "travelled", data)
    return local


def _data_here(cache: Path, data: bytes) -> Path:
    """The data that came with a task, written once a node; without its mark it is half-made."""
    folder = cache / hashlib.sha256(data).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True)
    whole = folder.with_suffix(".whole")
    with Lease(folder.with_suffix(".lease")):
        if not whole.exists():
            TravellingFolder(folder).unpack(data)
            whole.touch()
    return folder
