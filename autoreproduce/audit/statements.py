"""What the statements of a source write: words and numbers that stand in its text, and between them
what it computes.

A line of output is held against all of them. The statement that shares most words with it wrote
it, and says whether a number of the line stands in the source or was computed.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from autoreproduce.files.bounded import parse_python
from autoreproduce.files.kinds import SHELL, kind_of
from autoreproduce.papers.numbers import numbers_in, same_number

Part = str | float | None  # text, a number literal, what is computed
Token = str | float | None  # a word, a number, what is computed
MORE_DIGITS = 2  # of a literal than of what is printed of it: others are π, or a coincidence
LEAST = 3  # letters and digits of a line that no two statements share by chance
MOST_TOKENS, LONGEST = 80, 2_000  # tokens, and characters, of a line
COMPARES = re.compile(r"assert|close|approx|equal|expect|grep|diff|[=!<>]=", re.IGNORECASE)
_COMMENT = re.compile(  # of C, C++, R, Julia, MATLAB, a shell, Lua, Fortran
    r"//.*|#(?!\s*define).*|(?<!\S)%\s.*|^\s*(?:--|!)\s.*", re.MULTILINE
)
_TOKEN = re.compile(r"[^\W\d_]+|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WRITES = re.compile(r"print|write|echo|dump|puts|info|warning|debug", re.IGNORECASE)
_SAME = {"str", "float", "int", "round", "repr", "dumps", "join"}  # of what they're given
_FIELD = re.compile(r"%[-+#0]*\d*(?:\.\d+)?l*[a-zA-Z]|\{[^{}]*\}")
_OTHER_WRITES = re.compile(
    r"(?:print\w*|\w*printf\w*|puts|echo|cat|cout|cerr|disp|display|write\w*|console\.log|say"
    r"|message|put)\b(.*)"
)
_PIECE = re.compile(
    r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|(\$\([^)]{0,200}\)|`[^`]{0,200}`|\$\{?\w+\}?)"
    r"|(?<![\w.])((?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?![\w.])|([A-Za-z_][\w.]*)"
)
_PLAIN = {"endl", "std", "num2str", "string", "str", "paste", "paste0", "sprintf", "format"}


@dataclass(frozen=True)
class Statement:
    """What a statement writes on one line. `writes`: it's known to write, and no text for other
    uses. `beside`: the lines of its text, which all come with it.
    """

    line: int
    tokens: tuple[Token, ...]
    writes: bool = True
    beside: tuple[tuple[Token, ...], ...] = ()

    @property
    def words(self) -> set[str]:
        """The words that stand in its text."""
        return {one for one in self.tokens if isinstance(one, str)}

    @property
    def letters(self) -> int:
        """How many letters they have."""
        return sum(len(one) for one in self.tokens if isinstance(one, str))

    @property
    def size(self) -> int:
        """How many letters and digits it has."""
        numbers = (f"{one:g}" for one in self.tokens if isinstance(one, float))
        return self.letters + sum(len(one.replace(".", "")) for one in numbers)


@dataclass(frozen=True)
class Source:
    """What a source's statements write, its other strings among them; and the number literals that
    it doesn't compare with, their lines, and whether they're written and go nowhere else.
    """

    statements: list[Statement]
    numbers: list[tuple[float, int, bool]]


def tokens_of(text: str) -> tuple[Token, ...]:
    """Its words and numbers in their order."""
    found = _TOKEN.findall(text)
    return tuple(float(one) if one[0] in ".0123456789" else one for one in found)


def read_source(name: str, text: str) -> Source:
    """A program's file, or its command, in any language."""
    try:
        tree = parse_python(text) if name.endswith(".py") else None
    except SyntaxError:
        tree = None
    if tree is not None:
        module = _Python(tree)
        return Source([*module.statements()], [*module.numbers()])
    shell = kind_of(name) in SHELL or "." not in name
    source = Source([], [])
    for number, code in _code_lines(text if shell else _without_blocks(text)):
        if COMPARES.search(code):
            continue
        writes = _OTHER_WRITES.search(code[:LONGEST])
        if writes:
            source.statements.extend(_as_lines(number, _other_parts(writes[1], shell)))
        strings = [one[1] or one[2] or "" for one in _PIECE.finditer(code)]
        for string in [*strings, *([code] if shell else [])]:
            source.statements.extend(_as_lines(number, [string], writes=False))
        data = _PIECE.sub(lambda one: "" if _is_prose(one[1] or one[2] or "") else one[0], code)
        source.numbers.extend((one.value, number, bool(writes)) for one in numbers_in(data))
    return source


