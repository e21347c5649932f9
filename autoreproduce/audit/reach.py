"""Which files of a program a command reaches: those it names, what these import, name or run, and
so on.

A word is looked up among the program's paths: a path, a path without its ending, a dotted name, a
class in a module. It's looked for beside the text in which it stands first, then in the folders
above, then anywhere if it's a longer name or there is only one. The words are those of a command
or a script of a shell, the imports and the strings of a program, the values of a configuration.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import normpath

from autoreproduce.files.kinds import CONFIGURATION, KINDS, PROSE, PYTHON, SHELL, kind_of

RUN = (".py", ".sh", ".m", ".jl", ".r", ".R", ".ipynb")  # what a command may name without it
RUN_BY_NAME = {"make": "Makefile", "snakemake": "Snakefile"}  # a command without its file
DISTRIBUTION = ("setup.py", "setup.cfg", "pyproject.toml")  # name the commands they install
WRITTEN = {".json", ".conf", "makefile", "dockerfile", "snakefile"}  # or are other words
MOST_REACHED = 2_000  # files
LONGEST = 300  # characters of a word that names a file

COMMAND = re.compile(  # a line of a README that runs something
    r"\s*([$>%!`]+\s*)?(\w+=\S+\s+)*(\./\S+|(python[\d.]*|bash|sh|zsh|make|Rscript|julia|jupyter|uv"
    r"|poetry|conda|pip[\d.]*|docker|torchrun|accelerate|mpirun|sbatch|source|export|cd)\s+\S)"
)
MOST_TOLD = 60  # commands that texts name
_COMMANDS = re.compile(r"&&|\|\||[;|&\n]")
_WORDS = re.compile(r"[^\s\"'`=,;|&<>(){}\[\]]+")
_VARIABLE = re.compile(r"^.*(?:\$\{?\w+\}?|%~?\w+%?)[/\\]?")  # up to the last of a word
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)"
    r"|import[ \t]+([\w.,; \t]+))",
    re.MULTILINE,
)
_STRING = re.compile(r"\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|<([\w./-]{1,100})>")
_VALUE = re.compile(r"(?<![\w-])([\w-]+)[\"']?[ \t]*[:=][ \t]*[\"']?([\w./-]+)")
_PAIR = re.compile(r"(?<![\w./])([\w./]+)=([\w.-]+)")
_LISTED = re.compile(r"^[ \t]*-[ \t]+([\w/-]+)[ \t]*$", re.MULTILINE)


_COPIED = re.compile(r"(^|/)(node_modules|bower_components|site_libs|[^/]+_files/libs)/")
LONG_LINES = 400  # characters of a line on average: nobody writes or reads these


def made_elsewhere(path: str, text: str) -> str:
    """Why nobody here wrote a file: a library of pages that came along, or minified; "" of what
    somebody may have written.
    """
    if _COPIED.search(path):
        return "a library that came along"
    long = len(text) > LONG_LINES * (text.count("\n") + 1)
    return "minified" if long and kind_of(path) in (".js", ".ts") else ""


def told_commands(files: Mapping[str, str]) -> list[str]:
    """The commands in a program's READMEs and other texts for people, each after its file and
    line: what they set isn't left at its default.
    """
    found = []
    for path in sorted(files, key=lambda path: (path.count("/"), path)):
        if kind_of(path) not in PROSE:
            continue
        text = re.sub(r"\\\r?\n[ \t]*", "\0", files[path])  # a command that goes on keeps its line
        at = 1
        for line in text.split("\n"):
            if COMMAND.match(line):
                found.append(
                    f"{path}:{at}: {' '.join(line.replace(chr(0), ' ').split())[:LONGEST]}"
                )
            at += 1 + line.count("\0")
    return found[:MOST_TOLD]


@dataclass(frozen=True)
class Word:
    """What may name a file. `folders`: where it's looked for, in their order; `anywhere`: also in
    all others; `endings`: what it may lack.
    """

    text: str
    folders: tuple[str, ...]
    anywhere: bool = False
    endings: tuple[str, ...] = ()


class ProgramFiles:
    """A program's files (text by path), and which of them a word names."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files
        self.by_name: dict[str, list[str]] = {}
        self.folders = {""}
        self.known: dict[Word, str | None] = {}
        for path in files:
            self.by_name.setdefault(path.rpartition("/")[2], []).append(path)
            self.folders |= {str(one) for one in PurePosixPath(path).parents if str(one) != "."}

    def reached(self, command: str) -> dict[str, int]:
        """The files that `command` names, 0; what they name, 1; and so on, in the order in which
        they're reached.
        """
        found, waiting = dict[str, int](), deque[tuple[str, str]]()

        def add(path: str, home: str, distance: int) -> None:
            if path not in found and len(found) < MOST_REACHED:
                found[path] = distance
                waiting.append((path, home))

        for path, home in self._of_shell(command, "", ""):
            add(path, home, 0)
        while waiting:
            path, home = waiting.popleft()
            for other, its_home in self._of_file(path, home):
                add(other, its_home, found[path] + 1)
        return found

    def lacking(self, command: str) -> list[str]:
        """The files that a command names and that aren't there."""
        words = [word for line in _COMMANDS.split(command) for word in _WORDS.findall(line)]
        named = [
            word
            for word in words
            if kind_of(word) in KINDS - WRITTEN and not re.search(r"[$%*:]", word)
        ]
        there = {path.rpartition("/")[2] for path, _ in self._of_shell(command, "", "")}
        return [word for word in named if _slashes(word).rpartition("/")[2] not in there]

    def _of_file(self, path: str, home: str) -> Iterator[tuple[str, str]]:
        """The files that a file names, each with the folder in which it runs, or from which it
        imports.
        """
        text, kind = self.files[path], kind_of(path)
        up = _upwards(_folder(path))
        if kind in SHELL:
            yield from self._of_shell(text, home, _folder(path))
            return
        if kind in PYTHON:
            magics = "\n".join(re.findall(r"^#? ?[!%](?:run )?(.+)$", text, re.MULTILINE))
            yield from self._of_shell(magics, home, _folder(path))
        words: Iterator[Word]
        if kind in CONFIGURATION:
            words = _configured(text, up)
        elif kind == ".m":  # a function is called by its file's name
            names = dict.fromkeys(re.findall(r"[A-Za-z]\w*", text))
            words = (Word(f"{name}.m", up, anywhere=True) for name in names)
        else:
            words = _imported(text, path, home, kind)
        for word in words:
            if (other := self.named(word)) and other != path:
                yield other, home
        for string in _strings(text) if kind not in CONFIGURATION else ():
            if (other := self.named(Word(string, (home, *up), anywhere=True))) and other != path:
                yield other, home

    def _of_shell(self, text: str, home: str, beside: str) -> Iterator[tuple[str, str]]:
        """The files that commands name, run in the folder `home`; `beside`: the script's own."""
        at = home
        for line in _COMMANDS.split(re.sub(r"[\\^`]\r?\n", " ", text)):
            words = [_VARIABLE.sub("", word) for word in _WORDS.findall(line)]
            if words[:1] == ["cd"]:
                at = self._entered(at, words[1]) if len(words) > 1 else at
                continue
            pairs = [f"{one}/{other}" for one, other in _PAIR.findall(line)]
            places = tuple(dict.fromkeys((at, *_upwards(beside))))
            for word in [RUN_BY_NAME.get(one, one) for one in [*words, *pairs]]:
                path = self.named(Word(f"{word.replace('.', '/')}/__main__.py", places))
                path = path or (self._installed(word) if word in words[:3] else None)
                path = path or self.named(Word(word, places, True, (*RUN, *CONFIGURATION)))
                if path is not None:
                    script = kind_of(path) in PYTHON and path.endswith(_slashes(word))
                    yield path, _folder(path) if script else at

    def _entered(self, at: str, word: str) -> str:
        """The folder after `cd WORD`: that one, or one of the program by its end, else the same."""
        parts = PurePosixPath(_slashes(word)).parts
        for start in range(len(parts)):
            folder = _joined(at if start == 0 else "", "/".join(parts[start:]))
            if folder is not None and folder in self.folders:
                return folder
        return at

    def _installed(self, word: str) -> str | None:
        """The module of a command that the program's own distribution installs."""
        if not re.fullmatch(r"[\w-]+", word):
            return None
        entry = re.compile(rf"[\"'\s]{re.escape(word)}[\"']?\s*=\s*[\"']?([\w.]+):")
        for path in (path for name in DISTRIBUTION for path in self.by_name.get(name, ())):
            if found := entry.search(self.files[path]):
                return self.named(Word(found[1], (_folder(path),), True, (".py",)))
        return None

    def named(self, word: Word) -> str | None:
        """The file that a word names."""
        if word not in self.known:
            self.known[word] = self._looked_up(word)
        return self.known[word]

    def _looked_up(self, word: Word) -> str | None:
        path = _slashes(word.text).removeprefix("./")
        if len(path) > LONGEST or path.endswith("/") or not re.search(r"[A-Za-z]", path):
            return None
        dotted = path.replace(".", "/") if "/" not in path.strip("/") or word.endings else path
        modules = [dotted, dotted.rpartition("/")[0]] if "." in path else [dotted]
        endings = word.endings or (".py",)
        forms = [path] if "." in path or path in self.by_name else []
        for module in filter(None, modules):
            forms += [f"{module}{ending}" for ending in endings]
            forms.append(f"{module}/__init__.py")
        for form in forms:
            for folder in word.folders:
                there = _joined(folder, form)
                if there is not None and there in self.files:
                    return there
        long = "/" in path or "." in path
        for form in forms if word.anywhere else ():
            if (there := self._by_end(form, word.folders[0], long)) is not None:
                return there
        return None

    def _by_end(self, form: str, near: str, long: bool) -> str | None:
        """The file whose path ends like this, or that ends this path; of several the nearest to
        the folder `near`, if the word is `long`.
        """
        name = form.rpartition("/")[2]
        if name.startswith("__") and "/" not in form:
            return None
        parts = PurePosixPath(form.lstrip("/")).parts
        whole = "/".join(parts)
        ends = [path for path in self.by_name.get(name, ()) if path.endswith(f"/{whole}")]
        if len(ends) == 1 or (ends and long):
            return min(ends, key=lambda path: (-_shared(path, near), path.count("/"), path))
        outside = ("/".join(parts[start:]) for start in range(1, len(parts)))
        return next((path for path in outside if path in self.files and len(parts) > 1), None)


