"""What commands print and write, word for word: `tests/golden/` holds the text of each.

A change that should leave behaviour as it is leaves these files as they are. Where a change of
words is meant, write them again, and read the difference before you commit it:

    .venv/bin/pytest -n 0 -m "slow or not slow" tests/test_golden.py --write-golden
"""

import contextlib
import csv
import io
import os
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

import pytest
import tiny
from chat_server import chat_server

from autoreproduce.__main__ import main
from autoreproduce.benchmarks.reproducebench import tasks
from autoreproduce.benchmarks.reproducebench.scaffold import new_task

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
DARCY = ("--arxiv", "2301.12664", "--task", "Darcy")
PAPER = "# Means of few points\nOur estimator has a mean of 3.95833 and a largest value of 8.125.\n"
PROGRAM = """numbers = [1.5, 2.25, 8.125]
print(f"mean {sum(numbers) / len(numbers):.6f}, largest {max(numbers):.4f}")
"""
CLAIMS = ("--claim", "estimator: mean = 3.95833", "--claim", "estimator: largest value = 8.1250")
PLACES = ("estimator_mean=stdout:mean", "estimator_largest_value=stdout:largest")
VERIFY = ("verify", "code", "--paper", "paper.md", *CLAIMS, "--run", "python run_it.py")
VERIFY = (*VERIFY, *(word for place in PLACES for word in ("--metric-from", place)))
# What differs from run to run and from machine to machine, and the word that stands for it.
MASKS = [
    (r"\x1b\[[0-9;]*m", ""),
    (r"(http://)?127\.0\.0\.1:\d+", "URL"),
    (r"(?<![\d.])[0-9a-f]{12,64}\b", "HASH"),
    (r"(?<=-)(?=[a-f]*\d)[0-9a-f]{8}\b", "HASH"),
    (r"\b20\d\d-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?UTC|Z|[+-]\d\d:\d\d)?)?", "TIME"),
    (r"\[\d\d:\d\d\]", "[TIME]"),
    (r'("[a-z_ ]*(seconds|minutes|memory|hours)[a-z_ ]*": )(\{[^}]*\}|[-\d.e]+)', r"\1N"),
    (r"\b\d[\d.,]*(e-?\d+)? ?(s|ms|min|minutes?|hours?|h|seconds?|MB|GB|GiB|MiB|kB)\b", r"N \2"),
    (r"(machine|versions|seconds|memory_mb): .*", r"\1: N"),
    (r"\b(autoreproduce|Python) \d+\.\d+(\.\d+)?\S*", r"\1 VERSION"),
    (r"^Seen of the full run, from outside:\n.*\n", ""),
    (r"^ +\| .*[^|\n]\n", ""),  # of what a program prints, a busy machine shows less
    (r"^(system|processor|cpus|memory gb|python)\n.+$", r"\1\nN"),
    (r" {2,}", " "),
    (r"-{3,}", "---"),
    (r"[ \t]+$", ""),
]
TIMED = re.compile(r"seconds|minutes|hours")
OF_THE_MACHINE = re.compile(
    r"python|version|processor|cpus|memory|host|machine|created|digest|prompts"
)


def masked(text: str, folder: Path) -> str:
    """The text without times, paths, versions, and the widths that follow of them."""
    for path, name in ((folder, "HERE"), (ROOT, "ROOT"), (Path(sys.prefix), "PYTHON")):
        text = text.replace(str(path), name)
    text = without_times(text)
    for pattern, word in MASKS:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return text


def without_times(text: str) -> str:
    """Tables, as Markdown or LaTeX, with N in the columns whose heading names a time."""
    timed: list[int] = []
    separator, lines = "", []
    for line in text.splitlines():
        mark = next((mark for mark in (" | ", " & ") if mark in line), "")
        cells = line.split(mark) if mark else [line]
        if mark and mark != separator:
            timed = [n for n, cell in enumerate(cells) if TIMED.search(cell)]
        elif not set(line) <= set("|- "):
            cells = ["N" if n in timed and cell else cell for n, cell in enumerate(cells)]
        separator = mark or (separator if line.strip() else "")
        lines.append(mark.join(cells))
    return "\n".join(lines)


