"""A task of one program, `main.py`, with the numbers that it gives."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from autoreproduce.config import Settings
from autoreproduce.plugins.autoexperiment.dataset import Experiment, MaskedPaper, MaskRow
from autoreproduce.plugins.autoexperiment.outcome import TaskOutcome, judge
from autoreproduce.plugins.autoexperiment.selection import MaskedTask
from autoreproduce.plugins.autoexperiment.taskset import PaperSet
from autoreproduce.sandboxes.setup import SandboxSetup


def hand_made(folder: Path, source: str, *names: str, seeds: int = 0) -> MaskedTask:
    """The task with these functions masked; with `seeds`, gold of so many."""
    code = folder / "p" / "code"
    code.mkdir(parents=True)
    (code / "main.py").write_text(source)
    golds = {str(seed): numbers_of(code, seed) for seed in range(max(seeds, 1))}
    ids = tuple(map(str, range(len(names))))
    rows = tuple(
        MaskRow("p", number, "main.py", name.rpartition(".")[2], None, None, None, "", "")
        for number, name in zip(ids, names, strict=True)
    )
    experiment = Experiment("p", "0", "", golds["0"], ids, "SEED=$SEED python main.py")
    made = PaperSet(
        seeds=list(range(max(seeds, 1))),
        golds={"0": golds} if seeds else {},
        addresses=dict(zip(ids, names, strict=True)),
        timeout=30,
    )
    paper = MaskedPaper("p", "", folder / "p", rows, (experiment,), made)
    solution = f"echo Experiment 1\n{experiment.solution}\n"
    return MaskedTask(paper, rows, "", solution, {"Experiment 1": golds["0"]}, ("0",))


def numbers_of(code: Path, seed: int = 0) -> object:
    """What the program prints."""
    done = subprocess.run(
        [sys.executable, "main.py"],
        cwd=code,
        env={"SEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def judged(task: MaskedTask, old: str, new: str) -> TaskOutcome:
    """The outcome of an answer in which a piece of the program is another."""
    folder = task.paper.folder
    number = len(list(folder.iterdir()))
    submission = folder / f"answer{number}"
    submission.mkdir()
    source = (task.paper.code / "main.py").read_text()
    assert source.count(old) == 1
    (submission / "main.py").write_text(source.replace(old, new))
    return judge(task, submission, place(folder))


def place(folder: Path) -> SandboxSetup:
    """A sandbox that needs nothing, with a cache of its own."""
    settings = Settings(sandbox="process", cache_dir=folder.parent / "cache")
    return SandboxSetup(settings, folder.parent / "packages", trusted=True)


def with_spread(task: MaskedTask, absolute: float) -> MaskedTask:
    """The task with a tolerance of its numbers for functions that draw."""
    assert task.paper.made is not None
    wide = PaperSet.model_validate(
        task.paper.made.model_dump()
        | {"spread": {"0": {name: {"absolute": absolute} for name in task.gold["Experiment 1"]}}}
    )
    return replace(task, paper=replace(task.paper, made=wide))
