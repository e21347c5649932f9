"""The rows of a suite: one a trial, as CSV (and Parquet), with all that groups and audits need.

They are read from the trials' folders alone, so they can be made again at any time, also for a
suite that was killed. A trial that was planned and has no result is a row too: a table that leaves
it out would count too few.
"""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from autoreproduce.config import digest
from autoreproduce.errors import TrialError, UsageError, shown
from autoreproduce.evaluation.scoring import read_scores
from autoreproduce.files.csv_text import csv_text
from autoreproduce.job import now
from autoreproduce.plugins.suites.finished_trials import ENDED, finished, parts_of, spent_so_far
from autoreproduce.plugins.suites.plan import Plan
from autoreproduce.trials.chain import chain_warning
from autoreproduce.trials.journal import write_whole
from autoreproduce.trials.machines import read_machines
from autoreproduce.trials.result import Result
from autoreproduce.trials.summary import TrialSummary, read_json
from autoreproduce.trials.trial import TrialRecord

SUITE, CSV, PARQUET = "suite.json", "results.csv", "results.parquet"
PHASES = (
    "paper",
    "literature_review",
    "claims",
    "paper_lineage",
    "data_acquisition",
    "method_replication",
    "experiment_execution",
    "refactoring",
    "full_run",
)
# Name and SQL type of each column; JSON in columns whose content differs from solver to solver.
COLUMNS = {
    "suite": "VARCHAR",
    "benchmark": "VARCHAR",
    "task": "VARCHAR",
    "profile": "VARCHAR",
    "variant": "VARCHAR",
    "trial": "INTEGER",
    "solver": "VARCHAR",
    "status": "VARCHAR",
    "scored": "BOOLEAN",
    "reason": "VARCHAR",
    "ended_in": "VARCHAR",
    "attempts": "INTEGER",
    "ran": "BOOLEAN",
    "gave_number": "BOOLEAN",
    "metric_name": "VARCHAR",
    "direction": "VARCHAR",
    "metric": "DOUBLE",
    "claimed": "DOUBLE",
    "recomputed": "BOOLEAN",
    "integrity": "VARCHAR",
    "reference": "DOUBLE",
    "reference_low": "DOUBLE",
    "reference_high": "DOUBLE",
    "gap": "DOUBLE",
    "within_band": "BOOLEAN",
    "verdict": "VARCHAR",
    "sentence": "VARCHAR",
    "stand_in": "VARCHAR",
    "cost": "DOUBLE",
    "calls": "INTEGER",
    "executions": "INTEGER",
    "tokens_in": "BIGINT",
    "tokens_cached": "BIGINT",
    "tokens_out": "BIGINT",
    "tokens_reasoning": "BIGINT",
    "seconds": "DOUBLE",
    **{f"seconds_{phase}": "DOUBLE" for phase in PHASES},
    "phases": "VARCHAR",
    "model": "VARCHAR",
    "models_answered": "VARCHAR",
    "replayed": "BOOLEAN",
    "judge": "VARCHAR",
    "scores": "VARCHAR",
    "seed": "BIGINT",
    "settings": "VARCHAR",
    "settings_digest": "VARCHAR",
    "task_digest": "VARCHAR",
    "prompts": "VARCHAR",
    "digest": "VARCHAR",
    "sandbox": "VARCHAR",
    "version": "VARCHAR",
    "python": "VARCHAR",
    "versions": "VARCHAR",
    "processor": "VARCHAR",
    "cpus": "INTEGER",
    "memory_gb": "DOUBLE",
    "gpus": "VARCHAR",
    "hardware": "VARCHAR",
    "hosts": "VARCHAR",
    "machines": "VARCHAR",
    "created": "VARCHAR",
    "warnings": "INTEGER",
    "journal": "VARCHAR",
    "folder": "VARCHAR",
}
Row = dict[str, Any]


def write_plan(folder: Path, plan: Plan, command: str) -> None:
    """Write suite.json: the suite's trials, also those of earlier commands with other choices."""
    before = read_json(folder / SUITE) or {}
    trials: list[list[Any]] = [[trial.task, trial.variant, trial.number] for trial in plan.trials]
    trials += [each for each in before.get("trials", []) if each not in trials]
    runs = [*before.get("runs", []), {"at": now(), "command": shown(command)}][-20:]
    suite = {
        "name": plan.suite.name,
        "benchmark": plan.suite.benchmark,
        "description": plan.suite.description,
        "runs": runs,
        "trials": sorted(trials),
    }
    write_whole(folder / SUITE, json.dumps(suite, indent=1))


def read_rows(folder: Path) -> list[Row]:
    """The rows of a suite's folder, read from its trials. Raises UsageError if it is none."""
    suite = read_json(folder / SUITE)
    if suite is None or "trials" not in suite:
        raise UsageError(
            f"{folder} isn't a suite's folder (it has no {SUITE}, or another)",
            fix="name one that `suite` made",
        )
    return [_row_of_trial(folder, suite, *trial) for trial in suite["trials"]]


def write_results(folder: Path) -> list[Row]:
    """Write results.csv, and results.parquet where the extra `parquet` is installed.

    Raises TrialError if they cannot be written.
    """
    rows = read_rows(folder)
    write_whole(
        folder / CSV, csv_text(list(COLUMNS), ([row[name] for name in COLUMNS] for row in rows))
    )
    if find_spec("duckdb"):
        _write_parquet(folder / CSV, folder / PARQUET)
    return rows


