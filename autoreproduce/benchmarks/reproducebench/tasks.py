"""ReproduceBench: one folder a task; its tasks by name, and what each folder says.

A folder is content. What it holds as Python (`prepare.py`, `metric.py`) is ours and runs in this
process; `preprocess.py` and `reference/` run in a sandbox like any program.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from autoreproduce.benchmarks.reproducebench.altered import AlteredProgram, altered_programs
from autoreproduce.benchmarks.reproducebench.curated import (
    CuratedReference,
    LineageFile,
    Points,
    Rubric,
)
from autoreproduce.benchmarks.reproducebench.task_code import text_of
from autoreproduce.benchmarks.reproducebench.task_yaml import (
    Profile,
    Targets,
    TaskFile,
    claim_of,
    read_yaml,
)
from autoreproduce.claims.claim import Claim, ClaimsFile
from autoreproduce.content import folder
from autoreproduce.errors import UsageError, nearest
from autoreproduce.files.bounded import imported_modules
from autoreproduce.files.shared import check_tree
from autoreproduce.files.tree import Tree
from autoreproduce.task import Task

FULL = "full"


def claims_under(file: TaskFile, name: str, profile: Profile) -> ClaimsFile:
    """The claims of a task under a profile, or why it has none."""
    paper, experiment = file.title, f"{file.method} on {file.dataset}"
    claims = file.paper_claims or _claims_of_result(file)
    if not claims:
        reason = "the task quotes no number of the paper"
        return ClaimsFile(paper=paper, experiment=experiment, none_because=reason)
    why = _why_not_comparable(name, profile)
    held = tuple(
        claim.model_copy(update={"not_comparable": claim.not_comparable or why}) for claim in claims
    )
    return ClaimsFile(paper=paper, experiment=experiment, claims=held)


def _claims_of_result(file: TaskFile) -> tuple[Claim, ...]:
    """The paper's number as the task quotes it."""
    result = file.results.paper
    if result is None:
        return ()
    fields = {
        "experiment": result.source,
        "row": [file.method],
        "column": [file.dataset],
        "value": result.value,
        "main": True,
    }
    return (claim_of(fields, file.metric),)


def _why_not_comparable(name: str, profile: Profile) -> str:
    if profile.stand_in:
        return f"stand-in data: {profile.stand_in}"
    return "" if name == FULL else f'the profile "{name}" is not the paper\'s setting'


def task_folders() -> list[Path]:
    """The folders of the benchmark, one a task, by name. A name that begins with a dot or _ is
    none.
    """
    return sorted(path.parent for path in folder("reproducebench").glob("[!._]*/task.yaml"))


def task_names() -> list[str]:
    """The ids of all tasks, as a suite that asks for all of them gets them."""
    return [path.name for path in task_folders()]


def task_file(path: Path) -> TaskFile:
    """task.yaml of a folder, checked. Raises UsageError that names file and field, or a link that
    leads out.
    """
    check_tree(path)
    file = read_yaml(path / "task.yaml", TaskFile)
    if file.id != path.name:
        raise UsageError(
            f"{path / 'task.yaml'}: id",
            fix=f"it says {file.id}, and its folder is named {path.name}",
        )
    return file


def points(task: Task) -> Points:
    """The five key points of a task. Raises UsageError where it has none or they are malformed."""
    return read_yaml(folder_of(task) / "points.yaml", Points)


def targets_of(task: Task) -> Targets:
    """What the metric compares predictions with, and whether the run that counts sees it."""
    return task_file(folder_of(task)).targets


def redrawn(task: Task) -> bool:
    """Whether a secret seed makes the task's data anew for the run that counts."""
    file = task_file(folder_of(task))
    return any(size.redrawn and name == task.profile for name, size in file.profiles.items())


def rubric(task: Task) -> Rubric:
    """The human scale of a task. Raises UsageError where it has none or it is malformed."""
    return read_yaml(folder_of(task) / "rubric.yaml", Rubric)


def references(task: Task) -> list[CuratedReference]:
    """The curated references of a task, the best first; none where it is not of the benchmark or
    has none.
    """
    path = task.folder / "lineage.yaml" if task.folder else None
    return read_yaml(path, LineageFile).references if path and path.exists() else []


def find_task(name: str, profile: str = "small") -> Task:
    """The task that answers to `name`: its id, dataset, method or another of its names, in any
    case.

    Raises UsageError for an unknown or an ambiguous name, with what there is.
    """
    wanted = _letters(name)
    found = [path for path in task_folders() if _letters(path.name) == wanted]
    if not found:
        found = [path for path in task_folders() if wanted in map(_letters, task_file(path).names)]
    if len(found) == 1:
        return load_task(found[0].name, profile)
    if found:
        raise UsageError(
            f"{name} may be {_listed(path.name for path in found)}", fix="name one of them"
        )
    raise UsageError(
        f"no task answers to {name}",
        fix=f"{_known_tasks(name)}, or describe your own with --arxiv or --paper, and --metric",
    )


