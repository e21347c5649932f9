"""The audit's two questions: what differs, and, for each item that could move a number, whether it
really does.

The second one sees the item, the code around it and the passages of the paper around the
quotation, and nothing of what the first one thought: a model that is asked to look for differences
finds some, so another has to try to refute them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from autoreproduce.agents.agent import Agent, ToShow
from autoreproduce.agents.listing import number
from autoreproduce.agents.structured import read_structured
from autoreproduce.audit.reach import ProgramFiles, made_elsewhere, told_commands
from autoreproduce.claims.differences import (
    Audit,
    Difference,
    Item,
    Misquoted,
    checked,
    cut,
    sorted_items,
)
from autoreproduce.errors import BudgetError, ContextError, ReplyError
from autoreproduce.files.kinds import CODE, CONFIGURATION, ending, kind_of
from autoreproduce.models.tokens import prompt_tokens
from autoreproduce.papers.passages import nearest_within

if TYPE_CHECKING:
    from autoreproduce.claims.choices import Choice
    from autoreproduce.claims.claim import Claim


PHASE = "audit"
MOST_ASKED, MOST_SHOWINGS = 6, 2  # files of one request to see more; requests
MOST_CODE = 240_000  # characters of code in one prompt, where the context has no narrower limit
CODE_SHARE = 0.5  # of the context that code may take; the paper takes the rest
CHARACTERS_A_TOKEN = 3
AROUND = 25  # lines before and after a quotation, for the second look
NONE: Mapping[str, str] = MappingProxyType({})
RARE = 0.02  # a name that stands in one line of fifty tells what is meant
_WORDS = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}(?![a-z])")
PASSAGE = 3_000  # characters of the paper around a quotation


class FirstReply(BaseModel):
    """The first reply. `show`: files that have to be read before it can be given."""

    items: list[dict[str, object]] = Field([], max_length=60)
    show: list[str] = Field([], max_length=MOST_ASKED)


class SecondLook(BaseModel):
    """Whether one item holds: `wrong` isn't true of the code or of the paper, `open` is true of the
    code and against nothing that the paper states.
    """

    id: str
    answer: Literal["holds", "open", "wrong"]
    why: str = ""
    paper: str = Field("", description="of an item without a true quotation: the paper's words")
    code: str = Field("", description="and the code's lines")

    @model_validator(mode="before")
    @classmethod
    def _in_a_word(cls, given: Any) -> Any:
        """`holds` alone, true or false, is an answer too."""
        if isinstance(given, dict) and isinstance(given.get("holds"), bool):
            return {"answer": "holds" if given["holds"] else "wrong", **given}
        return given


class SecondLooks(BaseModel):
    """The second reply."""

    items: list[SecondLook] = []


def audit(
    agent: Agent,
    paper: str,
    files: Mapping[str, str],
    claims: Sequence[Claim],
    *,
    command: str = "",
    choices: Sequence[Choice] = (),
    unread: Mapping[str, str] = NONE,
    added: str = "",
) -> Audit:
    """Where `files` (text by path) do something else than `paper` (Markdown) says.

    `command`: how the program is run; `unread`: why another file of it is no text, by path, which
    the audit then says. `added`: which of the files isn't the authors', and what it does. Of texts
    for people the commands alone are shown. Nothing that goes wrong
    with the model ends a trial: the audit then says why it has no items. The budget's end is
    raised, as anywhere.
    """
    agent.journal.phase(PHASE)
    texts = readable(files)
    if not texts:
        none = "there is no code that can be read"
        return Audit(problem=none, unread=_not_read(files, sorted(files), unread))
    limit = prompt_tokens(agent.settings.model)
    room = MOST_CODE if limit is None else round(CODE_SHARE * limit * CHARACTERS_A_TOKEN)
    code = shown_first(texts, min(room, MOST_CODE), command=command, paper=paper)
    lacking = ProgramFiles(texts).lacking(command)
    unread = dict.fromkeys(lacking, "named by the command, not among the files") | {**unread}
    told = told_commands(files)
    asked = {
        "paper": paper,
        "claims": claims,
        "choices": [f"{one.what}: {one.value}" for one in choices],
        "code": code.listing,
        "left": code.left[:MOST_NAMES],
        "command": command,
        "lacking": lacking,
        "told": told,
        "added": added,
    }
    shown, times = dict(code.shown), [0]

    def read(reply: str) -> tuple[list[Difference], list[str]] | ToShow:
        found = read_structured(reply, FirstReply)
        if found.show and not found.items and times[0] < MOST_SHOWINGS:
            times[0] += 1
            more = {name: texts[name] for name in found.show if name in texts}
            shown.update(more)
            return ToShow(
                "\n\n".join(listed(name, text[:MOST_CODE]) for name, text in more.items())
                + "\n\nNow answer."
                if more
                else "There are no such files. Answer by what you have seen."
            )
        items, wrong = _items(found.items)
        kept, dropped = checked(items, paper, texts, [claim.id for claim in claims])
        return kept, [*wrong, *dropped]

    try:
        items, dropped = agent.checked("audit/find", read, **asked)
        items, dropped, refuted = _second_look(
            agent, paper, texts, claims, items, dropped, command=command, told=told, added=added
        )
    except BudgetError:
        raise
    except (ReplyError, ContextError) as error:
        left = _not_read(files, code.left, unread)
        return Audit(problem=str(error), files=tuple(shown), unread=left)
    left = _not_read(files, [name for name in code.left if name not in shown], unread)
    unfound = not items and any(isinstance(one, Misquoted) for one in dropped)
    return Audit(
        problem="the model's quotations aren't in the paper and the code" if unfound else "",
        **sorted_items(items),
        dropped=tuple(dropped),
        refuted=tuple(refuted),
        files=tuple(shown),
        unread=left,
    )


def _items(given: Sequence[dict[str, object]]) -> tuple[list[Item], list[str]]:
    """The items, and a line for each that can't be read as one."""
    items, wrong = list[Item](), list[str]()
    for one in given:
        try:
            items.append(Item.model_validate(one))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the item"
            named = str(one.get("says") or one.get("does") or "an item")[:100]
            wrong.append(f"{named}: {where}: {first['msg']}")
    return items, wrong


