r"""A LaTeX source with all macros of its authors replaced by their meaning, as TeX would.

One pass over tokens, in time that grows with what is read and written: definitions (\newcommand,
xparse, \def, \let, \csname, environments, in local packages and classes too) hold from where they
stand, within their group; conditionals that can be decided are. What the reader itself gives a
meaning (sections, captions, citations, rows of tables) is left as it is. A definition by the author
goes before what a package is known to mean by the name.

Past a bound on what macros write, calls stay as they are and are named.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from autoreproduce.papers.latex_plots import named_table
from autoreproduce.papers.latex_tokens import Token, body_of, source_of, split_first, tokens_of
from autoreproduce.papers.latex_words import KNOWN, STRUCTURE

MOST_WRITTEN = 50_000  # tokens that macros may write, and
TIMES_READ = 12  # times what was read
LONGEST_OPTION = 800  # tokens between [ and ]
DEEPEST = 200  # files, and parts that are expanded by themselves
MOST_ROWS = 2_000  # of a table in a file
TABLES = (".csv", ".dat", ".tsv", ".txt")
TABLE_FLOATS = re.compile(r"(?:sideways|wrap|long|super)?table|longtblr|table\*?|xltabular")
_FLOATS = re.compile(r"(?:sideways|wrap|sub|long)?(?:table|figure)\*?|longtblr|xltabular|minipage")
# what only typesets: a package's macro of these is no text
_INTERNAL = re.compile(
    r"[hv]box|setbox|advance|[hv]skip|kern|penalty|catcode|halign|futurelet|vadjust|insert|hrule"
    r"|vrule|toks|write|openin|openout|read|everypar|parshape|afterassignment|aftergroup|setlength"
    r"|addtolength|settowidth|dimexpr|global|expandafter"
)


class Files(Protocol):
    """The files of a paper's folder."""

    def part(self, name: str, suffixes: Sequence[str]) -> str | None:
        """The text of the file `name`, with one of the suffixes if it has none; None if it isn't
        there or may not be read, which is noted.
        """


# an argument: m, d (optional, with its delimiters and default), s (star), t (a sign), r, g
Spec = tuple[tuple[str, str, tuple[Token, ...]], ...]
_MANDATORY: tuple[str, str, tuple[Token, ...]] = ("m", "", ())


@dataclass(frozen=True)
class Macro:
    """`spec`: what it takes. `pattern`: what \\def wants between arguments. A part of the body is a
    token, or the number of an argument.
    """

    name: str
    spec: Spec = ()
    body: tuple[Token | int, ...] = ()
    pattern: tuple[Token | int, ...] = ()


@dataclass(frozen=True)
class Alias:
    """Another name for what the reader knows."""

    name: str


@dataclass(frozen=True)
class Environment:
    """A \\newenvironment: both parts take the arguments. `whole`: \\BODY is in `begin`."""

    begin: Macro
    end: Macro
    whole: bool = False


@dataclass
class Expanded:
    """What expanding gathered beside the tokens."""

    unexpanded: dict[str, int] = field(default_factory=dict)  # calls past the bound
    theorems: dict[str, str] = field(default_factory=dict)
    columns: dict[str, Macro] = field(default_factory=dict)  # \newcolumntype
    acronyms: dict[str, tuple[str, str]] = field(default_factory=dict)
    plotted: dict[str, str] = field(default_factory=dict)  # the text of tables that plots show


NO_VALUE = "-NoValue-"

# Tables in the words of a class or package, said in LaTeX's: AASTeX, World Scientific, Oxford and
# Cambridge, INFORMS, ctable.
_OF_CLASSES = r"""
\newenvironment{deluxetable}[2][]{\begin{longtable}{#2}}{}
\newenvironment{deluxetable*}[2][]{\begin{longtable}{#2}}{}
\def\startdata{} \def\enddata{\end{longtable}}
\def\colhead#1{#1} \def\twocolhead#1{#1} \def\dcolhead#1{$#1$} \def\nocolhead#1{}
\def\nodata{--} \def\tableline{\hline}
\def\cutinhead#1{\midrule \multicolumn{99}{c}{#1}\\ \midrule}
\def\sidehead#1{\multicolumn{99}{l}{#1}\\}
\def\tablenotemark#1{\textsuperscript{#1}}
\def\tablenotetext#1#2{\begin{tablenotes}\item[#1] #2\end{tablenotes}}
\def\tablecomments#1{\par #1\par} \def\tablerefs#1{\par #1\par}
\def\tbl#1#2{\caption{#1}#2}
\def\processtable#1#2#3{\caption{#1}#2\par #3}
\def\TABLE#1#2#3{\caption{#1}#2\par #3}
\def\tnotetext#1#2{\item[#1] #2}
"""


