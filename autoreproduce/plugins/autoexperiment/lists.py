"""Where a set lies, and the public lists of masked tasks, a file for each n: `mlrc_n=1.jsonl`."""

from __future__ import annotations

import re
from pathlib import Path

from autoreproduce.errors import UsageError
from autoreproduce.plugins.autoexperiment.dataset_rows import Faults, Row, ids_of, read_jsonl
from autoreproduce.plugins.autoexperiment.taskset import SPLITS_FILE

CLONE = "git clone https://github.com/j1mk1m/AutoExperiment"
LIST = re.compile(r"mlrc_n(=|_)(\d+)\.jsonl")


def find_root(folder: Path) -> Path:
    """The folder with the papers. Raises UsageError where `folder` is no dataset."""
    for root in (folder, folder / "MLRC", folder / "dataset" / "MLRC"):
        if root.is_dir() and any(_is_data(path) for path in root.iterdir()):
            return root
    what = "is not there" if not folder.exists() else "holds no AutoExperiment data"
    raise UsageError(
        f"{folder} {what}",
        fix="it needs mlrc_main.csv, mlrc_n=1.jsonl or PAPER/functions.jsonl; get it by "
        f"`{CLONE}`, or make a set of your own with `maskmaker mask`",
    )


def _is_data(path: Path) -> bool:
    if path.name == "mlrc_main.csv" or LIST.fullmatch(path.name):
        return path.is_file()
    return (path / "functions.jsonl").is_file()


def combined_id(paper_id: str, func_ids: tuple[str, ...]) -> str:
    """The benchmark's name of a task: `2205.00048_0,1`; nothing after the underscore where nothing
    is masked.
    """
    return f"{paper_id}_{','.join(func_ids)}"


def read_lists(root: Path, faults: Faults) -> dict[int, dict[str, Row]]:
    """The rows of the lists by n and combined id.

    A list that holds no task, and an n without a list in a public set, are faults.
    """
    listed: dict[int, dict[str, Row]] = {}
    for path in sorted(root.glob("mlrc_n*.jsonl")):
        match = LIST.fullmatch(path.name)
        rows = read_jsonl(path, faults) if match else []
        if not match or not rows:
            faults.add(
                "missing file",
                "",
                path.name,
                "holds no task: those of this n are made from the rows",
            )
            continue
        n, of_n = int(match[2]), listed.setdefault(int(match[2]), {})
        for number, row in enumerate(rows, 1):
            ids = ids_of(row.get("func_ids"))
            name = combined_id(str(row.get("paper_id", "")), ids)
            if len(ids) != n or not row.get("paper_id"):
                faults.add(
                    "broken row",
                    "",
                    f"{path.name}:{number}",
                    f"{name} does not mask {n} functions of a paper",
                )
            else:
                of_n.setdefault(name, row)
    made = (root / SPLITS_FILE).is_file()  # by `maskmaker`, with the n that were asked for
    most = max(5, *listed) if listed else -1  # both generations come with 0 to 5
    for n in sorted(set(range(most + 1)) - set(listed)) if not made else ():
        faults.add(
            "missing file",
            "",
            f"mlrc_n={n}.jsonl",
            "is missing: the tasks of this n are made from the rows",
        )
    return listed
