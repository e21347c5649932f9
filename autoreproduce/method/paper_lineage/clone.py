"""A shallow clone at one commit, by git itself, read without ever being checked out.

The clone is bare and files are read from git's object store: no hook runs, no filter (LFS) smudges,
no symbolic link or odd file name touches the disk, and nothing of it can be executed. Files above
`LARGEST` are not even downloaded if the server can filter, and submodules are never followed.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from autoreproduce.errors import LineageError
from autoreproduce.files.git_process import GitError, run_git

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autoreproduce.config import Settings
    from autoreproduce.trials.trial import Trial

SECONDS = 180.0  # of the whole clone
LARGEST = 300_000  # bytes of one file that is fetched
LFS = b"version https://git-lfs.github.com/spec/"


class Text(BaseModel):
    """A file's text and its true size."""

    text: str
    lines: int
    bytes: int
    lfs: bool = Field(default=False, description="a Git LFS pointer is in its place")


class ClonedFiles(BaseModel):
    """The regular files of a commit (path → bytes, None where too large), or the reason why it
    could not be fetched.
    """

    files: dict[str, int | None] = {}
    error: str = ""


def clone(
    name: str, commit: str, folder: Path, settings: Settings, seconds: float = SECONDS
) -> None:
    """Fetch one commit of github's owner/name into the bare repository `folder`. Raises
    LineageError.
    """
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise LineageError(f"{commit[:60]!r} isn't a commit")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    url = f"{settings.papers.github_url.rstrip('/')}/{name}.git"
    git(folder, ["init", "--quiet", "--bare", "."], seconds)
    fetch = [
        "fetch",
        "--quiet",
        "--depth=1",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-auto-maintenance",
    ]
    git(folder, [*fetch, f"--filter=blob:limit={LARGEST}", url, commit], seconds)
    _forget_remote(folder)


def _forget_remote(folder: Path) -> None:
    """Remove the remote from the configuration: git would fetch a left-out file when asked its
    size.
    """
    git(folder, ["config", "--remove-section", f"remote.{_remote(folder)}"], 10, check=False)
    git(folder, ["config", "--unset-all", "extensions.partialclone"], 10, check=False)


def _remote(folder: Path) -> str:
    """The name (here a URL) under which git noted that files were left out."""
    listed = git(
        folder,
        ["config", "--name-only", "--get-regexp", r"^remote\..*\.promisor$"],
        10,
        check=False,
    )
    return listed.decode().strip().removeprefix("remote.").removesuffix(".promisor")


def sizes(folder: Path, commit: str) -> dict[str, int | None]:
    """The bytes of each regular file of the commit, None where it was too large to be fetched;
    symbolic links and submodules are left out.
    """
    found: dict[str, int | None] = {}
    for record in git(folder, ["ls-tree", "-r", "-l", "-z", commit], 60).split(b"\0"):
        head, _, path = record.partition(b"\t")
        if head.startswith(b"100"):
            size = head.split()[-1]
            found[path.decode("utf-8", "replace")] = int(size) if size.isdigit() else None
    return found


def read(folder: Path, commit: str, path: str) -> Text:
    """One file of the commit. Raises LineageError if it is too large, missing, or not text."""
    data = git(folder, ["cat-file", "blob", f"{commit}:{path}"], 60)
    if b"\0" in data[:8_000]:
        raise LineageError(f"{path} isn't text")
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return Text(text=text, lines=len(text.splitlines()), bytes=len(data), lfs=data.startswith(LFS))


def git(folder: Path, arguments: Iterable[str], seconds: float, *, check: bool = True) -> bytes:
    """What git prints. Raises LineageError with git's complaint, or after `seconds`: all of it is
    killed.
    """
    try:
        return run_git(folder, arguments, seconds)
    except FileNotFoundError:
        raise LineageError(
            "git is not installed", fix="install it, or use --no-lineage", kind="no git"
        ) from None
    except GitError as error:
        if check or error.kind != GitError.kind:  # stopped, where a failure is an answer
            raise LineageError(error.what, fix=error.fix, kind=error.kind) from None
        return b""


def fetch_commit(
    name: str, commit: str, folder: Path, trial: Trial, settings: Settings
) -> ClonedFiles:
    """The files of the cloned commit, or why there are none. One step of the trial."""

    def do() -> ClonedFiles:
        try:
            clone(name, commit, folder, settings)
            return ClonedFiles(files=sizes(folder, commit))
        except (LineageError, OSError) as error:
            return ClonedFiles(error=str(error) or type(error).__name__)

    return trial.fetch(ClonedFiles, "lineage/clone", {"repository": name, "commit": commit}, do)
