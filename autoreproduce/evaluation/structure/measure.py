"""Finds the structure of a program: by running it in the sandbox, and from its syntax tree.

What a program's syntax tree shows: where it cannot be run, and what running does not show.

A number is found under the names that programs give it, in an assignment, an argument's or a
field's default, a keyword argument or a command-line default. All values found for a name are
given: a program may hold one for each profile.
"""

import ast
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from autoreproduce.config import Settings
from autoreproduce.contracts import Execution
from autoreproduce.evaluation.outside_run import OutsideRun
from autoreproduce.files.bounded import parse_python
from autoreproduce.files.owner import temporary_folder
from autoreproduce.files.tree import Tree, UnreadableError
from autoreproduce.sandboxes.counted_run import TrialSandbox
from autoreproduce.sandboxes.package_lists import with_packages
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import Task
from autoreproduce.trials.probe import FIRST_STEPS, probe_files
from autoreproduce.trials.probe.observation import LARGEST, parse_structure

LARGEST_SETTING = 10**15  # no program trains for more epochs; a float holds it exactly
_NAMES = {
    "epochs": re.compile(
        r"(n_|num_|max_|total_|train_)?(epochs?|iterations|n_iter|max_iter)(_num|s)?", re.IGNORECASE
    ),
    "batch_size": re.compile(r"(train_)?(batch_?size|bs)", re.IGNORECASE),
}


def read_syntax(files: Mapping[str, str]) -> dict[str, list[float]]:
    """All values found for `epochs` and for `batch_size`."""
    texts = (text for name, text in files.items() if name.endswith(".py"))
    trees = filter(None, map(_tree_or_none, texts))
    numbers = [pair for tree in trees for pair in _named_numbers(tree)]
    return {
        key: sorted({value for name, value in numbers if pattern.fullmatch(name)})
        for key, pattern in _NAMES.items()
    }


def _tree_or_none(text: str) -> ast.Module | None:
    try:
        return parse_python(text)
    except SyntaxError:
        return None


def _named_numbers(tree: ast.Module) -> Iterator[tuple[str, float]]:
    """(name, number) wherever a number is given a name."""
    for node in ast.walk(tree):
        for name, value in _names_and_values(node):
            number = _constant_number(value)
            if number is not None:
                yield name, number


def _names_and_values(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        yield from ((_identifier(target), node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign):
        yield _identifier(node.target), node.value
    elif isinstance(node, ast.Call):
        yield from ((keyword.arg or "", keyword.value) for keyword in node.keywords)
        yield from _flag_default(node)
    elif isinstance(node, ast.arguments):
        plain = [*node.posonlyargs, *node.args]
        yield from zip(
            (a.arg for a in plain[len(plain) - len(node.defaults) :]), node.defaults, strict=True
        )
        yield from zip((a.arg for a in node.kwonlyargs), node.kw_defaults, strict=True)
    elif isinstance(node, ast.Dict):
        yield from (
            (str(k.value), v)
            for k, v in zip(node.keys, node.values, strict=True)
            if isinstance(k, ast.Constant)
        )


def _flag_default(node: ast.Call) -> Iterator[tuple[str, ast.expr | None]]:
    """`add_argument("--epochs", default=20)`."""
    if (
        _identifier(node.func) == "add_argument"
        and node.args
        and isinstance(node.args[-1], ast.Constant)
    ):
        default = next(
            (keyword.value for keyword in node.keywords if keyword.arg == "default"), None
        )
        yield str(node.args[-1].value).lstrip("-").replace("-", "_"), default


def _identifier(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _constant_number(node: ast.expr | None) -> float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= LARGEST_SETTING else None


WRITTEN = "structure.json"
SECONDS = 120  # until the second training step; loading data counts


def measure(
    files: Mapping[str, str],
    command: str,
    task: Task,
    settings: Settings,
    note: Callable[[str], None],
    run: OutsideRun | None = None,
) -> dict[str, Any]:
    """What running the program's first training steps shows, with what its syntax tree adds.

    `files`: path -> text, the data code included; `run`: what a program from outside needs beside
    itself. Raises SandboxError if no sandbox works here.
    """
    found: dict[str, Any] = {"source": "", "unseen": []}
    needs = run or OutsideRun(command)
    program = program_in(command, {**files, **needs.beside})
    if program is None:
        found["unseen"].append(
            f"the command {command[:300]!r} runs no Python file of the program: "
            "only its text was read"
        )
    else:
        found = _watched_structure(files, program, task, settings, note, needs)
    return with_syntax(found, files)


def with_syntax(found: dict[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """Add what the syntax tree says, and what running did not show if it is unambiguous."""
    syntax = read_syntax(files)
    found = {**found, "syntax": syntax}
    for key in ("epochs", "batch_size"):
        if key not in found and len(syntax[key]) == 1:
            found[key] = syntax[key][0]
    return found


def program_in(command: str, files: Mapping[str, str]) -> list[str] | None:
    """File and arguments of the program in a command such as `python main.py --seed 0`, or None."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation that is not closed
        return None
    while words and "=" in words[0] and not words[0].endswith(".py"):
        words = words[1:]
    if (
        len(words) > 1
        and words[0].rpartition("/")[2].startswith("python")
        and words[1].removeprefix("./") in files
    ):
        return [words[1].removeprefix("./"), *words[2:]]
    return None


def entry_point(files: Mapping[str, str]) -> str:
    """The command that most likely runs a program; "" if no file stands out.

    That is main.py, train.py …, else the one file with a main part, else the only file.
    """
    for name in ("main.py", "experiment.py", "train.py", "run.py"):
        if name in files:
            return f"python {name}"
    mains = [name for name, text in files.items() if name.endswith(".py") and "__main__" in text]
    chosen = mains or [name for name in files if name.endswith(".py")]
    return f"python {shlex.quote(chosen[0])}" if len(chosen) == 1 else ""


def _watched_structure(
    files: Mapping[str, str],
    program: list[str],
    task: Task,
    settings: Settings,
    note: Callable[[str], None],
    needs: OutsideRun,
) -> dict[str, Any]:
    """Run the probe in a sandbox of its own, on a copy: the trial's workspace stays as it is."""
    with temporary_folder("autoreproduce-structure-") as scratch:
        space, own = scratch / "workspace", scratch / "packages"
        place = SandboxSetup(settings, own, task.data_dir, label=scratch.name)
        sandbox = with_packages(place, needs.packages).open(space)
        try:
            done = _run_probe(sandbox, files, program, needs, task.data_dir)
        finally:
            sandbox.close()
        try:
            return parse_structure(Tree(space).read(WRITTEN, LARGEST)).content
        except (UnreadableError, ValueError) as error:
            why = f"no structure ({error})"
        except FileNotFoundError:
            why = done.stopped or done.stderr.strip()[-300:] or f"exit code {done.exit_code}"
    note(f"structure: the program could not be watched ({why})")
    return {"source": "", "unseen": [f"the program could not be watched: {why}"]}


def _run_probe(
    sandbox: TrialSandbox,
    files: Mapping[str, str],
    program: list[str],
    needs: OutsideRun,
    data_dir: Path | None,
) -> Execution:
    for name, text in {**files, **needs.beside, **probe_files(whole_run=False)}.items():
        sandbox.write(name, text.encode())
    command = f"python {FIRST_STEPS} {WRITTEN} {SECONDS} {shlex.join(program)}"
    mount = needs.place.mount
    mounts = {mount: data_dir.resolve()} if mount and data_dir else None
    return sandbox.execute(needs.place.link_line + command, SECONDS + 60, mounts=mounts)
