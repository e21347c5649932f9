"""What speaks against a number and is known only at the end of its trial, as findings beside it.

Numbers that a program prints and does not compute are constants in its source text. A number
that was computed is no literal of the text, but for the few digits that any two numbers may share.
So a value counts from four digits on, or from three if most of the values are literals. A
number that a text of the source holds with its name ("violations=0") counts with any. What a
program compares its result with (a comparison, an assert, `isclose`) is no such literal.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from math import nan

from autoreproduce.audit.reach import CODE
from autoreproduce.claims.verdicts.trial_verdict import SeedRun
from autoreproduce.files.bounded import parse_python
from autoreproduce.papers.numbers import numbers_in, same_number
from autoreproduce.runner.repeater import Repeater
from autoreproduce.trials.finding import IntegrityFinding
from autoreproduce.trials.integrity import Integrity
from autoreproduce.trials.measurement import Measurement
from autoreproduce.trials.result import Result

SURE_DIGITS, LEAST_DIGITS = 4, 3
MORE_DIGITS = 2  # of a literal than of what is printed of it: others are π, or a coincidence
LARGEST = 500_000  # characters of one source file
_COMPARES = re.compile(r"assert|close|approx|equal|expect|[=!<>]=", re.IGNORECASE)
_NAMED = re.compile(
    r"[A-Za-z_][\w %/-]{2,40}?\s{0,3}[:=]\s{0,3}([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\b"
)
SOURCES = CODE - {".rmd", ".qmd"}  # whose prose may state a result
COMMAND = "its command"  # among the files, under this name
_COMMENT = re.compile(r"//.*|#(?!\s*define).*|(?<!\S)%\s.*")  # of C, C++, R, Julia, MATLAB, a shell


def printed_constants(
    files: Mapping[str, str], values: Mapping[str, Sequence[float]]
) -> dict[str, str]:
    """`main.py, line 3`, by the key of each value that is a literal of the source text there.

    `values`: what the runs gave by key; a number that two runs gave differently was computed.
    """
    single = {key: given[0] for key, given in values.items() if len(set(given)) == 1}
    wanted = {key: value for key, value in single.items() if _digits(value) >= LEAST_DIGITS}
    literals: dict[float, str] = {}
    for name, text in files.items() if wanted else ():
        known = name == COMMAND or name[name.rfind(".") :].lower() in SOURCES
        if known and len(text) <= LARGEST:
            for value, line in _literals(name, text):
                literals.setdefault(abs(value), f"{name}, line {line}")
    found = {
        key: place
        for key, value in wanted.items()
        for literal, place in literals.items()
        if _prints(literal, abs(value))
    }
    most = len(found) > 1 and 2 * len(found) > len(single)
    return {key: at for key, at in found.items() if most or _digits(single[key]) >= SURE_DIGITS}


def _prints(literal: float, value: float) -> bool:
    """Whether a program that has the literal prints this value: as it is, as a fraction or a
    percentage, or rounded (0.88314 as 0.8831).
    """
    digits = _digits(value)
    rounded = digits < _digits(literal) <= digits + MORE_DIGITS
    forms = (literal, literal / 100, literal * 100)
    return any(
        same_number(value, one) or (rounded and same_number(value, float(f"{one:.{digits}g}")))
        for one in forms
    )


def printed_with_their_names(
    files: Mapping[str, str], values: Mapping[str, Sequence[float]], lines: Mapping[str, str]
) -> dict[str, str]:
    """Where a text of the source holds the number with its name, as in print("violations=0"), by
    key: then few digits prove as much as many. `lines`: the printed line of each.
    """
    found = {}
    for key, line in lines.items():
        wanted = [one[0] for one in _NAMED.finditer(line) if float(one[1]) in values[key][:1]]
        for name, text in files.items() if wanted else ():
            if name != COMMAND and name[name.rfind(".") :].lower() not in SOURCES:
                continue
            at = next((n for n, said in _texts(name, text) if any(w in said for w in wanted)), 0)
            if at:
                found[key] = f"{name}, line {at}"
    return found


def _texts(name: str, text: str) -> Iterator[tuple[int, str]]:
    """The texts of a source with their lines: of Python its strings, else its lines of code."""
    try:
        tree = parse_python(text) if name.endswith(".py") and len(text) <= LARGEST else None
    except SyntaxError:
        tree = None
    if tree is None:
        lines = enumerate(text[:LARGEST].splitlines(), 1)
        yield from ((number, _COMMENT.sub("", line)) for number, line in lines)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _digits(value: float) -> int:
    """How many digits the number needs: 3 of 0.0312, 1 of 5000."""
    return len(re.sub(r"e.*|\D", "", f"{value:.12g}").strip("0"))


def _literals(name: str, text: str) -> Iterator[tuple[float, int]]:
    """The numbers of a source text with their lines, also those within its strings."""
    try:
        tree = parse_python(text) if name.endswith(".py") else None
    except SyntaxError:
        tree = None
    if tree is None:
        for number, line in enumerate(text.splitlines(), 1):
            if not _COMPARES.search(code := _COMMENT.sub("", line)):
                yield from ((one.value, number) for one in numbers_in(code))
        return
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if _is_beside_the_result(node):
            continue
        if isinstance(node, ast.Constant):
            yield from ((value, node.lineno) for value in _numbers_of(node.value))
        waiting += ast.iter_child_nodes(node)


def _is_beside_the_result(node: ast.AST) -> bool:
    """True for what checks a result, and for texts that nobody prints: docstrings."""
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
        name = called if isinstance(called, str) else getattr(called, "id", "")
        return _COMPARES.search(name) is not None
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or isinstance(node, ast.Compare | ast.Assert)


def _numbers_of(constant: object) -> list[float]:
    if isinstance(constant, bool):
        return []
    if isinstance(constant, int | float):
        try:
            return [float(constant)]
        except OverflowError:
            return []
    return [one.value for one in numbers_in(constant)] if isinstance(constant, str) else []


def add_printed_constants(
    number: Measurement, result: Result, repeater: Repeater | None, runs: Sequence[SeedRun]
) -> dict[str, str]:
    """Where the source text holds numbers that were not computed, by key; a finding too."""
    first = runs[0]
    own_word = [name for name in first.metrics if name not in first.recounted]
    names = [name for name in own_word if not (first.recomputed and len(runs) == 1)]
    values = {name: [run.metrics.get(name, nan) for run in runs] for name in names}
    files = {**repeater.files, COMMAND: repeater.command} if repeater else {}
    found = printed_constants(files, values)
    lines = {name: number.lines[name] for name in names if name in number.lines}
    found |= printed_with_their_names(files, values, lines)
    if found and (old := number.integrity) is not None:
        shown = "; ".join(f"{name} stands in {place}" for name, place in list(found.items())[:5])
        finding = IntegrityFinding(
            kind="printed",
            text=f"{len(found)} of {len(values)} numbers are printed, not computed: {shown}",
            numbers={name: values[name][0] for name in found},
        )
        word = "void" if old.word == "void" else "doubtful"
        new = old.model_copy(update={"word": word, "findings": [*old.findings, finding]})
        _add_findings(number, result, new)
    return found


def _add_findings(number: Measurement, result: Result, new: Integrity) -> None:
    known = number.integrity.findings if number.integrity else []
    result.warnings += [each.text for each in new.findings if each not in known]
    number.integrity = new
