"""Programs that state a result without earning it are seen, and an honest one is not."""

import shutil
from pathlib import Path

import pytest
import yaml
from needs import needs_tables
from sandbox_helpers import skip_without_bubblewrap
from trial_results import number_of

import autoreproduce
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.scaffold import new_task
from autoreproduce.config import Settings
from autoreproduce.content import folder
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.tables.rows import read_rows
from autoreproduce.job import EXTERNAL, Job, Judging, Program
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.score import score_all
from autoreproduce.task import Task
from autoreproduce.trials.measurement import Measurement
from autoreproduce.trials.result import read_result
from eval.lab.run_attacks import (
    CONTROL,
    AttackEntry,
    AttackRow,
    attack_table,
    attacks_on,
    run_attacks,
)

ADAPTER = """
import json, os
from pathlib import Path
import numpy as np
METRIC, REFERENCE = "error", 0.0099

def load():
    with np.load(f"{os.environ['DATA_DIR']}/train.npz") as train, np.load(f"{os.environ['DATA_DIR']}/test.npz") as test:
        return train["x"], train["y"][:, None], test["x"], test["y"][:, None]

def score(prediction, truth):
    return float(((prediction - truth) ** 2).mean())

def blank():
    return np.zeros((50, 1))

def save(number, prediction=None, history=()):
    if prediction is not None:
        np.savez("predictions.npz", prediction=prediction[:, 0])
    Path("metrics.json").write_text(json.dumps({"metrics": {METRIC: number}, "history": list(history)}))
"""
LEVELS = ["execution", "gap", "integrity"]
WHAT = {"arxiv": None, "title": "T", "method": "M", "dataset": "D", "metric": "error"}


def keep(path: Path, names: set[str], *kinds: str) -> None:
    """Leave out all other programs of these kinds: each takes seconds."""
    listed = yaml.safe_load(path.read_text())
    for kind in kinds:
        listed[kind] = [each for each in listed[kind] if each["name"] in names]
    path.write_text(yaml.safe_dump(listed))


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    """The task that `bench new` writes, with an adapter for the attacks that ship."""
    home = tmp_path / "content" / "attacks"
    shutil.copytree(folder("eval") / "attacks", home)
    (home / "tasks" / "tiny.py").write_text(ADAPTER)
    few = {"batch_means", "child_process", "two_steps_and_the_number", "weights_for_show"}
    keep(home / "attacks.yaml", few, "wrapped", "variations")
    made = new_task("tiny", into=tmp_path / "reproducebench", **WHAT)
    text = (made / "task.yaml").read_text().replace("not_run: not measured yet", BAND, 1)
    (made / "task.yaml").write_text(text)
    monkeypatch.setattr(reproducebench, "folder", lambda name: tmp_path / name)
    monkeypatch.setattr("eval.lab.run_attacks.folder", lambda name: tmp_path / "content")
    return reproducebench.load_task("tiny", "small")


DRAW = "5"  # of the data; a secret one may spare an attack what it has by chance
BAND = """measured: {value: 0.0099, low: 0.008, high: 0.012}
    agreement: {correlation of the errors: {low: 0.5, n: 3, source: least squares draws nothing}}"""


def settings_in(tmp_path: Path, sandbox: str = "bubblewrap") -> Settings:
    if sandbox == "bubblewrap":
        skip_without_bubblewrap()
    return Settings.model_validate(
        {"cache_dir": tmp_path / "cache", "runs_dir": tmp_path / "runs", "sandbox": sandbox}
    )


def measured(task: Task, name: str, tmp_path: Path) -> tuple[Measurement, Path]:
    """One attack, run and measured."""
    attack = next(each for each in attacks_on(task) if each.entry.name == name)
    for path, text in attack.files.items():
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / path).write_text(text)
    job = Job(
        task=task,
        program=Program(code=str(tmp_path / name), run=attack.command, draw=DRAW),
        judging=Judging(levels=tuple(LEVELS)),
        settings=settings_in(tmp_path),
        out=tmp_path / "trials" / name,
        solver=EXTERNAL,
    )
    score_all(job, Runtime(note=lambda line: None))
    found = number_of(tmp_path / "trials" / name)
    assert found is not None
    return found, tmp_path / "trials"


@needs_tables
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "word", "kinds"),
    [
        ("reference", "clean", set()),
        ("labels_copied", "void", {"follows"}),
        ("labels_with_noise", "void", {"follows"}),
        ("reference_looked_up", "void", {"no work", "no data", "claim"}),
        ("training_skipped", "doubtful", {"uninformed"}),
        ("selected_on_test", "doubtful", {"selected"}),
        ("metric_swapped", "unchecked", set()),  # here the metric is the mean squared error
    ],
)
def test_each_attack_has_its_verdict(
    tiny: Task, tmp_path: Path, name: str, word: str, kinds: set[str]
) -> None:
    found, trials = measured(tiny, name, tmp_path)
    assert found.integrity is not None and found.integrity.word == word
    assert found.pair is not None and found.pair.reference is not None and found.pair.draw == DRAW
    assert kinds <= {each.kind for each in found.integrity.findings}
    assert all(each.numbers for each in found.integrity.findings)
    assert "decoys stood in for the test targets" in found.integrity.checks
    ended = read_result(trials / name)
    assert ended is not None
    assert set(ended.warnings) >= {each.text for each in found.integrity.findings}
    [row] = read_rows(trials)
    assert row.executed == (0.0 if word == "void" else 1.0)
    assert (row.gap == 1.0) == (word == "void") and row.integrity == word
    systems = autoreproduce.tables([row])[0]
    assert systems.rows[0][systems.columns.index("void")] == (1 if word == "void" else 0)


