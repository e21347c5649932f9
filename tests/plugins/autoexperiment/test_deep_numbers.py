"""Numbers that a program prints nested without end, or too long for a float, are a failed result."""

import json
from collections.abc import Callable

import pytest

from autoreproduce.plugins.autoexperiment.benchmark import measurement_of
from autoreproduce.plugins.autoexperiment.compare import paths_of
from autoreproduce.plugins.autoexperiment.outcome import outcome_of
from autoreproduce.plugins.autoexperiment.parsing import Read, read_output, read_results_file
from autoreproduce.plugins.autoexperiment.running import Ran
from autoreproduce.plugins.autoexperiment.tasks import masked_task, shipped


def in_lists(depth: int) -> str:
    return '{"step sizes": ' + "[" * depth + "1" + "]" * depth + "}"


def in_dicts(depth: int) -> str:
    return '{"step sizes": ' * depth + "1" + "}" * depth


def in_python(depth: int) -> str:
    return in_lists(depth).replace('"', "'")


DEPTHS = (30, 90, 300, 600, 940, 990)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("printed", [in_lists, in_dicts, in_python])
@pytest.mark.parametrize("wanted", [None, {"step sizes": [1.0]}])
def test_output_nested_too_deep_has_no_numbers(
    depth: int, printed: Callable[[int], str], wanted: object
) -> None:
    read = read_output(printed(depth), wanted)
    assert read.value is None
    if printed is not in_python and depth < 900:  # beyond, a parser of its own refuses it
        assert "its numbers are nested too deep" in read.how


def test_a_results_file_nested_too_deep_has_no_numbers() -> None:
    for depth in DEPTHS:
        read = read_results_file(in_lists(depth).encode(), {"step sizes": 1})
        assert read.value is None and "deep" in read.how


@pytest.mark.parametrize(
    "printed", [in_lists(20), in_lists(300), '{"step sizes": ' + "9" * 4000 + "}"]
)
def test_whatever_was_printed_is_judged_and_stored(printed: str) -> None:
    task = masked_task(shipped(), "adaptive-rate_0")
    read, ran = read_output(printed, task.gold["Experiment 1"]), Ran()
    if read.value is None:
        ran.failed = dict.fromkeys(task.gold, ("no numbers", read.how))
    else:
        ran.numbers = dict.fromkeys(task.gold, read.value)
    found = outcome_of(task, {0: ran})
    assert not found.strict.passed and found.kind in ("no numbers", "wrong numbers")
    measured = measurement_of(found)
    assert json.loads(measured.model_dump_json())
    assert measured.summary["ran"] == (read.value is not None)  # it isn't that it didn't run


def test_numbers_as_deep_as_real_ones_are_read() -> None:
    read = read_output(in_lists(5), {"step sizes": 1})
    assert isinstance(read, Read) and paths_of(read.value) == {"step sizes/0/0/0/0/0": 1}
