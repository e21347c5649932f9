"""Code that somebody has, held against its paper: planned, run and read by real parts, with a chat
server that says what a model might.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server
from needs import needs_suites
from pydantic import ValidationError
from sandbox_fixtures import settings_for
from trial_results import verdict_of

import autoreproduce
from autoreproduce import verify
from autoreproduce.errors import UsageError
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.verify.handed_in import RunPlan, handed_in_class
from autoreproduce.plugins.verify.output_places import outputs_of, shown_outputs
from autoreproduce.plugins.verify.run_patches import RunPatch, patched
from autoreproduce.plugins.verify.verify import verify_job
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.trials.steps import ExecutionResult
from autoreproduce.trials.trial import Trial

PAPER = """# Means of few points
Our estimator has a mean of 3.95833 and a largest value of 8.125 on the points. Its error is 0.5.
"""
CLAIMS = """```yaml
- {row: [estimator], metric: mean, direction: match, value: 3.95833, scale: raw,
   sentence: Our estimator has a mean of 3.95833}
- {row: [estimator], metric: largest value, direction: match, value: 8.125, scale: raw,
   sentence: Our estimator has a mean of 3.95833 and a largest value of 8.125}
- {row: [estimator], metric: error, direction: lower, value: 0.5, scale: raw,
   sentence: "Our estimator has a mean of 3.95833 and a largest value of 8.125 on the points. Its error is 0.5"}
```"""
PROGRAM = """
import csv
numbers = [float(row[0]) for row in csv.reader(open("data/points.csv"))]
print("points", len(numbers))
print(f"run of 3: mean {sum(numbers) / len(numbers):.6f}, largest {max(numbers):.4f}")
"""
LINE = "run of 3: mean 3.958333, largest 8.1250"


def place(name: str, number: int, line: int = 2, text: str = LINE) -> dict[str, object]:
    of = {"file": "stdout", "line": line, "number": number, "text": text}
    return {"id": name, "of": of}


def note(kind: str, *quotes: str) -> dict[str, object]:
    return {"kind": kind, "what": "no unit is given", "quotes": quotes}


def handed_in(folder: Path) -> Path:
    (folder / "code" / "data").mkdir(parents=True)
    (folder / "code" / "run_it.py").write_text(PROGRAM)
    (folder / "code" / "README.md").write_text("Run run_it.py\n")
    (folder / "code" / "data" / "points.csv").write_text("1.5\n2.25\n8.125\n")
    (folder / "paper.md").write_text(PAPER)
    return folder / "code"


@pytest.mark.slow
def test_code_is_planned_run_and_held_against_its_paper(tmp_path: Path) -> None:
    code, places = handed_in(tmp_path), [place("estimator_mean", 2)]
    noted = [note("misprint", "Its error is 0.5"), note("undefined", "is nowhere")]
    replies = [
        CLAIMS.replace("yaml", "yaml\nclaims:")[:-3] + f"notes: {json.dumps(noted)}\n```",
        json.dumps({"command": "python main.py", "packages": [], "why": "customary"}),
        json.dumps({"command": "sed -i s/3/4/ run_it.py && python run_it.py"}),
        json.dumps({"command": "python run_it.py", "packages": [], "why": "the README"}),
        json.dumps({"places": [*places, place("estimator_largest_value", 9)]}),
        json.dumps({"places": [*places, place("estimator_largest_value", 3)]}),
    ]
    with chat_server(replies) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url, seeds=2
        )
        [done] = verify(code, settings=settings, paper=tmp_path / "paper.md")
        prompts = [request.prompt for request in server.requests]
    assert len(prompts) == len(replies)
    assert "points.csv" in prompts[1] and "Run run_it.py" in prompts[1]
    assert "3.95833" not in prompts[1] and "can't open file" in prompts[2]
    assert (
        "changes what is computed" in prompts[3] and "line 2 of stdout has 3 numbers" in prompts[5]
    )
    found = verdict_of(done.path)
    assert found and [one.verdict.values for one in found.claims] == [
        (3.958333,),  # both runs gave it: the program has no randomness
        (8.125,),
        (),
    ]
    assert [one.verdict.repeats for one in found.claims] == [2, 2, 1]
    assert [one.verdict.word for one in found.claims] == [
        "reproduced",
        "reproduced",
        "not measured",
    ]
    assert any("estimator_error" in warning for warning in done.result.warnings)
    told = done.result.details["sections"]
    told_of = told["Where each number stands"][0]
    assert told_of == ("estimator_mean: number 2 of line 2 of stdout", LINE)
    assert found.claims[0].derived == "number 2 of line 2 of stdout"
    assert told["Notes on the paper"] == [("misprint: no unit is given", "Its error is 0.5")]
    page = (done.path / "report.html").read_text()
    assert "Notes on the paper" in page and "Its error is 0.5" in page


@pytest.mark.slow
def test_with_command_and_places_no_model_is_asked(tmp_path: Path) -> None:
    code = handed_in(tmp_path)
    asked: dict[str, Any] = {
        "code": str(code),
        "settings": settings_for("process", runs_dir=tmp_path / "runs"),
        "paper": tmp_path / "paper.md",
        "claims": ["estimator: mean = 3.95833", "estimator: largest value = 8.1250"],
        "run": "python run_it.py",
        "metric_from": ["estimator_mean=stdout:#2.2", "estimator_largest_value=stdout:largest"],
    }
    [scored] = verify(**asked)
    assert scored.result.sentence.startswith("Reproduced: all 2 numbers of the paper were reached")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, "--metric-from KEY=stdout:WORD"),
        ({"claims": ["Ours: mean = 3.9"]}, "--metric-from ours_mean=stdout:WORD"),
        ({"metric_from": ["ours_mena=stdout:mean"]}, "the claims' keys are ours_mean, ours_max"),
        ({"metric_from": ["ours_max=stdout:max"]}, "add --metric-from ours_mean=FILE:PLACE"),
        ({"metric_from": ["stdout:mean"], "claims": []}, "needs both"),
    ],
)
def test_whoever_names_no_model_or_a_wrong_key_is_told_what_to_write(
    tmp_path: Path, more: dict[str, list[str]], says: str
) -> None:
    code = handed_in(tmp_path)
    run = {"run": "python run_it.py"} if "metric_from" in more else {}
    claims = {"claims": ["Ours: mean = 3.9", "Ours: max = 8"]} if "metric_from" in more else {}
    given = {"settings": settings_for("process", runs_dir=tmp_path / "runs"), **run, **claims}
    with pytest.raises(UsageError) as error:
        verify(code, paper=tmp_path / "paper.md", **{**given, **more})  # type: ignore[arg-type]
    assert says in str(error.value) and not (tmp_path / "runs").exists()


PLAN = json.dumps({"command": "python run_it.py"})
FOUND = json.dumps({"places": [place("estimator_mean", 2)]})


@pytest.mark.slow
def test_after_an_outage_nothing_is_planned_or_run_again(tmp_path: Path) -> None:
    code = handed_in(tmp_path)
    for replies in ([CLAIMS, PLAN], [FOUND]):
        with chat_server(replies) as server:
            settings = settings_for(
                "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url
            )
            [done] = verify(code, paper=tmp_path / "paper.md", settings=settings)
            asked = len(server.requests)
    assert asked == 1 and isinstance(done, Reproduction)
    found = verdict_of(done.path)
    assert found and found.claims[0].verdict.word == "reproduced"


@pytest.mark.slow
def test_a_run_that_is_out_of_time_is_planned_anew(tmp_path: Path) -> None:
    code = handed_in(tmp_path)
    (code / "all.py").write_text(
        "import time\nprint('first part done', flush=True)\ntime.sleep(60)\n"
    )
    nothing = json.dumps({"places": []})
    replies = [CLAIMS, '{"command": "python all.py"}', nothing, PLAN, FOUND]
    with chat_server(replies) as server:
        how = {"model": "any", "base_url": server.base_url, "time_limit_minutes": 0.1}
        how["audit"] = False
        settings = settings_for("process", runs_dir=tmp_path / "runs", **how)
        [done] = verify(code, paper=tmp_path / "paper.md", settings=settings)
        again = server.requests[3].prompt
    assert "It was stopped after 0.1 minutes" in again and "first part done" in again
    assert isinstance(done, Reproduction) and verdict_of(done.path).overall.reproduced == 1


@needs_suites
@pytest.mark.slow
def test_in_a_suite_the_solver_is_the_code(tmp_path: Path) -> None:
    task = f'{{name: means, metric: "first_claim:higher", paper: {tmp_path}/paper.md}}'
    suite = tmp_path / "suite.yaml"
    solver = f'solver: "code:{handed_in(tmp_path)}"\ncarry: [run_it.py]'
    suite.write_text(f"name: v\ntasks: [{task}]\n{solver}\n")
    with chat_server([CLAIMS, PLAN, FOUND]) as server:
        how = {"sandbox": "process", "model": "any", "base_url": server.base_url}
        how["audit"] = False
        autoreproduce.run_suite(suite, trust=True, out=tmp_path / "runs", **how)
    [result] = (tmp_path / "runs").rglob("result.json")
    assert Trial.read(result.parent).record.job.of_program.carry == ("run_it.py",)
    found = verdict_of(result.parent)
    assert found and found.claims[0].verdict.word == "reproduced"


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/1/2/ a.py",
        "python -c 'print(1)'",
        "echo 1 > main.py",
        "cat > x.py << EOF",
        "patch -p1",
    ],
)
def test_a_plan_that_changes_what_is_computed_is_refused(command: str) -> None:
    with pytest.raises(ValidationError, match="run the code as it is"):
        RunPlan(command=command)


BROKEN = """
import numpy as np
from sklearn.externals import joblib
device = "cuda:0"
data = np.loadtxt("/home/jane/data/points.csv")
error = np.mean((data - 2) ** 2).cuda()
ranks = data.astype(np.int)
plt.plot(ranks)
plt.show()
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cuda:0", "cpu"),
        (" ** 2).cuda()", " ** 2)"),
        ("np.int)", "int)"),
        ("from sklearn.externals import joblib", "import joblib"),
        ("/home/jane/data/points.csv", "data/points.csv"),
        ("/home/jane/data/points.csv", "points.csv"),
        ("plt.show()", "print('error', error)"),
    ],
)
def test_a_patch_may_change_how_code_is_run(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "run.py").write_text(BROKEN)
    found = patched(Tree(tmp_path), [RunPatch(file="run.py", old=old, new=new, why="to run")])
    assert not found.refused and new in found.files["run.py"]
    [(text, diff)] = found.shown
    assert text == "run.py: to run" and "\n-" in diff and "\n+" in diff
    assert (tmp_path / "run.py").read_text() == BROKEN


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("data - 2", "data - 3", "touches what is computed"),
        ("np.mean(", "np.median(", "touches what is computed"),
        ("data/points.csv", "data/other.csv", "touches what is computed"),
        ("/home/jane/data/points.csv", "other.csv", "touches what is computed"),
        ("/home/jane/data/", "/home/jane/test/", "touches what is computed"),
        ("plt.show()", "print(error * 0.5)", "touches what is computed"),
        ("plt.show()", "print('error 0.031')", "touches what is computed"),
        ("import numpy as np", "import mine as np", "imports something else as np"),
        ("from sklearn.externals import", "from mine import", "imports something else as joblib"),
        ("np.int)", "np.int))", "line 7 isn't this Python's"),
        ("data", "points", "is there 4 times"),
    ],
)
def test_a_patch_that_touches_a_number_is_refused(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    (tmp_path / "run.py").write_text(BROKEN)
    found = patched(Tree(tmp_path), [RunPatch(file="run.py", old=old, new=new, why="to run")])
    assert not found.files and not found.shown and why in found.refused[0]


@pytest.mark.slow
def test_patches_stand_in_the_report_and_further_runs_have_them(tmp_path: Path) -> None:
    code = handed_in(tmp_path)
    (code / "run_it.py").write_text(PROGRAM.replace("import csv", "import cPickle\nimport csv"))
    patches = [
        {"file": "run_it.py", "old": "import cPickle", "new": "import pickle as cPickle"},
        {"file": "run_it.py", "old": "sum(numbers)", "new": "sum(numbers) + 1"},
    ]
    told = [one | {"why": "Python 3"} for one in patches]
    replies = [
        CLAIMS,
        json.dumps({"command": "python run_it.py", "patches": told}),
        json.dumps({"places": [place("estimator_mean", 2)]}),
    ]
    with chat_server(replies) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url, seeds=2
        )
        [done] = verify(code, settings=settings, paper=tmp_path / "paper.md")
    found = verdict_of(done.path)
    assert found and found.claims[0].verdict.repeats == 2
    page = (done.path / "report.html").read_text()
    assert "Changes to how the code is run" in page and "+import pickle as cPickle" in page
    assert any("it touches what is computed" in one for one in done.result.warnings)


