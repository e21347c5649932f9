"""A paper's experiments: planned once, reproduced one after the other, in one report."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from chat_server import Server, chat_server

from autoreproduce import reproduce
from autoreproduce.agents.prompts import Prompts
from autoreproduce.agents.shared_replies import SharedReplies
from autoreproduce.claims.experiments import ExperimentsReader, PaperExperiment, PaperPlan
from autoreproduce.config import Settings
from autoreproduce.errors import CommandError, TrialError, UsageError
from autoreproduce.evaluation.paper_page import DATA
from autoreproduce.job import Job
from autoreproduce.models.budget import Budget
from autoreproduce.runner.preview import preview_paper
from autoreproduce.runner.whole_paper.plan import FILE, named_paper, paper_source, plan_paper
from autoreproduce.runner.whole_paper.run import (
    add_trial,
    reproduce_experiments,
    task_of,
    trials_by_experiment,
)
from autoreproduce.trials.begun import make_own_folder
from autoreproduce.trials.steps import ModelResult, TokenCounts

EXPERIMENT = """- name: {name}
  what: Descent on {points} points of a line
  main: {main}
  dataset: {points} points
  data: given
  metrics:
  - {{name: squared_error, direction: lower}}
  minutes: 0.5
  gpu: false
  instruction: Fit the line to {points} points.
  claims:
  - {{row: [Descent], column: [squared error], metric: squared_error, direction: lower, value: {value}, table: {name}, main: true}}
