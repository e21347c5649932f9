"""The package in figures: rooms, layers, sizes. `python tests/tools/rooms.py` prints them.

`tests/test_house.py` checks that imports run down the layers and never in a circle.
"""

from __future__ import annotations

import ast
import collections
import functools
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "autoreproduce"
# A room may import from its own files and from the rooms on lines below its own.
LAYERS = [
    ["__main__"],
    ["plugins"],
    ["plugins/*"],
    ["cli"],
    ["runner"],
    ["solvers"],
    ["evaluation"],
    ["method"],
    ["benchmarks", "audit"],
    ["agents"],
    ["trials"],
    ["claims"],
    ["models", "papers", "sandboxes"],
    ["contracts"],
    ["job"],
    ["files"],
    ["task", "config", "options", "setting_options"],
    ["content"],
    ["extensions"],
    ["errors"],
]
FACE = "__init__"  # the public API, for others: nothing of the package is imported through it


def modules() -> list[Path]:
    """Every file of the package, by path."""
    return sorted(p for p in PACKAGE.rglob("*.py") if "_content" not in p.parts)


def room_of(path: Path) -> str:
    """The folder or loose module at the package's root that a file belongs to; each plugin is a
    room of its own.
    """
    return _room(path.relative_to(PACKAGE).with_suffix("").parts)


def _room(parts: Sequence[str]) -> str:
    parts = [part for part in parts if part != FACE] or [FACE]
    return "/".join(parts[:2]) if parts[0] == "plugins" else parts[0]


def rooms() -> set[str]:
    """Folders and loose modules at the package's root."""
    return {room_of(path) for path in modules()}


def loose() -> list[str]:
    """The modules that lie at the package's root."""
    return [path.stem for path in modules() if path.parent == PACKAGE]


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a file's syntax tree."""
    return list(ast.walk(parsed(path)))


def imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, when it runs or for its types alone."""
    for node in nodes(path):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        if node.module.split(".")[0] == PACKAGE.name:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if _is_module(whole) else node.module


def upward() -> list[str]:
    """Imports that do not run down the layers."""
    wrong = []
    for path in modules():
        own = room_of(path)
        if own == FACE:
            continue
        for module in imports(path):
            other = _room(module.split(".")[1:])
            if other not in (own, FACE) and _level(other) <= _level(own):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {module}")
    return wrong


def _level(room: str) -> int:
    name = "plugins/*" if room.startswith("plugins/") else room
    return next(number for number, names in enumerate(LAYERS) if name in names)


def circles() -> list[list[str]]:
    """Files that import each other in a loop."""
    graph = {_dotted(path): set(imports(path)) for path in modules()}
    found: list[list[str]] = []
    done: set[str] = set()

    def visit(name: str, way: list[str]) -> None:
        if name in way:
            found.append([*way[way.index(name) :], name])
        elif name not in done:
            for other in sorted(graph.get(name, ())):
                visit(other, [*way, name])
            done.add(name)

    for name in graph:
        visit(name, [])
    return found


def trial_readers() -> list[str]:
    """Files that parse a trial's record or result, beside the trial's own class."""
    parse = re.compile(r"\b(Result|TrialRecord)\.model_validate")
    return [
        str(path.relative_to(PACKAGE))
        for path in modules()
        if path.relative_to(PACKAGE).as_posix() != "trials/trial.py"
        and parse.search(path.read_text(encoding="utf-8"))
    ]


def lines_by_room() -> dict[str, int]:
    """The lines of each folder; the modules at the package's root are one."""
    counted: collections.Counter[str] = collections.Counter()
    for path in modules():
        room = room_of(path) if path.parent != PACKAGE else "root"
        counted[room] += len(path.read_text(encoding="utf-8").splitlines())
    return dict(sorted(counted.items()))


def function_lengths() -> dict[str, int]:
    """The lines of every function, by file and name."""
    return {
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}": (node.end_lineno or 0)
        - node.lineno
        + 1
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@functools.cache
def _is_module(dotted: str) -> bool:
    path = PACKAGE.parent / dotted.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def _dotted(path: Path) -> str:
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return name.removesuffix(".__init__")


def figures() -> dict[str, object]:
    """All of it, in the order in which one asks."""
    lengths = sorted(function_lengths().values())
    return {
        "rooms": len(rooms()),
        "loose modules": ", ".join(loose()),
        "lines": lines_by_room(),
        "lines of the kernel": sum(n for r, n in lines_by_room().items() if "/" not in r),
        "lines of plugins": sum(n for room, n in lines_by_room().items() if "/" in room),
        "files": len(modules()),
        "lines in a function: median, 90th percentile, longest": (
            lengths[len(lengths) // 2],
            lengths[len(lengths) * 9 // 10],
            lengths[-1],
        ),
        "readers of a trial's folder": trial_readers(),
        "imports that run up": upward(),
        "circles": circles(),
    }


if __name__ == "__main__":
    for title, value in figures().items():
        print(f"{title}: {value}")
    sys.exit(0)
