"""The public dataset as its users clone it, in both generations, and the sets of `maskmaker`.

Nothing here stops at a broken row or a missing file: what can be read is read, and every fault has
its place in `Dataset.faults` . Where files disagree, the one from
which the public lists of tasks were made counts: `functions.jsonl` of the paper for functions,
`mlrc_exps.csv` for experiments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoreproduce.files.shared import check_tree, read_text
from autoreproduce.plugins.autoexperiment.dataset_rows import (
    Faults,
    Row,
    ids_of,
    read_csv,
    read_json_functions,
    read_jsonl,
    read_value,
    whole_number,
)
from autoreproduce.plugins.autoexperiment.lists import find_root, read_lists
from autoreproduce.plugins.autoexperiment.taskset import PaperSet, read_paper_set, read_splits

HELD_OUT = "held_out.py"


@dataclass(frozen=True)
class MaskRow:
    """A function to mask. `file` is relative to the code; lines count from 1 and may be stale or
    None.
    """

    paper_id: str
    func_id: str
    file: str
    name: str
    header_line: int | None
    line_start: int | None
    line_end: int | None
    passage: str
    description: str


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper: what to do, the bash lines that do it, and the numbers that come
    out.
    """

    paper_id: str
    exp_id: str
    description: str
    result: Any
    depends: tuple[str, ...]
    solution: str


@dataclass(frozen=True)
class MaskedPaper:
    """A paper of the set: its folder holds `code/` and `paper.txt`. `made` is what is known beyond
    the format of a set by `maskmaker`, `held_out.py` a program of calls that the judge alone makes.
    """

    id: str
    title: str
    folder: Path
    functions: tuple[MaskRow, ...]
    experiments: tuple[Experiment, ...]
    made: PaperSet | None = None

    @property
    def code(self) -> Path:
        """The repository."""
        return self.folder / "code"

    @property
    def text(self) -> str:
        """The paper's text, "" where there is none."""
        return self._file("paper.txt")

    @property
    def held_out(self) -> str:
        """Python that calls the functions on inputs that no solver sees, "" where there is none."""
        return self._file(HELD_OUT)

    def _file(self, name: str) -> str:
        try:
            return read_text(self.folder.parent, f"{self.folder.name}/{name}")
        except FileNotFoundError:
            return ""


@dataclass
class Dataset:
    """All papers, the listed tasks as rows by n and combined id, and the faults met in reading."""

    folder: Path
    papers: dict[str, MaskedPaper]
    listed: dict[int, dict[str, Row]]
    faults: Faults
    splits: Mapping[str, str] = field(default_factory=dict)


def load_dataset(folder: Path) -> Dataset:
    """The dataset in a clone, its `dataset/` or its `MLRC/`.

    Raises UsageError where there is none, or a link in it leads out of it.
    """
    root = find_root(folder)
    check_tree(root)
    faults = Faults()
    listed = read_lists(root, faults)
    main = {str(row.get("paper_id", "")): row for row in read_csv(root / "mlrc_main.csv", faults)}
    functions, experiments = _functions(root, faults), _experiments(root, faults)
    papers = {}
    for path in sorted(root.iterdir()):
        if path.is_dir() and ((path / "code").is_dir() or (path / "functions.jsonl").is_file()):
            papers[path.name] = _paper(
                path, main.get(path.name, {}), functions, experiments, faults
            )
    for paper_id in sorted({*main, *functions, *experiments} - set(papers)):
        faults.add(
            "missing paper", paper_id, "mlrc_main.csv", f"names {paper_id}, which has no folder"
        )
    return Dataset(root, papers, listed, faults, read_splits(root, list(papers)))


def _functions(root: Path, faults: Faults) -> dict[str, dict[str, Row]]:
    """Rows of functions for all papers by paper and id: the late file at the root over the CSV."""
    found: dict[str, dict[str, Row]] = {}
    for row in [
        *read_csv(root / "mlrc_funcs.csv", faults),
        *read_jsonl(root / "functions.jsonl", faults),
    ]:
        found.setdefault(str(row.get("paper_id", "")), {})[str(row.get("func_id", ""))] = row
    return found


def _experiments(root: Path, faults: Faults) -> dict[str, list[Experiment]]:
    """The experiments of all papers: of mlrc_exps.csv, else of the late file at the root."""
    rows = read_csv(root / "mlrc_exps.csv", faults)
    name = "mlrc_exps.csv" if rows else "experiments.jsonl"
    found: dict[str, list[Experiment]] = {}
    for row in rows or read_jsonl(root / "experiments.jsonl", faults):
        if experiment := _experiment(row, name, faults):
            found.setdefault(experiment.paper_id, []).append(experiment)
    return found


