"""Statistics against independent computations, people's scores, and tables over real trial
folders.
"""

import csv
import json
import math
import re
import sys
from functools import partial
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trial_results import trial_result
from typer.testing import CliRunner

from autoreproduce import Score
from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.cli.app import app
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.scoring import save_score
from autoreproduce.evaluation.statistics import MeanEstimate, estimate, krippendorff_alpha
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.evaluation.tables import model
from autoreproduce.evaluation.tables.rows import published_tables, read_rows
from autoreproduce.evaluation.tables.write import cell_text, comma, data, latex, markdown
from autoreproduce.plugins.tables.build import systems, tables
from autoreproduce.plugins.tables.human import correlations, matched, pearson, read_human, spearman
from autoreproduce.plugins.tables.plots import draw
from autoreproduce.trials.steps import ExecutionResult

numbers = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12)


@given(numbers)
def test_a_mean_lies_in_its_interval_and_the_interval_among_the_values(values):
    found = estimate(values, resamples=500)
    assert found is not None and found.low is not None and found.high is not None
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)


def test_few_values_have_no_interval_and_what_is_not_finite_is_an_error():
    assert estimate([]) is None and estimate([3.0]).low is None
    with pytest.raises(ValueError, match="finite"):
        estimate([1.0, math.nan])


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=3, max_size=15))
def test_correlations_are_those_of_numpy_or_not_defined(pairs):
    one, other = zip(*pairs, strict=True)
    found, ranked = pearson(one, other), spearman(one, other)
    if len(set(one)) == 1 or len(set(other)) == 1:
        assert found.value is None and ranked.value is None
        return
    assert found.value == pytest.approx(np.corrcoef(one, other)[0, 1], abs=1e-9)
    ranks = [
        np.searchsorted(np.sort(x), x) + (np.array([x.count(v) for v in x]) - 1) / 2
        for x in map(list, (one, other))
    ]
    assert ranked.value == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-9)
    for each in (found, ranked):
        if each.low is not None:
            assert (
                -1 - 1e-9 <= each.low <= each.value + 1e-9
                and each.value - 1e-9 <= each.high <= 1 + 1e-9
            )


def people(path, *lines):
    path.write_text(
        "trial,rater,method,hyperparameters,training\n" + "".join(f"{line}\n" for line in lines)
    )
    return path


