"""Solvers of masked functions against an endpoint that answers as told, with real runs in a
sandbox.
"""

import json
import re
from pathlib import Path

import pytest
from chat_server import Answer, chat_server
from trial_results import facts_of

from autoreproduce.benchmarks import open_benchmark
from autoreproduce.errors import UsageError
from autoreproduce.models.tape import read_tape
from autoreproduce.models.tokens import count_tokens
from autoreproduce.plugins.autoexperiment.answering import put_in
from autoreproduce.plugins.autoexperiment.lists import find_root
from autoreproduce.plugins.autoexperiment.retrieval import around, nearest, paper_for, split
from autoreproduce.trials.trial import Trial

RIGHT = "Here it is.\n\n~~~python\ndef mean(values):\n    return total(values) / len(values)\n\ndef total(values):\n    return sum(values)\n~~~\n"
WRONG = "~~~python\ndef mean(values):\n    return max(values)\n~~~"


def test_the_names_are_those_of_the_set(public):
    one = open_benchmark("autoexperiment", {"dataset": public()})
    two = open_benchmark("autoexperiment", {"dataset": public("L", "other"), "n": 2})
    assert "0101.00001_0" in one.names() and "0101.00001_0,1" in two.names()


@pytest.mark.slow
def test_a_right_function_passes_and_its_helper_comes_along(run):
    with chat_server([RIGHT]) as server:
        done = run(server)
    assert done.result.status == "measured" and done.result.metric == 1, done.result.reason
    assert done.result.details["upstream"] is True
    prompt = server.requests[0].prompt
    assert "NotImplementedError" in prompt and "sum(values) / len(values)" not in prompt
    assert "The mean is the sum by the count" in prompt


@pytest.mark.slow
def test_a_wrong_function_is_an_outcome(run):
    with chat_server([WRONG]) as server:
        done = run(server)
    assert done.result.status == "failed" and done.result.metric == 0
    assert done.result.details["kind"] == "wrong numbers"


@pytest.mark.slow
def test_a_reply_without_the_function_goes_back_once_and_is_then_a_failure(run):
    with chat_server(["I would rather not.", "def other():\n    pass\n"]) as server:
        done = run(server)
    assert len(server.requests) == 2 and "isn't Python" in server.requests[1].prompt
    assert done.result.status == "failed" and done.result.details["kind"] != "wrong numbers"


@pytest.mark.slow
def test_an_attempt_that_ended_is_not_made_again_and_a_stopped_one_goes_on(run, tmp_path):
    with chat_server([Answer(status=500), RIGHT]) as server:
        assert run(server, name="0101.00001_0", retrieval="full").result.status == "stopped"
        assert run(server, retrieval="full").result.metric == 1
        assert run(server, retrieval="full").earlier
    assert len(server.requests) == 2


@pytest.mark.slow
def test_a_method_is_written_into_its_class(run):
    body = "~~~python\ndef __call__(self, x, y):\n    return (x - y) ** 2 * self.scale\n~~~"
    with chat_server(lambda _: body) as server:
        done = run(server, name="0202.00002_0")
    assert done.result.metric == 1, done.result.reason


STEPS = [
    Answer("Look first.", tools=(("view", {"path": "lib/stats.py"}),)),
    Answer("", tools=(("shell", {"command": "cat nowhere"}),)),
    "I think I know.",
    Answer(
        "Write.",
        tools=(
            (
                "edit",
                {
                    "path": "lib/stats.py",
                    "first": 8,
                    "last": 8,
                    "text": "    return sum(values) / len(values)",
                },
            ),
        ),
    ),
    Answer("", tools=(("run", {}),)),
    Answer("", tools=(("submit", {"answer": '{"Experiment 1": {"mean": 4.0}}'}),)),
]


