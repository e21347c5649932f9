"""The coder `tools`, end to end: a scripted server that calls tools, a real sandbox, a real run."""

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny
from agent_world import PROGRAM, run_solver, steps_of
from chat_server import Answer, Request, chat_server

from autoreproduce.agents.agent import OPENING
from autoreproduce.agents.tool_loop import plain_calls, shortened
from autoreproduce.claims.readings import readings_of
from autoreproduce.errors import CommandError, ContextError, UsageError
from autoreproduce.method.coding import CHANGES, CODING
from autoreproduce.models.budget import Budget
from autoreproduce.trials.journal import Journal
from autoreproduce.trials.result import Result
from autoreproduce.trials.workspace import Workspace

pytestmark = pytest.mark.slow
SEEDED = f"import sys\nseed = sys.argv  # --seed\n{PROGRAM}"
WRONG = SEEDED.replace("0.1 *", "0.05 *")
README = "A line, fitted by descent. Nothing was left open.\n"
Script = Sequence[tuple[tuple[str, dict[str, Any]], ...] | str | Answer]
WRITE = (
    ("write", {"path": "main.py", "text": SEEDED}),
    ("write", {"path": "README.md", "text": README}),
)
RUN, SUBMIT = (("run", {}),), (("submit", {}),)
NOTHING_DIFFERS = json.dumps({"items": []})
RATE_DIFFERS = json.dumps(
    {
        "items": [
            {
                "kind": "optimiser",
                "says": "a learning rate of 0.1",
                "does": "0.05",
                "paper": "gradient descent with learning rate 0.1",
                "file": "main.py",
                "first": 6,
                "code": next(line for line in WRONG.splitlines() if "0.05 *" in line),
                "moves": "yes",
                "sure": "high",
            }
        ]
    }
)


def coded(script: Script, found: str = NOTHING_DIFFERS) -> Callable[[Request], Answer | str]:
    """The research agent's replies, and for the code agent those of `script`, in order."""
    left = list(script)

    def reply(request: Request) -> Answer | str:
        if "Does this code do what the paper says?" in request.prompt:
            return found
        if "Somebody says of each" in request.prompt:
            return json.dumps({"items": [{"id": "D1", "holds": True}]})
        if "reproduces experiments" not in request.messages[0]["content"]:
            return tiny.reply(request)
        said = left.pop(0)
        return Answer(tools=said) if isinstance(said, tuple) else said

    return reply


def trial(folder: Path, script: Script, found: str = NOTHING_DIFFERS, **more: Any) -> Result:
    with chat_server(coded(script, found)) as server:
        done = run_solver(folder, server.base_url, "autoreproduce", lineage=False, **more)
    return done.result


def names(folder: Path, *phases: str) -> list[str]:
    return [step.name for step in steps_of(folder) if step.phase in (phases or (CODING, CHANGES))]


def answers(folder: Path) -> list[str]:
    """What the tools gave."""
    done = [step.result for step in steps_of(folder) if step.phase in (CODING, CHANGES)]
    return [each.stdout for each in done if each.kind == "execute"]


def test_the_program_is_written_audited_and_run_by_us(tmp_path: Path) -> None:
    look = (("shell", {"command": "cat TASK.md paper/paper.md; ls $DATA_DIR"}),)
    with chat_server(coded([look, WRITE, RUN, SUBMIT])) as server:
        done = run_solver(tmp_path, server.base_url, "autoreproduce", lineage=False).result
        first = next(r for r in server.requests if r.body.get("tools"))
    assert done.status == "measured", done.reason
    assert [step.phase for step in steps_of(tmp_path)][-1] == "full_run"
    assert names(tmp_path) == [
        *("act", "shell", "act", "write", "write", "act", "run", "act", "submit")
    ]
    assert (
        "points.json" in answers(tmp_path)[0] and "The squared error is" not in answers(tmp_path)[0]
    )
    assert "It left what counts." in answers(tmp_path)[3]
    told = first.messages[1]["content"]
    assert "# Choices: the program keeps to them\n- learning rate: 0.1" in told
    assert "E1: The squared error falls" in told and "README.md" in told
    assert {one["function"]["name"] for one in first.body["tools"]} == {
        *("shell", "view", "write", "edit", "run", "submit")
    }
    committed = Workspace(tmp_path / "trial").committed()
    assert {"main.py", "README.md"} == set(committed)
    assert (tmp_path / "trial" / "job.json").read_text().count('"coder": "tools"') == 1


