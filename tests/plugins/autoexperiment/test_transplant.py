"""From a submission into a clean copy: bodies and the helpers they need, nothing else."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from autoreproduce.errors import SourceError
from autoreproduce.plugins.autoexperiment.masking import Wanted, mask, mask_files, stub
from autoreproduce.plugins.autoexperiment.python_source import PythonSource
from autoreproduce.plugins.autoexperiment.transplant import (
    Transplanted,
    left_behind,
    transplant,
    transplant_files,
)

CLEAN = dedent('''\
    """A module."""
    import os
    from math import sqrt

    RATE = 0.1


    class Base:
        pass


    class Model(Base):
        width: int = 3

        def loss(self, x):
            """Old."""
            return x - 1

        def step(self, x): return x


    def main():
        print(Model().loss(3), Model().step(4))


    main()
''')


def taken(submission: str, *addresses: str, clean: str = CLEAN) -> Transplanted:
    return transplant(
        PythonSource(clean.encode(), "a.py"),
        PythonSource(submission.encode(), "a.py"),
        addresses or ("Model.loss",),
    )


def printed(made: Transplanted, capsys: pytest.CaptureFixture[str]) -> str:
    exec(compile(made.data, "a.py", "exec"), {"__name__": "a"})
    return capsys.readouterr().out.strip()


def test_the_body_is_taken_and_every_other_edit_stays_behind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    submission = CLEAN.replace("return x - 1", "y = x * 2\n        return y").replace(
        "main():\n", "main():\n    print(7)\n"
    )
    submission = submission.replace("RATE = 0.1", "RATE = 100").replace('"""A module."""', "# mine")
    made = taken(submission)
    assert made.data.decode() == CLEAN.replace("return x - 1", "y = x * 2\n        return y")
    assert not made.helpers and not made.notes
    assert printed(made, capsys) == "6 4"


def test_the_untouched_mask_raises() -> None:
    source = PythonSource(CLEAN.encode())
    masked = mask(source, [(source.find("Model.loss"), stub("Old."))])
    made = transplant(source, PythonSource(masked), ["Model.loss"])
    with pytest.raises(NotImplementedError):
        exec(compile(made.data, "a.py", "exec"), {})


def test_helpers_beside_it_come_along(capsys: pytest.CaptureFixture[str]) -> None:
    submission = (
        CLEAN.replace("return x - 1", "return self._twice(x) + offset(x) + UNIT")
        .replace(
            "    def loss",
            "    LIMIT = 5\n\n    def _twice(self, x):\n        return min(2 * x, self.LIMIT)\n\n    def loss",
        )
        .replace(
            "class Model",
            "UNIT = 10\n\n\n@cache\ndef offset(x):\n    return floor(sqrt(x)) + np_like.pi\n\n\nclass Model",
        )
        .replace(
            "from math import sqrt",
            "import math as np_like\nfrom math import floor, sqrt\nfrom functools import cache",
        )
    )
    made = taken(submission)
    assert set(made.helpers) == {
        "Model.LIMIT",
        "Model._twice",
        "UNIT",
        "offset",
        "np_like",
        "floor",
        "cache",
    }
    assert printed(made, capsys) == f"{5 + 1 + 3.141592653589793 + 10} 4"
    assert (
        made.data.decode().count("from math import") == 2
    )  # the clean one, and the new name alone


def test_what_the_body_does_not_need_stays_behind() -> None:
    submission = CLEAN.replace(
        "class Model", "import sys\n\n\ndef unused():\n    sys.exit()\n\n\nclass Model"
    )
    assert taken(submission).data == CLEAN.encode()


def test_a_helper_cannot_replace_what_is_there_nor_a_builtin(
    capsys: pytest.CaptureFixture[str],
) -> None:
    submission = (
        CLEAN.replace("return x - 1", "return print and main and x * 5")
        .replace(
            "class Model", "def print(*a):\n    pass\n\n\ndef main():\n    pass\n\n\nclass Model"
        )
        .replace("class Base:", "Base = int\n\n\nclass Other:")
    )
    made = taken(submission)
    assert not made.helpers
    assert printed(made, capsys) == "15 4"


def test_changed_signatures_and_decorators_are_told_and_not_taken() -> None:
    submission = CLEAN.replace(
        "def loss(self, x):", "@staticmethod\n    def loss(self, x, scale=2):"
    )
    made = taken(submission)
    assert made.data == CLEAN.encode()
    assert [note.partition(";")[0] for note in made.notes] == [
        "Model.loss: its parameters were changed",
        "Model.loss: its decorators were changed",
    ]


def test_one_line_bodies_both_ways() -> None:
    made = taken(
        CLEAN.replace(
            "def step(self, x): return x", "def step(self, x):\n        y = x\n        return y"
        ),
        "Model.step",
    )
    assert b"def step(self, x):\n        y = x\n        return y\n" in made.data
    made = taken(
        CLEAN.replace('x):\n        """Old."""\n        return x - 1', "x): return x + 1; # so")
    )
    assert b"def loss(self, x):\n        return x + 1; # so\n" in made.data


def test_another_indentation_is_brought_into_line_but_not_inside_strings() -> None:
    body = 'if x:\n\t\t\ty = """a\n\t\tb"""\n\t\treturn len(y)'
    tabbed = CLEAN.replace("        ", "\t\t").replace("    ", "\t").replace("return x - 1", body)
    made = taken(tabbed).data.decode()
    assert '        if x:\n        \ty = """a\n\t\tb"""\n        return len(y)\n' in made
    ast.parse(made)


def test_newlines_and_encoding_are_the_clean_file_s() -> None:
    clean = (
        "# coding: latin-1\r\n" + CLEAN.replace("Old.", "Vieux é.").replace("\n", "\r\n")
    ).encode("latin-1")
    submission = CLEAN.replace("return x - 1", "return 'é→'\n")
    made = transplant(PythonSource(clean), PythonSource(submission.encode()), ["Model.loss"])
    assert b"\n" not in made.data.replace(b"\r\n", b"")
    assert "return 'é\\u2192'".encode("latin-1") in made.data


def test_namesakes_go_by_their_order_or_by_the_one_left() -> None:
    clean = "class A:\n    @property\n    def p(self): return 1\n    @p.setter\n    def p(self, x): self.x = 1\n"
    made = taken(clean.replace("self.x = 1", "self.x = x"), "A.p#2", clean=clean)
    assert made.data.decode().endswith("def p(self, x):\n        self.x = x\n")
    with pytest.raises(SourceError, match=r"has 3 functions A\.p instead of 2"):
        taken(clean + "    def p(self): pass\n", "A.p#2", clean=clean)


def test_a_nested_function_takes_helpers_of_its_scope() -> None:
    clean = (
        "def outer(x):\n    def inner(y):\n        return y\n    return inner(x)\nprint(outer(2))\n"
    )
    submission = clean.replace(
        "    def inner", "    def half(y):\n        return y / 2\n    def inner"
    ).replace("return y\n    return", "return half(y)\n    return")
    made = taken(submission, "outer.inner", clean=clean)
    assert made.helpers == ("outer.half",)
    assert made.data.decode() == submission


def test_constants_set_together_come_along() -> None:
    clean = PythonSource(b"def f(x):\n    raise NotImplementedError\n")
    made = transplant(
        clean, PythonSource(b"LOW, HIGH = 1, 2\n\ndef f(x):\n    return min(x, HIGH)\n"), ["f"]
    )
    assert made.helpers == ("HIGH", "LOW") and made.data.startswith(b"LOW, HIGH = 1, 2\n")


TRIED = """try:
    import json as js
    HAVE = True
