"""Choices: checked at their words, seen beside what a run used, and what they say of its time."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_loop import Notes, Scripted

from autoreproduce.claims.choices import Choice, parse_choices, scaled_down_warning
from autoreproduce.config import Settings
from autoreproduce.method.choices import (
    changed_settings,
    check_choices,
    choice_lines,
    choices_used,
    reviewed_lines,
    write_choices,
)
from autoreproduce.method.literature_review import Summaries
from autoreproduce.method.results import Run
from autoreproduce.method.time_prediction import measured_rate, prediction
from autoreproduce.method.workbench import Workbench
from autoreproduce.task import Metric, Task
from autoreproduce.trials.steps import ExecutionResult
from autoreproduce.trials.trial import Trial, TrialRecord

PAPER = """# Training
We train with a step size of $2\\times 10^{-3}$ and **batches of 32**; the schedule decays linearly.

$$ L = |x - y|_1 \\tag{3} $$
The text of a PDF has it thus:   z = x + y   (4)

Table 7: Settings.

| setting | value |
|---|---|
| epochs | 60 |
| width | 128 |
"""


def choice(what: str, place: str = "", **fields: Any) -> Choice:
    known = {"what": what, "value": 1, "kind": "stated", "place": place}
    return Choice.model_validate({**known, **fields})


@pytest.mark.parametrize(
    ("place", "stated"),
    [
        ("batches of 32", True),
        ('Section 1: "train with a step size of $2\\times 10^{-3}$"', True),
        ("“train with a step size … decays linearly”", True),
        ("Table 7, row «epochs»", True),
        ("Table 7, row «depth»", False),
        ("the task says: «seed 3»", True),
        ("a step size of 3e-3", False),
        ("Section 4", False),
        ("32", False),
        ("Training, Eq. (3)", True),
        ("formulas (3), equation 4", True),
        ("Eq. (5)", False),
        ("Eq. (3): «the loss is squared»", False),
    ],
)
def test_what_is_called_stated_stands_in_the_paper_or_the_task(place: str, stated: bool) -> None:
    problems = check_choices([choice("x", place)], PAPER, "Take seed 3.")
    assert bool(problems) != stated
    assert not check_choices([choice("x", place, kind="inferred")], PAPER)


def reply(*places: str) -> str:
    items = [
        {"what": f"c{n}", "value": "1", "kind": "stated", "place": p} for n, p in enumerate(places)
    ]
    return f"```json\n{json.dumps(items)}\n```"


@pytest.fixture
def bench(tmp_path: Path):
    record = TrialRecord(
        task="t",
        profile="p",
        solver="s",
        model="m",
        settings={},
        task_digest="",
        created="now",
        planned_minutes=10,
    )
    with Trial.open(tmp_path / "trial", record, [Notes()]) as trial:
        task = Task(id="t", metric=Metric(name="mse"), instruction="")
        made = Workbench(
            task, Settings(), Scripted(), Scripted(), None, trial, None, Summaries(trial)
        )  # type: ignore[arg-type]
        made.paper = PAPER
        yield made


def asked(bench: Workbench, *replies: str) -> tuple[list[str], Scripted]:
    bench.research = research = Scripted(*replies)
    return [one.what for one in write_choices(bench, bench.task)], research


@pytest.mark.slow
def test_wrong_words_go_back_once_and_are_then_left_out(bench: Workbench) -> None:
    found, research = asked(bench, reply("batches of 32", "made up words"), reply("batches of 32"))
    assert found == ["c0"]
    assert "c1: the words 'made up words' stand neither in the paper" in research.sent_back[0]
    assert research.asked == ["claims/choices"] * 2
    found, _ = asked(bench, *[reply("batches of 32", "made up words")] * 2)
    assert found == ["c0"]
    assert bench.trial.observers[0].lines == [  # type: ignore[attr-defined]
        "choices: c1 is left out: its words are not in the paper"
    ]
    stored = parse_choices((bench.trial.folder / "choices.json").read_text())
    assert [one.what for one in stored] == ["c0"]


def test_without_a_usable_reply_there_is_a_note_and_the_trial_continues(bench: Workbench) -> None:
    assert asked(bench, "no list", "no list either")[0] == []
    assert "continuing without" in bench.trial.observers[0].lines[0]  # type: ignore[attr-defined]
    assert (bench.trial.folder / "choices.json").read_text() == "[]\n"


SEEN = {
    "source": "training",
    "unseen": [],
    "optimizer": {"class": "Adam", "defaults": {"lr": 0.01}, "groups": [{"lr": 0.01}]},
    "model": {"class": "Net", "parameters": 49, "inputs": [[6, 4]], "outputs": [[6, 1]]},
    "steps": 2,
    "steps_timed": 3,
    "seconds_before": 6.0,
    "seconds_stepping": 1.0,
    "batches": 20,
    "epochs": 0.1,
    "seeds": [0],
}


def run(observed: dict[str, Any], metrics: dict[str, Any] | None = None, stopped: str = "") -> Run:
    text = json.dumps({"metrics": {"mse": 1.0}, "settings": metrics or {}})
    told = {"exit_code": 0, "seconds": 1.0, "stopped": stopped, "metrics_json": text}
    return Run(command="python main.py", observed=observed or None, **told)  # type: ignore[arg-type]


def test_the_reviewer_sees_what_the_dry_run_used_and_not_what_it_cut(bench: Workbench) -> None:
    bench.choices = [
        choice("learning rate", "2e-3", key="learning_rate", value=0.002),
        choice("epochs", "Table 7", key="epochs", value=12, paper=60, why="60 take too long"),
        choice("optimiser", "Adam", key="optimizer", value="adam"),
    ]
    bench.dry_run = run(SEEN)
    assert reviewed_lines(bench) == [
        "learning rate: 0.002 was decided; THE DRY RUN USED 0.01 (×5)",
        "optimiser: Adam, as decided",
    ]
    assert choice_lines(bench)[0] == "learning rate: 0.002"
    bench.blank = lambda text: text.replace("0.002", "[withheld]")
    assert choice_lines(bench)[0] == "learning rate: [withheld]"


def test_what_the_full_run_used_is_stored_and_scaling_down_is_a_warning(bench: Workbench) -> None:
    bench.choices = [choice("steps", "", kind="open", why="usual", key="steps", value=40)]
    used = choices_used(bench, run(SEEN))
    assert used[0].used == 2
    assert parse_choices((bench.trial.folder / "choices.json").read_text()) == used
    assert scaled_down_warning(used).endswith("steps: 40; used 2 (×0.05): usual")
    assert scaled_down_warning(bench.choices) == ""
    assert choices_used(bench, run(SEEN, stopped="timeout"))[0].used is None


def test_a_run_whose_record_cannot_be_used_is_resumed_with_a_note(bench: Workbench) -> None:
    held = {"source": "training", "unseen": [], "optimizer": {"class": 3}}
    result = ExecutionResult(command="python main.py", exit_code=0, observed=held)
    asked = {"command": "python main.py", "files": bench.files}
    bench.trial.step(ExecutionResult, "sandbox", "run", asked, lambda: result)
    bench.trial.close()
    with Trial.open(bench.trial.folder, bench.trial.record, [notes := Notes()]) as trial:
        bench.trial = trial
        resumed = bench.run("python main.py", 9, "run", watched=True)
        assert resumed.seen is None and choices_used(bench, resumed) == bench.choices
    assert any("what the run did is not known: 'optimizer" in line for line in notes.lines)


def test_a_rewritten_program_must_use_what_the_dry_run_used(bench: Workbench) -> None:
    bench.choices = [choice("step size", "x", key="learning_rate")]
    bench.dry_run = run(SEEN)
    assert changed_settings(bench, run({**SEEN, "steps": 9})) == ""
    assert changed_settings(bench, run({})) == ""
    other = {**SEEN, "optimizer": {**SEEN["optimizer"], "groups": [{"lr": 0.1}]}}  # type: ignore[dict-item]
    assert "(step size: 0.01, now 0.1)" in changed_settings(bench, run(other))


def test_the_time_of_the_full_run_is_predicted_from_the_dry_run() -> None:
    said = prediction(run(SEEN, {"planned_steps": 2400}), [], 10)
    assert "0.5 s a step" in said and "2,400 steps (by the program's own planned_steps)" in said
    assert "at least 20.1 minutes, 2.01 times the 10 minutes" in said
    shared = {"planned_steps": 2400, "parallel_processes": 8}
    assert "in 2 process(es) at a time" in prediction(run(SEEN, shared), [], 10, cores=2)
    assert "at least 10.1 minutes" in prediction(run(SEEN, shared), [], 10, cores=2)
    busy = run(SEEN, {"planned_steps": 2400}).model_copy(update={"load": 6.0, "machine_cores": 4})
    said = prediction(busy, [], 10, cores=2)
    assert (
        "at least 20.1 minutes" in said and "(cores: 4) had a load of 6.0 from other work" in said
    )
    assert said.endswith("without it these are 10.1 minutes, 1.01 times.")
    epochs = [choice("epochs", "x", key="epochs", value=60)]
    assert "1,200 steps (60 epochs of 20 batches)" in prediction(run(SEEN), epochs, 10)
    assert prediction(run(SEEN), [], 10) == prediction(run({}), epochs, 10) == ""
    assert "3 of 2,400 steps (0.10 epochs), 0.5 s a step" in measured_rate(
        run(SEEN, {"planned_steps": 2400})
    )