class Shown(HTMLParser):
    """The text of a page that a reader sees, a line an element."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._hidden = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden = tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.lines.append(" ".join(data.split()))


def ran(folder: Path, *arguments: str) -> str:
    """A command, what it printed, and its exit code, as a user sees them."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    # a closed port: nothing is fetched, whether or not the machine is online
    nowhere = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    environment = {**nowhere, "NO_PROXY": "127.0.0.1,localhost", "COLUMNS": "110", "NO_COLOR": "1"}
    environment |= {"AUTOREPRODUCE_CACHE_DIR": str(folder / "cache"), "HOME": str(folder)}
    with (
        patch.dict(os.environ, environment),
        patch.object(sys, "argv", ["autoreproduce", *arguments]),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    shown = " ".join(
        word if re.fullmatch(r"[\w./:=,-]+", word) else f"'{word}'" for word in arguments
    )
    return f"$ autoreproduce {shown}\n{out.getvalue()}{err.getvalue()}exit {code}\n"


def texts_under(folder: Path, *patterns: str) -> str:
    """The text files of a folder that match, each under its name."""
    found = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    assert found, f"{folder} has none of {patterns}"
    return "".join(f"== {path.relative_to(folder)}\n{as_shown(path)}\n" for path in found)


def as_shown(path: Path) -> str:
    """A file's text; of a page, what a reader sees; of CSV, neither times, machines nor records."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return "\n".join(
            ", ".join(
                f"{key}={cell}"
                for key, cell in row.items()
                if cell and cell[0] != "{" and not (TIMED.search(key) or OF_THE_MACHINE.search(key))
            )
            for row in csv.DictReader(io.StringIO(text))
        )
    if path.suffix != ".html":
        return text
    page = Shown()
    page.feed(text)
    return "\n".join(page.lines)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Iterator[list[tuple[Path, str]]]:
    """Texts, each with the folder it came of, to hold against the file named after the test."""
    texts: list[tuple[Path, str]] = []
    yield texts
    said = "\n".join(masked(text, folder).rstrip() + "\n" for folder, text in texts)
    name = re.sub(r"\W+", "-", request.node.name.removeprefix("test_")).strip("-")
    file = GOLDEN / f"{name}.txt"
    if request.config.getoption("--write-golden"):
        file.write_text(said, encoding="utf-8")
    assert said == (file.read_text(encoding="utf-8") if file.exists() else "")


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with one whole trial of the tiny experiment, its tape, and what was printed."""
    folder = tmp_path_factory.mktemp("line")
    tiny.lay_out(folder)
    with chat_server(tiny.reply) as server:
        url = ("--model", "scripted", "--base-url", server.base_url, "--sandbox", "process")
        said = ran(folder, *tiny.COMMAND, *url, "--record", "tape.jsonl", "--out", "trials/line")
    return folder, said


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the suite of `make demo-autoexperiment`, and what was printed."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "tapes").symlink_to(ROOT / "autoexperiment" / "tapes")
    suite = ("suite", "autoexperiment", "--n", "2", "--tasks", "adaptive-rate_0,1", "--trials", "1")
    tape = ("--variants", "agentless", "--set", "model=tape:tapes/adaptive-rate.jsonl")
    return folder, ran(
        folder, *suite, *tape, "--set", "sandbox=process", "--trust", "--out", "demo"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("suite", "autoexperiment", "--dry-run", "--tasks", "adaptive-rate_0,1", "--n", "2"),
        ("verify", "code", "--paper", "paper.md"),
        VERIFY[:-1],
        ("table", "."),
        ("passes", "."),
        ("report", "nowhere"),
        ("score", "code", "--task", "Darcy", "--dry-run"),
    ],
    ids=lambda words: "-".join(word.strip("-.") for word in words if " " not in word)[:60],
)
def test_printed(
    arguments: tuple[str, ...], golden: list[tuple[Path, str]], tmp_path: Path
) -> None:
    """Fast: no program is run and no model is asked."""
    lay_out_code(tmp_path)
    golden.append((tmp_path, ran(tmp_path, *arguments)))