# Krippendorff (2011), the example of four observers and twelve units: alpha 0.849 for intervals.
OBSERVERS = [
    [1, 1, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [5, 5, 5],
    [1, 1],
    [3],
]


def test_alpha_is_that_of_its_author_and_undefined_without_pairs():
    assert krippendorff_alpha(OBSERVERS) == pytest.approx(0.849, abs=5e-4)
    assert krippendorff_alpha([[1], [2]]) is None and krippendorff_alpha([[2, 2], [2, 2]]) is None


def test_people_are_kept_apart_on_a_scale_of_100(tmp_path):
    found = read_human(people(tmp_path / "h.csv", "a/,x,10,5,5", "a,y,4,3,3", "b,x,0,0,2.5"))
    assert found == {"a": [100, 50], "b": [12.5]}


@pytest.mark.parametrize(
    "line", ["a,x,11,5,5", "a,x,1,2", "a,x,one,2,3", ",x,1,2,3", "a,x,nan,1,1", "a,x,-1,1,1"]
)
def test_a_wrong_score_names_its_line(tmp_path, line):
    with pytest.raises(UsageError, match="line 2"):
        read_human(people(tmp_path / "h.csv", line))
    with pytest.raises(UsageError, match="line 4"):
        read_human(people(tmp_path / "h.csv", "b,x,1,1,1", "", line))


def test_a_trial_is_named_by_its_folder_and_no_name_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for name in ("a", "runs/a", "./runs/a/", f"{tmp_path}/runs/a"):
        human = read_human(people(tmp_path / "h.csv", "", f"{name},x,10,5,5"))
        assert matched(human, ["a", "b"], Path("runs")) == {"a": [100]}
    told = []
    assert matched({"a": [1.0], "c": [2.0]}, ["a", "b"], Path("runs"), told.append) == {"a": [1]}
    assert len(told) == 1 and "c isn't a finished trial below runs" in told[0]
    with pytest.raises(UsageError, match="no trial of the human scores"):
        matched({"c": [2.0]}, ["a", "b"], Path("runs"))
    with pytest.raises(UsageError, match="two names"):
        matched({"a": [1.0], "runs/a": [2.0]}, ["a"], Path("runs"))


def test_only_trials_with_both_scores_count():
    found = correlations(
        {"a": [0, 2], "b": [2], "c": [3], "d": [9]}, {"a": 10, "b": 20, "c": 30, "e": 1}
    )
    assert found["pearson"].count == 3 and found["pearson"].value == pytest.approx(1)


@pytest.fixture
def suite(tmp_path):
    """Two variants with two trials each; one trial failed, one was never ended."""
    task = load_task("lsm")
    for variant, number, metric in (
        ("full", 1, 0.03),
        ("full", 2, 0.06),
        ("no lineage", 1, 0.04),
        ("no lineage", 2, None),
    ):
        folder = tmp_path / "trials" / "lsm" / variant / str(number)
        trial = lay_out(folder, Sources({"main.py": f"x = {number}\n"}), task)
        trial.phase("full_run")
        trial.step(
            ExecutionResult,
            "sandbox",
            "run",
            ["x"],
            lambda code=int(metric is None): ExecutionResult(
                command="python main.py", exit_code=code, seconds=1.0
            ),
        )
        outcome = trial_result(
            status="measured" if metric else "failed",
            reason="",
            phase="full_run",
            metric=metric,
            edits={"data": {"turns": number, "added": 9}},
            usage={"input": 900, "output": 100},
        )
        trial.write("result.json", outcome.model_dump_json())
        trial.close()
        save_score(folder, Score("mixed", 50.0 + 10 * number, "", {"readings": [{"judge": "j"}]}))
    lay_out(
        tmp_path / "trials" / "lsm" / "full" / "3", Sources({"main.py": "x = 9\n"}), task
    ).write("result.json", "{")
    return tmp_path


def test_rows_are_read_and_a_damaged_trial_is_left_out(suite):
    rows = read_rows(suite)
    assert [(row.variant, row.executed) for row in rows] == [
        ("full", 1),
        ("full", 1),
        ("no lineage", 1),
        ("no lineage", 0),
    ]
    assert rows[1].gap == pytest.approx(1 - 0.02999 / 0.06) and rows[3].gap == 1.0
    with pytest.raises(UsageError, match="no finished trial"):
        read_rows(suite / "trials" / "none")


def test_a_variant_may_be_called_judge_and_what_a_judge_was_asked_is_no_trial(suite):
    (suite / "trials/lsm/no lineage").rename(suite / "trials/lsm/judge")
    asked = (
        copytree(suite / "trials/lsm/full/1", suite / "trials/lsm/full/2/judge/j/mixed-1")
        / "job.json"
    )
    asked.write_text(json.dumps({**json.loads(asked.read_text()), "solver": "judge"}))
    assert [row.variant for row in read_rows(suite)] == ["full", "full", "judge", "judge"]


def test_the_cases_of_a_calibration_are_no_trials_of_a_table(suite):
    (suite / "calibration" / "lsm").mkdir(parents=True)
    case = (suite / "trials/lsm/full/1").rename(suite / "calibration/lsm/01-itself") / "job.json"
    case.write_text(json.dumps({**json.loads(case.read_text()), "solver": "external"}))
    assert [row.trial for row in read_rows(suite)] == [
        f"trials/lsm/{t}" for t in ("full/2", "no lineage/1", "no lineage/2")
    ]
    assert len(read_rows(suite / "calibration" / "lsm")) == 1


def test_the_tables_hold_what_the_rows_hold(suite):
    made = {table.name: table for table in tables(read_rows(suite))}
    systems = made["systems"].rows
    assert [row[2] for row in systems] == [2, 2]
    assert systems[1][6:9] == [0.5, 0, 0.5] and systems[0][5].mean == 65  # the mixed level
    assert (
        made["systems"].notes[0] == "Judged by j."
        and "Claimed by the program, not recomputed" in made["systems"].notes[1]
    )
    others = made["published_systems"]
    assert len(others.rows) == 7 and others.rows[0][2:] == [57.33, 32.8, 43.33, 0.0256, 0.9962]
    assert made["edits"].rows[0][3].mean == 1.5
    assert made["cost"].rows[0][3] == "unknown"


def test_a_program_has_the_interval_of_its_readings_and_others_rows_stand_apart(suite):
    details = {"readings": [{"judge": "j", "parts": []}] * 3, "spread": 2.0, "interval": [58, 62]}
    save_score(suite / "trials/lsm/full/1", Score("mixed", 60.0, "", details))
    made = {table.name: table for table in tables(read_rows(suite))}
    programs = made["programs"]
    [first, second, *_] = [row[programs.columns.index("mixed")] for row in programs.rows]
    assert cell_text(first) == "60 ± 2 [58, 62] (n = 3)" and second == 70.0
    published = [table for name, table in made.items() if name.startswith("published_")]
    assert [table.title.split()[0].strip(":") for table in published] == ["Published"] * 4
    assert all("Not measured here" in table.notes[0] for table in published)
    assert ["whole", 69.97, 31.62] in published[1].rows


def test_every_published_table_is_whole_and_belongs_to_one_of_ours():
    found = published_tables({"systems", "tasks", "variants", "edits", "human", "people", "grades"})
    assert len(found) == 9 and sum(len(table.rows) for table in found) == 49
    assert all(len(row) == len(table.columns) for table in found for row in table.rows)


def test_people_and_judges_stand_side_by_side_with_alpha_and_intervals(suite):
    rows = read_rows(suite)
    people = {row.trial: [50.0 + 5 * n, 60.0 + 5 * n] for n, row in enumerate(rows)}
    made = {table.name: table for table in tables(rows, people)}
    [level] = made["human"].rows
    assert level[:2] == ["mixed", 4] and 0 < level[4] < 1
    assert "n = 4 programs" in made["human"].notes[0]
    first = made["people"].rows[0]
    assert first[1] == 2 and first[2].mean == 55 and first[2].low < 55 < first[2].high


def test_the_four_formats_say_the_same(suite):
    table = next(table for table in tables(read_rows(suite)) if table.name == "variants")
    rows = list(csv.DictReader(comma(table).splitlines()))
    assert [row["variant"] for row in rows] == ["full", "no lineage"] and float(
        rows[0]["mixed"]
    ) == 65
    assert json.loads(data(table))["rows"][0]["mixed"]["mean"] == 65
    assert "65 ± 7.1" in markdown(table) and r"65 \ensuremath{\pm} 7.1" in latex(table)
    assert latex(table).count(r"\\") == 3


@pytest.mark.parametrize(
    ("spread", "text"), [(248.3, "248"), (99.7, "100"), (12.3, "12"), (0.01234, "0.012")]
)
def test_a_spread_is_written_without_powers_of_ten(spread, text):
    assert cell_text(MeanEstimate(500.0, 3, spread, 1.0, 2.0)) == f"500 ± {text} [1, 2] (n = 3)"


def test_without_the_plots_extra_tables_are_written_and_the_fix_is_said(suite, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    monkeypatch.setattr(model, "find_spec", lambda name: None)
    model.can_draw.cache_clear()
    rows = read_rows(suite)
    assert draw(rows, suite / "tables") == [] and draw(rows, suite / "tables") == []
    assert systems(rows).rows
    said = capsys.readouterr().err
    assert said.count("matplotlib is not installed") == 1 and "pip install" in said
    model.can_draw.cache_clear()


@pytest.mark.slow
def test_the_command_writes_tables_and_plots(suite):
    (suite / "h.csv").write_text(
        "trial,rater,method,hyperparameters,training\nfull/1,a,5,2,3\nno lineage/2,a,9,4,4\n"
    )
    assert matched({"full/1": 1.0}, ["trials/lsm/full/1", "x"]) == {"trials/lsm/full/1": 1.0}
    with pytest.raises(UsageError, match="more of its path"):
        matched({"1": 1.0}, ["a/1", "b/1"])
    done = CliRunner().invoke(app, ["table", str(suite), "--human", str(suite / "h.csv")])
    assert done.exit_code == 0, done.output
    names = {path.name for path in (suite / "tables").iterdir()}
    assert {
        "systems.md",
        "systems.tex",
        "tasks.csv",
        "variants.json",
        "gap.svg",
        "human.svg",
        "human.md",
    } <= names
    plot = (suite / "tables" / "gap.svg").read_text()
    light, dark = plot.split("@media (prefers-color-scheme: dark)")
    for painted in re.findall(r'\[style\*="(.+?)"\]', dark):
        assert painted in dark.partition("</style>")[2], "matplotlib writes colours so"
    assert "prefers" not in light and 'style="fill: #ffffff' in plot


def test_two_variants_of_one_suite_are_compared(suite):
    compared = partial(CliRunner().invoke, app)
    done = compared(["compare", str(suite), str(suite), "--variants", "full,no lineage"])
    assert done.exit_code == 0 and "Variant full of A against no lineage of B." in done.output
    for names, why in (
        ("full,whole", "B has no variant 'whole': it has full, no lineage"),
        ("a,b,c", "write X,Y"),
    ):
        wrong = compared(["compare", str(suite), str(suite), "--variants", names])
        assert isinstance(wrong.exception, UsageError) and why in str(wrong.exception)


def test_a_comparison_says_why_seconds_are_missing_and_leaves_a_damaged_trial_out(
    suite, tmp_path_factory
):
    other = tmp_path_factory.mktemp("other")
    copytree(suite, other, dirs_exist_ok=True)
    (suite / "trials/lsm/full/2/steps.jsonl").write_text("{no step}\n")
    done = CliRunner().invoke(app, ["compare", str(suite), str(other)])
    assert "| seconds" in done.output and "not compared" not in done.output
    for path in other.glob("trials/*/*/*/trial.json"):
        record = json.loads(path.read_text())
        path.write_text(json.dumps({**record, "hardware": {"processor": "another"}}))
    for flags in ([], ["--json"]):
        done = CliRunner().invoke(app, ["compare", *flags, str(suite), str(other)])
        assert (
            done.exit_code == 0
            and "Seconds are not compared: the trials ran on other machines." in done.output
        )
        assert "| seconds" not in done.output and '"seconds"' not in done.output


@pytest.mark.parametrize("command", ["table", "report"])
def test_a_folder_that_takes_no_tables_is_one_clear_error(suite, command):
    (suite / "tables").write_text("in the way")
    done = CliRunner().invoke(app, [command, str(suite)])
    assert isinstance(
        done.exception, TrialError
    ) and "tables (File exists): make it writable" in str(done.exception)
