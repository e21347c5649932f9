"""The README says what is true: its graph is the program's, its flags and files exist, nothing is left to fill in."""

import re
from pathlib import Path

from typer.testing import CliRunner

from autoreproduce.cli import COMMANDS, app
from autoreproduce.tape import find_tape, read_tape

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_graph_is_the_one_that_the_program_prints() -> None:
    shown = re.search(r"```mermaid\n(.*?)```", README, re.DOTALL)
    assert shown
    assert shown[1].strip() == CliRunner().invoke(app, ["graph"]).output.strip()


def test_every_flag_exists() -> None:
    known = set().union(
        *(re.findall(r"--[a-z][a-z-]+", CliRunner().invoke(app, [name, "--help"]).output) for name in COMMANDS)
    )
    foreign = {"--git-dir", "--extra-index-url"}  # of git and pip
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) - foreign <= known


def test_every_folder_and_make_target_exists() -> None:
    for name in re.findall(r"^([a-z_]+/)  +", README, re.MULTILINE):
        assert (ROOT / name).is_dir(), name
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)", README)) <= targets


def test_the_table_of_tasks_is_what_the_task_folders_say() -> None:
    table = CliRunner().invoke(app, ["tasks", "--markdown"]).output.strip()
    assert table in README


def test_nothing_is_left_to_fill_in() -> None:
    assert "{{" not in README


def test_the_tape_is_of_the_day_that_the_readme_names() -> None:
    tape = find_tape("lsm", "small")
    assert tape is not None
    assert read_tape(tape).head.recorded in README
