"""`grade` as a user runs it: a submission, a rubric, a judge that really answers over HTTP."""

import json
import os
from pathlib import Path
from shutil import copytree

import pytest
from chat_server import Answer, chat_server
from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.models.tokens import rough_tokens
from autoreproduce.plugins.paperbench.files import all_of, read_submission, the_best

CRITERIA = {"probe": 1, "loss": 3, "metric": 4}


def command(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def word(met):
    return json.dumps(
        {"expectations": "a loss", "reality": "<b>nothing</b> of it", "score": int(met)}
    )


def by_criterion(met):
    """A judge that meets the criteria named; of what else it is asked it says nothing usable."""

    def answer(request):
        asked = request.prompt.partition("## The criterion\n\ndo ")[2].split()[0]
        return word(asked in met) if asked in CRITERIA else "I cannot say."

    return answer


@pytest.fixture
def paper(in_folder):
    folder = in_folder / "papers" / "toy"
    folder.mkdir(parents=True)
    leaves = [
        {
            "id": name,
            "requirements": f"do {name}",
            "weight": weight,
            "task_category": "Code Development",
            "sub_tasks": [],
        }
        for name, weight in CRITERIA.items()
    ]
    run = {
        "id": "run",
        "requirements": "it was run",
        "weight": 9,
        "task_category": "Code Execution",
        "sub_tasks": [],
    }
    (folder / "rubric.json").write_text(
        json.dumps(
            {"id": "root", "requirements": "all of it", "weight": 1, "sub_tasks": [*leaves, run]}
        )
    )
    (folder / "paper.md").write_text("# A toy\nWe minimise a loss.")
    (folder / "blacklist.txt").write_text("https://github.com/authors/toy\n")
    mine = in_folder / "mine"
    (mine / "wandb").mkdir(parents=True)
    (mine / "main.py").write_text("loss = 1  # https://github.com/authors/toy\n")
    (mine / "reproduce.sh").write_text("git clone git@github.com:authors/toy.git\n")
    (mine / "wandb" / "log.txt").write_text("secret log\n")
    return folder


def grade(paper, server, *more):
    return command(
        "grade",
        "mine",
        paper,
        "--judge",
        "some",
        "--base-url",
        server.base_url,
        "--max-retries",
        0,
        *more,
    )


def test_each_leaf_is_asked_once_and_weighed(paper):
    with chat_server(by_criterion({"loss", "probe"})) as server:
        done = grade(paper, server)
        assert done.exit_code == 0, done.output
        again = grade(paper, server, "--json", "--fail-under", 60)
    assert (
        "toy: 50.0 of 100 over 3 leaves" in done.stdout
        and "names a blacklisted address (main.py" in done.stdout
    )
    assert "names a blacklisted address (reproduce.sh" in done.stdout
    assert len(server.requests) == 3  # the second command asks nothing
    told = json.loads(again.stdout)
    assert again.exit_code == 1 and (told["score"], told["calls"], told["num_leaf_nodes"]) == (
        0.5,
        3,
        3,
    )
    tree = json.loads((Path(told["folder"]) / "grade.json").read_text())["graded_task_tree"]
    assert [part["score"] for part in tree["sub_tasks"]] == [1, 1, 0]
    assert "**not met** ×4 do metric" in (Path(told["folder"]) / "grade.md").read_text()


def test_the_judge_sees_paper_files_and_criterion_in_an_order_that_a_cache_can_use(paper):
    with chat_server(by_criterion(())) as server:
        grade(paper, server, "--workers", 1)
    first, second = (request.prompt for request in server.requests[:2])
    assert "We minimise a loss." in first and "=== main.py ===" in first
    assert "reproduce.sh" not in first and "secret log" not in first and "it was run" not in first
    assert first.partition("# What is asked")[0] == second.partition("# What is asked")[0]
    assert "- of: all of it\n  - do probe\n" in second and second.index(
        "- do probe"
    ) < second.index("do loss")


@pytest.mark.slow
def test_anthropics_cache_is_given_all_that_leaves_share(paper, monkeypatch):
    with chat_server(by_criterion(())) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.root_url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        command(
            "grade",
            "mine",
            paper,
            "--judge",
            "anthropic:claude-any",
            "--max-retries",
            0,
            "--workers",
            1,
        )
    kept = [
        [block for block in request.messages[-1]["content"] if "cache_control" in block]
        for request in server.requests
    ]
    assert (
        len(kept) == 3 and kept[0] == kept[1] == kept[2] and "=== main.py ===" in kept[0][0]["text"]
    )


@pytest.mark.slow
def test_a_leaf_without_a_usable_answer_is_not_graded_and_asked_again_by_the_same_command(paper):
    def unsure(request):
        return (
            "I cannot say."
            if "## The criterion\n\ndo metric" in request.prompt
            else by_criterion({"loss", "probe"})(request)
        )

    with chat_server(unsure) as server:
        done = grade(paper, server)
    assert (
        done.exit_code == 3
        and "1 leaves were not graded and count as 0; without them 100.0" in done.stdout
    )
    with chat_server(by_criterion({"metric"})) as server:
        done = grade(paper, server)
        assert len(server.requests) == 1
    assert done.exit_code == 0 and "100.0 of 100" in done.stdout


def test_the_exit_code_tells_of_leaves_without_an_answer_whatever_they_weigh(paper):
    file = paper / "rubric.json"
    file.write_text(file.read_text().replace('"weight": 4', '"weight": 0'))
    with chat_server(
        lambda request: "?" if "do metric" in request.prompt else by_criterion({"loss"})(request)
    ) as server:
        assert grade(paper, server).exit_code == 3
    file.write_text(
        file.read_text().replace('"weight": 3', '"weight": 0').replace('"weight": 1', '"weight": 0')
    )
    with chat_server(by_criterion({"loss"})) as server:
        assert grade(paper, server).exit_code == 0


def test_a_budget_that_ends_keeps_what_was_graded(paper):
    with chat_server(by_criterion({"loss"})) as server:
        # each call reserves its prompt and 100 tokens of answer, and is charged 120
        poor = grade(
            paper, server, "--workers", 1, "--max-output-tokens", 100, "--budget", "900 tokens"
        )
        asked = len(server.requests)
        again = grade(
            paper, server, "--workers", 1, "--max-output-tokens", 100, "--budget", "900 tokens"
        )
        assert len(server.requests) == asked  # what was spent before counts
        done = grade(paper, server, "--workers", 1, "--max-output-tokens", 100)
    for each in (poor, again):
        said = str(each.exception)
        assert "what was graded is saved: run the same command with a larger --budget" in said
        assert "the same command goes on" not in str(each.exception)
    assert 0 < asked < 3 == len(server.requests) and done.exit_code == 0


def test_files_that_do_not_fit_are_ranked_for_each_leaf(paper):
    Path("mine/large.py").write_text("x = compute(some, things)\n" * 400)
    Path("mine/small.py").write_text("def metric(): ...\n")

    def judge(request):
        ranking = "They do not fit into one message together." in request.prompt
        files = json.dumps({"files": ["small.py", "../../etc/passwd", "large.py"]})
        return files if ranking else by_criterion({"metric"})(request)

    with chat_server(judge) as server:
        done = grade(paper, server, "--room", 1000, "--workers", 1)
    assert done.exit_code == 0, done.output
    ranked, graded = (request.prompt for request in server.requests[:2])
    assert "large.py\n" in ranked and "compute(some" not in ranked
    assert graded.index("=== small.py ===") < graded.index("=== large.py ===")
    assert "(the rest of this file did not fit)" in graded and "Not shown: main.py" in graded


def test_a_ranking_that_names_no_file_is_asked_anew_by_the_same_command(paper):
    Path("mine/large.py").write_text("x = compute(some, things)\n" * 400)

    def judge(named):
        return lambda request: (
            json.dumps({"files": [named]})
            if "They do not fit" in request.prompt
            else by_criterion(CRITERIA)(request)
        )

    with chat_server(judge("nowhere.py")) as server:
        assert grade(paper, server, "--room", 1000).exit_code == 3
    with chat_server(judge("./main.py")) as server:
        done = grade(paper, server, "--room", 1000)
    assert done.exit_code == 0 and "100.0 of 100" in done.stdout


def test_people_are_compared_with_and_no_code_is_0_without_a_judge(paper):
    leaves = [
        {
            "id": name,
            "requirements": "",
            "weight": 1,
            "task_category": "Code Development",
            "sub_tasks": [],
            "score": float(name == "loss"),
            "valid_score": True,
        }
        for name in CRITERIA
    ]
    people = Path("expected_result.json")
    tree = {"id": "root", "requirements": "", "weight": 1, "sub_tasks": leaves, "score": 0.4}
    people.write_text(json.dumps(tree).replace("0.0", "null"))
    with pytest.raises(UsageError, match="isn't a graded tree"):
        raise command("grade", "mine", paper, "--labels", people).exception
    people.write_text(json.dumps(tree))
    with chat_server(by_criterion({"loss", "metric"})) as server:
        done = grade(paper, server, "--labels", people)
        assert "grades 3 of the 3 leaves, 3 of them in other words" in done.stderr
        assert "Against people, 3 leaves: macro F1 0.667, accuracy 0.667" in done.stdout
        Path("mine/main.py").unlink()
        asked = len(server.requests)
        assert "0.0 of 100" in grade(paper, server).stdout and len(server.requests) == asked


@pytest.mark.slow
def test_runs_of_papers_make_a_table(paper):
    with chat_server(by_criterion({"loss"})) as server:
        grade(paper, server, "--out", "one")
    with chat_server(by_criterion({"loss", "metric"})) as server:
        grade(paper, server, "--out", "two", "--run", 2)
    row = next(
        line for line in command("grades", "one", "two").stdout.splitlines() if "toy" in line
    )
    assert [cell.strip() for cell in row.strip("|").split("|")][1:5] == ["toy", "2", "62.5", "25"]
    copytree("one", "three")
    assert "more than once" in str(command("grades", "one", "three").exception)
    file = paper / "rubric.json"
    file.write_text(file.read_text().replace('"weight": 4', '"weight": 40'))
    with chat_server(by_criterion({"loss"})) as server:
        grade(paper, server, "--out", "four", "--run", 4)
    assert "by several rubrics" in str(command("grades", "one", "two", "four").exception)
    assert "toy" in command("rubrics", ".").stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere", "papers/toy"], "does not exist"),
        (["mine", "papers"], "a rubric"),
        (["mine", "papers/toy"], "no judge"),
        (["mine", "papers/toy", "--labels", "mine/main.py"], "a graded tree"),
        (["mine", "papers/toy", "--paper", "no.md"], "cannot be read"),
        (
            ["mine", "papers/toy", "--judge", "openai:x", "--out", "mine/main.py"],
            "cannot be a grading's folder",
        ),
    ],
)
def test_bad_input_is_one_clear_line(paper, monkeypatch, arguments, expected):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert expected in str(command("grade", *arguments).exception)


