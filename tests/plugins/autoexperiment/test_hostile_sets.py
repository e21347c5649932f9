"""A masked set as somebody shares it: formulas, links, pipes and nonsense in it."""

import csv
import io
import json
import os
import shutil
from pathlib import Path

import pytest

from autoreproduce.errors import SourceError, UsageError
from autoreproduce.plugins.autoexperiment.dataset import Experiment, load_dataset
from autoreproduce.plugins.autoexperiment.dataset_rows import read_value
from autoreproduce.plugins.autoexperiment.layout import copy_code, lay_out
from autoreproduce.plugins.autoexperiment.parsing import read_results_file
from autoreproduce.plugins.autoexperiment.python_source import parse
from autoreproduce.plugins.autoexperiment.selection import select_tasks
from autoreproduce.plugins.autoexperiment.tasks import load_task, shipped
from autoreproduce.plugins.autoexperiment.taskset import PaperSet, read_splits
from autoreproduce.plugins.autoexperiment.writer import write_paper


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def test_a_set_reads_back_what_a_formula_was_and_a_spreadsheet_does_not(tmp_path: Path) -> None:
    said = "=cmd|'/c calc'!A1"
    (tmp_path / "p" / "code").mkdir(parents=True)
    experiment = Experiment("p", "0", said, {"loss": -1.5}, (), "@run\r\nnext")
    write_paper(tmp_path, "p", "-title", "@me", [], [experiment], PaperSet())
    write_paper(
        tmp_path, "q", "+title", "=me", [], [], PaperSet()
    )  # which writes the rows of p again
    for name in ("mlrc_main.csv", "mlrc_exps.csv"):
        for row in cells((tmp_path / name).read_bytes().decode()):
            assert not [cell for cell in row if cell[:1] in ("=", "+", "-", "@")]
    paper = load_dataset(tmp_path).papers["p"]
    assert paper.title == "-title"
    assert paper.experiments == (experiment,)


SECRET = "the host's own secret"
DEEP = "[" * 100_000


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A file of the machine, outside all that is shared."""
    path = tmp_path / "host.txt"
    path.write_text(SECRET)
    return path


@pytest.fixture
def shared_set(tmp_path: Path) -> Path:
    """A set as somebody shares it: the one that ships, with one paper."""
    root = tmp_path / "set"
    shutil.copytree(shipped() / "adaptive-rate", root / "adaptive-rate")
    for name in ("mlrc_main.csv", "mlrc_funcs.csv", "mlrc_exps.csv"):
        shutil.copy(shipped() / name, root)
    return root


@pytest.mark.parametrize("name", ["refsol.sh", "experiment.txt", "paper.txt", "optimiser.py"])
def test_a_masked_set_is_not_written_through_its_links(
    shared_set: Path, host: Path, tmp_path: Path, name: str
) -> None:
    file = shared_set / "adaptive-rate" / "code" / name
    file.unlink(missing_ok=True)
    file.symlink_to(host)
    with pytest.raises(UsageError, match=f"{name} is a link that leads out"):
        lay_out(select_tasks(load_dataset(shared_set), ids=["adaptive-rate_0"])[0], tmp_path / "w")
    assert host.read_text() == SECRET


def test_a_paper_that_is_a_link_shows_no_file_of_the_host(shared_set: Path, host: Path) -> None:
    paper = shared_set / "adaptive-rate" / "paper.txt"
    paper.unlink()
    paper.symlink_to(host)
    with pytest.raises(UsageError, match=r"paper\.txt is a link that leads out"):
        load_task("adaptive-rate_0", where=shared_set)


def test_the_code_cannot_link_to_the_gold_beside_it(shared_set: Path, tmp_path: Path) -> None:
    (shared_set / "adaptive-rate" / "code" / "notes.txt").symlink_to("../experiments.jsonl")
    task = select_tasks(load_dataset(shared_set), ids=["adaptive-rate_0"])[0]
    with pytest.raises(UsageError, match=r"notes\.txt is a link that leads out"):
        lay_out(task, tmp_path / "w")


def test_a_link_inside_the_code_is_copied_and_never_written_through(
    shared_set: Path, tmp_path: Path
) -> None:
    code = shared_set / "adaptive-rate" / "code"
    (code / "data").mkdir()
    (code / "data" / "a.txt").write_text("data")
    (code / "same").symlink_to("data")
    (code / "refsol.sh").symlink_to("data/a.txt")
    (code / "nowhere").symlink_to("data/b.txt")
    lay_out(select_tasks(load_dataset(shared_set), ids=["adaptive-rate_0"])[0], tmp_path / "w")
    assert (
        (tmp_path / "w/same/a.txt").read_text() == (tmp_path / "w/data/a.txt").read_text() == "data"
    )
    assert not [path for path in (tmp_path / "w").rglob("*") if path.is_symlink()]
    assert (code / "data" / "a.txt").read_text() == "data"


def test_a_masked_function_cannot_be_read_under_another_name(
    shared_set: Path, tmp_path: Path
) -> None:
    (shared_set / "adaptive-rate" / "code" / "old.py").symlink_to("optimiser.py")
    task = select_tasks(load_dataset(shared_set), ids=["adaptive-rate_0"])[0]
    with pytest.raises(SourceError, match=r"the link old\.py leads to it too"):
        lay_out(task, tmp_path / "w")


def test_a_pipe_in_a_set_is_refused_and_blocks_nobody(shared_set: Path) -> None:
    os.mkfifo(shared_set / "adaptive-rate" / "code" / "weights.bin")
    with pytest.raises(UsageError, match=r"weights\.bin is a pipe"):
        load_dataset(shared_set)


def test_a_row_cannot_name_a_file_outside_the_code(shared_set: Path, tmp_path: Path) -> None:
    rows = shared_set / "adaptive-rate" / "functions.jsonl"
    row = json.loads(rows.read_text().splitlines()[0]) | {"file": "../../../host.py"}
    (tmp_path / "host.py").write_text("def f():\n    return 1\n")
    rows.write_text(json.dumps(row) + "\n")
    task = select_tasks(load_dataset(shared_set), ids=["adaptive-rate_0"])[0]
    with pytest.raises(SourceError, match="isn't a file below code"):
        lay_out(task, tmp_path / "w")


def test_links_round_in_a_circle_do_not_copy_for_ever(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "up").symlink_to("..")
    with pytest.raises(UsageError, match="link to a folder that it lies in"):
        copy_code(tmp_path / "a", tmp_path / "copy")


def test_data_of_others_nests_too_deep_for_no_reader(tmp_path: Path) -> None:
    assert read_results_file(DEEP.encode()).value is None
    with pytest.raises(ValueError):
        read_value(DEEP)
    (tmp_path / "splits.json").write_text(DEEP)
    with pytest.raises(UsageError, match=r"splits\.json"):
        read_splits(tmp_path, ["a"])


def test_a_dataset_of_nonsense_is_an_error_or_faults(tmp_path: Path) -> None:
    for name in (
        "metadata.csv",
        "mlrc_main.csv",
        "mlrc_n=1.jsonl",
        "paper/functions.jsonl",
        "paper/experiments.jsonl",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(DEEP)
    try:
        assert load_dataset(tmp_path).faults.found
    except UsageError as error:
        assert str(tmp_path) in str(error)


@pytest.mark.parametrize("source", ["-" * 10**5 + "1", "(" * 10**5, "a\0b", "'\ud800'"])
def test_source_of_any_depth_is_an_error(source: str) -> None:
    with pytest.raises(SourceError):
        parse(source, "a.py")
