"""A board: systems on the same tasks, side by side only if a mean over them says something."""

import base64
import json
import re
from shutil import copytree

import pytest
from trial_results import trial_result
from typer.testing import CliRunner

from autoreproduce import score
from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.cli.app import app
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.evaluation.tables.model import Table, narrowed
from autoreproduce.evaluation.tables.rows import TrialRow, read_rows, read_together
from autoreproduce.plugins.tables.board import board_tables, read_board, systems_of
from autoreproduce.plugins.tables.board_page import write_board
from autoreproduce.plugins.tables.build import tables
from autoreproduce.plugins.tables.compare import of_variants
from autoreproduce.plugins.tables.site import write_site
from autoreproduce.plugins.tables.submission import measure_submission, read_submission


def row(solver="ours", task="a", mixed=50.0, **more):
    given = {
        "trial": f"{solver}/{task}",
        "task": task,
        "profile": "small",
        "variant": solver,
        "solver": solver,
        "model": "m",
        "executed": 1.0,
        "gap": 0.1,
        "signed_gap": 0.1,
        "metric": 1.0,
        "reference": 1.0,
        "dollars": 0.5,
        "tokens": 1000,
        "seconds": 60.0,
        "scores": {} if mixed is None else {"mixed": mixed},
        "verdict": "reproduced",
        "integrity": "clean",
        "mode": "program, answered by a model",
        "machines": ("here",),
    }
    return TrialRow(**{**given, **more})


def by_name(rows):
    """The tables of a board as lists of {column: cell}."""
    made = board_tables(systems_of(rows))
    return [[dict(zip(t.columns, each, strict=True)) for each in t.rows] for t in made], made


def test_each_system_has_a_line_a_task_and_one_over_the_tasks_of_all():
    rows = [row(), row(mixed=70.0, verdict="partly", integrity="void"), row(task="b", mixed=20.0)]
    rows += [row("theirs", mixed=90.0), row("theirs", "only theirs", mixed=0.0)]
    (lines, overall, published), made = by_name(rows)
    assert [(line["system"], line["task"], line["trials"]) for line in lines] == [
        ("ours", "a", 2),
        ("ours", "b", 1),
        ("theirs", "a", 1),
        ("theirs", "only theirs", 1),
    ]
    first = lines[0]
    assert first["mixed"].mean == 60 and first["minutes"].mean == 1 and first["dollars"].mean == 0.5
    assert (first["verdict"], first["integrity"]) == (
        "1 reproduced, 1 partly reproduced",
        "1 clean, 1 void",
    )
    assert first["metric"].mean == first["reference"].mean == 1.0
    ours, theirs = overall
    assert (ours["mixed"].mean, theirs["mixed"].mean) == (60, 90)  # of task a alone
    assert "metric" not in ours  # a mean of different tasks' metrics says nothing
    assert published and all("trials" not in each for each in published)
    assert "full scale" in made[2].title
    assert "Means over the tasks that all systems attempted: a." in made[1].notes


def test_what_is_unknown_is_no_number():
    rows = [row(dollars=None), row(), row("theirs", mixed=None, machines=("there",))]
    (lines, overall, _), made = by_name(rows)
    assert lines[0]["dollars"] == "unknown" and lines[0]["minutes"] is None
    assert "minutes" not in overall[0] and overall[0]["dollars"] is None
    assert any("machines of several kinds" in note for note in made[0].notes)


def test_one_name_with_other_settings_is_another_system():
    rows = [row(trial="x/trials/1", settings="1"), row(trial="y/trials/1", settings="2")]
    assert [each.name for each in systems_of(rows)] == ["ours (x)", "ours (y)"]


@pytest.mark.slow
def test_the_plot_has_a_point_a_system_and_the_page_escapes_names(tmp_path):
    systems = systems_of([row("<b>$x^2"), row("<b>$x^2", "b", 70.0), row("o"), row("o", "b")])
    page = write_board(systems, board_tables(systems), tmp_path).read_text()
    [image] = re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    assert b"dollars a trial" in base64.b64decode(image)
    assert "<b>$x" not in page and "&lt;b&gt;$x^2" in page and "<script" not in page


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """Two trials of one system, with a number and without scores."""
    home = tmp_path_factory.mktemp("board") / "mine"
    for number in (1, 2):
        folder = home / "trials" / "lsm" / "default" / str(number)
        trial = lay_out(folder, Sources({"main.py": f"x = {number}\n"}), load_task("lsm"))
        outcome = trial_result(status="measured", reason="", phase="full_run", metric=0.03)
        trial.write("result.json", outcome.model_dump_json())
        trial.close()
    return home


