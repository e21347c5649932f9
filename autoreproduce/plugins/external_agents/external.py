"""An agent that is a program of its own as a solver: `solver: agent:NAME`, or `agent:FILE.yaml`.

It gets the task as a folder, the sandbox, the budget and the model of the trial, and is measured as
every other solver: after it has ended its program is run from the beginning, and what that run
leaves counts. Each of its calls is a step of the journal. An attempt that was interrupted is
continued if the agent can do so, else repeated; what was spent is spent.
"""

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock

from autoreproduce.config import Settings, digest
from autoreproduce.contracts import Execution, Need, Packages, Sandbox, Submission
from autoreproduce.errors import SandboxError, UsageError
from autoreproduce.files.kinds import REMADE
from autoreproduce.files.owner import temporary_folder
from autoreproduce.files.tree import Tree
from autoreproduce.method.coding import LEFT
from autoreproduce.method.literature_review import paper_of
from autoreproduce.method.workbench import Workbench
from autoreproduce.models import Models
from autoreproduce.models.budget import Budget, Cost
from autoreproduce.models.tape import CallSite
from autoreproduce.papers import Paper
from autoreproduce.plugins.external_agents.agent_file import AgentFile, read_agent
from autoreproduce.plugins.external_agents.gateway import relay
from autoreproduce.plugins.external_agents.gateway.calls import AgentCalls
from autoreproduce.plugins.external_agents.gateway.server import Gateway
from autoreproduce.plugins.external_agents.own_login import OwnLogin, Tunnel, own_login
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.solvers.limits import AgentLimits
from autoreproduce.solvers.submitted_program import OWN, LeftProgram
from autoreproduce.solvers.task_folder import TASK, Guide, task_folder, withholding_of
from autoreproduce.solvers.wanted import refuse_unwritten
from autoreproduce.task import Task
from autoreproduce.trials.steps import ExecutionResult, ModelResult, Step, dollars_of, model_results
from autoreproduce.trials.trial import Trial
from autoreproduce.trials.workspace import Workspace

NOTES = "agent.json"  # what a reader of the number must know of the agent's run


@dataclass
class AgentAttempt:
    """What one attempt of an agent works with. `lay_out` puts the task into the workspace, which
    is emptied first; `notes` is the file of what a reader must know of its run.
    """

    models: Models
    sandbox: Sandbox
    trial: Trial
    limits: AgentLimits
    workspace: Workspace
    lay_out: Callable[[], object]
    request: str = ""  # what the task asks beyond the first time; then nothing is emptied
    notes: str = NOTES
    kept: str = "agent"  # the trial's folder of the agent's own files


