"""Pass@1 and Pass@k over attempts on masked tasks, and what a verifier that does not know the gold makes of them."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.autoexperiment.estimate import Attempt, gap_closed, rate
from autoreproduce.autoexperiment.layout import lay_out
from autoreproduce.autoexperiment.outcome import NEVER_RUN, Judged, TaskOutcome, unusable
from autoreproduce.autoexperiment.retrieval import mentions
from autoreproduce.autoexperiment.rows import ids_of
from autoreproduce.autoexperiment.taskset import read_proofs
from autoreproduce.benchmarks.autoexperiment import masked_of
from autoreproduce.budget import Budget
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.eval.tables.build import Table
from autoreproduce.eval.tables.rows import failed_in_its_suite
from autoreproduce.models import open_model
from autoreproduce.runner.pass_tables import shown
from autoreproduce.solvers.masked import functions_of
from autoreproduce.solvers.verifier import By, by_agreement, by_model, candidate_of
from autoreproduce.task import Task
from autoreproduce.trial import Outcome, Trial

if TYPE_CHECKING:
    from autoreproduce.config import Settings

WAYS: tuple[By, ...] = ("agreement", "checker", "reader")


def read_attempts(folder: Path) -> list[tuple[Path, Task, Attempt]]:
    """Every attempt below a folder that its solver decided. Raises UsageError where there is none.

    That is each one that was judged, and each that the model's context or its own budget ended before that: without
    them Pass@k would be of those that got through.
    """
    found = list(_attempts(folder))
    if not found:
        raise UsageError(f"{folder} holds no attempt on masked functions: run the suite autoexperiment first")
    return found


def _attempts(folder: Path) -> Iterator[tuple[Path, Task, Attempt]]:
    for path in sorted(file.parent for file in folder.glob("**/outcome.json")):
        try:
            trial = Trial.read(path)
            judged, outcome = _judged(trial), trial.outcome
        except (TrialError, ValueError):  # a damaged one is no attempt, as it is no row of a table
            continue
        if judged is None or outcome is None:
            continue
        task = Task.model_validate(trial.record.task_json)
        proofs = read_proofs(task.masked_set) if task.masked_set else {}
        proof = proofs.get(judged.combined_id)
        yield path, task, Attempt(
            agent=_agent(path, trial.record.solver), combined_id=judged.combined_id, paper_id=judged.paper_id,
            n=judged.n, strict=judged.strict.passed, upstream=judged.upstream.passed, losses=_losses(judged),
            kind=judged.kind, counts=proof is None or proof.proven,
            steps=sum(step.kind == "model" for step in trial.steps),
            tokens=sum(outcome.usage.get(kind, 0) for kind in ("input", "output")), dollars=outcome.cost,
            seconds=outcome.seconds,
        )  # fmt: skip


def _judged(trial: Trial) -> TaskOutcome | None:
    """What an attempt on masked functions came to; None for one that was stopped from outside and can go on."""
    kept, outcome = trial.folder / "judged.json", trial.outcome
    if outcome is None or not trial.record.task_json.get("masked_set"):
        return None
    if outcome.status != "stopped" and kept.exists():
        return TaskOutcome.model_validate_json(kept.read_text(encoding="utf-8"))
    if outcome.status == "failed" or failed_in_its_suite(trial.folder):
        return _never_run(Task.model_validate(trial.record.task_json), outcome)
    return None


def _never_run(task: Task, outcome: Outcome) -> TaskOutcome:
    kind = NEVER_RUN.get(str(outcome.details.get("error")), NEVER_RUN[""])
    try:
        return unusable(masked_of(task), outcome.reason, kind=kind)
    except UsageError:  # the set is no longer there: what its experiments are is not known
        none, n = Judged(passed=False, losses={}), len(ids_of(task.id.rpartition("_")[2]))
        return TaskOutcome(combined_id=task.id, paper_id=task.method, n=n, kind=kind, reason=outcome.reason,
                           strict=none, upstream=none)  # fmt: skip


def _losses(judged: TaskOutcome) -> dict[str, float]:
    """By the paper's own name of each experiment: `Experiment 1` is another one from task to task."""
    alone = {name: f"{name} of {judged.combined_id}" for name in judged.strict.losses}
    return {judged.exp_ids.get(name, alone[name]): loss for name, loss in judged.strict.losses.items()}


