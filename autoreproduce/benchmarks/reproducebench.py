"""ReproduceBench: one folder a task, and this module its only reader.

A folder is content. What it holds as Python (`prepare.py`, `metric.py`) is ours and runs in this process;
`preprocess.py` and `reference/` run in a sandbox like any program. The predictions that `metric.py` reads
were written by a program that nobody vouches for, so they are looked at before they are opened, and whatever
is wrong with them is a reason and not a crash.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import stat
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from filelock import FileLock
from filelock import Timeout as LockTimeout

from autoreproduce.benchmarks.schema import LineageFile, Points, Reference, Rubric, TaskFile, read_yaml
from autoreproduce.config import digest
from autoreproduce.content import folder
from autoreproduce.errors import UsageError
from autoreproduce.task import Task
from autoreproduce.trial import now

Note = Callable[[str], None]
STAMP = ".prepared.json"
LARGEST_PREDICTIONS = 4 * 2**30  # bytes, unpacked


@dataclass(frozen=True)
class Recomputed:
    """The metric from saved predictions. `value` is None where it could not be had, and `reason` says why."""

    value: float | None
    reason: str = ""


def task_folders() -> list[Path]:
    """The folders of the benchmark, one a task, by name. A name that begins with a dot or _ is none."""
    return sorted(path.parent for path in folder("reproducebench").glob("[!._]*/task.yaml"))


def task_names() -> list[str]:
    """The ids of all tasks, as a suite that asks for all of them gets them."""
    return [path.name for path in task_folders()]


def task_file(path: Path) -> TaskFile:
    """task.yaml of a folder, checked. Raises UsageError that names file and field."""
    file = read_yaml(path / "task.yaml", TaskFile)
    if file.id != path.name:
        raise UsageError(f"{path / 'task.yaml'}: id: it says {file.id}, and its folder is named {path.name}")
    return file


def points(task: Task) -> Points:
    """The five key points of a task. Raises UsageError where it has none or they are malformed."""
    return read_yaml(_folder(task) / "points.yaml", Points)


def rubric(task: Task) -> Rubric:
    """The human scale of a task. Raises UsageError where it has none or it is malformed."""
    return read_yaml(_folder(task) / "rubric.yaml", Rubric)


def references(task: Task) -> list[Reference]:
    """The curated references of a task, the best first; none where it is not of the benchmark or has none."""
    path = task.folder / "lineage.yaml" if task.folder else None
    return read_yaml(path, LineageFile).references if path and path.exists() else []


def find_task(name: str, profile: str = "small") -> Task:
    """The task that answers to `name`: its id, dataset, method or another of its names, in any case.

    Raises UsageError for an unknown or an ambiguous name, with what there is.
    """
    wanted = _plain(name)
    found = [path for path in task_folders() if _plain(path.name) == wanted]
    if not found:
        found = [path for path in task_folders() if wanted in map(_plain, task_file(path).names)]
    if len(found) == 1:
        return load_task(found[0].name, profile)
    if found:
        raise UsageError(f"{name} may be {_list(path.name for path in found)}: name one of them")
    raise UsageError(f"no task answers to {name}: {_what_there_is(name)}, or describe your own by --arxiv and --metric")


def load_task(task_id: str, profile: str = "small") -> Task:
    """The task of a folder under a profile, without its data (`prepare` gives `data_dir`).

    Raises UsageError where there is no such folder or profile, or a file of it is malformed.
    """
    path = _folder_of(task_id)
    file = task_file(path)
    size = next((size for name, size in file.profiles.items() if name == profile), None)
    if size is None:
        raise UsageError(f"{task_id} has no profile {profile}: it has {_list(file.profiles)}")
    return Task(
        id=file.id, arxiv_id=file.arxiv, title=file.title, method=file.method, dataset=file.dataset,
        metric=file.metric, instruction=f"{file.instruction.strip()}\n\n{size.instruction.strip()}".strip(),
        profile=profile, stand_in=size.stand_in, preprocess=_text(path, file.preprocess),
        digest=_text(path, "digest.md"), folder=path, time_limit_minutes=size.time_limit_minutes,
        paper_result=file.results.paper, published=file.results.published, measured=size.measured,
        notes=[*file.notes, *size.notes],
    )  # fmt: skip


def prepare(task_id: str, profile: str, cache: Path, note: Note) -> Path:
    """The folder with the task's data, made where it is not there yet: `cache`/data/`task_id`/`profile`.

    The folder's `prepare(target, profile, note)` writes each file whole or not at all and goes on with what
    it finds; the stamp is written after it, so data without a stamp are never used. A stamp of another
    `prepare.py` counts for nothing. A second process waits for the first. What `prepare` raises as ValueError
    or OSError (a wrong checksum, a full disk) is a UsageError here.
    """
    target = cache / "data" / task_id / profile
    source, stamp = _stamp(task_id, profile)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(target, note):
            if not _stamped(target, stamp):
                (target / STAMP).unlink(missing_ok=True)
                _module(source).prepare(target, profile, note)
                _write(target / STAMP, json.dumps({**stamp, "at": now()}))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot prepare {task_id} in {target} ({error}): mend that, then run the same command"
        ) from error
    return target


def is_prepared(task_id: str, profile: str, cache: Path) -> bool:
    """True where `prepare` would do nothing."""
    return _stamped(cache / "data" / task_id / profile, _stamp(task_id, profile)[1])


def recompute(task: Task, workspace: Path) -> Recomputed:
    """The task's metric from the predictions that a program left in `workspace`.

    `task.data_dir` holds the truth. The file is refused unread where it is a link, a device or unpacks to
    more than 4 GiB; wrong shapes, wrong types, missing keys and values that are not finite are reasons too.
    """
    metric = task.folder / "metric.py" if task.folder else None
    if metric is None or not metric.exists():
        return Recomputed(None, f"task {task.id} has no metric code: the program's own number counts")
    name = task_file(_folder(task)).predictions or "predictions.npz"
    if task.data_dir is None:
        return Recomputed(None, f"the data of task {task.id} are not prepared")
    refused = _refused(workspace / name)
    if refused:
        return Recomputed(None, f"{name} {refused}")
    try:
        value = float(_module(metric).metric(workspace / name, task.data_dir))
    except Exception as error:  # numpy and zipfile raise whatever a strange file leads them to
        return Recomputed(None, f"{name} cannot be used ({type(error).__name__}): {error}")
    return Recomputed(value) if math.isfinite(value) else Recomputed(None, f"{name} gives {value}, which is no number")


def reference_folder(task: Task) -> Path:
    """The folder of our own implementation. Raises UsageError where the task has none."""
    path = _folder(task) / "reference"
    if not (path / "main.py").exists():
        raise UsageError(f"task {task.id} has no reference implementation ({path / 'main.py'} is missing)")
    return path


def lay_out_reference(task: Task, workspace: Path) -> None:
    """Copy the reference's program and the data code into a workspace: `python main.py` runs there."""
    for path in sorted(reference_folder(task).glob("*.py")):
        shutil.copyfile(path, workspace / path.name)
    if task.preprocess is not None:
        (workspace / "preprocess.py").write_text(task.preprocess, encoding="utf-8")


