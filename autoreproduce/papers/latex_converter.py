r"""Expanded LaTeX as Markdown, and the tables in it as the paper's tables.

One pass over the tokens, each group's and environment's end known beforehand: linear, whatever the
source. What is not known becomes the text of its arguments, so that no words are lost; a table's
cell where that makes a number doubtful is marked.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

from autoreproduce.papers.latex_expand import Expanded, Expander, Macro
from autoreproduce.papers.latex_plots import plots_as_tabulars
from autoreproduce.papers.latex_tokens import Token, source_of, split_first, tokens_of
from autoreproduce.papers.latex_words import (
    BOLD_HEADS,
    CAPTIONS,
    CITES,
    DINGS,
    DRAWING,
    DROPPED,
    ENVIRONMENTS,
    FLOAT,
    HEADINGS,
    JOINED,
    KNOWN,
    LISTS,
    MATH,
    NOTES,
    ONE_FORMULA,
    PARTS_OF_LONG_TABLES,
    PROGRAM,
    REFS,
    ROW_ENDS,
    RULES,
    SHOWN,
    SILENT,
    SPACES,
    STATEMENT,
    TABULAR,
    TAKES,
    WRAPS,
)
from autoreproduce.papers.plain import plain
from autoreproduce.papers.table import Entry, Table

DEEPEST = 60  # groups and environments within each other
WIDEST = 100  # columns or rows that a cell may span
LONGEST_OPTION = 800  # tokens
_COLOURS = {"cellcolor", "rowcolor", "rowfont", "columncolor"}
Range = tuple[int, int]  # of tokens
Arguments = list[Range | None]


class Rendering(Protocol):
    """The Markdown of a macro, from its name and arguments."""

    def __call__(self, to: Converter, name: str, given: Arguments, /) -> str:
        """`given`: the arguments, None for one that is left out."""
        ...


@dataclass
class Captioned:
    """A caption as it was met, with the label that goes with it."""

    text: str
    kind: str = ""  # table or figure
    number: str = ""
    label: str = ""
    mark: str = ""  # its place in the text


@dataclass
class Draft:
    """A table whose caption is still to come, and the Markdown that it is in the text."""

    table: Table
    block: str
    captioned: bool = False
    plot: bool = False  # of the numbers that a figure is drawn from


@dataclass
class Surroundings:
    """A float or box, and in their order the captions, labels and tables that stand in it."""

    name: str
    captions: list[tuple[int, Captioned]] = field(default_factory=list)
    labels: list[tuple[int, str]] = field(default_factory=list)
    tables: list[tuple[int, Draft]] = field(default_factory=list)


@dataclass
class Converted:
    """What one conversion gathers beside its Markdown."""

    cited: list[str] = field(default_factory=list)
    graphics: list[tuple[str, str]] = field(default_factory=list)  # file as named, caption
    bibliography: str = ""
    tables: list[Draft] = field(default_factory=list)


class Converter:
    """Renders expanded tokens. Anything it gathers is in `found`.

    `places`: the entries of tables have their places in the LaTeX, and not in the Markdown.
    """

    def __init__(
        self, tokens: Sequence[Token], expanded: Expanded | None = None, *, places: bool = False
    ) -> None:
        self.tokens = _with_single_letters(tokens)
        self.expanded, self.places = expanded or Expanded(), places
        self.found = Converted()
        self.appendix = ""  # the next letter, once \\appendix was met
        self.around: list[Surroundings] = [Surroundings("")]
        self.references: dict[str, str] = {}  # label -> number
        self.doubts: list[str] = []  # of the cell that is being read
        self.in_cell = 0
        self.flat = 0  # tables within a cell, which only break its lines
        self.order = 0
        self.symbols = symbols()
        self.match = self._matches()
        self.closings = [at for at, token in enumerate(self.tokens) if token.kind == "]"]
        self.of_macro = _macros()

    # structure

    def _matches(self) -> list[int]:
        """For what opens a group, an environment or a formula where it ends, else -1."""
        match = [-1] * len(self.tokens)
        stack: list[tuple[str, int]] = []
        braces, begun = 0, dict[str, int]()

        def close(kind: str, at: int) -> None:
            nonlocal braces
            while stack:
                opened, start = stack.pop()
                braces -= opened == "{"
                if opened.startswith("begin "):
                    begun[opened] -= 1
                if opened == kind:
                    if len(stack) < DEEPEST:
                        match[start] = at
                    return

        at = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            kind, name = token.kind, token.text
            if kind == "{":
                stack.append(("{", at))
                braces += 1
            elif kind == "}":
                if braces:
                    close("{", at)
            elif kind == "begin":
                key = f"begin {name}"
                stack.append((key, at))
                begun[key] = begun.get(key, 0) + 1
            elif kind == "end":
                if begun.get(f"begin {name}"):
                    close(f"begin {name}", at)
            elif kind == "$":
                double = at + 1 < len(self.tokens) and self.tokens[at + 1].kind == "$"
                top = stack[-1][0] if stack else ""
                if top == "$":
                    close("$", at)
                elif top == "$$" and double:
                    close("$$", at)
                    at += 1
                else:
                    stack.append(("$$" if double and top != "$$" else "$", at))
                    at += double and top != "$$"
            elif kind == "cs" and name in ("(", "["):
                if not (stack and stack[-1][0] in ("(", "[")):
                    stack.append((name, at))
            elif kind == "cs" and name in (")", "]"):
                if stack and stack[-1][0] == {")": "(", "]": "["}[name]:
                    close(stack[-1][0], at)
            elif kind == "par":
                while stack and stack[-1][0] in ("$", "$$", "(", "["):
                    stack.pop()
            at += 1
        return match

    def _skip_blanks(self, at: int, end: int) -> int:
        while at < end and self.tokens[at].kind == "space":
            at += 1
        return at

    def arguments(self, spec: str, at: int, end: int) -> tuple[list[Range | None], int]:
        """What a macro takes from `at` on, by pylatexenc's notation (* star, [ option, { argument;
        ( as \\cmidrule's), and where it ends.
        """
        found: list[Range | None] = []
        for kind in spec:
            start = self._skip_blanks(at, end)
            token = self.tokens[start] if start < end else None
            if kind == "*":
                found.append((start, start + 1) if token and token.kind == "*" else None)
                at = start + 1 if token and token.kind == "*" else at
            elif kind in "[(":
                one = self._option(start, end, kind)
                found.append(one)
                at = one[1] + 1 if one else at
            elif token is None or token.kind in ("}", "&", "par", "end"):
                found.append(None)
            elif token.kind == "{" and self.match[start] >= 0:
                found.append((start + 1, self.match[start]))
                at = self.match[start] + 1
            elif token.kind == "$" and self.match[start] >= 0:
                found.append((start, self.match[start] + 1))
                at = self.match[start] + 1
            else:
                found.append((start, start + 1))
                at = start + 1
        return found, at

    def _option(self, start: int, end: int, opening: str) -> Range | None:
        if start >= end or not self.tokens[start].text.startswith(opening):
            return None
        if self.tokens[start].kind not in ("text", "["):
            return None
        if opening == "(":
            for at in range(start, min(end, start + 12)):
                if ")" in self.tokens[at].text:
                    return start + 1, at
            return None
        at, nested = start + 1, 0
        last = min(end, start + LONGEST_OPTION)
        nearest = bisect_right(self.closings, start)
        if nearest == len(self.closings) or self.closings[nearest] >= last:
            return None  # nothing closes it: macros whose options never close take no longer
        while at < last:
            token = self.tokens[at]
            if token.kind == "]":
                if not nested:
                    return start + 1, at
                nested -= 1
            elif token.kind in ("par", "}", "end"):
                return None
            nested += token.kind == "["
            at = (
                self.match[at] + 1
                if token.kind in ("{", "begin") and self.match[at] > at
                else at + 1
            )
        return None

    # text

    def blocks(self) -> Iterator[Range]:
        """The parts between paragraphs' ends outside all groups and environments."""
        at = start = 0
        while at < len(self.tokens):
            if self.tokens[at].kind == "par":
                yield start, at + 1
                start = at + 1
            at = max(at, self.match[at]) + 1
        yield start, len(self.tokens)

    def render(self, start: int = 0, end: int | None = None) -> str:
        """The Markdown of the tokens between two places."""
        at, end = start, len(self.tokens) if end is None else end
        parts: list[str] = []
        while at < end:
            token, kind = self.tokens[at], self.tokens[at].kind
            after = self.match[at]
            if kind == "text":
                parts.append(_typeset(token.text))
            elif kind == "space":
                parts.append(re.sub(r"\n[ \t]+", "\n", token.text))
            elif kind == "par":
                parts.append("\n\n")
            elif kind == "cs" and token.text in ("(", "[") and after >= 0:
                parts.append(self.formula(at + 1, after, inline=token.text == "("))
                at = after
            elif kind == "cs":
                text, at = self.macro(token, at + 1, end)
                parts.append(text)
                continue
            elif kind == "{":
                if at + 1 < end and after >= 0:
                    parts.append(self.render(at + 1, after))
                    at = after
            elif kind == "$":
                if after >= 0 and self.tokens[at + 1].kind == "$" and after > at + 1:
                    parts.append(self.formula(at + 2, after, inline=False))
                    at = after + 1
                elif after >= 0:
                    parts.append(self.formula(at + 1, after, inline=True))
                    at = after
                else:
                    parts.append("$")
            elif kind == "begin":
                if after >= 0:
                    parts.append(self.environment(token.text, at + 1, after))
                    at = after
            elif kind == "listing":
                raw = self.tokens[at + 1].text if at + 1 < end else ""
                if not token.text.startswith("filecontents"):
                    parts.append(
                        "\n\n```\n" + re.sub(r"^\[[^\]]*\]", "", raw).strip("\n") + "\n```\n\n"
                    )
                at += 1
            elif kind == "~":
                parts.append(" ")
            elif kind in ("_", "^"):
                (one,), at = self.arguments("{", at + 1, end)
                parts.append(self.raised(kind, one))
                continue
            elif kind in ("raw", "[", "]", "*", "#", "&"):
                parts.append(token.text)
            at += 1
        return "".join(parts)

    def line(self, one: Range | None) -> str:
        """An argument on one line."""
        return " ".join(self.render(*one).split()) if one else ""

    def source(self, one: Range | None) -> str:
        """An argument as LaTeX."""
        return source_of(self.tokens[one[0] : one[1]]) if one else ""

    def formula(self, start: int, end: int, *, inline: bool = True) -> str:
        """A formula as it is in the source, in $ or $$; an array with rules or words is a table."""
        if not self.in_cell and (array := self._sole_array(start, end)):
            given, inside = self.arguments(ENVIRONMENTS["array"], array[0] + 1, array[1])
            return self.tabular("array", given, inside, array[1])
        if self.in_cell:
            self._doubt_unknown(start, end)
        inner = re.sub(
            r"\\ensuremath\s*\{((?:[^{}]|\{[^{}]*\})*)\}", r"\1", source_of(self.tokens[start:end])
        )
        return f"${inner.strip()}$" if inline else f"\n\n$$\n{inner.strip()}\n$$\n\n"

    def _sole_array(self, start: int, end: int) -> Range | None:
        """The array that is all of a formula, where it is set as a table."""
        parts = [at for at in range(start, end) if self.tokens[at].kind not in ("space", "par")]
        first = self.tokens[parts[0]] if parts else None
        if first is None or (first.kind, first.text) != ("begin", "array"):
            return None
        if self.match[parts[0]] != parts[-1]:
            return None
        words = {"hline", "toprule", "midrule", "text", "textbf", "mbox", "textrm"}
        set_as_table = any(self.tokens[at].text in words for at in parts)
        return (parts[0], parts[-1]) if set_as_table else None

    def _doubt_unknown(self, start: int, end: int) -> None:
        for at in range(start, end):
            token = self.tokens[at]
            if token.kind == "cs" and token.text not in KNOWN and token.text not in self.symbols:
                self._doubt(token.text, at + 1, end)

    def _doubt(self, name: str, at: int, end: int) -> None:
        """Mark the cell if an unknown macro takes what has a digit."""
        at = self._skip_blanks(at, end)
        while at < end and self.tokens[at].kind == "{" and self.match[at] >= 0:
            if any(re.search(r"\d", one.text) for one in self.tokens[at : self.match[at]]):
                self.doubts.append(f"\\{name} isn't known")
                return
            at = self._skip_blanks(self.match[at] + 1, end)

    def macro(self, token: Token, at: int, end: int) -> tuple[str, int]:
        """The Markdown of a macro with its arguments, and where they end."""
        name = token.text
        if name in CAPTIONS:
            return self.caption(token, at, end)
        if name in self.of_macro:
            spec, handler = self.of_macro[name]
            arguments, at = self.arguments(spec, at, end)
            return handler(self, name, arguments), at
        if name in ACCENTS:
            (one,), after = self.arguments("{", at, end)
            if one is None or not (text := self.render(*one)):
                return "", after
            return accented(name, text), after
        if name in self.symbols:
            shown = self.symbols[name]
            if at < end and self.tokens[at].kind == "{" and self.match[at] == at + 1:
                at += 2
            return self.symbol(shown, token.post), at
        if name in self.expanded.unexpanded and self.in_cell:
            self.doubts.append(f"\\{name} writes too much to be expanded")
        elif self.in_cell:
            self._doubt(name, at, end)
        return (" " if token.post and not self.in_cell else ""), at

    def raised(self, sign: str, one: Range | None) -> str:
        """What stands above or below the line, outside formulas."""
        return _raised(sign, self.line(one))

    def symbol(self, text: str, post: str) -> str:
        """A symbol, with what stood behind its macro."""
        return text

    def heading(self, name: str, arguments: list[Range | None]) -> str:
        """A section's head."""
        number = ""
        if self.appendix and HEADINGS[name] == 2:  # so that an appendix is recognised
            number, self.appendix = f"Appendix {self.appendix}. ", chr(ord(self.appendix) + 1)
        return f"\n\n{'#' * HEADINGS[name]} {number}{self.line(arguments[-1])}\n\n"

    def abstract(self, one: Range | None) -> str:
        """The abstract under its heading."""
        return f"\n\n## Abstract\n\n{self.render(*one).strip() if one else ''}\n\n"

    def begin_appendix(self) -> str:
        """From here on sections have letters."""
        self.appendix = self.appendix or "A"
        return ""

    def wrapped(self, name: str, arguments: list[Range | None]) -> str:
        """Emphasis, which Markdown wants without blanks inside."""
        text = self.render(*arguments[-1]) if arguments[-1] else ""
        if "|---|" in text or "\n\n" in text.strip():
            return text
        return f"{WRAPS[name]}{text.strip()}{WRAPS[name]}" if text.strip() else text

    def graphic(self, _: str, arguments: list[Range | None]) -> str:
        """A picture's file is gathered; its caption comes with the figure around it."""
        self.found.graphics.append((self.source(arguments[-1]).strip(), ""))
        return ""

    def citation(self, _: str, arguments: list[Range | None]) -> str:
        """[key; key], with the citation's note."""
        keys = [key.strip() for key in self.source(arguments[-1]).split(",") if key.strip()]
        self.found.cited += keys
        notes = [self.line(one) for one in arguments[1:-1] if one is not None]
        return "[" + "; ".join(keys) + "".join(f", {note}" for note in notes if note) + "]"

    def reference(self, _: str, arguments: list[Range | None]) -> str:
        """The label for now; `resolved` puts in the numbers of tables and figures."""
        labels = [one.strip() for one in self.source(arguments[-1]).split(",")]
        return ", ".join(f"\x01{label}\x02" for label in labels)

    def resolved(self, text: str) -> str:
        """References to tables and figures as their numbers, to others as their labels."""
        return re.sub(
            "\x01([^\x01\x02]*)\x02", lambda found: self.references.get(found[1], found[1]), text
        )

    # floats

    def label(self, _: str, arguments: list[Range | None]) -> str:
        """A label is told to the float around it."""
        self.order += 1
        self.around[-1].labels.append((self.order, self.source(arguments[-1]).strip()))
        return ""

    def caption(self, token: Token, at: int, end: int) -> tuple[str, int]:
        """A caption stands in the text as a mark until its float has been read."""
        one = Captioned("")
        while at < end and self.tokens[at].kind in ("number", "of"):
            if self.tokens[at].kind == "number":
                one.kind, _, one.number = self.tokens[at].text.partition(" ")
            else:
                one.kind = self.tokens[at].text
            at += 1
        arguments, at = self.arguments("*[{", at, end)
        if arguments[-1] is None:
            return "", at
        self.order += 1
        order = self.order
        kept, self.in_cell = self.in_cell, 0
        one.text = self.line(arguments[-1])
        self.in_cell = kept
        one.mark = f"\x03{order}\x04"
        self.around[-1].captions.append((order, one))
        return f"\n\n{one.mark}\n\n", at

    def floated(self, name: str, start: int, end: int) -> str:
        """A float or box: its captions go to its tables and graphics, in their order."""
        graphics, own = len(self.found.graphics), Surroundings(name)
        self.around.append(own)
        content = self.render(start, end)
        self.around.pop()
        word = "Table" if "table" in name or name.startswith("longtbl") else "Figure"
        captions = own.captions
        for n, (order, one) in enumerate(captions):
            until = captions[n + 1][0] if n + 1 < len(captions) else self.order + 1
            since = order if len(captions) > 1 else 0
            one.label = next((text for at, text in own.labels if since < at < until), "")
            kind = {"table": "Table", "figure": "Figure"}.get(one.kind, word)
            if one.number and one.label:
                self.references[one.label] = one.number
            number = one.number or one.label
            content = content.replace(one.mark, f"*{kind}{number and ' '}{number}: {one.text}*")
        if captions:
            tables = [draft for _, draft in own.tables if not draft.captioned]
            for n, draft in enumerate(tables):
                _, one = captions[min(n, len(captions) - 1)]
                self._name(draft, one)
            for n, (_, draft) in enumerate(own.tables):
                if draft.captioned and "sub" not in name and captions[0][1].number:
                    self._name_part(draft, captions[0][1], n)
            shown = " ".join(one.text for _, one in captions)
            self.found.graphics[graphics:] = [
                (file, old or shown) for file, old in self.found.graphics[graphics:]
            ]
        self.around[-1].tables += own.tables
        if not captions:
            self.around[-1].labels += own.labels
        return f"\n\n{content.strip()}\n\n"

    def _name(self, draft: Draft, one: Captioned) -> None:
        number = f"Figure {one.number}" if draft.plot and one.number else one.number
        names = [name for name in (number, one.label) if name]
        draft.table = replace(
            draft.table, names=tuple(names), caption=plain(self.resolved(one.text))
        )
        draft.captioned = True

    def _name_part(self, draft: Draft, one: Captioned, n: int) -> None:
        """A part of a table with a caption of its own is 2a, and says what the whole one does."""
        if draft.plot or any(re.fullmatch(r"[A-Z.]*\d+[a-z]?", name) for name in draft.table.names):
            return
        names = (f"{one.number}{chr(ord('a') + n % 26)}", *draft.table.names)
        caption = f"{plain(self.resolved(one.text))} {draft.table.caption}".strip()
        draft.table = replace(draft.table, names=names, caption=caption)

    # environments

    def environment(self, name: str, start: int, end: int) -> str:
        """The Markdown of an environment."""
        if MATH.fullmatch(name):
            if ONE_FORMULA.fullmatch(name):
                return self.formula(start, end, inline=False)
            return self.formula(start - 1, end + 1, inline=False)
        if PROGRAM.fullmatch(name):
            return f"\n\n```latex\n{source_of(self.tokens[start - 1 : end + 1])}\n```\n\n"
        if DRAWING.fullmatch(name):
            return "" if self.places or self.in_cell else self.drawing(start, end)
        if name == "thebibliography":
            self.found.bibliography += source_of(self.tokens[start - 1 : end + 1])
            return ""
        if "tabu" in name and name.endswith("tabu"):  # \begin{tabu} to \textwidth {lc}
            while start < end and self.tokens[start].kind != "{":
                start += 1
        given, inside = self.arguments(ENVIRONMENTS.get(name, ""), start, end)
        if name in LISTS:
            return self.items(inside, end, numbered="enum" in name)
        if name in TABULAR:
            return self.tabular(name, given, inside, end)
        if name == "tablenotes":
            return self.notes(inside, end)
        if name == "array" and self.in_cell:
            return self.render(inside, end)
        if name in ("appendix", "appendices"):
            self.begin_appendix()
        if name == "abstract":
            return self.abstract((inside, end))
        if FLOAT.fullmatch(name) or name in (
            "minipage",
            "threeparttable",
            "floatrow",
            "ThreePartTable",
        ):
            if self.in_cell:
                return self.render(inside, end)
            return self.floated(name, inside, end)
        title = self.expanded.theorems.get(name.rstrip("*"))
        if title or STATEMENT.fullmatch(name):
            if name not in ENVIRONMENTS:
                given, inside = self.arguments("[", start, end)
            remark = "".join(f" ({self.line(one)})" for one in given if one)
            content = self.render(inside, end).strip()
            return f"\n\n**{title or name.rstrip('*').capitalize()}{remark}.** {content}\n\n"
        content = self.render(inside, end)
        return f"\n\n{content}\n\n" if "\n" in content else content

    def drawing(self, start: int, end: int) -> str:
        """The tables of the numbers that a drawing's plots show."""
        source, blocks = source_of(self.tokens[start - 1 : end + 1]), []
        for tabular in plots_as_tabulars(source, self.expanded.plotted):
            alone = Converter(Expander().expand(tokens_of(tabular)), self.expanded)
            blocks.append(alone.render().strip())
            for draft in alone.found.tables:
                draft.plot = True
                self.found.tables.append(draft)
                self.order += 1
                self.around[-1].tables.append((self.order, draft))
        return "".join(f"\n\n{block}\n\n" for block in blocks)

    def notes(self, start: int, end: int) -> str:
        """The notes below a table, which its cells' marks name."""
        found = self._items(start, end)
        notes = tuple((mark.strip(), text.strip()) for mark, text in found)
        for _, draft in self.around[-1].tables[-1:]:
            draft.table = replace(draft.table, notes=notes)
        return "\n\n" + "\n".join(f"^{mark} {text}" for mark, text in notes if text) + "\n\n"

    def _items(self, start: int, end: int) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        at, since, label = start, start, None
        while at <= end:
            token = self.tokens[at] if at < end else None
            if token is None or (token.kind == "cs" and token.text == "item"):
                if label is not None:
                    found.append((label, self.render(since, at)))
                if token is None:
                    break
                (one,), at = self.arguments("[", at + 1, end)
                label, since = self.line(one), at
                continue
            at = (
                self.match[at] + 1
                if token.kind in ("{", "begin") and self.match[at] > at
                else at + 1
            )
        return found

    def items(self, start: int, end: int, *, numbered: bool) -> str:
        """A list, nested lists indented."""
        found = self._items(start, end)
        lines = [f"**{label}** {text.lstrip()}" if label else text for label, text in found]
        marks = [f"{number}." if numbered else "-" for number in range(1, len(lines) + 1)]
        texts = [re.sub(r"\n\s*\n", "\n", line.strip()).replace("\n", "\n  ") for line in lines]
        rows = (f"{mark} {text}" for mark, text in zip(marks, texts, strict=True))
        return "\n\n" + "\n".join(rows) + "\n\n"

    # tables

    def tabular(self, name: str, given: list[Range | None], start: int, end: int) -> str:
        """A table, or the tables that it only lays out; within a cell the words of its lines."""
        if self.in_cell:
            return " ".join(
                text
                for row in self._rows(start, end)[0]
                for cell in row
                if (text := self._text_of(cell))
            )
        if self._lays_out(start, end):
            rows, _, _, captions = self._rows(start, end)
            texts = [self._whole(cell).strip() for row in rows for cell in row]
            return captions + "\n\n" + "\n\n".join(text for text in texts if text) + "\n\n"
        long = name.startswith("long") or name in ("xltabular", "supertabular", "xtabular")
        if long:
            self.around.append(Surroundings("longtable"))
        rows, rules, heads, captions = self._rows(start, end)
        option = self.source(given[0]) if name in ("longtblr", "talltblr") and given[0] else ""
        if outer := re.search(r"caption\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}", option):
            label = re.search(r"label\s*=\s*\{([^{}]*)\}", option)
            one = Captioned(outer[1], "table", "", label[1] if label else "")
            self.around[-1].captions.append((self.order, one))
        columns = _columns(self.source(given[-1] if given else None), self.expanded.columns)
        if name in ("NiceTabular", "NiceTabular*") and len(given) > 1:
            columns = _columns(self.source(given[-2]), self.expanded.columns)
        if name == "array":
            columns = [replace(column, math=True) for column in columns]
        entries = self._entries(rows, columns)
        if heads and not any(y == heads for y in rules):
            rules.append(heads)
        marked = heads if heads < len(rows) else 0
        table = Table(tuple(entries), heads=marked, rules=tuple(sorted(set(rules))))
        if self.places:
            table = replace(
                table, start=self._place(start - 1, start)[0], end=self._place(end, end + 1)[1]
            )
        table, block = written(table, self.places)
        draft = Draft(table, block)
        if long:
            return self._long(draft, captions, block)
        if block:
            self.found.tables.append(draft)
            self.order += 1
            self.around[-1].tables.append((self.order, draft))
        return f"{captions}\n\n{block}\n\n" if block else captions

    def _long(self, draft: Draft, captions: str, block: str) -> str:
        """A table that is its own float."""
        own = self.around.pop()
        if block:
            self.found.tables.append(draft)
            self.around[-1].tables.append((self.order, draft))
        if not own.captions:
            self.around[-1].labels += own.labels
            return f"{captions}\n\n{block}\n\n"
        _, one = own.captions[0]
        one.label = one.label or next((text for _, text in own.labels), "")
        if one.number and one.label:
            self.references[one.label] = one.number
        self._name(draft, one)
        number = one.number or one.label
        head = f"*Table{number and ' '}{number}: {one.text}*"
        return f"\n\n{head}\n\n{block}\n\n"

    def _lays_out(self, start: int, end: int) -> bool:
        """True if tables of more than broken lines stand within."""
        at = start
        while at < end:
            token = self.tokens[at]
            if token.kind == "begin" and token.text in TABULAR and self.match[at] > at:
                rows = ands = 0
                for inner in range(at, self.match[at]):
                    one = self.tokens[inner]
                    rows += one.kind == "cs" and one.text in ROW_ENDS
                    ands += one.kind == "&"
                if ands and rows >= 2:
                    return True
                at = self.match[at]
            at += 1
        return False

    def _rows(self, start: int, end: int) -> tuple[list[list[list[Range]]], list[int], int, str]:
        """Rows of cells (each the ranges of tokens that it has), the rows above which there is a
        rule, how many rows \\endhead marks as headings, and the captions within.
        """
        rows: list[list[list[Range]]] = [[[]]]
        rules: list[int] = []
        heads, captions, first_head = 0, "", -1

        def count() -> int:  # of the rows that hold something
            return sum(any(self._filled(cell) for cell in row) for row in rows[:-1])

        at = since = start
        while at < end:
            token = self.tokens[at]
            kind, name = token.kind, token.text
            if kind in ("{", "begin", "$") and self.match[at] > at:
                at = self.match[at] + 1
                continue
            ends = kind == "cs" and name in ROW_ENDS
            rule = kind == "cs" and name in RULES
            part = kind == "cs" and name in PARTS_OF_LONG_TABLES
            caption = kind == "cs" and name == "caption"
            if not (kind == "&" or ends or rule or part or caption):
                at += 1
                continue
            if since < at:
                rows[-1][-1].append((since, at))
            if kind == "&":
                rows[-1].append([])
                at += 1
            elif ends:
                _, at = self.arguments("*[" if name == "\\" else "", at + 1, end)
                rows.append([[]])
            elif caption:
                text, at = self.caption(token, at + 1, end)
                captions += text
            elif rule:
                spec, full = RULES[name]
                _, at = self.arguments(spec, at + 1, end)
                if full and not any(self._filled(cell) for cell in rows[-1]):
                    rules.append(len(rows) - 1)
            else:
                at += 1
                if name == "endfirsthead":
                    first_head, heads = len(rows) - 1, len(rows) - 1
                elif name == "endhead" and first_head >= 0:
                    del rows[first_head:-1]
                elif name == "endhead":
                    first_head = heads = len(rows) - 1
                elif first_head >= 0:
                    del rows[first_head:-1]
                rules = [y for y in rules if y < len(rows)]
            since = at
        if since < end:
            rows[-1][-1].append((since, end))
        full_rows = [n for n, row in enumerate(rows) if any(self._filled(cell) for cell in row)]
        above = [sum(n < y for n in full_rows) for y in rules]
        return (
            [rows[n] for n in full_rows],
            [y for y in above if y < len(full_rows)],
            sum(n < heads for n in full_rows),
            captions,
        )

    def _filled(self, cell: Sequence[Range]) -> bool:
        return any(
            self.tokens[at].kind not in ("space", "par")
            for start, end in cell
            for at in range(start, end)
        )

    def _text_of(self, cell: Sequence[Range]) -> str:
        """A cell on one line."""
        self.in_cell += 1
        text = "".join(self.render(*one) for one in cell)
        self.in_cell -= 1
        return " ".join(text.split())

    def _whole(self, cell: Sequence[Range]) -> str:
        """A cell that holds tables."""
        return "".join(self.render(*one) for one in cell)

    def _entries(self, rows: Sequence[Sequence[list[Range]]], columns: list[Column]) -> list[Entry]:
        found: list[Entry] = []
        for y, row in enumerate(rows):
            x = 0
            line: list[Entry] = []
            for cell in row:
                wide, high = self._spans(cell)
                entry = self._entry(
                    cell, columns[x] if x < len(columns) and wide == 1 else Column()
                )
                high = max(-(y + 1), min(high, len(rows) - y))
                top = y + high + 1 if high < 0 else y
                entry = replace(entry, row=top, column=x, rows=max(1, abs(high)), columns=wide)
                before = line[-1] if line else None
                sign = columns[x - 1].after if 0 < x <= len(columns) else ""
                if before and sign and before.columns == wide == 1 and before.row == y:
                    line[-1] = _joined(before, sign, entry)
                else:
                    line.append(entry)
                x += wide
            found += [one for one in line if one.source or one.doubt]
        return found

    def _entry(self, cell: Sequence[Range], column: Column) -> Entry:
        """A cell's text, place and doubts."""
        cell = self._without_colour(cell)
        kept, self.doubts = self.doubts, []
        text = self._text_of(cell)
        if column.math and text and "$" not in text and not self.doubts:
            text = f"${' '.join(self._math_of(cell).split())}$"
        if text and text not in ("-", "–", "—"):
            text = f"{column.before}{text}{column.closing}"
        doubt, self.doubts = "; ".join(dict.fromkeys(self.doubts)), kept
        start, end = self._place_of(self._unwrapped(cell)) if self.places and text else (0, 0)
        return Entry(text, 0, 0, start=start, end=end, doubt=doubt)

    def _math_of(self, cell: Sequence[Range]) -> str:
        return "".join(source_of(self.tokens[a:b]) for a, b in cell)

    def _without_colour(self, cell: Sequence[Range]) -> list[Range]:
        """The ranges without blanks and colours at their start and blanks at the end."""
        found: list[Range] = []
        for at, end in cell:
            first, last = at, end
            while first < last:
                token = self.tokens[first]
                if token.kind in ("space", "par"):
                    first += 1
                elif token.kind == "cs" and token.text in _COLOURS:
                    _, first = self.arguments("[{", first + 1, end)
                else:
                    break
            while first < last and self.tokens[last - 1].kind in ("space", "par"):
                last -= 1
            if first < last:
                found.append((first, last))
        return found

    def _spans(self, cell: Sequence[Range]) -> tuple[int, int]:
        """Columns and rows that a cell covers, however deep the macro that says so; a negative
        number of rows covers those above.
        """
        wide = high = 0
        for start, end in cell:
            at = start
            while at < end:
                token = self.tokens[at]
                if token.kind == "begin" and self.match[at] > at and token.text in TABULAR:
                    at = self.match[at]
                elif token.kind == "cs" and token.text == "multicolumn" and not wide:
                    arguments, _ = self.arguments("{", at + 1, end)
                    wide = _integer(self.line(arguments[0]))
                elif token.kind == "cs" and token.text in ("multirow", "multirowcell") and not high:
                    arguments, _ = self.arguments(
                        "[{" if token.text == "multirow" else "{", at + 1, end
                    )
                    high = _integer(self.line(arguments[-1]))
                elif token.kind == "cs" and token.text in ("SetCell", "Block"):
                    spec = "[{" if token.text == "SetCell" else "[{{"
                    arguments, _ = self.arguments(spec, at + 1, end)
                    option = self.source(arguments[0 if token.text == "SetCell" else 1])
                    both = re.fullmatch(r"\s*(\d+)-(\d+)\s*", option)
                    down = re.search(r"r\s*=\s*(\d+)", option)
                    right = re.search(r"c\s*=\s*(\d+)", option)
                    high = int(both[1]) if both else int(down[1]) if down else high
                    wide = int(both[2]) if both else int(right[1]) if right else wide
                at += 1
        return max(1, min(WIDEST, wide)), max(-WIDEST, min(WIDEST, high)) or 1

    def _place(self, start: int, end: int) -> Range:
        return self._place_of([(start, end)])

    def _place_of(self, cell: Sequence[Range]) -> Range:
        """Where tokens stand in the source: those that the source has itself, else the call of the
        macro that brought them.
        """
        tokens = [t for a, b in cell for t in self.tokens[a:b] if t.kind not in ("space", "par")]
        if strong := [token for token in tokens if token.start >= 0]:
            return strong[0].start, max(token.end for token in strong)
        weak = [token for token in tokens if token.start < -1]
        return (min(-2 - t.start for t in weak), max(t.end for t in weak)) if weak else (0, 0)

    def _unwrapped(self, cell: Sequence[Range]) -> Sequence[Range]:
        """What a \\multicolumn or \\multirow prints."""
        while len(cell) == 1:
            start, end = cell[0]
            token = self.tokens[start] if start < end else None
            if token is None or token.kind != "cs" or token.text not in ("multicolumn", "multirow"):
                break
            arguments, after = self.arguments(TAKES[token.text], start + 1, end)
            inner = arguments[-1]
            if inner is None or after < end:
                break
            cell = self._without_colour([inner])
        return cell


@cache
def _macros() -> dict[str, tuple[str, Rendering]]:
    """What each macro takes, and the function that renders it."""

    def last(to: Converter, _: str, given: Arguments) -> str:
        return to.render(*given[-1]) if given and given[-1] else ""

    def nothing(to: Converter, _: str, given: Arguments) -> str:
        return ""

    def blank(to: Converter, name: str, given: Arguments) -> str:
        return "\n\n" if name == "par" else " "

    def joined(to: Converter, name: str, given: Arguments) -> str:
        return JOINED[name].join(to.line(one) for one in given[-2:])

    def quantity(to: Converter, _: str, given: Arguments) -> str:
        number, unit = to.line(given[1]), to.line(given[-1])
        return f"{number}{unit}" if unit in ("%", "°") else f"{number} {unit}".strip()

    def own(method: str) -> Rendering:  # as a subclass may have it
        return lambda to, name, given: str(getattr(to, method)(name, given))

    table: dict[str, tuple[str, Rendering]] = {}
    for name in SILENT:
        table[name] = ("", nothing)
    for name, spec in {**SHOWN, **TAKES}.items():
        table[name] = (spec, last)
    for name, spec in DROPPED.items():
        table[name] = (spec, nothing)
    for name, (spec, _) in RULES.items():
        table[name] = (spec, nothing)
    for name in (*SPACES, "tabularnewline", "enspace"):
        table[name] = ("*[" if name == "\\" else "", blank)
    for name in ("-", "/", "!", "@"):
        table.pop(name, None)
    for name in HEADINGS:
        table[name] = (TAKES[name], own("heading"))
    for name in BOLD_HEADS:
        table[name] = (TAKES[name], lambda to, _, given: f"\n\n**{to.line(given[-1])}** ")
    for name in WRAPS:
        table[name] = ("{", own("wrapped"))
    for name in CITES:
        table[name] = (TAKES[name], own("citation"))
    for name in REFS:
        table[name] = (TAKES[name], own("reference"))
    for name in NOTES:
        table[name] = (TAKES[name], lambda to, _, given: f" (footnote: {to.line(given[-1])})")
    for name in JOINED:
        table[name] = ("[{{", joined)
    for name in ("SI", "qty"):
        table[name] = ("[{[{", quantity)
    for name in ("frac", "tfrac", "dfrac", "nicefrac", "sfrac"):
        table[name] = ("{{", lambda to, _, given: "/".join(filter(None, map(to.line, given))))
    for name in ("slashbox", "backslashbox"):
        table[name] = ("[[{{", lambda to, _, given: " / ".join(map(to.line, given[-2:])))
    for name in ("textsuperscript", "textsubscript"):
        sign = "^" if "super" in name else "_"
        table[name] = ("{", lambda to, _, given, sign=sign: _raised(sign, to.line(given[-1])))
    for name in ("url", "path", "nolinkurl"):
        table[name] = ("{", lambda to, _, given: to.source(given[-1]))
    table |= {
        "tnote": ("{", lambda to, _, given: _raised("^", to.line(given[-1]))),
        "tablefootnote": ("[{", nothing),
        "ensuremath": ("{", lambda to, _, given: to.formula(*given[0]) if given[0] else ""),
        "ding": ("{", lambda to, _, given: DINGS.get(to.source(given[-1]).strip(), "")),
        "appendix": ("", lambda to, *_: to.begin_appendix()),
        "includegraphics": (TAKES["includegraphics"], own("graphic")),
        "href": ("{{", lambda to, _, given: f"[{to.line(given[1])}]({to.source(given[0])})"),
        "label": ("{", own("label")),
        "hbox": ("", nothing),
        "item": ("[", nothing),
        "sqrt": ("[{", lambda to, _, given: f"√{to.line(given[-1])}"),
        "abstract": ("{", lambda to, _, given: to.abstract(given[0])),
    }
    for name in CAPTIONS:  # they are read with their float
        table.pop(name, None)
    return table


@dataclass(frozen=True)
class Column:
    """What a table's preamble says of a column."""

    math: bool = False  # >{$}
    before: str = ""  # >{…} that is printed
    closing: str = ""  # <{\%}
    after: str = ""  # what @{…} prints between it and the next one, if that joins them


def _columns(spec: str, own: Mapping[str, Macro]) -> list[Column]:
    """The columns that an environment's argument names."""
    if "colspec" in spec:
        found = re.search(r"colspec\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}", spec)
        spec = found[1] if found else ""
    columns: list[Column] = []
    before, math = "", False
    at, steps = 0, 0
    while at < len(spec) and len(columns) < 200 and steps < 5_000:
        steps += 1
        sign = spec[at]
        if sign in "@!><" and (group := _group(spec, at + 1)):
            inner, at = group
            if sign == ">":
                math = math or inner.strip() == "$" or inner.strip().endswith("$")
                before = ""
            elif columns and sign == "<":
                shown = plain(inner) if "$" not in inner else ""
                columns[-1] = replace(
                    columns[-1], closing=shown if re.fullmatch(r"[%×°)kMGsx]+", shown) else ""
                )
            elif columns:
                shown = plain(inner).strip()
                joins = re.fullmatch(r"[.,±/–(:]|\+/-|-", shown)
                columns[-1] = replace(columns[-1], after=shown if joins else "")
            continue
        if sign == "*" and (times := _group(spec, at + 1)) and (what := _group(spec, times[1])):
            count = min(60, _integer(times[0]))
            spec, at = what[0] * count + spec[what[1] :], 0
            continue
        if (macro := own.get(sign)) is not None:  # \\newcolumntype
            arguments, at = list[str](), at + 1
            for _ in macro.spec:
                if group := _group(spec, at):
                    arguments.append(group[0])
                    at = group[1]
            text = "".join(
                source_of([part])
                if isinstance(part, Token)
                else "".join(arguments[part - 1 : part])
                for part in macro.body
            )
            if sign in text:
                own = {name: one for name, one in own.items() if name != sign}
            spec, at = text + spec[at:], 0
            continue
        at += 1
        if sign.isalpha():
            takes = {"p": 1, "m": 1, "b": 1, "w": 2, "W": 2, "D": 3, "L": 0, "R": 0, "C": 0}.get(
                sign, 0
            )
            while at < len(spec) and spec[at] == "[":
                at = spec.find("]", at) + 1 or len(spec)
            for _ in range(takes or (1 if at < len(spec) and spec[at] == "{" else 0)):
                group = _group(spec, at)
                at = group[1] if group else at
            columns.append(Column(math, before))
            before, math = "", False
    return columns


def _group(text: str, at: int) -> tuple[str, int] | None:
    """The group that begins at a place, blanks left out, and where it ends."""
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text) or text[at] != "{":
        return None
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, at):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return text[at + 1 : found.start()], found.end()
    return None