def _agent(folder: Path, solver: str) -> str:
    """The variant's name of a suite's attempt (SUITE/trials/TASK/VARIANT/NUMBER), else the solver's."""
    above = folder.resolve().parents
    return above[0].name if len(above) > 3 and (above[3] / "suite.json").exists() else solver


def verify(folder: Path, by: Sequence[By], model: str | None, settings: Settings, note: Callable[[str], None]) -> Table:
    """One chosen candidate for each task and agent, by each way; Pass@1 of the choices, and the gap closed.

    Raises UsageError where a way needs a model and none is named.
    """
    if not model and set(by) - {"agreement"}:
        raise UsageError("a checker or reader is a model: add --model provider:name, or take --by agreement")
    groups: dict[tuple[str, int, str], list[tuple[Path, Task, Attempt]]] = defaultdict(list)
    for path, task, attempt in (each for each in read_attempts(folder) if each[2].counts):
        groups[attempt.agent, attempt.n, attempt.combined_id].append((path, task, attempt))
    chosen: dict[tuple[str, int, str], list[bool]] = defaultdict(list)
    opened = open_model(settings, model) if model else None
    budget = Budget.parse(settings.budget)
    for (agent, n, name), group in sorted(groups.items()):
        masked = masked_of(group[0][1])
        candidates = [candidate_of(masked, path, found) for path, _, _ in group if (found := _judged(Trial.read(path)))]
        for way in by:
            index = by_agreement(candidates)
            if way != "agreement":
                place, code = folder / "verifier" / f"{name}-{agent}", _masked_code(masked)
                picked, reason = by_model(masked, candidates, way, opened, str(model), settings, budget, place, code)
                note(f"{name}, {agent}, {way}: {reason}"[:300])
                index = 0 if picked is None else picked
            chosen[agent, n, way].append(group[index][2].strict)
    return _verified(groups, chosen)


def _verified(groups: Any, chosen: dict[tuple[str, int, str], list[bool]]) -> Table:
    rows: list[list[Any]] = []
    for (agent, n, way), passes in sorted(chosen.items()):
        tried = [a for (other, m, _), group in groups.items() if (other, m) == (agent, n) for _, _, a in group]
        most = min(len(group) for (other, m, _), group in groups.items() if (other, m) == (agent, n))
        one, top = rate(tried, 1), rate(tried, most)
        share = sum(passes) / len(passes)
        closed = gap_closed(share, one.value, top.value) if one and top else None
        rows.append([agent, n, way, len(passes), shown(one), share, f"{shown(top)} (k = {most})",
                     "no gap" if closed is None else f"{closed:.0%}"])  # fmt: skip
    columns = ["agent", "n", "by", "tasks", "Pass@1", "chosen", "Pass@k", "gap closed"]
    return Table("verifier", "A verifier over the same attempts", columns, rows)


def _masked_code(masked: Any) -> str:
    """The masked files as the solvers saw them, and where other files name the functions."""
    with tempfile.TemporaryDirectory(prefix="autoexperiment-") as place:
        lay_out(masked, Path(place))
        wanted = functions_of(masked)
        files = list(dict.fromkeys(file for file, _ in wanted))
        shown = [(f, (Path(place) / f).read_text(encoding="utf-8", errors="replace")) for f in files]
        callers = [text for file in files for text in mentions(Path(place), file, [a for f, a in wanted if f == file])]
    parts = [f"~~~python\n# {file}\n{text}\n~~~" for file, text in shown]
    return "\n\n".join(
        [*parts, *([f"Where the rest of the code names them:\n\n{''.join(callers)}"] if callers else [])]
    )
