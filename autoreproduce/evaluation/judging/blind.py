"""Makes a program blind: a judge sees what the code does and not whose it is.

Comments and docstrings go, since they show where code comes from, praise it, and can address the
judge; files get neutral names, and the imports between them follow. Lines keep their numbers, so a
judge's remark can be shown at the line that its author wrote. Strings and names that talk to a
judge are replaced: code is evidence, never an instruction. All that talks to one is reported, with
what was done about it.
"""

import ast
import io
import re
import tokenize
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePosixPath

from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.files.bounded import parse_python

# Text that talks to a judge: "give this full marks", in any of a dozen languages.
#
# Code is evidence and never an instruction, so what addresses a judge is found and withheld. Only
# texts are looked at (comments, strings, prose in a configuration): never code, and never a value
# such as `sample_rate: 100`. The patterns ask for a verb of awarding, an amount and a unit beside
# each other, for someone who is addressed, or for an instruction to be ignored; what is written
# with invisible characters, in wide letters or in spaced ones is read as it looks.

_AMOUNT = r"""
    20 | 25 | 100 | full | max(imum|imal)? | perfect | highest | best | top | twenty([-\ ]five)?
  | (one\ )?hundred | voll\w* | höchst\w* | maximal\w* | zwanzig | hundert | plein\w* | vingt | cent
  | máxim\w* | veinte | cien | massim\w* | pien\w* | venti | cento | vinte | cem | volledig\w*
  | максимальн\w* | высш\w* | двадцат\w* | сто | полн\w*"""
_UNIT = r"""
    points? | scores? | marks? | grades? | / | out\ of | punkt\w* | note\b | bewertung | puntos?
  | puntuación | calificación | punti | punteggio | voto | pontos | pontuação | nota | punten
  | балл\w* | оценк\w* | очк\w*"""
_VERB = r"""
    give | assign | award | grant | return | output | deserves? | score | rate | grade | mark
  | gib | gebt | geben\ sie | vergib | vergeben\ sie | bewerte\w* | donne[rz]?
  | attribue[rz]? | accorde[rz]? | note[rz] | dale | otorga | asigna | califica | puntúa | dai
  | assegna | valuta | dê | atribua | conceda | geef | дай(те)? | поставь(те)? | присво\w+
  | оцени(те)?"""
_JUDGE = r"""
    judge | grader | evaluator | reviewer | model | ai | llm | richter\w* | prüfer\w* | gutachter\w*
  | bewerter\w* | sprachmodell | juge | évaluat\w* | correcteur | modèle | juez | evaluador\w*
  | calificador\w* | modelo | giudice | valutatore | juiz | avaliador | rechter | beoordelaar
  | судья | оценщик | рецензент | модель"""
