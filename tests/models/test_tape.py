"""Tapes: written, read, damaged, resumed, replayed."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from chat_server import Answer, chat_server
from records import trial_record

from autoreproduce import content
from autoreproduce.config import Settings
from autoreproduce.errors import TapeError, UsageError
from autoreproduce.models.open import call, open_model, reply_of
from autoreproduce.models.tape import (
    CallSite,
    Drift,
    TapeEntry,
    TapeHead,
    entry_of,
    find_tape,
    prompt_digests,
    read_tape,
    tape_of,
    write_tape,
)
from autoreproduce.runner.open_models import choose_model
from autoreproduce.task import Metric, Task
from autoreproduce.trials.steps import ExecutionResult, ModelResult, TokenCounts
from autoreproduce.trials.trial import Trial

HEAD = TapeHead(
    model="openai:gpt-x",
    recorded="2026-11-20",
    task="lsm-darcy",
    profile="small",
    settings={"k": 3},
    note="live",
)
EDIT, REVIEW = CallSite("code", "replication", "edit"), CallSite("research", "review", "overall")


def result(reply: str, prompt: str = "p", **more) -> ModelResult:
    usage = TokenCounts(input=100, cached=60, output=20, reasoning=5)
    exact, shape = prompt_digests([("human", prompt)])
    facts = {"reply": reply, "usage": usage, "finish": "stop", "model": "gpt-x"}
    return ModelResult(**{**facts, "prompt": exact, "shape": shape, **more})


def entries(*calls: tuple[CallSite, str]) -> list[TapeEntry]:
    counted: dict[CallSite, int] = {}
    made = []
    for place, reply in calls:
        counted[place] = counted.get(place, 0) + 1
        made.append(entry_of(place, counted[place], result(reply)))
    return made


CALLS = entries((REVIEW, "r1"), (EDIT, "e1"), (EDIT, "e2 — ü\u2028 x"), (REVIEW, "r2"))


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    path = tmp_path / "some" / "tape.jsonl"
    write_tape(path, HEAD, CALLS)
    return path


def say(model, place: CallSite, prompt: str = "p"):
    from langchain_core.messages import HumanMessage

    return call(model, [HumanMessage(prompt)], place)


def test_written_is_read(tape):
    assert read_tape(tape) == (HEAD, CALLS)
    assert len(tape.read_text().split("\n")) == 6 and not list(tape.parent.glob(".*"))


def test_a_replay_goes_by_place_and_order(tape):
    model = open_model(Settings(), f"tape:{tape}")
    assert [say(model, place).text for place in (EDIT, REVIEW, EDIT, REVIEW)] == [
        "e1",
        "r1",
        "e2 — ü\u2028 x",
        "r2",
    ]
    assert model.drift == [] and model.left == 0


def test_a_replayed_reply_has_usage_ending_and_model(tmp_path):
    path = tmp_path / "tape.jsonl"
    write_tape(path, HEAD, [entry_of(EDIT, 1, result("cut", finish="length"))])
    message = say(open_model(Settings(), f"tape:{path}"), EDIT)
    reply = reply_of(message)
    assert (reply.finish, reply.model, reply.usage.as_dict()) == (
        "length",
        "openai:gpt-x",
        result("").usage.as_dict(),
    )
    assert message.response_metadata["replayed"] is True


def test_a_tape_that_ends_says_where(tape):
    model = open_model(Settings(), f"tape:{tape}")
    say(model, EDIT)
    say(model, EDIT)
    with pytest.raises(
        TapeError, match=r"call 3 of code/replication/edit.*another course than the recording"
    ):
        say(model, EDIT)
    with pytest.raises(TapeError, match=r"call 1 of code/refactoring/edit"):
        say(model, CallSite("code", "refactoring", "edit"))
    with pytest.raises(TapeError, match=r"if its time was up, .* --time-limit-minutes 60"):
        say(model, CallSite("code", "full_run", "debug/edit"))
    assert say(model, REVIEW).text == "r1"


def test_replayed_steps_are_skipped(tape):
    model = open_model(Settings(), f"tape:{tape}")
    model.skip(*EDIT)
    assert say(model, EDIT).text.startswith("e2") and say(model, REVIEW).text == "r1"
    with pytest.raises(TapeError):
        model.skip(*EDIT)


@pytest.mark.parametrize(
    ("then", "now", "numbers_only"),
    [
        ("loss 0.123 after 7.1 s", "loss 0.9 after 12.25 s", True),
        ("lr 1e-3", "lr 5E-04", True),
        ("x -3", "x 4", True),
        ("in  9.5s", "in 10.5s", True),
        ("loss nan", "loss 0.1", True),
        ("at 3f2a9c1d0b", "at 77e0aa01c2", True),
        ("loss 0.1", "error 0.1", False),
        ("a\nb", "a\nb\n", False),
        ("use 3 layers", "use three layers", False),
    ],
)
def test_drift_tells_numbers_from_words(tmp_path, then, now, numbers_only):
    path = tmp_path / "tape.jsonl"
    write_tape(
        path, HEAD, [entry_of(EDIT, 1, result("a", then)), entry_of(EDIT, 2, result("b", then))]
    )
    model = open_model(Settings(), f"tape:{path}")
    say(model, EDIT, then)
    assert model.drift == []
    assert say(model, EDIT, now).text == "b"
    assert model.drift == [Drift(EDIT, 2, numbers_only)]


def test_digests_see_roles_and_blocks():
    text = prompt_digests([("human", "a")])
    assert text != prompt_digests([("system", "a")]) and text == prompt_digests([("human", "a")])
    one = prompt_digests([("human", [{"type": "text", "text": "took 1.5 s"}])])
    two = prompt_digests([("human", [{"type": "text", "text": "took 22 s"}])])
    assert one[0] != two[0] and one[1] == two[1]


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        (0, "{not json", "line 1 is damaged"),
        (
            0,
            '{"tape": 2, "model": "m", "recorded": "", "task": "t", "profile": "p"}',
            "line 1 is damaged (tape",
        ),
        (0, '{"tape": 1, "model": "m"}', "line 1 is damaged (recorded"),
        (2, '{"role": "code", "phase"', "line 3 is damaged"),
        (2, "", "line 3 is damaged"),
        (2, None, "line 3 is call 2 of code/replication/edit, and should be call 1"),
        (4, CALLS[3].model_dump_json()[:-5], "line 5 is damaged"),
    ],
)
def test_a_damaged_tape_names_the_line(tape, line, text, words):
    lines = tape.read_text().split("\n")
    lines[line : line + 1] = [] if text is None else [text]
    tape.write_text("\n".join(lines))
    with pytest.raises(UsageError) as caught:
        read_tape(tape)
    assert (
        words in str(caught.value)
        and str(tape) in str(caught.value)
        and "\n" not in str(caught.value)
    )


def test_what_is_no_tape(tmp_path):
    (tmp_path / "empty").write_text("")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("empty", "binary", "missing", "."):
        with pytest.raises(UsageError, match="--record"):
            read_tape(tmp_path / name)


def test_where_no_tape_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="name another file"):
        write_tape(tmp_path / "file" / "tape.jsonl", HEAD, [])


def test_a_journal_becomes_a_tape_that_replays_it(tmp_path):
    record = trial_record(task="t", profile="small", solver="s", model="m", created="now")
    trial = Trial.open(tmp_path / "trial", record)
    trial.phase("review")
    trial.step(ModelResult, "research", "overall", "ask", lambda: result("r1"))
    trial.phase("replication")
    trial.step(
        ExecutionResult,
        "sandbox",
        "run",
        "python x.py",
        lambda: ExecutionResult(command="python x.py", exit_code=0),
    )
    trial.step(ModelResult, "code", "edit", "ask 2", lambda: result("e1", price=None))
    trial.step(ModelResult, "code", "edit", "ask 3", lambda: result("e2", usage=TokenCounts()))
    trial.close()
    made = tape_of(
        (CallSite(step.role, step.phase, step.name), step.result)
        for step in Trial.read(tmp_path / "trial").steps
        if isinstance(step.result, ModelResult)
    )
    assert [(entry.place, entry.step, entry.reply) for entry in made] == [
        (REVIEW, 1, "r1"),
        (EDIT, 1, "e1"),
        (EDIT, 2, "e2"),
    ]
    write_tape(tmp_path / "tape.jsonl", HEAD, made)
    model = open_model(Settings(), f"tape:{tmp_path / 'tape.jsonl'}")
    assert [say(model, place).text for place in (REVIEW, EDIT, EDIT)] == [
        "r1",
        "e1",
        "e2",
    ] and model.drift == []


def test_a_live_call_recorded_and_replayed_is_the_same(tmp_path):
    with chat_server(
        [Answer("first", cached_tokens=50), Answer("second", finish="length")]
    ) as server:
        live = open_model(Settings(base_url=server.base_url), "mine")
        said, entries = [], []
        for n in range(2):
            reply = reply_of(say(live, EDIT, f"ask {n}"))
            exact, shape = prompt_digests([("human", f"ask {n}")])
            call = ModelResult(
                reply=reply.text,
                usage=TokenCounts(**reply.usage.as_dict()),
                finish=reply.finish,
                prompt=exact,
                shape=shape,
            )
            entries.append(entry_of(EDIT, n + 1, call))
            said.append(reply)
    write_tape(tmp_path / "tape.jsonl", HEAD, entries)
    model = open_model(Settings(), f"tape:{tmp_path / 'tape.jsonl'}")
    for n, reply in enumerate(said):
        again = reply_of(say(model, EDIT, f"ask {n}"))
        assert (again.text, again.usage, again.finish) == (reply.text, reply.usage, reply.finish)
    assert model.drift == []


def test_two_trials_in_threads_each_with_a_model(tmp_path):
    many = [entry_of(EDIT, n, result(f"e{n}")) for n in range(1, 51)]
    write_tape(tmp_path / "tape.jsonl", HEAD, many)
    start = threading.Barrier(4)

    def replay(_: int) -> list[str]:
        model = open_model(Settings(), f"tape:{tmp_path / 'tape.jsonl'}")
        start.wait()
        return [say(model, EDIT).text for _ in many]

    with ThreadPoolExecutor(4) as pool:
        assert all(
            replies == [entry.reply for entry in many] for replies in pool.map(replay, range(4))
        )


def test_shipped_tapes_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(content, "folder", lambda name: tmp_path / name)
    path = tmp_path / "reproducebench" / "lsm-darcy" / "tapes" / "small.jsonl"
    write_tape(path, HEAD, CALLS)
    assert find_tape("lsm-darcy", "small") == path
    assert find_tape("lsm-darcy", "full") is None and find_tape("none", "small") is None


def test_reading_tapes_needs_no_langchain():
    code = "import sys, autoreproduce.models.tape, autoreproduce.models.open, autoreproduce.agents.parsing, autoreproduce.models.budget; "
    code += "heavy = ('langchain', 'openai', 'tiktoken', 'genai'); print([m for m in sys.modules if m.startswith(heavy)])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def replayed_settings(tmp_path: Path, recorded: dict, **given) -> Settings:
    """The settings under which a tape with `recorded` in its head is replayed."""
    path = tmp_path / "other.jsonl"
    write_tape(path, HEAD.model_copy(update={"settings": recorded}), CALLS)
    task = Task(id="line", metric=Metric(name="mse"), instruction="fit")
    return choose_model(Settings(model=f"tape:{path}", **given), task, "autoreproduce").settings


def test_a_tape_decides_of_the_method_and_never_of_this_machine(tmp_path):
    used = replayed_settings(
        tmp_path, {"k": 5, "seed": 7, "sandbox": "process", "cache_dir": "/elsewhere"}, seed=1
    )
    assert (used.method.k, used.seed, used.sandbox.name) == (5, 1, "auto")
    assert used.cache_dir == Settings().cache_dir


@pytest.mark.parametrize("recorded", [{"k": 99}, {"bogus": 1}])
def test_a_tape_with_a_setting_that_cannot_be_is_named(tmp_path, recorded):
    with pytest.raises(UsageError, match=rf"other.jsonl .*{next(iter(recorded))}.*record it again"):
        replayed_settings(tmp_path, recorded)
