"""Numbers that a program prints and does not compute."""

import pytest

from autoreproduce.runner.late_findings import printed_constants

PRINTED = """
import json
RESULTS = {"a": 94.31, "b": 0.8712}
print("accuracy: 12.57")
json.dump({"metrics": RESULTS}, open("metrics.json", "w"))
"""
COMPUTED = '''
"""The paper has 94.31."""
from math import isclose
values = [1.5, 2.25, 8.125]
mean = sum(values) / len(values)
assert mean > 3.141
if mean != 94.31 or isclose(mean, 94.31):
    print("not the paper's")
'''


def test_a_number_of_the_source_text_is_printed_and_not_computed() -> None:
    found = printed_constants({"main.py": PRINTED}, {"a": [94.31], "c": [12.57], "d": [3.75]})
    assert found == {"a": "main.py, line 3", "c": "main.py, line 4"}


def test_what_a_program_compares_with_is_no_constant_that_it_prints() -> None:
    values = {"mean": [3.9583333333333335], "same": [94.31], "other": [3.141]}
    assert printed_constants({"main.py": COMPUTED}, values) == {}


def test_what_differs_between_runs_was_computed() -> None:
    assert printed_constants({"main.py": PRINTED}, {"a": [94.31, 94.32]}) == {}
    assert printed_constants({"main.py": PRINTED}, {"a": [94.31, 94.31]}) != {}


@pytest.mark.parametrize(
    ("text", "value", "printed"),
    [
        ("print(f'{0.88314:.4f}')", 0.8831, True),
        ("acc = 88.31\nprint(acc / 100)", 0.8831, True),
        ("print(round(100 * 0.883149, 2))", 88.31, True),
        ("print(8.8314)", 0.8831, False),
        ("pi = 3.14159265358979", 3.142, False),
        ("print(0.8836)", 0.8831, False),
    ],
)
def test_a_constant_may_be_printed_rounded_or_as_a_share(
    text: str, value: float, printed: bool
) -> None:
    assert bool(printed_constants({"main.py": text}, {"a": [value]})) is printed


def test_one_number_of_three_digits_may_be_a_coincidence() -> None:
    files = {"main.py": "RATE = 0.125\nprint(0.453)\nprint(0.211)"}
    assert printed_constants(files, {"a": [0.125], "b": [3.1], "c": [0.7134]}) == {}
    assert set(printed_constants(files, {"a": [0.453], "b": [0.211]})) == {"a", "b"}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ('std::cout << "mean " << 94.31; // as computed', True),
        ("#define MEAN 94.31", True),
        ("mean <- 94.31  # of all", True),
        ("x = 1;  // the paper has 94.31", False),
        ("# the paper has 94.31", False),
        ("assert(fabs(mean - 94.31) < 0.01);", False),
        ("if (mean == 94.31) return;", False),
    ],
)
def test_other_languages_are_searched_without_comments_and_checks(text: str, printed: bool) -> None:
    assert bool(printed_constants({"main.cpp": text}, {"a": [94.31]})) is printed
    assert not printed_constants({"results.json": text, "README.md": text}, {"a": [94.31]})


@pytest.mark.parametrize("text", ["print(94.31", "echo 94.31", "\0 94.31"])
def test_what_is_no_python_is_searched_by_its_lines(text: str) -> None:
    assert printed_constants({"a.py": text, "run.sh": text}, {"a": [94.31]})
