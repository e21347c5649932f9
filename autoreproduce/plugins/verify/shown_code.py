"""What a model sees of code before it plans how to run it.

What decides the command comes first: the texts that say how the code is run (README, Makefile,
pyproject.toml, CI, scripts of a shell), then the files that these and the paper name, those beside
the experiment's own words first, then what they import or name themselves, and the rest by their
names. After a run that failed, the files that its error names come before all others.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from autoreproduce.audit.reach import COMMAND, made_elsewhere
from autoreproduce.files.kinds import CODE, KINDS, REMADE, STATING, ending
from autoreproduce.files.notebooks import joined, notebook_cells
from autoreproduce.files.tree import Tree

ABOUT_RUNNING = re.compile(
    r"(?i)(^|/)(readme[^/]*|makefile|[^/]*\.mk|justfile|pyproject\.toml|setup\.(py|cfg)|tox\.ini"
    r"|noxfile\.py|requirements[^/]*\.txt|environment[^/]*\.ya?ml|pipfile|description|project\.toml"
    r"|dockerfile|[^/]*\.sh)$|^\.github/workflows/[^/]*\.ya?ml$|^\.gitlab-ci\.yml$"
)
EXPERIMENT_ROOM = 7_000  # characters
LONGEST_PARAGRAPH = 2_500  # of one paragraph
FEWEST_WORDS = 8  # of a paragraph that says anything
_SETTINGS = re.compile(
    r"(?i)\b(seeds?|runs?|episodes?|epochs?|repetitions?|repeat\w*|replicat\w*|trials?|samples?"
    r"|iterations?|steps?|batch|learning rate|average[ds]?|mean over|horizon|splits?|folds?"
    r"|hyper-?parameters?|settings?|default|evaluat\w+|simulat\w+|we (?:use|set|run|train|draw)"
    r"|scripts?|commands?|code)\b|[A-Za-zα-ω]\$?\s*=\s*\$?\d"
)
MOST_SHOWN, MOST_NAMES = 6_000, 300  # characters of an error, files of a prompt
MOST_ASKED = 3  # files that a model may ask for
ROOM, OF_A_TEXT, OF_A_SCRIPT = 70_000, 8_000, 16_000  # characters: of all, of a file
FEWEST = 1_200  # characters of a file that is shown in part
HOW_IT_STARTS = re.compile(
    r"\s*(import |from \S+ import |if __name__|def main|@\w+\.(option|argument|command))"
    r"|.*(add_argument\(|sys\.argv|environ)"
)
ABOUT_IN_WORDS = re.compile(r"(?i)(readme[^/]*|\.(md|rst|txt))$")
CALLED = re.compile(r"add_argument\(|\.(option|argument)\(")  # may go on over several lines
LONGEST_CALL, BEFORE = 15, 3  # lines of an option; before a command
AROUND = 40  # lines around one that an error names
LARGEST = 200_000  # bytes of a file whose beginning is shown
_IMPORT = re.compile(r"^\s*(?:from\s+(\.*[\w.]*)\s+import\s+([^#\n]+)|import\s+([\w., ]+))", re.M)
_LINE = re.compile(r"""File "([^"]+)", line (\d+)|([\w./-]+\.\w+):(\d+)""")


