import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time

import pytest
from records import trial_record
from trial_results import trial_result

from autoreproduce.cli.console.attempts import open_view, write_closing
from autoreproduce.cli.console.live import LiveView, draw
from autoreproduce.runner.views import JsonView, PlainView
from autoreproduce.task import Metric, ReferenceNumber, Task
from autoreproduce.trials.steps import ExecutionResult, ModelResult, TokenCounts
from autoreproduce.trials.trial import Trial

RECORD = trial_record(
    task="t", profile="small", solver="s", model="m", created="2026-11-21T08:00:00+00:00"
)
TASK = Task(
    id="lsm-darcy",
    method="LSM",
    dataset="Darcy",
    profile="small",
    instruction="i",
    stand_in="Generated data.",
    metric=Metric(name="relative_l2"),
    measured=ReferenceNumber(value=0.0327, low=0.030, high=0.036, source="reference"),
    paper_result=ReferenceNumber(value=0.0065, source="table 2"),
)
GOOD = trial_result(
    status="measured",
    reason="it ran in full",
    metric=0.0318,
    claimed=0.0318,
    recomputed=True,
    seconds=200,
    warnings=["w"],
)


class Clock:
    """Time that a test moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def call(trial, price=0.0123):
    usage = TokenCounts(input=9200, cached=6100, output=1450)
    result = ModelResult(reply="r" * 50_000, usage=usage, price=price)
    trial.step(ModelResult, "code", "method_replication/write", "asked", lambda: result)


def run(trial, command="python method.py", exit_code=0, stopped=""):
    result = ExecutionResult(command=command, exit_code=exit_code, seconds=1.0, stopped=stopped)
    trial.step(ExecutionResult, "sandbox", "run", command, lambda: result)


def some_trial(folder, *views, price=0.0123):
    """A short trial, watched."""
    trial = Trial.open(folder, RECORD, views)
    trial.phase("paper")
    trial.note("arXiv cannot be reached:\nthe digest serves")
    trial.phase("method_replication")
    call(trial, price)
    trial.output("epoch 1\nepoch 2\nepo")
    trial.output("ch 3\n")
    run(trial, exit_code=1)
    run(trial, "python method.py --again", 137, "memory")
    trial.close()
    return trial


def events(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_plain_lines_one_an_event(tmp_path):
    stream = io.StringIO()
    with PlainView(stream, Clock()) as view:
        some_trial(tmp_path, view)
    lines = stream.getvalue().splitlines()
    assert [re.sub(r"\d\.\d s", "0 s", line) for line in lines] == [
        "[00:00] Paper",
        "  ! arXiv cannot be reached: the digest serves",
        "[00:00] Method replication",
        "  code agent: method_replication/write (0 s, 9.2k tokens in, 1.45k out, $0.0123)",
        "    | epoch 2  (+ 1 line)",
        "    | epoch 3",
        "  python method.py: exit code 1 (0 s)",
        "  python method.py --again: stopped (memory) (0 s)",
    ]


def test_an_unknown_price_is_said(tmp_path):
    stream = io.StringIO()
    with PlainView(stream) as view:
        some_trial(tmp_path, view, price=None)
    assert "cost unknown" in stream.getvalue() and "$" not in stream.getvalue()


def test_plain_lines_are_never_a_flood():
    stream, clock = io.StringIO(), Clock()
    with PlainView(stream, clock) as view:
        for second in range(60):
            clock.now = 100.0 + second
            view.output("".join(f"line {n}\n" for n in range(1000)))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 12
    assert lines[1] == "    | line 999  (+ 4,999 lines)"


def test_a_progress_bar_is_seen_and_stands_in_one_line():
    stream, clock = io.StringIO(), Clock()
    view = PlainView(stream, clock)
    for percent in range(100):
        clock.now += 1.3
        view.output(f"\r{percent}%|###  | \x1b[A")
    assert 2 <= len(stream.getvalue().splitlines()) <= 4
    assert len(view.progress.lines) == 1


def test_a_program_cannot_steer_the_terminal():
    stream = io.StringIO()
    view = PlainView(stream, interval=0)
    view.output("\x1b[2J\x1b]0;owned\x07\x1b[31mhello\u202e\n")
    view.note("\x1b[1mnote\x1b[0m")
    assert (
        "\x1b" not in stream.getvalue()
        and "\u202e" not in stream.getvalue()
        and "owned" not in stream.getvalue()
    )
    assert "hello" in stream.getvalue()


def test_steps_from_the_journal_are_one_line(tmp_path):
    some_trial(tmp_path)
    stream = io.StringIO()
    with PlainView(stream, Clock()) as view:
        some_trial(tmp_path, view)
    assert "  3 steps from the journal, not repeated" in stream.getvalue().splitlines()
    assert "code agent" not in stream.getvalue()


def test_json_lines_are_whole_and_small(tmp_path):
    stream = io.StringIO()
    with JsonView(stream) as view:
        some_trial(tmp_path, view)
    found = events(stream)
    assert [e["event"] for e in found] == [
        "begin",
        "phase",
        "note",
        "phase",
        "step",
        *["output"] * 3,
        "step",
        "step",
        "end",
    ]
    assert [e["text"] for e in found if e["event"] == "output"] == ["epoch 1", "epoch 2", "epoch 3"]
    step = found[4]
    assert (step["price"], step["usage"]["input"], step["replayed"]) == (0.0123, 9200, False)
    assert "reply" not in step and found[9]["stopped"] == "memory"
    assert (found[-1]["model_calls"], found[-1]["executions"], found[-1]["cost"]) == (1, 2, 0.0123)
    assert len(stream.getvalue()) < 4000


def test_json_cost_is_null_where_it_is_unknown(tmp_path):
    stream = io.StringIO()
    with JsonView(stream) as view:
        some_trial(tmp_path, view, price=None)
    assert events(stream)[-1]["cost"] is None


def test_json_output_is_bounded_and_what_is_dropped_is_counted():
    stream = io.StringIO()
    with JsonView(stream, Clock()) as view:
        for _ in range(10):
            view.output("x" * 100 + "\n" + "y\n" * 499)
    found = [e for e in events(stream) if e["event"] == "output"]
    assert sum("text" in e for e in found) == 50
    assert sum(e.get("dropped", 0) for e in found) == 4950


class BrokenPipe(io.StringIO):
    def write(self, text):
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("kind", [LiveView, PlainView, JsonView])
@pytest.mark.parametrize("how", ["broken", "closed", "ascii"])
def test_a_stream_that_breaks_ends_no_trial(tmp_path, kind, how):
    stream = {
        "broken": BrokenPipe(),
        "closed": io.StringIO(),
        "ascii": io.TextIOWrapper(io.BytesIO(), "ascii"),
    }[how]
    if how == "closed":
        stream.close()
    with kind(stream) as view:
        trial = some_trial(tmp_path / "t", view)
        view.note("ärger")
    write_closing(GOOD, tmp_path / "t", stream, kind is JsonView)
    assert len(trial.steps) == 3


@pytest.mark.parametrize("kind", [LiveView, PlainView, JsonView])
def test_many_threads_may_tell_a_view(kind):
    stream = io.StringIO()
    view = kind(stream)
    failures = []

    def tell(number):
        try:
            for n in range(200):
                view.output(f"{number} {n}\n")
                view.note(f"note {number}")
                view.phase(f"phase_{number}")
        except BaseException as error:
            failures.append(error)

    with view:
        threads = [threading.Thread(target=tell, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    if kind is JsonView:
        assert sum(e["event"] == "note" for e in events(stream)) == 1200


def shown(view, width=100):
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width)
    console.print(draw(view.progress, view.title, width))
    return console.file.getvalue()


def test_the_picture_has_phases_sums_output_and_notes(tmp_path):
    view = LiveView(io.StringIO(), title="LSM · Darcy")
    trial = Trial.open(tmp_path, RECORD, [view])
    assert "working on the first step" in shown(view)
    trial.planned(["paper", "literature_review", "data_acquisition", "full_run"])
    trial.phase("paper")
    trial.phase("data_acquisition")
    trial.note("a note")
    call(trial)
    run(trial, exit_code=1)
    trial.output("epoch 1 loss 0.5\n[red]markup[/red]\n")
    text = " ".join(shown(view).split())
    trial.close()
    for said in (
        "LSM · Darcy",
        "✓ Paper",
        "▸ Data acquisition",
        "· Full run",
        "1 (1 failed)",
        "9.2k",
        "$0.0123",
        "│ epoch 1 loss 0.5",
        "│ [red]markup[/red]",
        "! a note",
        "last: python method.py: exit code 1",
        "next one running for",
        "1 model call · 1 execution · 9.2k tokens in (6.1k cached), 1.45k out · cost $0.0123",
    ):
        assert said in text, said
    assert "Literature review" not in text  # it was passed over
    narrow = shown(view, 40)
    assert max(len(line) for line in narrow.splitlines()) <= 40 and "Data acquisition" in narrow


def test_after_a_program_the_newest_note_stands_above_what_it_printed(tmp_path):
    view = LiveView(io.StringIO())
    trial = Trial.open(tmp_path, RECORD, [view])
    trial.phase("full_run")
    trial.output("epoch 20 loss 0.5\n")
    trial.note("an older note")
    run(trial, exit_code=0)
    trial.note("our reference now runs")
    at = [shown(view).index(text) for text in ("our reference", "epoch 20", "an older note")]
    trial.close()
    assert at == sorted(at)


def test_phases_stand_in_the_order_in_which_they_happen_and_those_passed_over_go():
    progress = LiveView(io.StringIO()).progress
    progress.planned(["paper", "claims", "paper_lineage", "coding", "full_run"])
    for name in ("paper", "claims", "coding", "audit"):  # the last is in no plan
        progress.phase(name)
    assert list(progress.phases) == ["paper", "claims", "coding", "audit", "full_run"]
    assert [progress.status[each] for each in ("coding", "full_run")] == ["done", "waiting"]
    progress.phase("coding")  # once more: it stays where it began
    assert list(progress.phases) == ["paper", "claims", "coding", "audit", "full_run"]
    progress.end()
    assert list(progress.phases) == ["paper", "claims", "coding", "audit"]


def test_without_a_plan_the_phases_are_those_that_began():
    view = LiveView(io.StringIO())
    for name in ("plan", "full_run", "audit_runs"):
        view.phase(name)
    assert list(view.progress.phases) == ["plan", "full_run", "audit_runs"]
    assert "Last look" not in shown(view)


def test_in_a_terminal_the_closing_lines_break_between_words(tmp_path):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    some_trial(tmp_path)
    (tmp_path / "report.html").write_text("x")
    stream = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        patch.delenv("NO_COLOR", raising=False)
        patch.setenv("TERM", "xterm")
        write_closing(GOOD, tmp_path, stream, task=TASK)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()
    assert str(tmp_path / "report.html") in "\n".join(lines)
    text = [line for line in lines if str(tmp_path) not in line]
    assert max(map(len, text)) <= 80
    words = " ".join(" ".join(text).split())
    assert "since the data are a stand-in: generated data." in words


def test_the_lines_of_a_program_stay_until_another_prints(tmp_path):
    view = LiveView(io.StringIO())
    trial = Trial.open(tmp_path, RECORD, [view])
    trial.phase("full_run")
    trial.output("first\nlast without a break")
    run(trial)
    assert list(view.progress.lines) == ["first", "last without a break"]
    trial.output("second\n")
    assert list(view.progress.lines) == ["second"]
    trial.close()


def test_a_view_keeps_no_replies_in_memory(tmp_path):
    view = LiveView(io.StringIO())
    some_trial(tmp_path, view)
    assert not view.progress.total.steps and not any(
        line.steps for line in view.progress.phases.values()
    )


DRIVER = """
import sys, time
from autoreproduce.cli.console.attempts import open_view
with open_view(False, sys.stdout) as view:
    print(type(view).__name__, file=sys.stderr, flush=True)
    view.phase("full_run")
    view.output("epoch 7\\n")
    time.sleep(1.0)
    print("ready", file=sys.stderr, flush=True)
    time.sleep(30)
