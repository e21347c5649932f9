"""What a plan's run needs and leaves: packages, several commands, notebooks, and what was tried."""

import json
import subprocess
from pathlib import Path

import pytest
from chat_server import chat_server
from sandbox_fixtures import settings_for
from test_bad_input import CLAIMS, NOTEBOOK, code_with
from trial_results import verdict_of

from autoreproduce.files.notebooks import notebook_errors
from autoreproduce.plugins.verify.run_plan import RunPlan
from autoreproduce.plugins.verify.runnable import declared_packages
from autoreproduce.plugins.verify.verify import verify, verify_job
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.sandboxes.package_lists import cap, last_commit

MEAN = "print('mean', (1.5 + 2.25 + 8.125) / 3)\n"
PLACE = {"id": "estimator_mean", "file": "stdout", "line": 1, "number": 1}


def found_at(line: int, text: str = "mean 3.9583333333333335") -> str:
    return json.dumps({"places": [{**PLACE, "line": line, "text": text}]})


def verified(
    folder: Path, code: Path, replies: list[str], **more: object
) -> tuple[Reproduction, list[str]]:
    """What comes of these replies, and the prompts."""
    with chat_server(replies) as server:
        settings = settings_for(
            "process",
            runs_dir=folder / "runs",
            cache_dir=folder / "cache",
            model="any",
            base_url=server.base_url,
            **more,
        )
        [done] = verify(code, settings=settings, paper=folder / "paper.md")
        return done, [request.prompt for request in server.requests]


@pytest.mark.slow
def test_packages_that_cannot_be_installed_cost_no_run_and_are_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    code = code_with(tmp_path, main__py=MEAN)
    missing = json.dumps({"command": "python main.py", "packages": ["nothing-there==1.0"]})
    plain = json.dumps({"command": "python main.py"})
    done, prompts = verified(tmp_path, code, [CLAIMS, missing, missing, plain, found_at(1)])
    assert "Nothing was run: its packages can't be installed" in prompts[2]
    assert verdict_of(done.path).claims[0].verdict.word == "reproduced"
    steps = (done.path / "steps.jsonl").read_text()
    assert steps.count('"name":"install"') == 2  # the list once, and back to none
    assert steps.count('"run 1"') == 1 and '"run 2"' not in steps
    tried = [what for what, _ in done.result.details["sections"]["What was tried before"]]
    assert tried == 2 * ["Packages: nothing-there==1.0"]


@pytest.mark.slow
def test_nothing_is_run_where_no_list_installs_and_the_page_says_what_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    code = code_with(tmp_path, main__py=MEAN)
    lists = [["nothing-there"], ["nothing-there==2"], ["other-thing"]]
    plans = [json.dumps({"command": "python main.py", "packages": each}) for each in lists]
    done, _ = verified(tmp_path, code, [CLAIMS, *plans])
    assert done.result.reason.startswith("its packages can't be installed, so nothing was run")
    page = (done.path / "report.html").read_text()
    assert "What was tried" in page and "Packages: nothing-there==2" in page
    assert "The numbers that were looked for" in page and "3.958333" in page


@pytest.mark.slow
def test_a_failed_run_keeps_its_plan_notes_and_refused_patches(tmp_path: Path) -> None:
    code = code_with(tmp_path, main__py="x = 1\nraise ValueError('odd')\n")
    patch = {"file": "main.py", "old": "x = 1", "new": "x = 2", "why": "a guess"}
    plans = [json.dumps({"command": f"python main.py {n}", "patches": [patch]}) for n in range(3)]
    done, _ = verified(tmp_path, code, [CLAIMS, *plans])
    page = (done.path / "report.html").read_text()
    for text in ("python main.py 0", "ValueError: odd", "Refused changes", "a guess"):
        assert text in page
    assert len(done.result.details["sections"]["What was tried"]) == 3


@pytest.mark.slow
def test_several_commands_run_once_each_and_their_output_is_one(tmp_path: Path) -> None:
    count = "open('runs.txt', 'a').write('x')\n"
    code = code_with(tmp_path, first__py=count + "print('first')\n", second__py=count + MEAN)
    commands = [
        {"command": "python first.py", "shows": "Table 1"},
        {"command": "python second.py && wc -c runs.txt", "shows": "Table 2"},
    ]
    plan = json.dumps({"commands": commands})
    done, prompts = verified(tmp_path, code, [CLAIMS, plan, found_at(2)], seeds=2)
    shown = prompts[2]
    assert "1: first" in shown and "2: mean 3.958" in shown and "3: 2 runs.txt" in shown
    assert verdict_of(done.path).claims[0].verdict.repeats == 2
    assert [line for line, _ in done.result.details["sections"]["What was run"]] == [
        "python first.py: Table 1",
        "python second.py && wc -c runs.txt: Table 2",
    ]