def _paper(
    path: Path,
    main: Row,
    functions: dict[str, dict[str, Row]],
    experiments: dict[str, list[Experiment]],
    faults: Faults,
) -> MaskedPaper:
    own = [
        each
        for row in read_jsonl(path / "experiments.jsonl", faults, path.name)
        if (each := _experiment(row, f"{path.name}/experiments.jsonl", faults))
    ]
    counted = experiments.get(path.name, [])
    _compare_experiments(path.name, counted, own, faults)
    if not main:
        faults.add("missing row", path.name, "mlrc_main.csv", f"does not name {path.name}")
    return MaskedPaper(
        path.name,
        str(main.get("Title", "")),
        path,
        _mask_rows(path, functions.get(path.name, {}), faults),
        tuple(counted or own),
        read_paper_set(path),
    )


def _mask_rows(path: Path, elsewhere: dict[str, Row], faults: Faults) -> tuple[MaskRow, ...]:
    """The functions of a paper: functions.jsonl, with what it lacks from the root's files; else the
    older files.
    """
    own = read_jsonl(path / "functions.jsonl", faults, path.name)
    if not own:
        own = list(elsewhere.values()) or read_json_functions(
            path / "functions.json", faults, path.name
        )
        faults.add(
            "missing file",
            path.name,
            f"{path.name}/functions.jsonl",
            "holds no function: an older file serves",
        )
    rows = []
    for number, row in enumerate(own, 1):
        merged = {**elsewhere.get(str(row.get("func_id", "")), {}), **row}
        if not all(str(merged.get(key, "")).strip() for key in ("func_id", "file", "name")):
            faults.add(
                "broken row",
                path.name,
                f"{path.name}/functions.jsonl:{number}",
                "lacks func_id, file or name",
            )
            continue
        rows.append(mask_row(merged, path.name))
    for func_id in sorted(set(elsewhere) - {row.func_id for row in rows}):
        faults.add(
            "missing row",
            path.name,
            f"{path.name}/functions.jsonl",
            f"lacks function {func_id} of mlrc_funcs.csv",
        )
    return tuple(rows)


def mask_row(row: Row, paper_id: str) -> MaskRow:
    """A row of functions as it is meant; text where a number is wanted becomes None."""
    func_id, file, name, passage, description = (
        "" if row.get(key) is None else str(row[key])
        for key in ("func_id", "file", "name", "relevant_paper", "description")
    )
    header, start, end = (
        whole_number(row.get(key)) for key in ("header_line", "line_start", "line_end")
    )
    return MaskRow(paper_id, func_id, file, name, header, start, end, passage, description)


def _experiment(row: Row, where: str, faults: Faults) -> Experiment | None:
    paper_id, exp_id = str(row.get("paper_id", "")), str(row.get("exp_id", ""))
    where = f"{where}, experiment {exp_id}"
    try:
        result = read_value(row.get("result"))
    except ValueError as error:
        faults.add("broken row", paper_id, where, f"its result {error}")
        return None
    if not paper_id or not exp_id or result in (None, "", {}, []):
        faults.add("broken row", paper_id, where, "lacks paper_id, exp_id or result")
        return None
    depends = ids_of(row.get("func_dependencies"))
    return Experiment(
        paper_id,
        exp_id,
        str(row.get("description", "")),
        result,
        depends,
        str(row.get("solution", "")),
    )


def _compare_experiments(
    paper_id: str, counted: list[Experiment], own: list[Experiment], faults: Faults
) -> None:
    if not counted or not own:
        return
    where = f"{paper_id}/experiments.jsonl"
    if len(counted) != len(own):
        faults.add(
            "disagreement",
            paper_id,
            where,
            f"has {len(own)} experiments where mlrc_exps.csv has {len(counted)}",
        )
    others = {each.exp_id: each for each in counted}
    for name in ("description", "result", "depends", "solution"):
        differ = [
            e.exp_id
            for e in own
            if e.exp_id in others and getattr(e, name) != getattr(others[e.exp_id], name)
        ]
        if differ:
            faults.add(
                "disagreement",
                paper_id,
                where,
                f"{name} differs from mlrc_exps.csv in experiments {', '.join(differ)}",
            )
