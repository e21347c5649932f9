"""The loop of a phase, with real files, a real sandbox and scripted replies."""

import zipfile
from pathlib import Path
from typing import Any

import pytest
from records import Notes, trial_record
from sandbox_helpers import skip_without_bubblewrap

from autoreproduce.agents.agent import Agent, LearntContext
from autoreproduce.claims.choices import Choice
from autoreproduce.config import Settings
from autoreproduce.errors import ReplyError
from autoreproduce.method.development import develop
from autoreproduce.method.literature_review import Summaries
from autoreproduce.method.method_replication import MethodReplication
from autoreproduce.method.phase import Phase, PhaseResult
from autoreproduce.method.workbench import Workbench
from autoreproduce.sandboxes import open_sandbox
from autoreproduce.task import Metric, Task
from autoreproduce.trials.journal import Journal
from autoreproduce.trials.trial import Trial
from autoreproduce.trials.workspace import Workspace

METHOD = Phase("method_replication", "method.py", "python method.py", "method", "write")


class Scripted(Agent):
    """An agent that answers from a list, in order. `asked` holds the prompt's name of each call,
    `variables` what each prompt was rendered with, `sent_back` the errors that replies met.
    """

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []
        self.variables: list[dict[str, Any]] = []
        self.sent_back: list[str] = []
        self.journal = Journal(Path())
        self.context = LearntContext(self.journal, "scripted")

    def _opening(self, name: str, pictures: Any, variables: dict[str, Any]) -> list[Any]:
        self.variables.append(variables)
        return []

    def _converse(self, name: str, messages: list[Any]) -> str:
        self.asked.append(name)
        if messages:
            self.sent_back.append(messages[-1].content)
        reply = self.replies.pop(0)
        if reply == "UNUSABLE":
            raise ReplyError("3 replies were empty")
        return reply


def edit(text: str, lines: str = "1 0") -> str:
    return f"EDIT {lines}\n~~~~python\n{text}\n~~~~"


def run(
    tmp_path: Path,
    code: Scripted,
    research: Scripted | None = None,
    notes: Notes | None = None,
    paper: str = "",
    phase: Phase = METHOD,
    **settings: Any,
) -> tuple[PhaseResult, Workbench]:
    record = trial_record(task="t", profile="p", solver="s", model="m", created="now")
    trial = Trial.open(tmp_path / "trial", record, [notes or Notes()])
    trial.phase("method_replication")
    code.journal = trial
    workspace = Workspace(trial.folder)
    workspace.open()
    given = Settings(**{"sandbox": "process", "dry_run_seconds": 20, "effort": "paper", **settings})
    sandbox = open_sandbox(
        given,
        workspace.folder,
        data_dir=None,
        packages=tmp_path / "packages",
        label="t",
        trusted=True,
        note=lambda _: None,
    )
    task = Task(id="t", metric=Metric(name="mse"), instruction="")
    summaries = Summaries(trial)
    summaries.put("method", "the method, with a mistake")
    bench = Workbench(
        task, given, research or Scripted(), code, sandbox, trial, workspace, summaries
    )  # type: ignore[arg-type]
    bench.paper, bench.blank = paper, lambda text: text.replace("94.3", "[withheld]")
    try:
        state = develop(phase, given.method).invoke({"bench": bench})
        return state["ended"]["method_replication"], bench
    finally:
        sandbox.close()
        trial.close()


def test_what_runs_and_matches_is_finished_at_once(tmp_path: Path) -> None:
    code, research = (
        Scripted(edit("print('progress', flush=True)\nimport sys\nsys.stderr.write('a warning')")),
        Scripted("SUBMIT"),
    )
    ended, bench = run(tmp_path, code, research)
    assert (ended.status, ended.attempts) == ("matched", 0)
    assert bench.edits["method_replication"] == {"turns": 1, "added": 3, "removed": 0}


def test_a_review_asks_for_sections_of_the_paper_and_is_shown_them(tmp_path: Path) -> None:
    paper = (
        "# 1 Intro\nA gate.\n# 4 Gates\nWhat a gate is.\n## 4.1 Clamp\nTo one; 94.3.\n# 5 End\nNo."
    )
    research = Scripted("SECTION: 4. Gates", "**SECTION:** Clamping", "SECTION: 5", "SUBMIT")
    ended, _ = run(tmp_path, Scripted(edit("x = 1")), research, paper=paper)
    assert ended.status == "matched"
    gates = "# 4 Gates\nWhat a gate is.\n## 4.1 Clamp\nTo one; [withheld]."
    first, second, third = research.sent_back
    assert first.startswith(f"4. Gates:\n{gates}")
    assert "There are: 1 Intro; 4 Gates; 4.1 Clamp; 5 End" in second
    assert "2 sections were shown already" in third


