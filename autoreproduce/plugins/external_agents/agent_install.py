"""Installs an agent once a machine, outside the trials, without running any of its code here.

Python agents come as wheels through the sandbox's own installer (`sandboxes/wheels.py`), others as
npm's archives without their scripts. What is there is mounted read-only into the agent's sandbox.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from filelock import FileLock

from autoreproduce.config import Settings, digest
from autoreproduce.contracts import Packages
from autoreproduce.errors import SandboxError, UsageError
from autoreproduce.plugins.external_agents.agent_file import AgentFile
from autoreproduce.sandboxes.owners import temporary_folder
from autoreproduce.sandboxes.setup import SandboxSetup

SECONDS = 1800.0  # that an installation may take
DONE = "installed"
# What npm is given of the caller's environment, beside its own settings.
PASSED_ON = ("PATH", "HOME", "NODE_EXTRA_CA_CERTS", "http_proxy", "https_proxy", "no_proxy")
NPM = ("install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error")


def installed_agent(
    agent: AgentFile, settings: Settings, sandbox: str, note: Callable[[str], None]
) -> Mapping[str, Path]:
    """The folders of an agent by where its sandbox shows them, installed now if they are not.

    `sandbox` is the name of the trial's. Raises UsageError if npm is missing, SandboxError if a
    registry does not have what is asked or cannot be reached.
    """
    found: dict[str, Path] = {}
    if agent.pip:
        # Outside Docker it lies over the packages of the Python that is running.
        base = settings.sandbox.image if sandbox == "docker" else [sys.prefix, sys.version]
        what = digest([agent.pip, sandbox, base])
        home = _once(
            settings.cache_dir / "agents" / f"{agent.name}-pip-{what[:8]}",
            lambda folder: _install_wheels(agent, settings, sandbox, folder, note),
        )
        found["/agent/python"] = home / sandbox
    if agent.npm:
        home = _once(
            settings.cache_dir / "agents" / f"{agent.name}-npm-{digest(agent.npm)[:8]}",
            lambda folder: _install_archives(agent, folder, note),
        )
        found["/agent/npm"] = home
    if code := agent.code_folder():
        found["/agent/code"] = code
    return found


def _once(folder: Path, install: Callable[[Path], None]) -> Path:
    """The folder, filled by `install` if no process has done so before."""
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / DONE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            install(folder)
            (folder / DONE).touch()
    return folder


def _install_wheels(
    agent: AgentFile, settings: Settings, sandbox: str, folder: Path, note: Callable[[str], None]
) -> None:
    note(f"Installing {agent.name}: {' '.join(agent.pip)}")
    named = settings.having(sandbox=sandbox)
    with temporary_folder("agent-") as workspace:
        opened = SandboxSetup(named, folder, label=agent.name).open(workspace)
        try:
            done = opened.install(Packages(tuple(agent.pip)), SECONDS)
        finally:
            opened.close()
    if not done.ok:
        raise _failed(agent, done.stderr or done.stdout)


def _install_archives(agent: AgentFile, folder: Path, note: Callable[[str], None]) -> None:
    npm = shutil.which("npm")
    wanted = [f"{name}@{version}" for name, version in agent.npm.items()]
    if npm is None:
        raise UsageError(f"npm is missing, which fetches {agent.name}", fix="install Node.js")
    note(f"Installing {agent.name}: {' '.join(wanted)}")
    given = {n: v for n, v in os.environ.items() if n in PASSED_ON or n.startswith("npm_config_")}
    try:
        done = subprocess.run(
            [npm, *NPM, "--prefix", str(folder), "--", *wanted],
            env=given,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _failed(agent, f"npm took more than {SECONDS:g} s") from None
    if done.returncode:
        raise _failed(agent, done.stderr)


def _failed(agent: AgentFile, words: str) -> SandboxError:
    said = " ".join(words.split())[-400:]
    return SandboxError(
        f"the agent {agent.name} cannot be installed ({said})",
        fix="is the registry reachable, and does it have these versions?",
    )