class Expander:
    """Expands tokens; `files` gives what the source names, None if it stands alone."""

    def __init__(
        self, files: Files | None = None, *, places: bool = False, classes: bool = True
    ) -> None:
        self.files, self.places = files, places
        self.found = Expanded()
        self.of_classes = _of_classes() if classes else ({}, {})
        self.macros: dict[str, Macro | Alias] = {**self.of_classes[0]}
        self.environments: dict[str, Environment] = {**self.of_classes[1]}
        self.counters: dict[str, int] = {"table": 0, "figure": 0}
        self.switches: dict[str, bool] = {}
        self.scopes: list[dict[str, Macro | Alias | None]] = []
        self.opened: list[tuple[str, Token | None, list[list[Token]]]] = []  # environments
        self.branches = 0  # conditionals that are open
        self.furthest = 10**9  # tokens in which a conditional must end
        self.virtual: dict[str, str] = {}  # files that the source writes itself
        self.loaded: set[str] = set()
        self.input: list[Token] = []
        self.output: list[Token] = []
        self.silent = 0  # packages that are being read
        self.depth = 0
        self.read = self.written = 0

    def expand(self, tokens: Sequence[Token]) -> list[Token]:
        """The tokens with all macros replaced."""
        self.read += len(tokens)
        kept = self.input, self.output
        self.input, self.output = list(reversed(tokens)), []
        self.depth += 1
        try:
            while self.input:
                self._step(self.input.pop())
            return self.output
        finally:
            self.input, self.output = kept
            self.depth -= 1

    def _step(self, token: Token) -> None:
        if token.kind == "cs":
            meaning = self.macros.get(token.text)
            if isinstance(meaning, Alias):
                token = Token("cs", meaning.name, token.start, token.end, token.post)
                meaning = None
            if meaning is not None:
                self._call(token, meaning)
            elif (handler := HANDLERS.get(token.text)) is not None:
                handler(self, token)
            elif token.text in self.switches or _is_conditional(token.text):
                self._conditional(token)
            else:
                self._emit(token)
        elif token.kind == "{":
            self.scopes.append({})
            self._emit(token)
        elif token.kind == "}":
            self._close_scope()
            self._emit(token)
        elif token.kind == "scope":
            self._close_scope()
        elif token.kind == "switch":
            name, value = token.text.split()
            self.switches[name] = value == "true"
        elif token.kind == "package":
            self.silent -= 1
        elif token.kind == "listing" and token.text.startswith("filecontents"):
            self._keep_file(self.pop())
        else:
            self._emit(token)

    def _emit(self, token: Token) -> None:
        if not self.silent:
            self.output.append(token)

    # input

    def pop(self) -> Token | None:
        """The next token as it is."""
        return self.input.pop() if self.input else None

    def push(self, tokens: Sequence[Token]) -> None:
        """Put tokens before what comes next."""
        self.input.extend(reversed(tokens))

    def skip_blanks(self) -> None:
        """Over blanks, which end no paragraph."""
        while self.input and self.input[-1].kind == "space":
            self.input.pop()

    def argument(self) -> list[Token]:
        """A mandatory argument without its braces."""
        self.skip_blanks()
        if not self.input or self.input[-1].kind in ("}", "par"):
            return []
        token = self.input.pop()
        if token.kind != "{":
            first, rest = split_first(token)
            if rest:
                self.input.append(rest)
            return [first]
        depth, found = 1, list[Token]()
        while self.input:
            token = self.input.pop()
            depth += {"{": 1, "}": -1}.get(token.kind, 0)
            if depth == 0:
                return found
            found.append(token)
        self.push(found)
        return []

    def option(self, opening: str = "[", closing: str = "]") -> list[Token] | None:
        """An optional argument without its brackets; None if there is none, or it never closes."""
        blanks: list[Token] = []
        while self.input and self.input[-1].kind == "space":
            blanks.append(self.input.pop())
        if (
            not self.input
            or self.input[-1].kind in ("cs", "raw", "begin", "end")
            or (not self.input[-1].text.startswith(opening))
        ):
            self.push(blanks)
            return None
        first, rest = split_first(self.input.pop())
        if rest:
            self.input.append(rest)
        taken, found = [*blanks, first], list[Token]()
        depth = nested = 0
        while self.input and len(taken) < LONGEST_OPTION and self.input[-1].kind != "par":
            token = self.input.pop()
            depth += {"{": 1, "}": -1}.get(token.kind, 0)
            if depth < 0:
                self.input.append(token)
                break
            if depth == 0 and token.kind in ("text", opening, closing):
                if closing in token.text and not nested:
                    before, _, after = token.text.partition(closing)
                    if before:
                        found.append(Token("text", before, token.start, token.end))
                    if after:
                        self.input.append(Token("text", after, token.start, token.end))
                    return found
                nested += token.text.count(opening) - token.text.count(closing)
            taken.append(token)
            found.append(token)
        self.push(taken)
        return None

    def starred(self) -> bool:
        """True, and over it, if a star is next."""
        if self.input and self.input[-1].kind == "*":
            self.input.pop()
            return True
        return False

    def word(self) -> str:
        """An argument as a name, expanded."""
        return source_of(self.expand(self.argument())).strip()

    def defined_name(self) -> str | None:
        """The control sequence that a definition is of, with or without braces."""
        names = [token for token in self.argument() if token.kind not in ("space",)]
        if names and names[0].kind == "cs" and names[0].text == "csname":
            self.push(names[1:])
            return self.name_until_endcsname()
        return names[0].text if names and names[0].kind == "cs" else None

    def name_until_endcsname(self) -> str:
        """The name between \\csname and \\endcsname."""
        found: list[Token] = []
        while (token := self.pop()) is not None and len(found) < 200:
            if token.kind == "cs" and token.text == "endcsname":
                break
            if token.kind == "par":
                break
            found.append(token)
        return source_of(self.expand(found)).replace(" ", "")

    # definitions

    def define(self, name: str, meaning: Macro | Alias, *, everywhere: bool = False) -> None:
        """Give a name its meaning, unless it is one of those that stay the reader's."""
        if name in STRUCTURE or (isinstance(meaning, Alias) and meaning.name == name):
            return
        if self.silent and name in self.of_classes[0]:
            return
        if isinstance(meaning, Macro):
            used = {
                part.text for part in meaning.body if isinstance(part, Token) and part.kind == "cs"
            }
            if name in used:  # would never end
                return
            inner = any(
                _INTERNAL.fullmatch(one)
                or ("@" in one and one not in self.macros and one not in HANDLERS)
                for one in used
            )
            if self.silent and inner:  # it typesets, and says nothing
                return
        if everywhere:
            for scope in self.scopes:
                scope.pop(name, None)
        elif self.scopes and not self.silent:
            self.scopes[-1].setdefault(name, self.macros.get(name))
        self.macros[name] = meaning

    def _close_scope(self) -> None:
        if self.scopes:
            for name, meaning in self.scopes.pop().items():
                if meaning is None:
                    self.macros.pop(name, None)
                else:
                    self.macros[name] = meaning

    # calls

    def _call(self, token: Token, macro: Macro) -> None:
        if self.written > MOST_WRITTEN + TIMES_READ * self.read:
            if not self.silent:
                self.found.unexpanded[macro.name] = self.found.unexpanded.get(macro.name, 0) + 1
            self._emit(token)
            return
        arguments = self._arguments(macro)
        if arguments is None:
            self._emit(token)
            return
        self.push(self._filled(macro.body, arguments, token))

    def _filled(
        self, body: Sequence[Token | int], arguments: Sequence[Sequence[Token]], call: Token
    ) -> list[Token]:
        found: list[Token] = []
        placed = self.places and call.start >= 0
        for part in body:
            if isinstance(part, int):
                found += arguments[part - 1] if part <= len(arguments) else ()
            else:
                found.append(part.at(call.start, call.end) if placed else part)
        self.written += len(found)
        return found

    def _arguments(self, macro: Macro) -> list[list[Token]] | None:
        if macro.pattern:
            return self._delimited(macro.pattern)
        found: list[list[Token]] = []
        for kind, signs, default in macro.spec:
            if kind == "m":
                found.append(self.argument())
            elif kind == "s":
                found.append([Token("cs", "BooleanTrue" if self.starred() else "BooleanFalse")])
            elif kind == "t":
                there = bool(self.input) and self.input[-1].text[:1] == signs
                if there:
                    _, rest = split_first(self.input.pop())
                    if rest:
                        self.input.append(rest)
                found.append([Token("cs", "BooleanTrue" if there else "BooleanFalse")])
            elif kind == "r":
                found.append(self.option(*signs) or [])
            elif kind == "g":
                self.skip_blanks()
                there = bool(self.input) and self.input[-1].kind == "{"
                found.append(self.argument() if there else list(default))
            else:
                given = self.option(*signs)
                found.append(list(default) if given is None else given)
        return found

    def _delimited(self, pattern: Sequence[Token | int]) -> list[list[Token]] | None:
        """The arguments of a \\def, by what it wants between them; None if it isn't there."""
        found: list[list[Token]] = []
        for at, part in enumerate(pattern):
            after = pattern[at + 1] if at + 1 < len(pattern) else None
            if isinstance(part, Token):
                if at and isinstance(pattern[at - 1], int):
                    continue  # taken with the argument before it
                if not self._take(part):
                    return None
            elif isinstance(after, Token):
                one = self._until(after)
                if one is None:
                    return None
                found.append(one)
            else:
                found.append(self.argument())
        return found

    def _take(self, wanted: Token) -> bool:
        if wanted.kind == "space":
            self.skip_blanks()
            return True
        if not self.input or self.input[-1].kind != wanted.kind:
            return False
        token = self.input[-1]
        if not token.text.startswith(wanted.text):
            return False
        self.input.pop()
        if rest := token.text[len(wanted.text) :]:
            self.input.append(Token(token.kind, rest, token.start, token.end, token.post))
        return True

    def _until(self, wanted: Token) -> list[Token] | None:
        found: list[Token] = []
        depth = 0
        while self.input and len(found) < LONGEST_OPTION:
            token = self.input.pop()
            depth += {"{": 1, "}": -1}.get(token.kind, 0)
            if depth < 0:
                self.input.append(token)
                break
            if depth == 0 and token.kind == wanted.kind:
                if token.kind in ("space", "cs") and (
                    token.kind == "space" or token.text == wanted.text
                ):
                    return found
                if token.kind == "text" and wanted.text in token.text:
                    before, _, rest = token.text.partition(wanted.text)
                    if before:
                        found.append(Token("text", before, token.start, token.end))
                    if rest:
                        self.input.append(Token("text", rest, token.start, token.end))
                    if len(found) > 2 and found[0].kind == "{" and found[-1].kind == "}":
                        found = found[1:-1]
                    return found
                if token.kind not in ("text", "cs", "space"):
                    return found
            found.append(token)
        self.push(found)
        return None

    # conditionals

    def _conditional(self, token: Token) -> None:
        decided = self._decide(token.text)
        if decided:
            self.branches += 1
            return
        skipped = self._skip(to_else=True)
        if skipped == "else":
            self.branches += 1

    def _skip(self, *, to_else: bool) -> str:
        """Over a branch, to "else" or "fi"; "" (and nothing is skipped) if it never ends."""
        depth, taken = 0, list[Token]()
        while self.input and len(taken) < self.furthest:
            token = self.input.pop()
            taken.append(token)
            if token.kind != "cs":
                continue
            if token.text in self.switches or _is_conditional(token.text):
                depth += 1
            elif token.text == "fi":
                if depth == 0:
                    return "fi"
                depth -= 1
            elif token.text == "else" and depth == 0 and to_else:
                return "else"
        self.push(taken)
        self.furthest = LONGEST_OPTION  # or each one without an end would go through all
        return ""

    def _decide(self, name: str) -> bool:
        if name in self.switches:
            return self.switches[name]
        if name == "ifx":
            return self._meaning(self.pop()) == self._meaning(self.pop())
        if name == "if":
            one, other = self._next_expanded(), self._next_expanded()
            return one is not None and other is not None and one.text == other.text
        if name == "ifnum":
            left = self._number()
            self.skip_blanks()
            sign = ""
            if self.input and self.input[-1].text[:1] in ("<", ">", "="):
                first, rest = split_first(self.input.pop())
                sign = first.text
                if rest:
                    self.input.append(rest)
            right = self._number()
            if left is None or right is None:
                return False
            return {"<": left < right, ">": left > right, "=": left == right}.get(sign, False)
        if name == "ifodd":
            return bool((self._number() or 0) % 2)
        if name == "ifdefined":
            return self._meaning(self.pop()) is not None
        if name == "ifcsname":
            return self._meaning(Token("cs", self.name_until_endcsname())) is not None
        return name in ("iftrue", "ifpdf", "ifPDFTeX", "ifpdftex")

    def _meaning(self, token: Token | None) -> object:
        """What \\ifx compares."""
        if token is None:
            return None
        if token.kind != "cs":
            first, rest = split_first(token)
            if rest:
                self.input.append(rest)
            return (first.kind, first.text)
        meaning = self.macros.get(token.text)
        if isinstance(meaning, Macro):
            texts = tuple(
                part if isinstance(part, int) else (part.kind, part.text) for part in meaning.body
            )
            return (len(meaning.spec), len(meaning.pattern), texts)
        name = meaning.name if meaning else token.text
        return name if name in HANDLERS or name in KNOWN or name in STRUCTURE else None

    def _next_expanded(self) -> Token | None:
        for _ in range(100):
            token = self.pop()
            if token is None or token.kind != "cs":
                break
            meaning = self.macros.get(token.text)
            if not isinstance(meaning, Macro):
                return token
            self._call(token, meaning)
        else:
            return None
        if token is None:
            return None
        first, rest = split_first(token)
        if rest:
            self.input.append(rest)
        return first

    def _number(self) -> int | None:
        for _ in range(100):
            self.skip_blanks()
            token = self.pop()
            if token is None:
                return None
            if token.kind == "text" and (found := re.match(r"[-+]?\d+", token.text)):
                if rest := token.text[found.end() :]:
                    self.input.append(Token("text", rest, token.start, token.end))
                return int(found[0])
            if token.kind == "cs" and token.text in ("value", "arabic"):
                return self.counters.get(self.word(), 0)
            meaning = self.macros.get(token.text) if token.kind == "cs" else None
            if not isinstance(meaning, Macro):
                self.input.append(token)
                return None
            self._call(token, meaning)
        return None

    # files

    def _keep_file(self, raw: Token | None) -> None:
        """A filecontents environment, which writes a file."""
        found = re.match(r"(?:\[[^\]]*\])?\{([^{}]+)\}[^\n]*\n", raw.text if raw else "")
        if raw and found:
            self.virtual[found[1].strip()] = raw.text[found.end() :]

    def file(self, name: str, suffixes: Sequence[str]) -> str | None:
        """The text of a file that the source names."""
        name = name.strip().strip('"')
        for candidate in (name, *(name + suffix for suffix in suffixes)):
            if candidate in self.virtual:
                return self.virtual[candidate]
        return self.files.part(name, suffixes) if self.files and name else None

    def put_in(self, name: str) -> None:
        """The file of \\input in its place."""
        text = self.file(name, (".tex",))
        if text is not None and self.depth < DEEPEST:
            self.loaded.add(name)
            tokens = tokens_of(text, package=bool(self.silent))
            for token in tokens:
                token.start = token.end = -1
            self.read += len(tokens)
            self.push(tokens)

    def load(self, names: str, suffix: str) -> None:
        """The definitions of packages or a class that lie beside the source."""
        for name in names.split(","):
            file = name.strip() + suffix
            if file in self.loaded or self.files is None or not name.strip():
                continue
            self.loaded.add(file)
            text = self.file(file, (suffix,))
            if text is not None:
                tokens = body_of(text)
                self.read += len(tokens)
                self.silent += 1
                self.push([*tokens, Token("package", file)])


