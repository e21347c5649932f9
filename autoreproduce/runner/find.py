"""From what the user named to a Task: a folder of the benchmark, or a task of their own."""

from collections.abc import Sequence
from pathlib import Path

from autoreproduce.benchmarks import Benchmark, open_benchmark
from autoreproduce.benchmarks.own import OwnTask, OwnTasks
from autoreproduce.claims.user_claims import read_user_claims
from autoreproduce.errors import UsageError, nearest
from autoreproduce.files.shared import check_tree
from autoreproduce.papers.paths import KINDS, folder_and_main
from autoreproduce.task import Task


def find_or_make_task(
    name: str | None,
    arxiv: str | None,
    paper: Path | None,
    metric: str | Sequence[str] | None,
    instruction: str,
    profile: str,
    claims: Sequence[str] = (),
    targets: str = "",
    benchmark: Benchmark | None = None,
) -> Task:
    """The task `name` of the benchmark (ReproduceBench if none is given), or a task of the user's
    own if --metric is given; `claims` are those of the user, `targets` the place of their task's
    test targets in its data.

    Raises UsageError if there is neither, or if the paper named is not the task's.
    """
    metrics = [metric] if isinstance(metric, str) else list(metric or ())
    if not metrics:
        if targets:
            raise UsageError(
                "--targets is for a task of your own: one of the benchmark withholds its targets",
                fix="leave it out, or describe your task with --metric",
            )
        try:
            task = _benchmark_task(name, arxiv, instruction, profile, benchmark)
        except UsageError as error:
            if paper is None or name is None:
                raise
            raise UsageError(
                f"{error.what}; a task of your own needs its metric",
                fix="add --metric NAME, or give --experiment 'Table 1' in place of --task",
            ) from None
        return with_claims(task, claims)
    if name is None or not name.strip():
        raise UsageError(
            "--metric describes a task of your own, which needs a name",
            fix="add --task NAME (its data set, or its method)",
        )
    check_own_profile(profile)
    if arxiv is None and paper is None:
        raise UsageError("a task of your own needs its paper", fix="add --arxiv ID or --paper FILE")
    return _own_task(name, arxiv, paper, metrics, instruction, claims, targets)


def check_own_profile(profile: str) -> None:
    """Raise UsageError for a profile that a paper of the user's own doesn't have: such a paper is
    run as it is, whichever of the benchmark's usual two is named.
    """
    if profile not in (known := ("small", "full")):
        fix = f"{nearest(profile, known)}leave --profile out: a paper of your own runs in full"
        raise UsageError(f"there is no profile {profile}", fix=fix)


def with_claims(task: Task, claims: Sequence[str]) -> Task:
    """The task with the user's claims. Raises UsageError for one that cannot be read."""
    read_user_claims(claims)
    return task.model_copy(update={"user_claims": list(claims)}) if claims else task


def _benchmark_task(
    name: str | None, arxiv: str | None, instruction: str, profile: str, benchmark: Benchmark | None
) -> Task:
    from autoreproduce.papers.arxiv_client import normal_id, without_version

    if name is None:
        raise UsageError(
            "which experiment? Add --task NAME (a data set or method; `autoreproduce bench list` "
            "lists them)"
        )
    task = (benchmark or open_benchmark("reproducebench")).load(name, profile)
    if arxiv is not None and without_version(normal_id(arxiv)) != task.arxiv_id:
        raise UsageError(
            f"task {task.id} is of arXiv {task.arxiv_id}, not {arxiv}",
            fix="correct one, or describe a task of your own with --metric",
        )
    if instruction:
        task = task.model_copy(update={"instruction": f"{task.instruction}\n\n{instruction}"})
    return task


def _own_task(
    name: str,
    arxiv: str | None,
    paper: Path | None,
    metrics: Sequence[str],
    instruction: str,
    claims: Sequence[str],
    targets: str,
) -> Task:
    if paper is not None and not (paper.exists() or folder_and_main(paper)):
        raise UsageError(f"--paper {paper} is missing", fix=f"give the paper as {KINDS}")
    entry = OwnTask(
        name=name,
        metric=tuple(metrics),
        arxiv=arxiv,
        instruction=instruction,
        claims=tuple(claims),
        targets=targets,
    )
    return OwnTasks(OwnTasks.Options(tasks=[entry])).load(name, "full")


def data_folder(data: Path) -> Path:
    """What --data names for a task of the user's own.

    Raises UsageError if it is no folder, or a link in it leads out of it.
    """
    if not data.is_dir():
        raise UsageError(f"--data {data} isn't a folder", fix="name the folder with the data")
    check_tree(data)
    return data.resolve()
