"""Data in a model's reply: its fenced blocks, found by one scan of its lines, and JSON and YAML as
models write them: with comments and commas after the last item, and with bare colons in a text.

Every reader of data asks `data_in_reply` for the shape that it wants. For code, whose blocks hold
fences of their own, see `agents/fences.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Literal, NamedTuple

import yaml

from autoreproduce.errors import CommandError
from autoreproduce.files.bounded import LARGEST_REPLY, parse_json, yaml_value
from autoreproduce.models.replies import storable

Shape = Literal["object", "list", "items"]
_BEGINS: dict[Shape, str] = {"object": "{", "list": "[", "items": ""}
_ENDS = {"{": "}", "[": "]"}
# The first line of items in YAML, as the prompts ask for them, and the lines that go on below it.
_ITEMS = re.compile(r"- \{?\w+:|(?:none_because|claims|choices|experiments|notes):")
_CONTINUES = re.compile(r"\s|-|\Z")
# A string comes first, so that nothing inside one is taken for the others.
_PARTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?<!:)//[^\n]*|/\*.{0,2000}?\*/|,(?=\s*[\]}])', re.DOTALL)
# A field whose text isn't quoted and holds a colon, as in `place: from "Table 2: errors"`.
_BARE_COLON = re.compile(r"^([ \t]*(?:- )?\w+:[ \t]+)(?![\s\"'|>\[{&*!])(.*:[ \t].*)$", re.M)


def data_in_reply(reply: str, shape: Shape) -> Any:
    """The data of a reply: in its one fenced block, closed or not, or without a fence, with or
    without prose around it.

    `shape`: one JSON "object", one JSON "list", or "items", a list or a mapping in YAML or JSON
    whose every scalar is the text that it is. Raises CommandError from which a model can correct
    its reply.
    """
    items = shape == "items"
    read = _items if items else json_in_reply
    bare = items and bool(_ITEMS.match(reply.lstrip()))  # the fences in it are quoted
    try:
        try:
            found = None if bare else read_only_block(reply, read, _BEGINS[shape])
        except LookupError:
            bare = True
        if bare:
            found = _first_readable(_unfenced(reply, shape), read)
    except _JsonError as error:
        raise CommandError(f"the JSON cannot be read: {_shortened(error)}") from None
    except (ValueError, yaml.YAMLError) as error:
        if items:
            raise CommandError(
                f"the YAML cannot be read ({_shortened(error)}): put a text with : or # in quotes"
            ) from None
        raise CommandError(
            f"the JSON {shape} cannot be read ({error}): names and texts stand in double quotes, "
            "true, false and null are small, and a backslash in a text is written twice"
        ) from None
    return storable(found) if items else found


class _JsonError(ValueError):
    """JSON, and yet not to be read."""


def _shortened(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _first_readable(texts: Sequence[str], read: Callable[[str], Any]) -> Any:
    for text in texts[:-1]:
        with suppress(ValueError, yaml.YAMLError):
            return read(text)
    return read(texts[-1])


def _unfenced(reply: str, shape: Shape) -> list[str]:
    """The texts of a reply that may be its data. Raises CommandError where there are none."""
    if shape != "items":
        if not (text := _span(reply, _BEGINS[shape])):
            raise CommandError(f"the reply holds no JSON {shape}: answer with the {shape} alone")
        before, _, behind = reply.partition(text)
        if before.rstrip()[-1:] == "[" and "]" in behind:
            raise CommandError(f"the {shape} stands in a list: answer with the {shape} alone")
        return [text]
    if not reply.strip():
        raise CommandError("the reply is empty: answer with one fenced YAML list")
    lines = reply.split("\n")
    first = next((n for n, line in enumerate(lines) if _ITEMS.match(line)), None)
    if first is None:
        opened = next((line.lstrip()[0] for line in lines if line.lstrip()[:1] in _ENDS), "")
        return [(opened and _span(reply, opened)) or reply]
    below = range(first + 1, len(lines))
    end = next((n for n in below if not _CONTINUES.match(lines[n])), len(lines))
    lost = any(map(_ITEMS.match, lines[end:]))
    without = [] if lost else ["\n".join(lines[first:end])]
    return [reply, *without] if lost or _ITEMS.match(reply.lstrip()) else without


def _span(reply: str, begins: str) -> str:
    """From the first opening brace or bracket to the last closing one."""
    first, last = reply.find(begins), reply.rfind(_ENDS[begins]) + 1
    return reply[first:last] if 0 <= first < last else ""


def json_in_reply(text: str, *, verbatim: bool = False) -> Any:
    """The value of a JSON text in a reply, whose keys are unique. Its numbers are finite, or
    `verbatim` the texts that they are.

    Raises ValueError if it cannot be read, also without comments and last commas.
    """
    try:
        return _read(text, verbatim)
    except json.JSONDecodeError:
        if (plain := _without_comments(text)) == text:
            raise
        return _read(plain, verbatim)


def _items(text: str) -> Any:
    """The value of a text of YAML or JSON, every scalar as text."""
    if text.lstrip()[:1] not in _ENDS:
        return yaml_in_reply(text)
    try:
        return json_in_reply(text, verbatim=True)
    except json.JSONDecodeError:  # perhaps YAML in brackets
        return _first_readable([_without_comments(text), text], yaml_in_reply)
    except ValueError as error:
        raise _JsonError(str(error)) from None


def _without_comments(text: str) -> str:
    """The text without comments, and without commas after a last item."""
    for _ in range(2):  # a comma before a comment is last then
        text = _PARTS.sub(_string_alone, text)
    return text


def yaml_in_reply(text: str) -> Any:
    """The value of a YAML text in a reply, every scalar as text.

    Raises yaml.YAMLError or ValueError if it cannot be read, also with texts that hold a bare
    colon in quotes.
    """
    try:
        return yaml_value(text, verbatim=True)[1]
    except yaml.YAMLError:
        quoted = _BARE_COLON.sub(_in_quotes, text)
        if quoted == text:
            raise
        return yaml_value(quoted, verbatim=True)[1]


def _read(text: str, verbatim: bool) -> Any:
    how = {"verbatim": True} if verbatim else {"finite": True}
    return parse_json(text, unique=True, strict=False, largest=LARGEST_REPLY, **how)


def _in_quotes(found: re.Match[str]) -> str:
    return found[1] + json.dumps(found[2], ensure_ascii=False)


def _string_alone(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else ""


DATA_LANGUAGES = ("", "yaml", "yml", "json", "jsonc", "json5")  # of a block that holds data
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)")
_MOST_ENDS = 20  # of one block that are tried
_DEEPEST = 40  # spaces before a fence that are told apart


class Fence(NamedTuple):
    """One fence line: `mark` is the run of backticks or tildes, `info` what follows it, `line` the
    index of its line.
    """

    mark: str
    indent: int
    info: str
    line: int = -1

    @property
    def opens(self) -> bool:
        """True if an info string makes it an opening fence for certain."""
        return self.info[:1].isalnum() or self.info[:1] in {"{", "."}

    def within(self, outer: Fence) -> bool:
        """True if it can open or close something in a block that `outer` opened."""
        return self.mark.startswith(outer.mark) and self.indent <= outer.indent


def fence_of(text: str, line: int = -1) -> Fence | None:
    """The fence that this line is, None if it is text."""
    found = _FENCE.fullmatch(text.rstrip())
    if found is None or (found[2][0] == "`" and "`" in found[3]):
        return None
    indent = min(len(found[1].expandtabs(4)), _DEEPEST)
    return Fence(found[2], indent, found[3].strip(), line)


class FencedBlock(NamedTuple):
    """A block's text, and the language that its opening line names ("yaml"), in lower case."""

    language: str
    text: str