@pytest.mark.slow
def test_the_command_writes_the_page_and_its_tables(suite, tmp_path):
    other = copytree(suite, tmp_path / "theirs")
    done = CliRunner().invoke(app, ["board", str(suite), str(other)])
    assert done.exit_code == 0, done.output
    names = {path.name for path in (suite / "board").iterdir()}
    assert {"board.html", "board.md", "board-systems.csv"} <= names
    page = (suite / "board" / "board.html").read_text()
    links = [(suite / "board" / link).resolve() for link in re.findall(r'<a href="([^"]+)"', page)]
    assert len(links) == 4 and all(link.name == "report.html" for link in links)
    assert all((link.parent / "trial.json").is_file() for link in links)
    assert '<td class="figure">0.03' in page and "4 trials" in page
    done = CliRunner().invoke(app, ["board", str(suite), "--out", str(tmp_path / "o"), "--json"])
    first, *_ = map(json.loads, done.output.splitlines())
    assert [line["trials"] for line in first["rows"]] == [2]


@pytest.mark.slow
def test_a_site_has_a_page_for_each_system_task_and_trial(suite, tmp_path):
    (suite / "trials/lsm/default/1/report.html").write_text("<script>theirs</script>")
    done = CliRunner().invoke(app, ["board", str(suite), "--site", "--out", str(tmp_path / "o")])
    assert done.exit_code == 0, done.output
    seen, waiting = set(), ["board.html"]
    while waiting:  # every page is reached from the board, and nothing outside is
        page = tmp_path / "o" / waiting.pop()
        seen.add(page.relative_to(tmp_path / "o").as_posix())
        links = re.findall(r'<a href="([\w/.-]+\.html)"', page.read_text())
        waiting += [each for each in links if each not in seen]
    trials = {"trials/1.html", "trials/2.html"}
    assert seen == {"board.html", "system-1.html", "task-1.html", *trials}
    assert "theirs" not in (tmp_path / "o/trials/1.html").read_text()