def test_a_folder_of_another_submission_is_refused_and_a_dry_run_asks_nothing(paper):
    with chat_server(by_criterion({"loss"})) as server:
        grade(paper, server, "--out", "one")
        Path("mine/main.py").write_text("loss = 2\n")
        assert "another submission" in str(grade(paper, server, "--out", "one").exception)
        planned = json.loads(grade(paper, server, "--dry-run", "--json").stdout)
        assert len(server.requests) == 3
    assert (planned["leaves"], planned["files"], planned["calls"], planned["fits"]) == (
        3,
        1,
        3,
        True,
    )


def test_a_folder_of_another_judge_or_rubric_is_refused_and_rubrics_of_one_folder_are_graded_apart(
    paper,
):
    text = (paper / "rubric.json").read_text()
    (paper / "second.json").write_text(text.replace("do loss", "do metric"))
    with chat_server(by_criterion({"loss"})) as server:
        grade(paper, server, "--out", "one")
        before = Path("one/grade.json").read_text()
        assert "another judge" in str(
            grade(paper, server, "--out", "one", "--judge", "other").exception
        )
        assert "another rubric" in str(
            grade(paper / "second.json", server, "--out", "one").exception
        )
        assert "another --room" in str(
            grade(paper, server, "--out", "one", "--room", 5000).exception
        )
        both = [
            json.loads(grade(file, server, "--json").stdout)
            for file in (paper, paper / "second.json")
        ]
    assert Path("one/grade.json").read_text() == before
    assert both[0]["folder"] != both[1]["folder"] and [each["calls"] for each in both] == [3, 3]
    table = command("grades", both[0]["folder"], both[1]["folder"]).stdout
    assert "toy" in table and "second" in table
    Path("one/submission.json").write_text("[1]")
    with chat_server([]) as server:
        assert "cannot be a grading's folder" in str(grade(paper, server, "--out", "one").exception)