def _imported(text: str, path: str, home: str, kind: str) -> Iterator[Word]:
    """The modules that a program imports."""
    up = _upwards(_folder(path))
    places = tuple(dict.fromkeys((home, *up, "src", "lib")))
    endings = (kind,) if kind not in PYTHON else (".py",)
    for source, names, plain in _IMPORT.findall(text):
        inner = re.findall(r"(\w+)(?:[ \t]+as[ \t]+\w+)?", names)
        if source.startswith("."):
            dots = len(source) - len(source.lstrip("."))
            folders = [str(one) for one in PurePosixPath(path).parents]
            base = folders[min(dots, len(folders)) - 1].removeprefix(".")
            module = source.lstrip(".").replace(".", "/")
            for name in [*inner, ""]:
                inside = "/".join(filter(None, (module, name)))
                yield Word(inside or "__init__.py", (base,), endings=endings)
            continue
        modules = re.findall(r"([\w.]+)(?:[ \t]+as[ \t]+\w+)?", plain) if plain else [source]
        for module in modules:
            if module.partition(".")[0] in sys.stdlib_module_names and kind in PYTHON:
                top = module.partition(".")[0]
                yield Word(top, (home, _folder(path)), endings=endings)  # one of its own
                continue
            parts = module.split(".")
            for end in range(1, len(parts)):  # packages run before what is inside
                yield Word("/".join(parts[:end]) + "/__init__.py", places)
            for name in inner:
                yield Word(f"{module}.{name}", places, True, endings)
            yield Word(module, places, True, endings)


