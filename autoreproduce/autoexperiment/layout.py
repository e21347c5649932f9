"""Folders: the workspace a solver gets, and the clean copy in which its functions are judged.

Gold lies outside `code/`, and only `code/` is ever copied.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from autoreproduce.autoexperiment.locating import wanted_of
from autoreproduce.autoexperiment.masking import Masked, Piece, Variant, mask_files, read_source
from autoreproduce.autoexperiment.selection import MaskedTask
from autoreproduce.autoexperiment.upstream import upstream_mask
from autoreproduce.errors import UsageError

COMMAND = "bash refsol.sh"
LAID_OUT = ("experiment.txt", "paper.txt", "refsol.sh")  # what a workspace has beside the code


def lay_out(
    task: MaskedTask, folder: Path, *, variant: Variant = "docstring", upstream: bool = False, paper: bool = True,
    commands: bool = True, readme: bool = True,
) -> dict[str, Masked]:  # fmt: skip
    """A solver's workspace in `folder`, as the public benchmark lays it out; the masks by file.

    `upstream` masks by the public text, faults included, and then the pieces cover whole files. `commands` gives
    `refsol.sh`, run by `COMMAND`. Raises SourceError where a function cannot be masked.
    """
    copy_code(task.paper.code, folder)
    done = _upstream(task, folder) if upstream else mask_files(folder, wanted_of(task.paper, task.functions), variant)
    missing = "".join(f"\n- {row.name} in file {row.file}" for row in task.functions)
    text = task.experiments + (f"\n\nMissing function(s):{missing}" if missing else "")
    (folder / "experiment.txt").write_text(f"{text}\n", encoding="utf-8")
    if paper and task.paper.text:
        (folder / "paper.txt").write_text(task.paper.text, encoding="utf-8")
    if commands:
        runnable = with_seed(task.solution, "${SEED:-0}")  # the harness puts each seed in; a solver runs one
        (folder / "refsol.sh").write_text(runnable.rstrip("\n") + "\n", encoding="utf-8")
    if not readme:
        for path in folder.glob("README*"):
            path.unlink()
    return done


def with_seed(command: str, seed: str) -> str:
    """A bash text with `seed` for each `{seed}`; `${seed}` is a variable of its own."""
    return re.sub(r"(?<!\$)\{seed\}", lambda _: seed, command)


def copy_code(code: Path, folder: Path) -> None:
    """A fresh copy of a repository without its history and caches. Raises UsageError where it cannot be made."""
    if not code.is_dir():
        raise UsageError(f"{code} is missing: get the dataset's files again")
    skip = shutil.ignore_patterns(".git", "__pycache__", "*.pyc")
    try:
        shutil.copytree(code, folder, symlinks=True, ignore=skip, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise UsageError(
            f"{code} cannot be copied to {folder} ({str(error)[:200]}): make room, or mend the files"
        ) from None


def wanted_pairs(task: MaskedTask) -> list[tuple[str, str]]:
    """File and address of each masked function. Raises SourceError where one cannot be found."""
    return [(each.file, each.name) for each in wanted_of(task.paper, task.functions)]


def digests(folder: Path, files: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of files below a folder, "" for one that is not there."""
    found = {}
    for path in files:
        full = folder / path
        plain = full.is_file() and not full.is_symlink()
        found[str(path)] = hashlib.sha256(full.read_bytes()).hexdigest() if plain else ""
    return found


def code_files(folder: Path) -> list[Path]:
    """What a run may not change without being told of: programs and scripts, relative to `folder`."""
    kinds = {".py", ".sh", ".yaml", ".yml", ".cfg", ".toml"}
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.suffix in kinds and path.is_file())


def _upstream(task: MaskedTask, folder: Path) -> dict[str, Masked]:
    done = {}
    for file in dict.fromkeys(row.file for row in task.functions):
        source = read_source(folder, file)
        rows = [row for row in task.functions if row.file == file]
        before, after = source.utf8.decode(), upstream_mask(source.utf8.decode(), rows).encode()
        done[file] = Masked(after, (Piece("+".join(row.name for row in rows), 0, len(after), before),))
        (folder / file).write_bytes(after)
    return done