def fenced_blocks(reply: str) -> list[FencedBlock]:
    """The closed blocks of a reply in their order; the first bare fence of its mark that isn't
    deeper indented closes one.

    The time is linear in the reply's length, whatever it holds.
    """
    lines = reply.split("\n")
    return [
        FencedBlock(opening.info.casefold(), "\n".join(lines[opening.line + 1 : closing.line]))
        for opening, closing in _blocks(fences_in(lines))
    ]


def read_only_block(reply: str, read: Callable[[str], Any], begins: str = "") -> Any:
    """What `read` makes of a reply's one block of data whose text begins so; see `read_block`.
    Raises LookupError without one, CommandError for several.
    """
    blocks = [block.text for block in fenced_blocks(reply) if block.language in DATA_LANGUAGES]
    blocks = [text for text in blocks if text.lstrip().startswith(begins)]
    if not blocks:
        raise LookupError("the reply holds no fenced block")
    whole = []  # the texts that can be read: a second block may be a fence that one quotes

    def read_one(text: str) -> Any:
        if not text.lstrip().startswith(begins):
            raise ValueError(f"it doesn't begin with {begins}")
        found = read(text)
        whole.append(text)
        return found

    several = CommandError(f"the reply holds {len(blocks)} fenced blocks of data: give one")
    try:
        found = read_block(reply, read_one)
    except (ValueError, yaml.YAMLError):
        if len(blocks) > 1:
            raise several from None
        raise
    if len(blocks) > 1 and whole[0] == blocks[0]:
        raise several
    return found