def lay_out_code(folder: Path) -> None:
    """A program and its paper."""
    (folder / "code").mkdir()
    (folder / "code" / "run_it.py").write_text(PROGRAM)
    (folder / "paper.md").write_text(PAPER)


@pytest.mark.slow
def test_what_the_shipped_tape_would_take(tmp_path: Path, golden: list[tuple[Path, str]]) -> None:
    golden.append((tmp_path, ran(tmp_path, *DARCY, "--model", "tape", "--dry-run")))


@pytest.mark.slow
def test_a_trial_its_tape_and_its_pages(
    line: tuple[Path, str], golden: list[tuple[Path, str]]
) -> None:
    folder, said = line
    golden.append((folder, said))
    again = (*tiny.COMMAND, "--model", "tape:tape.jsonl", "--sandbox", "process", "--json")
    for words in (
        ("report", "trials/line"),
        ("resume", "trials/line"),
        (*again, "--out", "replayed"),
    ):
        golden.append((folder, ran(folder, *words)))
    golden.append((folder, texts_under(folder / "trials" / "line", "README.md", "report.html")))


@pytest.mark.slow
def test_tables_and_board_over_a_trial(
    line: tuple[Path, str], golden: list[tuple[Path, str]]
) -> None:
    folder, _ = line
    for words in (("table", "trials", "--json"), ("board", "trials", "--json", "--out", "board")):
        golden.append((folder, ran(folder, *words)))
    kinds = [f"{name}.*" for name in ("tasks", "systems", "programs", "cost")]
    tables = texts_under(folder / "trials" / "tables", *kinds)
    golden.append((folder, tables))
    golden.append((folder, ran(folder, "badge", "trials/line")))


@pytest.mark.slow
def test_a_trial_scored(line: tuple[Path, str], golden: list[tuple[Path, str]]) -> None:
    folder, _ = line
    scored = ("score", "trials/line", "--levels", "execution,gap,integrity,edits,cost")
    golden.append((folder, ran(folder, *scored, "--json")))
    golden.append((folder, ran(folder, *scored, "--fail-under", "execution=1")))


@pytest.mark.slow
def test_a_program_verified_without_a_model(tmp_path: Path, golden: list[tuple[Path, str]]) -> None:
    lay_out_code(tmp_path)
    where = ("--sandbox", "process", "--out", "verified")
    for words in (("--dry-run",), where, (*where, "--json")):
        golden.append((tmp_path, ran(tmp_path, *VERIFY, *words)))
    golden.append((tmp_path, texts_under(tmp_path / "verified", "README.md", "report.html")))


@pytest.mark.slow
def test_masked_functions_from_a_tape(
    demo: tuple[Path, str], golden: list[tuple[Path, str]]
) -> None:
    folder, said = demo
    golden.append((folder, said))
    for words in (("passes", "demo"), ("report", "demo"), ("table", "demo", "--json")):
        golden.append((folder, ran(folder, *words)))
    golden.append((folder, texts_under(folder / "demo", "results.csv", "tables/*.csv")))


@pytest.mark.slow
def test_a_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: list[tuple[Path, str]]
) -> None:
    """The reference of a task as `bench new` writes it."""
    what = {"arxiv": "2001.00001", "title": "Of it", "method": "M", "dataset": "D"}
    new_task("whole", into=tmp_path / "reproducebench", metric="error", **what)
    monkeypatch.setattr(tasks, "folder", lambda name: tmp_path / name)
    golden.append((tmp_path, ran(tmp_path, "bench", "reference", "whole", "--sandbox", "process")))