except ImportError as error:
    HAVE = False
    class js:
        def __init__(self):
            self.g = error

"""
PLAIN = "def f():\n    raise E\n\ndef g(): pass\n"


def test_an_import_that_may_fail_comes_along_whole() -> None:
    unused = "try:\n    import unused\nexcept ImportError:\n    pass\n\n"
    made = taken(TRIED + unused + PLAIN.replace("raise E", "return js"), "f", clean=PLAIN)
    assert made.data.decode() == TRIED.strip() + "\n" + PLAIN.replace("raise E", "return js")
    assert made.helpers == ("HAVE", "js")


@pytest.mark.parametrize(
    "inside",
    [
        "import g",
        "f.x = 1",
        "from os import *",
        "del g",
        "def g(): pass",
        "try: E\n    except E as g: E",
    ],
)
def test_a_try_that_touches_what_is_there_stays_behind(inside: str) -> None:
    submission = PLAIN.replace("raise E", "return js")
    made = taken(
        f"try:\n    import js\n    {inside}\nexcept E:\n    js = None\n\n{submission}",
        "f",
        clean=PLAIN,
    )
    assert not made.helpers and made.data.decode() == submission


def test_two_functions_share_a_helper() -> None:
    submission = CLEAN.replace("return x - 1", "return two(x)").replace(
        "step(self, x): return x", "step(self, x): return two(x)"
    )
    submission = submission.replace("class Base", "def two(x):\n    return 2 * x\n\n\nclass Base")
    made = taken(submission, "Model.loss", "Model.step")
    assert made.helpers == ("two",)
    assert made.data.count(b"def two") == 1


@pytest.mark.parametrize(
    ("submission", "said"),
    [
        (
            "def other(): pass\n",
            r"the submission's a\.py has no function Model\.loss: leave it where it was",
        ),
        ("class Model:\n    def loss(self:\n", "Python that can be parsed"),
        ("", "has no function"),
    ],
)
def test_submissions_that_cannot_be_used(submission: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        taken(submission)


def test_folders(tmp_path: Path) -> None:
    clean, given, submission = (tmp_path / name for name in ("clean", "given", "submission"))
    for folder in (clean, given, submission):
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "a.py").write_text(CLEAN)
        (folder / "check.py").write_text("assert False\n")
        (folder / "old.txt").write_text("")
    mask_files(given, [Wanted("src/a.py", "Model.loss")])
    (submission / "src" / "a.py").write_text(
        CLEAN.replace("x - 1", "twice(x)") + "\ndef twice(x):\n    return 2 * x\n"
    )
    (submission / "check.py").write_text("assert True\n")
    (submission / "answer.json").write_text("{}")
    (submission / "old.txt").unlink()
    (submission / "link").symlink_to("/etc/passwd")
    assert transplant_files(clean, submission, [("src/a.py", "Model.loss")]) == [
        "src/a.py: helpers taken: twice"
    ]
    assert b"twice(x)" in (clean / "src" / "a.py").read_bytes()
    assert (clean / "check.py").read_text() == "assert False\n"
    assert left_behind(given, submission, ["src/a.py"]) == [
        "not taken, changed: check.py",
        "not taken, new: answer.json",
        "not taken, removed: old.txt",
    ]


def test_a_submitted_file_that_is_a_link_out_or_huge(tmp_path: Path) -> None:
    clean, submission = tmp_path / "clean", tmp_path / "submission"
    for folder in (clean, submission):
        folder.mkdir()
        (folder / "a.py").write_text(CLEAN)
    (submission / "a.py").unlink()
    (submission / "a.py").symlink_to(tmp_path / "clean" / "a.py")
    with pytest.raises(SourceError, match="is a link"):
        transplant_files(clean, submission, [("a.py", "Model.loss")])
    (submission / "a.py").unlink()
    (submission / "a.py").write_text("#" * 5_000_000)
    with pytest.raises(SourceError, match="holds more than 4,000,000 bytes"):
        transplant_files(clean, submission, [("a.py", "Model.loss")])
    assert (clean / "a.py").read_text() == CLEAN
