import ast
import json
import os
import subprocess

import pytest
from report_trials import call, darcy, metrics, record, run, whole_trial
from trial_results import facts_of, rewrite, trial_result

from autoreproduce.errors import UsageError
from autoreproduce.evaluation.report.versions import installed, requirements
from autoreproduce.evaluation.result_folder import write_result
from autoreproduce.files.bounded import imported_modules
from autoreproduce.trials.metrics_file import parse_metrics
from autoreproduce.trials.steps import InstallResult
from autoreproduce.trials.trial import Trial


def test_a_good_trial_gives_a_folder_to_keep(good_trial):
    folder = write_result(good_trial, darcy())
    assert sorted(p.name for p in folder.iterdir()) == [
        "README.md",
        "data.py",
        "main.py",
        "method.py",
        "metrics.json",
        "requirements.txt",
    ]
    for path in folder.glob("*.py"):
        ast.parse(path.read_text())
    assert "training in full" in (folder / "main.py").read_text()
    found = parse_metrics((folder / "metrics.json").read_text())
    assert found.metrics == {"relative_l2": 0.0318} and len(found.history) == 20
    lines = (folder / "requirements.txt").read_text().splitlines()
    assert [line.partition("  #")[0] for line in lines] == [
        "einops==0.8.1",
        "numpy==2.4.6",
        "torch==2.13.0",
    ]


def test_its_readme_says_what_it_is_and_is_not(good_trial):
    text = (write_result(good_trial, darcy()) / "README.md").read_text()
    words = " ".join(text.split())
    for expected in (
        "# Reproduction of Solving High-Dimensional PDEs with Latent Spectral Models",
        "**The program does as well as our reference on a small version",
        "[arXiv 2301.12664](https://arxiv.org/abs/2301.12664)",
        "- The paper's own number is not tested, since the data are a stand-in",
        "| The paper's own number | 0.0065 |",
        "## What was not reproduced - the paper's own setting",
        "python main.py ```",
        "Solver autoreproduce, model openai:some-model",
    ):
        assert expected in words, expected
    assert "\n\n\n" not in text and "{{" not in text


def test_its_readme_asks_for_data_only_if_the_program_reads_them(good_trial, tmp_path):
    text = (write_result(good_trial, None) / "README.md").read_text()
    assert "DATA_DIR=/path/to/the/data" in text
    trial = Trial.open(tmp_path / "own", record())
    trial.phase("full_run")
    run(trial, "python main.py", metrics_json=json.dumps(metrics()))
    (trial.workspace / "main.py").write_text("import random\nprint(random.random())\n")
    trial.write_result(trial_result(status="measured", reason="it ran", metrics={"loss": 0.1}))
    trial.close()
    text = (write_result(trial.folder, None) / "README.md").read_text()
    assert "DATA_DIR" not in text
    assert "makes its data itself" in text


def test_its_readme_names_every_number(good_trial):
    more = {"relative_l1": 0.0211, "seconds_an_epoch": 3.5}
    rewrite(good_trial, metrics=facts_of(good_trial)["metrics"] | more)
    text = (write_result(good_trial, darcy()) / "README.md").read_text()
    assert "in `metrics.json`: relative_l1 0.0211, seconds_an_epoch 3.5" in text


def test_the_readme_is_sound_markdown(good_trial):
    from markdown_it import MarkdownIt

    text = (
        write_result(good_trial, darcy(title="A | <b>title</b>\n# twice")) / "README.md"
    ).read_text()
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert html.count("<h1>") == 1 and "<b>" not in html
    assert html.count("<tr>") == 6 and html.count("<h2>") == 6


def test_the_program_is_the_committed_one_and_no_link_is_followed(good_trial, tmp_path):
    (tmp_path / "secret.py").write_text("KEY = 'sk-secret'")
    space = good_trial / "workspace"
    (space / "data.py").unlink()
    (space / "data.py").symlink_to(tmp_path / "secret.py")
    (space / "other.py").write_text("left by the program")
    folder = write_result(good_trial, darcy())
    assert "def load" in (folder / "data.py").read_text()
    assert not (folder / "other.py").exists()


def test_a_committed_link_is_left_out(good_trial):
    space = good_trial / "workspace"
    (space / "link.py").symlink_to("/etc/passwd")
    git = [
        "git",
        f"--git-dir={good_trial}/history.git",
        f"--work-tree={space}",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
    ]
    subprocess.run([*git, "add", "-f", "link.py"], check=True, cwd=space)
    subprocess.run(
        [*git, "commit", "-qm", "a link"], check=True, cwd=space, env={"PATH": os.environ["PATH"]}
    )
    assert not (write_result(good_trial, darcy()) / "link.py").exists()