def _code_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without comments."""
    yield from ((number, _COMMENT.sub("", line)) for number, line in enumerate(text.split("\n"), 1))


def _without_blocks(text: str) -> str:
    """The text without the comments between /* and */; its lines stay where they are."""
    code, *rest = text.split("/*")
    for each in rest:
        comment, end, after = each.partition("*/")
        code += "\n" * comment.count("\n") + after if end else f"/*{each}"
    return code


def written_by(
    number: float, line: str, output: str, found: Iterable[Statement]
) -> tuple[Statement | None, bool]:
    """The statement in whose text the number of this line of the output stands, and whether one
    computes it there. None, False: no statement says.
    """
    given = tokens_of(line)[:MOST_TOKENS]
    places = [at for at, one in enumerate(given) if _same(one, number)]
    lines = {tokens_of(each) for each in output.splitlines()}
    held, missing = [], dict[int, set[tuple[Token, ...]]]()
    for each in {(one.tokens, one.writes): one for one in found}.values():
        if not places or not each.words.issubset(given) or len(each.tokens) > MOST_TOKENS:
            continue
        alone = not each.words and len(each.tokens) != len(given)  # not all of its line
        if id(each.beside) not in missing:
            missing[id(each.beside)] = {one for one in each.beside if one not in lines}
        part = given in lines and missing[id(each.beside)] - {each.tokens}
        if not alone and not part:
            held.append((each, *_held(each.tokens, given)))
    printed, computed = list[Statement](), False
    for at in places:
        most = max((e.letters for e, _, hole in held if at in hole and e.writes), default=0)
        computed = computed or most > 0
        texts = [e for e, literal, _ in held if at in literal and e.size >= LEAST]
        texts = [e for e in texts if not most or (e.writes and e.letters > most)]
        printed += sorted(texts, key=lambda e: (e.writes, e.letters))[-1:]
    return (printed[0] if printed and len(printed) == len(places) else None), computed


def _same(one: Token, number: float) -> bool:
    return isinstance(one, float) and same_number(one, abs(number))


def _held(tokens: Sequence[Token], given: Sequence[Token]) -> tuple[set[int], set[int]]:
    """The places of a line that a statement's text holds, and those that it computes, where the
    line holds all that it writes.
    """
    before = _ends(tokens, given)
    behind = [{len(given) - at for at in ends} for ends in _ends(tokens[::-1], given[::-1])][::-1]
    literal, hole = set[int](), set[int]()
    for n, token in enumerate(tokens):
        starts, ends = before[n], behind[n + 1]
        if token is None and starts and ends:
            hole |= set(range(min(starts), max(ends)))
        elif token is not None:
            literal |= {at for at in starts if at + 1 in ends and _fits(token, given[at])}
    return literal, hole


def _ends(tokens: Sequence[Token], given: Sequence[Token]) -> list[set[int]]:
    """Where in the line the first 0, 1, 2, … tokens may end."""
    reached = [set(range(len(given) + 1))]
    for token in tokens:
        last = reached[-1]
        if token is None:
            reached.append(set(range(min(last), len(given) + 1)) if last else set())
        else:
            reached.append({n + 1 for n in last if n < len(given) and _fits(token, given[n])})
    return reached


def _fits(token: Token, given: Token) -> bool:
    if isinstance(token, float) and isinstance(given, float):
        return token == given or prints(token, given)
    return token == given


def prints(literal: float, value: float) -> bool:
    """Whether a program that has the literal prints this value: as it is, as a fraction or a
    percentage, or rounded (0.88314 as 0.8831).
    """
    digits = digits_of(value)
    rounded = digits < digits_of(literal) <= digits + MORE_DIGITS
    forms = (literal, literal / 100, literal * 100)
    return any(
        same_number(value, one) or (rounded and same_number(value, float(f"{one:.{digits}g}")))
        for one in forms
    )


def digits_of(value: float) -> int:
    """How many digits the number needs: 3 of 0.0312, 1 of 5000."""
    return len(re.sub(r"e.*|\D", "", f"{value:.12g}").strip("0"))


def _as_lines(line: int, parts: Sequence[Part], writes: bool = True) -> Iterator[Statement]:
    """The statement of each line that the parts write."""
    lines: list[list[Token]] = [[]]
    for part in parts:
        if not isinstance(part, str):
            lines[-1].append(part)
            continue
        first, *more = part.splitlines() or [""]
        lines[-1] += tokens_of(first)
        lines += [list(tokens_of(each)) for each in more]
        if part.endswith("\n"):
            lines.append([])
    made = [tuple(each) for each in lines if any(one is not None for one in each)]
    beside = tuple(each for each in made if None not in each)
    yield from (Statement(line, each, writes, beside) for each in made)


def _filled(text: str, values: Sequence[Sequence[Part]]) -> list[Part]:
    """A text with its fields, %.2f or {}, in whose place these values stand."""
    parts: list[Part] = []
    last, left = 0, iter(values)
    for field in _FIELD.finditer(text):
        parts += [text[last : field.start()], *next(left, [None])]
        last = field.end()
    return [*parts, text[last:], *(part for each in left for part in each)]


def _other_parts(text: str, shell: bool) -> list[Part]:
    """What a statement of another language writes, given what follows its name."""
    if shell:
        text = re.split(r"[;|&>]", text)[0]
    parts: list[Part] = []
    for found in _PIECE.finditer(text):
        double, single, variable, number, word = found.groups()
        if (string := double if double is not None else single) is not None:
            said = string.replace("\\n", "\n").replace("\\t", "\t")
            parts += _expanded(said) if shell and single is None else [said]
        elif number:
            parts.append(float(number))
        elif variable or not shell:
            parts += [] if word in _PLAIN else [None]
        else:
            parts.append(word)
    first = next((n for n, part in enumerate(parts) if isinstance(part, str)), None)
    if first is not None and _FIELD.search(str(parts[first])):
        rest = [[part] for part in parts[first + 1 :]]
        return [*parts[:first], *_filled(str(parts[first]), rest)]
    return parts


def _expanded(text: str) -> list[Part]:
    """A shell's string, whose variables are computed."""
    pieces = re.split(r"\$\([^)]{0,200}\)|`[^`]{0,200}`|\$\{?\w+\}?", text)
    return [part for n, piece in enumerate(pieces) for part in ([None] if n else []) + [piece]]


