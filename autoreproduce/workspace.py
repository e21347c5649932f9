"""A trial's workspace: the program's files, and their history in git.

The history lies outside the folder that the program can write (`history.git` beside `workspace/`), since a
repository's hooks and configuration can name programs, and git would run them outside the sandbox.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from autoreproduce import turns
from autoreproduce.errors import TrialError

_AUTHOR = (
    "-c",
    "user.name=autoreproduce",
    "-c",
    "user.email=autoreproduce@localhost",
    "-c",
    "commit.gpgsign=false",
)
_SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.autocrlf=false")


class Workspace:
    """The files of one trial's program. Only what is committed through here is tracked."""

    def __init__(self, trial_folder: Path) -> None:
        self.folder = trial_folder.resolve() / "workspace"
        self.history = trial_folder.resolve() / "history.git"

    @turns.pausing()
    def git(self, *arguments: str) -> str:
        """The output of a git command on the history, run with no configuration but ours."""
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "HOME": str(self.history),
        }  # fmt: skip
        where = (f"--git-dir={self.history}", f"--work-tree={self.folder}")
        done = subprocess.run(
            ["git", *where, *_SAFE, *_AUTHOR, *arguments],
            env=environment, capture_output=True, text=True, cwd=self.folder, errors="replace", check=False,
        )  # fmt: skip
        if done.returncode:
            raise TrialError(f"git {arguments[0]} failed in {self.folder}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def open(self) -> None:
        """Make the history, or put tracked files back as they were committed."""
        if shutil.which("git") is None:
            raise TrialError("git is not there, and it keeps the program's history: install git")
        self.folder.mkdir(parents=True, exist_ok=True)
        for lock in self.history.glob("**/*.lock"):  # left by a killed git; the trial is locked by us
            lock.unlink()
        if not (self.history / "HEAD").exists():
            subprocess.run(
                ["git", "init", "-q", "--bare", "-b", "main", "--template=", str(self.history)],
                check=True,
                capture_output=True,
            )
        if not self.git("for-each-ref", "refs/heads/main"):  # none, too, where a process was killed before its commit
            self.git("commit", "-q", "--allow-empty", "-m", "an empty workspace")
        self.git("reset", "-q", "--hard", "HEAD")

    def read(self, name: str) -> str | None:
        """The text of a file, None where there is none."""
        path = self.folder / name
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None

    def commit(self, files: dict[str, str], subject: str, why: str = "") -> str:
        """Write files and commit them; the same content again makes no second commit. Returns the commit's name."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.git("add", "--force", "--", *files)
        if self.git("status", "--porcelain", "--untracked-files=no").strip():
            self.git("commit", "-q", "-m", subject, "-m", why or "-")
        return self.git("rev-parse", "HEAD").strip()