def _joined(before: Entry, sign: str, after: Entry) -> Entry:
    """Two columns that print one number: 0 and 411 with a point between, a value and its ±."""
    if not after.source:
        return replace(before, columns=2)
    space = "" if sign in ".,:" else " "
    closing = ")" if sign == "(" and not after.source.endswith(")") else ""
    text = f"{before.source}{space}{sign}{'' if sign == '(' else space}{after.source}{closing}"
    doubt = "; ".join(filter(None, (before.doubt, after.doubt)))
    return replace(before, source=text, end=max(before.end, after.end), columns=2, doubt=doubt)


def written(table: Table, places: bool = False) -> tuple[Table, str]:
    """A table as Markdown, and with the places of its entries in it ("" if it is empty).

    A heading over several columns, and a value over several columns or rows, is written in each of
    them; a label over several rows in the first.
    """
    height = max((entry.row + entry.rows for entry in table.entries), default=0)
    width = max((entry.column + entry.columns for entry in table.entries), default=0)
    grid = [[""] * width for _ in range(height)]
    first = {(entry.row, entry.column): entry for entry in table.entries}
    for entry in table.entries:
        text = entry.source.replace("|", "\\|")
        alone = entry.columns >= width
        down = entry.rows if entry.may_be_value and entry.column else 1
        for y in range(entry.row, entry.row + down):
            for x in range(entry.column, entry.column + (1 if alone else entry.columns)):
                if not grid[y][x] or (y, x) == (entry.row, entry.column):
                    grid[y][x] = text
    if not any(any(row) for row in grid):
        return table, ""
    lines, places_of, at = list[str](), dict[tuple[int, int], int](), 0
    for y, row in enumerate(grid):
        line = "|"
        for x, text in enumerate(row):
            places_of[y, x] = at + len(line) + 1
            line += f" {text} |"
        lines.append(line)
        at += len(line) + 1
        if y == 0:
            lines.append("|" + "---|" * width)
            at += len(lines[-1]) + 1
    if not places:
        placed = []
        for (y, x), entry in first.items():
            start = places_of[y, x]
            length = len(entry.source.replace("|", "\\|"))
            placed.append(replace(entry, start=start, end=start + length))
        table = replace(table, entries=tuple(placed))
    return table, "\n".join(lines)


