"""Masks: the body goes, every other byte stays."""

from __future__ import annotations

import ast
import inspect
import random
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import numpy
import openai
import pytest
import scipy
from hypothesis import example, given
from hypothesis import strategies as st

from autoreproduce.errors import SourceError
from autoreproduce.plugins.autoexperiment.functions import Function
from autoreproduce.plugins.autoexperiment.masking import Variant, Wanted, mask, mask_files, stub
from autoreproduce.plugins.autoexperiment.python_source import PythonSource

STDLIB = Path(sysconfig.get_paths()["stdlib"])
VARIANTS = get_args(Variant)
PACKAGES = [Path(package.__file__).parent for package in (numpy, scipy, openai)]


def masked(
    text: str | bytes, name: str, *, description: str = "Doubles x.", variant: str = "docstring"
) -> str | bytes:
    """The text after masking, once it was checked that the rest of it stayed."""
    source = PythonSource(text.encode() if isinstance(text, str) else text)
    done = mask(source, [(source.find(name), stub(description, variant))])  # type: ignore[arg-type]
    ast.parse(done)
    assert keeps_the_rest(done, source, [source.find(name)])
    return done.decode() if isinstance(text, str) else done


def keeps_the_rest(done: bytes, source: PythonSource, masked: Sequence[Function]) -> bool:
    """Whether all bytes outside the bodies of the masked functions are there, in their order."""
    found, at, end = PythonSource(done).utf8, 0, 0
    for region in sorted(map(source.region, masked), key=lambda region: region.start):
        piece = source.utf8[end : region.start]
        if (at := found.find(piece, at)) < 0 or (end == 0 and at > 0):
            return False
        at, end = at + len(piece), region.end
    return done.startswith(source.bom) and found[at:].endswith(source.utf8[end:])


def test_a_plain_function() -> None:
    text = 'import os\n\n\n@cache\ndef f(x: int) -> int:\n    """Old."""\n    return x + x  # twice\n\n\nprint(f(1))\n'
    assert masked(text, "f") == (
        'import os\n\n\n@cache\ndef f(x: int) -> int:\n    """Doubles x."""\n    raise NotImplementedError\n\n\nprint(f(1))\n'
    )


def test_only_the_signature() -> None:
    assert (
        masked("def f(x):\n    return x\n", "f", variant="signature")
        == "def f(x):\n    raise NotImplementedError\n"
    )


def test_the_oracle_gives_the_passage() -> None:
    said = stub("Doubles x.", "oracle", r"we take $\alpha x$")
    assert said.endswith('we take $\\alpha x$\n"""\nraise NotImplementedError')
    assert said.startswith('r"""Doubles x.\n\nFollow the paper')
    assert (
        stub("Doubles x.", "docstring", r"we take $\alpha x$")
        == '"""Doubles x."""\nraise NotImplementedError'
    )


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (
            "def f(\n    x,  # a: comment\n    y={'a': 1},\n) -> dict[str, int]:  # and: one more\n",
            "    return x\n",
        ),
        ("def f(x, y=lambda: (1, ':')):\n", "    return x\n"),
        ("def f() -> (lambda: 1):\n", "    return 1\n"),
        ("def f(a, /, *, b: 'x:y' = ':'):\n", "    return a\n"),
        ("def f(*a, **k):\n", "    return a\n"),
        ("def f(x):  # type: (int) -> int\n", "    return x\n"),
        ("def f(x):\n    # type: (int) -> int\n", "    return x\n"),
        ("def f(x,  # type: int\n      y):\n    # type: (...) -> int\n", "    return x\n"),
        ("async def f(x):\n", "    await x\n"),
        ("@a(\n    1\n)\n@b\ndef f(x):\n", "    return x\n"),
        ("def f(x): \\\n  \n", "    # said\n\n    return x\n"),
        ("\x0cdef f(x):\n", "    return x\n"),
        ("def f(x):\n", "    if x:\n        return 1\n    return (2,\n3)  # so\n    # the end\n"),
        ("def f(x):\n", "    def g():\n        return 1\n    return g\n\n        # far in\n"),
        ("def f(x):\n", '    return """\nnot indented\n"""\n'),
        ("def f(x):\n", "    return 1; \\\n    \n"),
    ],
)
def test_headers_and_what_ends_a_body(header: str, body: str) -> None:
    for after in ("", "# outside\nx = 1\n", "\n\n\nclass A:\n    pass\n"):
        assert (
            masked(header + body + after, "f", variant="signature")
            == f"{header}    raise NotImplementedError\n{after}"
        )


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("def f(x): return x\ny = 1\n", "def f(x):\n    raise NotImplementedError\ny = 1\n"),
        ("def f(x): return x; # so", "def f(x):\n    raise NotImplementedError"),
        ("def f(x):\\\n return x\n", "def f(x):\n    raise NotImplementedError\n"),
        ("class A:\n\tdef f(x): pass\n", "class A:\n\tdef f(x):\n\t\traise NotImplementedError\n"),
        ("if 1:\n  def f(x): ...\n", "if 1:\n  def f(x):\n      raise NotImplementedError\n"),
        ("def f(x):\n    return x", "def f(x):\n    raise NotImplementedError"),
        (
            "def f(x):\r\n\treturn x\r\ny = 1\r\n",
            "def f(x):\r\n\traise NotImplementedError\r\ny = 1\r\n",
        ),
        ("def f(x):\r  return x\ry = 1\r", "def f(x):\r  raise NotImplementedError\ry = 1\r"),
    ],
)
def test_one_line_bodies_tabs_newlines(text: str, after: str) -> None:
    assert masked(text, "f", variant="signature") == after


