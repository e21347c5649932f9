"""A program that knows nothing of us: its data where it looks, its number where it writes."""

import json
from pathlib import Path

import pytest
from sandbox_fixtures import settings_for
from trial_results import trial_result, verdict_of

from autoreproduce import Score
from autoreproduce.cli.console.attempts import unmet
from autoreproduce.config import Settings
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.evaluation.judging.material import program_of
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.outside_run import (
    FILE,
    OutsideRun,
    data_place,
    read_beside,
    read_outside_run,
    write_outside_run,
)
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.evaluation.tables.rows import read_rows
from autoreproduce.runner.api import score, score_job
from autoreproduce.runner.conclude import add_judgement, conclude
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import Metric, Task
from autoreproduce.trials.integrity import RunEvidence, Withheld, integrity_of
from autoreproduce.trials.result import read_result
from autoreproduce.trials.steps import ExecutionResult
from autoreproduce.trials.trial import Trial

PROGRAM = """
from pathlib import Path
rows = Path("PLACE/points.csv").read_text().split()
assert Path("PLACE").is_dir()
Path("logs").mkdir()
Path("logs/run.csv").write_text("epoch,mse\\n1,0.9\\n2," + rows[0] + "\\n")
print("final accuracy:", rows[1])
"""
TASK = Task(id="t", metric=Metric(name="mse"), instruction="", user_claims=["mse = 0.314 lower"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "sandbox"),
    [
        ("data/raw", "process"),
        ("/root/sets/points", "bubblewrap"),
        pytest.param("/mnt/points", "docker", marks=pytest.mark.docker),
    ],
)
def test_data_and_number_are_mapped_and_a_claim_is_judged(
    tmp_path: Path, place: str, sandbox: str
) -> None:
    files = {"p/main.py": PROGRAM.replace("PLACE", place), "d/points.csv": "0.312 0.9"}
    for name, text in {**files, "paper.md": "# A paper\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    asked = {
        "task": "Points",
        "metric": "mse",
        "paper": tmp_path / "paper.md",
        "run": "python main.py",
        "data": tmp_path / "d",
        "data_at": place,
        "claims": ["mse = 0.31 lower", "accuracy = 0.95 higher"],
        "levels": ["execution"],
        "settings": settings_in(tmp_path, sandbox),
    }
    places = ["logs/run.csv:mse", "accuracy=stdout:final accuracy"]
    [done] = score(tmp_path / "p", metric_from=places, **asked)
    assert done.scores[0].value == 1 and done.result.verdict == "partly"
    found = verdict_of(done.path)
    assert found and [one.verdict.mean for one in found.claims] == [0.312, 0.9]
    [row] = read_rows(done.path.parent)
    assert (row.metric, row.claimed, row.executed) == (0.312, True, 1.0)
    [lost] = score(tmp_path / "p", metric_from=["logs/run.csv:r2"], **asked)
    assert lost.path != done.path and lost.scores[0].value == 1  # it ran
    outcome = Trial.read(lost.path).result
    assert outcome and outcome.metric is None and "no column 'r2'" in outcome.reason
    with pytest.raises(TrialError, match="program's metric_from"):
        score(tmp_path / "p", metric_from=["x.csv:y"], out=done.path, **asked)


@pytest.mark.parametrize(
    "path", ["", "/", "/usr/share/x", "//etc", "../x", "a/../../b", "/home/sandbox"]
)
def test_a_place_that_cannot_hold_data_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="data-at"):
        data_place(path)


