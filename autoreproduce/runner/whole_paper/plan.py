"""The plan of a paper: its experiments, asked of the research agent once; plan.json holds it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.claims.check import readable_tables, table_names
from autoreproduce.claims.experiments import (
    ALL,
    MAIN,
    ExperimentsReader,
    PaperExperiment,
    PaperPlan,
    named_nowhere,
    plain_name,
)
from autoreproduce.config import Settings, digest, sha256_of
from autoreproduce.errors import TrialError, UsageError, nearest
from autoreproduce.evaluation.report.wording import clean
from autoreproduce.files.bounded import LARGEST_JSON
from autoreproduce.files.confined import confined
from autoreproduce.files.shared import read_plain
from autoreproduce.files.unpacking import is_url
from autoreproduce.job import now
from autoreproduce.method.paper_notes import PaperNote, quoted_notes
from autoreproduce.method.stored_claims import PLAN, ShelfOfClaims
from autoreproduce.models.budget import Budget
from autoreproduce.models.fenced import data_in_reply
from autoreproduce.models.prices import check_price
from autoreproduce.papers import Paper, read_paper
from autoreproduce.papers.arxiv_client import normal_id, without_version
from autoreproduce.papers.paths import folder_and_main, paper_path
from autoreproduce.runner.api_results import PhaseNotes
from autoreproduce.runner.find import data_folder
from autoreproduce.runner.hub_data import local_data
from autoreproduce.runner.open_models import open_research_model
from autoreproduce.trials.begun import make_own_folder
from autoreproduce.trials.journal import open_journal, write_whole
from autoreproduce.trials.machines import hardware
from autoreproduce.trials.steps import dollars_of, model_results, usage_of

FILE = "plan.json"
PROMPT = "claims/plan"
MOST = 20  # experiments of one paper
MOST_CLAIMS, OF_MAIN = 4, 12  # of one experiment, and of one that carries the paper
MOST_FILES = 60  # of the user's data that are named to the agent


@dataclass(frozen=True)
class PaperSource:
    """Which paper: an arXiv id, or a file or LaTeX folder of the user."""

    arxiv: str | None = None
    file: Path | None = None

    @property
    def id(self) -> str:
        """The name of its folder: the arXiv id, or the file's name and what it holds."""
        if self.file is None:
            return without_version(normal_id(self.arxiv or "")).replace("/", "_")
        return f"{plain_name(self.file.stem)[:40] or 'paper'}-{_content_digest(self.file)}"

    def folder(self, settings: Settings) -> Path:
        """Where what belongs to the paper lies."""
        return settings.runs_dir / "papers" / self.id


@dataclass(frozen=True)
class PlannedPaper:
    """A paper's plan and folder. `earlier`: it was planned before, and nobody was asked now."""

    source: PaperSource
    folder: Path
    plan: PaperPlan
    earlier: bool = False


def paper_source(arxiv: str | None, file: Path | None, settings: Settings) -> PaperSource:
    """The paper that --arxiv or --paper name; the file goes before the id, as in a trial.

    Raises UsageError if there is none.
    """
    if file is None and arxiv is None:
        raise UsageError("which paper?", fix="add --arxiv ID or --paper FILE")
    path = None if file is None else paper_path(file, settings)
    return PaperSource(normal_id(arxiv) if arxiv else None, path)


def named_paper(text: str, settings: Settings) -> PaperSource:
    """The paper that one word names: a file, folder or repository, else an arXiv id.

    Raises UsageError if it is neither.
    """
    try:
        return PaperSource(normal_id(text))
    except UsageError as error:
        try:
            return PaperSource(file=paper_path(text, settings))
        except UsageError as second:
            if is_url(text) or folder_and_main(Path(text)):
                raise
            raise UsageError(
                f"{text[:200]!r} is neither a file nor an arXiv id", fix=error.fix
            ) from second


def plan_paper(
    source: PaperSource,
    settings: Settings,
    budget: Budget,
    note: Callable[[str], None],
    data: Path | None = None,
    wanted: Sequence[str] = (),
) -> PlannedPaper:
    """The plan in the paper's folder; without one the research agent is asked for it.

    Raises UsageError if no model is named or plan.json is damaged, or the paper shows that it has
    none of an experiment `wanted`, PaperError if the paper cannot be read, ReplyError if two
    replies cannot be used.
    """
    data = local_data(data, settings, note)
    folder = source.folder(settings)
    if not (folder / FILE).exists():  # an unknown price is asked for before a folder exists
        check_price([open_research_model(settings)[0]], settings, budget)
    make_own_folder(settings.cache_dir, folder)
    plan = plan_of(folder)
    if plan is not None:
        if data is not None and _data_files(data) != list(plan.data_files):
            note(
                f"the plan was made with other data in mind: to plan again, remove {folder / FILE}"
            )
        return PlannedPaper(source, folder, plan, earlier=True)
    plan = _asked_plan(source, settings, budget, note, data, wanted)
    write_whole(folder / FILE, plan.model_dump_json(indent=1) + "\n")
    return PlannedPaper(source, folder, plan)


def plan_of(folder: Path) -> PaperPlan | None:
    """The plan in a paper's folder; None without one. Raises TrialError if it is damaged."""
    try:
        return PaperPlan.model_validate_json(read_plain(folder / FILE, LARGEST_JSON))
    except FileNotFoundError:
        return None
    except (UsageError, ValueError) as error:
        raise TrialError(
            f"{folder / FILE} cannot be read ({' '.join(str(error).split())[:200]})",
            fix="remove it, and the same command plans the paper again",
        ) from None