def test_a_file_name_that_is_no_unicode_is_shown_as_far_as_it_is(paper):
    Path(os.fsdecode(b"mine/a\xff.py")).write_text("loss = 2\n")
    with chat_server(by_criterion({"loss"})) as server:
        assert grade(paper, server).exit_code == 0
    assert "=== a?.py ===" in server.requests[0].prompt


@pytest.mark.parametrize("room", [60_000, 1_000])
def test_a_dry_run_counts_no_less_than_is_asked_and_nothing_of_earlier_gradings(paper, room):
    for number in range(300):
        Path(f"mine/module_with_a_long_name_{number}.py").write_text("loss = 2\n")

    def judge(request):
        return (
            word(1)
            if "They do not fit" not in request.prompt
            else json.dumps({"files": ["mine/main.py"]})
        )

    with chat_server(judge) as server:
        told = [".", "papers/toy", "--judge", "some", "--base-url", server.base_url, "--room", room]
        done = command("grade", *told, "--workers", 1)
        assert done.exit_code == 0, done.output
        planned = json.loads(command("grade", *told, "--dry-run", "--json").stdout)
        asked = sum(rough_tokens(request.prompt) for request in server.requests)
        calls = len(server.requests)
    assert (planned["calls"], planned["files"]) == (calls, 304) and planned["tokens"] >= asked


