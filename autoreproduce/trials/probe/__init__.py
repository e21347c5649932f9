"""What a program is seen doing while it runs: its model, its optimiser, its data, its steps.

`watches` sees PyTorch's own classes being made and called. `first_steps` starts a program and ends
it at its second step (the structure scorer); `whole_run` is loaded before a program that runs as it
always does (dry runs and full runs), and `data_seen` notes the files, rows and seeds of such a run,
whatever library it uses. These four run in the sandbox, put into a
workspace from here. `observation` reads what they wrote.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from autoreproduce.errors import SandboxError
from autoreproduce.trials.probe.observation import LARGEST, ProbedStructure, parse_structure

if TYPE_CHECKING:
    from autoreproduce.files.tree import Tree


FOLDER = ".autoreproduce"  # in the workspace, while a watched program runs
FIRST_STEPS = "autoreproduce_probe.py"
OBSERVED = f"{FOLDER}/observed.json"


def probe_files(*, whole_run: bool) -> dict[str, str]:
    """name -> text of the probe's files: for a run to its end, or for the first steps alone."""
    texts = {
        "autoreproduce_watches.py": _source("watches.py"),
        "autoreproduce_models.py": _source("models_seen.py"),
    }
    if whole_run:
        data = {"autoreproduce_data.py": _source("data_seen.py")}
        return texts | data | {"sitecustomize.py": _source("whole_run.py")}
    return texts | {FIRST_STEPS: _source("first_steps.py")}


def place_probe(tree: Tree) -> None:
    """Put the probe for a whole run into a workspace, new."""
    tree.remove(FOLDER)
    for name, text in probe_files(whole_run=True).items():
        tree.write(f"{FOLDER}/{name}", text)


def watched_command(command: str) -> str:
    """The bash line that runs a simple command with the probe loaded before it."""
    return f'PYTHONPATH="$PWD/{FOLDER}${{PYTHONPATH:+:$PYTHONPATH}}" {command}'


def take_observation(tree: Tree) -> tuple[ProbedStructure | None, str]:
    """What the probe saw and "", or None and why; the probe is taken out of the workspace.

    The program could have written in its place: it is checked like any file of a program.
    """
    try:
        return parse_structure(tree.read(OBSERVED, LARGEST)).without_layers, ""
    except FileNotFoundError:
        return None, "it ended before anything was seen"
    except (SandboxError, ValueError) as error:
        return None, str(error)
    finally:
        tree.remove(FOLDER)


def _source(name: str) -> str:
    return (files("autoreproduce.trials.probe") / name).read_text(encoding="utf-8")
