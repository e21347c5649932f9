"""The project's own method on a whole paper: one repository of several files, and nothing is run.

Source: AutoReproduce (arXiv 2505.20662), its form for PaperBench Code-Dev: literature review (with
figures with --diagrams), paper lineage (unless --no-lineage), then all experiments and baselines as
one repository, without the debugging loop. The research agent plans the files; the code agent
writes each by ADD, and corrects earlier ones by EDIT; the research agent checks each file once
against the paper (unless --no-refine).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.command_lines import NEW_FILE
from autoreproduce.agents.commands import Parsed, Update
from autoreproduce.agents.listing import number
from autoreproduce.agents.prompts import Prompts
from autoreproduce.config import Settings
from autoreproduce.content import folder
from autoreproduce.contracts import Sandbox, Submission
from autoreproduce.errors import CommandError, ReplyError
from autoreproduce.files.bounded import parse_python
from autoreproduce.method.literature_review import paper_of, review_literature
from autoreproduce.method.paper_lineage import LineageEntry, build_lineage, render
from autoreproduce.method.workbench import Workbench
from autoreproduce.models import Models
from autoreproduce.models.budget import Budget
from autoreproduce.models.tokens import rough_tokens
from autoreproduce.papers import Paper
from autoreproduce.solvers.repository import MOST_FILES, PlannedFile, RepositoryPlan
from autoreproduce.task import Task
from autoreproduce.trials.trial import Trial
from autoreproduce.trials.workspace import Workspace

LISTING_TOKENS = 80_000  # of the files that one prompt shows


@dataclass(frozen=True)
class ListedFiles:
    """What a prompt shows of the files: `listed` whole, with their names; of the others `named`."""

    listed: list[tuple[str, str]]
    named: list[str] = field(default_factory=list)


def listed_files(files: Mapping[str, str], room: int = LISTING_TOKENS) -> ListedFiles:
    """The files in their order, as many of the newest as fit into `room` tokens; the rest named."""
    listed: list[tuple[str, str]] = []
    for name, text in reversed(list(files.items())):
        room -= rough_tokens(number(text))
        if room < 0:
            break
        listed.insert(0, (name, text))
    shown = {name for name, _ in listed}
    return ListedFiles(listed, [name for name in files if name not in shown])


class RepositoryBench(Workbench):
    """The workbench of a repository: what is no Python is not written as such."""

    def write(self, files: dict[str, str], subject: str, why: str = "") -> None:
        """As Workbench. Raises CommandError for a .py file that cannot be parsed."""
        for name, text in files.items():
            if name.endswith(".py"):
                try:
                    parse_python(text)
                except SyntaxError as error:
                    line = f", line {error.lineno}" if error.lineno else ""
                    raise CommandError(f"{name}{line} isn't Python ({error.msg})") from None
        super().write(files, subject, why)


@dataclass
class RepositoryLoop:
    """Plan a repository, write each file, check it once against the paper."""

    settings: Settings
    budget: Budget
    paper_file: Path | None = None

    def solve(self, task: Task, models: Models, sandbox: Sandbox, trial: Trial) -> Submission:
        """The repository in the trial's workspace. A file without a usable reply is a warning;
        the attempt failed only if none is written.
        """
        workspace = Workspace(trial.folder)
        workspace.open()
        prompts = Prompts(folder("prompts") / "repository", folder("prompts"))
        given = (prompts, trial, self.budget, self.settings)
        research, code = Agent.of(models, "research", *given), Agent.of(models, "code", *given)
        paper = self._paper(task, trial)
        trial.phase("literature_review")
        summaries = review_literature(task, paper, research, trial, self.settings)
        bench = RepositoryBench(
            task, self.settings, research, code, sandbox, trial, workspace, summaries
        )
        bench.paper = paper.body
        entries = self._lineage(bench, paper)
        trial.phase("plan")
        plan = research.structured(
            "plan", RepositoryPlan, bench=bench, task=task, paper=paper.body, most=MOST_FILES
        ).files
        trial.phase("writing")
        warnings = [why for file in plan if (why := self._file(bench, plan, file))]
        return _submission(bench, plan, entries, warnings)

    def _paper(self, task: Task, trial: Trial) -> Paper:
        trial.phase("paper")
        return paper_of(trial, task, self.settings, self.paper_file)

    def _lineage(self, bench: Workbench, paper: Paper) -> list[LineageEntry]:
        """The lineage, which the code agent is shown; none with --no-lineage."""
        if not self.settings.method.lineage:
            return []
        bench.trial.phase("paper_lineage")
        entries = build_lineage(
            bench.task,
            paper,
            bench.summaries.overall,
            bench.research,
            bench.code,
            bench.trial,
            self.settings,
        )
        bench.lineage = render(entries)
        return entries

    def _file(self, bench: Workbench, plan: list[PlannedFile], file: PlannedFile) -> str:
        """Write one file and have it checked; why it is missing, or was not corrected, "" else."""

        def ask(prompt: str, done: Callable[[Parsed], None], **more: str) -> None:
            bench.code.ask_and_apply(
                prompt,
                {NEW_FILE, "EDIT"},
                done,
                bench=bench,
                plan=plan,
                shown=listed_files(bench.files),
                file=file,
                **more,
            )

        def written(parsed: Parsed) -> None:
            if file.path not in {new.path for new in parsed.new_files}:
                raise CommandError(f"`ADD {file.path}` with the whole file is what was asked for")
            bench.edit(bench.written_by(parsed), file.path, parsed.thought)

        def improved(parsed: Parsed) -> None:
            bench.edit(bench.written_by(parsed), file.path, parsed.thought)

        try:
            ask("write", written)
            if feedback := self._feedback(bench, plan, file):
                ask("improve", improved, feedback=feedback)
        except ReplyError as error:
            what = "was not corrected" if file.path in bench.files else "was not written"
            bench.trial.note(f"{file.path} {what}: {error}")
            return f"{file.path} {what}: {error}"
        return ""

    def _feedback(self, bench: Workbench, plan: list[PlannedFile], file: PlannedFile) -> str:
        """What the research agent asks for after reading a file; "" if it submits it."""
        if not self.settings.method.refine:
            return ""
        found = bench.research.command(
            "review",
            {"UPDATE", "SUBMIT"},
            bench=bench,
            task=bench.task,
            paper=bench.paper,
            plan=plan,
            file=file,
        )
        return found.command.feedback if isinstance(found.command, Update) else ""


def _submission(
    bench: Workbench, plan: list[PlannedFile], entries: list[LineageEntry], warnings: list[str]
) -> Submission:
    missing = [file.path for file in plan if file.path not in bench.files]
    return Submission(
        status="complete" if bench.files else "failed",
        reason=f"{len(bench.files)} files are written, {len(missing)} of the plan are missing",
        phase="writing",
        edits=bench.edits,
        lineage=[entry.model_dump(mode="json", exclude={"code"}) for entry in entries],
        warnings=warnings,
        not_reproduced=["nothing was run: the code alone was written"],
        details={"files": len(bench.files), "missing": missing},
    )