@pytest.mark.slow
def test_a_submission_s_programs_are_run_here_and_those_without_a_number_are_listed(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/main.py").write_text("raise SystemExit('no GPU here')\n")
    programs = [{"task": "humanmac", "code": name} for name in ("broken", "absent")]
    file = tmp_path / "submission.yaml"
    file.write_text(json.dumps({"system": "theirs 1.0", "programs": programs}))
    command = ["board", "--submission", str(file), "--out", str(tmp_path / "o"), "--json"]
    done = CliRunner().invoke(app, command, env={"AUTOREPRODUCE_SANDBOX": "process"})
    assert done.exit_code == 0, done.output
    tables = {each["name"]: each["rows"] for each in map(json.loads, done.stdout.splitlines())}
    [line] = tables["board"]
    assert line["system"] == "theirs 1.0" and line["execution"]["mean"] == 0
    assert [row["task"] for row in tables["board-missing"]] == ["humanmac", "humanmac"]
    journal = tmp_path / "o/submissions/theirs 1.0/humanmac-1/steps.jsonl"
    before = journal.stat().st_mtime_ns
    again = CliRunner().invoke(app, command, env={"AUTOREPRODUCE_SANDBOX": "process"})
    assert again.exit_code == 0 and journal.stat().st_mtime_ns == before


@pytest.mark.parametrize("code", ["/etc", "../theirs", "a/../../b"])
def test_a_submission_names_programs_beside_it_alone(code, tmp_path):
    file = tmp_path / "submission.yaml"
    file.write_text(json.dumps({"system": "s", "programs": [{"task": "lsm", "code": code}]}))
    with pytest.raises(UsageError, match="not beside the file"):
        read_submission(file)


def test_a_link_of_a_submission_leads_nowhere(tmp_path):
    (tmp_path / "sent").mkdir()
    (tmp_path / "sent/code").symlink_to(tmp_path)
    file = tmp_path / "sent/submission.yaml"
    file.write_text(json.dumps({"system": "s", "programs": [{"task": "lsm", "code": "code"}]}))
    with pytest.raises(UsageError, match="leads out of"):
        measure_submission(file, tmp_path / "o", print)


def test_trials_by_different_judges_are_refused(monkeypatch, tmp_path):
    rows = [row(judges={"mixed": "one"}), row("theirs", judges={"mixed": "another"})]
    monkeypatch.setattr("autoreproduce.plugins.tables.board.read_together", lambda *_: [rows])
    with pytest.raises(UsageError, match="with another judge"):
        read_board([tmp_path])


def test_own_tasks_verified_code_and_replayed_models_have_lines_of_their_own(monkeypatch, tmp_path):
    rows = [
        row(),
        row("ours", "mine", profile="full"),
        row("code someone/repo", "table-1", profile="full", claims=(2, 4), differences=1),
        row(mode="program, answered by a tape"),
    ]
    monkeypatch.setattr("autoreproduce.plugins.tables.board.read_together", lambda *_: [rows])
    (lines, *_), _ = by_name(read_board([tmp_path]))
    assert {(line["system"], line["task"]) for line in lines} == {
        ("ours (program, answered by a model)", "a (small)"),
        ("ours (program, answered by a model)", "mine (full)"),
        ("code someone/repo (program, answered by a model)", "table-1 (full)"),
        ("ours (program, answered by a tape)", "a (small)"),
    }
    [code] = [line for line in lines if line["task"] == "table-1 (full)"]
    assert (code["claims"], code["differences"]) == ("2 of 4", 1)
    (small, *_), _ = by_name(read_board([tmp_path], "full"))
    assert {line["task"] for line in small} == {"mine", "table-1"}, "of one profile, no suffix"


@pytest.mark.parametrize(
    ("papers", "named"),
    [
        ([("1", "a/x.md"), ("1", "moved/x.md")], ["table-1"]),
        ([("1", "a/x.md"), ("2", "y.md")], ["table-1 of a/x.md", "table-1 of y.md"]),
        ([("1", "x.md"), ("2", "x.md")], ["table-1 of x.md (1)", "table-1 of x.md (2)"]),
        ([("2305.1", "2305.1"), ("", "")], ["table-1", "table-1 of 2305.1"]),
    ],
)
def test_one_table_of_two_papers_is_two_tasks_everywhere(papers, named, monkeypatch, tmp_path):
    rows = [row("code", "table-1", paper=paper, paper_name=name) for paper, name in papers]
    by_folder = {tmp_path: rows, tmp_path / "a": rows[:1], tmp_path / "b": rows[1:]}
    finished = lambda folder, note: iter(by_folder[folder])  # noqa: E731
    monkeypatch.setattr("autoreproduce.evaluation.tables.rows._finished_rows", finished)
    (lines, *_), _ = by_name(read_board([tmp_path]))
    assert [line["task"] for line in lines] == named
    by_task = next(table for table in tables(read_rows(tmp_path)) if table.name == "tasks")
    assert sorted(cells[0] for cells in by_task.rows) == [f"{name} (small)" for name in named]
    page = write_site(tmp_path).read_text()
    assert all(f'"{name}"' in page or f">{name}<" in page for name in named)
    together = read_together([tmp_path / "a", tmp_path / "b"])
    ours, theirs, _ = of_variants(*together, [])
    assert ({one.task for one in ours} == {one.task for one in theirs}) == (len(named) == 1)


def test_a_task_of_ones_own_has_its_papers_identity(tmp_path):
    found = []
    for name in ("a", "b"):
        paper = tmp_path / name / "paper.md"
        paper.parent.mkdir()
        paper.write_text(f"# {name}\n")
        (tmp_path / "main.py").write_text("print(1)\n")
        score(
            tmp_path / "main.py",
            task="Table 1",
            paper=paper,
            metric="m:lower",
            out=paper.parent / "t",
        )
        found.append(paper.parent)
    assert [one.task for rows in read_together(found) for one in rows] == [
        "table-1 of a/paper.md",
        "table-1 of b/paper.md",
    ]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([(), ()], (2, 1.5)),  # a number a trial
        ([(1.0, 3.0), (2.0, 4.0, 5.0)], (5, 3.0)),  # their seeds
        ([(1.0, 3.0), ()], (3, 2.0)),  # one with seeds, one without
        ([(0.0, 0.0), ()], (3, 2 / 3)),  # a zero is a number
    ],
)
def test_the_metric_has_its_n_from_runs(runs, expected):
    rows = [row(metric=metric, runs=each) for metric, each in zip((1.0, 2.0), runs, strict=True)]
    (lines, *_), _ = by_name(rows)
    found = lines[0]["metric"]
    assert (found.count, found.mean) == (expected[0], pytest.approx(expected[1]))
    assert found.spread is not None and lines[0]["trials"] == 2


def wide(count, rows=2, same=(), empty=()):
    cells = [
        [None if n in empty else "x" if n in same else f"{r}{n}" for n in range(count)]
        for r in range(rows)
    ]
    return Table("t", "T", [f"c{n}" for n in range(count)], cells, ["note"])


def test_twelve_columns_are_shown_and_what_is_left_out_is_said():
    assert narrowed(wide(12)) == wide(12)
    without = narrowed(wide(14, empty=(1, 5)))
    assert len(without.columns) == 12 and without.notes == ["note"], (
        "what nobody knows isn't missed"
    )
    alike = narrowed(wide(13, same=(3, 4)))
    assert "c3" not in alike.columns and "c4" in alike.columns
    assert alike.notes[1:] == ["In all rows, c3: x."]
    cut = narrowed(wide(15))
    assert cut.columns == [f"c{n}" for n in range(12)] and all(len(r) == 12 for r in cut.rows)
    assert cut.notes[1:] == ["Not shown: c12, c13, c14 (--all shows them)."]
    one = narrowed(wide(13, rows=1, same=range(13)))
    assert len(one.columns) == 12 and "--all" in one.notes[-1]
    assert narrowed(wide(3, rows=0)).columns == ["c0", "c1", "c2"]


def test_a_folder_named_twice_and_an_unknown_profile_are_refused(suite):
    for folders in ([suite, suite], [suite, suite / "trials"]):
        with pytest.raises(UsageError, match="named twice"):
            read_board(folders)
    with pytest.raises(UsageError, match="no trial has the profile tiny"):
        read_board([suite], "tiny")
