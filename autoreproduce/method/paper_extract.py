"""What is extracted at once from a paper that prompts can hold whole: checklist, expectations,
claims and choices come in one reply, and no summary is written of what every prompt shows anyway.

A summary of a short paper is longer than what it saves: sent a dozen times from a provider's cache,
a paper costs about what twice its length costs once, and a reply costs several times that. So up to
`SHORT` tokens the prompts of a trial begin with the paper, its results withheld.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from autoreproduce.errors import CommandError, ReaderError, ReplyError
from autoreproduce.method.choices import ChoicesReader, form_values
from autoreproduce.method.claims import ClaimsReader, FrozenClaims
from autoreproduce.method.workbench import CHECKLIST
from autoreproduce.models.fenced import data_in_reply
from autoreproduce.models.tokens import count_tokens, prompt_tokens

if TYPE_CHECKING:
    from autoreproduce.claims.choices import Choice
    from autoreproduce.claims.claim import Claim, ClaimsFile
    from autoreproduce.config import Settings
    from autoreproduce.method.workbench import Workbench
    from autoreproduce.papers import Paper
    from autoreproduce.task import Task

PROMPT = "literature_review/reading"
SHORT = 16_000  # tokens of a paper that prompts hold whole
FEWEST_ITEMS = 4
_ITEM = re.compile(r"\s*(?:[*_]{0,2}\d{1,2}[.)]|- \[ \])\s*\S")
_EXPECTED = re.compile(r"\s*[-*]?\s*\**(E\d)[.:)]\**\s+(\S.*)")
_NOTED = re.compile(r"\s*[-*]?\s*\**N\d[.:)]\**\s+(\S.*)")


def prompts_hold(paper: Paper, settings: Settings) -> bool:
    """Whether a trial's prompts begin with the whole paper: it is short, and fits three times into
    what the model can take.
    """
    if settings.method.effort == "paper" or settings.method.diagrams:
        return False
    most = prompt_tokens(settings.model)
    return count_tokens(paper.body) <= (SHORT if most is None else min(SHORT, most // 3))


class PaperExtract:
    """What the research agent's replies held; what was right in the first need not come again."""

    def __init__(self, bench: Workbench, task: Task, paper: Paper, *, given: bool) -> None:
        self.claims = None if given else ClaimsReader(task, paper)
        self.choices = ChoicesReader(bench.paper, task)
        self.checklist = ""
        self.expectations: list[str] = []
        self.notes: list[str] = []
        self.chosen: list[Choice] | None = None
        self.file: ClaimsFile | None = None

    def read(self, reply: str) -> None:
        """Take what a reply holds. Raises CommandError with all that is wrong with it."""
        wrong = [self._prose(reply)]
        content = data_in_reply(reply, "items")
        if isinstance(content, list):
            content = {"choices": content}
        if not isinstance(content, dict):
            raise CommandError("the block holds no list `choices`")
        if self.claims is not None and self.file is None:
            wrong.append(self._claims(_part(content, "claims", "none_because", "notes")))
        if self.chosen is None:
            wrong.append(self._choices(_part(content, "choices")))
        if problems := list(filter(None, wrong)):
            raise CommandError("\n".join(problems))

    def _prose(self, reply: str) -> str:
        """Read what comes before the block; what is wrong with it."""
        lines = reply.split("```", 1)[0].splitlines()
        items = [line.strip() for line in lines if _ITEM.match(line)]
        if len(items) >= FEWEST_ITEMS and not self.checklist:
            self.checklist = "\n".join(items)
            expected = filter(None, map(_EXPECTED.fullmatch, lines))
            self.expectations = [f"{found[1]}: {found[2].strip()}" for found in expected][:4]
            self.notes = [found[1].strip() for found in map(_NOTED.fullmatch, lines) if found]
        return "" if self.checklist else "the checklist's numbered lines are missing"

    def _claims(self, part: str) -> str:
        try:
            assert self.claims is not None
            self.file = self.claims.read(part)
        except CommandError as error:
            return f"claims: {error}"
        return ""

    def _choices(self, part: str) -> str:
        try:
            self.chosen = self.choices.read(part)
        except CommandError as error:
            return f"choices: {error} Give this list again, whole."
        return ""

    def frozen_claims(self) -> FrozenClaims | None:
        """The claims that were read, with warnings of those left out; None if the task has its
        own.
        """
        if self.claims is None:
            return None
        if self.file is None:
            return self.claims.remaining("the reply could not be read")
        return self.claims.frozen(self.file)


def _part(content: dict[object, object], *names: str) -> str:
    """A reply with these lists of a block alone."""
    return json.dumps({name: content[name] for name in names if name in content})


def extract_at_once(bench: Workbench, task: Task, paper: Paper, given: list[Claim]) -> PaperExtract:
    """What one reply of the research agent holds; `given` are the claims that the task brings."""
    found = PaperExtract(bench, task, paper, given=bool(given))
    shown = bench.blanked_paper if given else bench.paper
    try:
        forms = {} if found.claims is None else found.claims.form_values()
        values = {**forms, **form_values(bench)}
        bench.research.checked(
            PROMPT, found.read, paper=shown, task=task, given=bool(given), claims=given, **values
        )
    except (ReplyError, ReaderError) as error:
        bench.trial.note(f"what was read of the paper is not whole: {error}")
    bench.summaries.put(CHECKLIST, found.checklist or "none was written")
    bench.expectations = found.expectations
    for note in found.notes:
        bench.trial.note(f"the paper: {note}")
    return found