def test_a_mapping_needs_a_run(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("x = 1\n")
    beside = {"beside": [tmp_path / "main.py"]}
    needs = ({"metric_from": ["a.csv:b"]}, {"data_at": "data"}, {"requirements": "r.txt"}, beside)
    for options in needs:
        with pytest.raises(UsageError, match="add --run"):
            score(tmp_path / "main.py", task="lsm", settings=settings_in(tmp_path), **options)
    with pytest.raises(UsageError, match="add --task"):
        score_job(tmp_path / "main.py", settings_in(tmp_path), claims=["mse = 1"])


TRAINING = """
import sys
from pathlib import Path
import torch
from torch import nn
assert Path("sets/points.csv").read_text() == "0.312"
model = nn.Linear(3, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(int(sys.argv[1])):
    loss = model(torch.ones(4, 3).cuda()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("mse:", 0.312)
"""
ON_CPU = """
import runpy, sys, torch
torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *_: self
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
def test_a_file_of_the_users_own_makes_a_program_run_and_is_no_part_of_it(tmp_path: Path) -> None:
    files = {"p/train.py": TRAINING, "ref/main.py": TRAINING.replace(".cuda()", "")}
    files |= {"d/points.csv": "0.312", "own/on_cpu.py": ON_CPU, "paper.md": "# A paper\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    asked = {
        "task": "Points",
        "metric": "mse",
        "paper": tmp_path / "paper.md",
        "data": tmp_path / "d",
        "data_at": "sets",
        "metric_from": ["stdout:mse"],
        "levels": ["execution"],
        "reference": str(tmp_path / "ref"),
        "settings": settings_in(tmp_path),
    }
    [failed] = score(tmp_path / "p", run="python train.py 3", **asked)
    assert failed.scores[0].value == 0
    beside = {"run": "python on_cpu.py train.py 3", "beside": [tmp_path / "own" / "on_cpu.py"]}
    [done] = score(tmp_path / "p", **beside, **asked)
    assert done.scores[0].value == 1
    assert set(program_of(done.path, TASK).files) == {"train.py"}
    (tmp_path / "p" / "on_cpu.py").write_text("")
    with pytest.raises(UsageError, match=r"has a on_cpu\.py itself"):
        score(tmp_path / "p", **beside, **asked)


def test_what_a_run_needs_is_read_again_from_the_record(tmp_path: Path) -> None:
    asked = OutsideRun("python x.py", "sets", (), ("h5py", "yacs==0.1.8"), {"x.py": "y = 1\n"})
    with lay_out(tmp_path / "t", Sources({"main.py": ""}), TASK) as trial:
        write_outside_run(trial, asked)
    assert read_outside_run(tmp_path / "t") == asked
    whole = json.loads((tmp_path / "t" / FILE).read_text())
    for altered in ({"beside": "["}, {"beside": {"../x": ""}}, {"data_at": "/usr"}):
        (tmp_path / "t" / FILE).write_text(json.dumps(whole | altered))
        assert read_outside_run(tmp_path / "t") is None
    for name, text in {"a/x": "", "b/x": "", "c/x": "y"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match="name of another"):
        read_beside([tmp_path / "a" / "x", tmp_path / "b" / "x"])


def settings_in(tmp_path: Path, sandbox: str = "process") -> Settings:
    places = {"cache_dir": tmp_path / "cache", "runs_dir": tmp_path / "runs"}
    return settings_for(sandbox, **places)


def concluded(folder: Path) -> Path:
    """A finished trial of one run, with its verdict."""
    with lay_out(folder, Sources({"main.py": "x = 1\n"}), TASK) as trial:
        trial.phase("full_run")
        ran = ExecutionResult(command="python main.py", exit_code=0)
        trial.step(ExecutionResult, "sandbox", "run", ["x"], lambda: ran)
        result = trial_result(status="measured", reason="", metric=0.312, phase="full_run")
        settings = settings_in(folder)
        sandboxes = SandboxSetup(settings, folder / "packages")
        conclude(trial, TASK, result, settings, sandboxes)
        trial.write_result(result)
    return folder


def test_a_judge_says_the_method_and_nothing_of_the_numbers(tmp_path: Path) -> None:
    folder = concluded(tmp_path / "t")
    before, first = verdict_of(folder), Trial.read(folder).result
    assert before and before.overall.method.text == "method not verified"
    add_judgement(folder, [Score("mixed", 90.0, ""), Score("paper", None, "")])
    assert verdict_of(folder) == before
    add_judgement(folder, [Score("paper", 81.6, "")])
    after, outcome = verdict_of(folder), Trial.read(folder).result
    assert after and after.overall.method.text == "method judged 81.6 of 100 from the paper"
    assert after.claims == before.claims
    assert outcome and first and outcome.sentence == first.sentence != ""
    assert not Trial.read(folder).altered
    add_judgement(folder, [Score("paper", 40.0, "")])
    again = verdict_of(folder)
    assert again and again.overall.method.score == 40.0


def test_a_judge_seals_nothing_that_was_altered(tmp_path: Path) -> None:
    folder = concluded(tmp_path / "t")
    result = read_result(folder)
    assert result
    result.sentence = "Reproduced."
    (folder / "result.json").write_text(text := result.model_dump_json())
    add_judgement(folder, [Score("paper", 81.0, "")])
    assert (folder / "result.json").read_text() == text and Trial.read(folder).altered


HISTORY = [{"epoch": n, "test": value} for n, value in enumerate((0.5, 0.4, 0.6, 0.7, 0.8), 1)]


@pytest.mark.parametrize(
    ("claimed", "decoys", "withheld", "kinds"),
    [
        (0.4, 0.4, "all", {"selected"}),  # the best against decoys
        (0.8, 0.8, "all", set()),  # the last
        (0.6, 0.6, "all", set()),  # another one: chosen by something else
        (0.4, None, "all", set()),
    ],
)
def test_the_best_epoch_against_decoys_is_a_choice_by_them(
    claimed: float, decoys: float | None, withheld: Withheld, kinds: set[str]
) -> None:
    seen = RunEvidence(None, 0.1, True, claimed, decoys, withheld, HISTORY)
    found = integrity_of(TASK, seen)
    assert {one.kind for one in found.findings if one.kind == "selected"} == kinds


def test_a_trial_may_be_asked_for_a_verdict(tmp_path: Path) -> None:
    found = verdict_of(concluded(tmp_path / "t"))
    assert unmet(found, "partly") == ""
    assert unmet(found, "reproduced").startswith("--require reproduced is not met: ")
    assert unmet(None, "partly") == "--require partly is not met: no verdict"