def test_a_dry_runs_numbers_are_not_given_as_results(tmp_path):
    trial = Trial.open(tmp_path / "t", record())
    trial.phase("experiment_execution")
    run(trial, "python main.py --dry-run", metrics_json=json.dumps(metrics(1, 0.9)))
    (trial.workspace / "metrics.json").write_text(json.dumps(metrics(1, 0.9)))
    (trial.workspace / "main.py").write_text("import json\n")
    trial.write_result(
        trial_result(status="failed", reason="20 tries", phase="experiment_execution")
    )
    trial.close()
    folder = write_result(trial.folder, darcy())
    assert not (folder / "metrics.json").exists()
    text = (folder / "README.md").read_text()
    assert "Did not run: experiment execution failed, 20 tries." in text
    assert "no full run wrote one" in text and "no command is known to work" in text


def test_a_solver_without_a_history_still_has_its_program_taken(tmp_path):
    trial = Trial.open(tmp_path / "t", record(solver="reference"))
    trial.phase("full_run")
    (trial.workspace / "main.py").write_text("import numpy\n")
    (trial.workspace / "metrics.json").write_text(json.dumps(metrics()))
    run(trial, "python main.py --seed 0")
    trial.write_result(
        trial_result(status="measured", reason="it ran in full", phase="full_run", metric=0.0318)
    )
    trial.close()
    folder = write_result(trial.folder, darcy())
    assert {p.name for p in folder.iterdir()} == {
        "main.py",
        "metrics.json",
        "requirements.txt",
        "README.md",
    }


def test_an_empty_folder_gets_a_readme_and_a_missing_one_an_error(tmp_path):
    assert "Not finished" in (write_result(tmp_path, None) / "README.md").read_text()
    with pytest.raises(UsageError):
        write_result(tmp_path / "none", None)


def test_writing_twice_keeps_what_a_person_added(good_trial):
    folder = write_result(good_trial, darcy())
    (folder / "notes.txt").write_text("mine")
    first = (folder / "README.md").read_text()
    write_result(good_trial, darcy())
    assert (folder / "notes.txt").read_text() == "mine" and (
        folder / "README.md"
    ).read_text() == first


def test_installs_are_read_off_what_pip_and_uv_print(tmp_path):
    trial = Trial.open(tmp_path / "t", record())
    trial.phase("method_replication")
    run(
        trial,
        "pip install einops",
        kind=InstallResult,
        stdout="Collecting\nSuccessfully installed einops-0.8.1 my-pkg-2.0\n",
    )
    run(
        trial,
        "uv pip install scikit-learn",
        kind=InstallResult,
        stderr="Resolved 3\n + scikit-learn==1.7.2\n - numpy==1.0\n",
    )
    run(
        trial,
        "pip install broken",
        1,
        kind=InstallResult,
        stdout="Successfully installed broken-1.0\n",
    )
    run(trial, "python x.py", stdout="Successfully installed fake-1.0\n")
    call(trial, "code", "x")
    trial.close()
    assert installed(trial.steps) == {"einops": "0.8.1", "my-pkg": "2.0", "scikit-learn": "1.7.2"}
    lines = requirements({"a.py": "import einops, yaml"}, trial.steps, {})
    assert lines[0] == "einops==0.8.1  # installed in the trial"
    assert lines[1].startswith("PyYAML==") and "as on the machine" in lines[1]


def test_imports_are_those_of_others():
    files = {
        "main.py": "import os, json\nimport numpy as np\nfrom torch import nn\nfrom data import load\nfrom . import x",
        "more.py": "import unheard_of.part",
        "data.py": "import scipy.stats\n",
        "broken.py": "def (",
    }
    assert imported_modules(files) == ["numpy", "scipy", "torch", "unheard_of"]
    assert "unheard_of  # the program imports unheard_of; distribution" in "\n".join(
        requirements(files, [], {})
    )


def test_a_replay_is_stated_in_the_readme(tmp_path):
    folder = whole_trial(
        tmp_path / "t", trial_record=record(replayed={"model": "m-1", "recorded": "2026-11-19"})
    )
    assert "> **Replayed.**" in (write_result(folder, darcy()) / "README.md").read_text()
