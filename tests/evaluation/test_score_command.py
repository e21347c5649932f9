"""`score` as a user runs it: a program of anyone's, a page, an exit code that fits CI."""

import json
from shutil import copytree

import pytest
from chat_server import chat_server
from claim_maker import claim, file_of
from trial_results import facts_of
from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.errors import PaperError, TrialError, UsageError
from autoreproduce.evaluation.tables.rows import read_rows

VERDICT = {
    "points": [
        {
            "number": n,
            "reference": "<b>it</b> decodes",
            "generated": "it does not",
            "reason": "no decode",
            "lines": [{"file": "file_1.py", "first": 2, "last": 2}],
            "reference_lines": [],
            "score": 4,
        }
        for n in range(1, 6)
    ]
}


PROGRAM = """\
import json, os
import numpy as np
constant = 0.0
inputs = np.load(os.path.join(os.environ["DATA_DIR"], "test.npz"))["a"]
np.savez("predictions.npz", prediction=np.full(inputs.shape, constant))
json.dump({"metrics": {"relative_l2": 1.0}, "history": []}, open("metrics.json", "w"))
"""


@pytest.fixture
def program(in_folder):
    path = in_folder / "mine.py"
    path.write_text(PROGRAM)
    return path


def score(*arguments):
    return CliRunner().invoke(app, ["score", *map(str, arguments)])


def test_a_file_is_judged_and_shown_beside_the_reference(program):
    with chat_server([json.dumps(VERDICT)]) as server:
        done = score(
            program,
            "--task",
            "lsm",
            "--levels",
            "mixed,edits",
            "--judge",
            "some",
            "--base-url",
            server.base_url,
        )
    assert done.exit_code == 3, (
        done.output
    )  # edits were asked for and cannot be had of a program that was handed in
    assert "20" in done.output
    [folder] = (program.parent / "runs").iterdir()
    page = (folder / "scores.html").read_text()
    assert (folder / "report.html").exists()
    assert "no decode" in page and "lines 2 to 2" in page and "class SpectralBlock" in page
    assert "<b>it</b>" not in page and "&lt;b&gt;it" in page
    assert (folder / "workspace" / "mine.py").exists()


@pytest.mark.slow
def test_a_program_is_run_first_where_a_command_is_given(program):
    done = score(
        program,
        "--task",
        "lsm",
        "--levels",
        "execution,gap",
        "--run",
        "python mine.py",
        "--sandbox",
        "process",
    )
    assert done.exit_code == 0, done.output
    again = score(
        program,
        "--task",
        "lsm",
        "--levels",
        "execution,gap",
        "--run",
        "python mine.py",
        "--sandbox",
        "process",
        "--json",
        "--fail-under",
        "gap=0.2",
    )
    assert again.exit_code == 1
    scores = {entry["level"]: entry for entry in json.loads(again.stdout)["scores"]}
    # against the reference on the same secret draw, which varies a little from draw to draw
    assert scores["execution"]["value"] == 1 and 0.9 < scores["gap"]["value"] < 1
    steps = next((program.parent / "runs").glob("*/steps.jsonl")).read_text()
    assert steps.count('"kind":"execute"') == 1  # the second command ran nothing again


@pytest.mark.slow
def test_a_folder_of_another_program_or_command_is_refused(program):
    wanted = ["--task", "lsm", "--levels", "gap", "--sandbox", "process", "--out", "o"]
    assert score(program, *wanted, "--run", "python mine.py").exit_code == 0
    other = score(program, *wanted, "--run", "python -u mine.py")
    assert "program's run: 'python mine.py' → 'python -u mine.py'" in str(other.exception)
    program.write_text(program.read_text().replace("0.0", "1e9"))
    other = score(program, *wanted, "--run", "python mine.py")
    assert isinstance(other.exception, TrialError) and "program's content" in str(other.exception)


@pytest.mark.slow
def test_a_command_killed_after_its_run_goes_on_with_the_outcome(program):
    wanted = ["--task", "lsm", "--levels", "execution,gap", "--sandbox", "process", "--out", "o"]
    assert score(program, *wanted[:3], "edits", *wanted[4:]).exit_code == 3
    assert score(program, *wanted, "--run", "python mine.py").exit_code == 0
    (program.parent / "o" / "result.json").unlink()
    assert score(program, *wanted, "--run", "python mine.py").exit_code == 0
    assert (program.parent / "o" / "steps.jsonl").read_text().count('"kind":"execute"') == 1