def _second_look(
    agent: Agent,
    paper: str,
    files: Mapping[str, str],
    claims: Sequence[Claim],
    items: Sequence[Difference],
    dropped: Sequence[str],
    *,
    command: str,
    told: Sequence[str],
    added: str,
) -> tuple[list[Difference], list[str], list[str]]:
    """The items but those that a second look refutes, with those of the `dropped` for which it
    finds the words; a line for each that stays dropped, and for each that's refuted.
    """
    misquoted = {
        f"Q{n}": line
        for n, line in enumerate(dropped, 1)
        if isinstance(line, Misquoted) and not line.item.agrees
    }
    doubted = [one for one in items if one.can_move]
    for name, line in misquoted.items():
        facts = {"id": name, "last": line.item.first}
        doubted.append(Difference.model_validate(line.item.model_dump() | facts))
    if not doubted:
        return list(items), list(dropped), []
    lines = _NamedLines(files)
    asked = [
        {
            "item": one,
            "code": _around(one, files),
            "passage": nearest_within(paper, f"{one.paper} {one.says or one.does}", PASSAGE),
            "elsewhere": lines.sharing_names(one),
            "misquoted": one.id in misquoted,
        }
        for one in doubted
    ]
    looks = agent.structured(
        "audit/refute",
        SecondLooks,
        items=asked,
        claims=claims,
        command=command,
        told=told,
        added=added,
    )
    said = {one.id: one for one in looks.items if one.id in {each.id for each in doubted}}
    kept, refuted = list[Difference](), list[str]()
    for one in items:
        look = said.get(one.id)
        why = cut(look.why) if look else ""
        if look and look.answer == "wrong":
            refuted.append(f"{one.title}: {why}")
        elif look and look.answer == "open":
            kept.append(one.model_copy(update={"moves": "no", "but": why}))
        else:
            kept.append(one)
    mended = set[str]()
    for name, line in misquoted.items():
        look = said.get(name)
        if look is None or look.answer == "wrong":
            continue
        words = {"paper": look.paper or line.item.paper, "code": look.code or line.item.code}
        if look.answer == "open":
            words["moves"] = "no"
        item = Item.model_validate(line.item.model_dump() | words)
        now, _ = checked([*kept, item], paper, files, [claim.id for claim in claims])
        if len(now) > len(kept):
            but = cut(look.why) if look.answer == "open" else ""
            kept.append(now[-1].model_copy(update={"id": name.replace("Q", "M"), "but": but}))
            mended.add(line)
    return kept, [line for line in dropped if line not in mended], refuted