def read_block(reply: str, read: Callable[[str], Any]) -> Any:
    """What `read` makes of the first block of data. A fence in a quoted sentence ends
    nothing: where `read` fails on the text up to the first closing fence, it's given the text up to
    the next one, and so on. Raises LookupError without a block, ValueError where a fence cuts off
    the rest of the data (a text in no quotation marks), else as `read` on the first text.
    """
    fences = fences_in(lines := reply.split("\n"))
    blocks = (
        opening for opening, _ in _blocks(fences) if opening.info.casefold() in DATA_LANGUAGES
    )
    opening = next(blocks, None)
    if opening is None:
        raise LookupError("the reply holds no fenced block")
    closing = (each for each in fences if each.line > opening.line and _closes(each, opening))
    failed: Exception | None = None
    for end in islice(closing, _MOST_ENDS):
        try:
            found = read("\n".join(lines[opening.line + 1 : end.line]))
        except (ValueError, yaml.YAMLError) as error:
            failed = failed or error
            continue
        later = [each for each in fences if each.line > end.line]
        unpaired = later[-1] if len(later) % 2 and _closes(later[-1], opening) else end
        if any(line.strip() for line in lines[end.line + 1 : unpaired.line]):
            raise ValueError(
                f"line {end.line + 1}, {end.mark}, ends the block before its end: indent the "
                "lines of a text that quotes it by two blanks"
            )
        return found
    assert failed is not None  # a block has an end
    raise failed


def fences_in(lines: Sequence[str]) -> list[Fence]:
    """The fences among the lines, in their order."""
    found = (fence_of(line, index) for index, line in enumerate(lines))
    return [fence for fence in found if fence is not None]


def _blocks(fences: Sequence[Fence]) -> Iterator[tuple[Fence, Fence]]:
    """The first and the last fence of each closed block; an opening without an end is text."""
    last: dict[tuple[str, int], int] = {}  # the last line that closes, by mark and indentation
    for fence in fences:
        if not fence.info:
            last[fence.mark, fence.indent] = fence.line
    opening: Fence | None = None
    for fence in fences:
        if opening is None:
            ends = (last.get((fence.mark, n), -1) for n in range(fence.indent + 1))
            opening = fence if max(ends) > fence.line else None
        elif _closes(fence, opening):
            yield opening, fence
            opening = None


def _closes(fence: Fence, opening: Fence) -> bool:
    """A deeper one is part of what the block quotes."""
    return fence.mark == opening.mark and not fence.info and fence.indent <= opening.indent