def test_what_fits_is_whole_and_what_does_not_ends_at_a_line(tmp_path):
    program = Sources({"a.py": "one\n" * 10, "b.py": "line of text\n" * 2_000})
    assert (
        all_of(program, 100_000).files == sorted(program.files.items())
        and all_of(program, 1000) is None
    )
    shown = the_best(program, ["b.py", "a.py", "b.py"], 1000)
    assert (
        shown.cut == "b.py"
        and shown.left_out == ["a.py"]
        and shown.files[0][1].endswith("line of text")
    )
    assert the_best(program, ["c.py"], 1000).files == []
    one_line = the_best(Sources({"a.json": "é" * 9_000}), ["a.json"], 1000)
    assert one_line.cut == "a.json" and one_line.files[0][1] == "é" * 1_500
    (tmp_path / "notes.rst").write_text("words")
    (tmp_path / "x.cu").write_text("__global__")
    (tmp_path / "data.csv").write_text("1,2")
    assert set(read_submission(str(tmp_path)).files) == {"notes.rst", "x.cu"}
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "main.py").write_text("x = 1")
    (tmp_path / "trial.json").write_text("{}")
    assert set(read_submission(str(tmp_path), [tmp_path.parent]).files) == {"main.py"}


def test_an_addendum_that_is_a_pointer_is_reported_and_a_paper_that_is_one_is_refused(paper):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:e69\nsize 106169\n"
    (paper / "addendum.md").write_text(pointer)
    Path("own.md").write_text(pointer)
    with chat_server(by_criterion({"loss"})) as server:
        assert "does not see addendum.md, pointers of Git LFS" in grade(paper, server).stderr
        assert "own.md is a pointer" in str(grade(paper, server, "--paper", "own.md").exception)


def test_a_notebook_is_read_without_its_pictures_and_what_is_too_large_is_reported(paper):
    cells = [{"cell_type": "code", "source": "draw(1)", "outputs": ["p" * 1_500_000]}]
    Path("mine/plots.ipynb").write_text(json.dumps({"cells": cells}))
    Path("mine/data.json").write_text("1" * 1_500_000)
    with chat_server(by_criterion({"loss"})) as server:
        told = grade(paper, server).stderr
    assert (
        "does not see 1 of the submission's files: data.json (larger than 1,000,000 bytes)" in told
    )
    assert "=== plots.py ===\ndraw(1)" in server.requests[0].prompt


def test_thousands_of_texts_and_what_is_passed_over_take_no_place_of_code(tmp_path, monkeypatch):
    monkeypatch.setattr("autoreproduce.evaluation.judging.submitted_code.MOST", 3)
    names = ["data/1.txt", "data/2.json", "data/3.md", "src/main.py", "src/x.hxx"]
    for name in [*names, "wandb/a.h", "wandb/b.h", "wandb/c.h"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
    program = read_submission(str(tmp_path))
    assert set(program.files) == {"data/1.txt", "src/main.py", "src/x.hxx"}
    assert program.unread == {"data/2.json": "beyond 3 files", "data/3.md": "beyond 3 files"}


def test_a_package_called_env_is_read_and_a_virtual_environment_is_not(tmp_path):
    for name in (
        "env/maze.py",
        "mine/pyvenv.cfg",
        "mine/include/a.h",
        "conda/conda-meta/x.json",
        "conda/lib/os.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    assert set(read_submission(str(tmp_path)).files) == {"env/maze.py"}


def test_a_judge_that_cannot_be_reached_leaves_the_leaves_not_graded(paper):
    with chat_server(lambda _: Answer(status=500)) as server:
        done = grade(paper, server)
    assert done.exit_code == 3 and "3 leaves were not graded" in done.stdout