def shown_code(
    workspace: Path,
    about: str,
    paper: str = "",
    error: str = "",
    withhold: Callable[[str], str] = str,
) -> dict[str, Any]:
    """The prompt's variables. `about`: what is looked for, whose words say which scripts matter;
    `paper`: a text that may name files; `error`: how a run of the code failed; `withhold`: takes
    the paper's results out of a document.
    """
    tree = Tree(workspace)
    files = [(e.name, e.size) for e in tree.walk(REMADE) if e.kind == "file"]
    readable = [name for name, size in files if 0 < size < LARGEST]
    code = _Code(tree, [name for name in readable if ending(name) in KINDS], withhold)
    texts = sorted(filter(ABOUT_RUNNING.search, readable), key=_of_texts)
    wanted = _Wanted(about)
    said = [code.text(name) for name in texts] + [paper]
    failed = code.named(error) if error else []
    first = code.ranked(said, wanted)
    then = code.reached([*failed, *first])
    names = [
        name
        for name in readable
        if ending(name) in CODE and not made_elsewhere(name, code.text(name))
    ]
    rest = scripts_first(names, "\n".join(said), about)
    order = list(dict.fromkeys([*failed, *texts, *first, *then, *rest]))
    lines = _lines_of(error)
    shown, left = list[tuple[str, str]](), ROOM
    for name in order:
        most = OF_A_TEXT if name in texts and name not in first else OF_A_SCRIPT
        first_shown = wanted if ABOUT_IN_WORDS.search(name) else None
        text = _part(code.text(name), min(most, left), lines.get(name, ()), first_shown)
        if left < FEWEST:
            break
        left -= len(text)
        shown.append((name, text))
    unnamed = max(0, len(files) - MOST_NAMES)
    return {"files": files[:MOST_NAMES], "unnamed": unnamed, "shown": shown}


def files_asked_for(
    workspace: Path, names: Iterable[str], withhold: Callable[[str], str] = str
) -> str:
    """The texts of files that a model asked to see, the first few, or that one isn't there."""
    tree = Tree(workspace)
    there = {e.name: e.size for e in tree.walk(REMADE) if e.kind == "file"}
    code, parts = _Code(tree, [], withhold), list[str]()
    for asked in islice(names, MOST_ASKED):
        name = asked.strip().removeprefix("./")
        if not 0 < there.get(name, 0) < LARGEST:
            parts.append(f"## {name[:200]}\n(no such text file)")
            continue
        parts.append(f"## {name}\n~~~~\n{_part(code.text(name), ROOM // MOST_ASKED, ())}\n~~~~")
    return "\n\n".join(parts)


def _of_texts(name: str) -> tuple[int, bool, str]:
    """READMEs first, those of the root before others, lists of packages last."""
    packages = bool(re.search(r"(?i)requirements|environment|pipfile", name))
    return name.count("/") + 2 * packages, "readme" not in name.lower(), name


class _Wanted:
    """What is looked for: words, and tables and figures by their numbers."""

    def __init__(self, about: str) -> None:
        self.words = set(_words(about))
        numbered = re.findall(r"(?i)\b(tab|fig)\w*\.?\s*(\d+)", about)
        self.numbers = [
            re.compile(rf"(?i){kind}(?:le|ure)?s?[\s_.:-]*0*{number}(?!\d)")
            for kind, number in dict.fromkeys((kind.lower(), number) for kind, number in numbered)
        ]

    def score(self, text: str) -> int:
        """How much a text has of it; a table's number counts three times."""
        return len(self.words & set(_words(text))) + 3 * sum(
            bool(pattern.search(text)) for pattern in self.numbers
        )


