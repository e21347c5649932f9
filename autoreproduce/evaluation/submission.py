"""A trial's folder around a program that someone else wrote, so that it is scored as any trial is.

What is judged is text alone (`judging.submitted_code`); what runs is the whole tree: data,
notebooks, configuration. It lies in the trial's folder, beside the workspace, and each run begins
with a copy. What is left out, links, submodules, results of an earlier run, and what is too large,
is named with the reason.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from autoreproduce.config import digest
from autoreproduce.contracts import Submission
from autoreproduce.errors import SandboxError, UsageError
from autoreproduce.evaluation.judging.submitted_code import Sources, is_safe, own_entries
from autoreproduce.evaluation.outside_run import OutsideRun, write_outside_run
from autoreproduce.files.kinds import NOT_WRITTEN
from autoreproduce.files.tree import Tree, TreeEntry
from autoreproduce.files.unpacking import LARGEST_WHOLE, MOST_ENTRIES
from autoreproduce.job import EXTERNAL, Job, now
from autoreproduce.task import Task
from autoreproduce.trials.run import METRICS
from autoreproduce.trials.trial import Trial, TrialRecord
from autoreproduce.trials.workspace import Workspace

TREE = "tree"
LARGEST_FILE = 100_000_000  # bytes, of a file that nobody named
LFS = "version https://git-lfs.github.com/spec/"  # a text in place of a large file
_SUBMODULE = re.compile(r"^[ \t]*path[ \t]*=(.{1,1000})$", re.MULTILINE)


@dataclass(frozen=True)
class CarriedFiles:
    """`names`: what is copied from `root`; `left_out`: name -> why it is not."""

    root: Path
    names: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Of the names and contents; "" of none."""
        tree = Tree(self.root)
        return digest([[name, tree.sha256(name)] for name in self.names]) if self.names else ""

    def copy_to(self, trial_folder: Path) -> None:
        """Copy the files beside the workspace, where each run takes them from."""
        if self.names:
            most = {"most": LARGEST_WHOLE, "count": MOST_ENTRIES}
            Tree(self.root).copy_out(trial_folder / TREE, self.names, rights=True, **most)


def carried_files(root: Path, without: Sequence[Path], large: Sequence[str]) -> CarriedFiles:
    """What of the folder `root` goes into the sandbox; a single file is its program, and no tree.

    `without`: folders that are no part of it. `large`: names or patterns of files over the limit
    of one file that are taken all the same. Raises UsageError for one that names nothing.
    """
    if not root.is_dir():
        return CarriedFiles(root)
    entries = own_entries(root, without, NOT_WRITTEN, ())
    left_out, room = _submodules(root, entries), LARGEST_WHOLE
    taken: list[str] = []
    for pattern in large:
        if not any(PurePosixPath(entry.name).match(pattern) for entry in entries):
            raise UsageError(f"--carry {pattern} isn't a file of the program", fix="name one of it")
    for entry in sorted(entries, key=lambda entry: entry.size):
        named = any(PurePosixPath(entry.name).match(pattern) for pattern in large)
        why = "" if entry.kind == "file" else f"a {entry.kind}"
        if entry.name == METRICS:
            why = "the result of an earlier run"
        elif entry.kind == "file" and _is_pointer(root, entry):
            why = "kept by Git LFS, and not fetched: run git lfs pull and name the folder"
        elif entry.size > LARGEST_FILE and not named:
            why = f"{entry.size / 1e6:,.0f} MB; --carry {entry.name} takes it"
        elif entry.size > room or len(taken) >= MOST_ENTRIES:
            why = f"the tree is over {LARGEST_WHOLE >> 30} GiB or {MOST_ENTRIES:,} files"
        if why:
            left_out[entry.name] = why
            continue
        room -= entry.size
        taken.append(entry.name)
    return CarriedFiles(root, tuple(sorted(taken)), left_out)


def _is_pointer(root: Path, entry: TreeEntry) -> bool:
    return 100 < entry.size < 300 and Tree(root).read(entry.name).startswith(LFS.encode())


def lay_carried(trial_folder: Path, workspace: Path) -> None:
    """Copy the tree of a trial, if it has one, into a folder in which its program is to run."""
    tree = Tree(trial_folder / TREE)
    if names := tree.files():
        most = {"most": LARGEST_WHOLE, "count": MOST_ENTRIES}
        tree.copy_out(workspace, names, rights=True, **most)


def _submodules(root: Path, entries: Sequence[TreeEntry]) -> dict[str, str]:
    """The submodules that a repository names and of which no entry is there."""
    try:
        text = Tree(root).read_text(".gitmodules", 2**16)
    except (FileNotFoundError, SandboxError):
        return {}
    full = {folder for entry in entries for folder in PurePosixPath(entry.name).parents}
    named = [PurePosixPath(path.strip()) for path in _SUBMODULE.findall(text)]
    inside = (path for path in named if not path.is_absolute() and ".." not in path.parts)
    empty = (str(path) for path in inside if path not in full and str(path).isprintable())
    return dict.fromkeys(empty, "a submodule: fetch it and name the folder")


NOT_RUN = "not run"


def not_run() -> Submission:
    """The submission of a program that was handed in and is not to be run."""
    return Submission("failed", "it was handed in and not run", NOT_RUN)


def known_by(
    job: Job, program: Sources, run: OutsideRun | None = None, carried: CarriedFiles | None = None
) -> Job:
    """The Job with what the program holds, by which its trial is known: its text, and its tree if
    it has one. Raises UsageError for a program that can't lie in a workspace.
    """
    if taken := sorted(set(run.beside if run else ()) & set(program.files)):
        raise UsageError(f"the program has a {taken[0]} itself", fix="rename yours of --beside")
    if unsafe := [name for name in program.files if not is_safe(name)]:
        raise UsageError(
            f"{unsafe[0]} would lie outside the workspace", fix="name its folder instead"
        )
    whole = [program.files, carried.digest] if carried and carried.names else program.files
    return job.having(digests={**job.digests, "program's content": digest(whole)})


def put_in(
    trial: Trial,
    program: Sources,
    task: Task,
    run: OutsideRun | None = None,
    carried: CarriedFiles | None = None,
) -> None:
    """Put the program into a trial of which nothing is done yet, as its one commit. `carried`: its
    whole tree, for the run.
    """
    ended = trial.result is not None and trial.result.status != "stopped"
    if ended or trial.steps:
        return
    space = Workspace(trial.folder)
    space.open()
    given = {"preprocess.py": task.preprocess} if task.preprocess else {}
    space.commit({**given, **program.files}, "the program as it was handed in")
    if carried is not None:
        carried.copy_to(trial.folder)
        lay_carried(trial.folder, trial.workspace)
    if run is not None:
        write_outside_run(trial, run)


def lay_out(
    folder: Path,
    program: Sources,
    task: Task,
    job: Job | None = None,
    begun: Callable[[], None] = lambda: None,
) -> Trial:
    """Make the trial's folder of a program that isn't run, or open the one that is there. `begun`
    is called of a new folder.

    Raises TrialError where the folder holds another program: its scores would pass for this one's.
    """
    asked = known_by(job or Job(task=task, solver=EXTERNAL), program)
    trial = Trial.open(folder, TrialRecord(job=asked, model="none", created=now()), (), begun)
    put_in(trial, program, task)
    return trial