def test_edits_of_two_files_are_made_together_or_not_at_all(tmp_path: Path) -> None:
    two = f"{edit('x = 2', '1 1')}\n\n{edit('y = 3', '7 7 data.py')}"
    right = f"{edit('x = 2', '1 1')}\n\n{edit('y = 3', '1 0 data.py')}"
    update = "UPDATE\n## Feedback\nBoth.\n## Summary\nunchanged"
    code = Scripted(edit("x = 1"), two, right)
    _, bench = run(tmp_path, code, Scripted(update, "SUBMIT"))
    assert len(code.sent_back) == 1 and "data.py" in code.sent_back[0]
    assert bench.files == {"method.py": "x = 2\n", "data.py": "y = 3\n"}


class AfterReading(MethodReplication):
    """Begins with one choice made."""

    def begin(self, bench: Workbench) -> None:
        super().begin(bench)
        bench.choices = [Choice(what="iterations", value=1000, kind="open", why="usual")]


def test_a_review_corrects_a_choice_of_a_program_that_is_right(tmp_path: Path) -> None:
    phase = AfterReading("method_replication", "method.py", "python method.py", "method", "write")
    research = Scripted("UPDATE\n## Choices\n- iterations: 200 (it converges by then)")
    ended, bench = run(tmp_path, Scripted(edit("x = 1")), research, phase=phase)
    assert (ended.status, ended.attempts) == ("matched", 0)
    assert bench.choices[0].value == 200


class AfterData(MethodReplication):
    """Begins with a data.py that printed "4 rows"."""

    def begin(self, bench: Workbench) -> None:
        bench.write({"data.py": "print('4 rows')\n"}, "data")
        bench.printed_by_data[bench.files["data.py"]] = "4 rows"


def test_facts_are_of_data_py_as_it_is(tmp_path: Path) -> None:
    phase = AfterData("method_replication", "method.py", "python method.py", "method", "write")
    update = "UPDATE\n## Feedback\nAll rows."
    changed = edit("print('9 rows')", "1 1 data.py")
    code = Scripted(edit("x = 1"), changed)
    _, bench = run(tmp_path, code, Scripted(update, "SUBMIT"), phase=phase)
    assert bench.facts == (tmp_path / "trial/facts.md").read_text().strip() == "9 rows"
    bench.files["data.py"] = "print(no_rows)\n"
    assert bench.facts == "9 rows"
    bench.files["data.py"] = "print('4 rows')\n"
    assert bench.facts == "4 rows"


def test_an_error_takes_two_steps_and_the_analysis_is_the_commits_reason(tmp_path: Path) -> None:
    code = Scripted(edit("print(z)"), "z is not defined", edit("z = 1\nprint(z)", "1 1"))
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"))
    assert code.asked == ["write", "debug/analyse", "debug/edit"]
    assert (ended.status, ended.attempts) == ("matched", 1)
    assert "NameError" in code.variables[1]["execution"].report
    assert "z is not defined" in bench.workspace.git("log", "-1", "--format=%b")


def test_update_corrects_the_summary_and_asks_for_a_change(tmp_path: Path) -> None:
    update = "UPDATE\n## Feedback\nUse two.\n## Summary\nthe method, corrected"
    code = Scripted(edit("x = 1"), edit("x = 2", "1 1"))
    research = Scripted(update, "SUBMIT")
    ended, bench = run(tmp_path, code, research)
    assert ended.status == "matched"
    assert bench.summaries.method == "the method, corrected"
    assert bench.summaries.versions["method"] == 2
    assert research.variables[1]["earlier"] == ["Use two."]
    assert bench.files["method.py"] == "x = 2\n"


def test_attempts_run_out_and_the_phase_has_failed(tmp_path: Path) -> None:
    code = Scripted(edit("print(z)"), *["why", edit("print(z)", "1 1")] * 2)
    ended, _ = run(tmp_path, code, max_debug=2)
    assert (ended.status, ended.attempts) == ("failed", 2)
    assert "exit code 1" in ended.reason