def script(request):
    """Finds the stub's line in what `view` showed, as a model would."""
    text = request.prompt
    if "Write." not in text and "I think I know." in text:
        line = next(
            line for line in text.split("\n") if "NotImplementedError" in line and "|" in line
        )
        number = int(line.split("|")[0])
        return Answer(
            "Write.",
            tools=(
                (
                    "edit",
                    {
                        "path": "lib/stats.py",
                        "first": number,
                        "last": number,
                        "text": "    return sum(values) / len(values)",
                    },
                ),
            ),
        )
    said = sum(message["role"] == "assistant" for message in request.messages)
    return STEPS[said]


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["agentic", "planning"])
def test_an_agent_looks_writes_runs_and_submits_and_its_tape_replays_it(run, solver, tmp_path):
    tape = tmp_path / "tape.jsonl"
    with chat_server(script) as server:
        done = run(server, solver=solver, record=tape)
        again = run(server, solver=solver, out="again", model=f"tape:{tape}")
        assert len(server.requests) == len(read_tape(tape).entries)
    assert done.result.metric == again.result.metric == 1, done.result.reason
    assert not [each for each in again.result.warnings if "differ" in each]
    trial = Trial.read(done.path)
    names = [
        step.name for step in trial.steps if step.phase == "attempt" and step.kind == "execute"
    ]
    assert names == ["view", "shell", "edit", "run", "submit"]
    assert "exit code 1" in trial.steps[3].result.stdout
    assert ("write_todos" in json.dumps(server.requests[0].body["tools"])) == (solver == "planning")
    assert "No tool was used" in server.requests[3].prompt


@pytest.mark.slow
def test_an_agent_that_never_submits_gets_one_last_step(run):
    looking = Answer("", tools=(("shell", {"command": "true"}),))
    with chat_server(lambda _: looking) as server:
        done = run(server, solver="agentic", max_steps=4)
    assert len(server.requests) == 4 and "last step" in server.requests[3].prompt
    assert "last step" not in server.requests[2].prompt
    assert done.result.status == "failed"


@pytest.mark.slow
@pytest.mark.parametrize("history", ["window", "summary"])
def test_an_agent_with_a_short_memory_works_as_well(run, history):
    with chat_server(script) as server:
        done = run(server, solver="agentic", history=history)
    assert done.result.metric == 1, done.result.reason


@pytest.mark.slow
def test_an_agent_that_was_stopped_goes_on_and_repeats_nothing(run):
    down = [True]

    def answer(request):
        if "Write." in request.prompt and down:
            down.clear()
            return Answer(status=500)
        return script(request)

    with chat_server(answer) as server:
        assert run(server, solver="agentic").result.status == "stopped"
        before = len(server.requests)
        done = run(server, solver="agentic")
    assert done.result.metric == 1, done.result.reason
    assert len(server.requests) == before + 2


def test_a_solver_of_masked_functions_needs_such_a_task(tmp_path):
    from autoreproduce.benchmarks.reproducebench.tasks import load_task as other
    from autoreproduce.plugins.autoexperiment.answering import masked_of

    with pytest.raises(UsageError, match="a task with masked functions"):
        masked_of(other("lsm"))


@pytest.mark.slow
def test_attempts_of_a_suite_go_by_their_variant(run, tmp_path, monkeypatch):
    from autoreproduce.plugins.autoexperiment.attempts import read_attempts

    with chat_server([WRONG, RIGHT]) as server:
        run(server, out="suite/trials/0101.00001_0/no-paper/1", retrieval="none")
        run(server, out="alone")
    (tmp_path / "suite" / "suite.json").write_text("{}")
    assert {attempt.agent for _, _, attempt in read_attempts(tmp_path)} == {"agentless", "no-paper"}
    monkeypatch.chdir(tmp_path / "suite" / "trials")
    assert [attempt.agent for _, _, attempt in read_attempts(Path())] == ["no-paper"]
    (tmp_path / "alone" / "trial.json").write_text("{")  # a damaged one is left out
    assert [attempt.agent for _, _, attempt in read_attempts(tmp_path)] == ["no-paper"]


def test_passages_nearest_to_a_function():
    paper = "\n\n".join(
        [
            "We study cats. " * 60,
            "The hop_weight is a softmax over layers. " * 20,
            "Dogs are fine. " * 60,
        ]
        * 3
    )
    found = paper_for(paper, ["hop_weight(layers)"], "passages")
    assert "hop_weight" in found and len(found) < len(paper)
    assert found.startswith("[…]") or found.endswith("[…]"), (
        "what is left out is marked, at the ends too"
    )
    assert paper_for(paper, ["x"], "full") == paper and paper_for(paper, ["x"], "none") == ""
    assert paper_for(paper, ["x"], "oracle", ["the passage"]) == "the passage"
    assert nearest(["a b", "c d"], "c", 1) == ["c d"] and len(split(paper)) > 3


