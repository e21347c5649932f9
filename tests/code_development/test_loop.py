"""The loop of a phase, with real files, a real sandbox and scripted replies."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from autoreproduce.code_development.bench import Bench
from autoreproduce.code_development.loop import Ended, Phase, develop, exit_code
from autoreproduce.commands import Parsed, parse
from autoreproduce.config import Settings
from autoreproduce.errors import ReplyError
from autoreproduce.literature_review import Summaries
from autoreproduce.sandboxes import open_sandbox
from autoreproduce.task import Metric, Task
from autoreproduce.trial import Trial, TrialRecord
from autoreproduce.workspace import Workspace


class Scripted:
    """An agent that says what it is told to, in order; `asked` keeps which prompts there were."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []
        self.variables: list[dict[str, Any]] = []

    def ask(self, name: str, **variables: Any) -> str:
        self.asked.append(name)
        self.variables.append(variables)
        reply = self.replies.pop(0)
        if reply == "UNUSABLE":
            raise ReplyError("3 replies without a usable command")
        return reply

    def command(self, name: str, allowed: set[str], **variables: Any) -> Parsed:
        return parse(self.ask(name, **variables), allowed)


def edit(text: str, lines: str = "1 0") -> str:
    return f"EDIT {lines}\n~~~~python\n{text}\n~~~~"


def run(tmp_path: Path, code: Scripted, research: Scripted | None = None, **settings: Any) -> tuple[Ended, Bench]:
    record = TrialRecord(task="t", profile="p", solver="s", model="m", settings={}, task_digest="", created="now")
    trial = Trial.open(tmp_path / "trial", record)
    trial.phase("method_replication")
    workspace = Workspace(trial.folder)
    workspace.open()
    given = Settings(sandbox="process", dry_run_seconds=20, **settings)
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
    bench = Bench(task, given, research or Scripted(), code, sandbox, trial, workspace, summaries)  # type: ignore[arg-type]
    try:
        return develop(
            bench, Phase("method_replication", "method.py", "python method.py", "method", exit_code), "write"
        ), bench
    finally:
        sandbox.close()
        trial.close()


def test_what_runs_and_matches_goes_on_at_once(tmp_path: Path) -> None:
    code, research = (
        Scripted(edit("print('progress', flush=True)\nimport sys\nsys.stderr.write('a warning')")),
        Scripted("SUBMIT"),
    )
    ended, bench = run(tmp_path, code, research)
    assert (ended.status, ended.tries) == ("matched", 0)
    assert bench.edits["method_replication"] == {"turns": 1, "added": 3, "removed": 0}


def test_an_error_takes_two_steps_and_the_analysis_is_the_commits_reason(tmp_path: Path) -> None:
    code = Scripted(edit("print(z)"), "z is not defined", edit("z = 1\nprint(z)", "1 1"))
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"))
    assert code.asked == ["write", "debug/analyse", "debug/edit"]
    assert (ended.status, ended.tries) == ("matched", 1)
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


def test_tries_run_out_and_the_phase_says_failed(tmp_path: Path) -> None:
    code = Scripted(edit("print(z)"), *["why", edit("print(z)", "1 1")] * 2)
    ended, _ = run(tmp_path, code, max_debug=2)
    assert (ended.status, ended.tries) == ("failed", 2)
    assert "exit code 1" in ended.reason


def test_a_change_that_breaks_a_version_that_ran_is_taken_back(tmp_path: Path) -> None:
    code = Scripted(edit("x = 1"), edit("print(z)", "1 1"))
    ended, bench = run(tmp_path, code, Scripted("UPDATE\n## Feedback\nMore."), max_debug=1)
    assert ended.status == "ran"
    assert bench.files["method.py"] == (tmp_path / "trial/workspace/method.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(("settings", "status"), [({"debug": False}, "failed"), ({"max_debug": 0}, "failed")])
def test_without_debugging_the_first_version_counts(tmp_path: Path, settings: dict[str, Any], status: str) -> None:
    ended, _ = run(tmp_path, Scripted(edit("print(z)")), **settings)
    assert (ended.status, ended.tries) == (status, 0)


def test_without_refining_nobody_is_asked(tmp_path: Path) -> None:
    ended, _ = run(tmp_path, Scripted(edit("x = 1")), refine=False)
    assert ended.status == "matched"


def test_commands_that_cannot_be_carried_out_cost_a_try_and_are_told(tmp_path: Path) -> None:
    code = Scripted(
        edit("print(z)"),
        "why",
        edit("x = 1", "5 9"),
        "why",
        "Bash rm -rf /",
        "why",
        "UNUSABLE",
        "why",
        edit("x = 1", "1 1"),
    )
    ended, _ = run(tmp_path, code, Scripted("SUBMIT"))
    assert (ended.status, ended.tries) == ("matched", 4)
    history = code.variables[7]["history"]
    assert "refused" in history[0]
    assert "refused" in history[1]
    assert "usable command" in history[2]


def test_a_version_that_runs_stays_where_the_research_agent_gives_no_usable_reply(tmp_path: Path) -> None:
    research = Scripted("UNUSABLE")
    ended, bench = run(tmp_path, Scripted(edit("x = 1")), research)
    assert ended.status == "ran" and "could not be checked" in ended.reason and research.asked == ["debug/review"]
    assert bench.files["method.py"] == "x = 1\n"


def test_an_analysis_without_a_usable_reply_costs_the_try(tmp_path: Path) -> None:
    code = Scripted(edit("print(z)"), "UNUSABLE", "why", edit("x = 1", "1 1"))
    ended, _ = run(tmp_path, code, Scripted("SUBMIT"))
    assert (ended.status, ended.tries) == ("matched", 2)
    assert "usable command" in code.variables[2]["history"][0]


@pytest.mark.slow
def test_bash_installs_a_package_that_the_program_then_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    info = "tinypkg-1.0.dist-info"
    with zipfile.ZipFile(wheels / "tinypkg-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tinypkg.py", "VALUE = 42\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinypkg\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    code = Scripted(edit("import tinypkg\nprint(tinypkg.VALUE)"), "tinypkg is missing", "Bash pip install tinypkg")
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"), build_find_links=str(wheels))
    assert ended.status == "matched", ended.reason
    assert ended.run is not None
    assert ended.run.execution.stdout == "42\n"
    assert [step.kind for step in bench.trial.steps] == ["execute", "install", "execute"]


def test_preprocess_is_given_and_stays(tmp_path: Path) -> None:
    reply = "EDIT 1 0 preprocess.py\n~~~~\nx\n~~~~"
    code = Scripted(edit("print(z)"), "why", reply, "why", edit("x = 1", "1 1"))
    ended, bench = run(tmp_path, code, Scripted("SUBMIT"))
    assert ended.status == "matched"
    assert "preprocess.py" not in bench.files
    assert "cannot be changed" in code.variables[3]["history"][0]
