"""Choices: checked at their words, and what they and a dry run say of the full run's time."""

import json
from pathlib import Path
from typing import Any

import pytest
from records import Notes, trial_record
from test_loop import Scripted

from autoreproduce.claims.choices import Choice, parse_choices, scaled_down_warning
from autoreproduce.config import Settings
from autoreproduce.method.choices import ChoicesReader, check_choices, choice_lines, write_choices
from autoreproduce.method.literature_review import Summaries
from autoreproduce.method.time_prediction import measured_rate, prediction
from autoreproduce.method.workbench import Workbench
from autoreproduce.task import Metric, Task
from autoreproduce.trials.steps import ExecutionResult
from autoreproduce.trials.trial import Trial

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
    record = trial_record(
        task="t", profile="p", solver="s", model="m", created="now", planned_minutes=10
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
    assert bench.trial.observers[0].texts == [  # type: ignore[attr-defined]
        "choices: c1 is left out: its words are not in the paper"
    ]
    stored = parse_choices((bench.trial.folder / "choices.json").read_text())
    assert [one.what for one in stored] == ["c0"]


def test_without_a_usable_reply_there_is_a_note_and_the_trial_continues(bench: Workbench) -> None:
    assert asked(bench, "no list", "no list either")[0] == []
    assert "continuing without" in bench.trial.observers[0].texts[0]  # type: ignore[attr-defined]
    assert (bench.trial.folder / "choices.json").read_text() == "[]\n"


def run(settings: dict[str, Any], epochs: int = 0, seconds: float = 6.0) -> ExecutionResult:
    history = [{"epoch": float(n)} for n in range(1, epochs + 1)]
    text = json.dumps({"metrics": {"mse": 1.0}, "history": history, "settings": settings})
    told = {"exit_code": 0, "seconds": seconds, "metrics_json": text}
    return ExecutionResult(command="python main.py", **told)  # type: ignore[arg-type]


def test_the_code_agent_reads_what_was_decided(bench: Workbench) -> None:
    bench.choices = [
        choice("learning rate", "2e-3", key="learning_rate", value=0.002),
        choice("epochs", "Table 7", key="epochs", value=12, paper=60, why="60 take too long"),
    ]
    assert choice_lines(bench) == [
        "learning rate: 0.002",
        "epochs: 12 (the paper has 60, ×0.2: 60 take too long)",
    ]
    bench.blank = lambda text: text.replace("0.002", "[withheld]")
    assert choice_lines(bench)[0] == "learning rate: [withheld]"


def test_scaling_down_is_a_warning() -> None:
    few = choice("steps", "", kind="open", why="usual", key="steps", value=2, paper=40)
    assert scaled_down_warning([few]).endswith("steps: 40; taken 2 (×0.05): usual")
    assert scaled_down_warning([choice("steps", "x", key="steps", value=40)]) == ""


TIMED = {"planned_steps": 2400, "seconds_per_step": 0.5}


def test_the_time_of_the_full_run_is_predicted_from_the_dry_run() -> None:
    said = prediction(run(TIMED), [], 10)
    assert "0.5 s a step" in said and "2,400 steps (by the program's own planned_steps)" in said
    assert "at least 20.1 minutes, 2.01 times the 10 minutes" in said
    shared = TIMED | {"parallel_processes": 8}
    assert "in 2 process(es) at a time" in prediction(run(shared), [], 10, cores=2)
    assert "at least 10.1 minutes" in prediction(run(shared), [], 10, cores=2)
    busy = run(TIMED).model_copy(update={"load": 6.0, "machine_cores": 4})
    said = prediction(busy, [], 10, cores=2)
    assert (
        "at least 20.1 minutes" in said and "(cores: 4) had a load of 6.0 from other work" in said
    )
    assert said.endswith("without it these are 10.1 minutes, 1.01 times.")
    steps = [choice("steps", "x", key="steps", value=1200)]
    assert "1,200 steps (by the choices)" in prediction(run({"seconds_per_step": 0.5}), steps, 10)


@pytest.mark.parametrize("each", [None, "0.5", True, 0, -1.0, 6.1, 1e300])
def test_without_a_step_s_time_that_fits_the_run_nothing_is_predicted(each: Any) -> None:
    """A run of 6 s had no step of 6.1."""
    assert prediction(run({"planned_steps": 2400, "seconds_per_step": each}), [], 10) == ""


def test_a_run_that_was_stopped_says_how_far_its_history_came() -> None:
    assert measured_rate(run(TIMED, epochs=3, seconds=600.0)) == (
        "In its 600 s it had written a history of 3 epoch(s)."
    )
    assert measured_rate(run(TIMED)) == ""


def test_the_name_of_a_users_claim_states_a_choice() -> None:
    claimed = ["Prospective, power 80%: n = 122 lower"]
    task = Task(id="t", metric=Metric(name="n"), instruction="", user_claims=claimed)
    reader = ChoicesReader(PAPER, task)
    stated = Choice(
        what="target power", value="0.8", kind="stated", place='"Prospective, power 80%"'
    )
    assert not check_choices([stated], PAPER, reader.given)
    assert "122" not in reader.given
