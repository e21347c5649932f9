"""The Python API: the functions that the commands call, as a notebook uses them."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
import typer
from chat_server import chat_server
from claim_maker import claim
from trial_results import facts_of, verdict
from typer.main import get_command

import autoreproduce
from autoreproduce import reproduce, score
from autoreproduce.claims.differences import Difference
from autoreproduce.claims.verdicts.one_claim import Verdict
from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim
from autoreproduce.cli.app import app
from autoreproduce.config import FLAGS, Settings
from autoreproduce.errors import UsageError
from autoreproduce.extensions import table
from autoreproduce.runner.api import reproduce_job
from autoreproduce.runner.api_results import Reproduction, Results, unwatched

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def test_the_package_gives_the_functions_and_names_what_it_lacks() -> None:
    assert set(autoreproduce.API) <= set(dir(autoreproduce))
    assert set(table("api")) <= set(dir(autoreproduce)), "what plugins add too"
    assert not {"annotations", "logging", "contracts", "VERSION"} & set(dir(autoreproduce))
    assert all(callable(getattr(autoreproduce, name)) for name in autoreproduce.API)
    with pytest.raises(AttributeError, match="no attribute 'reproduced'"):
        autoreproduce.reproduced  # noqa: B018


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The tiny experiment, reproduced by the function against a local endpoint."""
    folder = tmp_path_factory.mktemp("api")
    tiny.lay_out(folder)
    with chat_server(tiny.reply) as server:
        return tiny.reproduced(folder, server.base_url)


