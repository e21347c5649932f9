"""Writes a task set: the public format with its early file names, and what `taskset` adds.

A paper is written whole and replaces an earlier one of the same id; the others of the set stay as
they are. Each file is written under another name and then renamed, so that a stopped command leaves
none half-written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from autoreproduce.files.csv_text import csv_text
from autoreproduce.plugins.autoexperiment.dataset import Experiment, MaskRow
from autoreproduce.plugins.autoexperiment.dataset_rows import Faults, Row, read_csv, read_jsonl
from autoreproduce.plugins.autoexperiment.selection import MaskedTask
from autoreproduce.plugins.autoexperiment.taskset import (
    PAPER_FILE,
    SPLITS_FILE,
    PaperSet,
    read_splits,
    split_papers,
)
from autoreproduce.trials.journal import write_whole

MAIN = ("Title", "github", "paper_id", "conda_env")
FUNCTIONS = (
    "paper_id",
    "func_id",
    "file",
    "name",
    "header_line",
    "line_start",
    "line_end",
    "relevant_paper",
)
EXPERIMENTS = ("paper_id", "exp_id", "description", "result", "func_dependencies", "solution")
METADATA = ("combined_id", "line_count", "testcase_count", "func_call_count")


def write_paper(
    root: Path,
    paper_id: str,
    title: str,
    address: str,
    rows: Sequence[MaskRow],
    experiments: Sequence[Experiment],
    made: PaperSet,
) -> None:
    """Write a paper's rows, and the set's files at the root; `code/` and `paper.txt` exist."""
    folder = root / paper_id
    functions = [_function_row(row) for row in rows]
    done = [_experiment_row(each) for each in experiments]
    write_jsonl(folder / "functions.jsonl", functions)
    write_jsonl(folder / "experiments.jsonl", done)
    write_text(folder / PAPER_FILE, made.model_dump_json(indent=1, exclude_defaults=True))
    main = [{"Title": title, "github": address, "paper_id": paper_id, "conda_env": ""}]
    _replace_rows(root / "mlrc_main.csv", MAIN, paper_id, main)
    _replace_rows(root / "mlrc_funcs.csv", FUNCTIONS, paper_id, functions)
    _replace_rows(root / "mlrc_exps.csv", EXPERIMENTS, paper_id, done)
    papers = [str(row["paper_id"]) for row in read_csv(root / "mlrc_main.csv", Faults())]
    before = read_splits(root, papers) if (root / SPLITS_FILE).is_file() else {}
    write_text(root / SPLITS_FILE, json.dumps(dict(split_papers(papers, before)), indent=1))


def write_lists(root: Path, paper_id: str, tasks: Sequence[MaskedTask]) -> None:
    """Write the tasks of a paper into the lists by n; the entries of other papers stay."""
    known = {int(path.stem.rpartition("=")[2]) for path in root.glob("mlrc_n=*.jsonl")}
    for n in sorted(known | {task.n for task in tasks}):
        path = root / f"mlrc_n={n}.jsonl"
        others = [row for row in read_jsonl(path, Faults()) if row.get("paper_id") != paper_id]
        write_jsonl(path, [*others, *(_task_row(task) for task in tasks if task.n == n)])
    metadata = [_metadata(task) for task in tasks if task.n == 1]
    _replace_rows(root / "metadata.csv", METADATA, paper_id, metadata)


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object a line."""
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text, wait=False)


def _replace_rows(path: Path, names: Sequence[str], paper_id: str, rows: Sequence[Row]) -> None:
    others = [row for row in read_csv(path, Faults()) if _paper_of(row) != paper_id]
    cells = ([row.get(name) for name in names] for row in [*others, *rows])
    write_text(path, csv_text(names, cells))


def _paper_of(row: Row) -> str:
    if "paper_id" in row:
        return str(row["paper_id"])
    return str(row.get("combined_id", "")).rpartition("_")[0]


def _function_row(row: MaskRow) -> Row:
    found = asdict(row)
    found["relevant_paper"] = found.pop("passage")
    lines = ("header_line", "line_start", "line_end")
    return {key: str(value) if key in lines else value for key, value in found.items()}


def _experiment_row(experiment: Experiment) -> Row:
    return {
        "paper_id": experiment.paper_id,
        "exp_id": experiment.exp_id,
        "description": experiment.description,
        "result": json.dumps(experiment.result),
        "func_dependencies": ",".join(experiment.depends),
        "solution": experiment.solution,
    }


def _task_row(task: MaskedTask) -> Row:
    details = []
    for row in task.functions:
        found = asdict(row)
        found["relevant_paper"] = found.pop("passage")
        details.append(found)
    return {
        "paper_id": task.paper.id,
        "func_ids": ",".join(row.func_id for row in task.functions),
        "func_details": details,
        "experiments": task.experiments,
        "solution": task.solution,
        "results": task.gold,
    }


def _metadata(task: MaskedTask) -> Row:
    row = task.functions[0]
    lines = (row.line_end or 0) - (row.line_start or 0) + 1
    text = (task.paper.code / row.file).read_text(encoding="utf-8", errors="replace").split("\n")
    calls = "\n".join(text[(row.line_start or 1) - 1 : row.line_end or 0]).count("(")
    return {
        "combined_id": task.id,
        "line_count": lines,
        "testcase_count": len(task.gold),
        "func_call_count": calls,
    }
