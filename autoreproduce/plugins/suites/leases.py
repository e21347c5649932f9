"""Scarce resources of a machine, divided among the trials that run at once: processors, GPUs."""

import os
import platform
import secrets
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from autoreproduce.config import Settings
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.files.lease import Lease
from autoreproduce.files.owner import owner, stale
from autoreproduce.trials.journal import write_whole

# Slurm's own numbers are those of the device files, also where it renumbers what CUDA sees.
GPUS_IN = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES")


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def divided(settings: Settings, workers: int) -> Settings:
    """The settings with a trial's share of the processors, at least one."""
    share = max(1.0, processors() / workers)
    return settings.having(cpus=min(settings.sandbox.limits.cpus, share))


class GpuLease(BaseModel):
    """What one trial holds: a share of each of these GPUs. `owner`: the process that attempts it;
    once it is gone the lease is void.
    """

    owner: str
    gpus: list[str]
    share: float


_LEASES = TypeAdapter(dict[str, GpuLease])  # by a token of each lease


class Gpus:
    """The GPUs of `settings.sandbox.gpus`, leased one trial at a time, or `part` of one each.

    The leases are in a file of the user's cache, a machine each, so that suites and single
    trials of one user side by side never take the same GPU. Two trials on one GPU share its memory
    without any limit between them: the suite's author promises that both fit.
    """

    def __init__(self, gpus: str | None, part: float, stop: threading.Event, cache: Path) -> None:
        self.part = min(part, 1.0) if part <= 1 else float(round(part))
        self.names = _gpu_numbers(gpus)
        if self.names and self.part > len(self.names):
            raise UsageError(
                f"gpus_per_trial is {part:g}, and there are {len(self.names)} GPUs",
                fix="ask for fewer",
            )
        self.stop = stop
        self.file = cache.resolve() / "gpus" / f"{platform.node()}.json"
        self._lock = threading.Lock()

    @contextmanager
    def lease(self, settings: Settings) -> Iterator[Settings]:
        """The settings with the GPUs of one trial, unchanged if it needs none; waits for them.

        Raises KeyboardInterrupt if the suite is stopped while this waits, TrialError if the leases
        cannot be written.
        """
        if not settings.sandbox.gpus:
            yield settings
            return
        token = secrets.token_hex(8)
        names = self._take(token)
        try:
            yield settings.having(gpus=",".join(names))
        finally:
            with self._leases() as leases:
                leases.pop(token, None)

    def _take(self, token: str) -> list[str]:
        while True:
            with self._leases() as leases:
                if names := self._fitting(leases):
                    share = min(self.part, 1.0)
                    leases[token] = GpuLease(owner=owner(), gpus=names, share=share)
                    return names
            if self.stop.wait(0.2):
                raise KeyboardInterrupt

    def _fitting(self, leases: dict[str, GpuLease]) -> list[str]:
        """GPUs with room for one more trial, the fullest first so that whole ones stay whole; none
        if there are too few.
        """
        count, each = max(1, int(self.part)), min(self.part, 1.0)
        free = {
            name: 1.0 - sum(lease.share for lease in leases.values() if name in lease.gpus)
            for name in self.names
        }
        fitting = sorted((name for name in free if free[name] >= each - 1e-9), key=free.__getitem__)
        return fitting[:count] if len(fitting) >= count else []

    @contextmanager
    def _leases(self) -> Iterator[dict[str, GpuLease]]:
        """The leases of processes that live, written again at the end if they changed."""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self._lock, Lease(self.file.with_suffix(".lease"), patience=20.0, beat=0.0):
                before = self._read()
                leases = {token: each for token, each in before.items() if not stale(each.owner)}
                yield leases
                if leases != before:
                    write_whole(self.file, _LEASES.dump_json(leases).decode())
        except OSError as error:
            raise TrialError(
                f"the leases of GPUs in {self.file} cannot be used ({error.strerror})",
                fix="make the cache's folder writable, or name another with --cache-dir",
            ) from error

    def _read(self) -> dict[str, GpuLease]:
        try:
            return _LEASES.validate_json(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError:
            raise TrialError(
                f"{self.file} is damaged", fix="remove it once no trial with GPUs runs here"
            ) from None


def granted_by_engine(variables: tuple[str, ...] = GPUS_IN) -> str | None:
    """The GPUs that an engine granted this process, in the first of the environment's `variables`
    that is set; None if none is.
    """
    return next((os.environ[name] for name in variables if os.environ.get(name)), None)


def _gpu_numbers(gpus: str | None) -> list[str]:
    """The GPUs' numbers; "all" are those that this process was granted, else all of the driver."""
    if not gpus:
        return []
    if gpus != "all":
        return [name.strip() for name in gpus.split(",") if name.strip()]
    if granted := granted_by_engine():
        return granted.split(",")
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(
            f"gpus: all, but the driver names none ({error})", fix="give their numbers, e.g. 0,1"
        ) from None
    return done.stdout.split()