class _Python:
    """The statements of a module. A name that is bound once, to literals, and used for nothing but
    writing stands for them.
    """

    def __init__(self, tree: ast.Module) -> None:
        nodes = [*ast.walk(tree)]
        self.constants = [node for node in nodes if isinstance(node, ast.Constant)]
        self.calls = [node for node in nodes if isinstance(node, ast.Call) and _writes(node)]
        self.names: dict[str, ast.expr] = {}
        self.shown: set[int] = set()  # nodes that are written as they are
        self.beside = {id(sub) for node in nodes if _is_beside(node) for sub in ast.walk(node)}
        names = [node for node in nodes if isinstance(node, ast.Name)]
        loads = [node for node in names if isinstance(node.ctx, ast.Load)]
        used = Counter(node.id for node in loads)
        bound = Counter(node.id for node in names if not isinstance(node.ctx, ast.Load))
        bound.update(node.arg for node in nodes if isinstance(node, ast.arg))
        self.loops: list[tuple[int, ast.expr]] = []  # whose items are written as they are
        shown = self._shown_names(loads)
        for node in nodes:
            if isinstance(node, ast.For):
                targets = {sub.id for sub in ast.walk(node.target) if isinstance(sub, ast.Name)}
                if all(bound[name] == 1 and used[name] == shown[name] for name in targets):
                    self.loops.append((node.lineno, _without_items(node.iter)))
        shown = self._shown_names(loads)
        compared = Counter(node.id for node in loads if id(node) in self.beside)
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if bound[name] == 1:
                    within = {id(sub) for sub in ast.walk(value)}
                    if used[name] == compared[name] > 0:
                        self.beside |= within
                    elif used[name] == shown[name] > 0 and not _names(value):
                        self.names[name] = value
                        self.shown |= within

    def _shown_names(self, loads: Sequence[ast.Name]) -> Counter[str]:
        """How often each name is written as it is, by what is known of loops and names so far."""
        for _ in self._written():
            pass  # which marks what it meets as shown
        return Counter(node.id for node in loads if id(node) in self.shown)

    def _written(self) -> Iterator[tuple[int, list[Part]]]:
        for call in self.calls:
            yield from ((call.lineno, parts) for parts in self._of_call(call))
        for line, items in self.loops:
            yield from ((line, parts) for parts in [self._parts(items), *self._pairs(items)])

    def numbers(self) -> Iterator[tuple[float, int, bool]]:
        """Number literals, also those that are texts, with their lines, and whether they are
        written as they are and used for nothing else.
        """
        for node in self.constants:
            if id(node) in self.beside:
                continue
            shown = id(node) in self.shown
            if (number := _number(node.value)) is not None:
                yield number, node.lineno, shown
            elif isinstance(node.value, str) and not _is_prose(node.value):
                yield from ((one.value, node.lineno, shown) for one in numbers_in(node.value))

    def statements(self) -> Iterator[Statement]:
        """What its calls write, and its other strings."""
        for line, parts in self._written():
            yield from _as_lines(line, parts)
        for node in self.constants:
            if isinstance(node.value, str) and id(node) not in self.beside:
                said = re.sub(r"^\s*(?:echo|printf)\s", "", node.value)
                yield from _as_lines(node.lineno, [said], writes=False)

    def _of_call(self, call: ast.Call) -> Iterator[list[Part]]:
        given = [self._parts(node) for node in call.args]
        text, *rest = given or [[]]
        is_print = isinstance(call.func, ast.Name)
        if len(text) == 1 and isinstance(text[0], str) and rest and not is_print:
            yield _filled(text[0], rest)
        else:
            yield [part for each in given for part in each]
        for node in call.args:
            yield from self._pairs(node)

    def _pairs(self, node: ast.expr) -> Iterator[list[Part]]:
        """The keys with their values of all mappings that an expression shows."""
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is not None:
                    yield [*self._parts(key), *self._parts(value)]
                yield from self._pairs(value)
        elif isinstance(node, ast.List | ast.Tuple):
            for each in node.elts:
                yield self._parts(each)
                yield from self._pairs(each)
        elif isinstance(node, ast.Name) and node.id in self.names:
            yield from self._pairs(self.names[node.id])
        elif isinstance(node, ast.Call) and _called(node) in _SAME:
            for each in node.args:
                yield from self._pairs(each)

    def _parts(self, node: ast.expr) -> list[Part]:
        self.shown.add(id(node))
        if (inner := self._inner(node)) is not None:
            return [part for each in inner for part in self._parts(each)]
        match node:
            case ast.Constant(value=value):
                return [value if isinstance(value, str) else _number(value)]
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                both = [*self._parts(left), *self._parts(right)]
                return both if any(isinstance(part, str) for part in both) else [None]
            case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str(text)), right=right):
                each = right.elts if isinstance(right, ast.Tuple) else [right]
                return _filled(text, [self._parts(one) for one in each])
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
                return _filled(text, [self._parts(one) for one in node.args])
        return [None]

    def _inner(self, node: ast.expr) -> Sequence[ast.expr] | None:
        """The expressions of which this one is made, one after the other; None of any other."""
        match node:
            case ast.JoinedStr(values=several) | ast.List(elts=several) | ast.Tuple(elts=several):
                return several
            case ast.FormattedValue(value=one) | ast.UnaryOp(operand=one) | ast.Starred(value=one):
                return [one]
            case ast.Call(args=[one, *_]) if _called(node) in _SAME:
                return [one]
            case ast.Name(id=name) if name in self.names:
                return [self.names[name]]
            case ast.Subscript(value=ast.Name() as name, slice=ast.Constant(value=key)):
                self.shown.add(id(name))
                return self._item(self.names.get(name.id), key)
        return None

    @staticmethod
    def _item(held: ast.expr | None, key: object) -> Sequence[ast.expr] | None:
        if not isinstance(held, ast.Dict):
            return None
        pairs = zip(held.keys, held.values, strict=True)
        same = (value for at, value in pairs if isinstance(at, ast.Constant) and at.value == key)
        return [*same][:1] or None


def _is_beside(node: ast.AST) -> bool:
    """True for what checks a result, and for texts that nobody prints: docstrings."""
    if isinstance(node, ast.Call):
        return COMPARES.search(_called(node)) is not None
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or isinstance(node, ast.Compare | ast.Assert)


def _called(node: ast.Call) -> str:
    called = node.func
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _without_items(node: ast.expr) -> ast.expr:
    """`RESULTS` of `RESULTS.items()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="items")):
            return value
    return node


def _writes(node: ast.Call) -> bool:
    return _WRITES.search(_called(node)) is not None


def _names(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Name | ast.Call) for each in ast.walk(node))


def _is_prose(text: str) -> bool:
    """True for a text with words, and none of data."""
    return bool(re.search(r"[^\W\d_]{2}", text)) and text.lstrip()[:1] not in ("{", "[")


def _number(value: object) -> float | None:
    """A literal as a number without its sign, None of any other."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return abs(float(value))
    except OverflowError:
        return None