class _Code:
    """The code's files, and which of them a text means."""

    def __init__(self, tree: Tree, names: Sequence[str], withhold: Callable[[str], str]) -> None:
        self.tree, self.names, self.withhold = tree, names, withhold
        self.texts: dict[str, str] = {}
        self.by_end: dict[str, list[str]] = {}
        for name in names:
            parts = name.split("/")
            for start in range(len(parts)):
                self.by_end.setdefault("/".join(parts[start:]), []).append(name)

    def text(self, name: str) -> str:
        """A file's text; of a notebook the code of its cells, of a document without results."""
        if name not in self.texts:
            text = self.tree.read_text(name)
            text = _cells(text) if name.endswith(".ipynb") else text
            self.texts[name] = self.withhold(text) if ending(name) in STATING else text
        return self.texts[name]

    def named(self, text: str) -> list[str]:
        """The files that a text names: by a path, or as a module (`python -m a.b`, "a.b:main")."""
        found = []
        for token in re.findall(r"[\w./\\-]+", text):
            path = token.replace("\\", "/").strip(".").removeprefix("/")
            module = path.replace(".", "/")
            for end in (path, path.rpartition("workspace/")[2]):
                found += self.by_end.get(end, [])[:3]
            if "." in token:
                found += self._module(module)
        found += [file for each in re.findall(r"-m\s+(\w+)\b", text) for file in self._module(each)]
        return list(dict.fromkeys(found))

    def _module(self, path: str) -> list[str]:
        ends = (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py")
        return [file for end in ends for file in self.by_end.get(end, [])[:2]]

    def ranked(self, texts: Iterable[str], wanted: _Wanted) -> list[str]:
        """The files that texts name, those first whose own names, or the lines around which they're
        named, have most of what is wanted; then in the order of the texts.
        """
        best: dict[str, int] = {}
        for text in texts:
            lines = text.splitlines()
            for number, line in enumerate(lines):
                for name in self.named(line):
                    near = "\n".join(lines[max(0, number - 2) : number + 2])
                    score = wanted.score(near) + 2 * wanted.score(name.replace("_", " "))
                    best[name] = max(score, best.get(name, 0))
        return sorted(best, key=lambda name: -best[name])

    def reached(self, names: Sequence[str]) -> list[str]:
        """What these files import or name, and what those do."""
        found, waiting = list(names), list(names)
        while waiting and len(found) < MOST_NAMES:
            name = waiting.pop(0)
            text = self.text(name)
            new = [*self._imported(name, text), *self._called(text)]
            new = [one for one in dict.fromkeys(new) if one not in found]
            found += new
            waiting += new
        return found[len(names) :]

    def _imported(self, name: str, text: str) -> list[str]:
        """The files that a Python text imports."""
        found = []
        for source, names, plain in _IMPORT.findall(text) if ending(name) != ".json" else ():
            for module in re.findall(r"[\w.]+", plain) if plain else [source]:
                dots = len(module) - len(module.lstrip("."))
                path = module.lstrip(".").replace(".", "/")
                if dots:
                    folder = PurePosixPath(name).parents[min(dots, name.count("/") + 1) - 1]
                    path = str(folder / path) if path else str(folder)
                inner = [f"{path}/{one}" for one in re.findall(r"\w+", names)] if names else []
                for one in (*inner, path):
                    found += self._module(one.removeprefix("./"))
        return found

    def _called(self, text: str) -> list[str]:
        """The scripts and settings that a text names in quotation marks or commands."""
        ends = "|".join(sorted(re.escape(one) for one in CODE - {".json"}))
        return self.named(" ".join(re.findall(rf"(?i)[\w./-]+(?:{ends})(?!\w)", text)))


def _cells(text: str) -> str:
    """The source of a notebook's cells of code, its texts as comments."""
    try:
        parts = []
        for number, cell in enumerate(notebook_cells(text), 1):
            source = joined(cell.get("source", ""))
            if cell.get("cell_type") != "code":
                source = "\n".join(f"# {line}" for line in source.splitlines())
            parts.append(f"# cell {number}\n{source}")
    except (ValueError, TypeError):
        return text
    return "\n".join(parts)


def _lines_of(error: str) -> dict[str, list[int]]:
    """The lines that an error names, by the file's path below the code's folder."""
    found: dict[str, list[int]] = {}
    for one in _LINE.finditer(error):
        name = (one[1] or one[3]).rpartition("workspace/")[2].removeprefix("./")
        found.setdefault(name, []).append(int(one[2] or one[4]))
    return found


def _part(text: str, most: int, lines: Sequence[int], about: _Wanted | None = None) -> str:
    """A text whole if it's short, else its beginning, what is around these lines, and what further
    down says how it's run: imports, options, the entry point. Of a README (`about` is what is
    looked for) these are its commands, those beside the wanted words first.
    """
    if len(text) <= most:
        return text
    below = text.splitlines()
    head, size = 0, 0
    while head < len(below) and size + len(below[head]) < most // 2:
        size += len(below[head]) + 1
        head += 1
    kept = set(range(head))
    for line in lines:
        kept |= {*range(max(0, line - AROUND), min(len(below), line + AROUND))}
    if about is None:
        for n in range(head, len(below)):
            if HOW_IT_STARTS.match(below[n]):
                kept |= {*range(n, _end_of_call(below, n))}
    else:
        kept |= _commands_of(below, head, most - size, about)
    shown, last = list[str](), -1
    for number in sorted(kept):
        shown += ["…"] if number != last + 1 else []
        shown.append(below[number])
        last = number
    return "\n".join([*shown, *(["…"] if last < len(below) - 1 else [])])[:most]


def _end_of_call(lines: Sequence[str], start: int) -> int:
    """The line after an option's declaration that may go on over several lines."""
    if not CALLED.search(lines[start]):
        return start + 1
    depth, most = 0, min(len(lines), start + LONGEST_CALL)
    for number in range(start, most):
        plain_line = re.sub(r"""(["']).*?\1""", "", lines[number])
        depth += sum(plain_line.count(c) for c in "([{") - sum(plain_line.count(c) for c in ")]}")
        if depth <= 0:
            return number + 1
    return most


def _commands_of(lines: Sequence[str], start: int, room: int, about: _Wanted) -> set[int]:
    """The lines of commands below `start` and those before each, while there is room for them."""
    found = [n for n in range(start, len(lines)) if COMMAND.match(lines[n])]

    def near(number: int) -> int:
        return about.score("\n".join(lines[max(0, number - 4) : number + 2]))

    kept: set[int] = set()
    for number in sorted(found, key=lambda number: (-near(number), number)):
        new = {*range(max(start, number - BEFORE), number + 1)} - kept
        room -= sum(len(lines[n]) + 3 for n in new)
        if room < 0:
            break
        kept |= new
    return kept


def scripts_first(names: Sequence[str], told: str, about: str) -> list[str]:
    """Scripts whose names share most words with `about` first, then those that a README names."""
    words = set(_words(about))

    def rank(name: str) -> tuple[bool, int, bool, int, str]:
        base = PurePosixPath(name).name
        shared = len(words & set(_words(name)))
        return base.startswith("test"), -shared, base not in told, name.count("/"), name

    return sorted(names, key=rank)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]{4,}", text.lower())