def _around(item: Difference, files: Mapping[str, str]) -> str:
    """The lines around a quotation with their numbers; "" of what is absent."""
    if item.file not in files:
        return ""
    lines = files[item.file].split("\n")
    first, last = max(1, item.first - AROUND), min(len(lines), item.last + AROUND)
    return "\n".join(f"{n}|{lines[n - 1]}" for n in range(first, last + 1))


class _NamedLines:
    """The lines of all files by the names in them: a default that another file overrides is no
    difference.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self.lines = [
            (file, at, line, frozenset(re.findall(r"[A-Za-z_]\w{3,}", line)))
            for file, text in files.items()
            for at, line in enumerate(text.split("\n"), 1)
        ]
        self.counts = Counter(name for *_, names in self.lines for name in names)

    def sharing_names(self, item: Difference) -> list[str]:
        """Lines elsewhere that share the names in the quoted lines, or, of what is absent, the
        words of the paper; those with rare names first, then those of the same folder.
        """
        wanted = set(re.findall(r"[A-Za-z_]\w{3,}", item.code or item.says))
        folder = PurePosixPath(item.file).parent
        found = []
        for file, at, line, names in self.lines:
            inside = file == item.file and item.first - AROUND <= at <= item.last + AROUND
            weight = 0.0 if inside else sum(1 / self.counts[name] for name in wanted & names)
            if weight > RARE:
                near = PurePosixPath(file).parent == folder
                found.append((-weight, not near, f"{file}:{at}: {line.strip()[:160]}"))
        found.sort(key=lambda one: one[:2])
        return [line for *_, line in found[:12]]


LARGEST_FILE = 120_000  # characters; what is longer is data or generated
LARGEST_CONFIGURATION = 12_000
MOST_NAMES = 400  # of files that are listed without being shown
MOST_UNREAD_NAMES = 5  # of files that one reason keeps from being read; more are counted
_NOT_RUN = re.compile(
    r"(?:^|/)(?:tests?|docs?|examples?/data|node_modules|\.github)(?:/|$)|setup\.py$"
)


@dataclass(frozen=True)
class ShownCode:
    """The files whose lines are shown, by path, and the names of those that aren't."""

    shown: dict[str, str]
    left: list[str]

    @property
    def listing(self) -> str:
        """Each file with its numbered lines."""
        return "\n\n".join(listed(name, text) for name, text in self.shown.items())


def listed(name: str, text: str) -> str:
    """One file as a prompt shows it."""
    return f"## {name}\n~~~~\n{number(text)}\n~~~~"