def test_what_the_audit_finds_is_changed_once_and_gone_from_the_report(tmp_path: Path) -> None:
    wrong = (("write", {"path": "main.py", "text": WRONG}), WRITE[1])
    fixed = (("edit", {"path": "main.py", "old": "0.05 *", "new": "0.1 *"}),)
    done = trial(tmp_path, [wrong, SUBMIT, fixed, RUN, SUBMIT], RATE_DIFFERS)
    assert done.status == "measured", done.reason
    assert names(tmp_path, CHANGES) == ["act", "edit", "act", "run", "act", "submit"]
    prompts = [path.read_text() for path in sorted((tmp_path / "trial" / "prompts").glob("*act*"))]
    assert "main.py, line" in prompts[2] and "0.05. The paper: a learning rate of 0.1" in prompts[2]
    assert done.audit is not None and not done.audit.differences
    assert Workspace(tmp_path / "trial").committed()["main.py"].decode() == SEEDED


def test_a_difference_that_stays_is_on_the_report(tmp_path: Path) -> None:
    wrong = (("write", {"path": "main.py", "text": WRONG}), WRITE[1])
    kept = (("write", {"path": "README.md", "text": "0.05 is right."}),)
    done = trial(tmp_path, [wrong, SUBMIT, kept, SUBMIT], RATE_DIFFERS)
    assert done.audit is not None and [one.place for one in done.audit.differences] == [
        "main.py, line 7"
    ]


def test_what_a_model_gets_wrong_is_an_answer_and_no_end(tmp_path: Path) -> None:
    wrong: Script = [
        (("fly", {}),),
        (("view", {"path": "main.py"}),),
        (("view", {"path": "/etc/passwd"}),),
        (("write", {"path": "main.py"}),),
        (("shell", {"command": "exit 3"}),),
        (("edit", {"path": "TASK.md", "old": "not there", "new": ""}),),
        (("run", {}),),
        (*WRITE, *SUBMIT),
        "I am done.",
        SUBMIT,
    ]
    done = trial(tmp_path, wrong)
    assert done.status == "measured", done.reason
    said = answers(tmp_path)
    assert "there is no tool 'fly', only shell, view" in said[0]
    assert "main.py is missing" in said[1] and "Error: " in said[2]
    assert "write isn't called like that (text: Field required)" in said[3]
    assert "(exit code 3" in said[4] and "0 times" in said[5] and "main.py is missing" in said[6]
    assert "by itself" in said[9] and said[10] == "submitted"


def test_arguments_that_are_cut_off_are_said_to_be(tmp_path: Path) -> None:
    call = {"id": "t0", "type": "function"}
    call |= {"function": {"name": "write", "arguments": '{"path": "main.py", "text": "im'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "length"}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    whole = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}
    raw = json.dumps({**whole, "choices": [choice], "usage": usage})
    done = trial(tmp_path, [Answer(raw=raw), WRITE, SUBMIT])
    assert done.status == "measured", done.reason
    assert "aren't JSON. Were they cut off?" in answers(tmp_path)[0]


def test_long_output_is_shown_by_its_head_and_its_tail(tmp_path: Path) -> None:
    long = (("shell", {"command": "echo begins; seq 30000; echo ends"}),)
    trial(tmp_path, [long, WRITE, SUBMIT], output_kb=300)
    shown = answers(tmp_path)[0]
    assert len(shown) < 13_000 and "begins\n1\n2" in shown and shown.rstrip().endswith("ends")
    assert "characters left out" in shown


