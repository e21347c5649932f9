"""What the method does with --effort evidence: one reading, typed replies, one review."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from chat_server import chat_server
from test_loop import METHOD, Scripted, edit, run

from autoreproduce import reproduce
from autoreproduce.agents.commands import Cannot, Update
from autoreproduce.agents.parsing import parse
from autoreproduce.claims.choices import Alternative, Choice
from autoreproduce.claims.readings import OpenChoice, readings_of, single_readings
from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim
from autoreproduce.errors import CommandError
from autoreproduce.evaluation.paper_page import claims_of_experiment
from autoreproduce.method.choices import cited_by_choices, correct_choices, freeze_open_choices
from autoreproduce.method.data_acquisition import LISTED, listed_data
from autoreproduce.method.experiment_execution import expectations_problem, readings_problem, unmet
from autoreproduce.method.paper_extract import PaperExtract
from autoreproduce.method.paper_notes import note_lines
from autoreproduce.method.review import replaced
from autoreproduce.papers import Paper
from autoreproduce.task import Metric, Task
from autoreproduce.trials.steps import ExecutionResult

TASK = Task(id="t", metric=Metric(name="accuracy"), instruction="")
TABLE = "Table 1: Results.\n\n| method | accuracy |\n|---|---|\n| Ours | 94.3 |\n\nWe use Adam."
CHECKLIST = (
    "1. One.\n2. Two.\n3. Three.\n4. Four.\nE1. Ours is above chance.\nN1. 94 and 95 differ."
)
CLAIM = "{row: [Ours], column: [accuracy], metric: accuracy, value: VALUE, direction: higher, table: Table 1}"
CHOICE = '{what: optimiser, value: adam, kind: stated, place: "We use Adam"}'


def extract() -> PaperExtract:
    bench: Any = SimpleNamespace(paper=TABLE)
    return PaperExtract(
        bench,
        TASK,
        Paper(title="Gates", body=TABLE, text=TABLE, source="markdown", note=""),
        given=False,
    )


def reply(claim: str, choice: str, before: str = CHECKLIST) -> str:
    return f"{before}\n\n```yaml\nclaims:\n- {claim}\nchoices:\n- {choice}\n```"


@pytest.mark.slow
def test_checklist_expectations_claims_and_choices_come_in_one_reply() -> None:
    found = extract()
    found.read(reply(CLAIM.replace("VALUE", "94.3"), CHOICE))
    assert found.checklist.splitlines() == ["1. One.", "2. Two.", "3. Three.", "4. Four."]
    assert found.expectations == ["E1: Ours is above chance."]
    assert found.notes == ["94 and 95 differ."]
    frozen = found.frozen_claims()
    assert frozen is not None and [claim.value for claim in frozen.file.claims] == [94.3]
    assert found.chosen is not None and found.chosen[0].what == "optimiser"


@pytest.mark.slow
def test_what_was_right_in_a_reply_need_not_come_again() -> None:
    found = extract()
    with pytest.raises(CommandError, match=r"claims: .*91\.0") as error:
        found.read(reply(CLAIM.replace("VALUE", "91.0"), CHOICE))
    assert "choices:" not in str(error.value)
    found.read(f"```yaml\nclaims:\n- {CLAIM.replace('VALUE', '94.3')}\n```")
    assert found.file is not None and found.chosen is not None and found.checklist


@pytest.mark.slow
def test_notes_on_the_paper_are_kept_where_their_words_are_in_it() -> None:
    found, items = (
        extract(),
        [
            '{kind: missing setting, what: "no learning rate", quotes: ["We use Adam"]}',
            '{kind: misprint, what: "SGD", quotes: ["We use SGD with momentum"]}',
            '{kind: contradiction, what: "one place", quotes: ["We use Adam"]}',
            "no note",
        ],
    )
    block = reply(CLAIM.replace("VALUE", "94.3"), CHOICE).removesuffix("```")
    found.read(block + "notes:\n" + "".join(f"- {item}\n" for item in items) + "```")
    frozen = found.frozen_claims()
    assert frozen and note_lines(frozen.notes) == [
        ("missing setting: no learning rate", "We use Adam")
    ]
    momentum, quotations, _ = frozen.unquoted
    assert "SGD with momentum" in momentum and "two quotations" in quotations


def test_a_reply_without_its_checklist_goes_back() -> None:
    with pytest.raises(CommandError, match="numbered lines are missing"):
        extract().read(reply("{}", CHOICE, before="As asked:"))


def test_an_error_takes_one_call(tmp_path: Path) -> None:
    code = Scripted(edit("import nosuchmodule"), "The import.\n\n" + edit("x = 1", "1 1"))
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"), effort="evidence")
    assert (ended.status, ended.attempts) == ("matched", 1)
    assert code.asked == ["write", "debug/edit"]
    assert bench.files["method.py"] == "x = 1\n"


@pytest.mark.parametrize("first", [[], [edit("import nosuchmodule")]])
def test_what_cannot_be_done_ends_the_phase_with_its_reason(
    tmp_path: Path, first: list[str]
) -> None:
    code = Scripted(*first, "CANNOT: the images of Table 2 are not here")
    ended, bench = run(tmp_path, code, effort="evidence")
    assert (ended.status, ended.attempts) == ("failed", len(first))
    assert ended.reason == "it cannot be done: the images of Table 2 are not here"
    assert not code.replies and len(bench.files) == len(first)


def test_cannot_and_corrected_choices_are_read_as_they_are_written() -> None:
    update = "UPDATE\n## Feedback\nfix\n## Summary\nreplace: a\nby: b\n## Choices\n- epochs: 3"
    assert parse(update, {"UPDATE"}).command == Update("fix", "replace: a\nby: b", "- epochs: 3")
    assert parse("CANNOT: no data", {"CANNOT"}).command == Cannot("no data")
    with pytest.raises(CommandError):
        parse("I CANNOT do this", {"CANNOT"})


def test_phrases_of_a_summary_are_changed_without_sending_it_again() -> None:
    text = "Adam for 1,000 steps. Loss: relative."
    assert replaced(text, 'replace: "1,000 steps"\nby: 200 steps') == text.replace("1,000", "200")
    assert replaced(text, "All of it new.") == "All of it new."
    with pytest.raises(CommandError, match="not in the summary"):
        replaced(text, "replace: 3,000 steps\nby: 200 steps")


def choice(what: str, **more: Any) -> Choice:
    return Choice(what=what, value=1000, kind="open", why="customary", **more)


def test_a_review_corrects_a_choice_and_takes_registered_defaults_alone(tmp_path: Path) -> None:
    against = {"value": 3, "why": "tables may rest on it", "against_text": True}
    penalty = choice("penalty", alternatives=({"value": 1, "why": "so"}, against))
    trial = SimpleNamespace(
        folder=tmp_path, write=lambda name, text: (tmp_path / name).write_text(text)
    )
    bench: Any = SimpleNamespace(choices=[choice("iterations"), penalty], trial=trial, taken={})
    freeze_open_choices(bench, bench.choices)
    correct_choices(bench, "- iterations: 200 (it converges by then)")
    assert bench.choices[0].value == 200 and bench.choices[0].paper == 1000
    assert bench.choices[0].why == "it converges by then"
    assert '"value": 200' in (tmp_path / "choices.json").read_text()
    for unregistered in (2, 3):
        with pytest.raises(CommandError, match=r"penalty can't be .*, only 1000 or 1"):
            correct_choices(bench, f"- penalty: {unregistered}")
    with pytest.raises(CommandError, match="There are: iterations; penalty"):
        correct_choices(bench, "- rounds: 2")
    assert readings_of(tmp_path)[0].values == (1000, 1, 3)
    correct_choices(bench, '- penalty: 1 ("five-fold" comes out)')
    (one,) = readings_of(tmp_path)
    assert one.values == (1, 1000, 3) and one.alternatives[1].against_text
    assert bench.choices[1].value == 1 and '"five-fold" comes out' in bench.choices[1].why
    assert single_readings([one]) == [{"penalty": 1000}, {"penalty": 3}]
    correct_choices(bench, "- penalty: 1000 (it does so too)")
    assert readings_of(tmp_path)[0].values == (1000, 1, 3) and bench.choices[1].value == 1000


def test_lineage_follows_what_open_choices_cite() -> None:
    cited = choice("split", cited="A split")
    stated = Choice(what="a", value=1, kind="stated", place="b", cited="Not this")
    assert cited_by_choices([cited, choice("rate"), stated, cited]) == ["A split"]


def test_an_expectation_that_does_not_hold_is_asked_about_once() -> None:
    bench: Any = SimpleNamespace(expectations=["E1: a > b", "E2: it falls"], questioned=set())
    printed = "expected E1: no, 0.2 and 0.4\nexpected E2: open (2 steps)\n"
    ran: Any = SimpleNamespace(execution=SimpleNamespace(stdout=printed))
    assert unmet(bench, ran) == ["E1: a > b (the run: 0.2 and 0.4)"]
    assert "E1: a > b" in expectations_problem(bench, ran)
    assert expectations_problem(bench, ran) == ""


def dry_run(command: str, *_: object, **__: object) -> ExecutionResult:
    """A run whose number only the points move."""
    text = f'{{"metrics": {{"accuracy": {2.0 if "points" in command else 1.0}}}}}'
    return ExecutionResult(command=command, exit_code=0, seconds=1.0, metrics_json=text)


def bench_of_readings(minutes: float | None = None) -> tuple[Any, list[str]]:
    """A workbench with three open choices, and the commands that it runs, each for ten seconds."""
    commands: list[str] = []
    trial = SimpleNamespace(next_step=None, steps=[])

    def run(command: str, seconds: float, name: str) -> ExecutionResult:
        commands.append(command)
        trial.steps.append(SimpleNamespace(name=name, seconds=10.0))
        return dry_run(command)

    names = {"degree": ("10", "20"), "solver": ("auto",), "points": ("900",)}
    opened = [
        OpenChoice(
            name=name,
            what=name,
            default="given",
            alternatives=tuple(Alternative(value=value, why="customary") for value in values),
        )
        for name, values in names.items()
    ]
    bench: Any = SimpleNamespace(
        open_choices=opened,
        questioned=set(),
        run_seconds=1.0,
        task=TASK,
        run=run,
        trial=trial,
        files={"main.py": "print(1)"},
        settings=SimpleNamespace(readings_minutes=minutes),
        dry_readings={},
    )
    return bench, commands


def test_choices_of_which_a_dry_run_shows_nothing_are_asked_about_together_and_once() -> None:
    bench, _ = bench_of_readings()
    asked = readings_problem(bench, dry_run("python main.py --dry-run"))
    assert "--reading degree=10`, `python" in asked and "--reading solver=auto` left" in asked
    assert "degree=20" not in asked and "points" not in asked
    assert readings_problem(bench, dry_run("python main.py --dry-run")) == ""


def test_a_reading_is_dry_run_again_only_where_the_code_is_another() -> None:
    bench, commands = bench_of_readings()
    readings_problem(bench, dry_run("python main.py"))
    assert len(commands) == 4
    bench.files["main.py"] = "print(1)  # the solver needs more than a dry run\n"
    readings_problem(bench, dry_run("python main.py"))
    assert len(commands) == 4
    bench.files["main.py"] = "print(2)"
    readings_problem(bench, dry_run("python main.py"))
    assert len(commands) == 8


@pytest.mark.parametrize(("minutes", "ran"), [(0, 0), (0.5, 2), (4, 4)])
def test_dry_runs_of_readings_take_half_of_their_minutes(minutes: float, ran: int) -> None:
    bench, commands = bench_of_readings(minutes)
    readings_problem(bench, dry_run("python main.py"))
    assert len(commands) == ran


def test_whoever_writes_data_py_sees_the_folder(tmp_path: Path) -> None:
    assert listed_data(None) == [] == listed_data(tmp_path / "none")
    (tmp_path / "a").mkdir()
    for number in range(LISTED + 2):
        (tmp_path / "a" / f"{number:02}.npz").write_text("x")
    listed = listed_data(tmp_path)
    assert listed[0] == "a/00.npz (1 bytes)" and listed[-1] == "2 more files"


def judged(experiment: str, word: str) -> JudgedClaim:
    claim = SimpleNamespace(experiment=experiment, is_baseline=False)
    found: Any = SimpleNamespace(claim=claim, verdict=SimpleNamespace(word=word))
    return found  # type: ignore[no-any-return]


def test_each_experiment_of_one_program_has_its_own_count() -> None:
    claims = [judged("Table 1", "reproduced"), judged("Table 2", "close"), judged("Table 1", "x")]
    assert claims_of_experiment(claims, "Table 1") == "1 of its 2 claims reproduced. "
    assert claims_of_experiment(claims, "Table 2") == "0 of its 1 claims reproduced, 1 close. "
    assert claims_of_experiment(claims[:1], "Table 1") == ""


@pytest.mark.slow
def test_prompts_grow_from_one_beginning(tmp_path: Path) -> None:
    """What a provider's cache serves: a prompt repeats the last one up to what changed. The
    report has what the reading noted of the paper.
    """
    tiny.lay_out(tmp_path)
    noted = 'notes:\n- {kind: undefined, what: "no unit", quotes: ["WORDS"]}\nchoices:'.replace(
        "WORDS", "The squared error on the test points"
    )
    with chat_server(lambda each: tiny.reply(each).replace("choices:", noted, 1)) as server:
        done = reproduce(
            task="Lines",
            paper=tmp_path / "paper.md",
            metric="squared_error",
            data=tmp_path / "data",
            model="scripted",
            base_url=server.base_url,
            sandbox="process",
            lineage=False,
            out=tmp_path / "trial",
            cache_dir=tmp_path / "cache",
        )
    assert done.result.status == "measured"
    prompts = [request.messages[-1]["content"] for request in server.requests]
    assert len(prompts) == 9
    for before, after in pairwise(prompts[1:]):
        shown = before.split("# What is asked")[0]
        common = next(
            (n for n, (a, b) in enumerate(zip(shown, after, strict=False)) if a != b), len(shown)
        )
        changed = "main.py, numbered" if "# main.py" in shown else "method.py, numbered"
        assert common >= len(shown.split(changed)[0]) - 1
    told = done.result.details["sections"]["Notes on the paper"]
    assert told == [("undefined: no unit", "The squared error on the test points")]
    assert "Notes on the paper" in (done.path / "report.html").read_text()
    data = "expected E1" in prompts[4] and "points.json (" in prompts[1]
    assert data and METHOD.stage == "method"