@pytest.mark.slow
def test_langgraph_allows_every_attempt(tmp_path: Path) -> None:
    """Its own limit of steps was once 25: the loop sets one that fits --max-debug."""
    fixes = [["why", edit(f"print(z{n})", "1 1")] for n in range(12)]
    code = Scripted(edit("print(z)"), *(reply for pair in fixes for reply in pair))
    ended, _ = run(tmp_path, code, max_debug=12)
    assert (ended.status, ended.attempts, code.replies) == ("failed", 12, [])


def test_a_change_that_breaks_a_version_that_ran_is_taken_back(tmp_path: Path) -> None:
    code = Scripted(edit("x = 1"), edit("print(z)", "1 1"))
    ended, bench = run(tmp_path, code, Scripted("UPDATE\n## Feedback\nMore."), max_debug=1)
    assert ended.status == "ran"
    assert (
        bench.files["method.py"]
        == (tmp_path / "trial/workspace/method.py").read_text()
        == "x = 1\n"
    )


@pytest.mark.parametrize(
    ("settings", "status"), [({"debug": False}, "failed"), ({"max_debug": 0}, "failed")]
)
def test_without_debugging_the_first_version_counts(
    tmp_path: Path, settings: dict[str, Any], status: str
) -> None:
    ended, _ = run(tmp_path, Scripted(edit("print(z)")), **settings)
    assert (ended.status, ended.attempts) == (status, 0)


def test_without_refining_nobody_is_asked(tmp_path: Path) -> None:
    ended, _ = run(tmp_path, Scripted(edit("x = 1")), refine=False)
    assert ended.status == "matched"


def test_a_refused_command_is_asked_for_again_in_the_same_conversation(tmp_path: Path) -> None:
    """No run, no analysis and no attempt are spent on it, and the screen shows why."""
    refused = [edit("x = 1", "5 9"), "Bash rm -rf /"]
    code = Scripted(edit("print(z)"), "why", *refused, edit("x = 1", "1 1"))
    notes = Notes()
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"), notes)
    assert (ended.status, ended.attempts) == ("matched", 1)
    assert code.asked == ["write", "debug/analyse", *["debug/edit"] * 3]
    assert [step.kind for step in bench.trial.steps] == ["execute", "execute"]
    assert "goes beyond the end: the file has 1 lines" in code.sent_back[0]
    assert "debug/edit: refused: EDIT 5 9 goes beyond" in notes.texts[0]


def test_replies_that_stay_unusable_cost_an_attempt_and_the_next_prompt_says_why(
    tmp_path: Path,
) -> None:
    refused = [edit("x = 1", "5 9")] * 3
    code = Scripted(edit("print(z)"), "why", *refused, "why", edit("x = 1", "1 1"))
    ended, _ = run(tmp_path, code, Scripted("SUBMIT"))
    assert (ended.status, ended.attempts) == ("matched", 2)
    assert "3 replies that cannot be used (EDIT 5 9 goes" in code.variables[3]["history"][0]


def test_all_edits_of_a_reply_are_carried_out_by_the_listing_shown(tmp_path: Path) -> None:
    first = "a = 1\nb = 2\nprint(z)"
    both = edit("a = 0\nz = 3", "1 1") + "\n\nand\n\n" + edit("print(a, z)", "3 3")
    code = Scripted(edit(first), "why", both)
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"))
    assert (ended.status, ended.attempts) == ("matched", 1)
    assert bench.files["method.py"] == "a = 0\nz = 3\nb = 2\nprint(a, z)\n"
    assert bench.edits["method_replication"] == {"turns": 3, "added": 6, "removed": 2}


def test_edits_that_overlap_change_nothing_and_are_asked_for_again(tmp_path: Path) -> None:
    both = edit("a = 0", "1 2") + "\n" + edit("print(3)", "2 3")
    code = Scripted(edit("a = 1\nb = 2\nprint(z)"), "why", both, edit("print(1)", "3 3"))
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"))
    assert (ended.status, ended.attempts) == ("matched", 1)
    assert "EDIT 1 2 and EDIT 2 3 overlap" in code.sent_back[0]
    assert bench.files["method.py"] == "a = 1\nb = 2\nprint(1)\n"


def test_a_whole_file_is_one_edit(tmp_path: Path) -> None:
    code = Scripted(edit("x = 1") + "\n" + edit("y = 1", "3 2"), edit("x = 1\ny = 1"))
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"))
    assert ended.status == "matched"
    assert "as one EDIT" in code.sent_back[0]
    assert bench.files["method.py"] == "x = 1\ny = 1\n"


