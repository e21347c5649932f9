"""The project's own loop on masked functions: specify from the paper, EDIT, run, mend, check against the paper.

Source: AutoReproduce (arXiv 2505.20662, section 3.3), its two agents at work inside a repository that is there. The
research agent reads the paper and writes down what each function is to do; the code agent, who does not see the paper,
writes it; what runs is checked by the research agent. The same `mend` as in a reproduction from nothing drives it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.agents import Agent
from autoreproduce.autoexperiment.layout import COMMAND, lay_out
from autoreproduce.autoexperiment.retrieval import mentions, paper_for
from autoreproduce.code_development.bench import Bench
from autoreproduce.code_development.loop import Phase, exit_code, mend
from autoreproduce.commands import Edit
from autoreproduce.errors import CommandError, ReplyError
from autoreproduce.literature_review import Summaries
from autoreproduce.solvers.masked import MaskedSolver, functions_of
from autoreproduce.workspace import Workspace

if TYPE_CHECKING:
    from autoreproduce import Sandbox
    from autoreproduce.autoexperiment.selection import MaskedTask
    from autoreproduce.trial import Trial

STAGE = "specification"


@dataclass
class MaskedBench(Bench):
    """The workbench with what the prompts show of a repository."""

    experiments: str = ""
    commands: str = ""
    mentions: str = ""
    paper: str = ""
    passages: bool = False


class MaskedLoop(MaskedSolver):
    """Specify, write each function, and mend until it runs and the research agent submits it."""

    def attempt(self, masked: MaskedTask, model: Any, sandbox: Sandbox, trial: Trial) -> None:
        """Leave the functions in the workspace; a limit or a refused reply leaves them as they then are."""
        bench = self._bench(masked, model, sandbox, trial)
        functions = functions_of(masked)
        said = bench.research.ask(
            "specify", paper=bench.paper, passages=bench.passages, experiments=masked.what_to_do,
            files=list(bench.files.items()), others=bench.mentions, functions=functions,
        )  # fmt: skip
        bench.summaries.put(STAGE, said)
        for file, address in functions:
            self._write(bench, file, address)
        files = tuple(bench.files)
        phase = Phase("attempt", files[0], COMMAND, STAGE, exit_code, others=files[1:])
        ended = mend(bench, phase)
        if ended.status != "matched":
            trial.note(f"{ended.status}: {self.meter.reached or ended.reason}")
        self.edits = bench.edits

    def _write(self, bench: MaskedBench, file: str, address: str) -> None:
        """The first version of one function; where no EDIT comes of it, the run's error asks for it again."""
        if self.meter.reached:
            return
        try:
            command = bench.code.command("write", {"EDIT"}, bench=bench, file=file, function=address).command
            assert isinstance(command, Edit)
            bench.edit(command, file, f"write {address}")
        except (CommandError, ReplyError) as error:
            bench.trial.note(f"{address}: {error}")

    def _bench(self, masked: MaskedTask, model: Any, sandbox: Sandbox, trial: Trial) -> MaskedBench:
        """The workbench over the masked files as they were given; those on disk may be further by now."""
        with tempfile.TemporaryDirectory(prefix="autoexperiment-") as pristine:
            root = Path(pristine)
            lay_out(masked, root, variant=self.settings.stub)
            functions = functions_of(masked)
            files = {file: (root / file).read_text(encoding="utf-8", errors="replace") for file, _ in functions}
            named = [text for file in files for text in mentions(root, file, [a for f, a in functions if f == file])]
            commands = (root / "refsol.sh").read_text(encoding="utf-8")
        workspace = Workspace(trial.folder)
        workspace.open()
        about = [f"{row.name} {row.description}" for row in masked.functions]
        how = self.settings.retrieval
        bench = MaskedBench(
            self.task, self.settings, self._agent("research", model, trial), self._agent("code", model, trial),
            sandbox, trial, workspace, Summaries(trial), results=(), seconds=lambda: self.meter.command_seconds,
            over=lambda: self.meter.reached, experiments=masked.what_to_do, commands=commands,
            mentions="\n".join(named),
            paper=paper_for(masked.paper.text, about, how, [row.passage for row in masked.functions]),
            passages=how in ("passages", "oracle"),
        )  # fmt: skip
        bench.write(files, "the functions masked")
        return bench

    def _agent(self, role: str, model: Any, trial: Trial) -> Agent:
        return Agent(
            role, getattr(model, role), getattr(model, f"{role}_name"), self.prompts, trial, self.budget, self.settings
        )