PLAIN = [
    "Look.\n\n~~~~shell\nls paper\n~~~~",
    f"Write.\n\n~~~~write main.py\n{SEEDED}~~~~\n\n~~~~write README.md\n{README}```\nrun it\n```\n~~~~",
    "~~~~edit main.py\n<<<<<<< OLD\nw = 0.0\n=======\nw = 0.0  # from zero\n>>>>>>> NEW\n~~~~",
    "~~~~run\n~~~~",
    "~~~~submit\n~~~~",
]


def test_a_server_that_refuses_tools_is_asked_in_plain_text(tmp_path: Path) -> None:
    told = {"error": {"message": "registry.ollama.ai/library/m does not support tools"}}
    inner = coded(PLAIN)

    def reply(request: Request) -> Answer | str:
        if request.body.get("tools"):
            return Answer(status=400, error=told["error"])
        return inner(request)

    with chat_server(reply) as server:
        done = run_solver(tmp_path, server.base_url, "autoreproduce", lineage=False).result
        asked = [r for r in server.requests if "reproduces experiments" in r.prompt]
    assert done.status == "measured", done.reason
    assert names(tmp_path) == [
        *("act", "shell", "act", "write", "write", "act", "edit", "act", "run", "act", "submit")
    ]
    assert sum("tools" in r.body for r in asked) == 1  # tried once
    assert "~~~~view PATH FIRST LAST" in asked[-1].messages[0]["content"]
    assert "shell gave:\n(exit code 0" in asked[2].messages[-1]["content"]
    committed = Workspace(tmp_path / "trial").committed()
    assert b"# from zero" in committed["main.py"] and b"run it\n```" in committed["README.md"]


def test_blocks_that_a_model_with_tools_writes_count_too(tmp_path: Path) -> None:
    assert trial(tmp_path, PLAIN).status == "measured"


def test_an_agent_that_never_submits_ends_at_its_steps_and_what_it_left_counts(
    tmp_path: Path,
) -> None:
    look = (("shell", {"command": "ls"}),)
    done = trial(tmp_path, [WRITE, look, look, look], max_steps=4)
    assert done.status == "measured", done.reason
    assert names(tmp_path).count("act") == 4
    last = sorted((tmp_path / "trial" / "prompts").glob("*act*"))[-1].read_text()
    assert "4 steps are done: this is your last step. Call `submit` now" in last


def test_one_that_leaves_no_program_fails_with_the_reason(tmp_path: Path) -> None:
    done = trial(tmp_path, ["Hello.", "Hello.", "Hello."])
    assert done.status == "failed"
    assert "left no program" in done.reason and "3 replies in a row used no tool" in done.reason


def test_a_limit_of_the_attempt_leaves_one_step(tmp_path: Path) -> None:
    done = trial(tmp_path, [WRITE, SUBMIT], attempt_budget="150 tokens")
    assert done.status == "measured", done.reason
    assert any("150 tokens for one attempt are spent" in one for one in done.warnings)


def test_an_exhausted_budget_stops_it_and_the_same_command_goes_on(tmp_path: Path) -> None:
    script = coded([WRITE, RUN, SUBMIT])
    with chat_server(script) as server:
        short = Budget(limit_calls=3)
        stopped = run_solver(tmp_path, server.base_url, "autoreproduce", short, lineage=False)
        assert stopped.result.status == "stopped" and "calls" in stopped.result.reason
        done = run_solver(tmp_path, server.base_url, "autoreproduce", lineage=False).result
    assert done.status == "measured", done.reason
    assert names(tmp_path) == ["act", "write", "write", "act", "run", "act", "submit"]