class ExternalAgent:
    """The solver of one agent's file."""

    needs: frozenset[Need] = frozenset({"model"})

    def __init__(
        self, agent: AgentFile, settings: Settings, budget: Budget, paper_file: Path | None = None
    ) -> None:
        self.agent, self.settings, self.budget = agent, settings, budget
        self.paper_file = paper_file
        self.own = Budget.parse(settings.budget.attempt, budget)

    def solve(self, task: Task, models: Models, sandbox: Sandbox, trial: Trial) -> Submission:
        """Let the agent work, then run what it left."""
        refuse_unwritten(task, f"the agent {self.agent.name}")
        limits, workspace = self.limits(), Workspace(trial.folder)
        trial.phase("attempt")

        def lay_out() -> None:
            withhold = withholding_of(task)
            shown = withhold.paper(paper_of(trial, task, self.settings, self.paper_file))
            task_folder(workspace.tree, task, shown, self.settings, limits, withhold)
            withhold.write(trial)

        attempt = AgentAttempt(models, sandbox, trial, limits, workspace, lay_out)
        work, warnings = self.work(attempt)
        details = {"agent": self.agent.name, "agent_seconds": round(work.seconds, 1)}
        left = LeftProgram(task, self.settings, sandbox, trial, workspace, self.agent.result)
        return left.submission(ending_of(work.execution), warnings, details)

    def limits(self) -> AgentLimits:
        """The agent's own, with the user's minutes."""
        seconds = self.settings.budget.attempt_seconds
        minutes = self.agent.limits.minutes if seconds is None else seconds / 60
        return self.agent.limits.model_copy(update={"minutes": minutes})

    def work(self, attempt: AgentAttempt) -> tuple[ExecutionResult, list[str]]:
        """The agent's run as a step, and what a reader of the number must know of it."""
        trial = attempt.trial
        calls = self._calls(attempt)
        earlier = self._passed_over(attempt)
        interrupted = bool(earlier) and not trial.replaying
        continued = interrupted and bool(self.agent.resume)
        before = _repeated(earlier, continued) if interrupted else ""
        if before:
            trial.note(before)
        asked: list[Any] = [
            self.agent.model_dump(mode="json"),
            attempt.limits.model_dump(mode="json"),
        ]
        asked += [attempt.request] if attempt.request else []
        work = trial.step(
            ExecutionResult,
            "sandbox",
            "agent",
            digest(asked),
            lambda: self._run(attempt, calls, continued, before),
        )
        return work, json.loads((trial.folder / attempt.notes).read_text())

    def _run(
        self, attempt: AgentAttempt, calls: AgentCalls, continued: bool, before: str
    ) -> ExecutionResult:
        trial, tree = attempt.trial, attempt.workspace.tree
        mounts = installed_agent(self.agent, self.settings, attempt.sandbox.name, trial.note)
        if not continued:
            if not attempt.request:
                tree.clear()
            attempt.lay_out()
        script = self.agent.resume if continued else self.agent.command
        login = own_login(self.agent, Path.home()) if self.settings.method.own_login else None
        run = AgentRun(self.agent, attempt.sandbox, calls, mounts, login)
        done = run.execute(script, attempt.limits.minutes * 60)
        if login is not None:
            login.account(trial, self.budget, done)
        if why := keep_own_files(trial.workspace, trial.folder / attempt.kept):
            trial.note(f"the agent's own files were not all stored: {why}")
        notes = [note for note in (before, *_notes(calls, done)) if note]
        if login is not None:
            notes.append(login.note)
        if run.in_vain:
            notes.append(
                f"the agent asked for other hosts, in vain: {', '.join(sorted(run.in_vain))}"
            )
        trial.write(attempt.notes, json.dumps(notes, indent=1))  # a replay reads it
        return ExecutionResult.of(done)

    def _calls(self, attempt: AgentAttempt) -> AgentCalls:
        model, name = attempt.models.chat("code"), attempt.models.name("code")
        calls = AgentCalls(attempt.trial, model, name, self.own, self.settings)
        calls.most = attempt.limits.calls
        return calls

    def _passed_over(self, attempt: AgentAttempt) -> list[Step]:
        """The calls that the journal holds; they are spent, and a tape moves past them."""
        earlier = attempt.trial.pass_over()
        model = attempt.models.chat("code")
        for step in earlier:
            if isinstance(step.result, ModelResult):
                self.budget.spend(Cost(step.result.usage.total, step.result.price))
                if hasattr(model, "skip"):
                    model.skip(*CallSite(step.role, step.phase, step.name))
        return earlier


class AgentCoder:
    """The agent as the coder of our own method: it gets the same TASK.md as every coder."""

    def __init__(
        self, agent: AgentFile, settings: Settings, budget: Budget, models: Models, paper: Paper
    ) -> None:
        self.solver = ExternalAgent(agent, settings, budget)
        self.models, self.paper = models, paper
        self.name, self.folder = f"agent:{agent.name}", agent.result
        self.rounds, self.brief = 0, ""
        self._notes: list[str] = []

    def work(self, bench: Workbench, request: str = "") -> str:
        """Run the agent on TASK.md, with what is requested at its head; how that ended."""
        self.rounds += 1
        limits, tree = self.solver.limits(), bench.workspace.tree
        guide = None if bench.own_brief else Guide.of(bench)

        def lay_out() -> None:
            if bench.own_brief is not None:
                brief = bench.own_brief(limits.minutes, limits.calls, True)
            else:
                shown = (self.paper, self.solver.settings, limits, bench.blank, guide)
                brief = task_folder(tree, bench.task, *shown)
            if request:
                tree.write(TASK, f"# What is asked now\n{request}\n\n{brief}")

        attempt = AgentAttempt(
            self.models,
            bench.sandbox,
            bench.trial,
            limits,
            bench.workspace,
            lay_out,
            request,
            notes=f"{LEFT}/agent-{self.rounds}.json",
            kept=f"{LEFT}/agent-{self.rounds}",
        )
        work, notes = self.solver.work(attempt)
        self._notes += [note for note in notes if note not in self._notes]
        return ending_of(work.execution)

    def notes(self) -> list[str]:
        """What a reader of the number must know of its runs."""
        return self._notes


def agent_coder(name: str, login: bool = False) -> Any:
    """What makes the coder of the agent `name`; with a `login` it has its user's own, as they said.
    Raises UsageError.
    """
    agent = read_agent(name)
    if login:
        own_login(agent, Path.home())
    return partial(AgentCoder, agent)


