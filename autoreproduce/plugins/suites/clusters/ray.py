"""Ray: each trial a task with its resources, on nodes that need no shared disk.

The runner speaks to a keeper (`ray_keeper`), an actor on the runner's own node that outlives it:
it starts the tasks, writes what they send into the suite's folder, and answers for the budget. So
a runner that is started again finds the trials under way.
"""

import importlib.util
import logging
import os
import time
from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field

from autoreproduce.config import digest
from autoreproduce.content import install_command
from autoreproduce.errors import ExecutorError, UsageError
from autoreproduce.job import Job
from autoreproduce.plugins.suites.clusters.ray_keeper import Keeper, resources
from autoreproduce.plugins.suites.finished_trials import EndedTrial
from autoreproduce.plugins.suites.job import Needs, suite_trial
from autoreproduce.runner.executors import Executor, ExecutorOptions, ExecutorSetup

NAMESPACE = "autoreproduce"


class RayOptions(ExecutorOptions):
    """What a suite may say of Ray."""

    REACHING: ClassVar[frozenset[str]] = frozenset({"address", "env"})

    address: str = Field("auto", description="of a cluster of which this machine is a node")
    env: list[str] = Field(
        [], description="variables of this process that tasks get, e.g. OPENAI_API_KEY"
    )
    retries: int = Field(5, ge=0, description="of a trial whose node was lost")
    autoscaling: bool = Field(
        False, description="nodes may come later: a request that none meets waits"
    )


class RayExecutor(Executor[Job, EndedTrial]):
    """The trials of one suite as Ray's tasks."""

    Options = RayOptions
    remote = True
    grace = 60.0

    def __init__(self, setup: ExecutorSetup, options: RayOptions) -> None:
        if importlib.util.find_spec("ray") is None:
            raise UsageError("Ray is not installed", fix=install_command("ray"))
        self.options, self.setup = options, setup
        self.places = setup.workers
        self._jobs: dict[str, Job] = {}

    @cached_property
    def under_way(self) -> set[str]:  # type: ignore[override]
        """See Executor."""
        return set(self._asked("under_way"))

    def submit(self, job: Job) -> None:
        """See Executor."""
        if job.paper is not None and not job.paper.is_file():
            raise UsageError(
                f"{job.paper} is a folder, and a paper travels to Ray's nodes as one file",
                fix="give it as an archive, such as paper.tar.gz",
            )
        if suite_trial(job).key not in self.under_way:
            if not self.options.autoscaling:
                self._check(suite_trial(job).needs)
            self._asked("submit", job.model_dump_json(), self.options.retries)
        self._jobs[suite_trial(job).key] = job

    def ended(self, seconds: float) -> list[tuple[Job, EndedTrial]]:
        """See Executor."""
        until = time.monotonic() + seconds
        while True:
            found = self._asked("ended")
            if found or time.monotonic() >= until:
                break
            time.sleep(0.1)
        ends = {key: EndedTrial.model_validate_json(text) for key, text in found.items()}
        return [(self._jobs.pop(key), ended) for key, ended in ends.items() if key in self._jobs]

    def cancel(self) -> None:
        """See Executor."""
        self._asked("cancel")

    def close(self, whole: bool) -> None:
        """See Executor. Without the keeper its tasks end too."""
        import ray
        from ray.exceptions import RayError

        if "_keeper" in self.__dict__:
            try:
                ray.kill(self._keeper)
            except RayError as error:
                self.setup.note(f"Ray: {error}")

    @cached_property
    def _keeper(self) -> Any:
        """The keeper of this suite's folder, made if there is none."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if not ray.is_initialized():
            try:
                ray.init(
                    address=self.options.address,
                    namespace=NAMESPACE,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
            except (ConnectionError, RuntimeError, ValueError) as error:
                named = os.environ.get("RAY_ADDRESS") if self.options.address == "auto" else None
                raise UsageError(
                    f"no Ray cluster at {named or self.options.address} "
                    f"({str(error).splitlines()[0]})",
                    fix="start one (ray start --head), or name its address by "
                    "--set executor.ray.address=HOST:PORT",
                ) from None
        name = f"keeper-{digest(str(self.setup.folder))}"
        env = {each: os.environ[each] for each in self.options.env if each in os.environ}
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        made = ray.remote(Keeper).options(
            name=name,
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            num_cpus=0,
            max_concurrency=200,  # a worker's call must not wait for another's
            scheduling_strategy=here,
        )
        return made.remote(str(self.setup.folder), name, NAMESPACE, env)

    def _asked(self, method: str, *given: Any) -> Any:
        """What the keeper answers. Raises ExecutorError if it is gone."""
        keeper = self._keeper
        import ray
        from ray.exceptions import RayError

        try:
            return ray.get(getattr(keeper, method).remote(*given))
        except RayError as error:
            raise ExecutorError(
                f"Ray's keeper of this suite does not answer ({str(error).splitlines()[0]})",
                fix="see `ray status`, then run the same command",
            ) from None

    def _check(self, needs: Needs) -> None:
        """Raises UsageError if no node of the cluster can ever meet the needs."""
        import ray

        wanted = resources(needs)
        listed: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
        nodes = [node["Resources"] for node in listed if node["Alive"]]
        if any(all(node.get(name, 0) >= each for name, each in wanted.items()) for node in nodes):
            return
        most = {name: max((node.get(name, 0) for node in nodes), default=0) for name in wanted}
        missing = [name for name in wanted if most[name] < wanted[name]] or list(wanted)
        raise UsageError(
            "no node of the Ray cluster can run such a trial: it needs "
            + ", ".join(f"{_amount(name, wanted[name])}" for name in wanted)
            + "; the most that a node has is "
            + ", ".join(f"{_amount(name, most[name])}" for name in missing),
            fix="lower cpus, memory_gb or gpus_per_trial, add a node, or set "
            "executor.ray.autoscaling",
        )


def _amount(name: str, amount: float) -> str:
    return f"{amount / 2**30:.1f} GB memory" if name == "memory" else f"{amount:g} {name}"
