"""The program by a coder of the user's choice, in place of the paper's EDIT loop.

A coder writes the program from TASK.md in a way of its own, and leaves it by one contract. Ours is
what comes before and after: claims and choices, then the audit of the code against the paper, one
round of changes, and the run that counts, which starts from the text that was left.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.audit import audit
from autoreproduce.claims.differences import checked, sorted_items
from autoreproduce.claims.readings import DEFAULTS, parse_defaults, with_defaults
from autoreproduce.errors import SandboxError
from autoreproduce.files.bounded import parse_python
from autoreproduce.files.kinds import NOT_WRITTEN
from autoreproduce.method.choices import take_defaults
from autoreproduce.method.phase import PhaseResult
from autoreproduce.method.starting_code import starting_code
from autoreproduce.trials.run import CHECKPOINT, METRICS, PREDICTIONS
from autoreproduce.trials.summary import read_json

if TYPE_CHECKING:
    from autoreproduce.claims.differences import Audit, Difference
    from autoreproduce.method.workbench import Coder, Workbench
    from autoreproduce.trials.steps import ExecutionResult

EDIT = "edit"  # the coder of the paper: its loop, a graph of its own
CODING, CHANGES = "coding", "changes"
PROGRAM, README = "main.py", "README.md"
NOT_OURS = ("TASK.md", "preprocess.py", METRICS, PREDICTIONS, CHECKPOINT)
KEPT = ("TASK.md", "paper", ".agent")  # in the workspace, beside the program
SKIPPED = NOT_WRITTEN | {*KEPT}
MOST_FILES, LARGEST_FILE = 300, 1_000_000
LEFT = "coder"  # the trial's folder of what was left after each round


def write_program(bench: Workbench, coder: Coder) -> PhaseResult:
    """The coder's program, audited, with one round of changes."""
    bench.trial.phase(CODING)
    if source := bench.settings.method.from_code:
        bench.start = starting_code(bench.trial, source, bench.blank)
    ending = coder.work(bench)
    take(bench)
    missing = lacking(bench)
    if missing and missing[0].startswith(PROGRAM):
        reason = f"the coder {coder.name} left no program that can run ({ending}): {missing[0]}"
        return PhaseResult("failed", reason, 0)
    asked = missing + (differences(bench) if bench.settings.method.refine else [])
    if not asked or bench.limit_reached():
        return PhaseResult("matched", f"{coder.name}: {ending}", 0)
    bench.trial.phase(CHANGES)
    before = dict(bench.files)
    again = coder.work(bench, bench.code.prompts.render("coder/change", asked=asked))
    take(bench)
    if (broken := lacking(bench)) and broken[0].startswith(PROGRAM):
        bench.replace_files(before, "back to the version before the changes", KEPT)
        _take_its_defaults(bench)
        bench.changed = False
        return PhaseResult("ran", f"the changes asked for broke it: {broken[0]}", 1)
    return PhaseResult("matched", f"{coder.name}: {ending}; after the audit: {again}", 1)


def mend(bench: Workbench, coder: Coder, run: ExecutionResult, problem: str) -> str:
    """Have the coder mend a full run that did not pass; the line about it for the history."""
    phase = bench.trial.phase_name
    bench.trial.phase(CHANGES)
    ended = coder.work(
        bench, bench.code.prompts.render("coder/mend", execution=run, problem=problem)
    )
    take(bench)
    bench.trial.phase(phase)
    return f"{problem.splitlines()[0]}: {ended}"


def take(bench: Workbench) -> None:
    """What the coder left becomes the program: its text, and nothing else in the workspace.

    It's stored once a round, for a resumed trial may find the files further than they were.
    """
    bench.rounds += 1
    name = f"{LEFT}/round-{bench.rounds}.json"
    stored = read_json(bench.trial.folder / name)
    if stored is None:
        stored = left_texts(bench, bench.coder.folder if bench.coder else ".")
        bench.trial.write(name, json.dumps(stored, ensure_ascii=False))
    files = {str(path): str(text) for path, text in stored.items()}
    if bench.task.preprocess:
        files["preprocess.py"] = bench.task.preprocess
    bench.changed = bench.rounds > 1
    bench.replace_files(files, f"the program after round {bench.rounds}", KEPT)
    _take_its_defaults(bench)


def _take_its_defaults(bench: Workbench) -> None:
    """The defaults that this version of the program has."""
    if bench.open_choices and (DEFAULTS in bench.files or bench.taken):
        try:
            take_defaults(bench, parse_defaults(bench.files.get(DEFAULTS, "{}")))
        except ValueError as error:
            bench.trial.note(f"{DEFAULTS}: {error}")


def left_texts(bench: Workbench, folder: str = ".") -> dict[str, str]:
    """The text files that a coder left in `folder`, by path below it."""
    tree, found = bench.workspace.tree, dict[str, str]()
    inside = [Path(path) for path in tree.files(skip=SKIPPED) if Path(path).is_relative_to(folder)]
    for path in sorted(inside, key=lambda each: (each.suffix != ".py", each)):
        name = str(path.relative_to(folder))
        if name in NOT_OURS or len(found) == MOST_FILES:
            continue
        try:
            found[name] = tree.read(str(path), LARGEST_FILE).decode("utf-8")
        except (SandboxError, UnicodeDecodeError):  # too large, or no text: it computes it itself
            continue
    return found


def lacking(bench: Workbench) -> list[str]:
    """What the contract asks for and isn't there, what a run can't do without first."""
    text = bench.files.get(PROGRAM)
    if text is None:
        return [f"{PROGRAM} is missing"]
    try:
        parse_python(text)
    except SyntaxError as error:
        return [f"{PROGRAM} isn't Python ({error})"]
    program = "\n".join(t for name, t in bench.files.items() if name.endswith(".py"))
    found = [
        f"`python {PROGRAM}` takes no `--reading {one.name}=VALUE`"
        for one in bench.open_choices
        if one.name not in program
    ]
    if bench.open_choices and DEFAULTS in bench.files:
        try:
            with_defaults(bench.open_choices, parse_defaults(bench.files[DEFAULTS]))
        except ValueError as error:
            found.append(f"{DEFAULTS}: {error}")
    if "seed" not in program:
        found.append(f"`python {PROGRAM}` takes no `--seed`")
    if README not in bench.files:
        found.append(f"{README} is missing")
    return found


def differences(bench: Workbench) -> list[str]:
    """What the research agent's audit found that can move a number, a line each."""
    found = audit(
        bench.research,
        bench.blank(bench.paper),
        bench.files,
        bench.to_measure,
        command=bench.command or f"python {PROGRAM}",
        choices=bench.choices,
    )
    if found.problem:
        bench.trial.note(f"audit: {found.problem}")
    bench.audit = found
    return [bench.blank(_line(one)) for one in found.moving]


def _line(one: Difference) -> str:
    where = one.place or "nowhere in the code"
    quoted = f" (“{one.paper}”)" if one.paper else ""
    return f"{where}: {one.does or 'nothing of it'}. The paper: {one.paper_says}{quoted}"


def remaining(bench: Workbench) -> Audit | None:
    """The audit of the program as it is now: a difference whose code was changed since is gone."""
    if bench.audit is None or not bench.changed:
        return bench.audit
    seen = bench.audit
    items = [one for one in (*seen.differences, *seen.agreements, *seen.beside) if one.code]
    found, _ = checked(
        items, bench.blank(bench.paper), bench.files, [claim.id for claim in bench.to_measure]
    )
    return seen.model_copy(update=sorted_items(found))