def _write_parquet(table: Path, path: Path) -> None:
    """The CSV again with its types, so that the two cannot differ."""
    import duckdb

    part = path.with_name(f".{path.name}.part")
    quoted = str(part).replace("'", "''")
    types = ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items())
    how = "header = true, nullstr = '', quote = '\"', escape = '\"', auto_detect = false"
    read = f"read_csv(?, {how}, columns = {{{types}}})"
    try:
        with duckdb.connect(":memory:", config={"threads": 1}) as database:
            database.execute(f"COPY (FROM {read}) TO '{quoted}' (FORMAT parquet)", [str(table)])
        part.replace(path)
    except (OSError, duckdb.Error) as error:
        part.unlink(missing_ok=True)
        raise TrialError(
            f"cannot write {path} ({error})",
            fix="make room, then run the same command",
            retryable=True,
        ) from error


def _row_of_trial(folder: Path, suite: dict[str, Any], task: str, variant: str, number: int) -> Row:
    """One trial's row; what its folder does not contain is None."""
    trial_folder = folder / "trials" / task / variant / str(number)
    parts, ended = parts_of(trial_folder), read_json(trial_folder / ENDED) or {}
    found = TrialSummary(trial_folder)
    result = found.result
    row: Row = dict.fromkeys(COLUMNS)
    row |= {
        "suite": suite["name"],
        "benchmark": suite["benchmark"],
        "task": task,
        "variant": variant,
        "trial": number,
    }
    row |= {
        "folder": str(trial_folder.relative_to(folder)),
        "digest": digest(parts) if parts else None,
        "prompts": parts.get("prompts"),
        "journal": chain_warning(trial_folder) or None,
    }
    row |= _end_columns(trial_folder, result, ended)
    if found.record:
        row |= _task_columns(found.record) | _machine_columns(found.record, trial_folder)
    return row | _result_columns(result) | _score_columns(trial_folder) if result else row


def _end_columns(folder: Path, result: Result | None, ended: dict[str, Any]) -> Row:
    done = finished(folder)
    begun = (folder / "steps.jsonl").exists()
    status = done.status if done else ended.get("status", "stopped" if begun else "not run")
    row = {
        "status": status,
        "scored": status in ("measured", "failed"),
        "reason": result.reason if done and result else ended.get("reason"),
        "ended_in": result.phase if result else None,
        "attempts": ended.get("attempts"),
    }
    if done is None and begun:  # what it spent counts although it has no result
        row["cost"] = spent_so_far(folder).dollars
    return row


def _task_columns(trial: TrialRecord) -> Row:
    task, settings = trial.stored_task(), trial.settings
    settings.pop("seed", None)
    reference = task.reference
    return {
        "benchmark": task.benchmark,
        "profile": trial.profile,
        "solver": trial.solver,
        "model": trial.model,
        "seed": trial.seed,
        "settings": _json_text(settings),
        "settings_digest": digest(settings),
        "task_digest": trial.task_digest,
        "metric_name": task.metric.name,
        "direction": task.metric.direction,
        "stand_in": task.stand_in or None,
        "reference": reference and reference.value,
        "reference_low": reference and reference.low,
        "reference_high": reference and reference.high,
        "replayed": trial.replayed is not None,
    }


def _machine_columns(trial: TrialRecord, folder: Path) -> Row:
    versions, hardware = trial.versions, trial.hardware
    machines = read_machines(folder, hardware)
    return {
        "version": versions.get("autoreproduce"),
        "python": versions.get("python"),
        "versions": _json_text(versions),
        "processor": hardware.get("processor"),
        "cpus": hardware.get("cpus"),
        "memory_gb": hardware.get("memory_gb"),
        "gpus": "; ".join(hardware.get("gpus") or []) or None,
        "hardware": _json_text(hardware),
        "hosts": "; ".join(dict.fromkeys(each.host for each in machines if each.host)) or None,
        "machines": _json_text([each.model_dump() for each in machines]) if machines else None,
        "created": trial.created,
        "sandbox": (read_json(folder / "sandbox.json") or {}).get("name"),
    }


def _result_columns(result: Result) -> Row:
    usage, phases = result.cost.usage, result.cost.phases
    return {
        "metric": result.metric,
        "claimed": result.claimed,
        "recomputed": result.recomputed,
        "gap": result.gap,
        "within_band": result.within_band,
        "seconds": result.cost.seconds,
        "cost": result.cost.dollars,
        "ran": result.details.get("ran"),
        "gave_number": result.metric is not None,
        "verdict": result.verdict or None,
        "sentence": result.sentence or None,
        "integrity": result.integrity or None,
        "tokens_in": usage.get("input", 0),
        "tokens_cached": usage.get("cached", 0),
        "tokens_out": usage.get("output", 0),
        "tokens_reasoning": usage.get("reasoning", 0),
        "calls": result.cost.calls,
        "executions": sum(phase.get("executions", 0) for phase in phases.values()),
        **{f"seconds_{name}": phases[name].get("seconds") for name in PHASES if name in phases},
        "phases": _json_text(phases),
        "models_answered": "; ".join(result.cost.models) or None,
        "warnings": len(result.warnings),
    }


def _score_columns(folder: Path) -> Row:
    """The entries of the scorers, and the judges that answered."""
    try:
        scores = read_scores(folder)
    except (OSError, TrialError):
        return {}
    judges = {str(judge) for each in scores for judge in each.get("judges") or ()}
    return (
        {"scores": _json_text(scores), "judge": "; ".join(sorted(judges)) or None} if scores else {}
    )


def _json_text(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