@pytest.mark.slow
def test_a_command_that_fails_stops_no_other(tmp_path: Path) -> None:
    code = code_with(tmp_path, main__py=MEAN)
    plan = json.dumps({"commands": ["python none.py", "python main.py"]})
    plans = 3 * [plan]
    done, _ = verified(tmp_path, code, [CLAIMS, *plans, found_at(1)])
    assert verdict_of(done.path).claims[0].verdict.values == (pytest.approx(3.958333),)
    assert any("partial: it ended with an error" in each for each in done.result.warnings)


@pytest.mark.parametrize(("first", "code"), [("true", 0), ("exit 3", 3), ("false", 1)])
def test_commands_as_one_line_fail_if_one_does(first: str, code: int) -> None:
    line = RunPlan.model_validate({"commands": [first, "echo done"]}).command
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (code, "done\n")


BROKEN = {
    "output_type": "error",
    "ename": "NameError",
    "evalue": "name 'data' is not defined",
    "traceback": [],
}


@pytest.mark.parametrize("errors", [0, 1, 2])
def test_a_notebooks_errors_are_named_by_cell(errors: int) -> None:
    good = {**NOTEBOOK["cells"][0], "outputs": []}
    cells = [good, {"cell_type": "markdown"}, *errors * [{**good, "outputs": [BROKEN]}]]
    found = notebook_errors({"a.ipynb": json.dumps({"cells": cells}), "b.ipynb": "[", "c.txt": ""})
    assert found == [
        f"a.ipynb, code cell {n + 2}: NameError: name 'data' is not defined" for n in range(errors)
    ]


def test_errors_of_a_notebook_are_never_hidden() -> None:
    with pytest.raises(ValueError, match="hides a notebook's errors"):
        RunPlan.model_validate({"command": "jupyter nbconvert --execute --allow-errors a.ipynb"})


@pytest.mark.slow
def test_cells_that_failed_are_the_outcome_though_the_command_ended_well(tmp_path: Path) -> None:
    good = {**NOTEBOOK["cells"][0], "outputs": []}
    book = json.dumps({**NOTEBOOK, "cells": [{**good, "outputs": [BROKEN]}]})
    code = code_with(tmp_path, main__py=f"open('out.ipynb', 'w').write({book!r})\n" + MEAN)
    done, _ = verified(tmp_path, code, [CLAIMS, '{"command": "python main.py"}', found_at(1)])
    said = "a notebook's cell failed: out.ipynb, code cell 1: NameError"
    assert any(said in each for each in done.result.warnings)


def test_packages_without_a_version_are_of_the_codes_age(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=b@c"]
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\nsetup(install_requires=['numpy'])"
    )
    assert last_commit(tmp_path) == "" and declared_packages(tmp_path).file == "setup.py"
    when = {"GIT_COMMITTER_DATE": "2019-05-01T12:00:00", "PATH": "/usr/bin:/bin:/usr/local/bin"}
    for command in (["init", "-q"], ["add", "."], [*git[1:], "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env=when)
    assert last_commit(tmp_path) == "2019-05-01"
    assert cap("2019-05-01", "3.6") == "2019-05-31"
    assert cap("2019-05-01", "3.11") == "2023-12-01"  # 3.11 had no packages in 2019
    assert cap("", "3.11") == "" and cap("2999-01-01", "3.11") == ""


@pytest.mark.slow
def test_without_a_model_any_list_of_the_code_is_read_and_a_way_on_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    code = code_with(tmp_path, main__py="import nothing_there\n")
    asked = {
        "settings": settings_for("process", runs_dir=tmp_path / "runs", cache_dir=tmp_path / "c"),
        "paper": tmp_path / "paper.md",
        "claims": ["estimator: mean = 3.958333"],
        "run": "python main.py",
        "metric_from": ["estimator_mean=stdout:mean"],
    }
    [scored] = verify(code, **asked)
    result = json.loads((scored.path / "result.json").read_text())
    assert (
        "list nothing_there's package in a file, and name that with --requirements"
        in json.dumps(result)
    )
    (code / "pyproject.toml").write_text('[project]\ndependencies = ["nothing-there"]\n')
    assert verify_job(code, **asked).of_program.requirements == code / "pyproject.toml"
