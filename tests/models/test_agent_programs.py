"""Installed agent programs as chat models: the real ones, where a folder of node modules is named by
AUTOREPRODUCE_TEST_AGENTS, against a local server of their protocols; and small scripts that print
what they print, for what a local server can't cause.
"""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from protocol_server import ProtocolServer, Said, protocol_server

from autoreproduce.config import Settings
from autoreproduce.errors import (
    BudgetError,
    ContextError,
    ModelError,
    PlanLimitError,
    UnknownPriceError,
    UsageError,
)
from autoreproduce.models.agent_programs import found_programs, limit_ends
from autoreproduce.models.budget import Budget, Cost
from autoreproduce.models.open import call, open_model
from autoreproduce.models.prices import check_price, price_of, why_free
from autoreproduce.models.replies import reply_of
from autoreproduce.models.tape import CallSite

PLACE = CallSite("code", "replication", "edit")
AGENTS = os.environ.get("AUTOREPRODUCE_TEST_AGENTS", "")  # holds node_modules/.bin
BIN = Path(AGENTS) / "node_modules" / ".bin"
NAMES = {"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini"}
CONFIG = """
model = "gpt-5"
model_provider = "here"
[model_providers.here]
name = "here"
base_url = "{url}/v1"
env_key = "HERE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


def real(name: str, server: ProtocolServer, home: Path, patch: pytest.MonkeyPatch) -> Any:
    """The model of a real program, which asks `server`; skips where it isn't installed."""
    if not AGENTS or not (BIN / NAMES[name]).exists():
        pytest.skip(f"AUTOREPRODUCE_TEST_AGENTS names no folder with {NAMES[name]}")
    patch.setenv("PATH", f"{BIN}:{os.environ['PATH']}")
    patch.setenv("HOME", str(home))
    patch.setenv("ANTHROPIC_BASE_URL", server.url)
    patch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-here")
    patch.setenv("CODEX_HOME", str(home / ".codex"))
    patch.setenv("HERE_KEY", "k")
    patch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
    patch.setenv("GEMINI_API_KEY", "k")
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "config.toml").write_text(CONFIG.format(url=server.url))
    (home / ".gemini").mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    settings |= {"privacy": {"usageStatisticsEnabled": False}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    return open_model(Settings(request_timeout=100), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(NAMES))
def test_a_real_program_answers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with protocol_server([Said("The answer is 42.")]) as server:
        model = real(name, server, tmp_path, monkeypatch)
        asked = [SystemMessage("You count."), HumanMessage("What is 6 times 7?")]
        reply = reply_of(call(model, asked, PLACE))
    assert reply.text == "The answer is 42." and reply.finish == "stop"
    assert not reply.usage.estimated
    assert (reply.usage.input, reply.usage.cached, reply.usage.output) == (100, 40, 20)
    sent = json.dumps(server.requests[-1].body)
    assert "What is 6 times 7?" in sent and "You count." in sent
    assert "x-api-key" not in server.requests[-1].headers or name == "gemini-cli"


@pytest.mark.slow
@pytest.mark.parametrize("name", list(NAMES))
def test_the_tools_of_a_program_are_off(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with protocol_server([Said("yes")]) as server:
        model = real(name, server, tmp_path, monkeypatch)
        call(model, [HumanMessage("hello")], PLACE)
    offered = json.dumps(server.requests[-1].body.get("tools") or [])
    for tool in ("shell", "exec_command", "Bash", "write_file", "apply_patch", "web"):
        assert tool not in offered


def program(folder: Path, name: str, patch: pytest.MonkeyPatch, code: str) -> None:
    """A program of that name on the PATH, in Python."""
    folder.mkdir(exist_ok=True)
    file = folder / NAMES[name]
    file.write_text(f"#!/usr/bin/env python3\nimport json, os, sys\n{code}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def claude(text: str, error: bool = False) -> str:
    result = {"type": "result", "subtype": "success", "is_error": error, "result": text}
    usage = {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 20}
    return f"print(json.dumps({ {**result, 'usage': usage}!r}))"


CODEX_FAILED = (
    'print(json.dumps({{"type": "turn.failed", "error": {{"message": {0!r}}}}})); sys.exit(1)'
)
LIMITS = [
    ("claude-code", claude("Claude AI usage limit reached|4102444800", error=True)),
    ("claude-code", claude("5-hour limit reached \u2219 resets 3pm", error=True)),
    ("claude-code", claude("You've hit your session limit \u00b7 resets 3am (Europe/Berlin)", error=True)),
    ("codex", CODEX_FAILED.format("You've hit your usage limit. Try again in 2 days 3 hours.")),
    ("codex", CODEX_FAILED.format("You've hit your usage limit, or try again at 3:05 PM.")),
    ("gemini-cli", 'print(json.dumps({"error": {"type": "x", "message": "You have exhausted your '
     'capacity on this model. Your quota will reset after 2h30m5s."}})); sys.exit(1)'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code"), LIMITS)
def test_a_plans_limit_is_a_pause_with_its_end(
    name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", name, monkeypatch, code)
    with pytest.raises(PlanLimitError, match=r"it ends at 2.*run the same command") as caught:
        call(open_model(Settings(), name), [HumanMessage("x")], PLACE)
    assert caught.value.retryable and caught.value.exit_code == 3
    assert caught.value.ends is not None and caught.value.ends > datetime.now(UTC)


NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "ends"),
    [
        ("try again in 2 days 3 hours 5 minutes.", NOW + timedelta(days=2, hours=3, minutes=5)),
        ("Your quota will reset after 2h30m5s.", NOW + timedelta(hours=2, minutes=30, seconds=5)),
        ("resets 3pm", NOW.replace(hour=15)),
        ("resets 3am (Europe/Berlin)", NOW.replace(day=29, hour=2)),
        ("resets Dec 2 at 5pm", datetime(2026, 12, 2, 17, tzinfo=UTC)),
        ("try again at Dec 2nd, 2026 3:05 PM.", datetime(2026, 12, 2, 15, 5, tzinfo=UTC)),
        ("resets Jan 3, 9am", datetime(2027, 1, 3, 9, tzinfo=UTC)),
        ("resets at 14:30", NOW.replace(hour=14, minute=30)),
        ("limit reached|1795867200", datetime.fromtimestamp(1795867200, UTC)),
        ("5-hour limit reached", None),
        ("your weekly limit is reached, upgrade", None),
    ],
)
def test_when_a_limit_ends(said: str, ends: datetime | None) -> None:
    assert limit_ends(said, NOW) == ends


def test_an_answer_that_speaks_of_limits_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "claude-code", monkeypatch, claude("The usage limit reached is 5."))
    reply = reply_of(call(open_model(Settings(), "claude-code:opus"), [HumanMessage("x")], PLACE))
    assert reply.text == "The usage limit reached is 5." and reply.usage.input == 100


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("claude-code", claude("Not logged in \u00b7 Please run /login", error=True)),
        ("codex", CODEX_FAILED.format("unexpected status 401 Unauthorized: no token")),
        (
            "gemini-cli",
            "sys.stderr.write('Please set an Auth method in your settings'); sys.exit(41)",
        ),
    ],
)
def test_a_program_that_is_not_logged_in_says_how(
    name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", name, monkeypatch, code)
    with pytest.raises(ModelError, match=r"isn't logged in.*log in \(") as caught:
        call(open_model(Settings(), name), [HumanMessage("x")], PLACE)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "code", ["sys.exit(3)", "print('{')", "print('[]')", "sys.stderr.write('boom'); sys.exit(1)"]
)
def test_a_program_that_fails_is_one_line(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES:
        program(tmp_path / "bin", name, monkeypatch, code)
        with pytest.raises(ModelError, match="gave no answer") as caught:
            call(open_model(Settings(), name), [HumanMessage("x")], PLACE)
        assert "\n" not in str(caught.value)


def test_a_program_that_never_answers_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import time; print(os.getpid(), file=open(os.environ['PID'], 'w')); time.sleep(60)"
    monkeypatch.setenv("PID", str(tmp_path / "pid"))
    program(tmp_path / "bin", "codex", monkeypatch, code)
    with pytest.raises(ModelError, match="raise --request-timeout"):
        call(open_model(Settings(request_timeout=2), "codex"), [HumanMessage("x")], PLACE)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_keys_that_would_be_billed_are_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-billed")
    code = claude("KEY").replace(
        "'KEY'", "str(os.environ.get('ANTHROPIC_API_KEY'))+' '+os.getcwd()"
    )
    program(tmp_path / "bin", "claude-code", monkeypatch, code)
    text = reply_of(call(open_model(Settings(), "claude-code"), [HumanMessage("x")], PLACE)).text
    assert text.startswith("None ") and "question-" in text


def test_a_conversation_is_one_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = claude("Q").replace("'Q'", "sys.stdin.read()+'|'+sys.argv[-1]")
    program(tmp_path / "bin", "claude-code", monkeypatch, code)
    asked = [SystemMessage("sys"), HumanMessage("one"), AIMessage("two"), HumanMessage("three")]
    text = reply_of(call(open_model(Settings(), "claude-code"), asked, PLACE)).text
    assert text.endswith("|sys") and text.index("one") < text.index("two") < text.index("three")
    with pytest.raises(UsageError, match="without tools"):
        open_model(Settings(), "claude-code").bind_tools([])


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [
        ("claude-code", "Prompt is too long", "too long for Claude Code"),
        ("codex", "Your input exceeds the context window of this model.", "too long for Codex"),
        ("codex", "Codex ran out of room in the model's context window.", "too long for Codex"),
        ("gemini-cli", "The input token count exceeds the maximum of 1048576", "too long for Gem"),
        ("claude-code", "error: unknown option '--tools'", r"update it \(npm install -g @anth"),
        ("codex", "error: unexpected argument '--ephemeral' found", r"update it \(npm install"),
        ("codex", "The 'gpt-9' model is not supported when using Codex", "name another"),
        ("claude-code", "There's an issue with the selected model (opis).", "name another"),
        ("codex", "refresh token was already used. Please log out and sign in again.", "log in"),
        ("gemini-cli", "Manual authorization is required but the session is not", "log in"),
        ("claude-code", "API Error: Rate limit reached", "can't answer now.*: wait"),
        ("codex", "Rate limit reached on tokens per min (TPM): try again in 0.01s.", "now.*: wait"),
        ("claude-code", "API Error: 529 overloaded_error", "can't answer now.*: wait"),
        ("gemini-cli", "request failed: fetch failed", "can't answer now.*: wait"),
    ],
)
def test_what_a_program_says_names_what_helps(
    name: str, said: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", name, monkeypatch, failing(name, said))
    with pytest.raises(ModelError, match=words) as caught:
        call(open_model(Settings(max_retries=0), name), [HumanMessage("x")], PLACE)
    assert isinstance(caught.value, ContextError) == ("too long" in words)
    assert not isinstance(caught.value, PlanLimitError)


def failing(name: str, said: str) -> str:
    """A program that says so in its own form."""
    if name == "claude-code":
        return claude(said, error=True)
    gemini = {"error": {"type": "x", "message": said}}
    printed = f"print(json.dumps({gemini!r})); sys.exit(1)"
    return printed if name == "gemini-cli" else CODEX_FAILED.format(said)


def test_what_passes_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "asked"
    busy = claude("API Error: 529 overloaded_error: try again in 0.01 s", error=True)
    code = f"n = len(open({str(file)!r}, 'a+').read()) or os.path.getsize({str(file)!r})\n"
    code += f"open({str(file)!r}, 'a').write('x')\n"
    code += f"if n < 2:\n    {busy}\nelse:\n    {claude('here')}"
    program(tmp_path / "bin", "claude-code", monkeypatch, code)
    with pytest.raises(ModelError, match="can't answer now"):
        call(open_model(Settings(max_retries=1), "claude-code"), [HumanMessage("x")], PLACE)
    model = open_model(Settings(max_retries=1), "claude-code")
    assert reply_of(call(model, [HumanMessage("x")], PLACE)).text == "here"
    assert file.read_text() == "xxx"


def test_an_answer_over_the_programs_limit_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "API Error: Claude's response exceeded the 32000 output token maximum."
    program(tmp_path / "bin", "claude-code", monkeypatch, claude(said, error=True))
    reply = reply_of(call(open_model(Settings(), "claude-code"), [HumanMessage("x")], PLACE))
    assert (reply.text, reply.finish) == ("", "length")


def test_a_program_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"npm install -g @openai/codex.*codex login"):
        open_model(Settings(), "codex:gpt-5")
    with pytest.raises(UsageError, match="--base-url cannot be used"):
        open_model(Settings(base_url="http://127.0.0.1:1/v1"), "codex:gpt-5")
    assert found_programs() == []


def test_a_plan_pays_and_is_limited_in_calls_or_tokens() -> None:
    assert price_of(_usage(), "claude-code", Settings()) == 0.0
    assert "paid by your plan" in why_free("gemini-cli:pro", Settings())
    for text in ("200 calls", "1 call", "2m tokens"):
        check_price(["codex:gpt-5"], Settings(), Budget.parse(text))
    check_price(["codex"], Settings())
    with pytest.raises(UsageError, match=r"--budget '200 calls'"):
        check_price(["codex"], Settings(), Budget.parse("5"))


def _usage() -> Any:
    from autoreproduce.models.prices import Usage

    return Usage(10, 0, 10)


def test_a_budget_in_calls() -> None:
    budget = Budget.parse("2 calls")
    budget.spend(Cost(5, None))  # of a resumed trial
    with budget.reserve(Cost(9, None)) as held:
        with pytest.raises(BudgetError, match="budget of 2 calls"):
            budget.reserve(Cost(1, None))
        held.settle(Cost(9, None))
    with pytest.raises(BudgetError, match="2 calls spent"):
        budget.reserve(Cost(1, None))
    for wrong in ("0 calls", "calls", "-1 calls", "1.5 calls"):
        with pytest.raises(UsageError, match="calls"):
            Budget.parse(wrong)


@pytest.mark.parametrize(
    ("name", "code", "whom"),
    [
        (
            "claude-code",
            "print(json.dumps({'loggedIn': True, 'authMethod': 'claude.ai'}))",
            "claude.ai",
        ),
        ("claude-code", "print(json.dumps({'loggedIn': False})); sys.exit(1)", ""),
        ("codex", "sys.stderr.write('Logged in using ChatGPT\\n')", "ChatGPT"),
        ("codex", "sys.stderr.write('Not logged in\\n'); sys.exit(1)", ""),
        ("gemini-cli", "sys.exit(9)", ""),
        (
            "claude-code",
            "key = 'ANTHROPIC_API_KEY' in os.environ\n"
            "print(json.dumps({'loggedIn': key, 'authMethod': 'api_key'}))",
            "",
        ),
        (
            "claude-code",
            "print(json.dumps({'loggedIn': True, 'authMethod': 'third_party'}))",
            "third_party: billed",
        ),
        ("codex", "print('Logged in using an API key - sk-1')", "an API key: billed"),
        ("codex", "print('API key configured')", "API key configured: billed"),
    ],
)
def test_whether_a_program_is_logged_in(
    name: str, code: str, whom: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", os.environ["PATH"].replace(str(BIN), ""))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-billed")
    program(tmp_path / "bin", name, monkeypatch, code)
    logins = {found: login for found, _, login in found_programs()}
    login = logins[name]
    assert whom == (f"{login.who}{'' if login.by_plan else ': billed'}" if login else "")


def test_a_program_that_works_by_a_key_is_priced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "codex", monkeypatch, "print('API key configured')")
    assert price_of(_usage(), "codex:gpt-5", Settings()) is None
    assert why_free("codex:gpt-5", Settings()) == ""
    with pytest.raises(UnknownPriceError, match="give it with --price"):
        check_price(["codex"], Settings(), Budget.parse("5"))
    check_price(["codex"], Settings(), Budget.parse("200 calls"))
    assert price_of(_usage(), "codex", Settings(price="1,1,1")) is not None