def _is_conditional(name: str) -> bool:
    return name in _CONDITIONALS or name.startswith("if@")


_CONDITIONALS = {
    "if", "ifx", "ifnum", "ifcat", "ifdim", "ifodd", "iftrue", "iffalse", "ifdefined", "ifcsname",
    "ifmmode", "ifvmode", "ifhmode", "ifinner", "ifcase", "ifeof", "ifvoid", "ifhbox", "ifvbox",
    "ifpdf", "ifxetex", "ifluatex", "ifPDFTeX", "ifXeTeX", "ifLuaTeX",
}  # fmt: skip


# handlers of what TeX itself executes: each has the expander, and the token that was met

Handler = Callable[[Expander, Token], None]


def _body_parts(tokens: Sequence[Token]) -> tuple[Token | int, ...]:
    """The tokens of a definition, with #1 as a number and ## as #."""
    found: list[Token | int] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if token.kind == "#" and after is not None:
            if after.kind == "#":
                found.append(Token("#", "#"))
                at += 2
                continue
            if after.kind == "text" and after.text[0].isdecimal():
                found.append(int(after.text[0]))
                if after.text[1:]:
                    found.append(Token("text", after.text[1:]))
                at += 2
                continue
        found.append(Token(token.kind, token.text, -1, -1, token.post))
        at += 1
    return tuple(found)