def _asked_plan(
    source: PaperSource,
    settings: Settings,
    budget: Budget,
    note: Callable[[str], None],
    data: Path | None,
    wanted: Sequence[str],
) -> PaperPlan:
    """What the research agent makes of the paper, with what its calls cost."""
    from autoreproduce.benchmarks.recounting import content_words, no_test_targets

    data_files = _data_files(data)
    described = data_files
    if data is not None:
        described = confined(content_words, data_folder(data), data_files, what="the data")
    name, model = open_research_model(settings)
    folder = source.folder(settings)
    paper = read_paper(settings, folder, arxiv_id=source.arxiv, file=source.file, note=note)
    tables = confined(table_names, paper, what="the paper")
    refuse_unknown(wanted, tables, paper)
    machine, prompts = machine_words(settings), Prompts()
    reader, notes = ExperimentsReader(paper), list[PaperNote]()
    identity = {"plans": source.id, "model": name, "machine": machine, "data": data_files}
    shelf = ShelfOfClaims(settings, paper, name, prompts.digest())
    if known := shelf.read_by_trials():
        identity["known"] = known

    def read(reply: str) -> list[PaperExperiment]:
        content = data_in_reply(reply, "items")
        if isinstance(content, dict) and not notes:
            notes.extend(quoted_notes(content.get("notes"), paper)[0])
        return reader.read(reply)

    plan_folder = folder / "plans" / digest([identity, paper.body, prompts.digest()])[:8]
    with open_journal(plan_folder, identity) as journal:
        journal.observers.append(PhaseNotes())
        journal.phase("plan")
        agent = Agent("research", model, name, prompts, journal, budget, settings)
        experiments = agent.checked(
            PROMPT,
            read,
            paper=paper.body,
            machine=machine,
            data_files=described,
            most=MOST,
            most_claims=MOST_CLAIMS,
            of_main=OF_MAIN,
            known=known,
            tables=confined(readable_tables, reader.paper, what="the paper"),
        )
        calls = model_results(journal.steps)
    kept, problems = [], []
    for one in experiments[:MOST]:
        why = "there are no data of yours" if data is None and one.targets else ""
        if one.targets and data is not None:
            why = confined(no_test_targets, data_folder(data), one.targets, what="the data")
        kept.append(one.model_copy(update={"targets": ""}) if why else one)
        problems += [f"{one.name}: its targets {one.targets!r} aren't withheld: {why}"] * bool(why)
    return PaperPlan(
        paper=paper.title or source.id,
        experiments=tuple(_with_stored_claims(kept, shelf, tables, notes, note)),
        model=name,
        created=now(),
        machine=machine,
        data_files=tuple(data_files),
        tables=tuple(tables),
        warnings=(*(f"left out: {problem}" for problem in reader.left_out), *problems),
        usage=usage_of(calls),
        cost=dollars_of(calls),
    )


def refuse_unknown(wanted: Sequence[str], tables: Sequence[Sequence[str]], paper: Paper) -> None:
    """Raise UsageError for an experiment that no plan can list, before one is paid for."""
    for name in wanted:
        if named_nowhere(name, tables, paper.body):
            listed = [f"Table {' = '.join(names)}" for names in tables]
            shown = f"its tables are {', '.join(listed)}" if listed else "it shows no named table"
            suggested = nearest(name, [f"Table {one}" for names in tables for one in names])
            fix = f"{suggested}{shown}; {MAIN} and {ALL} stand for several"
            raise UsageError(f"the paper has nothing called {name!r}", fix=fix)


def _with_stored_claims(
    experiments: Sequence[PaperExperiment],
    shelf: ShelfOfClaims,
    tables: Sequence[Sequence[str]],
    notes: Sequence[PaperNote],
    note: Callable[[str], None],
) -> list[PaperExperiment]:
    """The experiments, with the claims that trials have read of them; the other claims are kept for
    trials to come.
    """
    found = []
    for one in experiments:
        before = shelf.find(one.name, lambda: tables)
        if before and before.by != PLAN:
            note(f"{one.name}: {before.words}")
            found.append(one.model_copy(update={"claims": before.claims}))
            continue
        found.append(one)
        if one.claims:
            shelf.put(one.name, note, by=PLAN, main=one.main, claims=one.claims, notes=notes)
    return found


def machine_words(settings: Settings) -> str:
    """What a program may use here: of the machine, as far as the sandbox's limits let it."""
    found, limits = hardware(settings.sandbox.gpus), settings.sandbox.limits
    cores = min(limits.cpus, found["cpus"] or limits.cpus)
    memory = min(limits.memory_gb, found["memory_gb"] or limits.memory_gb)
    gpus = "; ".join(found["gpus"]) or "none"
    return f"{found['processor']} (cores: {cores:g}), {memory:g} GB of memory, GPU: {gpus}"


def _data_files(data: Path | None) -> list[str]:
    """The names of what lies in the user's data folder, and one folder deeper.

    Raises UsageError if it is no folder, or a link in it leads out of it.
    """
    if data is None:
        return []
    folder = data_folder(data)
    names = [path.relative_to(folder) for pattern in ("*", "*/*") for path in folder.glob(pattern)]
    return [clean(str(name)) for name in sorted(names)[:MOST_FILES]]


def _content_digest(file: Path) -> str:
    """Of what a file holds; of a folder, of where it lies."""
    return (sha256_of(file) if file.is_file() else digest(str(file.resolve())))[:8]