"""


def plan_reply(second: str = "0.034") -> str:
    first = EXPERIMENT.format(name="Table 1", main="true", points="all", value="0.012")
    other = EXPERIMENT.format(name="Table 2", main="false", points="few", value=second)
    return f"```yaml\n{first}{other}```"


def reply(request: Any) -> str:
    asked = request.messages[-1]["content"].rsplit("# What is asked", 1)[-1]
    if "List the experiments" in asked:
        return plan_reply()
    if "The program is final" in asked:
        return '{"note": "", "reading": {}}'
    return tiny.reply(request)


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tiny.lay_out_paper(tmp_path)


@pytest.fixture
def server() -> Iterator[Server]:
    with chat_server(reply) as found:
        yield found


REVIEWS = ("overall summary", "method summary", "experiment summary")


def quiet(text: str) -> None:
    pass


@pytest.mark.slow
def test_a_wrong_number_goes_back_once_and_is_then_left_out(paper: Path) -> None:
    reader = ExperimentsReader(paper.read_text())
    with pytest.raises(CommandError, match=r"0\.034"):
        reader.read(plan_reply("0.77"))
    one, two = reader.read(plan_reply("0.77"))
    assert (len(one.claims), len(two.claims)) == (1, 0)
    assert len(reader.left_out) == 1


@pytest.mark.slow
def test_the_corrected_experiment_alone_is_enough_and_the_others_stay() -> None:
    reader = ExperimentsReader(tiny.TABLES)
    with pytest.raises(CommandError, match="All else is taken"):
        reader.read(plan_reply("0.77"))
    alone = EXPERIMENT.format(name="Table 2", main="false", points="few", value="0.034")
    one, two = reader.read(f"```yaml\n{alone}```")
    assert [claim.value for claim in (*one.claims, *two.claims)] == [0.012, 0.034]
    assert not reader.left_out
    again = ExperimentsReader(tiny.TABLES)
    with pytest.raises(CommandError):
        again.read(plan_reply("0.77"))
    assert len(again.read("I cannot find it.")) == 2 and len(again.left_out) == 2


@pytest.mark.slow
def test_a_list_with_a_name_twice_or_a_missing_field_is_refused() -> None:
    with pytest.raises(CommandError, match="Table 1: is listed twice"):
        ExperimentsReader(tiny.TABLES).read(plan_reply().replace("Table 2", "Table 1"))
    with pytest.raises(CommandError, match="minutes"):
        ExperimentsReader(tiny.TABLES).read(plan_reply().replace("  minutes: 0.5\n", ""))


@pytest.mark.slow
def test_the_same_plan_again_asks_nobody(paper: Path, server: Server) -> None:
    source = named_paper("paper.md", Settings())
    first = plan_paper(source, tiny.settings(server.base_url), Budget(), quiet, Path("data"))
    again = plan_paper(source, Settings(runs_dir="runs", cache_dir="cache"), Budget(), quiet)
    assert (first.earlier, again.earlier, len(server.requests)) == (False, True, 1)
    assert again.plan == first.plan
    assert first.plan.usage == {"input": 100, "cached": 0, "output": 20, "reasoning": 0}
    assert "points.json" in server.requests[0].prompt
    assert "(cores: " in server.requests[0].prompt
    (first.folder / FILE).unlink()  # the journal answers
    assert plan_paper(
        source, tiny.settings(server.base_url), Budget(), quiet, Path("data")
    ).plan.usage
    assert len(server.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("test.csv:y", ""),
        ("test.csv:z", "'z' is not in list"),
        ("train.csv:y", "nothing in its name says"),
        ("test/y.npy", "fewer than 5 values"),
        ("../test.csv:y", "it leads out of the data"),
    ],
)
def test_test_targets_that_a_plan_names_are_withheld_if_they_are_such(
    place: str, why: str, paper: Path
) -> None:
    (paper.parent / "data" / "test").mkdir()
    for name in ("train", "test"):
        rows = "".join(f"{n},{2 * n}\n" for n in range(9))
        (paper.parent / "data" / f"{name}.csv").write_text(f"x,y\n{rows}")
    np.save(paper.parent / "data/test/y.npy", np.arange(3))

    def with_targets(request: Any) -> str:
        return plan_reply().replace("  metrics:", f"  targets: {place}\n  metrics:", 1)

    with chat_server(with_targets) as server:
        source = named_paper("paper.md", Settings())
        planned = plan_paper(source, tiny.settings(server.base_url), Budget(), quiet, Path("data"))
        assert "test.csv (columns x, y)" in server.requests[0].prompt
    first, second = planned.plan.experiments
    assert (first.targets, second.targets) == ("" if why else place, "")
    assert why in " ".join(planned.plan.warnings)
    task = task_of(planned, first, with_data=True)
    assert (f"The test targets are {place}" in task.instruction) == (not why)
    assert "test targets" not in task_of(planned, first).instruction  # the data aren't there


def test_a_damaged_plan_names_the_fix(paper: Path, server: Server) -> None:
    source = named_paper("paper.md", Settings())
    folder = source.folder(tiny.settings(server.base_url))
    make_own_folder(tiny.settings(server.base_url).cache_dir, folder)
    (folder / FILE).write_text('{"paper": 1}')
    with pytest.raises(TrialError, match="remove it"):
        plan_paper(source, tiny.settings(server.base_url), Budget(), quiet)


@pytest.mark.slow
def test_an_unknown_experiment_is_refused_with_the_names(paper: Path, server: Server) -> None:
    plan = plan_paper(
        named_paper("paper.md", Settings()), tiny.settings(server.base_url), Budget(), quiet
    ).plan
    assert [one.name for one in plan.chosen(["table 2", "main"])] == ["Table 1", "Table 2"]
    assert [one.name for one in plan.chosen(["main"])] == ["Table 1"]
    assert [one.name for one in plan.chosen(["2"])] == ["Table 2"]
    assert len(plan.chosen(["all"])) == 2
    with pytest.raises(UsageError, match="Table 1, Table 2; or main, all"):
        plan.chosen(["Table 9"])


@pytest.mark.parametrize("name", ["nowhere.pdf", "x" * 5000, "a\0b"])
def test_what_is_no_paper_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="neither a file nor an arXiv id"):
        named_paper(name, Settings())


def test_a_paper_must_be_named_and_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="which paper"):
        paper_source(None, None, Settings())
    with pytest.raises(UsageError, match="is missing"):
        paper_source(None, tmp_path / "none.pdf", Settings())
    assert paper_source("2301.12664v2", None, Settings()).id == "2301.12664"


def test_without_a_model_the_error_says_how_to_name_one(paper: Path) -> None:
    with pytest.raises(UsageError, match="no model is configured"):
        plan_paper(named_paper("paper.md", Settings()), Settings(runs_dir="runs"), Budget(), quiet)


@pytest.mark.slow
def test_a_task_is_what_the_plan_says(paper: Path, server: Server) -> None:
    planned = plan_paper(
        named_paper("paper.md", Settings()), tiny.settings(server.base_url), Budget(), quiet
    )
    task = task_of(planned, planned.plan.experiments[1], instruction="Use seed 3.")
    assert (task.experiment, task.dataset) == ("Table 2", "few points")
    assert task.id.endswith("-table-2")
    assert (task.metric.name, task.metric.direction) == ("squared_error", "lower")
    assert "few points" in task.instruction
    assert task.instruction.endswith("Use seed 3.")


def test_a_shared_reply_costs_nothing_and_a_damaged_one_is_none(tmp_path: Path) -> None:
    shared = SharedReplies(tmp_path, {"review"})
    paid = ModelResult(reply="So it is.", usage=TokenCounts(input=7), price=0.5, model="m")
    shared.store("review", "k", paid)
    shared.store("other", "k2", paid)
    found = shared.find("review", "k")
    assert found and (found.reply, found.price, found.usage.total) == ("So it is.", 0.0, 0)
    assert found.shared and shared.find("other", "k2") is None and shared.find("other", "k") is None
    (tmp_path / "k.json").write_text("{")
    assert shared.find("review", "k") is None


@pytest.mark.slow
def test_what_depends_on_the_paper_alone_is_asked_alike(paper: Path, server: Server) -> None:
    planned = plan_paper(
        named_paper("paper.md", Settings()), tiny.settings(server.base_url), Budget(), quiet
    )
    one, two = (task_of(planned, each) for each in planned.plan.experiments)
    render = Prompts().render
    for name in ("literature_review/overall", "literature_review/method"):
        texts = {render(name, paper="P", task=t.of_paper(), role="research") for t in (one, two)}
        assert len(texts) == 1 and "squared_error" not in texts.pop()
    alone = one.model_copy(update={"experiment": ""})
    assert alone.of_paper() is alone


def test_trials_are_listed_once_and_damage_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "papers/p"
    folder.mkdir(parents=True)
    for _ in range(2):
        add_trial(folder, "Table 1", tmp_path / "trial")
    assert trials_by_experiment(folder) == {"Table 1": ["../../trial"]}
    (folder / "trials.json").write_text("[1]")
    with pytest.raises(TrialError, match="remove it"):
        trials_by_experiment(folder)


def all_of_it(settings: Settings) -> Job:
    return Job(paper=Path("paper.md"), experiments=("all",), settings=settings, data=Path("data"))


@pytest.mark.slow
def test_two_experiments_in_one_command_and_one_report(paper: Path, server: Server) -> None:
    request = all_of_it(tiny.settings(server.base_url))
    done = reproduce_experiments(request, quiet)
    assert [trial.result.status for trial in done.trials] == ["measured", "measured"]
    assert done.trials[0].verdict and done.trials[0].claims[0].claim.value == 0.012
    asked = [r.messages[-1]["content"] for r in server.requests]
    reviews = [sum(f"Write the {s}" in text for text in asked) for s in REVIEWS]
    assert reviews == [1, 1, 2]  # overall and method are of the paper
    second = done.trials[1].path
    assert "2 calls on the paper itself" in (second / "report.html").read_text()
    assert (second / "summaries/method.v1.md").read_text() == (
        done.trials[0].path / "summaries/method.v1.md"
    ).read_text()
    calls = len(server.requests)
    again = reproduce_experiments(request, quiet)
    assert [trial.earlier for trial in again.trials] == [True, True]
    assert len(server.requests) == calls
    page = done.report.read_text()
    assert "2 calls shared with another trial" in page and "not judged" not in page
    assert f"{os.path.relpath(done.trials[0].path, done.report.parent)}/report.html" in page
    assert "Descent / squared error" in page
    assert "2 of 2" in page


@pytest.mark.slow
def test_one_budget_holds_all_and_the_same_command_resumes(paper: Path, server: Server) -> None:
    small = tiny.settings(server.base_url, budget="20000 tokens")
    stopped = reproduce_experiments(all_of_it(small), quiet)
    assert stopped.trials[-1].result.status == "stopped"
    assert "budget" in stopped.trials[-1].result.reason
    calls = len(server.requests)
    whole = reproduce_experiments(all_of_it(tiny.settings(server.base_url)), quiet)
    assert [trial.result.status for trial in whole.trials] == ["measured", "measured"]
    plans = [r for r in server.requests if "List the experiments" in r.prompt]
    assert len(plans) == 1 and len(server.requests) > calls


@pytest.mark.slow
def test_experiments_that_share_a_program_are_one_trial(paper: Path) -> None:
    asked: list[str] = []

    def replies(request: Any) -> str:
        message = request.messages[-1]["content"]
        asked.append(message.rsplit("# What is asked", 1)[-1])
        if "List the experiments" in asked[-1]:
            shared = plan_reply().replace("  gpu: false", "  gpu: false\n  shares: lines")
            away = EXPERIMENT.format(name="Figure 1", main="false", points="far", value="3.5")
            away = f"{away.partition('  claims:')[0]}  claims: []\n"
            return shared.replace(
                "```yaml\n", f"```yaml\n{away.replace('data: given', 'data: download')}"
            )
        found = tiny.reply(request)
        both = '"table_1_squared_error": error, "table_2_squared_error": error'
        return found.replace('"squared_error": error', both)

    notes: list[str] = []
    with chat_server(replies) as server:
        given = tiny.settings(server.base_url, effort="evidence")
        done = reproduce_experiments(all_of_it(given), notes.append)
        with pytest.raises(UsageError, match="need a download"):
            only = [one for one in done.planned.plan.experiments if one.data == "download"]
            done.planned.plan.model_copy(update={"experiments": tuple(only)}).programs(["all"])
        assert done.planned.plan.programs(["Figure 1"])[0][0].name == "Figure 1"
    assert [trial.result.status for trial in done.trials] == ["measured"]
    assert [one.name for one, trial in done.by_experiment if trial] == ["Table 1", "Table 2"]
    assert sum("Write main.py" in text for text in asked) == 1
    assert any("Figure 1 is left out: download far points" in note for note in notes)
    assert not any("Write down the numbers" in text for text in asked)  # the plan has read them
    page = done.report.read_text()
    assert page.count("of its 1 claims reproduced") == 2


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "autoreproduce", *arguments],
        cwd=folder,
        env={**os.environ, "AUTOREPRODUCE_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.mark.slow
def test_the_command_plan_prints_a_table_or_json(paper: Path, server: Server) -> None:
    model = ["--model", "scripted", "--base-url", server.base_url]
    table = command(paper.parent, "plan", "paper.md", *model)
    assert table.returncode == 0, table.stderr
    assert "Table 1 (main)" in table.stdout and "100 tokens in" in table.stdout
    again = command(paper.parent, "plan", "paper.md", "--json")
    content = json.loads(again.stdout)
    assert content["earlier"] and content["experiments"][0]["claims"][0]["value"] == 0.012
    wrong = command(paper.parent, "--paper", "paper.md", "--experiment", "Table 7", *model)
    assert wrong.returncode == 2
    assert "Table 1, Table 2" in wrong.stderr and "Traceback" not in wrong.stderr
    beside = command(paper.parent, "--paper", "paper.md", "--experiment", "all", "--task", "x")
    assert beside.returncode == 2 and "--task" in beside.stderr


@pytest.mark.slow
def test_the_command_that_a_plan_ends_with_works_as_it_is(
    paper: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("SANDBOX", "process"), ("EFFORT", "paper"), ("LINEAGE", "false")):
        monkeypatch.setenv(f"AUTOREPRODUCE_{name}", value)
    (paper.parent / "my paper.md").write_text(paper.read_text())
    options = ["--data", "data", "--model", "scripted", "--base-url", server.base_url]
    planned = command(paper.parent, "plan", *options[:2], "my paper.md", *options[2:])
    assert planned.returncode == 0, planned.stderr
    last = planned.stdout.rstrip().splitlines()[-1]
    assert last.startswith("  autoreproduce --paper 'my paper.md' --data data") and "main" in last
    told = json.loads(command(paper.parent, "plan", "my paper.md", *options, "--json").stdout)
    assert shlex.split(told["command"])[-2:] == ["--experiment", "main"]
    done = command(paper.parent, *shlex.split(last)[1:])
    assert "Table 1" in done.stdout and done.returncode == 0, done.stderr
    calls = len(server.requests)
    again = command(paper.parent, *shlex.split(last)[1:-1], "TAB. I", "--json")
    assert again.returncode == 0 and len(server.requests) == calls  # finished: nobody is asked
    [ended] = json.loads(again.stdout.splitlines()[-1])["trials"]
    assert ended["status"] == "measured" and ended["cost"]["usage"]["input"] > 0


@pytest.mark.slow
def test_a_dry_run_and_the_real_run_take_the_same_names(paper: Path, server: Server) -> None:
    source, given = (
        paper_source(None, paper, tiny.settings(server.base_url)),
        tiny.settings(server.base_url, price="0,0,0"),
    )
    for name in ("tab. 2", "TABLE II", "main", "Figure 3"):
        assert not [n for n in preview_paper(source, given, [name]).notes if "no " in n]
    wrong = preview_paper(source, given, ["Table 7"])
    assert "no 'Table 7': the real run refuses it" in "; ".join(wrong.notes)
    assert "Table 1, Table 2" in "; ".join(wrong.notes)
    calls = len(server.requests)
    with pytest.raises(UsageError, match="the paper has nothing called 'Table 7'") as refused:
        reproduce(paper=paper, experiment=["Table 1", "Table 7"], settings=given)
    assert "its tables are Table 1, Table 2; main and all stand for several" in refused.value.fix
    assert len(server.requests) == calls  # before it's planned


@pytest.mark.parametrize(
    ("dataset", "instruction", "data"),
    [
        ("digits of scikit-learn", "Classify.", "package"),
        ("Breast cancer", "Use sklearn's breast_cancer data.", "package"),
        ("Iris", "sklearn.datasets.load_iris, a split of 50 %.", "package"),
        ("California housing", "fetch_california_housing of scikit-learn.", "download"),
        ("digits", "fetch_openml('mnist_784') of scikit-learn.", "download"),
        ("Wine quality of UCI", "Regress.", "download"),
        ("SVHN digits", "Train a network with a learning rate of 0.1.", "download"),
    ],
)
def test_what_comes_inside_a_package_needs_no_download(
    dataset: str, instruction: str, data: str
) -> None:
    metrics = ({"name": "accuracy", "direction": "higher"},)
    given = {"what": "x", "data": "download", "metrics": metrics, "minutes": 1}
    one = PaperExperiment(name="Table 1", dataset=dataset, instruction=instruction, **given)
    assert one.data == data
    plan = PaperPlan(paper="p", experiments=(one,), model="m", created="now", machine="here")
    assert bool(plan.without_data(["all"])) == (data == "download")
    assert ("needs a download" in DATA[one.data]) == (data == "download")
