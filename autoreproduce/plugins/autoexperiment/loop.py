"""The project's own method on masked functions: specify from the paper, EDIT, run, fix, review.

Source: AutoReproduce (arXiv 2505.20662, section 3.3), its two agents at work inside an existing
repository. The research agent reads the paper and writes down what each function is to do; the code
agent, who does not see the paper, writes it; what runs is reviewed by the research agent. The graph
is the same as in a reproduction from nothing (`method/development.py`). With a coder of the user's
choice (`--coder`) that one writes, from the same specification.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.agents.agent import Agent, ToShow
from autoreproduce.agents.commands import ShowSection
from autoreproduce.agents.parsing import parse
from autoreproduce.errors import CommandError, ReplyError, SandboxError, UsageError
from autoreproduce.files.tree import Tree
from autoreproduce.method.coding import EDIT, LEFT, differences
from autoreproduce.method.development import develop, start_of_loop
from autoreproduce.method.literature_review import Summaries
from autoreproduce.method.phase import Phase
from autoreproduce.method.review import next_section
from autoreproduce.method.workbench import Workbench
from autoreproduce.papers import Paper
from autoreproduce.plugins.autoexperiment.answering import MaskedSolver, functions_of
from autoreproduce.plugins.autoexperiment.clones import twin_pairs
from autoreproduce.plugins.autoexperiment.layout import COMMAND, LAID_OUT, lay_out
from autoreproduce.plugins.autoexperiment.retrieval import mentions, paper_for
from autoreproduce.plugins.autoexperiment.running import made_of
from autoreproduce.plugins.autoexperiment.surroundings import (
    called_elsewhere,
    most_similar,
    read_project,
)
from autoreproduce.solvers.coders import coder_maker
from autoreproduce.solvers.task_folder import TASK
from autoreproduce.trials.summary import read_json
from autoreproduce.trials.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoreproduce.contracts import Sandbox
    from autoreproduce.models import Models
    from autoreproduce.plugins.autoexperiment.selection import MaskedTask
    from autoreproduce.trials.trial import Trial

STAGE = "specification"


@dataclass
class MaskedBench(Workbench):
    """The workbench with what the prompts show of a repository."""

    experiments: str = ""
    commands: str = ""
    mentions: str = ""
    calls: str = ""
    like: str = ""
    paper: str = ""
    passages: bool = False
    full_paper: str = ""  # where one who sees passages may ask for sections

    @property
    def whole_paper(self) -> str:
        """The paper behind the passages that were retrieved."""
        return self.full_paper or self.paper


class MaskedLoop(MaskedSolver):
    """Specify, write each function, and fix until it runs and the research agent submits it."""

    def attempt(self, masked: MaskedTask, models: Models, sandbox: Sandbox, trial: Trial) -> None:
        """Leave the functions in the workspace, in the state that a limit or a refused reply finds
        them in. Raises UsageError without the commands, for the loop lives by their runs.
        """
        if self.settings.method.coder not in (None, EDIT):
            self._by_coder(masked, models, sandbox, trial)
            return
        if not self.settings.masked.refsol:
            raise UsageError(
                "the solver autoreproduce runs the experiment's commands",
                fix="leave --no-refsol out, add --coder tools, or choose --solver agentless, "
                "agentic or planning",
            )
        bench = self._bench(masked, models, sandbox, trial)
        functions = functions_of(masked)
        bench.summaries.put(STAGE, _specification(bench, functions))
        for file, address in functions:
            self._write(bench, file, address)
        files = tuple(bench.files)
        phase = Phase("attempt", files[0], COMMAND, STAGE, others=files[1:])
        develop(phase, self.settings.method).invoke(start_of_loop(bench))
        self.edits = bench.edits

    def _by_coder(self, masked: MaskedTask, models: Models, sandbox: Sandbox, trial: Trial) -> None:
        """Specify, let the coder work from TASK.md, run what it left, hold it against the paper,
        and have it changed once. What it leaves is judged as it is.
        """
        bench = self._bench(masked, models, sandbox, trial)
        functions = functions_of(masked)
        bench.summaries.put(STAGE, _specification(bench, functions))
        bench.own_brief = partial(self._brief, masked, bench)
        bench.command = COMMAND if self.settings.masked.refsol else ""
        make = coder_maker(self.settings, self.budget, models)
        assert make is not None
        text = masked.paper.text
        coder = make(Paper(title=masked.paper.title, text=text, body=text, source="text"))
        coder.work(bench)
        _take(bench, masked, 1)
        asked: list[str] = []
        if bench.command and not self.meter.reached:
            done = bench.run(bench.command, self.meter.command_seconds, "run")
            if not done.ok:
                asked.append(f"`{bench.command}` fails:\n\n{done.report}")
        if not asked and bench.paper and self.settings.method.refine and not self.meter.reached:
            asked = differences(bench)
        if asked and not self.meter.reached:
            coder.work(bench, self.prompts.render("coder/change", asked=asked))
            _take(bench, masked, 2)
        self.warnings = coder.notes()

    def _brief(
        self, masked: MaskedTask, bench: MaskedBench, minutes: float, calls: int, write: bool
    ) -> str:
        """TASK.md. The repository is laid out again where an agent's workspace was emptied."""
        shown = self.settings.masked
        text = self.prompts.render(
            "coder/task",
            experiments=masked.what_to_do,
            functions=functions_of(masked),
            specification=bench.summaries.texts[STAGE],
            paper=bool(bench.paper),
            paper_file=shown.retrieval != "none" and bool(masked.paper.text),
            refsol=shown.refsol,
            fixed_packages=bench.fixed_packages,
            minutes=round(minutes, 1),
            calls=f"{calls:,}",
        )
        tree = bench.workspace.tree
        if write and tree.kind(LAID_OUT[0]) != "file":
            self.lay_out(masked, bench.trial.workspace)
        if write:
            tree.write(TASK, text.encode("utf-8", "replace"))
        return text

    def _write(self, bench: MaskedBench, file: str, address: str) -> None:
        """The first version of one function; without a usable EDIT the run's error asks for it
        again.
        """
        if self.meter.reached:
            return
        try:
            bench.code.ask_and_apply(
                "write",
                {"EDIT"},
                lambda parsed: bench.edit(parsed.edits, file, f"write {address}"),
                bench=bench,
                file=file,
                function=address,
            )
        except ReplyError as error:
            bench.trial.note(f"{address}: {error}")

    def _bench(
        self, masked: MaskedTask, models: Models, sandbox: Sandbox, trial: Trial
    ) -> MaskedBench:
        """The workbench over the masked files as they were given; those on disk may be further by
        now.
        """
        with tempfile.TemporaryDirectory(prefix="autoexperiment-") as pristine:
            root = Path(pristine)
            lay_out(
                masked, root, variant=self.settings.masked.stub, readme=self.settings.masked.readme
            )
            functions = functions_of(masked)
            files = {file: Tree(root).read_text(file) for file, _ in functions}
            named = [
                text
                for file in files
                for text in mentions(root, file, [a for f, a in functions if f == file])
            ]
            project = read_project(root)
            calls = [text for file in files for text in called_elsewhere(project, file)]
            seen = "\n".join([*files.values(), *named])
            unseen = [*functions, *twin_pairs(masked.paper.code, functions)]
            like = [
                most_similar(project, unseen, f"{row.name} {row.description}", seen)
                for row in masked.functions
            ]
            commands = Tree(root).read_text("refsol.sh")
        workspace = Workspace(trial.folder)
        by_coder = self.settings.method.coder not in (None, EDIT)
        workspace.go_on() if by_coder and trial.steps else workspace.open()
        about = [f"{row.name} {row.description}" for row in masked.functions]
        how = self.settings.masked.retrieval
        given = (self.prompts, trial, self.budget, self.settings)
        bench = MaskedBench(
            self.task,
            self.settings,
            Agent.of(models, "research", *given),
            Agent.of(models, "code", *given),
            sandbox,
            trial,
            workspace,
            Summaries(trial),
            results=(),
            seconds_left=lambda: self.meter.command_seconds,
            limit_reached=lambda: self.meter.reached,
            experiments=masked.what_to_do,
            commands=commands,
            mentions="\n".join(named),
            calls="\n".join(dict.fromkeys(calls)),
            like="\n".join(dict.fromkeys(filter(None, like))),
            paper=paper_for(
                masked.paper.text, about, how, [row.passage for row in masked.functions]
            ),
            passages=how in ("passages", "oracle"),
            full_paper=masked.paper.text if how == "passages" else "",
            fixed_packages=bool(made_of(masked).packages),
        )
        if by_coder and trial.steps:
            bench.files = dict(files)  # on disk they are further
        else:
            bench.write(files, "the functions masked")
        return bench


