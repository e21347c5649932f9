"""`verify` without a model, on small programs: what its runs count for, and what its page says."""

import json
import re
from contextlib import nullcontext
from html import unescape
from pathlib import Path
from shutil import rmtree

import pytest
from sandbox_fixtures import settings_for
from trial_results import verdict_of

from autoreproduce import score
from autoreproduce.claims.verdicts.trial_verdict import TrialVerdict
from autoreproduce.errors import AutoReproduceError
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.submission import carried_files, known_by
from autoreproduce.job import Job
from autoreproduce.plugins.verify.verify import verified, verify, verify_job
from autoreproduce.runner.api import resumed
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.runner.attempt import watched_attempt
from autoreproduce.runner.settings import load_settings
from autoreproduce.trials.journal_reader import read_journal
from autoreproduce.trials.steps import Observer
from autoreproduce.trials.trial import Trial

pytestmark = pytest.mark.slow
PAPER = """# A Coin That Lands on Heads

Table 1: Share of heads, mean of five runs.

| Method | accuracy |
|---|---|
| Coin | 0.883 ± 0.009 |
"""
COIN = """
import random, sys
seed = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else 0
random.seed(SEED)
print("accuracy:", sum(random.random() < 0.9 for _ in range(1000)) / 1000)
"""


def run(
    folder: Path,
    program: str,
    *,
    claim: str = "Coin: accuracy = 0.883 ± 0.009",
    command: str = "python main.py --seed {seed}",
    place: str = "stdout:accuracy",
    seeds: int = 3,
) -> tuple[Reproduction, TrialVerdict, str]:
    """The scores, the verdict and the page's text of one program."""
    code = folder / "code"
    code.mkdir(exist_ok=True)
    (code / "main.py").write_text(program)
    (folder / "paper.md").write_text(PAPER)
    [scored] = verify(
        code,
        paper=folder / "paper.md",
        claims=[claim],
        run=command,
        metric_from=[f"coin_accuracy={place}"],
        settings=settings_for("process", runs_dir=folder / "runs", seeds=seeds),
    )
    found = verdict_of(scored.path)
    page = (scored.path / "report.html").read_text()
    text = unescape(re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL))
    assert found is not None
    return scored, found, " ".join(text.split())


def test_a_program_that_ignores_its_seed_is_one_run_and_no_more_than_close(tmp_path: Path) -> None:
    scored, found, page = run(tmp_path, COIN.replace("SEED", "1234"))
    assert (scored.result.verdict, found.claims[0].verdict.values) == ("partly", (0.883,))
    assert "this program doesn't use its seed (--seed)" in page
    assert "the same in all 3 runs" in scored.result.sentence
    assert "--seeds 3" not in page and "mean of 3 runs" not in page


def test_a_program_that_uses_its_seed_is_three_runs(tmp_path: Path) -> None:
    _, found, page = run(tmp_path, COIN.replace("SEED", "seed"))
    assert found.claims[0].verdict.values == (0.896, 0.897, 0.894)
    assert "count as one" not in page and "predictions.npz" not in page
    assert "Sandbox process:" in page and "was not recorded" not in page


def test_more_seeds_are_added_to_a_finished_trial_and_nothing_runs_twice(tmp_path: Path) -> None:
    program = COIN.replace("SEED", "seed")
    for seeds, values in ((1, (0.896,)), (3, (0.896, 0.897, 0.894)), (2, (0.896, 0.897, 0.894))):
        scored, found, _ = run(tmp_path, program, seeds=seeds)
        assert found.claims[0].verdict.values == values
        ran = [one for one in read_journal(scored.path / "steps.jsonl") if one.kind == "execute"]
        assert len(ran) == len(values)