@pytest.mark.slow
def test_passes_of_three_attempts_and_what_they_cost(run, tmp_path):
    from typer.testing import CliRunner

    from autoreproduce.cli.app import app

    with chat_server([WRONG, RIGHT, RIGHT]) as server:
        for out in ("suite/1", "suite/2", "suite/3"):
            run(server, out=out)
    done = CliRunner().invoke(app, ["passes", str(tmp_path / "suite"), "--at", "1,3"])
    assert done.exit_code == 0, done.output
    assert "0.67 [" in done.output and "1.00 [" in done.output
    assert "| agentless | 0101.00001 | 1" in " ".join(done.output.split()), "by paper"
    assert (
        "| 1.5 | 180 | 0 |" in " ".join(done.output.split()) and "dollars a pass" in done.output
    ), "three attempts, two passes"
    for at, said in (("0", "k begins at 1"), ("all", "--at all is not understood")):
        wrong = CliRunner().invoke(app, ["passes", str(tmp_path / "suite"), "--at", at])
        assert isinstance(wrong.exception, UsageError) and said in str(wrong.exception)


TRUE = Answer("", tools=(("shell", {"command": "true"}),))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"attempt_budget": "300 tokens"}, "300 tokens"),
        ({"attempt_seconds": 0.3}, "0.3 s for one attempt are over"),
    ],
)
def test_an_attempt_that_reached_its_limit_gets_one_last_step_and_no_more(run, limit, said):
    slow = Answer("", tools=(("shell", {"command": "sleep 0.2"}),))
    with chat_server(lambda _: slow) as server:
        done = run(server, solver="agentic", **limit)
    assert said in server.requests[-1].prompt and "last step" not in server.requests[-2].prompt
    assert len(server.requests) == (4 if "attempt_budget" in limit else len(server.requests)) < 8
    assert done.result.status == "failed" and said in done.result.details["limit"]


@pytest.mark.slow
def test_a_command_gets_no_more_time_than_the_attempt_has_left(run):
    long = Answer("", tools=(("shell", {"command": "sleep 60"}),))
    with chat_server(lambda _: long) as server:
        done = run(server, solver="agentic", attempt_seconds=0.5)
    assert "stopped: timeout" in server.requests[1].prompt and done.result.cost.seconds < 20


@pytest.mark.slow
def test_a_limit_in_dollars_counts_by_the_price_that_is_given(run):
    with chat_server(lambda _: TRUE) as server:
        done = run(server, solver="agentic", attempt_budget="$0.0003", price="1,1,1", out="priced")
    assert len(server.requests) == 4 and "$0.0003" in done.result.details["limit"], (
        done.result.reason
    )


@pytest.mark.slow
def test_a_budget_reserves_the_tools_descriptions_too(run):
    with chat_server([TRUE]) as server:
        run(server, solver="agentic")
        text = count_tokens(server.requests[0].prompt)
    with chat_server([TRUE]) as server:
        done = run(
            server,
            solver="agentic",
            max_output_tokens=100,
            budget=f"{text + 300} tokens",
            out="small",
        )
    assert not server.requests and "would pass the budget" in done.result.reason


@pytest.mark.slow
def test_one_generation_a_function_stops_at_the_limit_too(run):
    with chat_server([RIGHT]) as server:
        done = run(server, name="0101.00001_0,1", attempt_budget="1 token")
    assert len(server.requests) == 1 and done.result.details["limit"]


@pytest.mark.slow
def test_a_summary_of_the_steps_is_a_step_and_the_task_stays(run, monkeypatch):
    monkeypatch.setattr("autoreproduce.plugins.autoexperiment.agentic.SUMMARISE", 6)
    monkeypatch.setattr("autoreproduce.plugins.autoexperiment.agentic.WINDOW", 2)
    down = [True]

    def answer(request):
        if "What is asked\nPut this into words" in request.prompt:
            return "The function is in lib/stats.py."
        if "# So far" not in request.prompt:
            return TRUE
        if down.pop() if down else False:
            return Answer(status=500)
        return STEPS[-1]

    with chat_server(answer) as server:
        assert run(server, solver="agentic", history="summary").result.status == "stopped"
        done = run(server, solver="agentic", history="summary")
    last = server.requests[-1].prompt
    assert "The function is in lib/stats.py." in last and "The functions without a body" in last
    names = [step.name for step in Trial.read(done.path).steps]
    assert names.count("summary") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("stub", "there"), [("signature", False), ("docstring", True)])