def _new_command(expander: Expander, token: Token) -> None:
    expander.starred()
    name = expander.defined_name()
    spec = _count_and_default(expander)
    body = expander.argument()
    if token.text == "providecommand" and name in expander.macros:
        return
    if name:
        expander.define(name, Macro(name, spec, _body_parts(body)))


def _count_and_default(expander: Expander) -> Spec:
    count = expander.option()
    default = expander.option() if count is not None else None
    number = source_of(count or []).strip()
    spec = [_MANDATORY] * (int(number) if re.fullmatch(r"\d", number) else 0)
    if default is not None and spec:
        spec[0] = ("d", "[]", tuple(default))
    return tuple(spec)


def _new_command_x(expander: Expander, token: Token) -> None:
    """\\newcommandx of xargs: [2][1=x, usedefault]."""
    expander.starred()
    name = expander.defined_name()
    number = source_of(expander.option() or []).strip()
    options = source_of(expander.option() or [])
    spec = [_MANDATORY] * (int(number) if re.fullmatch(r"\d", number) else 0)
    for found in re.finditer(r"(\d)\s*=\s*([^,]*)", options):
        if 0 < int(found[1]) <= len(spec):
            spec[int(found[1]) - 1] = ("d", "[]", tuple(body_of(found[2].strip())))
    body = expander.argument()
    if name:
        expander.define(name, Macro(name, tuple(spec), _body_parts(body)))


def _xparse_spec(tokens: Sequence[Token]) -> Spec:
    text = source_of(tokens)
    found: list[tuple[str, str, tuple[Token, ...]]] = []
    group = r"\{(?:[^{}]|\{[^{}]*\})*\}"
    pattern = re.compile(
        rf"[+!]|>\s*{group}|(?P<kind>[mosdDOrRtgGveE])"
        rf"(?P<rest>\s*(?<=[dDrR])[^\w\s{{}}]{{2}}\s*(?:{group})?|(?:\s*{group}|[^\w\s{{}}+!>])*)"
    )
    for part in pattern.finditer(text):
        kind = part["kind"]
        if not kind:
            continue
        groups = re.findall(r"\{((?:[^{}]|\{[^{}]*\})*)\}|([^\s{}])", part["rest"])
        signs = "".join(one[1] for one in groups if one[1])
        default = next((one[0] for one in reversed(groups) if not one[1]), "")
        no_value = (Token("text", NO_VALUE),)
        if kind in "mv":
            found.append(("m", "", ()))
        elif kind == "o":
            found.append(("d", "[]", no_value))
        elif kind == "O":
            found.append(("d", "[]", tuple(body_of(default))))
        elif kind in "dD":
            given = tuple(body_of(default)) if kind == "D" else no_value
            found.append(("d", signs[:2] or "()", given))
        elif kind in "rR":
            found.append(("r", signs[:2] or "()", ()))
        elif kind == "s":
            found.append(("s", "*", ()))
        elif kind == "t":
            found.append(("t", signs[:1], ()))
        elif kind in "gG":
            found.append(("g", "", tuple(body_of(default)) if kind == "G" else no_value))
    return tuple(found)


def _document_command(expander: Expander, token: Token) -> None:
    name = expander.defined_name()
    spec = _xparse_spec(expander.argument())
    body = expander.argument()
    if name and not (token.text.startswith("Provide") and name in expander.macros):
        expander.define(name, Macro(name, spec, _body_parts(body)))


def _def(expander: Expander, token: Token) -> None:
    expander.skip_blanks()
    named = expander.pop()
    if named is None or named.kind != "cs":
        return
    parameters: list[Token] = []
    while expander.input and expander.input[-1].kind != "{" and len(parameters) < 40:
        parameters.append(expander.input.pop())
    body = expander.argument()
    pattern = _body_parts(parameters)
    if pattern == tuple(range(1, len(pattern) + 1)):
        macro = Macro(named.text, (_MANDATORY,) * len(pattern), _body_parts(body))
    else:
        macro = Macro(named.text, (), _body_parts(body), pattern)
    old = expander.macros.get(named.text)
    if token.text in ("edef", "xdef") and isinstance(old, Macro):  # \edef\x{\x and more}
        parts = [p if isinstance(p, int) or p.text != named.text else None for p in macro.body]
        body_now = [q for p in parts for q in (old.body if p is None else (p,))]
        macro = Macro(named.text, macro.spec, tuple(body_now), macro.pattern)
    expander.define(named.text, macro, everywhere=token.text in ("gdef", "xdef"))