def test_a_run_out_of_time_goes_on_where_more_is_given(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import time\ntime.sleep(2)\nprint('accuracy: 0.9')\n")
    (tmp_path / "paper.md").write_text(PAPER)
    for minutes, metric in ((0.01, None), (1, 0.9), (0.01, 0.9)):
        done = verify(
            tmp_path / "main.py",
            paper=tmp_path / "paper.md",
            claims=["Coin: accuracy = 0.883"],
            run="python main.py",
            metric_from=["coin_accuracy=stdout:accuracy"],
            settings=settings_for("process", time_limit_minutes=minutes),
            out=tmp_path / "trial",
        )
        assert done.metric == metric


def test_seeds_where_nothing_is_run_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done, _, _ = run(tmp_path, COIN.replace("SEED", "seed"), seeds=1)
    settings = settings_for("process", seeds=3)
    score(done.path, levels=["execution"], settings=settings)
    assert "--seeds 3 adds no run: without --run nothing is run" in capsys.readouterr().err


def test_runs_that_are_alike_keep_the_values_behind_their_mean(tmp_path: Path) -> None:
    _, found, _ = run(
        tmp_path,
        """
import json
json.dump([{"accuracy": one} for one in (0.87, 0.88, 0.89)], open("all.json", "w"))
""",
        place=json.dumps(
            {"take": "mean", "of": {"file": "all.json", "key": "*.accuracy"}, "runs": True}
        ),
    )
    assert found.alike and found.claims[0].verdict.values == (0.87, 0.88, 0.89)


def test_a_program_without_randomness_is_reproduced_by_one_number(tmp_path: Path) -> None:
    scored, found, page = run(
        tmp_path,
        "print('accuracy:', round(sum(1 / n for n in range(1, 8)) - 1.71, 4))",
        claim="Coin: accuracy = 0.883",
        command="python main.py",
    )
    assert scored.result.verdict == "reproduced" and found.claims[0].verdict.repeats == 3
    assert "its command takes no seed, and nothing in it varies" in page


def test_one_run_that_comes_close_is_told_which_argument_takes_the_seed(tmp_path: Path) -> None:
    program = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--seed')\n"
    scored, _, page = run(
        tmp_path,
        f"{program}print('accuracy:', 0.5 + 0.3801)",
        claim="Coin: accuracy = 0.883",
        command="python main.py",
        seeds=1,
    )
    assert scored.result.verdict == "partly"
    advice = "main.py takes a seed, so --run 'python main.py --seed {seed}' --seeds 3 repeats it"
    assert f"One run: {advice}." in page
    other = tmp_path / "other"
    other.mkdir()
    _, _, page = run(
        other,
        "print('accuracy:', 0.5 + 0.3801)",
        claim="Coin: accuracy = 0.883",
        command="python main.py",
        seeds=1,
    )
    assert "--seeds" not in page


def test_fractions_for_percentages_are_said_first_and_get_no_percent_sign(tmp_path: Path) -> None:
    scored, _, page = run(
        tmp_path,
        "print('accuracy:', sum([0.05, 0.0248]))",
        claim="Coin: accuracy = 7.48%",
        command="python main.py",
        seeds=1,
    )
    assert scored.result.sentence.startswith(
        "Reproduced: the code prints fractions; times 100 it is equal: the paper says 7.48"
    )
    assert "0.0748 (× 100 = 7.48)" in page and "0.0748 %" not in page


FAILS = """
import json, sys
accuracy = sum([0.5, 0.396])
WRITE
raise RuntimeError("the plot cannot be drawn: no display")
"""
WHOLE = 'with open("results.json", "w") as file: json.dump({"accuracy": accuracy}, file)'


def failing(folder: Path, write: str, place: str, seeds: int = 1) -> tuple[Reproduction, str]:
    scored, found, page = run(
        folder,
        FAILS.replace("WRITE", write),
        claim="Coin: accuracy = 0.897",
        command="python main.py",
        place=place,
        seeds=seeds,
    )
    assert found.overall.failed_after
    return scored, page


@pytest.mark.parametrize(
    ("write", "place"),
    [
        (WHOLE, "results.json:accuracy"),
        ('print("accuracy:", accuracy)', "stdout:accuracy"),
        ('open("a.csv", "w").write(f"accuracy\\n{accuracy}\\n")', "a.csv:accuracy"),
    ],
)
def test_numbers_written_before_the_program_failed_are_read_and_marked(
    tmp_path: Path, write: str, place: str
) -> None:
    scored, page = failing(tmp_path, write, place)
    how = "exit code 1, RuntimeError"
    assert scored.result.sentence.endswith(
        f"but the program failed after writing its numbers ({how})."
    )
    assert "measured 0.896" in scored.result.sentence
    assert f"{how}: the plot cannot be drawn: no display" in page
    assert scored.result.details["ran"] is False and "it ran in full" not in page


def test_every_run_that_fails_after_its_numbers_counts(tmp_path: Path) -> None:
    _, page = failing(tmp_path, WHOLE, "results.json:accuracy", seeds=2)
    assert "2 runs gave the same numbers" in page and "untestable" not in page


@pytest.mark.parametrize(
    ("write", "place", "before", "why"),
    [
        ("pass", "results.json:accuracy", "", "results.json was not written"),
        ("pass", "results.json:accuracy", '{"accuracy": 0.897}', "is from before the run"),
        (
            """open("results.json", "w").write('{"accuracy": 0.89')""",
            "results.json:accuracy",
            "",
            "is no json",
        ),
        ('open("a.csv", "w").write("accuracy\\n0.89")', "a.csv:accuracy", "", "half written"),
        ('open("a.txt", "w").write("accuracy: 0.89")', "a.txt:accuracy", "", "half written"),
        ('sys.stdout.write("accuracy: 0.89")', "stdout:accuracy", "", "half written"),
    ],
)
def test_what_is_old_or_half_written_does_not_count(
    tmp_path: Path, write: str, place: str, before: str, why: str
) -> None:
    _no_number(tmp_path, FAILS.replace("WRITE", write), place, before, why)


def test_a_result_of_before_does_not_count_where_the_program_ends_well(tmp_path: Path) -> None:
    _no_number(tmp_path, "x = 1", "results.json:accuracy", '{"accuracy": 0.897}', "from before")


def _no_number(folder: Path, program: str, place: str, before: str, why: str) -> None:
    code = folder / "code"
    code.mkdir()
    (code / "main.py").write_text(program)
    (folder / "paper.md").write_text(PAPER)
    if before:
        (code / "results.json").write_text(before)
    [scored] = verify(
        code,
        paper=folder / "paper.md",
        claims=["Coin: accuracy = 0.897"],
        run="python main.py",
        metric_from=[f"coin_accuracy={place}"],
        settings=settings_for("process", runs_dir=folder / "runs"),
    )
    assert scored.result.verdict == "not measured" and why in scored.result.sentence


def test_a_result_written_anew_with_the_same_content_counts(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/results.json").write_text('{"accuracy": 0.896}')
    scored, page = failing(tmp_path, WHOLE, "results.json:accuracy")
    assert "measured 0.896" in scored.result.sentence and "from before" not in page


class Interrupts(Observer):
    """The user's Ctrl-C at the first word that a program prints."""

    def output(self, text: str) -> None:
        if text.strip():
            raise KeyboardInterrupt


def job_of(folder: Path, command: str = "") -> Job:
    """A program that prints a claim's number, without a model."""
    (folder / "code").mkdir()
    (folder / "code" / "main.py").write_text("print('accuracy:', sum([0.4, 0.483]), flush=True)")
    (folder / "paper.md").write_text(PAPER)
    return verify_job(
        folder / "code",
        load_settings({"sandbox": "process", "runs_dir": folder / "runs"}),
        command,
        paper=folder / "paper.md",
        claims=["Coin: accuracy = 0.883"],
        run="python main.py",
        metric_from=["coin_accuracy=stdout:accuracy"],
    )


def test_without_a_model_it_is_a_trial_as_any_and_resumed_by_its_folder(tmp_path: Path) -> None:
    begun = verified(job_of(tmp_path), lambda _: nullcontext(Interrupts()))
    assert begun.result.status == "stopped" and not (begun.path / "result").exists()
    record = Trial.read(begun.path).record
    assert (record.system.split()[0], record.model, record.versions != {}) == ("code", "none", True)
    rmtree(tmp_path / "code")  # the trial has what it held
    done = watched_attempt(resumed(begun.path, load_settings({})))
    assert done.metric == 0.883 and done.result.verdict == "reproduced"
    assert (done.path / "result" / "main.py").exists() and (done.path / "output.log").read_text()
    assert watched_attempt(resumed(begun.path, load_settings({}))).earlier


def test_a_trial_that_was_killed_before_it_had_the_program_says_what_to_type(
    tmp_path: Path,
) -> None:
    job = job_of(tmp_path, "autoreproduce verify code …")
    killed = known_by(job, Sources({"main.py": (tmp_path / "code" / "main.py").read_text()}),
                      carried=carried_files(tmp_path / "code", [], []))  # fmt: skip
    without = watched_attempt(killed)
    assert without.result.status == "stopped"
    assert "type again what began it: autoreproduce verify code …" in without.result.reason
    done = verified(job)
    assert done.path == without.path and done.metric == 0.883


def test_scoring_that_finds_no_sandbox_says_so_and_is_resumed_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    (tmp_path / "main.py").write_text("print('mse', sum([0.1, 0.2]))")
    (tmp_path / "paper.md").write_text(PAPER)
    asked = {"task": "Coin", "metric": "mse", "paper": tmp_path / "paper.md", "levels": ["gap"]}
    asked |= {"run": "python main.py", "metric_from": ["stdout:mse"], "out": tmp_path / "trial"}
    with pytest.raises(AutoReproduceError, match="Docker") as error:
        score(tmp_path / "main.py", settings=load_settings({"sandbox": "docker"}), **asked)
    assert error.value.exit_code == 3
    done = watched_attempt(resumed(tmp_path / "trial", load_settings({"sandbox": "process"})))
    assert done.metric == pytest.approx(0.3)
