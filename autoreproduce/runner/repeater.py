"""The final program again, with another seed or a change: each run a step, in a folder of its own.

A run starts from the program as last committed, in `seeds/N/workspace` of the trial's folder, so
that no run sees what another left; its number is measured as the first one's was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.benchmarks import benchmark_of
from autoreproduce.claims.claim import CLAIMS
from autoreproduce.claims.verdicts.trial_verdict import SeedRun
from autoreproduce.config import digest
from autoreproduce.contracts import Submission
from autoreproduce.evaluation.outside_run import (
    at_seed,
    read_files,
    read_outside_run,
    submission_of,
)
from autoreproduce.evaluation.report.versions import tracked_files
from autoreproduce.evaluation.scorers.execution import last_run
from autoreproduce.evaluation.submission import lay_carried
from autoreproduce.evaluation.verdict import SeedUse
from autoreproduce.files.tree import Tree
from autoreproduce.runner.reached import MARK
from autoreproduce.runner.signals import undisturbed
from autoreproduce.trials.measurement import FILE, Measurement, read_measurement
from autoreproduce.trials.run import METRICS, Run, run_program
from autoreproduce.trials.steps import ExecutionResult
from autoreproduce.trials.summary import own_text
from autoreproduce.trials.trial import Trial

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.evaluation.outside_run import OutsideRun
    from autoreproduce.sandboxes.setup import SandboxSetup
    from autoreproduce.task import Task

_SEED = r"(?:seed|random[_-]state)"
# `--seed 3`, `--train.seed=3`, `SEED=3`, `+trainer.seed=3`; but not how many seeds, `--n-seed 3`
_NAMED = re.compile(
    rf"(?<![\w./+-])(?P<name>(?!-{{0,2}}(?:n[_-]|num))(?:-{{1,2}}|\+{{0,2}})[\w.-]*?{_SEED})"
    r"(?P<between>=|(?<=-seed) +|(?<=[_-]state) +|(?<=_seed) +)(?P<value>\d+)(?![\w.])",
    re.IGNORECASE,
)
_ARGUMENT = re.compile(  # of argparse or click
    rf"(?:add_argument|option)\([^)]{{0,200}}?[\"'](--(?!n[_-]|num)[\w-]*?{_SEED})[\"']",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"(?:environ(?:\.get\(|\[)|getenv\()\s*[\"'](\w*SEED)[\"']")


@dataclass(frozen=True)
class Repeater:
    """Runs a trial's final program again: each run a step, in a fresh copy of the program."""

    trial: Trial
    task: Task
    sandboxes: SandboxSetup
    command: str  # of the run in full
    files: dict[str, str]
    limit: float  # seconds of one run
    outside: OutsideRun | None = None
    changed: Mapping[str, str] = field(default_factory=dict)  # files with another text

    @classmethod
    def of(
        cls, trial: Trial, task: Task, settings: Settings, sandboxes: SandboxSetup
    ) -> Repeater | None:
        """None if no program ran in full, or if it is in no commit."""
        ran, files = last_run(trial), tracked_files(trial.folder)
        if ran is None or not files:
            return None
        given = settings.method.time_limit_minutes or trial.record.planned_minutes
        limit = (given or task.time_limit_minutes) * 60
        known = read_outside_run(trial.folder)
        same_data = sandboxes.of_draw(ran.result.draw)  # another seed of the program alone
        return cls(trial, task, same_data, ran.result.command, files, limit, known)

    @property
    def seeds(self) -> SeedUse:
        """How its command takes a seed."""
        given = self.outside.command if self.outside else self.command
        return seed_use(given, self.files, ours=self.outside is None)

    def run(
        self, folder: Path, name: str, seed: int, arguments: str = "", most: float = math.inf
    ) -> SeedRun:
        """The measured run with this seed and these further arguments, in `folder`. It is ended
        after `most` seconds.
        """
        command, limited = self.seeded(seed, arguments), self
        asked = {"command": command, "files": {**self.files, **self.changed}}
        if most < self.limit:
            limited = replace(self, limit=most)
            name = self._with_time(name, asked, most)
        result = self.trial.added_step(
            ExecutionResult, "sandbox", name, asked, lambda: limited.run_in_copy(folder, command)
        )
        found = self._measurement(folder, result)
        run = seed_run(seed, found, result.execution.seconds)
        return run.model_copy(update={"reached": MARK in result.stderr})

    def _with_time(self, name: str, asked: object, seconds: float) -> str:
        """The step's name: another one where it once was ended before there were so many."""
        key = digest(asked)
        ended = any(
            isinstance(step.result, ExecutionResult)
            and step.result.timed_out
            and step.result.allowed < seconds
            for step in self.trial.steps
            if (step.phase, step.name, step.digest) == (self.trial.phase_name, name, key)
        )
        return f"{name}, up to {seconds:.0f} s" if ended else name

    def seeded(self, seed: int, arguments: str = "") -> str:
        """Its command with this seed and these further arguments."""
        given = self.outside.command if self.outside else self.command
        command = command_with_seed(given, seed, ours=self.outside is None)
        return f"{command} {arguments}".strip()

    def run_in_copy(self, folder: Path, command: str) -> ExecutionResult:
        """One run in a fresh copy of the program; what an interrupted run left is removed first."""
        space, outside = folder / "workspace", self.outside
        Tree(folder.parent).remove(folder.name)
        tree = Tree(space)
        tree.make_root()
        for name, text in {**self.files, **(outside.beside if outside else {})}.items():
            tree.write(name, text)
        lay_carried(self.trial.folder, space)
        for name, text in self.changed.items():
            tree.write(name, text)
        sandbox = self.sandboxes.open(space.resolve())
        run = Run(
            command,
            self.limit,
            before=outside.place.link_line if outside else "",
            results=(METRICS,),
            counted=True,
            data_at=outside.place.mount if outside else "",
            read=read_files(outside.metric_from) if outside else (),
        )
        try:
            return run_program(sandbox, tree, run, self.trial.output)
        finally:
            with undisturbed():
                sandbox.close()

    def _measurement(self, folder: Path, ran: ExecutionResult) -> Measurement:
        """What the benchmark measures of a run, once."""
        saved = read_measurement(folder) if folder.is_dir() else None
        if saved is not None:
            return saved
        if self.outside or ran.ok:
            asked = self.outside.metric_from if self.outside else ()
            submission = submission_of(ran.execution, folder / "workspace", asked)
        else:
            ended = f"stopped ({ran.stopped})" if ran.stopped else f"exit code {ran.exit_code}"
            why = f"it ended with {ended}"
            submission = Submission("failed", why, "seeds", run=ran.execution)
        trial = self.trial
        inner = Trial(folder, trial.record)
        if (claims := own_text(trial.folder / CLAIMS)) is not None:
            # by which its numbers are recomputed, as the first run's are
            trial.write(f"{folder.relative_to(trial.folder)}/{CLAIMS}", claims)
        found = benchmark_of(self.task).measure(self.task, submission, inner, self.sandboxes)
        trial.write(f"{folder.relative_to(trial.folder)}/{FILE}", found.model_dump_json(indent=1))
        return found