@pytest.mark.parametrize("at", ["write", "run", "edit", "submit"])
def test_one_that_is_killed_goes_on_where_it_was(tmp_path: Path, at: str) -> None:
    """Also in the midst of the changes, whose files the history does not have yet."""
    wrong = (("write", {"path": "main.py", "text": WRONG}), WRITE[1])
    fixed = (("edit", {"path": "main.py", "old": "0.05 *", "new": "0.1 *"}),)
    with chat_server(coded([wrong, SUBMIT, fixed, RUN, SUBMIT], RATE_DIFFERS)) as server:
        child = os.fork()
        if child == 0:
            _die_after(at)
            run_solver(tmp_path, server.base_url, "autoreproduce", lineage=False)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        done = run_solver(tmp_path, server.base_url, "autoreproduce", lineage=False).result
    assert done.status == "measured", done.reason
    assert names(tmp_path, CHANGES) == ["act", "edit", "act", "run", "act", "submit"]
    assert Workspace(tmp_path / "trial").committed()["main.py"].decode() == SEEDED


def _die_after(name: str) -> None:
    done = Journal._done

    def killed(self: Journal, role: str, asked: str, *more: Any) -> Any:
        step = done(self, role, asked, *more)
        if asked == name and (name != "submit" or self.phase_name == CHANGES):
            os.kill(os.getpid(), signal.SIGKILL)
        return step

    Journal._done = killed  # type: ignore[method-assign]


def test_a_full_run_that_fails_goes_back_to_the_coder(tmp_path: Path) -> None:
    """It fails only when nothing but its text is there."""
    needy = SEEDED.replace("import sys\n", "import sys\nopen('helper.bin', 'rb').read()\n", 1)
    make = (("shell", {"command": "head -c 9 /dev/urandom > helper.bin"}),)
    write = (("write", {"path": "main.py", "text": needy}), WRITE[1])
    done = trial(tmp_path, [make, write, RUN, SUBMIT, WRITE, SUBMIT])
    assert done.status == "measured", done.reason
    runs = [step.result for step in steps_of(tmp_path) if step.phase == "full_run"]
    assert [run.exit_code for run in runs] == [1, 0]
    prompts = [path.read_text() for path in sorted((tmp_path / "trial" / "prompts").glob("*act*"))]
    assert "helper.bin" in prompts[-2] and "that did not pass" in prompts[-2]


def test_a_refused_length_shortens_what_older_tools_gave(tmp_path: Path) -> None:
    long = (("shell", {"command": "seq 3000"}),)
    inner = coded([long, long, long, WRITE, RUN, SUBMIT])
    refused: list[int] = []

    def reply(request: Request) -> Answer | str:
        size = len(request.prompt)
        if request.body.get("tools") and size > 38_000:
            refused.append(size)
            return Answer(status=400, error={"message": "maximum context length is 12000 tokens"})
        return inner(request)

    with chat_server(reply) as server:
        done = run_solver(tmp_path, server.base_url, "autoreproduce", lineage=False).result
        last = server.requests[-1]
    assert done.status == "measured", done.reason
    assert refused and len(last.prompt) < 38_000


def test_a_conversation_is_cut_from_its_oldest_turns() -> None:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    turns: list[Any] = []
    for n in range(30):
        call = {"name": "write", "args": {"text": "x" * 3_000}, "id": str(n)}
        turns += [AIMessage(f"turn {n}", tool_calls=[call])]
        turns += [ToolMessage("y" * 3_000, tool_call_id=str(n), name="write")]
    whole = [SystemMessage("s"), HumanMessage("task"), *turns]
    assert shortened(whole, 100_000) == whole
    cut = shortened(whole, 40_000)
    assert len(cut) == len(whole) and cut[-1] == whole[-1] and "left out" in cut[3].content
    few = shortened(whole, 4_000)
    assert len(few) < len(whole) and few[OPENING].type == "ai" and few[1].text.startswith("task")
    assert "earlier steps are left out" in few[1].text
    with pytest.raises(ContextError, match="the task alone"):
        shortened([SystemMessage("s"), HumanMessage("t" * 9_000), *turns], 1_000)