"""


def in_a_terminal(*signals):
    """What a child shows on a real pseudo-terminal, what it writes to stderr, and its exit code."""
    main, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "90", "LINES": "40"}
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        stdin=child,
        stdout=child,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )
    os.close(child)
    said = process.stderr.readline() + process.stderr.readline()
    for number in signals:
        process.send_signal(number)
    seen, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if select.select([main], [], [], 0.2)[0]:
                seen += os.read(main, 65536)
            elif process.poll() is not None:
                break
        except OSError:  # the terminal ends with its last process
            break
    else:
        process.kill()  # it may wait for a terminal that nobody reads any more
    said += process.stderr.read()
    process.stderr.close()
    os.close(main)
    return seen.decode(), said, process.wait(10)


@pytest.mark.slow
def test_in_a_terminal_it_is_live_and_an_interrupt_leaves_the_cursor():
    seen, said, code = in_a_terminal(signal.SIGINT)
    assert said.startswith("LiveView\nready")
    assert "Full run" in seen and "epoch 7" in seen
    assert seen.rfind("\x1b[?25h") > seen.rfind("\x1b[?25l") >= 0
    assert code == -signal.SIGINT and "KeyboardInterrupt" in said and said.count("Traceback") == 1


def test_auto_is_plain_where_it_is_no_terminal(monkeypatch):
    assert type(open_view(False, io.StringIO())) is PlainView

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "dumb")
    assert type(open_view(False, Terminal())) is PlainView
    monkeypatch.setenv("TERM", "xterm")
    assert type(open_view(False, Terminal())) is LiveView
    assert type(open_view(True, Terminal())) is JsonView


def closing(folder, *arguments, **named):
    stream = io.StringIO()
    write_closing(arguments[0], folder, stream, *arguments[1:], **named)
    return stream.getvalue()


def test_the_closing_lines(tmp_path):
    some_trial(tmp_path)
    text = closing(tmp_path, GOOD, task=TASK)
    lines = [" ".join(line.split()) for line in text.strip().splitlines()]
    assert lines == [
        "The program does as well as our reference on a small version of the experiment; "
        "its number is not comparable with the paper's.",
        "why: The program gives 0.0318, the reference 0.030–0.036.",
        "why: The paper's own number is not tested, since the data are a stand-in: generated data.",
        "relative L2: 0.0318, 2.8 % better than the reference's value",
        "what the program claimed: 0.0318, agrees with the recomputed number",
        "our reference, small profile: 0.0327 (0.030–0.036)",
        "the paper's own number: 0.0065",
        "cost: $0.0123 for 1 model call, 2 executions, 9.2k tokens in (6.1k cached) and 1.45k out, 3 min 20 s",
        "warnings: the report lists 1",
        "report: not written",
    ]


def test_the_closing_lines_name_what_is_there_and_a_replay(tmp_path):
    record = RECORD.model_copy(
        update={"replayed": {"model": "some-model", "recorded": "2026-11-19"}}
    )
    Trial.open(tmp_path, record).close()
    (tmp_path / "report.html").write_text("x")
    (tmp_path / "result").mkdir()
    text = closing(tmp_path, GOOD, task=TASK, earlier=True)
    assert "replayed from a tape: some-model, recorded 2026-11-19" in text
    assert str(tmp_path / "report.html") in text and str(tmp_path / "result") in text
    assert "nothing was run now" in text and "when recorded" in text


def test_the_closing_object(tmp_path):
    some_trial(tmp_path)
    found = json.loads(closing(tmp_path, GOOD, json=True, task=TASK))
    assert (found["event"], found["level"], found["report"], found["earlier"]) == (
        "result",
        "good",
        None,
        False,
    )
    assert found["metric"] == 0.0318 and found["sentence"].startswith("The program does as well")


def test_a_trial_without_an_outcome_or_even_a_record_is_closed_too(tmp_path):
    assert "Not finished" in closing(tmp_path, None)
    failed = trial_result(status="failed", reason="\x1b[31mboom", phase="refactoring")
    text = closing(tmp_path, failed)
    assert "Did not run: refactoring failed, boom." in text and "\x1b" not in text
