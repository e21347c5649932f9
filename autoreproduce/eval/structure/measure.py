"""Finds the structure of a program: in the sandbox where it can be run, and by its syntax tree for the rest."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.eval.structure.compare import compare
from autoreproduce.eval.structure.syntax import read_syntax
from autoreproduce.sandboxes import open_sandbox

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.task import Task

PROBE = "autoreproduce_probe.py"
SECONDS = 120  # until the second training step; loading data counts


def measure(
    files: Mapping[str, str], command: str, task: Task, settings: Settings, note: Callable[[str], None]
) -> dict[str, Any]:
    """What running the program's first training steps shows, with what its syntax tree adds.

    `files`: path -> text, the data code included. Raises SandboxError where no sandbox works here.
    """
    found: dict[str, Any] = {"source": "", "unseen": []}
    program = program_in(command, files)
    if program is None:
        found["unseen"].append(f"the command {command!r} runs no Python file of the program: only its text was read")
    else:
        found = _probed(files, program, task, settings, note)
    return with_syntax(found, files)


def with_syntax(found: dict[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """Add what the syntax tree says, and take from it what running did not show, where it says one thing."""
    syntax = read_syntax(files)
    found = {**found, "syntax": syntax}
    for key in ("epochs", "batch_size"):
        if key not in found and len(syntax[key]) == 1:
            found[key] = syntax[key][0]
    if "optimizer" not in found and len(syntax["optimizers"]) == 1:
        rates, decays = syntax["learning_rate"], syntax["weight_decay"]
        defaults = {"lr": rates[0]} if len(rates) == 1 else {}
        defaults |= {"weight_decay": decays[0]} if len(decays) == 1 else {}
        found["optimizer"] = {"class": syntax["optimizers"][0], "defaults": defaults, "groups": []}
    return found


def program_in(command: str, files: Mapping[str, str]) -> list[str] | None:
    """The program's file and its arguments in a command such as `python main.py --seed 0`, None where there is none."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation that is not closed
        return None
    while words and "=" in words[0] and not words[0].endswith(".py"):
        words = words[1:]
    if len(words) > 1 and words[0].rpartition("/")[2].startswith("python") and words[1].removeprefix("./") in files:
        return [words[1].removeprefix("./"), *words[2:]]
    return None


def entry_point(files: Mapping[str, str]) -> str:
    """The command that most likely runs a program: main.py, train.py ..., or its one file with a main part."""
    for name in ("main.py", "experiment.py", "train.py", "run.py"):
        if name in files:
            return f"python {name}"
    mains = [name for name, text in files.items() if name.endswith(".py") and "__main__" in text]
    chosen = mains or [name for name in files if name.endswith(".py")]
    return f"python {shlex.quote(chosen[0])}" if len(chosen) == 1 else ""


def _probed(
    files: Mapping[str, str], program: list[str], task: Task, settings: Settings, note: Callable[[str], None]
) -> dict[str, Any]:
    """Run the probe in a sandbox of its own, on a copy: the trial's workspace stays as it is."""
    with tempfile.TemporaryDirectory(prefix="autoreproduce-structure-") as scratch:
        space = Path(scratch) / "workspace"
        sandbox = open_sandbox(
            settings, space, data_dir=task.data_dir, packages=Path(scratch) / "packages",
            label=Path(scratch).name, trusted=False, note=lambda _: None,
        )  # fmt: skip
        try:
            for name, text in {**files, PROBE: Path(__file__).with_name("probe.py").read_text()}.items():
                sandbox.write(name, text.encode())
            done = sandbox.execute(f"python {PROBE} structure.json {SECONDS} {shlex.join(program)}", SECONDS + 60)
            return _read(sandbox.read("structure.json"))
        except (FileNotFoundError, ValueError):
            why = done.stopped or done.stderr.strip()[-300:] or f"exit code {done.exit_code}"
            note(f"structure: the program could not be watched ({why})")
            return {"source": "", "unseen": [f"the program could not be watched: {why}"]}
        finally:
            sandbox.close()


def _read(data: bytes) -> dict[str, Any]:
    """What the probe wrote. The program ran beside it and could have written in its place: it must compare."""
    found = json.loads(data, parse_constant=_no_constant)
    if not isinstance(found, dict) or not isinstance(found.get("unseen"), list):
        raise ValueError("no structure")
    try:
        compare(found, found)
    except (AttributeError, KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"no structure: {error}") from None
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
