"""How claims' numbers come from what a run left: an agent names them, and code reads them."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError, model_validator

from autoreproduce.errors import CommandError, ReplyError
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.kinds import REMADE, ending
from autoreproduce.files.tree import Tree
from autoreproduce.models.fenced import data_in_reply
from autoreproduce.papers.plain import named_in, words
from autoreproduce.trials.derivation import (
    Derivation,
    Derived,
    Outputs,
    Values,
    derive,
    field_faults,
)
from autoreproduce.trials.program_output import PRINTED, TEXTS, readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from autoreproduce.agents.agent import Agent
    from autoreproduce.claims.claim import Claim
    from autoreproduce.trials.steps import ExecutionResult
    from autoreproduce.trials.trial import Trial

MOST_LINES = 1_500  # of a prompt
FEWEST_LINES = 40  # of a file that is shown in part
LARGEST, MOST_KEPT = 4_000_000, 16_000_000  # bytes of a file, and of all files, looked into
MOST_FILES = 200
LONGEST_LIST, FIRST_OF_LIST = 50, 3  # items of a JSON list that are all shown, else the first
LONGEST_LINE = 300  # characters of a line that are shown


class ClaimDerivation(Derivation):
    """How one claim's number comes from the outputs. A place may stand in it without `of`."""

    id: str = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _of_place(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "of" in given or "file" not in given:
            return given
        place = {name: value for name, value in given.items() if name in Values.model_fields}
        return {name: v for name, v in given.items() if name not in place} | {"of": place}


@dataclass(frozen=True)
class Place:
    """A claim's derivation, and what it gave."""

    id: str
    derivation: Derivation
    derived: Derived


class Places:
    """The derivations of claims, and why others have none. Replies are read one after the other:
    what was right in one stays.
    """

    def __init__(self, claims: Sequence[Claim], outputs: Mapping[str, str]) -> None:
        self.known = [claim.id for claim in claims]
        self.texts = dict(outputs)
        self.outputs = Outputs.of(self.texts)
        self.found: dict[str, Place] = {}
        self.missing: dict[str, str] = {}

    def read(self, reply: str) -> Places:
        """Take in a reply. Raises CommandError with what is wrong in it."""
        content = data_in_reply(reply, "object")
        items = content.get("places")
        if not isinstance(items, list):
            raise CommandError('the JSON object needs "places", a list')
        wrong = [why for item in items if (why := self._taken(item))]
        for item in content.get("missing") or []:
            if isinstance(item, dict) and item.get("id") in self.known:
                self.missing[str(item["id"])] = " ".join(str(item.get("why", "")).split())[:300]
        if wrong:
            taken = f"\nThe {len(self.found)} right ones are taken: give the others alone."
            raise CommandError("; ".join(wrong[:8]) + taken * bool(self.found))
        return self

    def unwritten(self, tree: Tree) -> tuple[str, ...]:
        """Files that a pattern of a derivation fits, and that the run didn't write."""
        places = [place for one in self.found.values() for place in one.derivation.values]
        patterns = [place.file for place in places if place.is_pattern]
        there = (e.name for e in tree.walk(REMADE) if e.kind == "file") if patterns else ()
        fits = [name for name in there if any(fnmatchcase(name, each) for each in patterns)]
        return tuple(name for name in fits if name not in self.texts)

    def _taken(self, item: Any) -> str:
        """Why an item isn't taken; "" if it is."""
        name = str(item.get("id", "")) if isinstance(item, dict) else ""
        try:
            one = ClaimDerivation.model_validate(item)
            if name not in self.known:
                return f"{name} isn't a number that is looked for"
            for named in one.values:
                self._check_copied(named)
            place = Place(name, one, derive(one, self.outputs))
        except ValidationError as error:
            return f"{name or 'an item'}: {field_faults(error)}"
        except CommandError as error:
            self.missing[name] = str(error)
            return f"{name}: {error}"
        self.found[name] = place
        self.missing.pop(name, None)
        return ""

    def _check_copied(self, place: Values) -> None:
        """Raise CommandError for a line that isn't the one that was copied, so that the number
        isn't read beside it.
        """
        if place.line is None:
            return
        for name in self.outputs.matching(place):
            if name.lower().endswith(".json"):
                raise CommandError(f"{name} is JSON: name the number's path as `key`")
            lines = self.outputs.read(name).split("\n")
            there = lines[place.line - 1] if place.line <= len(lines) else ""
            if _spaced(there) != _spaced(place.text):
                raise CommandError(f"line {place.line} of {name} reads {there[:200]!r}")


def statement_lines(
    quotes: Sequence[str], claims: Sequence[Claim], places: Places
) -> list[tuple[str, str]]:
    """A report's section: what the paper says in words, and the numbers of those claims whose row
    or metric it names; all of them if it names none.
    """
    found = []
    for quote in quotes:
        there = set(words(quote))
        named = [
            claim
            for claim in claims
            if any(named_in(w, there) for name in (*claim.row, claim.metric) for w in words(name))
        ]
        lines = []
        for claim in named or claims:
            place = places.found.get(claim.id)
            ours = f"{place.derived.value:.6g}" if place else "none"
            theirs = claim.printed or f"{claim.value:g}"
            if claim.than:
                better = "as good as" if claim.kind == "equal" else "better than"
                theirs = f"{better} {' / '.join(claim.than)}"
                ours = f"a difference of {ours}" if place else ours
            lines.append(f"{claim.title}: paper {theirs}, here {ours}")
        found.append((f'"{quote}"', "\n".join(lines)))
    return found


def _spaced(line: str) -> str:
    """As much of a line as is shown, with single blanks."""
    return " ".join(line.split())[:LONGEST_LINE]


def find_places(
    agent: Agent, trial: Trial, claims: Sequence[Claim], outputs: dict[str, str], about: str = ""
) -> Places:
    """The derivations of those claims whose numbers code could read. `about`: what the paper says
    of the experiment, without the claimed values.
    """
    trial.phase("places")
    places = Places(claims, outputs)
    shown = {"claims": claims, "outputs": shown_outputs(outputs), "about": about}
    try:
        agent.checked("places", places.read, **shown)
    except ReplyError as error:
        trial.note(f"places: {error}")
    for one in places.found.values():
        trial.note(f"{one.id}: {one.derived.words} = {one.derived.value:.6g}")
    for name, why in places.missing.items():
        trial.note(f"{name} was not found: {why}")
    return places


def outputs_of(run: ExecutionResult, workspace: Path, handed_in: Path) -> dict[str, str]:
    """What was printed, and each text file that the run wrote: its time isn't the one with which
    it was handed in, though a rerun's results may equal those that came along.
    """
    tree, room = Tree(workspace), MOST_KEPT
    found = {PRINTED: readable(PRINTED, run.stdout)}
    given = Tree(handed_in)
    before = {e.name: e.changed for e in given.walk()} if handed_in.is_dir() else {}
    written = [e for e in tree.walk(REMADE) if before.get(e.name) != e.changed]
    for entry in sorted(written, key=lambda entry: entry.size):
        if not entry.name.isprintable():  # it would not stay on its line of a prompt
            continue
        if entry.kind == "file" and ending(entry.name) in TEXTS:
            room -= entry.size
            if entry.size > LARGEST or room < 0 or len(found) > MOST_FILES:
                break
            if text := readable(entry.name, tree.read_text(entry.name)):
                found[entry.name] = text
    return found


def shown_outputs(outputs: Mapping[str, str]) -> list[tuple[str, str]]:
    """The outputs as a prompt has them: lines with their numbers, of JSON "path = value", of a long
    text the first and last ones. What is printed comes first, then the shortest files.
    """
    lines = {name: _lines(name, text) for name, text in outputs.items()}
    ordered = sorted(lines, key=lambda name: (name != PRINTED, len(lines[name])))
    shown, room = [], MOST_LINES
    for number, name in enumerate(ordered):
        most = max(FEWEST_LINES, room // 2 if name == PRINTED else room // (len(ordered) - number))
        here = lines[name]
        if len(here) > most:
            left = len(here) - most
            here = [*here[: most * 2 // 3], f"… {left} more lines …", *here[most * 2 // 3 - most :]]
        if (room := room - len(here)) < 0:
            shown.append((", ".join(ordered[number:])[:2_000], "(not shown)"))
            break
        shown.append((name, "\n".join(here)))
    return shown


def _lines(name: str, text: str) -> list[str]:
    if name.lower().endswith(".json"):
        try:
            return [f"{path} = {value}" for path, value in _leaves(parse_json(text))]
        except ValueError:
            pass
    return [f"{n}: {line[:LONGEST_LINE]}" for n, line in enumerate(text.split("\n"), 1)]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and value of each that holds no other; of a long list the first ones."""
    start = f"{path}." if path else ""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{start}{key}")
    elif isinstance(value, list):
        most = len(value) if len(value) <= LONGEST_LIST else FIRST_OF_LIST
        for number, inner in enumerate(value[:most]):
            yield from _leaves(inner, f"{start}{number}")
        if most < len(value):
            yield f"{start}*", f"{len(value)} items like these, {start}0 to {start}{len(value) - 1}"
    else:
        yield path, " ".join(str(value).split())[:200]