def test_a_byte_order_mark_stays() -> None:
    data = b"\xef\xbb\xbfdef f(x):\r\n    return x\r\n"
    assert (
        masked(data, "f", variant="signature")
        == b"\xef\xbb\xbfdef f(x):\r\n    raise NotImplementedError\r\n"
    )


def test_an_old_encoding_stays_and_takes_what_it_can_hold() -> None:
    data = "# coding: latin-1\nname = 'é'\ndef f(x):\n    return 'ü' + x  # é\nlast = 'ö'\n".encode(
        "latin-1"
    )
    found = masked(data, "f", description="Appends ü → x.")
    assert isinstance(found, bytes)
    assert found.decode("latin-1") == (
        "# coding: latin-1\nname = 'é'\ndef f(x):\n"
        '    """Appends ü \\u2192 x."""\n    raise NotImplementedError\nlast = \'ö\'\n'
    )


@pytest.mark.parametrize(
    "encoding", ["shift_jis", "euc-kr", "cp1251", "koi8-r", "gb18030", "iso2022_jp"]
)
def test_other_encodings(encoding: str) -> None:
    words = {"cp1251": "привет", "koi8-r": "привет", "euc-kr": "안녕"}.get(encoding, "日本")
    data = f"# -*- coding: {encoding} -*-\na = '{words}'\ndef f(x):\n    return '{words}'\nb = '{words}'\n".encode(
        encoding
    )
    masked(data, "f")


CLASSES = """\
class A:
    def __call__(self, x): return 1
    @property
    def p(self): return 1
    @p.setter
    def p(self, x):
        self.x = x

class B:
    class C:
        async def __call__(self, x):
            def inner(y): return y
            return inner
    @overload
    def h(self, x: int) -> int: ...
    @overload
    def h(self, x: str) -> str: ...
    def h(self, x): return x

if A:
    def g(): return 1
else:
    def g(): return 2
"""


def test_functions_have_addresses() -> None:
    found = [each.address for each in PythonSource(CLASSES.encode()).functions]
    assert found == [
        *("A.__call__", "A.p#1", "A.p#2", "B.C.__call__", "B.C.__call__.inner"),
        *("B.h#1", "B.h#2", "B.h#3", "g#1", "g#2"),
    ]


def test_which_function_a_name_means() -> None:
    source = PythonSource(CLASSES.encode(), "a.py")
    assert source.find("A.p#2").line == 6
    assert source.find("inner").qualname == "B.C.__call__.inner"
    assert source.find("h").nth == 3  # the implementation, not its signatures
    assert source.find("__call__", line=12).qualname == "B.C.__call__"
    assert source.find("__call__", line=1).qualname == "A.__call__"
    with pytest.raises(
        SourceError, match=r"2 functions __call__: name one of A\.__call__ \(line 2\)"
    ):
        source.find("__call__")
    with pytest.raises(SourceError, match=r"a\.py has no function nothing: it has A\.__call__"):
        source.find("nothing")


