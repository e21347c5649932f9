"""A suite's file: what it may hold, and errors that name file, line and field."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from records import trial_record
from suite_world import lay_out
from trial_results import trial_result
from typer.testing import CliRunner

from autoreproduce import run_suite
from autoreproduce.benchmarks import BENCHMARKS
from autoreproduce.cli.app import app
from autoreproduce.config import FLAGS
from autoreproduce.content import folder
from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.models.budget import Budget
from autoreproduce.plugins.suites.api import plan_suite
from autoreproduce.plugins.suites.checks import check_models, check_solvers
from autoreproduce.plugins.suites.estimate import print_estimate
from autoreproduce.plugins.suites.job import job_of
from autoreproduce.plugins.suites.plan import Plan, parse_changes
from autoreproduce.plugins.suites.suite_file import read_suite
from autoreproduce.runner.api import reproduce_job
from autoreproduce.trials.trial import Trial

SHIPPED = sorted([*folder("eval").glob("suites/*.yaml"), *folder("eval").glob("sweeps/*.yaml")])
WITH_TASKS = [path for path in SHIPPED if path.stem != "paperbench"]  # its papers are a user's


def plan_of(text: str, tmp_path: Path, *changes: str, **some: object) -> Plan:
    (tmp_path / "s.yaml").write_text(text)
    plan = Plan(read_suite(tmp_path / "s.yaml"), parse_changes(changes))
    plan.choose(**some)
    return plan


@pytest.mark.parametrize("path", WITH_TASKS, ids=lambda path: path.stem)
def test_each_suite_that_ships_can_be_planned(path: Path) -> None:
    if parse_yaml(path.read_text()).get("benchmark", "reproducebench") not in BENCHMARKS:
        pytest.skip("needs the plugin of its benchmark")
    plan = Plan(read_suite(path))
    plan.choose()
    assert len(plan.trials) == len(plan.tasks()) * len(plan.suite.variants) * plan.suite.trials
    assert len({trial.digest for trial in plan.trials}) == len(plan.trials)
    assert plan.suite.name.replace("-", "_") in (path.stem, path.stem.replace("-", "_"))


def test_the_papers_ablations_are_there() -> None:
    sweeps = {path.stem: read_suite(path) for path in SHIPPED if path.parent.name == "sweeps"}
    of = {
        name: sweeps["ablations"].variants[name].settings for name in sweeps["ablations"].variants
    }
    assert of == {
        "whole": {},
        "with-diagrams": {"diagrams": True},
        "no-mineru": {"pdf_reader": "own"},
        "no-lineage": {"lineage": False},
        "no-refine": {"refine": False},
        "no-debug-no-refine": {"debug": False, "refine": False},
    }
    assert [v.settings["k"] for v in sweeps["lineage_size"].variants.values()] == [2, 3, 5]
    assert all(v.settings["model"] for v in sweeps["backbones"].variants.values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "name: a\ntasks: all\nvariants:\n  a:\n    settings:\n      k: 99\n",
            "line 6: variants.a.settings.k: must be less",
        ),
        (
            "name: a\ntasks: all\nvariants:\n  a:\n    setings: {}\n",
            "line 5: variants.a.setings: this field does not exist",
        ),
        ("name: a\ntasks: [lsm]\nsettings:\n  memory_gb: -1\n", "line 4: settings.memory_gb"),
        (
            "name: a\ntasks: [lsm]\nsettings:\n  linage: no\n",
            "line 4: settings.linage: unknown setting: did",
        ),
        (
            "name: a\ntasks: [lsm]\nsettings:\n  api_key: x\n",
            "line 4: settings.api_key: a suite cannot set this",
        ),
        (
            "name: a\ntasks: [lsm]\nsettings: {seed: 3}\n",
            "line 3: settings.seed: set first_seed instead",
        ),
        ("name: a\ntasks:\n - lsm\n - lsn\n", "line 4: tasks.1: no task answers to lsn: did"),
        ("name: a\ntasks:\n - lsm\n - {name: x, paper: y.md}\n", "line 4: tasks.1: --paper"),
        ("name: a\ntasks:\n - {name: x, metric: m, paper: y.md}\n", "line 3: tasks.0: --paper"),
        ("name: a\ntasks: [lsm, lsm]\n", "line 2: tasks: these are there twice: lsm"),
        ("name: a\ntasks: some\n", "line 2: tasks: give a list"),
        ("name: a\nname: b\ntasks: all\n", "line 2: name: is in line 1 too"),
        ("name: a\ntrials: 3\n", "line 1: tasks: is missing: add it"),
        ("name: a\ntasks: all\ntrials: 0\n", "line 3: trials"),
        (
            "name: a\ntasks: all\ntrials: many\n",
            "line 3: trials: must be a whole number (it is 'many')",
        ),
        ("name: a/b\ntasks: all\n", "line 1: name: a name has letters, digits and . _ , + -"),
        ("name: a\ntasks:\n - lsm\n - ../x\n", "line 4: tasks.1.name: a name has up to 80"),
        ("name: a\ntasks: [a/b]\n", "line 2: tasks.0.name: a name has up to 80"),
        ("name: a\ntasks: all\nbenchmark: x\n", "line 3: benchmark: there is reproducebench"),
        ("name: a\ntasks: [", "line 2 is not YAML"),
        ("", "line 1: the whole file"),
        ("name: a\ntasks: all\ngpus_per_trial: .inf\n", "line 3: gpus_per_trial: must be a finite"),
        ("name: a\ntasks: all\nretry_after: [.inf]\n", "line 3: retry_after.0: must be less"),
        (
            "name: a\ntasks: [lsm]\nsettings: {profile: huge}\n",
            "line 2: tasks.0: lsm has no profile huge",
        ),
    ],
)
def test_errors_name_file_line_and_field(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan_of(text, tmp_path)
    assert f"{tmp_path}/s.yaml, {said}" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "some", "said"),
    [
        (["k"], {}, "write key=value"),
        (["linage=no"], {}, "did you mean lineage"),
        (["k=4"], {}, "would not reach the variant b"),
        (["k=99"], {"variants": ["a"]}, "setting k"),
        ([], {"tasks": ["nowhere"]}, "the suite has no nowhere: it has lsm, bspm"),
        ([], {"variants": ["a,c"]}, "the suite has no c"),
        ([], {"tasks": ["lsm,nowhere,bspm"]}, "the suite has no nowhere"),
    ],
)
def test_bad_flags_are_named(
    tmp_path: Path, changes: list[str], some: dict[str, object], said: str
) -> None:
    text = "name: a\ntasks: [lsm, bspm]\nvariants: {a: {}, b: {settings: {k: 5}}}\n"
    with pytest.raises(UsageError, match=said):
        plan_of(text, tmp_path, *changes, **some)


def test_a_file_that_holds_itself_is_no_suite(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds itself"):
        plan_of("name: a\ntasks: &it [*it]\n", tmp_path)


def test_a_flag_that_is_no_number_is_refused_before_anything_begins() -> None:
    done = CliRunner().invoke(app, ["suite", "reproducebench", "--budget", "much", "--dry-run"])
    assert isinstance(done.exception, UsageError) and "much" in str(done.exception)


def test_claims_and_several_metrics_reach_the_tasks(tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text("# P\n")
    entries = (
        "[{name: lsm, claims: ['relative_l2 = 0.03']}, "
        "{name: 'Table 1 (left)', metric: [mse, 'zeal'], paper: paper.md, claims: ['zeal = 3 higher']}]"
    )
    (tmp_path / "s.yaml").write_text(f"name: s\ntasks: {entries}\n")
    plan = Plan(read_suite(tmp_path / "s.yaml"))
    assert plan.job("lsm", "default").of_task.user_claims == ["relative_l2 = 0.03"]
    line = plan.job("Table 1 (left)", "default").of_task
    assert [metric.name for metric in line.metrics] == ["mse", "zeal"]
    assert line.more_metrics[0].direction == "higher"
    (tmp_path / "s.yaml").write_text("name: s\ntasks: [{name: lsm, claims: [nothing]}]\n")
    with pytest.raises(UsageError, match=r"line 2.*cannot be read"):
        Plan(read_suite(tmp_path / "s.yaml")).job("lsm", "default")


LINES: list[tuple[dict[str, Any], bool]] = [  # and whether part.tex is a part of it
    ({"task": "Darcy"}, False),
    ({"task": "LSM", "paper": "own/tex/main.tex", "claims": ["relative_l2 = 0.03"]}, False),
    ({"task": "a", "metric": ["mse"], "paper": "own/tex"}, True),
    ({"task": "a", "metric": ["mse", "mae"], "paper": "own/tex:main.tex"}, True),
    (
        {"task": "a", "metric": ["mse"], "arxiv": "1207.0580", "data": "own", "targets": "y.npy"},
        True,
    ),
]


@pytest.mark.parametrize(("options", "changes"), LINES)
def test_a_line_asks_for_what_the_command_asks_for_by_the_same_options(
    in_folder: Path, options: dict[str, Any], changes: bool
) -> None:
    (in_folder / "own/tex").mkdir(parents=True)
    (in_folder / "own/tex/main.tex").write_text("\\section{P}\\input{part}")
    (in_folder / "own/tex/part.tex").write_text("We count.")
    line = {"name" if name == "task" else name: value for name, value in options.items()}
    plan = plan_of(json.dumps({"name": "s", "tasks": [line]}), in_folder)
    [trial] = plan.trials
    job = job_of(plan, trial, in_folder / "out", "", None)
    alone = reproduce_job(plan.settings("default"), **options).fixed()
    assert job.decides() == alone.decides()
    assert (job.paper, job.data, job.task) == (alone.paper, alone.data, alone.task)
    (in_folder / "own/tex/part.tex").write_text("We count again.")
    [again] = plan_of(json.dumps({"name": "s", "tasks": [line]}), in_folder).trials
    assert (again.digest != trial.digest) is changes


def test_an_instruction_is_added_to_a_task_of_the_benchmark(tmp_path: Path) -> None:
    plain, told = (
        plan_of(f"name: a\ntasks: [{{name: lsm{more}}}]\n", tmp_path)
        for more in ("", ", instruction: Be brief.")
    )
    was, now = (each.job("lsm", "default").of_task.instruction for each in (plain, told))
    assert now == f"{was}\n\nBe brief."
    assert plain.trials[0].digest != told.trials[0].digest


def test_a_budget_of_5_and_the_gpu_0_may_be_numbers(tmp_path: Path) -> None:
    text = "name: a\ntasks: [lsm]\nbudget: 5\nsettings: {budget: 2.5}\n"
    plan = plan_of(text, tmp_path, "gpus=0")
    settings = plan.settings("default")
    assert (plan.suite.budget, settings.budget.total, settings.sandbox.gpus) == ("5", "2.5", "0")


def test_flags_choose_and_change(tmp_path: Path) -> None:
    text = "name: a\ntasks: [lsm, bspm]\ntrials: 2\nvariants: {a: {}, b: {settings: {k: 5}}}\nsettings: {max_debug: 9}\n"
    plan = plan_of(text, tmp_path, "max-debug=7", "cpus=1", tasks=["bspm"], trials=3)
    assert [(t.task, t.variant, t.number) for t in plan.trials] == [
        ("bspm", v, n) for n in (1, 2, 3) for v in ("a", "b")
    ]
    settings = plan.settings("b", 3)
    assert (
        settings.method.k,
        settings.method.max_debug,
        settings.seed,
        settings.sandbox.limits.cpus,
    ) == (5, 7, 2, 1)
    assert settings.sandbox.limits.memory_gb == 8
    assert plan.settings("a").seed == 0


def earlier(
    runs: Path,
    name: str,
    settings: dict[str, object],
    cost: float | None,
    calls: int,
    task: str = "one",
    seconds: float = 3600,
) -> None:
    """A finished trial, as `attempt` leaves one, as far as the estimate reads it."""
    trial = runs / name
    record = trial_record(task, "full", "steps_solver:Steps", settings=settings)
    Trial.open(trial, record).close()
    phases = {"full_run": {"calls": calls}}
    usage = {"input": 1000 * calls, "output": 0}
    result = trial_result(usage=usage, cost=cost, seconds=seconds, phases=phases)
    (trial / "result.json").write_text(result.model_dump_json())


def test_the_estimate_rests_on_the_earlier_trials_most_like_it(
    tmp_path: Path, in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = lay_out(
        tmp_path / "s", ("One", "two"), trials=2, variants={"a": {}, "b": {"settings": {"k": 5}}}
    )
    plan = Plan(read_suite(file), parse_changes(["price='1,1,1'"]))
    plan.choose()
    a, b = (plan.settings(name).identity() for name in ("a", "b"))
    earlier(tmp_path / "runs", "1", a, 0.5, 10)
    earlier(tmp_path / "runs", "2", {**a, "seed": 9}, 1.5, 20)
    earlier(tmp_path / "runs", "suites/x/3", {**b, "model": "other"}, 9.0, 40)
    print_estimate(plan, tmp_path / "out", 2, None, as_json=True)
    told = json.loads(capsys.readouterr().out)
    rows = {(row["task"], row["variant"]): row for row in told["rows"]}
    assert (
        rows["One", "a"]["dollars"] == 2 * 1.0
    )  # two trials, the mean of those with the same settings
    assert rows["One", "a"]["calls"] == 2 * 15
    assert rows["One", "b"]["dollars"] == pytest.approx(
        2 * 1.0
    )  # the same model under other settings
    assert rows["two", "a"]["dollars"] is None
    assert told["all"]["dollars"] is None
    print_estimate(plan, tmp_path / "out", 2, None, as_json=False)
    said = capsys.readouterr().out
    assert "unknown" in said
    assert not (tmp_path / "out").exists()


def test_an_estimate_s_sums_are_those_of_the_figures_shown(
    tmp_path: Path, in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(
        read_suite(lay_out(tmp_path / "s", ("one", "two"))), parse_changes(["profile=full"])
    )
    plan.choose()
    identity = plan.settings(plan.trials[0].variant).identity()
    for task in ("one", "two"):  # 17.67 calls and 139 hours each
        for number, calls in enumerate((17, 18, 18)):
            name = f"{task}{number}"
            earlier(tmp_path / "runs", name, identity, 1.0, calls, task, seconds=139 * 3600)
    print_estimate(plan, tmp_path / "out", 1, None, as_json=False)
    said = capsys.readouterr().out
    rows = [line.split() for line in said.splitlines() if line.startswith(("one", "two", "all"))]
    calls = [row[3 if row[0] == "all" else 4] for row in rows]
    assert calls == ["18", "18", "36"], said
    assert "139" in said and "278" in said and "e+" not in said
    assert "may not suffice" not in said
    print_estimate(plan, tmp_path / "out", 1, "$1.50", as_json=False)
    assert "The budget of $1.50 may not suffice: about $2.00 is likely." in capsys.readouterr().out


@pytest.mark.parametrize("width", [80, 160])
def test_an_estimate_fits_a_narrow_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich import console

    monkeypatch.setattr(console.Console, "width", property(lambda _: width))
    plan = plan_suite("baselines", changes={"model": "openai:gpt-5"})
    print_estimate(plan, Path("nowhere"), 2, None, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    table = lines[: next(n for n, line in enumerate(lines) if line.startswith("Hours"))]
    assert max(map(len, table)) <= width
    words = {word for line in table for word in line.split()}
    whole = {"itransformer", "autoreproduce", "mini-swe-agent", "papercoder", "shipped", "dollars"}
    assert whole <= words, "no name is cut in two"


def test_without_the_same_model_dollars_come_from_todays_price(
    tmp_path: Path, in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(
        read_suite(lay_out(tmp_path / "s")), parse_changes(["profile=full", "price='2,2,2'"])
    )
    plan.choose()
    earlier(tmp_path / "runs", "1", {"model": "dear"}, 100.0, 10)
    print_estimate(plan, tmp_path / "out", 1, None, as_json=True)
    assert json.loads(capsys.readouterr().out)["all"]["dollars"] == pytest.approx(10_000 * 2 / 1e6)
    print_estimate(plan, tmp_path / "out", 8, None, as_json=False)
    assert (
        "8 at once, all: about 1. " in capsys.readouterr().out
    )  # one trial takes its hour, whoever else might run


def test_a_suite_takes_its_settings_by_name(in_folder: Path) -> None:
    with pytest.raises(UsageError, match="run_suite takes no modle: did you mean model"):
        run_suite("reproducebench", tasks=["lsm"], trials=1, modle="x")
    with pytest.raises(UsageError, match="the suite has no nowhere"):
        run_suite("reproducebench", tasks=["nowhere"], model="tape")


def test_run_suite_names_every_setting_that_it_takes() -> None:
    shown = set(inspect.signature(run_suite).parameters)
    assert set(FLAGS) <= shown and not {"more", "kwargs"} & shown


VARIANTS = """name: three
tasks: [lsm]
settings: {model: tape}
variants:
  a: {settings: {k: 3}}
  b:
    settings:
      %s
  c: {}