def _with_single_letters(tokens: Sequence[Token]) -> list[Token]:
    """Runs of text behind a macro with their first letter apart, which may be its argument."""
    found: list[Token] = []
    for token in tokens:
        before = found[-1].kind if found else ""
        if token.kind == "text" and before in ("cs", "_", "^"):
            first, rest = split_first(token)
            found.append(first)
            if rest:
                found.append(rest)
        else:
            found.append(token)
    return found


def _typeset(text: str) -> str:
    """Dashes and quotation marks as they are printed."""
    if "-" in text:
        text = text.replace("---", "—").replace("--", "–")
    if "`" in text or "''" in text:
        text = text.replace("``", "“").replace("''", "”").replace("`", "‘")
    return text


def _raised(sign: str, text: str) -> str:
    """Text above or below the line: 94.3^2 is another number than 94.32, but 1st is a word."""
    if not text or (sign == "^" and text in ("st", "nd", "rd", "th")):
        return text
    return f"{sign}{text}" if len(text) == 1 else f"{sign}{{{text}}}"


def _integer(text: str) -> int:
    found = re.fullmatch(r"\s*=?\s*(-?\d{1,4})\s*", text)
    return int(found[1]) if found else 0


# The characters that LaTeX's symbols and accents are.

ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304",
    ".": "\u0307", "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "d": "\u0323",
    "b": "\u0331", "r": "\u030a", "k": "\u0328", "t": "\u0361",
}  # fmt: skip
_OWN = {  # that pylatexenc does not know, or gives as a character that parts a word
    "textless": "<", "textgreater": ">", "textbar": "|", "textunderscore": "_", "slash": "/",
    "checkmark": "✓", "cmark": "✓", "xmark": "✗", "ddagger": "‡", "degree": "°", "percent": "%",
    "gets": "←", "dag": "†", "ddag": "‡", "S": "§", "P": "¶", "textdaggerdbl": "‡",
    "textasteriskcentered": "*", "ast": "*", "cdot": "·", "lbrack": "[", "rbrack": "]",
    "lbrace": "{", "rbrace": "}", "vert": "|", "Vert": "‖", "lvert": "|", "rvert": "|",
    "ldots": "…", "dots": "…", "cdots": "…", "textbackslash": "\\", "LaTeX": "LaTeX",
    "TeX": "TeX", "ohm": "Ω", "micro": "µ", "second": "s", "milli": "m", "kilo": "k", "meter": "m",
    "metre": "m", "gram": "g", "hour": "h", "minute": "min", "byte": "B", "giga": "G",
    "mega": "M", "hertz": "Hz", "textminus": "−", "textendash": "–", "textemdash": "—",
    "textasciitilde": "~", "textasciicircum": "^", "textquotesingle": "'", "textdegree": "°",
    "copyright": "©", "pounds": "£", "euro": "€", "guillemotleft": "«", "guillemotright": "»",
    "upharpoonright": "↾", "blacktriangle": "▲", "blacktriangledown": "▼", "bigstar": "★",
    "dollar": "$", "bullet": "•", "uparrow": "↑", "downarrow": "↓", "times": "×", "pm": "±",
    "mp": "∓", "%": "%", "&": "&", "#": "#", "$": "$", "_": "_", "{": "{", "}": "}", " ": " ",
    "/": "", "-": "", "@": "", "!": "", ",": " ", ";": " ", ":": " ", ">": " ", "\n": " ",
    "\t": " ", "|": "‖", "i": "ı", "j": "ȷ", "colon": ":", "prime": "'", "mid": "|", "lt": "<",
    "gt": ">", "backslash": "\\", "quad": " ", "qquad": " ", "enspace": " ", "thinspace": " ",
}  # fmt: skip


@cache
def symbols() -> dict[str, str]:
    """The text of each macro that is a symbol."""
    from pylatexenc.latex2text import get_default_latex_context_db  # type: ignore[import-untyped]

    database = get_default_latex_context_db()
    found: dict[str, str] = {}
    for category in database.categories():
        for spec in database.iter_macro_specs([category]):
            text = spec.simplify_repl
            if isinstance(text, str) and text and "%" not in text:
                found.setdefault(spec.macroname, text)
    return {**found, **_OWN}


def accented(sign: str, text: str) -> str:
    """A letter with an accent on it."""
    text = {"ı": "i", "ȷ": "j"}.get(text[:1], text[:1]) + text[1:]
    if not text[:1].isalpha():
        return text
    return unicodedata.normalize("NFC", text[0] + ACCENTS[sign]) + text[1:]