def _let(expander: Expander, token: Token) -> None:
    expander.skip_blanks()
    named = expander.pop()
    if named is not None and named.kind == "cs" and named.text == "csname":
        named = Token("cs", expander.name_until_endcsname())
    expander.skip_blanks()
    if expander.input and expander.input[-1].kind == "text" and expander.input[-1].text[0] == "=":
        _, rest = split_first(expander.input.pop())
        if rest:
            expander.input.append(rest)
        expander.skip_blanks()
    target = expander.pop()
    if named is None or target is None or named.kind != "cs":
        return
    if target.kind == "cs":
        expander.define(named.text, expander.macros.get(target.text, Alias(target.text)))
    else:
        first, rest = split_first(target)
        if rest:
            expander.input.append(rest)
        expander.define(named.text, Macro(named.text, (), (Token(first.kind, first.text),)))


def _paired_delimiter(expander: Expander, token: Token) -> None:
    name = expander.defined_name()
    left, right = expander.argument(), expander.argument()
    body = [*body_of(r"\left"), *left, *body_of(" #1 "), *body_of(r"\right"), *right]
    if name:
        spec = (("s", "*", ()), ("d", "[]", ()), ("m", "", ()))
        parts = [3 if part == 1 else part for part in _body_parts(body)]
        expander.define(name, Macro(name, spec, tuple(parts)))


def _math_operator(expander: Expander, token: Token) -> None:
    star = "*" if expander.starred() else ""
    name = expander.defined_name()
    body = expander.argument()
    if name:
        wrapped = [*body_of(rf"\operatorname{star}{{"), *body, Token("}", "}")]
        expander.define(name, Macro(name, (), _body_parts(wrapped)))


def _new_if(expander: Expander, token: Token) -> None:
    name = expander.defined_name() or ""
    if name.startswith("if"):
        expander.switches[name] = False
        for value in ("true", "false"):
            body = (Token("switch", f"{name} {value}"),)
            expander.macros[name[2:] + value] = Macro(name[2:] + value, (), body)


def _new_environment(expander: Expander, token: Token) -> None:
    expander.starred()
    name = source_of(expander.argument()).strip()
    if "Document" in token.text:
        spec = _xparse_spec(expander.argument())
    else:
        spec = _count_and_default(expander)
    begin, end = expander.argument(), expander.argument()
    if not name or name in STRUCTURE:
        return
    if expander.silent and (name in KNOWN or name in expander.of_classes[1]):
        return
    if any(
        one.kind == "cs"
        and one.text == "begin"
        and source_of(begin[n + 1 : n + 4]) == f"{{{name}}}"
        for n, one in enumerate(begin)
    ):
        return  # \renewenvironment{x}{\begin{x}}
    expander.environments[name] = Environment(
        Macro(name, spec, _body_parts(begin)), Macro(name, spec, _body_parts(end))
    )


def _new_environ(expander: Expander, token: Token) -> None:
    """\\NewEnviron of environ: its content is \\BODY."""
    name = source_of(expander.argument()).strip()
    spec = _count_and_default(expander)
    body = expander.argument()
    end = expander.option() or []
    if name and name not in STRUCTURE:
        macro = Macro(name, spec, _body_parts(body))
        expander.environments[name] = Environment(macro, Macro(name, spec, _body_parts(end)), True)


@cache
def _of_classes() -> tuple[dict[str, Macro | Alias], dict[str, Environment]]:
    reader = Expander(classes=False)
    reader.expand(tokens_of(_OF_CLASSES))
    return reader.macros, reader.environments


def _begin(expander: Expander, token: Token) -> None:
    name = source_of(expander.argument()).strip()
    own = expander.environments.get(name)
    expander.scopes.append({})
    if name == "longtable" and not expander.silent:  # it counts, with a caption or without
        expander.counters["table"] += 1
    if own is None or expander.silent:
        expander.opened.append((name, None, []))
        expander._emit(Token("begin", name, token.start, token.end))
        return
    arguments = expander._arguments(own.begin) or []
    expander.opened.append((name, token, arguments))
    if own.whole:
        body, depth = list[Token](), 0
        while expander.input:
            one = expander.input.pop()
            if one.kind == "cs" and one.text in ("begin", "end"):
                named = source_of(expander.input[-1:-4:-1]) == f"{{{name}}}"
                depth += (one.text == "begin") - (one.text == "end") if named else 0
                if depth < 0:
                    expander.input.append(one)
                    break
            body.append(one)
        expander.define("BODY", Macro("BODY", (), tuple(body)))
    if expander.written > MOST_WRITTEN + TIMES_READ * expander.read:
        expander.found.unexpanded[name] = expander.found.unexpanded.get(name, 0) + 1
        return
    expander.push(expander._filled(own.begin.body, arguments, token))


def _end(expander: Expander, token: Token) -> None:
    name = source_of(expander.argument()).strip()
    last = range(len(expander.opened) - 1, max(-1, len(expander.opened) - DEEPEST), -1)
    known = next((n for n in last if expander.opened[n][0] == name), None)
    if known is None:
        if not expander.silent:
            expander._emit(Token("end", name, token.start, token.end))
        return
    _, call, arguments = expander.opened[known]
    del expander.opened[known:]
    own = expander.environments.get(name)
    if call is None or own is None:
        expander._emit(Token("end", name, token.start, token.end))
        expander._close_scope()
        return
    expander.push([*expander._filled(own.end.body, arguments, token), Token("scope", "")])


def _caption(expander: Expander, token: Token) -> None:
    """A caption, with its number as the source counts them."""
    expander._emit(token)
    around: list[str] = []
    if token.text == "captionof":
        kind = source_of(expander.argument()).strip()
        expander._emit(Token("of", kind))
    else:
        around = [name for name, _, _ in expander.opened if _FLOATS.fullmatch(name)]
        around = [name for name in around if name != "minipage"]
        kind = "table" if around and TABLE_FLOATS.fullmatch(around[-1].rstrip("*")) else ""
        kind = "figure" if around and "figure" in around[-1] and "sub" not in around[-1] else kind
    if kind not in ("table", "figure") or (expander.input and expander.input[-1].kind == "*"):
        return
    if around[-1:] != ["longtable"]:
        expander.counters[kind] += 1
    the = expander.macros.get(f"the{kind}")
    number = str(expander.counters[kind])
    if isinstance(the, Macro):
        number = source_of(expander.expand([Token("cs", f"the{kind}")])).strip() or number
    expander._emit(Token("number", f"{kind} {number}"))


