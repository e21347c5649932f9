"""How handed-in code is run: under another Python, with its packages, data, and out of time."""

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server
from records import trial_record
from sandbox_fixtures import settings_for
from trial_results import verdict_of

from autoreproduce import verify
from autoreproduce.config import Settings
from autoreproduce.contracts import Execution, Packages
from autoreproduce.errors import UsageError
from autoreproduce.files.tree import Tree
from autoreproduce.models.budget import Budget
from autoreproduce.plugins.verify.handed_in import HandedInCode
from autoreproduce.plugins.verify.run_patches import RunPatch, from_python2, patched
from autoreproduce.plugins.verify.run_plan import DataNeed, RunPlan, data_words, python_for
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.runner.summary import summary_text
from autoreproduce.sandboxes.pythons import pythons
from autoreproduce.trials.trial import Trial

PAPER = "# Means\nOur estimator has a mean of 3.958333.\n"
CLAIMS = """```yaml
- {row: [estimator], metric: mean, direction: match, value: 3.958333, scale: raw,
   sentence: Our estimator has a mean of 3.958333}
```"""
OLD = "print 'mean', sum([1.5, 2.25, 8.125]) / 3\nprint 'half', 7 / 2\n"


def place(text: str, line: int = 1) -> str:
    of = {"file": "stdout", "line": line, "number": 1, "text": text}
    return json.dumps({"places": [{"id": "estimator_mean", "of": of}]})


def verified(
    folder: Path,
    code: str,
    *replies: object,
    kind: str = "process",
    run: str | None = None,
    paper: str = PAPER,
    claims: str = CLAIMS,
    **how: object,
) -> Reproduction:
    """The trial of a program `main.py` whose model says these replies; the server's prompts are
    in `prompts.json` beside it.
    """
    (folder / "paper.md").write_text(paper)
    (folder / "code").mkdir()
    (folder / "code" / "main.py").write_text(code)
    texts = [one if isinstance(one, str) else json.dumps(one) for one in (claims, *replies)]
    with chat_server(texts) as server:
        given = {"model": "any", "base_url": server.base_url, "audit": False, **how}
        settings = settings_for(kind, runs_dir=folder / "runs", **given)
        [done] = verify(folder / "code", paper=folder / "paper.md", settings=settings, run=run)
        (folder / "prompts.json").write_text(json.dumps([one.prompt for one in server.requests]))
    assert isinstance(done, Reproduction)
    return done


def word_of(done: Reproduction) -> str:
    found = verdict_of(done.path)
    assert found
    return found.claims[0].verdict.word


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", "bubblewrap"])
def test_python_2_runs_where_there_is_one_and_is_converted_where_there_is_none(
    tmp_path: Path, kind: str
) -> None:
    plan = {"command": "python main.py", "python": "2.7"}
    line = "mean 3.95833333333" if "2.7" in pythons() else "mean 3.9583333333333335"
    done = verified(tmp_path, OLD, plan, place(line), kind=kind, seeds=2)
    assert word_of(done) == "reproduced"
    printed = (done.path / "output.log").read_text()
    assert ("half 3\n" in printed) == ("2.7" in pythons())


@pytest.mark.slow
@pytest.mark.network
def test_packages_are_found_by_a_program_that_sets_pythonpath_itself(tmp_path: Path) -> None:
    code = "import six, sys\nprint('mean', sum([1.5, 2.25, 8.125]) / 3)\n"
    plan = {"command": "export PYTHONPATH=../src && python main.py", "packages": ["six==1.16.0"]}
    done = verified(tmp_path, code, plan, place("mean 3.9583333333333335"), seeds=2)
    found = verdict_of(done.path)
    assert found and found.claims[0].verdict.values == (3.9583333333333335,)
    assert found.claims[0].verdict.repeats == 2


@pytest.mark.slow
def test_what_the_last_plan_printed_until_its_limit_counts_and_is_called_partial(
    tmp_path: Path,
) -> None:
    code = "import time\nprint('mean', 3.9583, flush=True)\nx = sum([1.5, 2.25, 8.125]) / 3\n"
    code += "print('mean', x, flush=True)\ntime.sleep(60)\n"
    plan = {"command": "python main.py"}
    line = place("mean 3.9583333333333335", 2)
    done = verified(tmp_path, code, plan, line, time_limit_minutes=0.08)
    assert word_of(done) == "reproduced" and done.result.reason.startswith("partial:")
    assert any("those printed until then" in one for one in done.result.warnings)


@pytest.mark.slow
def test_data_that_are_downloaded_are_named_with_their_place(tmp_path: Path) -> None:
    code = "import urllib.request\nurllib.request.urlopen('https://a.example/points.csv')\n"
    need = {"what": "the points", "source": "https://a.example/points.csv", "put_at": "points.csv"}
    plans = [{"command": "python main.py", "data": [need]}] * 3
    done = verified(tmp_path, code, *plans, kind="bubblewrap")
    assert done.result.reason.endswith(
        "put it into a folder and name that with --data: get the points from "
        "https://a.example/points.csv, as points.csv"
    )


