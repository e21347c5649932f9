"""What a judge is not shown of a program's strings, names and configuration: what talks to it."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from autoreproduce.evaluation.judging.addresses import (
    addresses_judge,
    name_addresses_judge,
    readable,
)

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
