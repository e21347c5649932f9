"""The paper's claims: what it states for this experiment, frozen before any code is written.

A task may bring its claims; else the research agent writes them down, and code checks each at its
place in the paper (docs/claims.md). From here on the code agent and the reviews read every text
without the claimed values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from autoreproduce.claims.check import (
    Problem,
    check_in_paper,
    check_without_headings,
    readable_tables,
    table_names,
)
from autoreproduce.claims.claim import CLAIMS, KEY, Claim, ClaimsFile, claims_of, id_of, not_stated
from autoreproduce.claims.replies import read_claims
from autoreproduce.claims.user_claims import (
    claims_of_task,
    claims_to_read,
    read_user_claims,
    with_user_claims,
)
from autoreproduce.claims.withholding import Withholding
from autoreproduce.errors import CommandError, ReaderError, ReplyError
from autoreproduce.files.confined import confined
from autoreproduce.method.paper_notes import PaperNote, contradicting_notes, quoted_notes
from autoreproduce.method.stored_claims import OWN, TRIAL, ShelfOfClaims, names_of, stored_at
from autoreproduce.models.fenced import data_in_reply

if TYPE_CHECKING:
    from autoreproduce.agents.agent import Agent
    from autoreproduce.papers import Paper
    from autoreproduce.task import Metric, Task
    from autoreproduce.trials.trial import Trial

MOST = 12  # claims of one experiment: each costs tokens in replies and prompts
MORE = 6  # for each further experiment of the same program


@dataclass
class FrozenClaims:
    """The claims of a trial, and warnings of those that had to be left out; what else was noted of
    the paper, and why other notes were not taken. `before`: that they were read before, if so.
    """

    file: ClaimsFile
    warnings: list[str] = field(default_factory=list)
    unplaced: list[Claim] = field(default_factory=list)  # their numbers may be the paper's too
    notes: list[PaperNote] = field(default_factory=list)
    unquoted: list[str] = field(default_factory=list)
    before: str = ""


def freeze_claims(
    task: Task,
    paper: Paper,
    research: Agent,
    trial: Trial,
    read: FrozenClaims | None = None,
    told: str = "",
) -> FrozenClaims:
    """The claims of the task, of the user and of the paper (`read`, if it was read at once; else as
    another command read it, or the research agent does now), written to claims.json once. `told`:
    what the user says of these claims.

    A trial that is resumed has those that were frozen then. Raises UsageError if that file was
    changed.
    """
    brought = None if claims_to_read(task) else claims_of_task(task)
    if brought is not None:
        found = FrozenClaims(brought)
    else:
        before = None if read else claims_read_before(task, paper, research, trial, told)
        found = read or before or claims_in_paper(task, paper, research)
        if before is None and claims_of(trial.folder) is None:
            _keep(found, task, paper, research, trial, told)
        given = read_user_claims(task.user_claims)
        found = replace(found, file=with_user_claims(found.file, given))
    if found.before:
        trial.note(found.before)
    frozen = claims_of(trial.folder)
    if frozen is None:
        frozen = found.file
        trial.write(CLAIMS, frozen.to_json() + "\n")
    if task.own:  # the user may not have said which way is better
        named = [metric for metric in task.metrics if metric.name]
        better = [f"{metric.name} ({metric.direction} is better)" for metric in named]
        if better:
            trial.note(f"measured: {', '.join(better)}")
    for warning in found.warnings:
        trial.note(warning)
    against_itself = contradicting_notes(paper, frozen.claims)
    for note in against_itself:
        trial.note(f"the paper against itself: {note.what}: {note.quotes[0]}")
    found.notes = [*against_itself, *found.notes]
    for why in found.unquoted:
        trial.note(f"a note on the paper was left out: {why}")
    if frozen.none_because:
        trial.note(f"no claims: {frozen.none_because}")
    return replace(found, file=frozen)


def claims_read_before(
    task: Task, paper: Paper, research: Agent, trial: Trial, told: str = ""
) -> FrozenClaims | None:
    """What another command read of this experiment by the same model; None without it, and of a
    trial that reads the paper for itself. The trial keeps a copy, by which it is resumed.
    """
    stored = stored_at(trial.folder / OWN)
    shelf = _shelf(task, paper, research, trial)
    if stored is None:
        if shelf is None or trial.replaying or trial.record.job.number > 1:
            return None  # or its own journal has the replies
        stored = shelf.find_all(
            names_of(task, told), lambda: confined(table_names, paper, what="the paper")
        )
        if stored is None:
            return None
        trial.write(OWN, stored.model_dump_json(indent=1) + "\n")
    reader = ClaimsReader(task, paper)
    file = ClaimsFile(paper=reader.title, experiment=reader.experiment, claims=stored.claims)
    return FrozenClaims(
        reader.with_metric_keys(file),
        list(stored.warnings),
        list(stored.unplaced),
        list(stored.notes),
        before=stored.words,
    )


def _keep(
    found: FrozenClaims, task: Task, paper: Paper, research: Agent, trial: Trial, told: str
) -> None:
    """Leave what was read for other commands."""
    shelf = _shelf(task, paper, research, trial)
    names = names_of(task, told)
    if shelf is None or not found.file.claims or len(names) > 1:
        return
    shelf.put(
        names[0],
        trial.note,
        by=TRIAL,
        claims=found.file.claims,
        warnings=found.warnings,
        unplaced=found.unplaced,
        notes=found.notes,
    )


def _shelf(task: Task, paper: Paper, research: Agent, trial: Trial) -> ShelfOfClaims | None:
    """Where the claims of this paper are; None for a trial that is measured alone, a benchmark's
    or a suite's, and for one that replays or records a tape, which has every call.
    """
    job = trial.record.job
    alone = not task.own or job.more or trial.record.replayed is not None
    if alone or research.settings.model.record:
        return None
    settings, prompts = research.settings, research.prompts.digest()
    return ShelfOfClaims(settings, paper, research.model_name, prompts)


def claims_in_paper(task: Task, paper: Paper, research: Agent) -> FrozenClaims:
    """What the research agent found in the paper."""
    reader = ClaimsReader(task, paper)
    asked = {"paper": paper.body, "task": task}
    try:
        file = research.checked("claims/write", reader.read, **asked, **reader.form_values())
        found = reader.frozen(file)
    except (ReplyError, ReaderError) as error:
        found = reader.remaining(str(error))
    return found


class ClaimsReader:
    """Reads the research agent's replies, and remembers what was right in them: after a reply with
    wrong claims the corrected ones are asked for alone.
    """

    def __init__(self, task: Task, paper: Paper) -> None:
        self.task, self.paper = task, paper
        self.experiment = (
            " on ".join(filter(None, (task.experiment or task.method, task.dataset)))
            or "this experiment"
        )
        self.title = paper.title or task.title
        self.accepted: list[Claim] = []
        self.unreadable: list[str] = []
        self.refused: list[Problem] = []  # of claims that aren't what the paper says
        self.unplaced: list[Claim] = []
        self.notes: list[PaperNote] = []
        self.unquoted: list[str] = []

    def form_values(self) -> dict[str, Any]:
        """What the form of claims is rendered with. Raises ReaderError."""
        tables = confined(readable_tables, self.paper, what="the paper")
        several = len(self.task.experiments)
        most = MOST + MORE * max(0, several - 1)
        return {"experiment": self.experiment, "most_claims": most, "tables": tables}

    def read(self, reply: str) -> ClaimsFile:
        """The claims of a reply. Raises CommandError with everything that is wrong with it."""
        content, unreadable = data_in_reply(reply, "items"), list[str]()
        if isinstance(content, dict) and not self.notes:
            self.notes, self.unquoted = quoted_notes(content.get("notes"), self.paper)
        file = read_claims(
            reply,
            paper=self.title,
            experiment=self.experiment,
            left_out=unreadable,
            keys=[claim.id for claim in self.accepted],
        )
        new = not_stated(self.accepted, file.claims)
        self.unreadable, self.refused = unreadable, []
        if new:
            checked = confined(check_in_paper, new, self.paper, what="the paper")
            self.accepted += checked.right
            self.unplaced += [claim for claim in new if claim not in checked.right]
            self.refused = checked.problems
        if wrong := self._wrong:
            raise CommandError("; ".join(wrong) + self._taken)
        return self._file() if self.accepted else file

    @property
    def _wrong(self) -> list[str]:
        return [*self.unreadable, *map(str, self.refused)]

    @property
    def _taken(self) -> str:
        """What a refusal says of the claims that need not be written again."""
        if not (taken := len(self.accepted)):
            return ""
        return (
            f".\nThe {taken} right one(s) are taken: give the corrected ones alone, in one such "
            "block, or `none_because: …` if there are none."
        )

    def _file(self) -> ClaimsFile:
        return ClaimsFile(paper=self.title, experiment=self.experiment, claims=tuple(self.accepted))

    def frozen(self, file: ClaimsFile, warnings: Sequence[str] = ()) -> FrozenClaims:
        """These claims under their keys, with what was noted."""
        return FrozenClaims(
            self.with_metric_keys(file), list(warnings), self.unplaced, self.notes, self.unquoted
        )

    def remaining(self, why: str) -> FrozenClaims:
        """What the replies had that is right, with warnings of the rest."""
        known = {claim.id for claim in self.accepted}
        late = [one for one in {c.id: c for c in self.unplaced}.values() if one.id not in known]
        if late:
            found = confined(check_without_headings, late, self.paper, what="the paper")
            self.accepted += found.right
            taken = {claim.id for claim in found.right}
            self.refused = [problem for problem in self.refused if problem.id not in taken]
        warnings = [f"a claim was left out: {problem}" for problem in self._wrong]
        if self.accepted:
            return self.frozen(self._file(), warnings)
        reason = "none of the numbers that were named could be found at its place in the paper"
        file = ClaimsFile(
            paper=self.title,
            experiment=self.experiment,
            none_because=reason if warnings else f"they could not be read ({why})",
        )
        return self.frozen(file, warnings or [f"no claims: {file.none_because}"])

    def with_metric_keys(self, file: ClaimsFile) -> ClaimsFile:
        """The first `MOST` claims; the only one of the paper's method on a metric of the task has
        that metric's name as its key, so that the program need not write the number twice, and none
        has it whose number is another: a rank by the metric, or how far two rows are apart.
        """
        several = len(self.task.experiments)
        claims = list(file.claims[: MOST + MORE * max(0, several - 1)])
        for metric in self.task.metrics:
            claims = [
                one
                if one.is_of_metric or one.id != metric.name
                else _with_key(one, id_of([one.id, one.kind], one.metric, [c.id for c in claims]))
                for one in claims
            ]
            own = [n for n, c in enumerate(claims) if not c.is_baseline and _is_on(c, metric)]
            if len(own) == 1 and all(claim.id != metric.name for claim in claims):
                claims[own[0]] = _with_key(claims[own[0]], metric.name)
        return file.model_copy(update={"claims": tuple(claims)})


def _is_on(claim: Claim, metric: Metric) -> bool:
    names = {_letters(name) for name in (metric.name, metric.paper_name) if name}
    named = claim.is_of_metric and _letters(claim.metric) in names
    return named and claim.direction == metric.direction


def _with_key(claim: Claim, key: str) -> Claim:
    """The claim under this key, unless a claim cannot have such a key."""
    fits = re.fullmatch(KEY, key) is not None
    return claim.model_copy(update={"id": key}) if fits else claim


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def withholding(found: FrozenClaims) -> Withholding:
    """Withholds the values of the claims from texts, also of those that could not be placed: their
    table can't be read, and stands in the paper all the same.
    """
    unplaced = [
        claim.model_copy(update={"id": f"unplaced {number}"})
        for number, claim in enumerate(found.unplaced)
    ]
    return Withholding([*found.file.claims, *unplaced])


def to_measure(file: ClaimsFile) -> list[Claim]:
    """All claims, those on the paper's own method first."""
    return sorted(file.claims, key=lambda claim: claim.is_baseline)


def titled_task(task: Task, paper: Paper) -> Task:
    """The task with the paper's title, if it names none itself."""
    return task if task.title else task.model_copy(update={"title": paper.title})


def blanked_task(task: Task, blank: Callable[[str], str]) -> Task:
    """The task as the code agent reads it."""

    def blanked(metric: Metric) -> Metric:
        return metric.model_copy(update={"definition": blank(metric.definition)})

    return task.model_copy(
        update={
            "instruction": blank(task.instruction),
            "metric": blanked(task.metric),
            "more_metrics": [blanked(metric) for metric in task.more_metrics],
        }
    )