def _strings(text: str) -> Iterator[str]:
    """The words of a program's strings that may name a file or a class."""
    seen = set[str]()
    for found in _STRING.finditer(text):
        for word in re.findall(r"[\w./\\-]+", found[1] or found[2] or found[3]):
            named = kind_of(word) in KINDS or re.fullmatch(r"\w+(?:\.\w+){2,}", word)
            if named and word not in seen:
                seen.add(word)
                yield word


def _configured(text: str, folders: tuple[str, ...]) -> Iterator[Word]:
    """The files, classes and other configurations that a configuration names."""
    for word in dict.fromkeys(re.findall(r"(?<![\w./\\-])[\w./\\-]+", text)):
        if re.search(r"[./\\]", word) and not re.fullmatch(r"[\d.eE+-]+", word):
            yield Word(word, folders, True, (".py", *CONFIGURATION))
    for group, value in _VALUE.findall(text):
        yield Word(f"{group}/{value}", folders, endings=CONFIGURATION)
    for value in _LISTED.findall(text):
        yield Word(value, folders[:1], endings=CONFIGURATION)


def _slashes(word: str) -> str:
    return word.strip("\"'`,:").replace("\\", "/")


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _upwards(folder: str) -> tuple[str, ...]:
    """A folder and those above it, the root ("") last."""
    parts = folder.split("/") if folder else []
    return tuple("/".join(parts[:end]) for end in range(len(parts), -1, -1))


def _joined(folder: str, path: str) -> str | None:
    """A path in a folder without `..`; None if it leaves the program."""
    whole = normpath(f"{folder}/{path}" if folder else path)
    if whole.startswith(("..", "/")):
        return None
    return "" if whole == "." else whole


def _shared(path: str, folder: str) -> int:
    """How many folders a path and a folder have in common from the root."""
    pairs = zip(path.split("/"), folder.split("/"), strict=False)
    count = 0
    for one, other in pairs:
        if one != other:
            break
        count += 1
    return count