def test_plain_blocks_that_cannot_be_read_say_why() -> None:
    with pytest.raises(CommandError, match="isn't closed"):
        plain_calls("~~~~write a.py\nprint(1)")
    with pytest.raises(CommandError, match="name one path"):
        plain_calls("~~~~write\nprint(1)\n~~~~")
    with pytest.raises(CommandError, match="<<<<<<< OLD"):
        plain_calls("~~~~edit a.py\nprint(1)\n~~~~")
    assert plain_calls("```python\nprint(1)\n```\nand text") == []
    calls = plain_calls("```bash\nls\n```\n\n```view 'a b.py' 3 9\n```")
    assert [(call["name"], call["args"]) for call in calls] == [
        ("shell", {"command": "ls\n"}),
        ("view", {"path": "a b.py", "first": "3", "last": "9"}),
    ]


def repository(folder: Path) -> Path:
    """Half a program of somebody's, with its numbers in its README."""
    code = folder / "their code"
    (code / "lib").mkdir(parents=True)
    (code / "main.py").write_text(WRONG)
    (code / "lib" / "old.R").write_text("# in another language\nfit <- lm(y ~ x)\n")
    (code / "README.md").write_text("# Theirs\nTheir squared error on the test is 0.0317.\n")
    (code / "weights.bin").write_bytes(bytes(range(256)) * 9)
    (code / "metrics.json").write_text("{}")
    return code


def test_a_coder_begins_with_code_and_the_report_says_what_became_of_it(tmp_path: Path) -> None:
    code = repository(tmp_path)
    look = (("shell", {"command": "cat README.md TASK.md; ls"}),)
    fixed = (("edit", {"path": "main.py", "old": "0.05 *", "new": "0.1 *"}),)
    gone = (("shell", {"command": "rm -r lib; echo mended > README.md"}),)
    done = trial(tmp_path, [look, fixed, gone, SUBMIT], from_code=str(code), coder="tools")
    assert done.status == "measured", done.reason
    assert "their code lies here (3 files)" in answers(tmp_path)[0]
    assert "`weights.bin`" in answers(tmp_path)[0]
    assert "begun from their code" in done.not_reproduced[0]
    (section,) = done.details["sections"].items()
    assert section == (
        "What was changed of their code, with which the program began",
        [
            ("README.md", "changed: +1 −2"),
            ("lib/old.R", "removed: +0 −2"),
            ("main.py", "changed: +1 −1"),
        ],
    )
    page = (tmp_path / "trial" / "report.html").read_text()
    assert "begun from their code" in page and "changed: +1 −1" in page


PENALTY = """- what: penalty
  value: 1
  kind: open
  why: customary
  alternatives:
  - value: 0
    why: none is named
```"""
TAKES = """import sys
seed = sys.argv  # --seed
given = [one.split("=")[1] for one in sys.argv if one.startswith("penalty=")]
penalty = float(given[-1]) if given else 0.0
"""


@pytest.mark.parametrize("value", [0, 7])
def test_a_coder_takes_the_default_that_fits_the_text(tmp_path: Path, value: int) -> None:
    choices = tiny.CHOICES.removesuffix("```") + PENALTY
    program = TAKES + PROGRAM.replace("0.1 *", "(0.1 - 0.01 * penalty) *")
    written = (
        ("write", {"path": "main.py", "text": program}),
        ("write", {"path": "README.md", "text": README}),
        (
            "write",
            {
                "path": "reading_defaults.json",
                "text": json.dumps({"penalty": {"value": value, "why": "it falls throughout"}}),
            },
        ),
    )
    removed = (("shell", {"command": "rm reading_defaults.json"}),)
    inner = coded([written, SUBMIT, removed, SUBMIT])

    def reply(request: Request) -> Answer | str:
        if "Read the paper once" in request.messages[-1]["content"]:
            return tiny.reading("none_because: the error has no number", choices)
        return inner(request)

    with chat_server(reply) as server:
        run_solver(tmp_path, server.base_url, "autoreproduce", lineage=False)
        asked = [str(request.messages[-1]["content"]) for request in server.requests]
    folder = tmp_path / "trial"
    (opened,) = readings_of(folder)
    refused = any("the default of penalty can't be 7, only 1 or 0" in text for text in asked)
    decided = {one["what"]: one for one in json.loads((folder / "choices.json").read_text())}
    if value == 0:
        assert not refused and opened.values == (0, 1)
        assert decided["penalty"]["value"] == 0
        assert "by what the text still says: it falls throughout" in decided["penalty"]["why"]
    else:
        assert refused and opened.values == (1, 0) and decided["penalty"]["value"] == 1


