"""The settings of a run beside those that the paper states, by rule.

The code's come from the command (options, variables), the defaults of its script's options, the
script's constants, and settings files that the command names. The paper's are numbers beside the
setting's own words. A pair is shown with its places, for a rule can meet another sentence.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from autoreproduce.errors import ReaderError
from autoreproduce.files.bounded import parse_python

MOST_ROWS = 25
COLUMNS = ("setting", "the paper", "this run", "")
SPELT = {
    word: n
    for n, word in enumerate(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 2
    )
}
SPELT |= {"twelve": 12, "fifteen": 15, "twenty": 20, "fifty": 50, "hundred": 100, "thousand": 1_000}
WORDS = {"lr": "learning rate", "bs": "batch size", "wd": "weight decay"}
WORDS |= {"batchsize": "batch size"}
NOISE = {"n", "num", "number", "of", "max", "min", "total", "the", "no", "default", "count"}
TOO_COMMON = {
    "data",
    "name",
    "path",
    "dir",
    "file",
    "out",
    "output",
    "device",
    "mode",
    "model",
    "type",
}
NUMBER = r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)(?:=(.*))?")
_PAIR = re.compile(r"([A-Za-z][\w.]*)=(.+)")
_KEY_LINE = re.compile(  # of YAML, JSON, TOML, R or a shell
    rf"""^\s*["']?([A-Za-z][\w.-]*?)["']?\s*(?:[:=]|<-)\s*["']?(-?{NUMBER})["']?\s*,?\s*(?:#.*)?$"""
)


@dataclass(frozen=True)
class Setting:
    """A setting's name as the code has it, its value, and where it comes from."""

    name: str
    value: str
    place: str

    @property
    def words(self) -> str:
        """As a paper would say it: "learning rate" of lr, "episode" of n_episodes."""
        parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", self.name.rpartition(".")[2])
        named = [WORDS.get(part.casefold(), part.casefold()) for part in parts]
        return " ".join(part for part in named if part not in NOISE)


def settings_beside(
    commands: Sequence[str], files: Mapping[str, str], paper: str
) -> list[tuple[str, str, str, str]]:
    """Rows of setting, what the paper says, what this run took and whether they differ: those that
    the paper names first, then those that the command gives.
    """
    there = list(_settings_of(commands, files))
    first: dict[str, Setting] = {}
    for one in there:
        first.setdefault(one.name.casefold().replace("-", "_"), one)
    named, others = [], []
    for one in first.values():
        row = (one.name, "", f"{one.value} ({one.place})", "")
        if stated := _stated(one, paper):
            number, quote = stated
            differs = "" if _same(number, one.value) else "differs"
            named.append((one.name, f"{number} (“{quote}”)", row[2], differs))
        elif one.place == "the command":
            others.append((one.name, "not found", row[2], ""))
    named.sort(key=lambda row: row[3] != "differs")
    return [*named, *others][:MOST_ROWS]


def _settings_of(commands: Sequence[str], files: Mapping[str, str]) -> Iterator[Setting]:
    """What the commands give, then the defaults of what they name, which count where nothing else
    is given.
    """
    named = list[str]()
    for line in commands:
        try:
            tokens = shlex.split(line, comments=True)
        except ValueError:
            tokens = line.split()
        for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
            path = token.removeprefix("./").partition("=")[2] or token.removeprefix("./")
            module = token.replace(".", "/") + ".py"
            named += [one for one in (path, module) if one in files]
            if found := _OPTION.fullmatch(token):
                value = found[2] if found[2] is not None else after
                if value and not value.startswith("--") and re.search(r"\d", value):
                    yield Setting(found[1], value, "the command")
            elif (found := _PAIR.fullmatch(token)) and re.search(r"\d", found[2]):
                yield Setting(found[1], found[2], "the command")
    for name in dict.fromkeys(named):
        yield from _defaults(name, files[name])


def _defaults(name: str, text: str) -> Iterator[Setting]:
    if PurePosixPath(name).suffix != ".py":
        for number, line in enumerate(text.splitlines(), 1):
            if found := _KEY_LINE.match(line):
                yield Setting(found[1], found[2], f"{name}, line {number}")
        return
    with suppress(SyntaxError, ReaderError):
        tree = parse_python(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield from _option(name, node)
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                yield from _constants(name, node)


def _option(name: str, node: ast.Call) -> Iterator[Setting]:
    """The default of an argparse, click or typer option."""
    if getattr(node.func, "attr", "") not in ("add_argument", "option", "Option"):
        return
    texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
    flags = [one for one in texts if isinstance(one, str) and one.startswith("--")]
    value = next((one.value for one in node.keywords if one.arg == "default"), None)
    if flags and value is not None and re.search(r"\d", ast.unparse(value)):
        place = f"{name}, line {node.lineno}, a default"
        yield Setting(flags[0].removeprefix("--"), ast.unparse(value), place)


def _constants(name: str, node: ast.Assign | ast.AnnAssign) -> Iterator[Setting]:
    """Names in capitals that a script gives numbers, also several in one line."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
        left = target.elts if several else [target]  # type: ignore[attr-defined]
        right = node.value.elts if several else [node.value]  # type: ignore[union-attr]
        for one, value in zip(left, right, strict=False):
            shown = ast.unparse(value) if value is not None else ""
            if (
                isinstance(one, ast.Name)
                and one.id.isupper()
                and re.fullmatch(rf"-?{NUMBER}", shown)
            ):
                yield Setting(one.id, shown, f"{name}, line {node.lineno}")


def _stated(setting: Setting, paper: str) -> tuple[str, str] | None:
    """The number that the paper has beside a setting's words, and the words around it."""
    words = [word for word in setting.words.split() if len(word) > 2 and word not in TOO_COMMON]
    if not words or not re.search(r"\d", setting.value):
        return None
    name = r"[\s-]+".join(re.escape(re.sub(r"(?<=..)s$", "", word)) for word in words)
    counted = rf"(?P<n>{NUMBER}|\b(?:{'|'.join(SPELT)})\b)"
    before = rf"(?<![\w.,]){counted}\$?\s+(?:[a-z-]+\s+)?{name}s?\b"
    after = (
        rf"\b{name}s?\s*(?:size\s*)?(?:=|:|of|is|to|was|were|at|set to)?\s*\$?{counted}(?![\w%])"
    )
    for pattern in (after, before):
        if found := re.search(pattern, paper, re.IGNORECASE):
            number = found["n"].casefold().strip(",")
            quote = " ".join(paper[max(0, found.start() - 20) : found.end() + 20].split())
            return str(SPELT.get(number, number)), quote
    return None


def _same(number: str, value: str) -> bool:
    """Whether a value is this number, or a list of so many, or that range."""
    numbers = re.findall(rf"-?{NUMBER}", value)
    with suppress(ValueError):
        wanted = float(number.replace(",", ""))
        return any(float(one.replace(",", "")) == wanted for one in numbers) or (
            len(numbers) > 1 and len(numbers) == wanted
        )
    return False