def command_with_seed(command: str, seed: int, *, ours: bool = True) -> str:
    """`python main.py` as `python main.py --seed 3`; a seed that it names as an argument, variable
    or configuration field is replaced, and so is `{seed}`. A program that is not `ours` may know of
    no seed: it is run again as it is.
    """
    if "{seed}" in command:
        return at_seed(command, seed)
    named, found = _NAMED.subn(rf"\g<name>\g<between>{seed}", command)
    return named if found or not ours else f"{command} --seed {seed}"


def seed_use(command: str, files: Mapping[str, str], *, ours: bool = True) -> SeedUse:
    """What in the command takes the seed, and how the run is repeated with other ones.

    `files`: the program's texts. Where the command names no seed, the script that it runs may take
    one: then that is the advice.
    """
    again = "--seeds 3 repeats it with other seeds"
    place = re.search(r"(?:([\w.+-]+)[= ])?[\"']?\{seed\}", command)
    if place or (place := _NAMED.search(command)):
        name = place[1] or "{seed}"
        return SeedUse(name, f"{again}, by {name}")
    if ours:
        return SeedUse("--seed", again)
    for name, text in files.items():
        if not re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", command):
            continue
        field = _configured(files) if "hydra" in text else ""
        run = ""
        if argument := _ARGUMENT.search(text):
            run = f"{command} {argument[1]} {{seed}}"
        elif variable := _VARIABLE.search(text):
            run = f"{variable[1]}={{seed}} {command}"
        elif field:
            run = f"{command} {field}={{seed}}"
        if run:
            return SeedUse("", f"{name} takes a seed, so --run '{run}' --seeds 3 repeats it")
    return SeedUse()


def _configured(files: Mapping[str, str]) -> str:
    """The field of a YAML file that holds a seed, "" without one."""
    texts = (text for name, text in files.items() if name.endswith((".yaml", ".yml")))
    found = (re.search(r"^(\w*seed)\s*:\s*\d+", text, re.MULTILINE) for text in texts)
    return next((match[1] for match in found if match), "")


def seed_run(seed: int, found: Measurement, seconds: float) -> SeedRun:
    """A void number is none; what a program states of a run over decoys is about these."""
    void = found.integrity is not None and found.integrity.word == "void"
    value = None if void else found.value
    return SeedRun(
        seed=seed,
        value=value,
        seconds=seconds,
        metrics={} if void else _about_the_truth(found),
        recounted=tuple(found.recounted),
        runs_recounted=tuple(found.runs_recounted),
        runs={name: tuple(values) for name, values in found.runs.items()},
        entries=found.entries,
        recomputed=found.recomputed,
        reason="" if value is not None else "the result is void" if void else found.reason,
    )


def _about_the_truth(found: Measurement) -> dict[str, float]:
    """The numbers that count: what a run over decoys states itself is about these."""
    if found.decoys is None:
        return found.metrics
    return {name: found.metrics[name] for name in found.recounted}
