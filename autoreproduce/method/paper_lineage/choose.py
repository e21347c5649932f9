"""The research agent chooses k of the paper's own references; what it names is checked against that
list.

A model that is asked for papers names some that do not exist. So only a title in the parsed list
of references is accepted, wrong ones are sent back to the agent once, and those that
stay wrong are recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoreproduce.errors import CommandError
from autoreproduce.method.paper_lineage import matching
from autoreproduce.method.paper_lineage.entry import LineageEntry, shorten
from autoreproduce.models.fenced import data_in_reply
from autoreproduce.papers.arxiv_client import without_version

if TYPE_CHECKING:
    from autoreproduce.agents.agent import Agent
    from autoreproduce.papers import Paper, Reference
    from autoreproduce.task import Task

ACCEPTED = 85.0  # a title copied by a model may lose a subtitle's punctuation, not its words
LISTED = 200  # references shown to the agent
REFERENCE_CHARACTERS = 240  # of an entry whose title was not recognised
LONGEST_TITLE = 300  # characters; a title is shown whole, since it must be copied
PASSAGES_CHARACTERS = 3_000


@dataclass(frozen=True)
class Named:
    """One paper as the agent named it."""

    title: str
    why: str


@dataclass(frozen=True)
class ChosenReference:
    """One accepted reference and the agent's reason."""

    reference: Reference
    why: str

    @property
    def title(self) -> str:
        """The reference's title, its whole text if the parser found none."""
        return self.reference.title or self.reference.text


def choose(
    task: Task, paper: Paper, summary: str, research: Agent, k: int
) -> tuple[list[ChosenReference], list[LineageEntry]]:
    """At most k accepted references, and an entry for each title that stayed wrong. Asks twice at
    most.
    """
    checker = ReferenceChecker(
        task, paper, [r for r in paper.references if r.title or r.text][:LISTED]
    )
    k = min(k, len(checker.references))
    complaints: list[str] = []
    for _ in range(2 if k else 0):
        reply = research.ask(
            "lineage/choose",
            task=task.of_paper(),
            summary=summary,
            passages=passages(paper.body),
            k=k,
            references=[_prompt_line(r) for r in checker.references],
            wrong=complaints,
            kept=[c.title for c in checker.accepted],
            missing=k - len(checker.accepted),
        )
        complaints = checker.check(reply)
        if len(checker.accepted) >= k or not complaints:
            break
    return checker.accepted[:k], checker.refused


def chosen_by_title(
    task: Task, paper: Paper, titles: Sequence[str]
) -> tuple[list[ChosenReference], list[LineageEntry]]:
    """The references that a choice names, and an entry for each title that is none."""
    checker = ReferenceChecker(task, paper, [r for r in paper.references if r.title or r.text])
    why = "it would settle what the paper leaves open"
    checker.check(json.dumps([{"title": title, "why": why} for title in titles]))
    return checker.accepted, checker.refused


def own_ids(task: Task, paper: Paper) -> set[str]:
    """The arXiv ids of the paper itself, without versions."""
    return {without_version(known) for known in (task.arxiv_id, paper.arxiv_id) if known}


@dataclass
class ReferenceChecker:
    """Checks each answer against the list of references; earlier answers are remembered."""

    task: Task
    paper: Paper
    references: list[Reference]
    accepted: list[ChosenReference] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)  # title → reason

    def check(self, reply: str) -> list[str]:
        """Accept what the reply names correctly; the complaints about the rest."""
        named = parse_choice(reply)
        if named is None:
            return ["it was no JSON list of objects with a title"]
        complaints = []
        for one in named:
            found, likeness = find_reference(one.title, self.references)
            reason = self._refusal(one.title, found, likeness)
            if reason:
                complaints.append(f"{one.title!r}: {reason}")
                self.wrong.setdefault(one.title[:300], reason)
            elif found and all(choice.reference != found for choice in self.accepted):
                self.accepted.append(ChosenReference(found, one.why))
        return complaints

    @property
    def refused(self) -> list[LineageEntry]:
        """An entry for each title that stayed wrong."""
        return [
            LineageEntry(title=title, status="rejected", reason=reason)
            for title, reason in self.wrong.items()
        ]

    def _refusal(self, title: str, found: Reference | None, likeness: float) -> str:
        """Why this choice is refused, "" if it is not."""
        if self._is_itself(title, found):
            return "it is the paper itself"
        if found is None or likeness < ACCEPTED:
            return "it is not in the paper's list of references"
        if matching.everyones(found.title or found.text):
            return "nearly every paper cites it, so it is not specific to this field"
        return ""

    def _is_itself(self, title: str, found: Reference | None) -> bool:
        if any(own and matching.same(title, own) for own in (self.task.title, self.paper.title)):
            return True
        return bool(
            found
            and found.arxiv_id
            and without_version(found.arxiv_id) in own_ids(self.task, self.paper)
        )


def parse_choice(reply: str) -> list[Named] | None:
    """What the reply names, from its JSON list; None if it has none. Text around it is
    ignored.
    """
    try:
        items = data_in_reply(reply, "list")
    except CommandError:
        return None
    if not isinstance(items, list):
        return None
    named = []
    for item in items:
        title, why = (
            (item.get("title"), item.get("why", "")) if isinstance(item, dict) else (item, "")
        )
        if not isinstance(title, str) or not title.strip():
            return None
        named.append(Named(" ".join(title.split()), " ".join(str(why).split())[:400]))
    return named


def find_reference(title: str, references: Sequence[Reference]) -> tuple[Reference | None, float]:
    """The reference most like `title`, and how like (0 to 100). One with an unparsed title must
    hold it.
    """
    wanted = matching.normal(title)

    def score(reference: Reference) -> float:
        if reference.title:
            return matching.likeness(title, reference.title)
        return 99.0 if wanted in matching.normal(reference.text) else 0.0

    found = max(references, key=score, default=None)
    return found, score(found) if found else 0.0


def _prompt_line(reference: Reference) -> str:
    """One reference for the list: title first, since the title is what the agent must copy."""
    text = " ".join(reference.text.split())
    if not reference.title:
        return text[:REFERENCE_CHARACTERS]
    years = re.findall(r"\b(?:19|20)\d\d\b", text)[-1:]
    known = [f"[{reference.key}]" if reference.key else "", text[:60], *years]
    title = reference.title[:LONGEST_TITLE]
    return f"{title} | {' '.join(filter(None, known))}"


def passages(body: str) -> str:
    """The paragraphs in which the paper names what it compares with: they list the baselines."""
    comparison = re.compile(
        r"baseline|compare[ds]? (?:with|to|against)|compared (?:with|to)|competitor", re.IGNORECASE
    )
    found = [p.strip() for p in re.split(r"\n\s*\n|\n(?=[A-Z#])", body) if comparison.search(p)]
    found.sort(key=lambda p: -len(re.findall(r"\b(?:19|20)\d\d\b|\\cite|\[\w", p)))
    shown: list[str] = []
    room = PASSAGES_CHARACTERS
    for paragraph in found:
        if room < 200:
            break
        shown.append(shorten(paragraph, room) if not shown else paragraph[:room])
        room -= len(shown[-1])
    return "\n\n".join(shown)