@pytest.mark.parametrize("experiment", ["", "main"])
def test_a_silent_attempt_has_a_view_that_says_nothing(
    experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = []

    def attempted(job: Any, *rest: Any) -> Any:
        views.append(rest[-1])
        raise UsageError("that's all")

    monkeypatch.setattr("autoreproduce.runner.attempt.watched_attempt", attempted)
    monkeypatch.setattr("autoreproduce.runner.whole_paper.run.reproduce_experiments", attempted)
    (tmp_path / "paper.md").write_text("# P\n\nIts error is 0.25.\n")
    asked = {"experiment": "main"} if experiment else {"task": "mine", "metric": "error:lower"}
    for progress in (True, False):
        with pytest.raises(UsageError, match="that's all"):
            reproduce(paper=tmp_path / "paper.md", progress=progress, **asked)
    assert views == [None, unwatched]


def test_a_reproduction_has_its_folder_its_outcome_and_its_number(done: Results) -> None:
    assert done.result.status == "measured" and not done.earlier
    assert done.metric == pytest.approx(0, abs=1e-3)
    measured = done.measurement
    assert measured is not None and measured.value == done.metric and not measured.recomputed
    assert done.report.is_file() and done.report.parent == done.path
    assert facts_of(done.path)["metric"] == done.metric


def test_a_function_names_every_setting_that_it_takes() -> None:
    shown = set(inspect.signature(reproduce).parameters)
    assert set(FLAGS) <= shown and not {"more", "kwargs"} & shown
    named = [getattr(autoreproduce, name) for name in ("score", *table("api"))]
    for function in (each for each in named if inspect.isfunction(each)):
        for given in inspect.signature(function).parameters.values():
            assert given.kind is not given.VAR_KEYWORD, function


def test_every_setting_may_be_none_and_its_help_says_what_that_means() -> None:
    named = [getattr(autoreproduce, name) for name in ("reproduce", "score", *table("api"))]
    for function in (each for each in named if hasattr(each, "__signature__")):
        for given in inspect.signature(function).parameters.values():
            hint = given.annotation if isinstance(given.annotation, str) else str(given.annotation)
            assert given.default is not None or {"None", "Optional"} & set(
                re.findall(r"\w+", hint)
            ), (function, given)
        assert "`more`" not in function.__doc__ and "`options`" not in function.__doc__
    assert "None leaves one to the environment" in " ".join(str(reproduce.__doc__).split())


def test_what_is_none_is_as_if_it_were_not_given(done: Results) -> None:
    [found] = score(done.path, levels=["cost"], repeats=None, note=None, max_debug=None)  # type: ignore[arg-type]
    assert found.scores[0].scorer == "cost"


def test_the_package_names_the_error_that_all_raise() -> None:
    with pytest.raises(autoreproduce.AutoReproduceError) as raised:
        reproduce(task="nothing of the kind")
    assert raised.value.kind == "usage" and raised.value.fix in str(raised.value)


def test_printed_it_is_labelled_lines_and_not_the_paper(done: Results) -> None:
    first, *lines = str(replace(done.only, earlier=True)).splitlines()
    assert first == done.result.sentence and len("".join(lines)) < 1500
    facts = {label.strip(): value.strip() for label, _, value in (x.partition(":") for x in lines)}
    assert facts["ended earlier"].startswith("nothing was run now")
    assert "model calls" in facts["cost"] and "squared error" in facts
    assert facts["folder"] == str(done.path) and facts["report"] == str(done.report)
    assert "ended earlier" not in str(done)
    assert repr(done.only) == f"<Reproduction {done.task.id}: measured, {done.path}>"
    assert repr(done) == f"<Results of 1 trial: {done.only!r}>"


def test_parts_are_shown_in_a_line(done: Results) -> None:
    held = claim(1.5, metric="error", direction="lower", printed="1.5")
    found = Verdict(claim=held.id, word="reproduced", why="", paper=1.5, mean=1.5)
    judged = JudgedClaim(claim=held, verdict=found)
    difference = Difference(kind="loss", says="a norm", does="none", file="a.py", first=3, last=3)
    for part, words in (
        (judged, f"<JudgedClaim {held.id}: reproduced, paper 1.5, measured 1.5>"),
        (verdict("partly"), "<TrialVerdict partly, on 0 claims>"),
        (difference, "<Difference : a norm, a.py, line 3>"),
        (done.result, f"<Result {done.result.status}: {done.result.sentence}>"),
    ):
        assert repr(part) == str(part) == words


@pytest.mark.parametrize("name", ["claim", "trial", "score", ""])
def test_rows_of_no_kind_name_the_kinds(done: Results, name: Any) -> None:
    for of in (done.rows, done.to_frame, done[0].rows):
        with pytest.raises(UsageError, match="there are trials, claims, differences, scores"):
            of(name)
    if name:
        with pytest.raises(UsageError, match=f"did you mean {name}s"):
            done.rows(name)


@pytest.mark.parametrize(
    ("function", "given", "says"),
    [
        (reproduce, {"claim": ["a = 1"]}, "reproduce takes no claim: did you mean claims?"),
        (score, {"judge": ["openai:gpt-5"]}, "score takes no judge: did you mean judges?"),
        (reproduce, {"experiments": "Table 2"}, "takes no experiments: did you mean experiment?"),
        (reproduce, {"claims": "nothing"}, "--claim 'nothing' cannot be read"),
        (score, {"claims": "a = 1"}, "--claim is held against a run"),
        (
            score,
            {"task": "lsm", "run": "python main.py", "beside": Path("absent.py")},
            "--beside absent.py cannot be read",
        ),
    ],
)
def test_a_name_that_is_nearly_one_is_said_and_a_text_is_a_list_of_one(
    function: Any, given: dict[str, Any], says: str, in_folder: Path
) -> None:
    (in_folder / "main.py").write_text("print(1)\n")
    (in_folder / "paper.md").write_text("# A paper\n")
    own = {"paper": "paper.md", "task": "T", "metric": "a:lower"}
    asked = {"path": "main.py"} if function is score else own
    with pytest.raises(UsageError, match=re.escape(says)):
        function(**asked, **given)


def test_a_notebook_shows_the_verdict_the_number_and_the_cost(done: Results) -> None:
    shown = done._repr_html_()
    assert "<table>" in shown and "model calls" in shown and str(done.report) in shown
    assert "squared" in shown


def test_a_trial_is_scored_by_its_folder(done: Results) -> None:
    scored = score(done.path, levels=["execution", "cost"])
    assert len(scored) == 1 and not scored.left_out
    assert {one.scorer: one.value for one in scored[0].scores}["execution"] == 1
    assert ">execution</td>" in scored._repr_html_()


def test_results_are_rows_of_trials_claims_differences_and_scores(done: Results) -> None:
    [trial] = done.rows()
    assert trial["trial"] == str(done.path) and trial["metric"] == done.metric
    assert trial["status"] == "measured" and trial["sentence"] == done.result.sentence
    assert trial["claims"] == len(done.claims) == len(done.rows("claims"))
    assert done.rows("differences") == [] and done.differences == ()
    [execution] = score(done.path, levels=["execution"]).rows("scores")
    assert (execution["level"], execution["score"]) == ("execution", 1)


def test_rows_become_a_data_frame_(done: Results) -> None:
    pytest.importorskip("pandas")
    frame = done.to_frame()
    assert list(frame["metric"]) == [done.metric] and list(frame["task"]) == [done.task.id]


def test_without_pandas_the_error_is_one_line_with_what_installs_it(
    done: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    for ask in (done.to_frame, done.only.to_frame, lambda: done.to_frame("claims")):
        with pytest.raises(UsageError) as lacking:
            ask()
        assert ": pip install pandas; or" in str(lacking.value) and "\n" not in str(lacking.value)


def test_the_trials_of_a_folder_are_one_object_of_the_same_type(
    done: Results, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    for name in ("a", "b", "damaged", "unfinished"):
        shutil.copytree(done.path, runs / name)
    (runs / "damaged" / "trial.json").write_text("{")
    (runs / "unfinished" / "result.json").unlink()
    read = autoreproduce.trials(runs)
    assert isinstance(read, Results) and [one.path.name for one in read] == ["a", "b"]
    assert [row["metric"] for row in read.rows()] == [done.metric] * 2
    assert {path.name for path in read.left_out} == {"damaged", "unfinished"}
    assert len(read.claims) == 2 * len(done.claims) and read[:1].only.path == runs / "a"
    shown = read._repr_html_()
    assert (
        all(f"{runs}/{name}<" in shown for name in ("a", "b", "damaged"))
        and "it hasn&#39;t ended" in shown
    )
    assert len(str(read).splitlines()) == 4
    with pytest.raises(UsageError, match=r"these are 2 trials.*results\[0\]"):
        read.metric  # noqa: B018
    with pytest.raises(UsageError, match="there is no trial with a result"):
        autoreproduce.trials(runs / "damaged").result  # noqa: B018
    with pytest.raises(UsageError, match="isn't a folder"):
        autoreproduce.trials(tmp_path / "nowhere")


def test_a_function_takes_what_its_command_takes() -> None:
    """Under the same names; what the command alone has is of the screen."""
    screen = {"json", "notify", "require", "dry_run", "show_claims", "fail_under", "set_", "trust"}
    commands: Any = get_command(app)
    for name in ("reproduce", "verify", "score", "suite"):
        command = commands.get_command(typer.Context(commands), name)
        if command is None:  # its plugin isn't there
            continue
        takes = {each.name for each in command.params} - screen
        function = getattr(autoreproduce, {"suite": "run_suite"}.get(name, name))
        assert takes <= set(inspect.signature(function).parameters), name


def test_several_experiments_of_a_paper_are_asked_for_by_name(in_folder: Path) -> None:
    (in_folder / "p.md").write_text("# A paper\n")
    job = reproduce_job(Settings(), paper="p.md", experiment=["Table 2"], trial=2)
    assert job.experiments == ("Table 2",) and job.task is None and job.number == 2
    both = reproduce_job(Settings(), paper="p.md", experiment=["Table 2", "main"])
    assert both.experiments == ("Table 2", "main")
    for beside in ({"task": "x"}, {"metric": "m"}, {"out": "o"}, {"claims": ["A: b = 1"]}):
        with pytest.raises(UsageError, match=f"--{next(iter(beside)).removesuffix('s')} is of one"):
            reproduce(paper="p.md", experiment="Table 2", **beside)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--targets is of one trial"):
        reproduce(paper="p.md", experiment="Table 2", targets="y.npy")
    with pytest.raises(UsageError, match="which paper"):
        reproduce(experiment="Table 2")


USER_SCRIPT = """
from pathlib import Path

import autoreproduce
from autoreproduce import Results, reproduce, run_suite, score, trials, verify

several: Results = reproduce(paper="paper.pdf", experiment=["Table 2"], model="tape", max_debug=3)
one: float | None = several.metric
words: list[str] = [claim.verdict.word for claim in verify("code", arxiv="1234.56789").claims]
where: list[str] = [each.place for each in verify("code", paper="p.md").differences]
values: list[float | None] = [each.value for each in score(several.path).scores]
suite: Results = run_suite("suite.yaml", workers=2)
frame = autoreproduce.trials("runs").to_frame()
html: str = trials(Path("runs"))._repr_html_()
for trial in suite:
    report: Path = trial.report
"""
WRONG = {
    "several.metrics": "attr-defined",
    "reproduce(paper=3)": "arg-type",
    'verify("code", max_debg=3)': "call-arg",
    'several.rows("claim")': "arg-type",
    "autoreproduce.trials(runs=1)": "call-arg",
}


@pytest.mark.slow
def test_a_users_script_is_typed_and_its_mistakes_are_found(tmp_path: Path) -> None:
    lines = USER_SCRIPT.count("\n")
    (tmp_path / "script.py").write_text(USER_SCRIPT + "\n".join(WRONG) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": str(NOTEBOOK.parents[1])},
    )
    found = re.findall(r"script.py:(\d+): error: .*\[([\w-]+)\]", done.stdout)
    expected = [(str(lines + at), kind) for at, kind in enumerate(WRONG.values(), 1)]
    assert found == expected, done.stdout + done.stderr


def test_html_of_a_hostile_name_is_text(done: Results) -> None:
    task = done.task.model_copy(update={"stand_in": "<script>alert(1)</script>"})
    shown = Reproduction(done.path, done.result, done.report, task)._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "which experiment"),
        ({"task": "Darcy", "modle": "x"}, "reproduce takes no modle: did you mean model"),
        ({"task": "Darcy", "k": 99}, "setting k"),
        ({"task": "Darcy", "settings": Settings(), "k": 3}, "exclude each other"),
        ({"task": "Darcy", "out": "there", "trial": 2}, "leave one of them out"),
        ({"task": "Darcy", "model": "tape", "data": "nowhere"}, "--data nowhere isn't a folder"),
    ],
)
def test_bad_input_is_one_error(given: dict[str, object], message: str, in_folder: Path) -> None:
    with pytest.raises(UsageError, match=message):
        reproduce(**given)  # type: ignore[arg-type]


def test_the_notebook_is_a_notebook_without_outputs() -> None:
    content = json.loads(NOTEBOOK.read_text())
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
    for cell in content["cells"]:
        assert cell["cell_type"] == "markdown" or (not cell["outputs"])


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    """Each cell in turn, in a folder beside the examples, as from `docs` of a clone."""
    shutil.copytree(NOTEBOOK.parents[1] / "examples", tmp_path / "examples")
    (tmp_path / "docs").mkdir()
    content = json.loads(NOTEBOOK.read_text())
    cells = ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]
    last = "\nprint(done._repr_html_(), len(trials), scores.rows('scores'))\n"
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(cells) + last],
        cwd=tmp_path / "docs",
        capture_output=True,
        text=True,
        env={**os.environ, "AUTOREPRODUCE_SANDBOX": "process", "AUTOREPRODUCE_AUDIT": "true"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "off" in done.stdout and "reproduced" in done.stdout, "the verdicts of the claims"
    assert "train.py, line" in done.stdout and "→ 0.704" in done.stdout, "the audit's leak"
    assert done.stdout.rstrip().count("'level': 'execution'") == 1
