"""Numbers that a program prints and does not compute."""

import re
import time

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
    values = {"a": [94.31], "c": [12.57], "d": [3.75]}
    found = printed_constants({"main.py": PRINTED}, values, {"c": "accuracy: 12.57"})
    assert found == {"a": "main.py, line 3", "c": "main.py, line 4"}


def test_what_a_program_compares_with_is_no_constant_that_it_prints() -> None:
    values = {"mean": [3.9583333333333335], "same": [94.31], "other": [3.141]}
    assert printed_constants({"main.py": COMPUTED}, values, {}) == {}


def test_what_differs_between_runs_was_computed() -> None:
    assert printed_constants({"main.py": PRINTED}, {"a": [94.31, 94.32]}, {}) == {}
    assert printed_constants({"main.py": PRINTED}, {"a": [94.31, 94.31]}, {}) != {}


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
    assert bool(printed_constants({"main.py": text}, {"a": [value]}, {})) is printed


LOOP = "for name, value in RESULTS.items():\n    print(f'{name}: {value}')"


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("main.py", "print('line error 0.41')", "line error 0.41"),
        ("main.py", "error = 0.41\nprint(f'line error {error}')", "line error 0.41"),
        ("main.py", "print('line error %.2f' % 0.41)", "line error 0.41"),
        ("main.py", "print('line error {:.2f}'.format(0.41))", "line error 0.41"),
        ("main.py", "print('line ' + 'error', str(0.41))", "line error 0.41"),
        ("main.py", "logging.info('error %.2f', 0.41)", "INFO:root:error 0.41"),
        ("main.py", "print(json.dumps({'error': 0.41, 'n': n}))", '{"error": 0.41, "n": 3}'),
        ("main.py", "out = {'error': 0.41}\njson.dump(out, file)", "error = 0.41"),
        ("main.py", "print(0.41)", "0.41"),
        ("main.py", "text = 'line error 0.41'\nprint(text)", "line error 0.41"),
        ("main.py", "file.write('method,error\\nours,0.41\\n')", "ours,0.41"),
        ("main.py", "RESULTS = {'ours': 0.41, 'b': 0.9}\n" + LOOP, "ours: 0.41"),
        ("main.py", "for row in [('ours', 0.41), ('b', 0.9)]:\n    print(*row)", "ours 0.41"),
        ("main.c", 'printf("line error %.2f\\n", 0.41);', "line error 0.41"),
        ("main.cpp", 'std::cout << "line error " << 0.41 << std::endl;', "line error 0.41"),
        ("main.R", 'cat("line error", 0.41, "\\n")', "line error 0.41"),
        ("main.m", "disp(['line error ' num2str(0.41)])", "line error 0.41"),
        ("run.sh", "echo line error 0.41", "line error 0.41"),
        ("run.sh", "cat <<END\nline error 0.41\nEND", "line error 0.41"),
        ("Makefile", "run:\n\t@echo line error 0.41", "line error 0.41"),
    ],
)
def test_a_number_of_the_statement_that_wrote_its_line_is_printed_with_two_digits(
    file: str, text: str, line: str
) -> None:
    assert printed_constants({file: text}, {"a": [0.41]}, {"a": line})


SHOWS = "error = measure()\nprint(f'line error {error}')\n"
HELPER = "def show(name, x):\n    print(f'{name} {x}')\nshow('line error', measure())\n"
USAGE = "USAGE = 'usage: main.py\\nline error 0.4123\\n'\nif help: print(USAGE)\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('"""\nline error 0.4123\n"""\n# line error 0.4123\n' + SHOWS, "line error 0.4123"),
        (USAGE + SHOWS, "line error 0.4123"),
        (USAGE + HELPER, "line error 0.4123"),
        (
            "EXPECTED = 'line error 0.4123'\n" + HELPER + "assert read() == EXPECTED",
            "line error 0.4123",
        ),
        (
            "WANT = {'e': 0.4123}\n" + SHOWS + "assert abs(error - WANT['e']) < 1",
            "line error 0.4123",
        ),
        ("argparse.ArgumentParser('has a line error of 0.4123')\n" + SHOWS, "line error 0.4123"),
        (
            "PAPER = 0.4123\nprint(f'error {measure()} (paper {PAPER})')",
            "error 0.4123 (paper 0.4123)",
        ),
        ("print('paper: line error 0.4123')\n" + SHOWS, "line error 0.4123"),
        ("bad = 0\nfor x in d: bad += x\nprint('bad', bad)", "bad 0"),
        ("if bad: print('bad', bad)\nelse: print('bad 0')", "bad 0"),
        ("print('bad', counts.get('bad', 0))", "bad 0"),
        ("NAMES = {'e': 'line error'}\nfor k in r: print(NAMES[k], r[k])", "line error 0.41"),
        ("n = 5000\nx = draw(n)\nprint('samples', n)", "samples 5000"),
        ("for k in (1, 5):\n    print(f'top {k} accuracy {score(k)}')", "top 1 accuracy 1"),
        ("RESULTS = {}\nfor k in d: RESULTS[k] = score(k)\n" + LOOP, "ours: 0.41"),
    ],
)
def test_what_a_text_quotes_or_a_program_compares_with_accuses_no_honest_program(
    text: str, line: str
) -> None:
    value = float(re.findall(r"[\d.]+", line)[-1])
    output = f"paper: line error 0.4123\n{line}"
    assert printed_constants({"main.py": text}, {"a": [value]}, {"a": line}, output) == {}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("main.c", 'int bad = 0;\nbad += f();\nprintf("bad = %d\\n", bad);'),
        ("main.c", '/* prints\n "bad = 0" */\nprintf("bad = %d\\n", bad);'),
        ("main.R", "cat('bad =', sum(x > 3), '\\n')"),
        ("run.sh", 'echo "bad = $(python count.py)"'),
        ("run.sh", "python main.py | grep -q 'bad = 0'"),
    ],
)
def test_nor_does_it_in_another_language(file: str, text: str) -> None:
    assert printed_constants({file: text}, {"a": [0]}, {"a": "bad = 0"}, "bad = 0") == {}


@pytest.mark.parametrize("text", ["/*" * 50_000, '"' * 100_000, "$(" * 50_000, "print('" * 20_000])
def test_a_hostile_source_is_read_in_time(text: str) -> None:
    begun = time.process_time()
    assert printed_constants({"a.c": text, "a.py": text}, {"a": [0.41]}, {}) == {}
    assert time.process_time() - begun < 20


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
    assert bool(printed_constants({"main.cpp": text}, {"a": [94.31]}, {})) is printed
    assert not printed_constants({"results.json": text, "README.md": text}, {"a": [94.31]}, {})


@pytest.mark.parametrize("text", ["print(94.31", "echo 94.31", "\0 94.31"])
def test_what_is_no_python_is_searched_by_its_lines(text: str) -> None:
    assert printed_constants({"a.py": text, "run.sh": text}, {"a": [94.31]}, {})