def test_a_version_that_runs_stays_where_the_research_agent_gives_no_usable_reply(
    tmp_path: Path,
) -> None:
    research = Scripted("UNUSABLE")
    ended, bench = run(tmp_path, Scripted(edit("x = 1")), research)
    assert (
        ended.status == "ran"
        and "could not be checked" in ended.reason
        and research.asked == ["debug/review"]
    )
    assert bench.files["method.py"] == "x = 1\n"


def test_an_analysis_without_a_usable_reply_costs_the_attempt(tmp_path: Path) -> None:
    code = Scripted(edit("print(z)"), "UNUSABLE", "why", edit("x = 1", "1 1"))
    ended, _ = run(tmp_path, code, Scripted("SUBMIT"))
    assert (ended.status, ended.attempts) == ("matched", 2)
    assert "were empty" in code.variables[2]["history"][0]


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the one wheel that there is: tinypkg, whose VALUE is 42."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    info = "tinypkg-1.0.dist-info"
    with zipfile.ZipFile(wheels / "tinypkg-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tinypkg.py", "VALUE = 42\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinypkg\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return wheels


@pytest.mark.slow
def test_what_a_review_asks_for_is_still_due_after_a_package(tmp_path: Path, wheels: Path) -> None:
    asked = edit("import tinypkg\nprint(tinypkg.VALUE)", "1 1")
    code = Scripted(edit("x = 1"), "Bash pip install tinypkg", asked)
    research = Scripted("UPDATE\n## Feedback\nprint it", "SUBMIT")
    ended, _ = run(tmp_path, code, research, build_find_links=str(wheels))
    assert (ended.status, ended.attempts) == ("matched", 1)
    assert ended.run is not None and ended.run.execution.stdout == "42\n"
    assert "pip install tinypkg` installed\nAnswer what is asked" in code.sent_back[0]


@pytest.mark.slow
def test_packages_alone_do_not_keep_a_review_s_wish_waiting(tmp_path: Path, wheels: Path) -> None:
    code = Scripted(edit("x = 1"), *["Bash pip install tinypkg"] * 4, edit("x = 2", "1 1"))
    research = Scripted("UPDATE\n## Feedback\nx is two", "SUBMIT")
    ended, bench = run(tmp_path, code, research, build_find_links=str(wheels))
    assert ended.status == "matched" and bench.files["method.py"] == "x = 2\n"
    assert "3 scripts were run already: edit now" in code.sent_back[3]


@pytest.mark.slow
def test_bash_installs_a_package_that_the_program_then_imports(
    tmp_path: Path, wheels: Path
) -> None:
    code = Scripted(
        edit("import tinypkg\nprint(tinypkg.VALUE)"),
        "tinypkg is missing",
        "Bash pip install tinypkg",
    )
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"), build_find_links=str(wheels))
    assert ended.status == "matched", ended.reason
    assert ended.run is not None
    assert ended.run.execution.stdout == "42\n"
    assert [step.kind for step in bench.trial.steps] == ["execute", "install", "execute"]


def test_preprocess_is_given_and_stays(tmp_path: Path) -> None:
    reply = "EDIT 1 0 preprocess.py\n~~~~\nx\n~~~~"
    code = Scripted(edit("print(z)"), "why", reply, edit("x = 1", "1 1"))
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"))
    assert ended.status == "matched"
    assert "preprocess.py" not in bench.files
    assert "cannot be changed" in code.sent_back[0]


@pytest.mark.slow
@pytest.mark.parametrize("useless", [edit("print(z)", "1 1"), "UNUSABLE"])
def test_attempts_that_change_nothing_end_the_phase(tmp_path: Path, useless: str) -> None:
    code = Scripted(edit("print(z)"), *["why", useless] * 3)
    ended, _ = run(tmp_path, code)
    assert (ended.status, ended.attempts) == ("failed", 3)
    assert ended.reason.startswith("3 attempts in a row changed nothing: it ended with exit code 1")


@pytest.mark.slow
def test_a_change_between_begins_the_count_again(tmp_path: Path) -> None:
    same = ["why", edit("print(z)", "1 1")]
    other, last = edit("print(y)", "1 1"), edit("x = 1", "1 1")
    code = Scripted(edit("print(z)"), *same * 2, *["why", other] * 2, "why", last)
    ended, _ = run(tmp_path, code, Scripted("SUBMIT"))
    assert (ended.status, ended.attempts) == ("matched", 5)


def test_a_review_that_asks_for_the_same_a_third_time_ends_the_phase(tmp_path: Path) -> None:
    update = "UPDATE\n## Feedback\nBetter.\n## Summary\nunchanged"
    code = Scripted(*(edit(f"x = {n}") for n in range(3)))
    ended, bench = run(tmp_path, code, Scripted(update, update, update))
    assert (ended.status, ended.attempts) == ("ran", 2)
    assert ended.reason.startswith("the same was asked for 3 times: it runs")
    assert bench.files["method.py"].startswith("x = 2")


def test_a_section_over_the_limit_continues_when_it_is_asked_for_again(tmp_path: Path) -> None:
    paper = "# 1 Intro\nA gate.\n# 2 Long\n" + "word " * 2_000 + "the end. 94.3\n"
    research = Scripted("SECTION: 2", "SECTION: 2", "SUBMIT")
    run(tmp_path, Scripted(edit("x = 1")), research, paper=paper)
    first, second = research.sent_back
    assert "more characters: ask for it once more" in first and "the end" not in first
    assert "the end. [withheld]" in second


def test_a_section_is_found_by_the_number_that_its_paragraph_begins_with(tmp_path: Path) -> None:
    paper = "A title\n\n1. A gate. It opens at 94.3.\n\n2. A door. It is shut.\n"
    research = Scripted("SECTION: 2", "SUBMIT")
    run(tmp_path, Scripted(edit("x = 1")), research, paper=paper)
    (shown,) = research.sent_back
    assert "It is shut." in shown and "gate" not in shown


def test_a_section_that_is_not_there_shows_what_is_nearest(tmp_path: Path) -> None:
    paper = "\n\n".join(["Weather is fine. " * 60] * 9 + ["A gate opens at 94.3 by half."])
    research = Scripted("SECTION: The gate", "SUBMIT")
    run(tmp_path, Scripted(edit("x = 1")), research, paper=paper)
    (shown,) = research.sent_back
    assert "There is no such section.\n\nNearest" in shown
    assert "A gate opens at [withheld] by half." in shown and len(shown) < 3_300


def test_where_nothing_isolates_it_no_script_runs(tmp_path: Path) -> None:
    code = Scripted(edit("1 / 0"), f"Bash touch {tmp_path}/there", edit("x = 2", "1 1"))
    ended, _ = run(tmp_path, code, Scripted("SUBMIT"), effort="evidence")
    assert ended.status == "matched" and not (tmp_path / "there").exists()
    assert "Bash only installs packages" in code.sent_back[0]
    assert code.variables[1]["scripts"] == 0


@pytest.mark.slow
def test_the_code_agent_looks_by_a_script_whose_files_do_not_stay(tmp_path: Path) -> None:
    skip_without_bubblewrap()
    script = (
        "import method, pathlib\npathlib.Path('method.py').write_text('gone')\nprint(method.x + 40)"
    )
    look = f"Bash\n~~~\npython - <<'END'\n{script}\nEND\n~~~"
    code = Scripted(edit("x = 2\nif __name__ == '__main__': 1 / 0"), look, edit("x = 3", "2 2"))
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"), effort="evidence", sandbox="bubblewrap")
    assert (ended.status, ended.attempts) == ("matched", 1)
    assert "exit code 0\nstdout:\n~~~\n42\n~~~" in code.sent_back[0]
    assert bench.files["method.py"] == "x = 2\nx = 3\n"
    assert bench.workspace.read("method.py") == bench.files["method.py"]


@pytest.mark.slow
def test_after_three_scripts_an_edit_is_due(tmp_path: Path) -> None:
    skip_without_bubblewrap()
    fixed = edit("x = 2", "1 1")
    code = Scripted(edit("1 / 0"), *["Bash ls; exit 3"] * 4, fixed)
    ended, _ = run(tmp_path, code, Scripted("SUBMIT"), effort="evidence", sandbox="bubblewrap")
    assert (ended.status, ended.attempts) == ("matched", 1)
    assert "exit code 3" in code.sent_back[2] and "method.py" in code.sent_back[2]
    assert "3 scripts were run already: edit now" in code.sent_back[3]


@pytest.mark.slow
def test_what_a_review_asks_for_may_be_looked_into_first(tmp_path: Path) -> None:
    skip_without_bubblewrap()
    code = Scripted(
        edit("x = 1"), "Bash python -c 'import method; print(method.x)'", edit("x = 2", "1 1")
    )
    research = Scripted("UPDATE\n## Feedback\nx is two", "SUBMIT")
    ended, bench = run(tmp_path, code, research, sandbox="bubblewrap")
    assert ended.status == "matched" and "~~~\n1\n~~~" in code.sent_back[0]
    assert bench.files["method.py"] == "x = 2\n"