def test_what_is_left_out_is_reported_and_a_notebook_hides_no_module(program):
    folder = program.parent / "p"
    folder.mkdir()
    (folder / "a.py").write_text("a = 1\n")
    (folder / "a.ipynb").write_text('{"cells": [{"cell_type": "code", "source": "b = 2"}]}')
    (folder / "big.py").write_text("x = 1\n" * 200_000)
    (folder / "data.bin").write_bytes(b"0")
    done = score("p", "--task", "lsm", "--levels", "execution", "--out", "o")
    assert "left out of what is judged: big.py (larger than 1,000,000 bytes)\n" in done.output
    assert {path.name for path in (program.parent / "o" / "workspace").glob("a*")} == {
        "a.py",
        "a.ipynb.py",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "trick", ["os.mkfifo('metrics.json')", "os.symlink('/dev/zero', 'metrics.json')"]
)
def test_a_metrics_file_that_never_ends_is_not_read(program, trick):
    program.write_text(f"{PROGRAM}os.remove('metrics.json')\n{trick}\n")
    done = score(
        program,
        "--task",
        "lsm",
        "--levels",
        "execution",
        "--run",
        "python mine.py",
        "--sandbox",
        "process",
    )
    outcome = next((program.parent / "runs").glob("*/result.json")).read_text()
    assert done.exit_code == 0 and "must be a plain file" in outcome


@pytest.mark.slow
def test_a_number_without_the_predictions_that_the_task_asks_for_is_not_measured(program):
    program.write_text(f"{PROGRAM}os.remove('predictions.npz')\n")
    done = score(program, "--task", "lsm", *RAN, "--sandbox", "process", "--out", "o")
    outcome = facts_of(program.parent / "o")
    assert done.exit_code == 0 and outcome["status"] == "failed" and outcome["metric"] is None
    assert "predictions.npz was not written" in outcome["reason"] and outcome["claimed"] == 1
    measured = facts_of(program.parent / "o")["number"]
    assert measured["value"] is None and measured["reason"] == outcome["reason"]


@pytest.mark.slow
def test_a_claim_that_its_predictions_do_not_bear_out_is_a_warning(program):
    program.write_text(PROGRAM.replace('"relative_l2": 1.0', '"relative_l2": 0.01'))
    score(program, "--task", "lsm", *RAN, "--sandbox", "process", "--out", "o")
    outcome = facts_of(program.parent / "o")
    assert outcome["metric"] == pytest.approx(1) and outcome["recomputed"]
    assert outcome["integrity"] == "doubtful" and outcome["decoys"] == pytest.approx(1)
    shown = "claims 0.01, but its predictions give 1 against the decoys"
    assert any(shown in warning for warning in outcome["warnings"])


@pytest.mark.slow
@pytest.mark.parametrize("out", [[], ["--out", "o"]])
def test_the_folder_one_stands_in_is_the_program_again_after_a_change(program, out):
    wanted = [
        ".",
        "--task",
        "lsm",
        "--levels",
        "gap",
        "--run",
        "python mine.py",
        "--sandbox",
        "process",
        "--json",
    ]
    assert 0.9 < json.loads(score(*wanted, *out).stdout)["scores"][0]["value"] < 1
    assert (
        score(*wanted, *out).exit_code == 0
    )  # the same folder: what lies in runs/ is none of the program
    program.write_text(program.read_text().replace("0.0", "1e9"))
    again = json.loads(score(*wanted, *out[:1], *(["p"] if out else [])).stdout)
    assert again["scores"][0]["value"] == pytest.approx(1, abs=1e-6)
    workspace = program.parent / again["folder"] / "workspace"
    assert {path.name for path in workspace.rglob("*.py")} == {"mine.py", "preprocess.py"}


RAN = ["--levels", "execution", "--run", "python mine.py"]


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], RAN])
def test_a_floor_under_a_score_that_is_not_had_is_no_success(program, more):
    wanted = [program, "--task", "lsm", *more, "--sandbox", "process"]
    assert score(*wanted).exit_code == 0
    assert score(*wanted, "--fail-under", "mixed=60").exit_code == 3


@pytest.mark.slow
def test_a_finished_trial_is_scored_again_without_running(program):
    score(
        program,
        "--task",
        "lsm",
        "--levels",
        "execution",
        "--run",
        "python mine.py",
        "--sandbox",
        "process",
    )
    [folder] = (program.parent / "runs").iterdir()
    program.unlink()
    done = score(folder, "--levels", "execution,cost")
    assert done.exit_code == 0, done.output
    assert (
        score(folder.parent, "--levels", "cost").exit_code == 0
    )  # and so is every trial below a folder