def agent_class(name: str) -> Any:
    """What makes the solver of the agent `name`, with its needs. Raises UsageError."""
    agent = read_agent(name)

    class OneAgent(ExternalAgent):
        """The solver, made as every other."""

        source = agent.model_dump_json() + code_digest(agent)  # what decides it beside our code

        def __init__(self, **options: Any) -> None:
            super().__init__(agent, **options)

    return OneAgent


def code_digest(agent: AgentFile) -> str:
    """Of the code that the user fetched for the agent: the names and sizes of its files."""
    code = agent.code_folder()
    if code is None:
        return ""
    own = [path for path in code.rglob("*") if not REMADE & set(path.parts)]
    sizes = [(str(path.relative_to(code)), path.stat().st_size) for path in own if path.is_file()]
    return digest(sorted(sizes))


def _notes(calls: AgentCalls, done: Execution) -> list[str]:
    """What a reader of the number must know of an agent's run."""
    notes = []
    if others := ", ".join(calls.other_models):
        notes.append(f"the agent asked for {others}; {calls.name} answered instead")
    if calls.refused:
        notes.append(f"the agent was refused further calls: {calls.refused}")
    if done.stopped:
        notes.append(f"the agent did not end by itself: {ending_of(done)}")
    return notes


def ending_of(done: Execution) -> str:
    """How an agent's run ended, in words."""
    if done.stopped == "timeout":
        return f"ended at its limit of {math.ceil(done.seconds / 60)} minutes"
    return f"stopped: {done.stopped}" if done.stopped else f"exit code {done.exit_code}"


def _repeated(earlier: list[Step], continued: bool) -> str:
    calls = model_results(earlier)
    dollars = dollars_of(calls)
    price = "an unknown price" if dollars is None else f"${dollars:.4f}"
    tokens = sum(call.usage.total for call in calls)
    what = "continued" if continued else "repeated from the start"
    return (
        f"the attempt was interrupted after {len(calls)} calls ({tokens:,} tokens, {price}), which "
        f"are spent, and {what}"
    )


# One run of an agent in the trial's sandbox, with the gateway as all that it can reach.
#
# Inside, a relay of a few lines passes a loopback port on to the gateway's socket, which is
# mounted into this sandbox alone. The agent is ended with all that it started: at its time, a
# minute after its calls or its money are spent, or if the trial itself must end.
#
# The agent is installed once a machine, outside the trials, without running any of its code here:
# Python agents come as wheels through the sandbox's own installer (`sandboxes/wheels.py`), others
# as npm's archives without their scripts. What is there is mounted read-only into the agent's
# sandbox.

INSTALL_SECONDS = 1800.0  # that an installation may take
INSTALLED = "installed"
# What npm is given of the caller's environment, beside its own settings.
PASSED_ON = ("PATH", "HOME", "NODE_EXTRA_CA_CERTS", "http_proxy", "https_proxy", "no_proxy")
NPM_INSTALL = (
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-save",
    "--loglevel=error",
)


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
        if not (folder / INSTALLED).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            install(folder)
            (folder / INSTALLED).touch()
    return folder


def _install_wheels(
    agent: AgentFile, settings: Settings, sandbox: str, folder: Path, note: Callable[[str], None]
) -> None:
    note(f"Installing {agent.name}: {' '.join(agent.pip)}")
    named = settings.having(sandbox=sandbox)
    with temporary_folder("agent-") as workspace:
        opened = SandboxSetup(named, folder, label=agent.name).open(workspace)
        try:
            done = opened.install(Packages(tuple(agent.pip)), INSTALL_SECONDS)
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
            [npm, *NPM_INSTALL, "--prefix", str(folder), "--", *wanted],
            env=given,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _failed(agent, f"npm took more than {INSTALL_SECONDS:g} s") from None
    if done.returncode:
        raise _failed(agent, done.stderr)


def _failed(agent: AgentFile, words: str) -> SandboxError:
    said = " ".join(words.split())[-400:]
    return SandboxError(
        f"the agent {agent.name} cannot be installed ({said})",
        fix="is the registry reachable, and does it have these versions?",
    )


MOUNT, PORT = "/gateway", 8377
ADDRESS = f"http://127.0.0.1:{PORT}"
GRACE = 60.0  # seconds that an agent has to end after its last call was refused
TAIL = 64_000  # characters of output that are stored of an agent that was ended by us
MOST_OWN = 200 * 2**20  # bytes of the agent's own files that are stored with the trial


