"""A trial as a task of a Ray cluster: its folder comes from the suite's keeper and goes back."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from autoreproduce.errors import ExecutorError, TrialError
from autoreproduce.files.lease import Lease
from autoreproduce.files.owner import temporary_folder
from autoreproduce.job import FILE as JOB
from autoreproduce.job import Job
from autoreproduce.models.budget import Cost
from autoreproduce.plugins.suites.clusters.travelling import TravellingFolder, spooled
from autoreproduce.plugins.suites.job import PATHS, suite_trial, write_job
from autoreproduce.plugins.suites.ledger import Grant, LedgerState
from autoreproduce.plugins.suites.plan import PLUGIN
from autoreproduce.plugins.suites.work import LEASE, Worker
from autoreproduce.runner.settings import settings_here
from autoreproduce.trials.chain import STEPS

STAY = (".lock", LEASE, JOB)  # files of a trial that mean something on one machine alone
ASK_SECONDS = 1.0  # between two questions of a task whether it is to end


class RemoteKeeper:
    """The keeper as a task sees it: the suite's ledger."""

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


def attempt_travelling(
    text: str, name: str, namespace: str, paper: list[Any] | None, data: list[Any] | None
) -> str:
    """A task: attempt a job in a folder of this node that travels. How it ended, as JSON."""
    keeper = RemoteKeeper(name, namespace)
    os.environ.update(keeper.ask("environment"))
    with temporary_folder("autoreproduce-trial-") as scratch:
        job = _job_here(Job.model_validate_json(text), scratch, paper, data)
        number = keeper.ask("start", suite_trial(job).key)
        folder = TravellingFolder(suite_trial(job).folder, skip=STAY, last=STEPS)
        with spooled(
            iter(lambda: keeper.ask("next_part", suite_trial(job).key, number), b"")
        ) as archive:
            folder.unpack(archive)
        write_job(job)
        worker = Worker(
            job,
            note=lambda text: print(text, flush=True),
            ledger=keeper,
            synced=_synced(keeper, suite_trial(job).key, number, folder),
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
        place = 0
        for part in chain(folder.pack(), (b"",)):
            if not keeper.ask("sync", key, number, place, part):
                raise TrialError(
                    f"{key} was started on another node", fix="nothing to do: it continues there"
                )
            place += len(part)

    return synced


def _job_here(job: Job, scratch: Path, paper: list[Any] | None, data: list[Any] | None) -> Job:
    """The job with this node's paths: its scratch folder, its cache, what came with the task."""
    flat = job.settings.flat()
    given = {name: flat[name] for name in job.settings.given() - {*PATHS}}
    own = suite_trial(job).model_copy(update={"suite": scratch / "suite"})
    local = job.having(settings=given, more={PLUGIN: own}, out=own.folder)
    if paper is not None and job.paper is not None:
        local = local.having(paper=scratch / job.paper.name)
        with (scratch / job.paper.name).open("wb") as file:
            file.writelines(_fetched(paper))
    if data is not None:
        cache = settings_here(local).cache_dir
        local = local.having(data=_data_here(cache / "travelled", data))
    return local


def _fetched(parts: list[Any]) -> Iterator[bytes]:
    """What lies in the object store."""
    import ray

    return (ray.get(part) for part in parts)


def _data_here(cache: Path, parts: list[Any]) -> Path:
    """The data that came with a task, written once a node; without its mark it is half-made."""
    with spooled(_fetched(parts)) as archive:
        name = hashlib.file_digest(archive, "sha256").hexdigest()[:16]
        folder, whole = cache / name, cache / f"{name}.whole"
        cache.mkdir(parents=True, exist_ok=True)
        with Lease(folder.with_suffix(".lease")):
            if not whole.exists():
                archive.seek(0)
                TravellingFolder(folder).unpack(archive)
                whole.touch()
    return folder