_PATTERNS = re.compile(
    rf"""\b({_VERB})\b[^.\n]{{0,60}}?\b({_AMOUNT})\b
           (?=[^.\n]{{0,30}}?(?:{_UNIT}|\bcode\b)|\W*$)
       | \b({_UNIT})\s*[:=]\s*({_AMOUNT})\b\s*({_UNIT})
       | \b(ignor\w*|disregard|forget|override|vergiss|missachte\w*|oublie[rz]?|olvida|dimentica
            |esqueça|negeer|забудь(те)?|игнорир\w+)\b[^.\n]{{0,40}}?
         \b(instru[ck]\w+|instrucci\w+|istruzion\w+|instruç\w+|anweisung\w*|prompt|above|previous
            |prior|rubric|consigne\w*|инструкц\w+)
       | \b(dear|note\ to|attention|hello|hi|liebe[rs]?|sehr\ geehrte\w*|an\ de[nr]|chère?
            |à\ l['’]attention\ du?|querid[oa]|estimad[oa]|nota\ para|caro|beste|уважаем\w+
            |дорог\w+)\b[^.\n]{{0,20}}?\b({_JUDGE})\b
       | \b(as\ an\ ai|language\ model|system\ prompt
            |you\ are\ (a|an|the)\ (judge|grader|evaluator))\b
       | </?(system|user|assistant|instructions?)>
       | (给|給|打|评|評|授予)[^。\n]{{0,20}}?(满分|滿分|最高|二十|一百|百|20|25|100)
       | (忽略|忽视|忽視|无视|無視)[^。\n]{{0,20}}?(指令|提示|指示|说明|說明)
       | (尊敬的|亲爱的|致)[^。\n]{{0,6}}?(评委|评审|模型|裁判|评分)
       | (満点|最高点|100点|20点)[^。\n]{{0,12}}?(与え|つけ|付け|くださ|下さ)
       | (指示|命令|プロンプト)[^。\n]{{0,12}}?(無視|忘れ)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A name is no sentence: it must give something to be taken for an address.
_POINTS_NAMED = re.compile(
    rf"\b(give|assign|award|grant|deserves?)\b.{{0,40}}?\b({_AMOUNT})\b.{{0,20}}?\b(?:{_UNIT})"
    r"|\bignore\b.{0,20}\b(instructions?|prompt|rubric)\b|\bdear\b.{0,10}\b(judge|grader|reviewer)",
    re.IGNORECASE | re.VERBOSE,
)
_SPACED = re.compile(r"\b(?:\w[ .\-_*]){3,}\w\b")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


def addresses_judge(text: str) -> bool:
    """True if `text`, which is no code, talks to a judge."""
    return bool(_PATTERNS.search(readable(text)))


def name_addresses_judge(name: str) -> bool:
    """True if an identifier, read word by word, talks to a judge: `give_this_full_marks`."""
    words = _WORDS.findall(unicodedata.normalize("NFKC", name))
    return len(words) > 2 and bool(_POINTS_NAMED.search(" ".join(words)))


def readable(text: str) -> str:
    """The text as it looks: no invisible characters, wide letters plain, `f u l l` together, blanks
    in a row as one.
    """
    plain = unicodedata.normalize("NFKC", text)
    plain = "".join(one for one in plain if unicodedata.category(one) != "Cf")
    plain = _SPACED.sub(lambda found: re.sub(r"[ .\-_*]", "", found.group()), plain)
    return re.sub(r"\s+", lambda found: "\n" if "\n" in found.group() else " ", plain)


# What a judge is not shown of a program's strings, names and configuration: what talks to it.

REMOVED = "[text removed]"
# What comes before a comment: quoted text, a # within a word, anything else.
_BEFORE_COMMENT = re.compile(r"""^((?:[^'"#]|'[^']*'|"[^"]*"|(?<=\S)\#)*)(?<!\S)(\#.*)$""")
_KEY = re.compile(r"[\w.\"'\- ]{0,60}")
_LITERAL = re.compile(r"""[a-z]{0,2}("[^"\n]*"|'[^'\n]*')([\s+,\\()]*)""", re.IGNORECASE)
_SIGN = re.compile("[:=]")
_NAME = re.compile(r"[^\W\d]\w*")
_PROSE = 3  # words that make a value a text
_MANY = 40  # pieces of one text; of more, no part is read again by itself
_SEAM = 300  # characters of a string at which it meets the next: more than any pattern spans


@dataclass(frozen=True)
class Address:
    """Text that addresses a judge, where it stood, and what was done: "gone" with all comments and
    docstrings, "replaced" (a string, a configuration's text), "renamed" (a name).
    """

    file: str
    line: int
    where: str
    text: str
    done: str


def addressing_names(files: Mapping[str, str]) -> dict[str, str]:
    """Each name in Python files that addresses a judge -> a neutral one that no file contains."""
    names = {
        name
        for path, text in sorted(files.items())
        if path.lower().endswith(".py")
        for name in _NAME.findall(text)
    }
    found = sorted(name for name in names if name_addresses_judge(name))
    free = (new for n in range(1, len(names) + len(found) + 1) if (new := f"name_{n}") not in names)
    return dict(zip(found, free, strict=False))


def with_names(code: str, neutral: Mapping[str, str]) -> str:
    """Code with names replaced by neutral ones."""
    return _NAME.sub(lambda found: neutral.get(found.group(), found.group()), code)


def addressing_strings(path: str, tree: ast.AST) -> tuple[list[ast.expr], list[Address]]:
    """The strings of a syntax tree that address a judge, alone or put together from pieces."""
    nodes: dict[int, ast.expr] = {}
    found = []
    ends = cache(_ends)  # or lists in lists would be read over and over
    for pieces in _string_groups(tree):
        group = [node for node in pieces if id(node) not in nodes]
        if not group:
            continue
        texts = [text_of_string(group[0])] if len(group) == 1 else [ends(node) for node in group]
        if any(addresses_judge(between.join(texts)) for between in (" ", "")[: len(texts)]):
            nodes |= {id(node): node for node in group}
            shown = " ".join(" ".join(texts).split())[:200]
            found.append(Address(path, group[0].lineno, "string", shown, "replaced"))
    return list(nodes.values()), found


def _ends(node: ast.expr) -> str:
    text = readable(text_of_string(node))
    return text if len(text) <= 2 * _SEAM else f"{text[:_SEAM]}\n{text[-_SEAM:]}"


def text_of_string(node: ast.AST) -> str:
    """The text of a string or of bytes; of a formatted one its source."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
        return node.value.decode("utf-8", "replace")
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _string_groups(tree: ast.AST) -> Iterator[list[ast.expr]]:
    """Each string that is no docstring; then the strings of one sum, and of one list or call."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from ([one] for one in _strings_below(tree) if id(one) not in docstrings)
    waiting: list[ast.AST] = [tree]
    while waiting:
        node, many = waiting.pop(), False
        if isinstance(node, ast.BinOp | ast.List | ast.Tuple | ast.Set | ast.Call):
            pieces = list(_strings_below(node))
            sentence = isinstance(node, ast.BinOp) or any(" " in text_of_string(p) for p in pieces)
            if sentence and len(pieces) > 1:
                yield pieces
            many = sentence and len(pieces) > _MANY
        waiting += () if many else ast.iter_child_nodes(node)


def _strings_below(node: ast.AST) -> Iterator[ast.expr]:
    """The strings in the order of the text; parts of a formatted one are not apart."""
    waiting = [*ast.iter_child_nodes(node)][::-1]
    while waiting:
        child = waiting.pop()
        if isinstance(child, ast.JoinedStr) or (
            isinstance(child, ast.Constant) and isinstance(child.value, str | bytes)
        ):
            yield child
        else:
            waiting += [*ast.iter_child_nodes(child)][::-1]


def blind_unparsed(path: str, text: str) -> tuple[str, list[Address]]:
    """Python that can't be parsed, or not within bounds: prose, of which nothing is shown if its
    strings side by side address a judge.
    """
    runs: list[list[str]] = []
    end = None
    for literal in _LITERAL.finditer(text):
        runs += [[]] if literal.start() != end else []
        runs[-1].append(literal[1][1:-1])
        end = literal.end()
    for run in runs:
        for between in (" ", ""):
            if len(run) > 1 and addresses_judge(together := between.join(run)):
                shown = " ".join(together.split())[:200]
                return REMOVED, [Address(path, 1, "string", shown, "replaced")]
    return blind_prose(path, text)


def blind_prose(path: str, text: str) -> tuple[str, list[Address]]:
    """Text that is no Python: comments go, and prose that addresses a judge is replaced.

    Values stay as they are: numbers, single words, and whatever has fewer than three words.
    """
    lines, found = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            lines.append("")
            continue
        bare, comment = _without_comment(line)
        if addresses_judge(comment):
            found.append(Address(path, number, "comment", comment.strip()[:200], "gone"))
        head, value = _key_and_value(bare)
        if len(re.findall(r"[^\W\d_]+", value)) >= _PROSE and addresses_judge(value):
            found.append(Address(path, number, "text", value.strip()[:200], "replaced"))
            bare = head + REMOVED
        lines.append(bare.rstrip())
    return "\n".join(lines), found


def _key_and_value(line: str) -> tuple[str, str]:
    """`name: ` and what it is set to; "" and the line if it sets nothing. In linear time."""
    sign = _SIGN.search(line)
    if not sign or not sign.start() or not _KEY.fullmatch(line[: sign.start()].strip()):
        return "", line
    value = line[sign.end() :].lstrip()
    return line[: len(line) - len(value)], value


def _without_comment(line: str) -> tuple[str, str]:
    """What comes before a comment, and the comment."""
    if line.lstrip().startswith("//"):
        return "", line
    found = _BEFORE_COMMENT.match(line)
    return (found[1], found[2]) if found else (line, "")


# Imports between a program's own files, under the neutral names by which a judge sees these.
#
# A module is found as Python finds it: a relative import from the importing file's package, another
# one beside that file, then from the top. A name that several files of other folders share, and
# that says no more, is left as it is: it would name the wrong file.


class ModuleNames:
    """The modules of a program by their dotted paths, each with its file's neutral name."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names`: path -> neutral file name."""
        self._by_path = {
            _dotted(PurePosixPath(path)): name.removesuffix(".py")
            for path, name in names.items()
            if path.endswith(".py")
        }

    def find(self, module: str, importer: str, level: int = 0) -> str | None:
        """The neutral name of what `importer` (a path) means by `module`; None if not its own.

        `level`: the dots before a relative import.
        """
        folders = PurePosixPath(importer).parts[:-1]
        if level:
            if level > len(folders) + 1:
                return None
            above = folders[: len(folders) - (level - 1)]
            return self._by_path.get(".".join([*above, *([module] if module else [])]))
        beside = self._by_path.get(".".join([*folders, module]))
        return beside or self._by_path.get(module) or self._only_one(module)

    def _only_one(self, module: str) -> str | None:
        """A program may put a folder of its own on Python's path: the one module that fits."""
        found = [name for path, name in self._by_path.items() if path.endswith(f".{module}")]
        return found[0] if len(found) == 1 else None


def _dotted(path: PurePosixPath) -> str:
    parts = [*path.parts[:-1], *([] if path.stem == "__init__" else [path.stem])]
    return ".".join(parts)


def neutral_imports(
    tree: ast.AST, path: str, modules: ModuleNames
) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Each import of the program's own modules in `path`, with what a judge sees in its place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            new = _from_import(node, path, modules)
        elif isinstance(node, ast.Import):
            new = _plain_import(node, path, modules)
        else:
            continue
        if new:
            yield node, new


def _from_import(node: ast.ImportFrom, path: str, modules: ModuleNames) -> str:
    """`from package import module` may import files, names of the package, or both."""
    package = node.module or ""
    own = modules.find(package, path, node.level)
    lines, others = [], []
    for alias in node.names:
        module = f"{package}.{alias.name}" if package else alias.name
        file = modules.find(module, path, node.level) if alias.name != "*" else None
        if file is None:
            others.append(alias)
        else:
            lines.append(f"import {file} as {alias.asname or alias.name}")
    if others and own:
        lines.append(ast.unparse(ast.ImportFrom(own, others, 0)))
    elif others and lines:
        lines.append(ast.unparse(ast.ImportFrom(node.module, others, node.level)))
    return "; ".join(lines)


def _plain_import(node: ast.Import, path: str, modules: ModuleNames) -> str:
    found = [modules.find(alias.name, path) for alias in node.names]
    if not any(found):
        return ""
    aliases = [
        ast.alias(file, alias.asname or alias.name) if file else alias
        for file, alias in zip(found, node.names, strict=True)
    ]
    return ast.unparse(ast.Import(aliases))


_SEPARATORS = re.compile("[\x0b\x1c-\x1e\x85\u2028\u2029]")  # lines end there for some readers


@dataclass(frozen=True)
class BlindFile:
    """One file: neutral `name`, `original` path, and `text` with the original's lines."""

    name: str
    original: str
    text: str


@dataclass(frozen=True)
class Blind:
    """A program without its origin, and what in it addressed the judge."""

    files: list[BlindFile]
    addresses: list[Address] = field(default_factory=list)

    def original(self, name: str) -> str | None:
        """The path behind a neutral name, None for any other name."""
        return next((file.original for file in self.files if file.name == name), None)


def blind(program: Sources, stem: str = "file") -> Blind:
    """The program made blind: its files in the order of their paths, as file_1.py, file_2.py, …

    `stem`: another word than "file", since two programs in one prompt must not share names.
    """
    program = replace(
        program, files={name: _with_plain_ends(text) for name, text in program.files.items()}
    )
    names = {
        path: f"{stem}_{n}.{path.rpartition('.')[2]}"
        for n, path in enumerate(sorted(program.files), 1)
    }
    modules = ModuleNames(names)
    addressing = addressing_names(program.files)
    files, addresses = [], []
    for path, name in names.items():
        text = program.files[path]
        python = _python_tree(text) if path.lower().endswith(".py") else None
        if python is None:
            read = blind_unparsed if path.lower().endswith(".py") else blind_prose
            blind_text, found = read(path, text)
        else:
            blind_text, found = _blind_python(path, text, python, modules, addressing)
        files.append(BlindFile(name, path, blind_text))
        addresses += found
    return Blind(files, addresses)


def _with_plain_ends(text: str) -> str:
    """The text with the line ends that Python sees: else its lines were not those that are shown,
    and what looks like a line's end would show as text outside the listing.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "")
    return _SEPARATORS.sub(" ", text)


def _python_tree(text: str) -> ast.Module | None:
    try:
        return parse_python(text)
    except SyntaxError:
        return None


def _blind_python(
    path: str, text: str, tree: ast.Module, modules: ModuleNames, addressing: dict[str, str]
) -> tuple[str, list[Address]]:
    """Python by neutral names, without comments, docstrings, strings that address a judge."""
    lines = text.split("\n")
    strings, in_strings = addressing_strings(path, tree)
    renamed, in_names = _renamed_names(path, text, addressing)
    spans = [
        *_comment_spans(text),
        *_docstring_spans(tree),
        *((*_place_of(node), f'"{REMOVED}"') for node in strings),
        *(_span_of(node, new) for node, new in neutral_imports(tree, path, modules)),
    ]
    covered = [(first, last) for first, last, _ in spans]
    spans = [(first, last, with_names(new, addressing)) for first, last, new in spans]
    spans += [span for span in renamed if not any(a <= span[0] < b for a, b in covered)]
    for first, last, new in sorted(spans, key=lambda span: span[0], reverse=True):
        _replace_span(lines, first, last, new)
    found = [*_in_comments(path, text), *_in_docstrings(path, tree), *in_strings, *in_names]
    return "\n".join(line.rstrip() for line in lines), found


# (line from 1, byte column) of both ends, and what replaces the text between them
Span = tuple[tuple[int, int], tuple[int, int], str]


def _comment_spans(text: str) -> Iterator[Span]:
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            line = token.line.encode()
            column = len(token.line[: token.start[1]].encode())
            yield (token.start[0], column), (token.start[0], len(line.rstrip(b"\r\n"))), ""


def _docstring_spans(tree: ast.AST) -> Iterator[Span]:
    """Every string that is a statement; a body that is nothing else keeps a `...`."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = [child for child in _block_of(node, name) if not _is_string_statement(child)]
            for child in filter(_is_string_statement, _block_of(node, name)):
                yield _span_of(child, "" if block or isinstance(node, ast.Module) else "...")


def _is_string_statement(node: ast.AST) -> bool:
    if not isinstance(node, ast.Expr):
        return False
    value = node.value
    return isinstance(value, ast.JoinedStr) or (
        isinstance(value, ast.Constant) and isinstance(value.value, str | bytes)
    )


def _block_of(node: ast.AST, name: str) -> list[ast.AST]:
    value = getattr(node, name, None)
    return value if isinstance(value, list) else []


def _renamed_names(
    path: str, text: str, addressing: dict[str, str]
) -> tuple[list[Span], list[Address]]:
    """Every name that addresses a judge, by its neutral one; each is reported where it comes
    first.
    """
    if not addressing:
        return [], []
    spans, first_lines = [], dict[str, int]()
    for token in _tokens(text):
        if token.type == tokenize.NAME and token.string in addressing:
            line, column = token.start
            start = len(token.line[:column].encode())
            end = start + len(token.string.encode())
            spans.append(((line, start), (line, end), addressing[token.string]))
            first_lines.setdefault(token.string, line)
    return spans, [
        Address(path, line, "name", name, "renamed") for name, line in first_lines.items()
    ]


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    """The tokens up to what cannot be read."""
    tokens = []
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            tokens.append(token)
    return tokens


def _in_comments(path: str, text: str) -> Iterator[Address]:
    for token in _tokens(text):
        if token.type == tokenize.COMMENT and addresses_judge(token.string):
            yield Address(path, token.start[0], "comment", token.string.strip()[:200], "gone")


def _in_docstrings(path: str, tree: ast.AST) -> Iterator[Address]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and _is_string_statement(node):
            text = text_of_string(node.value)
            if addresses_judge(text):
                shown = " ".join(text.split())[:200]
                yield Address(path, node.lineno, "docstring", shown, "gone")


def _span_of(node: ast.AST, new: str) -> Span:
    return (*_place_of(node), new)


def _place_of(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    start = (getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
    return start, (getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0))


def _replace_span(
    lines: list[str], first: tuple[int, int], last: tuple[int, int], new: str
) -> None:
    """Replace a span (columns in bytes); the lines that it covered stay, empty."""
    head = lines[first[0] - 1].encode()[: first[1]]
    tail = lines[last[0] - 1].encode()[last[1] :]
    lines[first[0] - 1] = (head + new.encode() + tail).decode("utf-8", "replace")
    for at in range(first[0], last[0]):
        lines[at] = ""
