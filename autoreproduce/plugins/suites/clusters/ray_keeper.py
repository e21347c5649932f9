"""The keeper of a suite on a Ray cluster, beside the suite's folder, and a task for each trial.

A task gets the trial's folder from the keeper as an archive, and sends back after each step what
changed, both in parts. A task whose node was lost is started on another, which gets what the keeper
has: so it resumes at the last step that was sent. Each start has a number, and only the last one's
archives are taken: nothing runs twice although a lost node may still be alive.
"""

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from autoreproduce.errors import ExecutorError
from autoreproduce.files.replacing import put
from autoreproduce.job import Job
from autoreproduce.models.budget import Cost
from autoreproduce.plugins.suites.clusters.ray_task import STAY, attempt_travelling
from autoreproduce.plugins.suites.clusters.travelling import LARGEST, TravellingFolder, parts_of
from autoreproduce.plugins.suites.finished_trials import EndedTrial, finished, read_ended
from autoreproduce.plugins.suites.job import Needs, suite_trial
from autoreproduce.plugins.suites.ledger import Grant, Ledger, LedgerState
from autoreproduce.plugins.suites.retrying import RESUME
from autoreproduce.trials.chain import STEPS


def resources(needs: Needs) -> dict[str, float]:
    """What a trial needs by Ray's names: CPU, memory in bytes, GPU."""
    found = {"CPU": float(needs.cpus), "memory": needs.memory_gb * 2**30, "GPU": needs.gpus}
    return {name: amount for name, amount in found.items() if amount}


class Keeper:
    """An actor beside the suite's folder: it starts tasks and writes what they send."""

    def __init__(self, folder: str, name: str, namespace: str, env: dict[str, str]) -> None:
        self.folder = Path(folder)
        self.name, self.namespace, self.env = name, namespace, env
        self.ledger = Ledger(self.folder)
        self._tasks: dict[str, Any] = {}
        self._starts: dict[str, int] = {}
        self._packed: dict[str, Iterator[bytes]] = {}
        self._received: dict[str, IO[bytes]] = {}
        self._inputs: dict[Path, list[Any]] = {}
        self._lock = threading.Lock()
        self._was_cancelled = False

    def submit(self, text: str, retries: int) -> None:
        """Start the task of a job."""
        import ray

        job = Job.model_validate_json(text)
        needs = resources(suite_trial(job).needs)
        task = ray.remote(attempt_travelling).options(
            num_cpus=needs.pop("CPU"),
            num_gpus=needs.pop("GPU", 0),
            memory=needs.pop("memory"),
            max_retries=retries,
            scheduling_strategy="SPREAD",
            name=suite_trial(job).key,
        )
        with self._lock:
            inputs = [self._input(job.paper), self._input(job.data)]
            self._tasks[suite_trial(job).key] = task.remote(
                text, self.name, self.namespace, *inputs
            )

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

    def start(self, key: str) -> int:
        """A task starts a trial: the number of its start."""
        with self._lock:
            self._starts[key] = number = self._starts.get(key, 0) + 1
            self._packed[key] = self._travelling(key).pack(whole=True)
            self._forget(key)
        return number

    def next_part(self, key: str, number: int) -> bytes:
        """The next part of the trial's folder as it was; empty after the last, and for a start
        whose place another has taken.
        """
        return next(self._packed[key], b"") if self._starts.get(key) == number else b""

    def sync(self, key: str, number: int, place: int, part: bytes) -> bool:
        """Take a part of what a task sends, at its place; an empty one is the end, and all is
        written. False if another start has taken its place.
        """
        with self._lock:
            if self._starts.get(key) != number:
                return False
            if not place:
                self._forget(key)
                self._received[key] = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115
        file = self._received[key]
        if file.tell() != place or place + len(part) > 2 * LARGEST:
            raise ValueError(f"{key} sent what isn't a part of an archive")
        put(file, part)
        if not part:
            file.seek(0)
            self._travelling(key).unpack(file)
            self._forget(key)
        return True

    def _forget(self, key: str) -> None:
        """Let go of what a task has sent of an archive."""
        if file := self._received.pop(key, None):
            file.close()

    def enter(self, trial: str, journal: Cost) -> LedgerState:
        """See LedgerAccess; so are `refill` and `leave`."""
        return self.ledger.enter(trial, journal)

    def refill(self, trial: str, spent: Cost, kept: float, wanted: float) -> Grant:
        """See LedgerAccess."""
        return self.ledger.refill(trial, spent, kept, wanted)

    def leave(self, trial: str, spent: Cost) -> None:
        """See LedgerAccess."""
        self.ledger.leave(trial, spent)

    def _travelling(self, key: str) -> TravellingFolder:
        return TravellingFolder(self.folder / "trials" / key, skip=STAY, last=STEPS)

    def _input(self, path: Path | None) -> list[Any] | None:
        """The parts of a paper or a folder of data in the object store, put there once; none of
        the Hub's data, which the node fetches.
        """
        import ray

        if path is None or str(path).startswith("hf:"):
            return None
        if path not in self._inputs:
            self._inputs[path] = [ray.put(part) for part in parts_of(path)]
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