def test_defaults_go_back_with_the_program_whose_changes_broke_it(tmp_path: Path) -> None:
    taken = json.dumps({"penalty": {"value": 0, "why": "it falls throughout"}})
    wrong = TAKES + WRONG.split("\n", 2)[2]
    written = (
        ("write", {"path": "main.py", "text": wrong}),
        ("write", {"path": "README.md", "text": README}),
        ("write", {"path": "reading_defaults.json", "text": taken}),
    )
    broken = (("shell", {"command": "rm reading_defaults.json; echo '(' > main.py"}),)
    line = wrong.splitlines().index(next(x for x in wrong.splitlines() if "0.05 *" in x)) + 1
    inner = coded(
        [written, SUBMIT, broken, SUBMIT], RATE_DIFFERS.replace('"first": 6', f'"first": {line}')
    )

    def reply(request: Request) -> Answer | str:
        if "Read the paper once" in request.messages[-1]["content"]:
            choices = tiny.CHOICES.removesuffix("```") + PENALTY
            return tiny.reading("none_because: the error has no number", choices)
        return inner(request)

    with chat_server(reply) as server:
        run_solver(tmp_path, server.base_url, "autoreproduce", lineage=False)
    assert names(tmp_path, CHANGES)
    assert Workspace(tmp_path / "trial").committed()["main.py"].decode() == wrong
    assert readings_of(tmp_path / "trial")[0].values == (0, 1)


def test_claimed_values_in_the_documents_of_code_are_withheld(tmp_path: Path) -> None:
    tiny.lay_out(tmp_path)
    paper = tmp_path / "paper.md"
    table = "\n\nTable 1: Results.\n\n| method | squared error |\n|---|---|\n| Ours | 0.0317 |\n\n"
    paper.write_text(tiny.PAPER.replace("is reported.\n", f"is reported.{table}"))
    claims = (
        "claims:\n- {row: [Ours], column: [squared error], metric: squared error, value: 0.0317, "
        "direction: lower, table: Table 1}"
    )
    inner = coded([(("shell", {"command": "cat README.md paper/paper.md"}),), WRITE, SUBMIT])

    def reply(request: Request) -> Answer | str:
        if "Read the paper once" in request.messages[-1]["content"]:
            return tiny.reading(claims, tiny.CHOICES)
        return inner(request)

    with chat_server(reply) as server:
        more = {"from_code": str(repository(tmp_path)), "coder": "tools", "lineage": False}
        run_solver(tmp_path, server.base_url, "autoreproduce", **more)
    assert "[withheld]" in answers(tmp_path)[0] and "0.0317" not in answers(tmp_path)[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"from_code": "nowhere", "coder": "tools"}, "--from nowhere: there is no such file"),
        ({"from_code": ".", "coder": "edit"}, "the EDIT loop begins with nothing"),
        ({"from_code": ".", "effort": "paper"}, "the EDIT loop begins with nothing"),
        ({"coder": "tool"}, "there is no coder tool: "),
        ({"coder": "agent:nobody"}, "there is no agent nobody"),
    ],
)
def test_a_coder_that_cannot_be_is_refused_at_once(
    tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    with chat_server(tiny.reply) as server:
        try:
            done = run_solver(tmp_path, server.base_url, "autoreproduce", **settings, lineage=False)
            assert done.result.status == "stopped" and words in done.result.reason
        except UsageError as error:
            assert words in str(error)
        assert len(server.requests) <= 2


def test_another_solver_takes_no_coder(tmp_path: Path) -> None:
    with chat_server([]) as server, pytest.raises(UsageError, match="basic takes no --coder"):
        run_solver(tmp_path, server.base_url, "basic", coder="tools")