def test_what_is_left_of_a_masked_function(run, stub, there):
    with chat_server([RIGHT]) as server:
        assert run(server, stub=stub, retrieval="none").result.metric == 1
    assert bool(re.search(r'"""\n\s+raise NotImplementedError', server.requests[0].prompt)) == there


def test_of_a_long_file_agentless_sees_the_function_and_what_is_around_it(run, monkeypatch):
    monkeypatch.setattr("autoreproduce.plugins.autoexperiment.agentless.ROOM", 300)
    with chat_server([WRONG]) as server:
        run(server, name="0202.00002_1")
    shown = server.requests[0].prompt.split("~~~python\n")[1].split("\n~~~")[0]
    assert shown.startswith("class Absolute:\n    def __init__(self):\n# […] lines 3 to ")
    assert (
        "class Logistic(Absolute):\n    def __call__(self, x, y):\n" in shown
        and "NotImplementedError" in shown
    )
    assert "math.log" not in shown and len(shown) < 400


def test_a_window_of_a_text_is_of_whole_lines_and_all_of_it_where_it_fits():
    text = "".join(f"line {n}\n" for n in range(1, 1001))
    assert around(text, len(text), 500, 501) == text
    shown = around(text, 300, 500, 501, [490]).split("\n")
    assert (
        shown[:2] == ["line 1", "line 2"]
        and "line 490" in shown
        and {"line 495", "line 507"} <= set(shown)
    )
    assert shown[-1].startswith("# […] lines 5") and shown[-1].endswith(" to 1001 are left out")
    assert (
        around(text, 300, 2, 3).startswith("line 1\nline 2\nline 3\nline 4\n")
        and len("\n".join(shown)) < 420
    )
    assert "line 1000\n" in around(text, 300, 999, 1000)
    data = text.replace("line 502\n", f"line 502 {'0' * 99}\n")
    assert "line 501\n# […] lines 502 to 502 are left out\nline 503\n" in around(
        data, 300, 500, 501
    )


def test_passages_for_several_functions_are_those_of_each():
    paper = "\n\n".join(f"The rule of part{n} is here. {f'filler{n} ' * 150}" for n in range(12))
    found = paper_for(paper, ["part2 rule2", "part9 rule9"], "passages")
    assert (
        "part2 is" in found and "part9 is" in found and "[…]" in found and len(found) < len(paper)
    )


@pytest.mark.slow
def test_an_attempt_whose_numbers_are_nan_is_counted(run, tmp_path):
    from autoreproduce.plugins.autoexperiment.attempts import read_attempts

    with chat_server(["~~~python\ndef mean(values):\n    return float('nan')\n~~~"]) as server:
        run(server, out="trials/1")
    [(_, _, attempt)] = read_attempts(tmp_path / "trials")
    assert not attempt.strict and not attempt.upstream and attempt.kind == "wrong numbers"


BESIDE = "K = 3\n\ndef helper(x):  # by three\n    return x * K\n\n{}def f({}x):\n    return helper(x), '''a\nb'''\n"


def test_what_a_reply_writes_beside_a_method_comes_along(tmp_path):
    (tmp_path / "m.py").write_text(
        "class C:\n    def f(self, x):\n        raise NotImplementedError\n"
    )
    helped = "def _half(self, x):\n    return x / 2\n\n"
    put_in(
        tmp_path,
        "m.py",
        "C.f",
        BESIDE.format(helped, "self, ").replace("return helper(x)", "return helper(self._half(x))"),
    )
    space = {}
    exec((tmp_path / "m.py").read_text(), space)
    assert space["C"]().f(2) == (3.0, "a\nb"), "and a text over several lines is what it was"