class _SpentError(Exception):
    """The agent's calls or its money are spent, and it did not end by itself."""


class AgentRun:
    """What an agent's run needs; `execute` makes it, and then `calls` says what was asked."""

    def __init__(
        self,
        agent: AgentFile,
        sandbox: Sandbox,
        calls: AgentCalls,
        mounts: Mapping[str, Path],
        login: OwnLogin | None = None,
    ) -> None:
        """With a `login` the agent reaches its provider by a tunnel, and no gateway."""
        self.agent, self.sandbox, self.calls, self.mounts = agent, sandbox, calls, mounts
        self.login = login
        self.in_vain: set[str] = set()  # hosts that were asked for and refused
        self._spent_at = 0.0
        self._tail = ""

    def execute(self, script: str, seconds: float) -> Execution:
        """Run one of the agent's scripts for so long. Raises what must end the trial."""
        began = time.monotonic()
        with temporary_folder("gateway-") as folder:
            self._lay_out(folder, script)
            command = f"exec python -I -S {MOUNT}/relay.py {MOUNT}/socket {PORT} bash {MOUNT}/start"
            with self._server(folder / "socket") as gateway:
                try:
                    done = self.sandbox.execute(
                        command,
                        seconds,
                        on_output=lambda text: self._watch(gateway, text),
                        mounts={MOUNT: folder, **self.mounts},
                    )
                    gateway.check()
                except _SpentError:
                    passed = round(time.monotonic() - began, 3)
                    done = Execution(command, 137, self._tail, "", passed, "killed")
            if isinstance(gateway, Tunnel):
                self.in_vain = gateway.refused
            self.calls.check()  # once more: the calls under way at its end were waited for
            return done

    def _server(self, path: Path) -> Gateway | Tunnel:
        return Tunnel(path, self.login.login.hosts) if self.login else Gateway(path, self.calls)

    def _watch(self, gateway: Gateway | Tunnel, text: str) -> None:
        """Called with the agent's output, and a few times a second: ends it by an exception."""
        gateway.check()
        with self.calls.lock:  # the journal's watchers hear of calls from other threads
            self.calls.trial.output(text)
        self._tail = (self._tail + text)[-TAIL:]
        if self.calls.refused:
            self._spent_at = self._spent_at or time.monotonic()
            if time.monotonic() - self._spent_at > GRACE:
                raise _SpentError

    def _lay_out(self, folder: Path, script: str) -> None:
        """The folder that is mounted: the relay, the agent's settings, what starts it."""
        model = self.calls.name.partition(":")[2] or self.calls.name
        shutil.copy(relay.__file__, folder / "relay.py")
        given = self.login.login.files if self.login else self.agent.files
        for name, text in given.items():
            path = folder / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.agent.filled(text, ADDRESS, model), errors="replace")
        own = {name: self.agent.filled(v, ADDRESS, model) for name, v in self._variables().items()}
        lines = [f"export {name}={shlex.quote(value)}" for name, value in own.items()]
        lines.append(f'mkdir -p "$HOME"; cp -r {MOUNT}/files/. "$HOME" 2>/dev/null')
        # A link, so that no copy of a login is ever in the workspace.
        for name, text in self.login.credentials.items() if self.login else ():
            path = folder / "login" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            there = shlex.quote(name)
            lines.append(f'mkdir -p "$(dirname "$HOME"/{there})"')
            lines.append(f'ln -sfn {MOUNT}/login/{there} "$HOME"/{there}')
        (folder / "start").write_text("\n".join([*lines, script, ""]), errors="replace")

    def _variables(self) -> dict[str, str]:
        home = f"/workspace/{OWN}"
        if self.login:
            proxy = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "{gateway}")
            return {**self.login.login.environment, **proxy, "HOME": home}
        fixed = {"GATEWAY": "{gateway}", "MODEL": "{model}", "HOME": home}
        return {**self.agent.environment, **fixed}


def keep_own_files(workspace: Path, folder: Path) -> str:
    """Move what an agent stored for itself out of the workspace; why that failed, "" if it did not.

    Its settings, its log and its conversation are for whoever audits the trial.
    """
    tree, reason = Tree(workspace / OWN), ""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        tree.copy_out(folder, most=MOST_OWN, count=5_000)
    except FileNotFoundError:
        return ""
    except SandboxError as error:
        reason = str(error)
    with suppress(SandboxError):
        Tree(workspace).remove(OWN)
    return reason