def _not_read(
    files: Mapping[str, str], left: Sequence[str], unread: Mapping[str, str]
) -> tuple[str, ...]:
    """What the audit didn't see: the names for which there was no `room`, then what is too long or
    no text, with the reason; many of one reason are counted, by ending.
    """
    passed_over = {
        name: why
        for name, text in files.items()
        if name not in left and _largest(name) > 0 and (why := _passed_over(name, text))
    }
    reasons = dict[str, list[str]]()
    for name, why in (passed_over | dict(unread)).items():
        reasons.setdefault(why, []).append(name)
    lines = []
    for why, names in reasons.items():
        endings = Counter(ending(name) or "no ending" for name in names)
        kinds = ", ".join(f"{count} {ending}" for ending, count in endings.most_common(8))
        named = len(names) <= MOST_UNREAD_NAMES
        lines.append(f"{', '.join(names) if named else f'{len(names)} files: {kinds}'} ({why})")
    return (*left, *lines)


def readable(files: Mapping[str, str]) -> dict[str, str]:
    """The files that are code or configuration, and no data."""
    return {
        name: text
        for name, text in files.items()
        if _largest(name) > 0 and not _passed_over(name, text)
    }


def _passed_over(name: str, text: str) -> str:
    """Why a file of code or configuration isn't read; "" of one that is."""
    if len(text) > _largest(name):
        return f"longer than {_largest(name):,} characters"
    return made_elsewhere(name, text) if kind_of(name) in CODE else ""


def _largest(name: str) -> int:
    """The characters that a file of this kind may have; -1 of what is neither."""
    if kind_of(name) in CODE:
        return LARGEST_FILE
    return LARGEST_CONFIGURATION if kind_of(name) in CONFIGURATION else -1


def shown_first(
    files: Mapping[str, str], room: int, *, command: str = "", paper: str = ""
) -> ShownCode:
    """As many of `files` as `room` characters hold: what `command` names first, then what that
    names, imports or runs, then what speaks most of what the `paper` speaks of (without one,
    configuration first); tests and documents last.
    """
    order = _by_weight(files, command, paper)
    shown: dict[str, str] = {}
    left: list[str] = []
    for name in order:
        size = len(listed(name, files[name])) + 2  # a blank line between two
        if size <= room:
            shown[name] = files[name]
            room -= size
        else:
            left.append(name)
    return ShownCode(shown, left)


def _by_weight(files: Mapping[str, str], command: str, paper: str) -> list[str]:
    reached = ProgramFiles(files).reached(command)
    alike = _likeness(files, paper)
    own = {name.partition("/")[0] for name, distance in reached.items() if distance == 0}

    def rank(name: str) -> tuple[int, float, float, str]:
        # another program's copy lies in a folder of its own, of which the command names nothing
        foreign = "/" in name and bool(own) and name.partition("/")[0] not in own
        likeness = alike[name] / (2 if foreign else 1)
        if name in reached:
            return 0, reached[name] + foreign, -likeness, name
        configures = kind_of(name) in CONFIGURATION
        return (2 if _NOT_RUN.search(name) else 1), -likeness, 1 - configures, name

    return sorted(files, key=rank)


def _likeness(files: Mapping[str, str], paper: str) -> dict[str, float]:
    """How much each file is about what the paper is about, by BM25 with the paper's words as the
    query: Robertson and Zaragoza, "The probabilistic relevance framework" (2009), k₁ = 1.2, b =
    0.75. Names such as `hiddenSize` and `hidden_size` are their words.
    """
    counts = {
        name: Counter(word.lower() for word in _WORDS.findall(f"{name}\n{text}"))
        for name, text in files.items()
    }
    asked = {word.lower() for word in _WORDS.findall(paper)}
    having = Counter(word for count in counts.values() for word in count)
    mean = sum(map(Counter.total, counts.values())) / len(counts) if counts else 1.0

    def score(count: Counter[str]) -> float:
        long = 1.2 * (0.25 + 0.75 * count.total() / (mean or 1.0))
        return sum(
            math.log(1 + (len(counts) - having[word] + 0.5) / (having[word] + 0.5))
            * 2.2
            * count[word]
            / (count[word] + long)
            for word in asked & count.keys()
        )

    return {name: score(count) for name, count in counts.items()}