def _folder(task: Task) -> Path:
    if task.folder is None:
        raise UsageError(f"task {task.id} is not one of the benchmark: it has no folder")
    return task.folder


def _folder_of(task_id: str) -> Path:
    for path in task_folders():
        if path.name == task_id:
            return path
    raise UsageError(f"there is no task {task_id}: {_what_there_is(task_id)}")


def _what_there_is(name: str) -> str:
    """The tasks and, before them, what `name` may have meant."""
    from rapidfuzz import process

    known = {other: path.name for path in task_folders() for other in task_file(path).names}
    close = process.extract(name.lower(), {key: key.lower() for key in known}, score_cutoff=70, limit=3)
    meant = f"did you mean {_list(key for _, _, key in close)}? " if close else ""
    return f"{meant}there is {_list(dict.fromkeys(known.values()))}" if known else "the benchmark is empty"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _text(path: Path, name: str | None) -> str | None:
    """The text of a file of the task, None where none is named; a named one that is missing is an error."""
    if name is None:
        return None
    try:
        return (path / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"{path / name} is missing: the task needs it") from None


def _module(path: Path) -> ModuleType:
    """A Python file of a task folder, run under a name that no other module has; no bytecode is written there."""
    source = _text(path.parent, path.name) or ""
    name = f"reproducebench_{path.parent.name}_{path.stem}"
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(source, path, "exec"), module.__dict__)
    return module


@contextmanager
def _one_at_a_time(target: Path, note: Note) -> Iterator[None]:
    lock = FileLock(target.with_name(f".{target.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except LockTimeout:
        note(f"another process prepares {target}: waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _stamp(task_id: str, profile: str) -> tuple[Path, dict[str, str]]:
    """The code that prepares a task, and what the stamp says of data that it made."""
    source = _folder_of(task_id) / "prepare.py"
    code = _text(source.parent, source.name) or ""
    return source, {"task": task_id, "profile": profile, "prepare": digest(code)}


def _stamped(target: Path, stamp: dict[str, str]) -> bool:
    try:
        found = json.loads((target / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and all(found.get(key) == value for key, value in stamp.items())


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _refused(path: Path) -> str:
    """Why a file that a program left is not opened, "" where it may be."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return "is not a plain file"
        with zipfile.ZipFile(path) as archive:
            size = sum(item.file_size for item in archive.infolist())
    except FileNotFoundError:
        return "was not written"
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        return f"is no .npz file ({error})"
    return f"unpacks to {size / 2**30:.1f} GiB, over the limit" if size > LARGEST_PREDICTIONS else ""
