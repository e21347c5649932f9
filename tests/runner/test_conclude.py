"""The method beside the reference when a trial ends: seen, told apart, and never fatal."""

from pathlib import Path

import pytest

from autoreproduce.benchmarks import benchmark_of
from autoreproduce.benchmarks.reproducebench.altered import Breaking
from autoreproduce.benchmarks.reproducebench.tasks import load_task, task_file, task_folders
from autoreproduce.claims.verdicts.trial_verdict import TrialVerdict, verdict_of
from autoreproduce.config import Settings
from autoreproduce.evaluation.judging.material import material_of
from autoreproduce.evaluation.judging.submitted_code import Program
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.runner.conclude import _differing, _is_style, conclude
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import Task
from autoreproduce.trials.measurement import Measurement
from autoreproduce.trials.trial import Outcome, Trial

SETTINGS = Settings(sandbox="process")


def reference_files(task: Task) -> dict[str, str]:
    """The reference, of which `python main.py` runs the small profile."""
    reference = material_of(task).reference
    assert reference is not None
    return dict(reference.files)


def with_mistake(files: dict[str, str], mistake: Breaking) -> dict[str, str]:
    changed = dict(files)
    for edit in mistake.edits:
        assert changed[edit.file].count(edit.old) == 1
        changed[edit.file] = changed[edit.file].replace(edit.old, edit.new)
    return changed


def concluded(trial: Trial, task: Task) -> tuple[TrialVerdict, Outcome]:
    outcome = Outcome(status="measured", reason="", metric=0.03, recomputed=True)
    sandboxes = SandboxSetup(SETTINGS, trial.folder / "packages", task.data_dir)
    measurement = Measurement(value=0.03, recomputed=True)
    conclude(trial, task, outcome, measurement, SETTINGS, sandboxes)
    found = verdict_of(trial.folder)
    assert found is not None and found.sentence == outcome.sentence
    return found, outcome


def test_structure_that_cannot_be_read_leaves_the_number(tmp_path: Path) -> None:
    task = load_task("lsm")
    with lay_out(tmp_path / "trial", Program({"main.py": "print(1)\n"}), task) as trial:
        (tmp_path / "trial/structure.json").write_text("{")
        found, outcome = concluded(trial, task)
    assert outcome.sentence.startswith("The program does as well as our reference on a small")
    assert outcome.sentence.endswith("its number is not comparable with the paper's.")
    assert (outcome.verdict, outcome.level) == ("not comparable", "mixed")
    assert "The structure could not be compared" in " ".join(found.remarks)


@pytest.mark.slow
def test_tasks_whose_number_cannot_tell_say_so_by_a_known_mistake() -> None:
    """The field stands if the mistake that leaves the method's core out is not told by the metric."""
    for folder in task_folders():
        file = task_file(folder)
        small = file.profiles["small"]
        assert bool(small.number_cannot_tell) == (not file.breaking[0].told_by_metric), file.id
        blind = file.breaking[0].structure.startswith("nothing")
        assert blind or not small.structure_cannot_tell, file.id
        assert small.structure_cannot_tell or not (small.number_cannot_tell and blind), file.id


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_known_mistake_is_told_from_the_method(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    task = load_task("lsm")
    task = benchmark_of(task).prepare(task, SETTINGS.cache_dir, print)
    files = reference_files(task)
    mistake = task_file(task.folder).breaking[0] if task.folder else None
    assert mistake is not None
    with lay_out(tmp_path / "right", Program(files), task) as trial:
        right, _ = concluded(trial, task)
    with lay_out(tmp_path / "wrong", Program(with_mistake(files, mistake)), task) as trial:
        wrong, _ = concluded(trial, task)
    assert right.overall.method.observed and right.level == "good"
    assert right.overall.method.by == "structure"
    assert wrong.overall.method.differs and wrong.level == "mixed"
    assert "parameters" in " ".join(wrong.remarks)


def test_the_same_parameters_in_other_matrices_are_the_same_method() -> None:
    def items(parameters: float, tensors: float) -> list[dict[str, object]]:
        return [
            {"name": "parameters", "agreement": parameters},
            {"name": "parameter tensors", "agreement": tensors},
            {"name": "epochs", "agreement": 1.0},
        ]

    assert _differing(items(1.0, 0.93)) == []
    assert _differing(items(0.97, 0.93)) == ["parameter tensors"]
    assert _differing(items(1.0, 0.8)) == ["parameter tensors"]


def test_layers_and_schedule_are_style_if_all_parameters_are_there() -> None:
    def items(counted: float) -> list[dict[str, object]]:
        names = {"parameters": 1.0, "trained parameters": counted, "layers by type": 0.5}
        return [{"name": name, "agreement": value} for name, value in names.items()]

    assert _is_style(items(1.0), ["layers by type"])
    assert not _is_style(items(0.98), ["layers by type"])
    assert not _is_style(items(1.0), ["layers by type", "output shapes"])
    assert not _is_style([], ["schedule"])