@pytest.mark.slow
def test_a_damaged_trial_is_left_out_by_its_name_and_the_others_are_scored(program):
    assert (
        score(program, "--task", "lsm", *RAN, "--sandbox", "process", "--out", "t/a").exit_code == 0
    )
    for name in "bcd":
        copytree("t/a", f"t/{name}")
    record = json.loads((program.parent / "t" / "c" / "job.json").read_text())
    (program.parent / "t" / "a" / "trial.json").write_text("{")
    (program.parent / "t" / "c" / "job.json").write_text(json.dumps({**record, "task": {"id": 3}}))
    (program.parent / "t" / "d" / "steps.jsonl").write_text("{no step}\n")
    done = score("t", "--levels", "cost", "--json")
    assert done.exit_code == 3 and [
        json.loads(line)["folder"] for line in done.stdout.splitlines()
    ] == ["t/b"]
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [
        f"t/{name} is left out" for name in "acd"
    ]
    assert isinstance(score("t/a", "--levels", "cost").exception, TrialError), (
        "alone there is nothing else to score"
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["none.py", "--task", "lsm"], "does not exist"),
        (["mine.py"], "add --task"),
        (["mine.py", "--task", "lsm", "--levels", "mixed"], "--judge"),
        (["mine.py", "--task", "lsm", "--levels", "style"], "choose among"),
        (["mine.py", "--task", "lsm", "--fail-under", "mixed"], "LEVEL=VALUE"),
        (["mine.py", "--task", "lsm", "--fail-under", "mixed=nan"], "a number"),
        (["mine.py", "--task", "lsn"], "did you mean"),
        (["mine.py", "--task", "lsm", "--reference", "none"], "does not exist"),
        (["mine.py", "--task", "lsm", "--reference", "tests"], "holds no code"),
        (
            ["mine.py", "--task", "lsm", "--run", "python mine.py", "--data", "none"],
            "isn't a folder",
        ),
        (["mine.py", "--task", "lsm", "--out", "mine.py"], "cannot be a trial's folder"),
    ],
)
def test_bad_input_is_one_clear_line(program, arguments, expected):
    (program.parent / "tests").mkdir()
    done = score(*arguments)
    assert isinstance(done.exception, UsageError | TrialError) and expected in str(
        done.exception
    ), done.output


@pytest.mark.slow
def test_a_paper_of_ones_own_gets_its_points_from_the_judge_once(program, in_folder):
    (in_folder / "paper.md").write_text("# A paper\n\n" + "We fit lines by descent. " * 60)
    kinds = ["method", "method", "method", "hyperparameters", "training"]
    points = json.dumps(
        {"points": [{"kind": kind, "title": f"t{n}", "text": "x"} for n, kind in enumerate(kinds)]}
    )
    with chat_server([points, json.dumps(VERDICT), json.dumps(VERDICT)]) as server:
        common = [
            "--paper",
            "paper.md",
            "--task",
            "lines",
            "--metric",
            "error",
            "--judge",
            "some",
            "--base-url",
            server.base_url,
            "--reference",
            str(program),
        ]
        assert score(program, *common, "--levels", "mixed").exit_code == 0
        assert score(program, *common, "--levels", "paper").exit_code == 0
    first = server.requests[0].prompt
    assert "key points" in first and "descent" in first
    assert len(server.requests) == 3


POINTS = json.dumps(
    {
        "points": [
            {"kind": kind, "title": f"t{n}", "text": "by the judge"}
            for n, kind in enumerate(["method"] * 3 + ["hyperparameters", "training"])
        ]
    }
)


def source_of_points(folder):
    [entry] = json.loads((folder / "scores.json").read_text())["scores"]
    return entry["details"]["asked"]["points"]["source"]