def _table_head(expander: Expander, token: Token) -> None:
    """\\tablehead of AASTeX is its table's headings; supertabular's stands before the table."""
    if any(name.startswith("deluxetable") for name, _, _ in expander.opened[-3:]):
        expander.push([*expander.argument(), *body_of(r"\\ \endhead ")])
    else:
        expander._emit(token)


def _table_caption(expander: Expander, token: Token) -> None:
    expander.push([Token("cs", "caption", token.start, token.end)])


def _counter(expander: Expander, token: Token) -> None:
    name = expander.word()
    if token.text == "newcounter":
        expander.option()
        expander.counters.setdefault(name, 0)
    elif token.text in ("stepcounter", "refstepcounter"):
        expander.counters[name] = expander.counters.get(name, 0) + 1
    else:
        value = source_of(expander.expand(expander.argument())).strip()
        if re.fullmatch(r"-?\d{1,6}", value):
            before = expander.counters.get(name, 0) if token.text == "addtocounter" else 0
            expander.counters[name] = before + int(value)


def _printed_counter(expander: Expander, token: Token) -> None:
    value = expander.counters.get(expander.word(), 0)
    if token.text in ("alph", "Alph"):
        text = chr(ord("a") + (value - 1) % 26) if value else "0"
    elif token.text in ("roman", "Roman"):
        text = _roman(value)
    else:
        text = str(value)
    expander.push([Token("text", text.upper() if token.text[0].isupper() else text)])