def _take(bench: MaskedBench, masked: MaskedTask, number: int) -> None:
    """The masked files as the coder left them; stored once a round, for a resumed trial may find
    them further than they were.
    """
    name = f"{LEFT}/round-{number}.json"
    stored = read_json(bench.trial.folder / name)
    if stored is None:
        stored = {}
        for file in dict.fromkeys(file for file, _ in functions_of(masked)):
            try:
                stored[file] = bench.workspace.read(file) or ""
            except SandboxError:  # a link, or too large: the harness says so
                stored[file] = ""
        bench.trial.write(name, json.dumps(stored, ensure_ascii=False))
    bench.files = {str(file): str(text) for file, text in stored.items()}


def _specification(bench: MaskedBench, functions: Sequence[tuple[str, str]]) -> str:
    """What the functions are to do. Where only passages are shown, the research agent may first ask
    for sections of the paper.
    """
    shown: list[str] = []

    def read(reply: str) -> str | ToShow:
        heading = _asked_for(reply) if bench.full_paper else ""
        return ToShow(next_section(bench, heading, shown)) if heading else reply

    return bench.research.checked(
        "specify",
        read,
        paper=bench.paper,
        passages=bench.passages,
        experiments=bench.experiments,
        files=list(bench.files.items()),
        others=bench.mentions,
        calls=bench.calls,
        like=bench.like,
        functions=functions,
        may_ask=bool(bench.full_paper),
    )


def _asked_for(reply: str) -> str:
    """The section that a reply of one line asks for, "" if it is a specification."""
    try:
        command = parse(reply, {"SECTION"}).command
    except CommandError:
        return ""
    lines = [line for line in reply.splitlines() if line.strip()]
    return command.heading if isinstance(command, ShowSection) and len(lines) <= 3 else ""