def load_task(task_id: str, profile: str = "small") -> Task:
    """The task of a folder under a profile, without its data (`prepare` gives `data_dir`).

    Raises UsageError for an unknown id or profile, or a file of it is malformed.
    """
    path = task_folder(task_id)
    file = task_file(path)
    size = next((size for name, size in file.profiles.items() if name == profile), None)
    if size is None:
        raise UsageError(
            f"{task_id} has no profile {profile}",
            fix=f"{nearest(profile, file.profiles)}it has {_listed(file.profiles)}",
        )
    return Task(
        id=file.id,
        benchmark="reproducebench",
        arxiv_id=file.arxiv,
        title=file.title,
        method=file.method,
        dataset=file.dataset,
        metric=file.metric,
        claims=claims_under(file, profile, size).model_dump(mode="json", exclude_defaults=True),
        instruction="\n\n".join(
            filter(None, map(str.strip, (file.instruction, size.instruction, _hand_in(file))))
        ),
        profile=profile,
        stand_in=size.stand_in,
        preprocess=text_of(path, file.preprocess),
        digest=text_of(path, "digest.md"),
        folder=path,
        modules=imported_modules(
            {each.name: each.read_text() for each in (path / "reference").glob("*.py")}
            | {file.preprocess or "": ""}
        ),
        time_limit_minutes=size.time_limit_minutes,
        paper_result=file.results.paper,
        published=file.results.published,
        measured=size.measured,
        agreement=size.agreement,
        learns=file.learns,
        half_band=size.half_band,
        recomputes=(path / "metric.py").exists(),
        number_cannot_tell=size.number_cannot_tell,
        notes=[*file.notes, *size.notes],
    )


def _hand_in(file: TaskFile) -> str:
    """What a solver is asked to leave beside its predictions, so that a number can be clean."""
    if not file.learns or file.served is None:
        return ""
    asked = file.served
    data = file.loader or "the data code"
    inputs = (
        f"`inputs` holds {', '.join(f'`{name}`' for name in asked.inputs)}, as {data} gives "
        f"{'them' if len(asked.inputs) > 1 else 'it'}"
        if asked.inputs
        else "`inputs` is empty"
    )
    return (
        "Hand in what was learnt, beside the predictions: the number is computed again from it. "
        "`main.py` saves `weights.npz`, numeric arrays by name (no pickle) with all that a "
        "prediction needs, the data's scaling and the model's sizes too. `predict(weights, inputs)`"
        " in `predict.py`, or in `method.py`, takes both as dictionaries of NumPy arrays and "
        f"returns what {file.predictions} holds as `{asked.array}`; {inputs}. It's called in a "
        "fresh process with your modules, without data or a GPU, and gives what was saved: seed "
        "what it samples."
    )


def reference_folder(task: Task) -> Path:
    """The folder of our own implementation. Raises UsageError where the task has none."""
    path = folder_of(task) / "reference"
    if not (path / "main.py").exists():
        raise UsageError(
            f"task {task.id} has no reference implementation ({path / 'main.py'} is missing)"
        )
    return path


def reference_files(task: Task) -> dict[str, str]:
    """The texts of our own implementation by name, without the data code."""
    return {
        path.name: path.read_text("utf-8") for path in sorted(reference_folder(task).glob("*.py"))
    }


def altered_programs_of(task: Task) -> list[AlteredProgram]:
    """The known mistakes that can be put in under the task's profile, and its baseline."""
    file = task_file(folder_of(task))
    return altered_programs(reference_files(task), file.breaking, file.baseline, task.profile)


def lay_out_program(task: Task, files: dict[str, str], workspace: Path) -> None:
    """Write a program and the data code into a workspace: `python main.py` runs there."""
    tree = Tree(workspace)
    for name, text in files.items():
        tree.write(name, text)
    if task.preprocess is not None:
        tree.write("preprocess.py", task.preprocess)


def lay_out_reference(task: Task, workspace: Path) -> None:
    """Write the reference and the data code into a workspace."""
    lay_out_program(task, reference_files(task), workspace)


def folder_of(task: Task) -> Path:
    """The folder of a task. Raises UsageError where it is not of the benchmark."""
    if task.folder is None:
        raise UsageError(f"task {task.id} is not one of the benchmark: it has no folder")
    return task.folder


def task_folder(task_id: str) -> Path:
    """The folder of the task with this id. Raises UsageError with the tasks that there are."""
    for path in task_folders():
        if path.name == task_id:
            return path
    raise UsageError(f"unknown task {task_id}", fix=_known_tasks(task_id))


def _known_tasks(name: str) -> str:
    """The tasks and, before them, what `name` may have meant."""
    known = {other: path.name for path in task_folders() for other in task_file(path).names}
    spelt = {key.lower(): key for key in known}
    close = get_close_matches(name.lower(), spelt, cutoff=0.65)
    meant = f"did you mean {_listed(spelt[key] for key in close)}? " if close else ""
    return (
        f"{meant}there is {_listed(dict.fromkeys(known.values()))}"
        if known
        else "the benchmark is empty"
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()