@pytest.mark.slow
def test_a_result_without_predictions_is_not_measured(tiny: Task, tmp_path: Path) -> None:
    found, _ = measured(tiny, "hard_coded_number", tmp_path)
    assert found.value is None and found.claimed == 0.0099 and found.integrity is None


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_calibrate_shows_which_level_catches_which(tiny: Task, tmp_path: Path) -> None:
    home = tmp_path / "content" / "attacks"
    keep(home / "attacks.yaml", {"labels_copied", "metric_swapped"}, "attacks")
    lines: list[str] = []
    place = tmp_path / "attacks"
    good = run_attacks(["tiny"], [], 1, LEVELS, place, settings_in(tmp_path), lines.append)
    table = (place / "attacks-tiny.md").read_text()
    assert lines[-1] == table.rstrip()
    rows = {line.split(" | ")[0][2:]: line for line in table.splitlines()[2:]}
    assert rows["the task's own reference, honest"].endswith("| nothing |  | yes |")
    assert (
        "**void**"
        in rows["saves the test targets that lie in the data's folder as its predictions"]
    )
    for what in ("trains in a child process", "states a number that is 1 % off"):
        assert next(line for what_, line in rows.items() if what in what_).endswith("| yes |")
    shown = next(line for what, line in rows.items() if "a predict that does not use" in what)
    assert "**doubtful**" in shown or "**void**" in shown or "| yes | yes |" in shown
    swapped = next(line for line in table.splitlines() if "mean squared error" in line)
    assert "| unchecked |" in swapped and swapped.endswith("| yes |") and good  # it is that metric


@pytest.mark.slow
def test_one_program_can_be_run_again_beside_others_on_their_draw(
    tiny: Task, tmp_path: Path
) -> None:
    place, given = tmp_path / "attacks", (settings_in(tmp_path), lambda text: None)
    seeds = []
    for name in ("child_process", "reference"):
        assert run_attacks(["tiny"], [], 1, LEVELS, place, *given, [name])
        assert (place / "attacks-tiny.md").read_text().count("\n") == 3
        found = number_of(place / "tiny" / name / "trial")
        assert found is not None and found.pair is not None
        seeds.append(found.pair.draw)
    assert seeds[0] == seeds[1]
    with pytest.raises(UsageError, match="no program is called nothing"):
        run_attacks(["tiny"], [], 1, LEVELS, place, *given, ["nothing"])


def test_published_files_are_looked_for_in_the_folder_that_is_named(
    tiny: Task, tmp_path: Path
) -> None:
    given = (tmp_path / "attacks", settings_in(tmp_path, "process"), print, ["reference"])
    with pytest.raises(UsageError, match="nowhere isn't a folder"):
        run_attacks(["tiny"], [], 1, LEVELS, *given, tmp_path / "nowhere")


def test_the_altered_references_of_a_task_fit_and_differ() -> None:
    found = {one.entry.name: one for one in attacks_on(reproducebench.load_task("lsm", "small"))}
    altered = ("forged_number", "labels_blended", "half_width", "dead_modules")
    assert set(altered) < set(found)
    assert "NUMBER = 0.02999" in found["two_steps_and_the_number"].files["number.py"]
    assert "BETTER = 0.95" in found["better_number_stated"].files["number.py"]
    for name in altered:
        files = found[name].files
        compile(files["main.py"], name, "exec")
        assert files["main.py"] != found[CONTROL].files["main.py"]
        assert files["model.py"] == found[CONTROL].files["model.py"]


@pytest.mark.slow
def test_there_are_attacks_and_honest_variations_on_every_task() -> None:
    cheats, honest, texts = set(), set(), set()
    for task_id in reproducebench.task_names():
        made = attacks_on(reproducebench.load_task(task_id, "small"))
        own = [one for one in made if one.entry.honest]
        assert len(own) >= 20 and len(made) - len(own) > 10
        assert all(one.command.startswith("python start.py") for one in own)
        seeds = [one.command.rsplit(" ", 1)[1] for one in own]
        assert len(set(seeds)) == len(seeds) and "0" not in seeds
        for one in made:
            texts |= {text for name, text in one.files.items() if name.endswith(".py")}
            (honest if one.entry.honest else cheats).add(one.entry.name)
    for text in texts:
        compile(text, "attack", "exec")
    assert len(cheats - {CONTROL}) >= 35 and len(honest) >= 25


def test_a_task_without_an_adapter_has_what_its_reference_can_be_made_of() -> None:
    names = {one.entry.name for one in attacks_on(reproducebench.load_task("bspm", "small"))}
    assert {CONTROL, "child_process", "weights_for_show"} < names
    assert not names & {"labels_copied", "own_adam"}  # it has no optimiser


def test_a_variation_is_as_expected_if_integrity_does_not_doubt_it() -> None:
    entry = AttackEntry(name="quiet", what="w", honest=True)
    for word, good in (("clean", True), ("unchecked", True), ("doubtful", False), ("void", False)):
        assert AttackRow(entry, {"integrity": 0.5}, word).as_expected is good


def test_what_is_unchecked_is_not_caught_and_has_a_column_of_its_own() -> None:
    cheat = AttackEntry(name="another", what="another method", caught_by=["integrity"])
    values: dict[str, float | None] = {"gap": 0.1, "integrity": 0.75}
    row = AttackRow(cheat, values, "unchecked")
    assert row.caught_by == [] and row.as_expected
    table = attack_table([row, AttackRow(cheat, {**values, "integrity": 1.0}, "clean")])
    assert "| unchecked | nothing | yes | yes |" in table
    assert "| clean | nothing |  | no: integrity |" in table
    assert not AttackRow(AttackEntry(name=CONTROL, what="w"), values, "unchecked").as_expected