def experiment_text(paper: str, about: Sequence[str]) -> str:
    """The paragraphs of a paper that say most of the experiment's settings, in their order.

    `about`: the experiment's name, and what its claims are called.
    """
    words = {word for text in about for word in re.findall(r"[a-z]{4,}", text.casefold())}
    numbered = re.findall(r"(?i)\b(tab|fig)\w*\.?\s*(\d+)", " ".join(about))
    places = [
        re.compile(rf"(?i)\b{kind}\w*\.?[\s~]*{number}\b")
        for kind, number in dict.fromkeys((kind.lower(), number) for kind, number in numbered)
    ]
    parts = [part.strip() for part in re.split(r"\n\s*\n", paper)]

    def score(part: str) -> float:
        if len(re.findall(r"[A-Za-z]{2,}", part)) < FEWEST_WORDS or part.lstrip().startswith("|"):
            return 0.0
        there = set(re.findall(r"[a-z]{4,}", part.casefold()))
        named = sum(bool(place.search(part)) for place in places)
        settings = len({found[0].casefold() for found in _SETTINGS.finditer(part)})
        return 2.0 * named + min(len(words & there), 4) + min(settings, 5)

    ranked = sorted(range(len(parts)), key=lambda n: (-score(parts[n]), n))
    kept, room = list[int](), EXPERIMENT_ROOM
    for number in ranked:
        size = min(len(parts[number]), LONGEST_PARAGRAPH)
        if score(parts[number]) < 2 or size > room:
            continue
        kept.append(number)
        room -= size
    return "\n\n".join(parts[number][:LONGEST_PARAGRAPH] for number in sorted(kept))
