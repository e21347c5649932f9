"""`mask --suggest`: what could be made of a repository, before anything long starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from autoreproduce.plugins.masked.commands import app
from autoreproduce.plugins.masked.python_source import parse
from autoreproduce.plugins.masked.suggest import likely_commands, packages

TRAIN = """\
import argparse, json
import numpy_like_thing
from lib.steps import mean

parser = argparse.ArgumentParser()
parser.add_argument('--seed', type=int, default=0)
if __name__ == "__main__":
    seed = parser.parse_args().seed
    open_me = "data/points.csv"
    print(json.dumps({"mean": mean([1.0, 2.0, seed])}))
"""
STEPS = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
README = (
    "Run it:\n\n    $ python train.py --seed 1\n    python missing.py\n\npython is a language\n"
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "r" / "lib").mkdir(parents=True)
    (tmp_path / "r" / "train.py").write_text(TRAIN)
    (tmp_path / "r" / "plot.py").write_text("import sys\nprint('no numbers')\n")
    (tmp_path / "r" / "lib" / "steps.py").write_text(STEPS)
    (tmp_path / "r" / "README.md").write_text(README)
    return tmp_path / "r"


def test_commands_of_the_readme_come_first_and_packages_are_no_files(repository: Path) -> None:
    files = ["README.md", "plot.py", "train.py", "lib/steps.py"]
    trees = {
        name: parse((repository / name).read_text(), name) for name in files if name[-3:] == ".py"
    }
    found = list(likely_commands(repository, files, trees))
    assert found == ["python train.py --seed 1", "python plot.py"]
    assert packages(files, trees) == ["numpy_like_thing"]
    (repository / "README.md").write_text("")
    found = list(likely_commands(repository, files, trees))
    assert found == ["python train.py --seed {seed}", "python plot.py"]


@pytest.mark.slow
def test_a_proposal_ends_with_the_line_that_starts(repository: Path, tmp_path: Path) -> None:
    asked = ["mask", str(repository), "--suggest", "--sandbox", "process"]
    asked += ["--cache-dir", str(tmp_path / "cache")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, (done.output, done.exception)
    assert "a package or program is missing" in done.output
    assert "data: data/points.csv (missing)" in done.output
    assert "next: name a command that ends with numbers" in done.output
    (repository / "train.py").write_text(TRAIN.replace("import numpy_like_thing\n", ""))
    done = CliRunner().invoke(app, asked)
    assert "lib/steps.py::mean" in done.output and "packages: none" in done.output
    last = done.output.strip().splitlines()[-1]
    assert last == (f"next: autoreproduce mask {repository} --command 'python train.py --seed 1'")


@pytest.mark.slow
def test_a_file_of_results_and_the_data_are_in_the_line_that_starts(
    repository: Path, tmp_path: Path
) -> None:
    printed = 'print(json.dumps({"mean": mean([1.0, 2.0, seed])}))'
    written = """import os
    os.mkdir("out")
    Path("out/end.json").write_text(json.dumps({"mean": mean([1.0, 2.0, seed])}))
    Path("a.json").write_text('{"note": "no number"}')"""
    program = TRAIN.replace(printed, written).replace(
        "import numpy_like_thing", "from pathlib import Path"
    )
    (repository / "train.py").write_text(program)
    (repository / "config.json").write_text('{"epochs": 3}')
    data = tmp_path / "data"
    data.mkdir()
    asked = ["mask", str(repository), "--suggest", "--sandbox", "process", "--data", str(data)]
    done = CliRunner().invoke(app, [*asked, "--cache-dir", str(tmp_path / "cache")])
    assert done.exit_code == 0, (done.output, done.exception)
    assert "ends with numbers in out/end.json in " in done.output
    last = done.output.strip().splitlines()[-1]
    assert last.endswith(
        f"--command 'python train.py --seed 1' --results out/end.json --data {data}"
    )
    done = CliRunner().invoke(app, [*asked, "--results", "none.json"])
    assert "none.json was not written" in done.output and "next: name a command" in done.output
