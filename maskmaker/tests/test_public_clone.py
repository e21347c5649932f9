"""The public repository itself, where a clone of it is at hand:
AUTOREPRODUCE_TEST_DATA/AutoExperiment.

Packages that the public code needs (pandas, tqdm) are looked for in
AUTOREPRODUCE_TEST_DATA/packages/bubblewrap/site.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from stand_in import write_ratings

from autoreproduce.config import Settings
from autoreproduce.plugins.autoexperiment.dataset import Dataset, load_dataset
from autoreproduce.plugins.autoexperiment.functions import Function
from autoreproduce.plugins.autoexperiment.locating import locate
from autoreproduce.plugins.autoexperiment.masking import Variant, mask, stub
from autoreproduce.plugins.autoexperiment.python_source import PythonSource
from autoreproduce.plugins.autoexperiment.selection import counts, select_tasks, task_of
from autoreproduce.plugins.autoexperiment.unmasked import scorable
from autoreproduce.sandboxes import why_not
from autoreproduce.sandboxes.setup import SandboxSetup
from maskmaker.proof import prove

CLONE = Path(os.environ.get("AUTOREPRODUCE_TEST_DATA", "/nonexistent")) / "AutoExperiment"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not CLONE.is_dir(), reason="no clone of the public repository in AUTOREPRODUCE_TEST_DATA"
    ),
]


@pytest.fixture(scope="module")
def public_dataset() -> Dataset:
    return load_dataset(CLONE)


def test_the_clone_loads_whole(public_dataset: Dataset) -> None:
    assert counts(public_dataset) == {0: 4, 1: 36, 2: 179, 3: 605, 4: 1566, 5: 3186}
    assert len(public_dataset.papers) >= 4
    for n in range(6):
        tasks = select_tasks(public_dataset, [n], which="all", sample=200)
        assert len(tasks) == min(200, counts(public_dataset)[n])
        assert all(task.gold and task.solution and task.experiments for task in tasks)


def test_the_lists_are_what_the_rows_make(public_dataset: Dataset) -> None:
    rows = replace_lists(public_dataset)
    for n in (1, 2):
        for task in select_tasks(public_dataset, [n]):
            made = task_of(rows, task.id)
            assert (made.experiments, made.solution, made.gold) == (
                task.experiments,
                task.solution,
                task.gold,
            )


def replace_lists(dataset: Dataset) -> Dataset:
    return Dataset(dataset.folder, dataset.papers, {}, dataset.faults, dataset.splits)


def test_its_faults_are_those_that_are_known(public_dataset: Dataset) -> None:
    kinds = {fault.kind for fault in public_dataset.faults.found}
    assert {"missing paper", "broken row", "disagreement"} <= kinds


def test_all_functions_of_its_code_are_masked_and_restored(public_dataset: Dataset) -> None:
    placed = 0
    for paper in public_dataset.papers.values():
        assert all(isinstance(found, Function) for found in locate(paper).values())
        placed += len(paper.functions)
        for path in paper.code.rglob("*.py"):
            source = PythonSource(path.read_bytes(), path.name)
            for function in source.functions:
                for variant in get_args(Variant):
                    done = mask(
                        source, [(function, stub(function.docstring, variant, "A passage."))]
                    )
                    region, made = source.region(function), PythonSource(done).utf8
                    assert made.startswith(source.utf8[: region.start])
                    assert made.endswith(source.utf8[region.end :])
    assert placed == 37


@pytest.mark.timeout(1800)
def test_a_paper_runs_end_to_end_on_stand_in_data(public_dataset: Dataset, tmp_path: Path) -> None:
    packages = CLONE.parent / "packages"
    settings = Settings(sandbox="bubblewrap", memory_gb=3, cpus=1, cache_dir=tmp_path / "cache")
    if not (packages / "bubblewrap" / "site" / "pandas").is_dir() or why_not(
        "bubblewrap", settings
    ):
        pytest.skip("the public code needs pandas and tqdm, and bubblewrap to run in")
    shutil.copytree(public_dataset.papers["2205.00048"].folder, tmp_path / "paper")
    write_ratings(tmp_path / "paper" / "code")
    place = SandboxSetup(settings, packages)
    for name in ("2205.00048_0", "2205.00048_3,5"):
        task = task_of(public_dataset, name)
        gold = {"Experiment 1": task.gold["Experiment 1"]}
        task = replace(
            task,
            paper=replace(task.paper, folder=tmp_path / "paper"),
            gold=gold,
            exp_ids=task.exp_ids[:1],
        )
        here = scorable(task, place, here=True)
        assert set(here.gold["Experiment 1"]) == set(gold["Experiment 1"])
        proof = prove(here, place)
        assert proof.proven, proof
        assert proof.runs["masked"].startswith("not implemented")
    assert not prove(task, place).proven  # the published numbers are not those of the stand-in data