def test_a_plan_takes_names_of_packages_alone() -> None:
    assert RunPlan(command="bash run.sh", packages=["numpy==1.26.4"]).packages
    with pytest.raises(ValidationError):
        RunPlan(command="bash run.sh", packages=["git+https://example.org/x"])


def test_what_a_run_wrote_is_looked_into_even_where_the_same_was_there(tmp_path: Path) -> None:
    given, space = Tree(tmp_path / "given"), Tree(tmp_path / "space")
    given.make_root()
    for name in ("old.csv", "again.csv"):
        given.write(name, "a\n")
        os.utime(tmp_path / "given" / name, (1, 1))
    given.copy_out(tmp_path / "space", rights=True)
    for name, text in {"again.csv": "a\n", "new.csv": "b\n", "weights.bin": "c\n"}.items():
        space.write(name, text)
    run = ExecutionResult(command="x", exit_code=0, stdout="hello", stderr="", seconds=1.0)
    found = outputs_of(run, tmp_path / "space", tmp_path / "given")
    assert found == {"stdout": "hello", "again.csv": "a\n", "new.csv": "b\n"}


def test_json_is_shown_by_its_paths() -> None:
    numbers = {"rho=0.9": {"rows": [{"a": 1.5}, {"a": 2.5}]}, "all": list(range(51))}
    [(_, shown)] = shown_outputs({"r.json": json.dumps(numbers)})
    assert shown.splitlines() == [
        "rho=0.9.rows.0.a = 1.5",
        "rho=0.9.rows.1.a = 2.5",
        "all.0 = 0",
        "all.1 = 1",
        "all.2 = 2",
        "all.* = 51 items like these, all.0 to all.50",
    ]


