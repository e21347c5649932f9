"""The research agent chooses k of the paper's own references; what it names is checked against that list.

A model that is asked for papers names some that do not exist. So only a title that stands in the parsed list
of references is accepted, wrong ones go back to the agent once, and what stays wrong is recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autoreproduce.paper_lineage import matching
from autoreproduce.paper_lineage.entry import LineageEntry, shorten
from autoreproduce.papers.arxiv_client import without_version

if TYPE_CHECKING:
    from autoreproduce.agents import Agent
    from autoreproduce.papers import Paper, Reference
    from autoreproduce.task import Task

ACCEPTED = 85.0  # a title copied by a model may lose a subtitle's punctuation, not its words
LISTED = 200  # references shown to the agent
REFERENCE_CHARACTERS = 240
PASSAGES_CHARACTERS = 3_000


@dataclass(frozen=True)
class Named:
    """One paper as the agent named it."""

    title: str
    why: str


@dataclass(frozen=True)
class Choice:
    """One accepted reference and the agent's reason."""

    reference: Reference
    why: str

    @property
    def title(self) -> str:
        """The reference's title, its whole text where the parser found none."""
        return self.reference.title or self.reference.text


def choose(task: Task, paper: Paper, summary: str, research: Agent, k: int) -> tuple[list[Choice], list[LineageEntry]]:
    """At most k accepted references, and an entry for each title that stayed wrong. Asks twice at most."""
    judge = Judge(task, paper, [r for r in paper.references if r.title or r.text][:LISTED])
    k = min(k, len(judge.references))
    told: list[str] = []
    for _ in range(2 if k else 0):
        reply = research.ask(
            "lineage/choose", task=task, summary=summary, passages=passages(paper.body), k=k,
            references=[_line(r) for r in judge.references], wrong=told,
            kept=[c.title for c in judge.accepted], missing=k - len(judge.accepted),
        )  # fmt: skip
        told = judge.hear(reply)
        if len(judge.accepted) >= k or not told:
            break
    refused = [LineageEntry(title=t, status="rejected", reason=reason) for t, reason in judge.wrong.items()]
    return judge.accepted[:k], refused


def own_ids(task: Task, paper: Paper) -> set[str]:
    """The arXiv ids of the paper itself, without versions."""
    return {without_version(known) for known in (task.arxiv_id, paper.arxiv_id) if known}


@dataclass
class Judge:
    """Holds each answer against the list of references; what was said before stays known."""

    task: Task
    paper: Paper
    references: list[Reference]
    accepted: list[Choice] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)  # title → reason

    def hear(self, reply: str) -> list[str]:
        """Take what the reply names rightly; the complaints about the rest."""
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
                self.accepted.append(Choice(found, one.why))
        return complaints

    def _refusal(self, title: str, found: Reference | None, likeness: float) -> str:
        """Why this choice is not taken, "" where it is."""
        if self._is_itself(title, found):
            return "it is the paper itself"
        if found is None or likeness < ACCEPTED:
            return "it is not in the paper's list of references"
        if matching.everyones(found.title or found.text):
            return "nearly every paper cites it, it says nothing of this field"
        return ""

    def _is_itself(self, title: str, found: Reference | None) -> bool:
        if any(own and matching.same(title, own) for own in (self.task.title, self.paper.title)):
            return True
        return bool(found and found.arxiv_id and without_version(found.arxiv_id) in own_ids(self.task, self.paper))


def parse_choice(reply: str) -> list[Named] | None:
    """What the reply names, from its JSON list; None where it has none. Text around it is passed over."""
    begin, end = reply.find("["), reply.rfind("]")
    try:
        items = json.loads(reply[begin : end + 1]) if 0 <= begin < end else None
    except json.JSONDecodeError:
        return None
    if not isinstance(items, list):
        return None
    named = []
    for item in items:
        title, why = (item.get("title"), item.get("why", "")) if isinstance(item, dict) else (item, "")
        if not isinstance(title, str) or not title.strip():
            return None
        named.append(Named(" ".join(title.split()), " ".join(str(why).split())[:400]))
    return named


def find_reference(title: str, references: Sequence[Reference]) -> tuple[Reference | None, float]:
    """The reference most like `title`, and how like (0 to 100). One with an unparsed title must hold it."""
    wanted = matching.normal(title)

    def score(reference: Reference) -> float:
        if reference.title:
            return matching.likeness(title, reference.title)
        return 99.0 if wanted in matching.normal(reference.text) else 0.0

    return matching.best(references, score)


def _line(reference: Reference) -> str:
    """One reference for the list: title first, since the title is what the agent must copy."""
    text = " ".join(reference.text.split())
    if not reference.title:
        return text[:REFERENCE_CHARACTERS]
    years = re.findall(r"\b(?:19|20)\d\d\b", text)[-1:]
    known = [f"[{reference.key}]" if reference.key else "", text[:60], *years]
    return f"{reference.title} | {' '.join(filter(None, known))}"[:REFERENCE_CHARACTERS]


def passages(body: str) -> str:
    """The paragraphs in which the paper says what it compares with, for these name the baselines."""
    told = re.compile(r"baseline|compare[ds]? (?:with|to|against)|compared (?:with|to)|competitor", re.IGNORECASE)
    found = [p.strip() for p in re.split(r"\n\s*\n|\n(?=[A-Z#])", body) if told.search(p)]
    found.sort(key=lambda p: -len(re.findall(r"\b(?:19|20)\d\d\b|\\cite|\[\w", p)))
    kept: list[str] = []
    room = PASSAGES_CHARACTERS
    for paragraph in found:
        if room < 200:
            break
        kept.append(shorten(paragraph, room) if not kept else paragraph[:room])
        room -= len(kept[-1])
    return "\n\n".join(kept)
