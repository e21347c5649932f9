"""`autoreproduce audit CODE --paper PAPER`: where code does something else than its paper says.

Nothing is run, so it takes a minute or two. What a difference does to a number, `verify` shows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.audit import audit
from autoreproduce.audit.find import readable
from autoreproduce.audit.reach import ProgramFiles
from autoreproduce.claims.differences import Audit
from autoreproduce.config import Settings, digest
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.submitted_code import read_program
from autoreproduce.evaluation.report.audit_page import MOVES, audit_sentence
from autoreproduce.evaluation.report.wording import clean
from autoreproduce.files.kinds import KINDS, PROSE
from autoreproduce.models.budget import Budget
from autoreproduce.models.prices import check_price
from autoreproduce.papers import read_paper
from autoreproduce.runner.api_results import PhaseNotes
from autoreproduce.runner.open_models import open_research_model
from autoreproduce.runner.whole_paper.plan import PaperSource
from autoreproduce.trials.begun import make_own_folder
from autoreproduce.trials.journal import open_journal, write_whole
from autoreproduce.trials.steps import dollars_of, model_results

FILE = "audit.json"
MOST_UNREAD = 40  # files that are named


@dataclass(frozen=True)
class AuditedCode:
    """What was found, its folder, and what the calls cost (None: unknown)."""

    audit: Audit
    folder: Path
    dollars: float | None

    @property
    def sentence(self) -> str:
        """What was found, in a sentence."""
        return audit_sentence(self.audit)

    def as_text(self) -> str:
        """The sentence, the differences, those that can move a number first, what is beside them,
        and what was dropped and not read.
        """
        lines = [self.sentence]
        for one in self.audit.ordered:
            lines += [
                f"{one.id} {one.place or 'nowhere in the code'} ({one.kind}; {MOVES[one.moves]})",
                f"   the paper: {one.paper_says}",
                f"   the code:  {one.does or 'nothing of it'}",
                *([f"   but: {one.but}"] if one.but else []),
            ]
        if self.audit.beside:
            lines.append("what the paper doesn't speak of, and moves no number that it states:")
            lines += [f"   {one.place}: {one.does}" for one in self.audit.beside]
        for which, dropped in (
            ("by rules", self.audit.dropped),
            ("by a second reader", self.audit.refuted),
        ):
            if dropped:
                lines.append(f"dropped {which}: {len(dropped)}")
                lines += [f"   {one}" for one in dropped]
        if self.audit.unread:
            few, more = self.audit.unread[:MOST_UNREAD], len(self.audit.unread) - MOST_UNREAD
            rest = f" and {more} more" if more > 0 else ""
            lines.append(f"not read: {', '.join(few)}{rest}")
        return clean("\n".join([*lines, f"all of it: {self.folder / FILE}"]))


def audit_code(
    code: str, source: PaperSource, settings: Settings, note: Callable[[str], None], run: str = ""
) -> AuditedCode:
    """Ask the research agent what differs; the same question again asks nobody. `run`: the command
    that the code is run by, if it's known. Raises UsageError for code that can't be read.
    """
    program = read_program(code, kinds=KINDS | PROSE)
    files = program.in_cells
    if not readable(files):
        raise UsageError(f"{code} has no code that can be read", fix="name a program's folder")
    program_files = ProgramFiles(readable(files))
    lacking = program_files.lacking(run)
    if lacking and not program_files.reached(run):
        raise UsageError(
            f"--run names {', '.join(lacking)}, which {code} doesn't have as code that can be read",
            fix="name a file of it, or leave --run out",
        )
    name, model = open_research_model(settings)
    budget = Budget.parse(settings.budget.total)
    check_price([name], settings, budget)
    paper_folder = source.folder(settings)
    make_own_folder(settings.cache_dir, paper_folder)
    paper = read_paper(settings, paper_folder, arxiv_id=source.arxiv, file=source.file, note=note)
    prompts = Prompts()
    identity = {"audits": digest(dict(files)), "paper": source.id, "model": name, "run": run}
    folder = paper_folder / "audits" / digest([identity, paper.body, prompts.digest()])[:8]
    with open_journal(folder, identity) as journal:
        journal.observers.append(PhaseNotes())
        agent = Agent("research", model, name, prompts, journal, budget, settings)
        found = audit(agent, paper.body, files, (), command=run, unread=program.unread)
        dollars = dollars_of(model_results(journal.steps))
    write_whole(folder / FILE, found.model_dump_json(indent=1) + "\n")
    return AuditedCode(found, folder, dollars)