def test_of_long_outputs_the_first_and_last_lines_are_shown_and_no_short_one_is_lost() -> None:
    long = "\n".join(f"row {n}" for n in range(20_000))
    outputs = {"stdout": "done\n", "trace.csv": long, "more.csv": long, "summary.csv": "a,b\n1,2\n"}
    shown = dict(shown_outputs(outputs))
    assert [*shown] == ["stdout", "summary.csv", "trace.csv", "more.csv"]
    assert "2: 1,2" in shown["summary.csv"]
    lines = shown["trace.csv"].splitlines()
    assert lines[0] == "1: row 0" and lines[-1] == "20000: row 19999"
    assert any("more lines" in line for line in lines)
    assert sum(len(text.splitlines()) for text in shown.values()) <= 1_510


def test_a_commit_and_large_files_are_named_with_the_code(tmp_path: Path) -> None:
    settings = settings_for("process")
    url = "https://github.com/o/r.git"
    (paper := tmp_path / "paper.md").write_text(PAPER)
    asked = verify_job(f"{url}@v1.0", settings, paper=paper, carry=["w.pt", "data/*.npz"])
    assert asked.of_task.id == "r" and asked.solver == f"code:{url}@v1.0"
    assert asked.of_program.carry == ("w.pt", "data/*.npz")
    solver = handed_in_class(asked.solver.removeprefix("code:"))(settings=settings, budget=None)
    assert solver.source == f"{url}@v1.0"


def test_code_or_paper_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    settings = settings_for("process")
    with pytest.raises(UsageError, match="does not exist"):
        verify_job(tmp_path / "none", settings, paper=tmp_path)
    with pytest.raises(UsageError, match="--paper FILE or --arxiv"):
        verify_job(tmp_path, settings)
    with pytest.raises(UsageError, match="needs both"):
        verify(tmp_path, settings=settings, paper=tmp_path, metric_from=["a=stdout:b"])