@pytest.mark.slow
def test_key_points_are_the_papers_if_its_text_is_there_and_else_curated(program, in_folder):
    (in_folder / "paper.md").write_text("# A paper\n\n" + "We fit lines by descent. " * 60)
    common = (program, "--task", "lsm", "--levels", "mixed", "--judge", "some", "--base-url")
    paper = ("--paper", "paper.md")
    with chat_server([json.dumps(VERDICT), POINTS, *[json.dumps(VERDICT)] * 2]) as server:
        without = score(*common, server.base_url, "--out", "a")
        written = score(*common, server.base_url, "--out", "b", *paper)
        assert written.exit_code == 0, written.output
        asked = score(*common, server.base_url, "--out", "c", *paper, "--points", "curated")
        offline = score(*common, server.base_url, "--out", "d", "--points", "paper", "--offline")
    assert without.exit_code == 0 == asked.exit_code and "curated" in without.output
    assert [source_of_points(in_folder / name) for name in "abc"] == ["curated", "paper", "curated"]
    assert "by the judge" in server.requests[2].prompt
    assert "by the judge" not in server.requests[3].prompt
    assert isinstance(offline.exception, PaperError) and "--paper FILE" in offline.exception.fix


@pytest.mark.slow
def test_key_points_are_written_anew_by_another_judge(program, in_folder):
    (in_folder / "paper.md").write_text("# A paper\n\n" + "We fit lines by descent. " * 60)
    common = (program, "--task", "lsm", "--levels", "paper", "--paper", "paper.md", "--base-url")
    with chat_server([POINTS, json.dumps(VERDICT)] * 2) as server:
        for judge in ("some", "other"):
            assert score(*common, server.base_url, "--judge", judge).exit_code == 0
    assert "key points" in server.requests[2].prompt and len(server.requests) == 4


@pytest.mark.slow
def test_a_dry_run_counts_what_is_asked_and_asks_and_writes_nothing(program, in_folder):
    (in_folder / "paper.md").write_text("# A paper\n\n" + "We fit lines by descent. " * 60)
    common = (program, "--task", "lsm", "--levels", "mixed,code,gap", "--judge", "some")
    with chat_server([]) as server:
        common = (*common, "--base-url", server.base_url, "--repeats", "2", "--dry-run", "--json")
        plain = json.loads(score(*common).stdout)
        paper = json.loads(score(*common, "--paper", "paper.md").stdout)
        assert not server.requests and not (in_folder / "runs").exists()
    assert plain["programs"] == 1 and plain["calls"] == 4 and plain["most_dollars"] == 0.0
    assert paper["calls"] == 5 and paper["tokens"] > plain["tokens"] > 1000
    one = CliRunner().invoke(app, ["calibrate", "lsm", "--judge", "openai:gpt-4o", "--dry-run"])
    assert "7 programs; about 18 calls" in one.output and "at most $" in one.output


@pytest.mark.slow
def test_a_run_that_meets_its_limit_says_so_and_a_system_has_its_name(in_folder):
    slow = in_folder / "slow.py"
    slow.write_text("import time\ntime.sleep(60)\n")
    ran = ("--run", "python slow.py", "--time-limit-minutes", "0.02", "--sandbox", "process")
    done = score(slow, "--task", "lsm", *ran, "--system", "theirs", "--out", "o", "--levels", "gap")
    assert done.exit_code == 0, done.output
    outcome = facts_of(in_folder / "o")
    assert "stopped at its limit of 0.02 minutes" in outcome["reason"]
    [row] = read_rows(in_folder / "o")
    assert (row.solver, row.variant, row.executed, row.metric) == ("theirs", "theirs", 0, None)


@pytest.mark.parametrize(
    "more", [(), ("--paper", "paper.md"), ("--task", "T", "--paper", "paper.md", "--run", "x")]
)
def test_the_claims_keys_are_shown_with_what_there_is(program, more):
    (program.parent / "paper.md").write_text("# A paper\n")
    claims = ("--claim", "OLS: effect = 1.5", "--claim", "OLS: p-value < 0.05")
    done = score(str(program), *more, *claims, "--show-claims")
    assert done.exit_code == 0
    assert done.output == (
        "ols_effect  OLS: effect, paper 1.5\nols_p_value  OLS: p-value, paper at most 0.05\n"
    )


def test_the_claims_keys_are_those_of_a_trial_or_a_task_too(program):
    known = file_of(claim(1.5, metric="effect", printed="1.5"))
    trial = program.parent / "trial"
    trial.mkdir()
    (trial / "claims.json").write_text(known.to_json())
    key = known.claims[0].id
    assert score(str(trial), "--show-claims").output.startswith(f"{key}  ")
    assert "relative_l2" in score(str(program), "--task", "lsm", "--show-claims").output
    nothing = score(str(program), "--show-claims")
    assert "name a finished trial" in str(nothing.exception)