"""


@pytest.mark.parametrize(
    ("line", "at", "said"),
    [
        ("k: 999", 8, "variants.b.settings.k"),
        ("sandbx: docker", 8, "variants.b.settings.sandbx"),
        ("model: nosuch:x", 8, "variant b: the provider 'nosuch' is unknown"),
    ],
)
def test_a_variant_s_error_names_the_line_and_the_variant(
    tmp_path: Path, line: str, at: int, said: str
) -> None:
    (tmp_path / "s.yaml").write_text(VARIANTS % line)
    with pytest.raises(UsageError) as raised:
        plan = plan_suite(tmp_path / "s.yaml")
        check_models(plan, (), Budget.parse(None))
    assert f"s.yaml, line {at}" in str(raised.value) and said in str(raised.value)


def test_what_the_suite_says_for_all_variants_is_named_at_its_own_line(tmp_path: Path) -> None:
    text = (VARIANTS % "k: 4").replace("model: tape", "model: nosuch:x")
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"s\.yaml, line 3, variant a: the provider"):
        check_models(plan_suite(tmp_path / "s.yaml"), (), Budget.parse(None))
    (tmp_path / "s.yaml").write_text((VARIANTS % "k: 4").replace("c: {}", "c: {solver: no:such}"))
    with pytest.raises(UsageError, match=r"s\.yaml, line 9"):
        check_solvers(plan_suite(tmp_path / "s.yaml", trust=True))
