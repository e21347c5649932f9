"""The house stays one that a stranger finds their way in: rooms, layers, sizes, names."""

import tomllib
from importlib.metadata import distribution

import pytest
import rooms

pytestmark = pytest.mark.house


def test_rooms_are_few_and_each_has_its_layer() -> None:
    known = {name for names in rooms.LAYERS for name in names} | {rooms.FACE}
    assert {name for name in rooms.rooms() if not name.startswith("plugins/")} <= known
    assert len(rooms.rooms()) <= 30
    assert len(rooms.loose()) <= 7


def test_imports_run_one_way_for_types_too() -> None:
    assert rooms.upward() == []
    assert rooms.circles() == []


def test_one_class_reads_the_folders_of_trials() -> None:
    assert rooms.trial_readers() == ["trials/summary.py"]


def test_modules_and_functions_have_a_readable_size() -> None:
    assert rooms.long_modules() == []
    assert {name: n for name, n in rooms.function_lengths().items() if n > 80} == {}


def test_a_name_means_one_thing() -> None:
    assert rooms.shared_class_names() == {}
    assert rooms.shared_helper_names() == {}


def test_no_package_outgrows_its_budget() -> None:
    assert rooms.over_budget() == {}, "shrink it, or raise its line and say why in the commit"
    listed, there = set(tomllib.loads(rooms.BUDGET.read_text())), set(rooms.lines_by_room())
    assert there <= listed
    assert {name for name in listed - there if not name.startswith("plugins/")} == set()


def test_the_installed_plugins_are_those_of_pyproject() -> None:
    project = tomllib.loads((rooms.PACKAGE.parent / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"]["autoreproduce.plugins"]
    installed = {
        point.name: point.value
        for point in distribution("autoreproduce").entry_points
        if point.group == "autoreproduce.plugins"
    }
    assert installed == declared, "install the package again: pip install -e ."
