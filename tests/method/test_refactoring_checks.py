"""What refactoring may not change, and what it must take away."""

import ast

import pytest

from autoreproduce.method.refactoring import essential, numbers, rewrite_problem, without_check

WORKS = """
import argparse
LR = 1e-3
def train(epochs=20, dry_run=False):
    for epoch in range(epochs):
        for i in range(100):
            if dry_run and i >= 7:  # dry run
                break  # dry run
        print(f"{epoch} {LR:.4f}")
parser = argparse.ArgumentParser()
parser.add_argument("--dry-run", action="store_true")  # dry run
"""
CLEAN = '''
"""Trains."""
LR = 1e-3
def train(epochs=20):
    for epoch in range(epochs):
        for i in range(100):
            pass
        print(f"{epoch} {LR:.4f}")
'''


def test_a_clean_program_with_the_same_numbers_is_taken() -> None:
    assert rewrite_problem(WORKS, CLEAN) == ""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("LR = 1e-3", "LR = 1e-4", "lost: 0.001 (line 3); new: 0.0001 (line 3 of yours)"),
        ("epochs=20", "epochs=5", "new: 5 (line 4 of yours)"),
        ("range(100)", "range(len(data))", "lost: 100 (line 6)"),
        ('"""Trains."""', "dry_run = False", "dry run is still there"),
        ("def train", "def train(", "does not parse"),
    ],
)
def test_a_change_that_bears_on_the_result_is_refused(old: str, new: str, said: str) -> None:
    assert said in rewrite_problem(WORKS, CLEAN.replace(old, new))


def test_numbers_leave_out_formats_and_trivial_ones() -> None:
    assert numbers(ast.parse("x = [0, 1, 2, 3.5, -4]; print(f'{x:10.3f}'); y = True")) == {
        3.5: 1,
        4.0: 1,
    }


def test_marked_statements_do_not_count_and_the_loop_around_them_does() -> None:
    source = "for i in range(9):\n    if dry and i > 5:  # dry run\n        break  # dry run\nn = min(\n    7, m)  # dry run\nprint(i)\n"
    assert set(numbers(essential(source))) == {9.0}
    assert set(numbers(ast.parse(source))) == {9.0, 5.0, 7.0}


def test_checks_that_only_raise_may_go_with_the_names_that_only_they_used() -> None:
    source = (
        "N, SIZE = 200, 43\nK = 7\nassert K > 5\nif n != N:\n    raise ValueError(N)\nprint(SIZE)\n"
    )
    assert set(numbers(essential(source))) == {43.0}


def test_the_check_at_the_end_goes_and_nothing_else() -> None:
    source = "def f():\n    return 3\n\n\nif __name__ == '__main__':\n    print(f())\n"
    assert without_check(source) == "def f():\n    return 3\n"
    assert without_check("x = 3\n") == "x = 3\n"


def test_separators_inside_a_line_end_none() -> None:
    source = "A = 'x\u2028y'\nB = 1\n\x0c\nif __name__ == '__main__':\n    print(A)\nC = 3\n"
    assert without_check(source) == "A = 'x\u2028y'\nB = 1\nC = 3\n"
    assert 7.0 not in numbers(essential("A = 'x\u2028y'\nprint(7)  # dry run\n"))