FETCHES = """
data = pd.read_csv("https://a.example/old/points.csv")
more = MNIST(root="/home/jane/mnist", download=True)
urlretrieve("https://a.example/iris2.csv", "iris2.csv")
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("https://a.example/old/points.csv", "/data/points.csv"),
        ("download=True", "download=False"),
        ("/home/jane/mnist", "/data/mnist"),
        ('urlretrieve("https://a.example/iris2.csv", "iris2.csv")', ""),
    ],
)
def test_a_patch_may_say_where_data_lie_in_place_of_an_address(
    tmp_path: Path, old: str, new: str
) -> None:
    (tmp_path / "run.py").write_text(FETCHES)
    found = patched(Tree(tmp_path), [RunPatch(file="run.py", old=old, new=new, why="no network")])
    assert not found.refused and found.files
    other = RunPatch(file="run.py", old="old/points.csv", new="old/other.csv", why="x")
    assert "touches what is computed" in patched(Tree(tmp_path), [other]).refused[0]


def test_python_2_is_converted_and_its_divisions_are_named(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(OLD)
    (tmp_path / "new.py").write_text("print(1 / 2)\n")
    found = from_python2(Tree(tmp_path))
    if not found.files:
        pytest.skip("this Python has no lib2to3")
    assert list(found.files) == ["main.py"] and "print('half', 7 / 2)" in found.files["main.py"]
    [(why, diff)] = found.shown
    assert why.endswith("rounds whole numbers in Python 2 and not here: lines [1, 2]")
    assert "-print 'half', 7 / 2" in diff


@pytest.mark.slow
def test_a_patch_of_python_2_is_checked_as_its_conversion_is(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(f"{OLD}data = open('/home/x/data/points.csv')\n")
    if not from_python2(Tree(tmp_path)).files:
        pytest.skip("this Python has no lib2to3")
    good = RunPatch(file="main.py", old="/home/x/", new="", why="x")
    bad = RunPatch(file="main.py", old="7 / 2", new="8 / 2", why="x")
    found = patched(Tree(tmp_path), [good, bad])
    assert "open('data/points.csv')" in found.files["main.py"] and len(found.refused) == 1


@pytest.mark.parametrize(
    ("wanted", "there", "runs", "note"),
    [
        ("", ["3.8"], "", ""),
        ("3.11", ["3.8"], "", ""),
        ("3.8", ["3.8", "2.7"], "3.8", ""),
        ("3.7", ["3.8", "3.6"], "3.8", "Python 3.7 isn't here, so 3.8 runs instead"),
        ("3.10", [], "", "isn't here, so 3.11 runs instead"),
        ("2.7", ["3.8"], "", "`pyenv install 2.7`, or an image"),
    ],
)
def test_the_nearest_python_runs_with_a_note(
    wanted: str, there: list[str], runs: str, note: str
) -> None:
    found = python_for(wanted, "3.11", there)
    assert found[0] == runs and note in found[1] and bool(note) == bool(found[1])


def test_nothing_is_said_of_data_where_none_are_missing() -> None:
    assert data_words([]) == ""
    assert data_words([DataNeed(what="MNIST", put_at="mnist")]).endswith("get MNIST, as mnist")


RUNS = "print('mean', sum([1.5, 2.25, 8.125]) / 3)\n"
LINE = "mean 3.9583333333333335"


@pytest.mark.slow
def test_a_users_command_is_run_as_it_is_whatever_a_plan_says(tmp_path: Path) -> None:
    plans = [
        {"command": "python main.py", "packages": ["no-such-package-anywhere==9.9"]},
        {"commands": [], "driver": "import main\nprint(main)\n", "why": "nothing is needed"},
    ]
    own = "sed -n 1p main.py > /dev/null; python main.py --table 2"
    done = verified(tmp_path, RUNS, *plans, place(LINE), run=own)
    assert word_of(done) == "reproduced"
    prompts = json.loads((tmp_path / "prompts.json").read_text())
    assert all(f"The user's command\n`{own}`" in one for one in prompts[1:3])
    told = done.result.details["sections"]
    assert told["What was run"] == [(f"{own}: nothing is needed", "")]
    assert told["What was tried before"][0][0] == "Packages: no-such-package-anywhere==9.9"
    steps = (done.path / "steps.jsonl").read_text()
    assert steps.count('"phase":"full_run"') == 1  # nothing ran after the list that failed


@pytest.mark.slow
def test_a_plan_that_comes_again_is_not_run_again(tmp_path: Path) -> None:
    code = "print('mean', sum([1.5, 2.25, 8.125]) / 3)\nraise SystemExit('no display')\n"
    plan = {"command": "python main.py", "why": "one"}
    done = verified(tmp_path, code, plan, {**plan, "why": "another"}, place(LINE))
    assert word_of(done) == "reproduced" and done.result.reason.startswith("partial")
    ran = [
        step for step in (done.path / "steps.jsonl").read_text().splitlines() if '"run 1"' in step
    ]
    assert len(ran) == 1 and '"run 2"' not in (done.path / "steps.jsonl").read_text()
    before = done.result.details["sections"]["What was tried before"]
    assert before[0][1].startswith("exit code 1")


@pytest.mark.slow
def test_a_plan_that_reads_data_which_nobody_gave_goes_back(tmp_path: Path) -> None:
    plans = [{"command": 'ln -s "$DATA_DIR"/x x && python main.py'}, {"command": "python main.py"}]
    done = verified(tmp_path, RUNS, *plans, place(LINE))
    assert word_of(done) == "reproduced"
    prompts = json.loads((tmp_path / "prompts.json").read_text())
    assert "$DATA_DIR isn't set: the user gave no data" in prompts[1]
    assert "leave $DATA_DIR out of commands" in prompts[2]
    with pytest.raises(UsageError, match="there are no data"):
        verify(tmp_path / "code", paper=tmp_path / "paper.md", run='python main.py "$DATA_DIR"')


@pytest.mark.parametrize(
    ("plan", "needs"),
    [
        ({"command": 'ln -s "$DATA_DIR"/x x'}, True),
        ({"command": "python main.py ${DATA_DIR}/x"}, True),
        ({"driver": "import os, lib\nlib.run(os.environ['DATA_DIR'])"}, True),
        ({"command": "python main.py ${DATA_DIR:-data}"}, False),
        ({"driver": "import os, lib\nlib.run(os.environ.get('DATA_DIR', 'data'))"}, False),
        ({"driver": "import os\nif os.getenv('DATA_DIR'):\n    print('data')"}, False),
    ],
)
def test_a_plan_that_can_do_without_data_may_look_for_them(
    plan: dict[str, str], needs: bool
) -> None:
    assert RunPlan.model_validate(plan).needs_data is needs


@pytest.mark.slow
def test_the_cost_of_a_plan_is_asked_and_told(tmp_path: Path) -> None:
    plan = {"command": "python main.py", "minutes": 90}
    done = verified(tmp_path, RUNS, plan, place(LINE), time_limit_minutes=20)
    prompt = json.loads((tmp_path / "prompts.json").read_text())[1]
    assert "must end within 20 minutes on this machine" in prompt
    assert any(
        "expects 90 minutes, and a run has 20" in one and "--time-limit-minutes 135" in one
        for one in done.result.warnings
    )


@pytest.mark.slow
def test_the_page_speaks_of_the_code_and_of_how_much_of_a_table_is_claimed(tmp_path: Path) -> None:
    rows = "\n\nTable 1: Points.\n\n| method | mean | largest |\n|---|---|---|\n"
    rows += "| estimator | 3.958333 | 8.125 |\n| other | 4.5 | 9.5 |\n"
    claim = CLAIMS.replace("sentence: Our estimator has a mean of 3.958333", "table: Table 1")
    claim = claim.replace("metric: mean", "column: [mean], metric: mean")
    done = verified(
        tmp_path, RUNS, {"command": "python main.py"}, place(LINE), paper=PAPER + rows, claims=claim
    )
    page = (done.path / "report.html").read_text()
    assert "first claim" not in page and "estimator / mean" in page
    assert "All tables: 1 of 4 stated numbers was claimed<" in page
    assert "Table 1: 1 of 4 stated numbers was claimed; the others" in page
    assert done.verdict is not None and done.verdict.tables[0].others == (
        "estimator / largest: 8.125",
        "other / mean: 4.5",
        "other / largest: 9.5",
    )
    assert all(f"<li>{other}</li>" in page for other in done.verdict.tables[0].others)
    readme = (done.path / "result/README.md").read_text()
    assert "language models" not in readme and "first claim" not in readme
    assert "run as it is and held against the paper" in readme
    assert "first claim" not in summary_text(done.result, done.path)
    for never_ran in ("Refactoring", "Data acquisition", "Literature review"):
        assert never_ran not in page


class Index:
    """In place of a sandbox: an index that has nothing for the list if it's capped."""

    def __init__(self, *, empty_before: str) -> None:
        self.empty_before, self.asked = empty_before, list[Packages]()

    def install(self, packages: Packages, timeout: float, **more: object) -> Execution:
        self.asked.append(packages)
        fails = bool(packages.before) and packages.before == self.empty_before
        error = "No matching distribution found" if fails else ""
        return Execution(command="pip", exit_code=int(fails), stdout="", stderr=error, seconds=1.0)


@pytest.mark.parametrize(
    ("listed", "empty_before", "asked"),
    [
        (["river==0.18.0", "numpy"], "", ["2023-05-01"]),
        (["river==0.18.0", "numpy"], "2023-05-01", ["2023-05-01", ""]),  # river came later
        (["river", "numpy"], "2023-05-01", ["2023-05-01"]),
    ],
)
def test_a_pinned_version_does_not_lift_the_date_cap_of_the_others(
    listed: list[str], empty_before: str, asked: list[str], tmp_path: Path
) -> None:
    index = Index(empty_before=empty_before)
    trial = Trial.open(tmp_path / "trial", trial_record())
    handed_in = HandedInCode(str(tmp_path), Settings(), Budget())
    plan = RunPlan.model_construct(packages=listed)
    sandbox: Any = index
    handed_in._install(plan, "3.11", "2023-05-01", sandbox, trial)
    assert [each.before for each in index.asked] == asked
