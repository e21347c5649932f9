"""A shallow clone at one commit, by git itself, read without ever being checked out.

The clone is bare and files are read from git's object store: no hook runs, no filter (LFS) smudges, no
symbolic link or odd file name touches the disk, and nothing of it can be executed. Files above `LARGEST` are
not even downloaded, where the server can filter, and submodules are never followed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from autoreproduce.errors import LineageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autoreproduce.config import Settings
    from autoreproduce.trial import Trial

SECONDS = 180.0  # of the whole clone
LARGEST = 300_000  # bytes of one file that is fetched
LFS = b"version https://git-lfs.github.com/spec/"
_KEPT = ("GIT_SSL_", "GIT_PROXY_", "GIT_CURL_")


class Blob(BaseModel):
    """A file of a commit. `size` is None where it was too large to be fetched."""

    path: str
    size: int | None


class Text(BaseModel):
    """A file's text and its true size."""

    text: str
    lines: int
    bytes: int
    lfs: bool = Field(default=False, description="a Git LFS pointer stands in its place")


def clone(name: str, commit: str, folder: Path, settings: Settings, seconds: float = SECONDS) -> None:
    """Fetch one commit of github's owner/name into the bare repository `folder`. Raises LineageError."""
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise LineageError(f"{commit[:60]!r} is no commit")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    url = f"{settings.github_url.rstrip('/')}/{name}.git"
    git(folder, ["init", "--quiet", "--bare", "."], seconds)
    fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"]
    git(folder, [*fetch, f"--filter=blob:limit={LARGEST}", url, commit], seconds)
    _forget_remote(folder)


def _forget_remote(folder: Path) -> None:
    """Take the remote out of the configuration: git would fetch a left-out file when asked its size."""
    git(folder, ["config", "--remove-section", f"remote.{_remote(folder)}"], 10, check=False)
    git(folder, ["config", "--unset-all", "extensions.partialclone"], 10, check=False)


def _remote(folder: Path) -> str:
    """The name (here a URL) under which git noted that files were left out."""
    listed = git(folder, ["config", "--name-only", "--get-regexp", r"^remote\..*\.promisor$"], 10, check=False)
    return listed.decode().strip().removeprefix("remote.").removesuffix(".promisor")


def blobs(folder: Path, commit: str) -> list[Blob]:
    """The regular files of the commit; symbolic links and submodules are left out."""
    found = []
    for record in git(folder, ["ls-tree", "-r", "-l", "-z", commit], 60).split(b"\0"):
        head, _, path = record.partition(b"\t")
        if head.startswith(b"100"):
            size = head.split()[-1]
            found.append(Blob(path=path.decode("utf-8", "replace"), size=int(size) if size.isdigit() else None))
    return found


def read(folder: Path, commit: str, path: str) -> Text:
    """One file of the commit. Raises LineageError where it is too large, not there, or no text."""
    data = git(folder, ["cat-file", "blob", f"{commit}:{path}"], 60)
    if b"\0" in data[:8_000]:
        raise LineageError(f"{path} is no text")
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return Text(text=text, lines=len(text.splitlines()), bytes=len(data), lfs=data.startswith(LFS))


def git(folder: Path, arguments: Iterable[str], seconds: float, *, check: bool = True) -> bytes:
    """What git prints. Raises LineageError with git's complaint, or after `seconds`: all of it is killed."""
    command = [
        "git",
        "-c",
        "credential.helper=",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "gc.auto=0",
        *arguments,
    ]
    try:
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError:
        raise LineageError("git is not installed: install it, or use --no-lineage") from None
    try:
        out, err = process.communicate(timeout=seconds)
    except BaseException as error:  # also Ctrl-C: git's helpers must not stay behind
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise LineageError(f"git did not finish within {seconds:g} s") from None
        raise
    if check and process.returncode:
        raise LineageError(f"git failed: {_last_line(err)}")
    return out


def _environment() -> dict[str, str]:
    """The caller's, without git's own variables (they may name another repository), and nobody to ask."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k.startswith(_KEPT)}
    said = {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "SSH_ASKPASS": "true",
        "GIT_LFS_SKIP_SMUDGE": "1",
    }
    return {**kept, **said, "GIT_ALLOW_PROTOCOL": "http:https", "LC_ALL": "C"}


def _last_line(err: bytes) -> str:
    lines = [line for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))] or lines
    return told[-1][:200] if told else "it said nothing"


def fetch_commit(name: str, commit: str, folder: Path, trial: Trial, settings: Settings) -> dict[str, Any]:
    """{files: {path: bytes}} of the cloned commit, or {error}. One step of the trial."""

    def do() -> dict[str, Any]:
        try:
            clone(name, commit, folder, settings)
            return {"files": {b.path: b.size for b in blobs(folder, commit)}}
        except (LineageError, OSError) as error:
            return {"error": str(error)}

    return trial.step("fetch", "network", "lineage/clone", {"repository": name, "commit": commit}, do).result
