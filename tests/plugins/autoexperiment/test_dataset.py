"""The public data as they are: both generations, every fault named, tasks by id and by n."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from public_data import EXPERIMENTS, FIRST, FUNCTIONS, SECOND
from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.errors import UsageError
from autoreproduce.plugins.autoexperiment.dataset import Dataset, load_dataset
from autoreproduce.plugins.autoexperiment.functions import Function
from autoreproduce.plugins.autoexperiment.layout import lay_out
from autoreproduce.plugins.autoexperiment.lists import find_root
from autoreproduce.plugins.autoexperiment.locating import locate
from autoreproduce.plugins.autoexperiment.selection import counts, select_tasks, task_of

Make = Callable[..., Path]


def root(clone: Path) -> Path:
    return clone / "dataset" / "MLRC"


def faults(dataset: Dataset) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for fault in dataset.faults.found:
        found.setdefault(fault.kind, []).append(str(fault))
    return found


@pytest.mark.parametrize("generation", ["E", "L"])
def test_both_generations_hold_the_same_tasks(public: Make, generation: str) -> None:
    dataset = load_dataset(public(generation))
    assert list(dataset.papers) == [FIRST, SECOND]
    assert counts(dataset) == {0: 2, 1: 4, 2: 4, 3: 1, 4: 0, 5: 0}
    assert [task.id for task in select_tasks(dataset, [0, 1])] == [
        f"{FIRST}_",
        f"{SECOND}_",
        f"{FIRST}_0",
        f"{FIRST}_1",
        f"{SECOND}_0",
        f"{SECOND}_1",
    ]
    task = task_of(dataset, f"{FIRST}_0,1")
    assert (
        task.id in dataset.listed[2] and task.n == 2 and task.gold["Experiment 2"]["mean"] == 25.5
    )
    assert [row.name for row in task.functions] == ["mean", "spread"]
    assert task.functions[0].line_end == 7 and task.functions[0].passage.startswith("The mean is")
    assert (
        task.solution
        == "echo Experiment 1\npython run.py\necho Experiment 2\npython run.py --power 2\n"
    )


def test_listed_tasks_are_those_that_the_rows_make(public: Make) -> None:
    listed = load_dataset(public())
    made = load_dataset(public(name="other"))
    made.listed.clear()
    for n in range(4):
        for one, two in zip(select_tasks(listed, [n]), select_tasks(made, [n]), strict=True):
            assert (one.id, one.experiments, one.solution, one.gold) == (
                two.id,
                two.experiments,
                two.solution,
                two.gold,
            )


def test_the_folder_may_be_named_at_three_depths(public: Make) -> None:
    clone = public()
    for folder in (clone, clone / "dataset", root(clone)):
        assert len(load_dataset(folder).papers) == 2


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(
        UsageError, match=r"holds no AutoExperiment data: it needs mlrc_main\.csv.*git clone"
    ):
        load_dataset(tmp_path)
    with pytest.raises(UsageError, match="is not there"):
        load_dataset(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="holds no AutoExperiment data"):
        load_dataset(tmp_path / "README.md")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (f"{FIRST}_1,0", f"the dataset's order is {FIRST}_0,1"),
        (f"{FIRST}_9", "has no function 9: it has 0, 1, 2"),
        (f"{FIRST}_2", f"no experiment of {FIRST} depends on {FIRST}_2"),
        ("9999.00001_0", f"it has the papers {FIRST}, {SECOND}"),
        ("nonsense", "isn't a task of this dataset"),
    ],
)
def test_ids_are_exact(public: Make, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        select_tasks(load_dataset(public()), ids=[name])


def test_samples_are_the_same_each_time(public: Make) -> None:
    dataset = load_dataset(public())
    draws = [
        [task.id for task in select_tasks(dataset, [1, 2], sample=2, which="all")] for _ in range(2)
    ]
    assert draws[0] == draws[1] and len(draws[0]) == 4
    assert len(select_tasks(dataset, [2], sample=99)) == 4
    with pytest.raises(UsageError, match="n goes from 0 to 3"):
        select_tasks(dataset, [4])


def test_large_combinations_are_sampled_without_being_listed(public: Make) -> None:
    clone = public()
    rows = [{**FUNCTIONS[0], "func_id": str(number)} for number in range(60)]
    (root(clone) / FIRST / "functions.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    for path in root(clone).glob("mlrc_n=*"):
        path.unlink()
    dataset = load_dataset(clone)
    found = [task.id for task in select_tasks(dataset, [30], sample=20)]
    assert found == [task.id for task in select_tasks(dataset, [30], sample=20)]
    assert len(set(found)) == len(found) > 15


def test_splits_are_by_paper(public: Make) -> None:
    clone = public()
    dataset = load_dataset(clone)
    assert sorted(dataset.splits.values()) == ["dev", "test"]
    (root(clone) / "splits.json").write_text(json.dumps({FIRST: "dev", SECOND: "dev"}))
    assert set(load_dataset(clone).splits.values()) == {"dev"}


def test_stale_namesakes_are_placed_together(public: Make) -> None:
    places = locate(load_dataset(public()).papers[SECOND])
    found = [place.qualname for place in places.values() if isinstance(place, Function)]
    assert found == ["Squared.__call__", "Logistic.__call__"]


def test_of_a_clean_dataset_only_missing_lists_are_faults(public: Make) -> None:
    assert faults(load_dataset(public())) == {
        "missing file": [
            f"mlrc_n={n}.jsonl: is missing: the tasks of this n are made from the rows"
            for n in (4, 5)
        ]
    }


def test_broken_rows_and_missing_files_are_named_and_stop_nothing(public: Make) -> None:
    clone = public()
    data = root(clone)
    with (data / FIRST / "functions.jsonl").open("a") as file:
        file.write('{"torn": \n[1, 2]\n{"func_id": "7"}\n')
    with (data / "mlrc_funcs.csv").open("a") as file:
        file.write(",,,,,,,\n,,,,,,,\na,b\n")
    with (data / "mlrc_exps.csv").open("a") as file:
        file.write(f'{FIRST},7,"no result",nonsense {{,"0","python run.py"\n')
        file.write(f'{FIRST},8,"strange","{{""a"": -1.0, ""b"": 0}}","0,77",""\n')
    with (data / "mlrc_main.csv").open("a") as file:
        file.write("Ghost,https://example.org,0303.00003,\n")
    with (data / "mlrc_n=1.jsonl").open("a") as file:
        file.write(
            '{"paper_id": "0101.00001", "func_ids": "0,1"}\n{"paper_id": "5", "func_ids": "0"}\n'
        )
    (data / "mlrc_n=2.jsonl").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    )
    (data / "mlrc_n=3.jsonl").unlink()
    (data / SECOND / "code" / "losses.py").unlink()
    (data / SECOND / "paper.txt").write_bytes(b"")
    dataset = load_dataset(clone)
    found = faults(dataset)
    said = "\n".join(line for lines in found.values() for line in lines)
    for part in (
        "functions.jsonl:4: isn't JSON",
        "functions.jsonl:5: isn't a JSON object",
        "functions.jsonl:4: lacks func_id, file or name",
        "mlrc_funcs.csv: has 2 blank rows",
        "mlrc_funcs.csv:9: has another number of fields",
        "experiment 7: its result is neither JSON nor a Python literal",
        "mlrc_main.csv: names 0303.00003, which has no folder",
        "0101.00001_0,1 does not mask 1 functions",
        "mlrc_n=2.jsonl: is a Git LFS pointer",
        "mlrc_n=3.jsonl: is missing",
    ):
        assert part in said, part
    assert len(select_tasks(dataset, [2])) == 4  # made from the rows


def test_the_command_shows_what_a_set_holds_and_each_fault(public: Make) -> None:
    clone = public()
    (root(clone) / "mlrc_n=2.jsonl").write_text("version https://git-lfs.github.com/spec/v1\n")
    done = CliRunner().invoke(app, ["dataset", str(clone)])
    assert done.exit_code == 0
    assert "2 papers\nall combinations: n=0: 2, n=1: 4" in done.output
    assert "mlrc_n=2.jsonl: is a Git LFS pointer" in done.output


def test_older_files_serve_where_functions_jsonl_is_gone(public: Make) -> None:
    clone = public()
    path = root(clone) / FIRST / "functions.jsonl"
    path.rename(path.with_name("functions copy.jsonl"))
    (root(clone) / FIRST / "functions.json").write_text(json.dumps({"functions": FUNCTIONS[:1]}))
    dataset = load_dataset(clone)
    assert [row.name for row in dataset.papers[FIRST].functions] == [
        "mean",
        "spread",
        "unused",
    ]  # of the CSV
    (root(clone) / "mlrc_funcs.csv").unlink()
    assert [row.name for row in load_dataset(clone).papers[FIRST].functions] == ["mean"]


def test_experiments_that_differ_between_the_files_are_named(public: Make) -> None:
    clone = public()
    rows = [{**row, "result": '{"mean": 1.0}'} for row in EXPERIMENTS[:1]]
    (root(clone) / FIRST / "experiments.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    dataset = load_dataset(clone)
    said = faults(dataset)["disagreement"]
    assert f"{FIRST}/experiments.jsonl: has 1 experiments where mlrc_exps.csv has 2" in said
    assert f"{FIRST}/experiments.jsonl: result differs from mlrc_exps.csv in experiments 0" in said
    assert task_of(dataset, f"{FIRST}_0").gold["Experiment 1"]["mean"] == 4.0


def test_the_workspace_holds_what_upstream_gives_and_no_gold(public: Make, tmp_path: Path) -> None:
    task = task_of(load_dataset(public("L")), f"{FIRST}_0,1")
    lay_out(task, tmp_path / "w", variant="oracle")
    files = sorted(
        str(path.relative_to(tmp_path / "w"))
        for path in (tmp_path / "w").rglob("*")
        if path.is_file()
    )
    assert files == [
        "README.md",
        "experiment.txt",
        "lib/__init__.py",
        "lib/stats.py",
        "paper.txt",
        "refsol.sh",
        "run.py",
    ]
    masked = (tmp_path / "w" / "lib" / "stats.py").read_text()
    assert (
        masked.count("raise NotImplementedError") == 2
        and "The mean is the sum by the count." in masked
    )
    assert (
        (tmp_path / "w" / "experiment.txt")
        .read_text()
        .endswith(
            "Missing function(s):\n- mean in file lib/stats.py\n- spread in file lib/stats.py\n"
        )
    )
    everything = "".join(path.read_text() for path in (tmp_path / "w").rglob("*") if path.is_file())
    assert "3.082207" not in everything and "25.5" not in everything and "secret" not in everything
    lay_out(task, tmp_path / "bare", readme=False, commands=False, paper=False)
    assert not {"README.md", "refsol.sh", "paper.txt"} & {
        path.name for path in (tmp_path / "bare").iterdir()
    }


@pytest.mark.parametrize("file", ["a\0.py", "\ud835.py", "x" * 300])
def test_what_cannot_be_a_file_or_a_text_is_a_fault(public: Make, file: str) -> None:
    path = find_root(public()) / FIRST / "functions.jsonl"
    row = json.loads(path.read_text().splitlines()[0]) | {"file": file, "description": "A \ud835."}
    path.write_text(json.dumps(row))
    found = load_dataset(path.parents[1])
    texts = [fault.text for fault in found.faults.found if fault.paper_id == FIRST]
    assert found.papers[FIRST].functions[0].description == "A ?."
    assert any("halves of characters" in text for text in texts)
    why = str(locate(found.papers[FIRST])["0"])
    assert "cannot be the name" in why or "cannot be read" in why or "is missing in code" in why


def test_ids_may_be_numbers(public: Make) -> None:
    path = find_root(public()) / FIRST / "functions.jsonl"
    path.write_text(path.read_text().replace('"func_id": "0"', '"func_id": 0'))
    assert task_of(load_dataset(path.parents[1]), f"{FIRST}_0").id == f"{FIRST}_0"


def test_a_pattern_that_is_no_expression_is_one_clear_error(public: Make) -> None:
    clone = public()
    path = clone / "dataset" / "MLRC" / "0101.00001" / "taskset.json"
    path.write_text(json.dumps({"patterns": {"loss": "loss (("}}))
    with pytest.raises(
        UsageError, match=r"taskset.json: patterns: .*'loss \(\(' for 'loss' isn't a"
    ):
        load_dataset(clone)