def test_what_a_reply_writes_beside_an_inner_function_comes_along(tmp_path):
    stub = "def f(x):\n        raise NotImplementedError\n"
    (tmp_path / "m.py").write_text(f"def outer(x):\n    by = 2\n    {stub}    return f(x)\n")
    put_in(tmp_path, "m.py", "outer.f", BESIDE.format("", "").replace("x * K", "x * K * by"))
    space = {}
    exec((tmp_path / "m.py").read_text(), space)
    assert space["outer"](2) == (12, "a\nb")


@pytest.mark.slow
def test_an_attempt_that_its_context_or_budget_ended_counts_as_not_passed(run, tmp_path):
    from autoreproduce.plugins.autoexperiment.attempts import read_attempts
    from autoreproduce.plugins.autoexperiment.pass_tables import pass_table

    long = Answer(status=400, error={"message": "This model's maximum context length is exceeded"})
    with chat_server([RIGHT, long, Answer(status=500)]) as server:
        for number, more in enumerate(({}, {}, {"budget": "9 tokens"}, {}), 1):
            run(server, out=f"suite/{number}", **more)
    for number, status in (("2", "failed"), ("3", "failed"), ("4", "not scored")):
        (tmp_path / "suite" / number / "ended.json").write_text(json.dumps({"status": status}))
    found = [attempt for _, _, attempt in read_attempts(tmp_path / "suite")]
    assert [each.kind for each in found] == ["passed", "context exceeded", "budget spent"], (
        "a server that fails is none"
    )
    assert (found[1].strict, found[1].upstream, found[1].losses) == (
        False,
        False,
        {"0": 1.0, "1": 1.0},
    )
    told = pass_table(found, [1])
    assert told.rows[0][:4] == ["agentless", 1, 1, 3] and told.rows[0][4].startswith("0.33")
    assert "1 of agentless (budget spent), 1 of agentless (context exceeded)" in "".join(told.notes)
    (tmp_path / "clone").rename(tmp_path / "elsewhere")
    assert [each.n for _, _, each in read_attempts(tmp_path / "suite")] == [1, 1, 1]


@pytest.mark.slow
def test_losses_go_by_the_experiments_of_the_paper(run, tmp_path):
    from autoreproduce.plugins.autoexperiment.attempts import read_attempts
    from autoreproduce.plugins.autoexperiment.pass_tables import loss_table

    with chat_server(
        [RIGHT, "~~~python\ndef spread(values, about=None):\n    return 0.0\n~~~"]
    ) as server:
        run(server, out="suite/1")
        run(server, out="suite/2", name="0101.00001_1")
    named = facts_of(tmp_path / "suite" / "1")["number"]["details"]["exp_ids"]
    assert named == {"Experiment 1": "0", "Experiment 2": "1"}
    rows = loss_table([attempt for _, _, attempt in read_attempts(tmp_path / "suite")]).rows
    assert [(name, round(float(loss), 2)) for _, _, name, loss in rows] == [("0", 0.33), ("1", 0.0)]


@pytest.mark.slow
def test_of_namesakes_each_is_asked_for_with_its_own_passage(run, public):
    root = find_root(public())
    text = (root / "mlrc_n=2.jsonl").read_text()
    (root / "mlrc_n=2.jsonl").write_text(
        text.replace(
            '"relevant_paper": "", "description": "Sq',
            '"relevant_paper": "Of squares.", "description": "Sq',
        ).replace(
            '"relevant_paper": "", "description": "Log',
            '"relevant_paper": "Of logs.", "description": "Log',
        )
    )
    with chat_server(
        lambda _: "~~~python\ndef __call__(self, x, y):\n    return 0.0\n~~~"
    ) as server:
        run(server, name="0202.00002_0,1", retrieval="oracle")
    asked = [request.prompt for request in server.requests]
    assert ["Of squares." in each for each in asked] == [True, False]
    assert ["Of logs." in each for each in asked] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("retrieval", ["none", "passages"])
def test_an_agent_without_the_paper_finds_none_in_its_folder(run, retrieval):
    with chat_server([Answer("", tools=(("submit", {"answer": "{}"}),))]) as server:
        done = run(server, solver="agentic", retrieval=retrieval)
    shown = retrieval == "passages"
    assert (done.path / "workspace" / "paper.txt").exists() == shown
    assert ("paper.txt" in server.requests[0].prompt) == shown