def test_several_at_once_and_none_inside_another() -> None:
    source = PythonSource(CLASSES.encode(), "a.py")
    outer = [each for each in source.functions if not each.qualname.endswith("inner")]
    done = mask(source, [(each, stub("Says.")) for each in reversed(outer)])
    assert [
        len(each.body) for each in ast.walk(ast.parse(done)) if isinstance(each, ast.FunctionDef)
    ] == [2] * 8
    assert keeps_the_rest(done, source, outer)
    with pytest.raises(SourceError, match=r"a\.py: one of the functions is inside another"):
        mask(source, [(source.find("inner"), "raise"), (source.find("B.C.__call__"), "raise")])


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.sampled_from(["\n", "\r\n"])
)
@example('ends with "', "\n")
@example("ends with \\", "\n")
@example('a """ and \\alpha', "\n")
@example("one\n\n    two\nthree", "\r\n")
def test_any_description_becomes_its_docstring(description: str, newline: str) -> None:
    text = f"class A:{newline}    def f(x):{newline}        return x{newline}"
    source = PythonSource(text.encode())
    done = mask(source, [(source.find("f"), stub(description))])
    body = PythonSource(done).find("f").node.body
    said = ast.get_docstring(ast.parse(done).body[0].body[0], clean=False)  # type: ignore[arg-type,attr-defined]
    assert isinstance(body[-1], ast.Raise) and len(body) <= 2
    wanted = description.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").expandtabs(4)
    assert words(inspect.cleandoc(said or "")) == words(wanted)
    assert keeps_the_rest(done, source, [source.find("f")])


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"def f(:\n", "a.py isn't Python that can be parsed"),
        (b"x = '\xff'\n", "a.py is not utf-8|a.py cannot be decoded"),
        (b"# coding: nothing\n", "a.py cannot be decoded"),
        (b"x = 1\0\n", "null bytes"),
        (b"print 'two'\n", "Python that can be parsed"),
        (b"(" * 5000, "Python that can be parsed"),
    ],
)
def test_files_that_are_no_python(data: bytes, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        assert PythonSource(data, "a.py").functions is None


def test_a_repository_is_masked_in_place(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text(CLASSES)
    (tmp_path / "b.py").write_text("def f(x): return x\n")
    wanted = [
        Wanted("src/a.py", "__call__", 2, "Calls."),
        Wanted("b.py", "f"),
        Wanted("src/a.py", "inner"),
    ]
    mask_files(tmp_path, wanted, "docstring")
    found, source = (tmp_path / "src/a.py").read_bytes(), PythonSource(CLASSES.encode())
    assert b'"""Calls."""' in found and found.count(b"raise NotImplementedError") == 2
    assert keeps_the_rest(found, source, [source.find("__call__", 2), source.find("inner")])
    assert (tmp_path / "b.py").read_bytes() == b"def f(x):\n    raise NotImplementedError\n"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted("../outside.py", "f"), "isn't a file below"),
        (Wanted("/etc/passwd", "f"), "isn't a file below"),
        (Wanted("link.py", "f"), "is a link"),
        (Wanted("missing.py", "f"), "missing.py is missing in code"),
        (Wanted("b.py", "g"), "b.py has no function g: it has f"),
    ],
)
def test_nothing_is_written_where_one_cannot_be_masked(
    tmp_path: Path, wanted: Wanted, said: str
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (tmp_path / "outside.py").write_text("def f(): pass\n")
    (code / "link.py").symlink_to(tmp_path / "outside.py")
    (code / "b.py").write_text("def f(x): return x\n")
    with pytest.raises(SourceError, match=said):
        mask_files(code, [Wanted("b.py", "f"), wanted])
    assert (code / "b.py").read_text() == "def f(x): return x\n"
    assert (tmp_path / "outside.py").read_text() == "def f(): pass\n"


def test_one_function_named_twice(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("def f(x): return x\n")
    with pytest.raises(SourceError, match="two entries mean the same function"):
        mask_files(tmp_path, [Wanted("b.py", "f"), Wanted("b.py", "f", 1)])


def sources(files: Iterator[Path] | list[Path]) -> Iterator[PythonSource]:
    for path in files:
        try:
            source = PythonSource(path.read_bytes(), path.name)
            assert source.functions is not None
        except (
            SourceError
        ):  # the standard library ships files that are no Python, for its own tests
            continue
        yield source


def check_file(source: PythonSource, parse_one_in: int) -> int:
    """Each function alone and all together: what is outside stays, and the file parses."""
    draw = random.Random(source.name)
    text = stub('Says \\alpha and "this".', "docstring")
    for function in source.functions:
        done = mask(source, [(function, text)])
        assert keeps_the_rest(done, source, [function]), f"{source.name}::{function.address}"
        if draw.randrange(parse_one_in) == 0:
            body = PythonSource(done).functions[source.functions.index(function)].node.body
            assert len(body) == 2 and isinstance(body[1], ast.Raise), (
                f"{source.name}::{function.address}"
            )
    outer = [each for each in source.functions if not inside_another(each, source)]
    for variant in VARIANTS:
        done = mask(source, [(each, stub(each.docstring, variant)) for each in outer])
        assert len(PythonSource(done, source.name).functions) == len(outer)
        assert keeps_the_rest(done, source, outer)
    return len(source.functions)


def inside_another(function: Function, source: PythonSource) -> bool:
    return any(
        function.qualname.startswith(f"{each.qualname}.")
        and each.line < function.line <= each.last_line
        for each in source.functions
    )


@pytest.mark.slow
def test_masks_come_off_a_sample_of_the_standard_library() -> None:
    files = sorted(STDLIB.glob("*.py"))[::12]
    assert sum(check_file(source, 60) for source in sources(files)) > 300


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("folder", [STDLIB, *PACKAGES], ids=lambda path: path.name)
def test_masks_come_off_the_functions_of_every_twelfth_file(folder: Path) -> None:
    files = [
        path
        for path in sorted(folder.rglob("*.py"))
        if folder != STDLIB or "site-packages" not in path.parts
    ]
    assert sum(check_file(source, 200) for source in sources(files[::12])) > 150