def _roman(number: int) -> str:
    found = ""
    for worth, sign in ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")):
        found += sign * min(20, number // worth)
        number %= worth
    return found


def _csname(expander: Expander, token: Token) -> None:
    name = expander.name_until_endcsname()
    expander.push([Token("cs", name, token.start, token.end)])


def _expandafter(expander: Expander, token: Token) -> None:
    first, second = expander.pop(), expander.pop()
    if second is not None and second.kind == "cs":
        meaning = expander.macros.get(second.text)
        if isinstance(meaning, Macro):
            expander._call(second, meaning)
        elif second.text == "csname":
            _csname(expander, second)
        else:
            expander.push([second])
    elif second is not None:
        expander.push([second])
    if first is not None:
        expander.push([first])


def _else(expander: Expander, token: Token) -> None:
    if expander.branches and expander._skip(to_else=False):
        expander.branches -= 1


def _fi(expander: Expander, token: Token) -> None:
    expander.branches = max(0, expander.branches - 1)


def _choose(expander: Expander, condition: bool) -> None:
    yes, no = expander.argument(), expander.argument()
    expander.push(yes if condition else no)


def _if_next(expander: Expander, token: Token) -> None:
    wanted = expander.argument()
    yes, no = expander.argument(), expander.argument()
    expander.skip_blanks()
    there = (
        bool(expander.input) and bool(wanted) and expander.input[-1].text[:1] == wanted[0].text[:1]
    )
    expander.push(yes if there else no)


def _if_star(expander: Expander, token: Token) -> None:
    yes, no = expander.argument(), expander.argument()
    expander.push(yes if expander.starred() else no)


def _if_value(expander: Expander, token: Token) -> None:
    """\\IfNoValueTF, \\IfValueT, \\IfBooleanTF and so on, of xparse."""
    given = expander.argument()
    if "Boolean" in token.text:
        holds = any(one.text == "BooleanTrue" for one in given)
    elif "Blank" in token.text:
        holds = not any(one.kind != "space" for one in given)
    else:
        holds = (source_of(given) == NO_VALUE) == ("NoValue" in token.text)
    ending = token.text.rpartition(
        "e" if "Value" in token.text else "n" if "Boolean" in token.text else "k"
    )[2]
    yes = expander.argument() if "T" in ending else []
    no = expander.argument() if "F" in ending else []
    expander.push(yes if holds else no)


def _if_then_else(expander: Expander, token: Token) -> None:
    test = source_of(expander.expand(expander.argument())).strip()
    found = re.fullmatch(r"\\equal\s*\{(.*)\}\s*\{(.*)\}", test, re.DOTALL)
    boolean = re.fullmatch(r"\\boolean\s*\{(\w+)\}", test)
    numbers = re.fullmatch(r"(-?\d+)\s*([<>=])\s*(-?\d+)", test)
    if found:
        holds = found[1].strip() == found[2].strip()
    elif boolean:
        holds = expander.switches.get(f"if{boolean[1]}", False)
    elif numbers:
        one, other = int(numbers[1]), int(numbers[3])
        holds = {"<": one < other, ">": one > other, "=": one == other}[numbers[2]]
    else:
        holds = False
    _choose(expander, holds)


def _if_strings(expander: Expander, token: Token) -> None:
    one = source_of(expander.expand(expander.argument())).strip()
    if token.text in ("ifstrequal", "ifdefstring"):
        _choose(expander, one == source_of(expander.argument()).strip())
    else:
        _choose(expander, not one)


def _if_file(expander: Expander, token: Token) -> None:
    name = expander.word()
    text = expander.file(name, (".tex", ".sty", ".cls"))  # one that isn't there is no fault
    yes, no = expander.argument(), expander.argument()
    if token.text == "InputIfFileExists" and text is not None:
        expander.put_in(name)
    expander.push(yes if text is not None else no)


def _if_undefined(expander: Expander, token: Token) -> None:
    name = expander.word()
    _choose(expander, expander._meaning(Token("cs", name)) is None)


def _input(expander: Expander, token: Token) -> None:
    expander.skip_blanks()
    if expander.input and expander.input[-1].kind == "{":
        name = expander.word()
    else:
        parts: list[Token] = []
        while (
            expander.input
            and expander.input[-1].kind in ("text", "_", "cs", "*")
            and len(parts) < 40
        ):
            one = expander.input.pop()
            if one.kind == "cs":
                meaning = expander.macros.get(one.text)
                if not isinstance(meaning, Macro):
                    if one.text != "relax":
                        expander.input.append(one)
                    break
                expander._call(one, meaning)
                continue
            parts.append(one)
        name = source_of(parts).strip()
    expander.put_in(name)


def _import(expander: Expander, token: Token) -> None:
    expander.starred()
    folder, name = expander.word(), expander.word()
    expander.put_in(f"{folder.rstrip('/')}/{name}" if folder else name)


def _use_package(expander: Expander, token: Token) -> None:
    expander.option()
    names = source_of(expander.argument())
    expander.option()
    expander.load(names, ".cls" if "lass" in token.text else ".sty")


def _new_column(expander: Expander, token: Token) -> None:
    name = source_of(expander.argument()).strip()
    spec = _count_and_default(expander)
    expander.found.columns[name] = Macro(name, spec, _body_parts(expander.argument()))


def _new_theorem(expander: Expander, token: Token) -> None:
    expander.starred()
    name = source_of(expander.argument()).strip()
    expander.option()
    title = source_of(expander.argument()).strip()
    expander.option()
    expander.found.theorems[name] = title


def _skip_expl(expander: Expander, token: Token) -> None:
    """Over code of LaTeX3, whose names aren't those of documents."""
    while (one := expander.pop()) is not None:
        if one.kind in ("cs", "package") and one.text in ("ExplSyntaxOff", "ProvidesExplPackage"):
            break
        if one.kind == "package":
            expander.push([one])
            break


def _next_argument(expander: Expander, token: Token) -> None:
    expander.push(expander.argument())


def _nothing(expander: Expander, token: Token) -> None:
    """What has no text."""


def _prefix(expander: Expander, token: Token) -> None:
    """\\global before \\def and \\let: they hold beyond their group."""
    expander.skip_blanks()
    after = expander.input[-1] if expander.input else None
    if after is not None and after.kind == "cs" and after.text in ("def", "edef"):
        expander.input[-1] = Token("cs", {"def": "gdef", "edef": "xdef"}[after.text])


def _text_of(expander: Expander, token: Token) -> None:
    after = expander.pop()
    if after is not None:
        expander.push([Token("text", after.text or " ")])


def _group(expander: Expander, token: Token) -> None:
    if token.text.startswith("begin") or token.text == "bgroup":
        expander.scopes.append({})
    else:
        expander._close_scope()


def _xspace(expander: Expander, token: Token) -> None:
    """A blank, unless a mark of punctuation follows."""
    after = expander.input[-1] if expander.input else None
    if after is not None and (
        (after.kind == "text" and after.text[0].isalnum())
        or (after.kind == "cs" and after.text.isalpha())
        or after.kind == "$"
    ):
        expander._emit(Token("space", " "))


def _acronym(expander: Expander, token: Token) -> None:
    """\\newacronym of glossaries, \\acro and \\DeclareAcronym."""
    if token.text == "DeclareAcronym":
        key, options = source_of(expander.argument()).strip(), source_of(expander.argument())
        short = re.search(r"short\s*=\s*\{?([^{},]+)", options)
        long = re.search(r"long\s*=\s*\{?([^{},]+)", options)
        expander.found.acronyms[key] = (
            short[1].strip() if short else key,
            long[1].strip() if long else key,
        )
        return
    option = expander.option()
    key = source_of(expander.argument()).strip()
    name = option or []
    if token.text == "newacronym":
        name = expander.argument()
    full = source_of(expander.argument()).strip()
    expander.found.acronyms[key] = (source_of(name).strip() or key, full)


def _use_acronym(expander: Expander, token: Token) -> None:
    expander.starred()
    keys = expander.argument()
    known = expander.found.acronyms.get(source_of(keys).strip())
    if known is None:
        expander.push(keys)
    else:
        plural = "s" if "pl" in token.text else ""
        expander.push(
            body_of((known[1] if "l" in token.text[2:].replace("pl", "") else known[0]) + plural)
        )


# tables that are kept in files


def _csv_table(expander: Expander, token: Token) -> None:
    """\\csvautotabular and its like: the first row is the heading."""
    expander.starred()
    options = _options(source_of(expander.option() or []))
    rows = _rows_of(expander, expander.word(), options)
    if rows:
        expander.push(_tabular(rows))


def _csv_reader(expander: Expander, token: Token) -> None:
    """\\csvreader[options]{file}{names}{row}."""
    options = _options(source_of(expander.option() or []))
    file = expander.word()
    names = _options(source_of(expander.argument()))
    body = expander.argument()
    rows = _rows_of(expander, file, options)
    if not rows:
        return
    heads, *rows = rows if options.get("head", "true") != "false" else [[], *rows]
    columns = next(
        (v for k, v in options.items() if re.search(r"tabular|longtable|tabularray", k)), ""
    )
    begin, end = "", ""
    if columns:
        kind = next(k for k in options if re.search(r"tabular|longtable", k))
        name = "longtable" if "longtable" in kind else "tabular"
        begin, end = (
            rf"\begin{{{name}}}{{{columns}}}" + options.get("table head", ""),
            options.get("table foot", "") + rf"\end{{{name}}}",
        )
    found = body_of(begin)
    for number, row in enumerate(rows):
        values = {"thecsvrow": str(number + 1), "csvlinetotablerow": " & ".join(row)}
        for column, text in enumerate(row):
            values[f"csvcol{_roman(column + 1)}"] = text
            head = heads[column] if column < len(heads) else ""
            if head and "head to column names" in options:
                values[options.get("head to column names prefix", "") + head] = text
            for key in (head, str(column + 1)):
                if key and key in names:
                    values[names[key].lstrip("\\")] = text
        for one in body:
            found += (
                body_of(values[one.text] + one.post)
                if one.kind == "cs" and one.text in values
                else [one]
            )
        late = options.get("late after line", r"\\" if columns else "")
        last = number == len(rows) - 1
        found += body_of(options.get("late after last line", late) if last and late else late)
    expander.written += len(found)
    expander.push([*found, *body_of(end)])


def _pgf_read(expander: Expander, token: Token) -> None:
    """\\pgfplotstableread[options]{file}\\name keeps a table under a name."""
    options = source_of(expander.option() or [])
    file = expander.argument()
    name = expander.defined_name()
    if name:
        body = [Token("text", "["), *body_of(options), Token("text", "]"), *file]
        expander.virtual[f"\\{name}"] = source_of(body)
        expander.macros.pop(name, None)


def _pgf_table(expander: Expander, token: Token) -> None:
    """\\pgfplotstabletypeset[options]{file, rows, or a name}."""
    options = _options(source_of(expander.option() or []))
    named = source_of(expander.argument()).strip()
    if named in expander.virtual:
        found = re.match(r"\[([^\]]*)\]\s*(.*)", expander.virtual[named], re.DOTALL)
        if found:
            options = {**_options(found[1]), **options}
            named = found[2].strip()
    rows = _rows_of(expander, named, options, separator=options.get("col sep", "space"))
    if not rows:
        return
    heads, *rows = rows
    wanted = [one.strip() for one in options.get("columns", "").split(",") if one.strip()] or heads
    at = [heads.index(one) for one in wanted if one in heads]
    shown = []
    for column in at:
        style = options.get(f"columns/{heads[column]}/.style", "")
        title = re.search(r"column name\s*=\s*(\{(?:[^{}]|\{[^{}]*\})*\}|[^,]*)", style)
        shown.append(
            title[1].strip().removeprefix("{").removesuffix("}")
            if title
            else heads[column].replace("_", r"\_")
        )
    expander.push(
        _tabular([shown, *([row[c] if c < len(row) else "" for c in at] for row in rows)])
    )


def _add_plot(expander: Expander, token: Token) -> None:
    """\\addplot with a table in a file, or one under a name: its text is kept for the plot."""
    expander._emit(token)
    named = named_table(source_of(expander.input[: -LONGEST_OPTION - 1 : -1]))
    text = expander.virtual.get(named) or (expander.file(named, TABLES) if named else None)
    if text is not None:
        found = re.match(r"\[[^\]]*\]\s*(.*)", text, re.DOTALL) if named.startswith("\\") else None
        inner = found[1].strip() if found else text
        expander.found.plotted[named] = (found and expander.file(inner, TABLES)) or inner


def _rows_of(
    expander: Expander, name: str, options: Mapping[str, str], separator: str = ""
) -> list[list[str]]:
    """The rows of a file with a table, or of a table that stands in the source itself."""
    if "\n" in name or r"\\" in name:
        text: str | None = name.replace(r"\\", "\n")
    else:
        text = expander.file(name, TABLES)
    if text is None:
        return []
    separator = separator or options.get("separator", "comma")
    sign = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}.get(
        separator, ","
    )
    lines = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not line.startswith(("#", "%"))
    ]
    if sign == " ":
        return [line.split() for line in lines[:MOST_ROWS]]
    return [[one.strip() for one in row] for row in csv.reader(lines[:MOST_ROWS], delimiter=sign)]


