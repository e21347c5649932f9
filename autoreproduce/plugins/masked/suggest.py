"""What `mask` could make of a repository, from its files and one short run of each likely command.

Nothing is decided here: a person reads the proposal, and may take its last line.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from autoreproduce.errors import SandboxError, SourceError
from autoreproduce.evaluation.report.wording import plural
from autoreproduce.files.owner import temporary_folder
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.masked.candidates import MaskableFunction, candidates, not_nested
from autoreproduce.plugins.masked.failing import why_failed
from autoreproduce.plugins.masked.influence import MEASURED
from autoreproduce.plugins.masked.layout import NOT_COPIED, copy_code
from autoreproduce.plugins.masked.masking import read_source
from autoreproduce.plugins.masked.measure_original import MaskRequest, result_of_run
from autoreproduce.plugins.masked.mutants import MOST
from autoreproduce.plugins.masked.parsing import LARGEST, has_numbers, read_results_file
from autoreproduce.plugins.masked.reach import loaded_by, reach
from autoreproduce.plugins.masked.running import seeded
from autoreproduce.sandboxes.setup import SandboxSetup

TRIAL_SECONDS = 60.0
MOST_COMMANDS = 4
LIKELY = ("main", "run", "train", "demo", "experiment", "example")
_COMMAND = re.compile(r"^[ \t]*(?:\$ *)?((?:python3?|bash|sh) +[^\n`#|&;]+?)[ \t]*$", re.MULTILINE)
_SMALLER = re.compile(
    r"add_argument\(\s*[^)]*?(--[\w-]*(?:epoch|iter|step|round|sample|size)[\w-]*)"
)
_DATA = re.compile(r"^(?:\.{0,2}/)?(?:[\w.-]+/)*(?:data|datasets?)(?:/[\w.-]+)*/?$")


@dataclass
class TriedCommand:
    """A command that was tried: how it ended, and what it reached and loaded."""

    command: str
    said: str
    seconds: float
    usable: bool = False
    results: str | None = None  # file with its numbers, where it prints none
    reached: list[MaskableFunction] = field(default_factory=list)
    locked: list[str] = field(default_factory=list)


def suggestion(asked: MaskRequest, place: SandboxSetup) -> str:
    """The proposal as text: commands, data, packages, functions, minutes, and a line to start."""
    files = list(Tree(asked.repository.resolve()).files(skip=NOT_COPIED))
    sources = {file: source for file in files if (source := _tree(asked.repository, file))}
    commands = asked.commands or tuple(likely_commands(asked.repository, files, sources))
    trials: list[TriedCommand] = []
    for command in commands[:MOST_COMMANDS]:
        place.note(f"trying `{command}` for at most {TRIAL_SECONDS:.0f} s")
        trials.append(_tried(asked, place, command))
        if trials[-1].usable:
            break
    lines = ["commands, the likely ones first"]
    lines += [f"  {each.command}: {each.said}" for each in trials] or ["  none was found"]
    lines += [f"  {each}: not tried" for each in commands[len(trials) :]]
    lines += ["", f"packages: {', '.join(packages(files, sources)) or 'none'}"]
    lines += [f"data: {', '.join(_data(asked.repository, sources)) or 'none that its code names'}"]
    if not trials or not trials[-1].usable:
        smaller = sorted(set(_SMALLER.findall("\n".join(map(ast.unparse, sources.values())))))
        hint = f" (it has {', '.join(smaller[:8])})" if smaller else ""
        return "\n".join([*lines, "", f"next: name a command that ends with numbers{hint}"])
    return "\n".join([*lines, *_plan(asked, trials[-1])])


def likely_commands(
    repository: Path, files: Sequence[str], sources: dict[str, ast.Module]
) -> Iterator[str]:
    """Commands of the README whose file is there, then programs by name and depth."""
    seen = set()
    for name in (each for each in files if Path(each).stem.lower() == "readme"):
        for command in _COMMAND.findall(Tree(repository.resolve()).read_text(name)):
            words = command.split()
            if command not in seen and any(word in files for word in words[1:]):
                seen.add(command)
                yield _with_seed(command, sources)
    programs = [file for file, tree in sources.items() if _is_program(tree)]
    programs = [file for file in programs if "test" not in file and file != "setup.py"]
    for file in sorted(programs, key=_likeliness):
        if not any(file in command.split() for command in seen):
            yield _with_seed(f"python {shlex.quote(file)}", sources)


def packages(files: Sequence[str], sources: dict[str, ast.Module]) -> list[str]:
    """The first names of imported modules that are neither Python's nor the repository's."""
    own = {part for file in files for part in (*Path(file).parts[:-1], Path(file).stem)}
    named: set[str] = set()
    for tree in sources.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                named |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                named.add(node.module.partition(".")[0])
    return sorted(named - own - set(sys.stdlib_module_names))


def _tried(asked: MaskRequest, place: SandboxSetup, command: str) -> TriedCommand:
    with temporary_folder("suggest-") as made:
        workspace = made / "w"
        copy_code(asked.repository, workspace)
        with closing(place.open(workspace)) as sandbox:
            done, reached = reach(sandbox, workspace, seeded(command, 0), TRIAL_SECONDS)
            _, locked = loaded_by(sandbox)
            if not done.ok:
                return TriedCommand(command, "; ".join(why_failed(done)), done.seconds)
            read = result_of_run(asked.results, done.stdout, sandbox)
        results = asked.results
        if read.value is None and results is None:
            results = _written(asked.repository, workspace)
    ranked = not_nested(candidates(reached, asked.paper), asked.most_functions)
    if read.value is None and (asked.results or not results):
        ask = "" if asked.results else ": print its numbers as JSON, or write a JSON file"
        said = f"ends in {done.seconds:.0f} s, and {read.how}{ask}"
        return TriedCommand(command, said, done.seconds)
    where = f" in {results}" if results else ""
    count = plural(len(reached), "function")
    said = f"ends with numbers{where} in {done.seconds:.0f} s, {count} reached"
    return TriedCommand(command, said, done.seconds, bool(ranked), results, ranked, locked)


def _written(repository: Path, workspace: Path) -> str | None:
    """The JSON file with numbers that a run wrote, one nearest to the root."""
    before, after = Tree(repository.resolve()), Tree(workspace)
    files = [each for each in after.files(skip=NOT_COPIED) if each.endswith(".json")]
    for name in sorted(files, key=lambda each: (each.count("/"), each)):
        try:
            data = after.read(name, LARGEST)
        except SandboxError:  # too large for results
            continue
        if not before.holds(name, data) and has_numbers(read_results_file(data).value):
            return name
    return None


def _plan(asked: MaskRequest, trial: TriedCommand) -> list[str]:
    """Functions, minutes at most, and the line that starts."""
    count = len(trial.reached)
    runs = 1 + asked.seeds + 2 * MEASURED * count + count * (5 + MOST + 3)
    minutes = max(runs * max(trial.seconds, 0.5) / 60 / asked.workers, 1)
    line = f"autoreproduce mask {shlex.quote(str(asked.repository))} --command "
    line += shlex.quote(trial.command)
    for flag, value in (("results", trial.results), ("data", asked.data_dir)):
        line += f" --{flag} {shlex.quote(str(value))}" if value else ""
    return [
        "",
        "functions that it reaches, the best first (their influence is not measured yet)",
        *(f"  {each.name}: {each.why}" for each in trial.reached),
        "",
        f"at most {runs} runs, about {plural(round(minutes), 'minute')}; most end early",
        f"loaded: {', '.join(trial.locked) or 'no package'}",
        f"next: {line}",
    ]


def _tree(repository: Path, file: str) -> ast.Module | None:
    if not file.endswith(".py"):
        return None
    try:
        return read_source(repository.resolve(), file).tree
    except SourceError:
        return None


def _is_program(tree: ast.Module) -> bool:
    guards = (ast.unparse(each.test) for each in tree.body if isinstance(each, ast.If))
    calls = any(
        isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) for each in tree.body
    )
    return calls or any("__name__" in guard for guard in guards)


def _likeliness(file: str) -> tuple[int, int, str]:
    stem = Path(file).stem.lower()
    return len(Path(file).parts), -sum(word in stem for word in LIKELY), file


def _with_seed(command: str, sources: dict[str, ast.Module]) -> str:
    """The command with `--seed {seed}`, where its program has that option and it names none."""
    own = [sources[word] for word in command.split() if word in sources]
    seeds = any("'--seed'" in ast.unparse(tree) for tree in own)
    return f"{command} --seed {{seed}}" if seeds and "--seed" not in command else command


def _data(repository: Path, sources: dict[str, ast.Module]) -> list[str]:
    """Paths in the code that look like data, and whether they are there."""
    texts = {
        node.value
        for tree in sources.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "/" in node.value
    }
    found = sorted(each for each in texts if len(each) < 100 and _DATA.fullmatch(each))[:8]
    there = {each: (repository / each).exists() for each in found}
    return [each if there[each] else f"{each} (missing)" for each in found]