def _options(text: str) -> dict[str, str]:
    """key={value} pairs."""
    found = re.finditer(
        r"\s*([^=,{}]+?)\s*(?:=\s*(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|[^,]*))?(?:,|$)", text
    )
    return {
        m[1].strip(): (m[2] or "").strip().removeprefix("{").removesuffix("}")
        for m in found
        if m[1]
    }


def _tabular(rows: Sequence[Sequence[str]]) -> list[Token]:
    width = max(map(len, rows))
    lines = [" & ".join(_escaped(one) for one in row) + r" \\" for row in rows]
    lines.insert(1, r"\hline")
    return body_of(rf"\begin{{tabular}}{{{'l' * width}}}" + "\n".join(lines) + r"\end{tabular}")


def _escaped(text: str) -> str:
    """A field of a file, which may be LaTeX; no sign in it parts a row or begins a comment."""
    return re.sub(r"(?<!\\)([%&#])", r"\\\1", text) if "\\" not in text else text


def _table_of() -> Iterator[tuple[str, Handler]]:
    for names, handler in (
        ("newcommand renewcommand providecommand DeclareRobustCommand newrobustcmd renewrobustcmd "
         "providerobustcmd DeclareTextCommandDefault", _new_command),
        ("newcommandx renewcommandx", _new_command_x),
        ("NewDocumentCommand RenewDocumentCommand ProvideDocumentCommand DeclareDocumentCommand "
         "NewExpandableDocumentCommand RenewExpandableDocumentCommand "
         "DeclareExpandableDocumentCommand", _document_command),
        ("def gdef edef xdef", _def),
        ("let", _let),
        ("DeclareMathOperator", _math_operator),
        ("DeclarePairedDelimiter", _paired_delimiter),
        ("newif", _new_if),
        ("newenvironment renewenvironment NewDocumentEnvironment RenewDocumentEnvironment "
         "DeclareDocumentEnvironment ProvideDocumentEnvironment", _new_environment),
        ("NewEnviron RenewEnviron", _new_environ),
        ("begin", _begin),
        ("end", _end),
        ("caption captionof", _caption),
        ("tablehead", _table_head),
        ("tablecaption", _table_caption),
        ("newcounter setcounter addtocounter stepcounter refstepcounter", _counter),
        ("arabic alph Alph roman Roman", _printed_counter),
        ("csname", _csname),
        ("expandafter", _expandafter),
        ("else", _else),
        ("fi", _fi),
        ("@ifnextchar kernel@ifnextchar", _if_next),
        ("@ifstar", _if_star),
        ("IfNoValueTF IfNoValueT IfNoValueF IfValueTF IfValueT IfValueF IfBooleanTF IfBooleanT "
         "IfBooleanF IfBlankTF", _if_value),
        ("ifthenelse", _if_then_else),
        ("ifstrequal ifdefstring ifstrempty ifblank ifdefempty", _if_strings),
        ("IfFileExists InputIfFileExists", _if_file),
        ("@ifundefined ifundef ifcsundef", _if_undefined),
        ("input include subfile subfileinclude @@input @input", _input),
        ("import subimport inputfrom subinputfrom", _import),
        ("usepackage RequirePackage RequirePackageWithOptions documentclass LoadClass "
         "LoadClassWithOptions", _use_package),
        ("newcolumntype", _new_column),
        ("newtheorem", _new_theorem),
        ("ExplSyntaxOn", _skip_expl),
        ("AtBeginDocument protected@edef unexpanded @firstofone", _next_argument),
        ("relax protect noexpand ignorespaces unskip leavevmode makeatletter makeatother endcsname "
         "long protected outer leavevmode nobreak allowbreak ExplSyntaxOff BooleanTrue "
         "BooleanFalse ignorespacesafterend", _nothing),
        ("global", _prefix),
        ("string", _text_of),
        ("begingroup endgroup bgroup egroup", _group),
        ("xspace", _xspace),
        ("newacronym acro acrodef DeclareAcronym", _acronym),
        ("gls Gls glspl acs acl ac acp acf acrshort acrlong", _use_acronym),
        ("csvautotabular csvautobooktabular csvautolongtable csvautobooklongtable csvautotabularray"
         " csvautobooktabularray", _csv_table),
        ("csvreader", _csv_reader),
        ("pgfplotstableread", _pgf_read),
        ("addplot", _add_plot),
        ("pgfplotstabletypeset pgfplotstabletypesetfile", _pgf_table),
    ):  # fmt: skip
        for name in names.split():
            yield name, handler


HANDLERS: dict[str, Handler] = dict(_table_of())
