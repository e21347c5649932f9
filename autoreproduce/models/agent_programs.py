"""Agent programs that people have installed and are logged in to, as chat models: `claude-code`,
`codex` and `gemini-cli`, each with `:MODEL` or without.

A call starts the program in its non-interactive mode, outside the sandbox, in an empty folder and
without its tools, gives it one question and reads answer and usage from what it prints. Keys in the
environment, which would be billed, aren't passed on, neither then nor when it is asked who it works
for: usually the user's plan pays. A plan's limit is a pause: the error says when it ends, and the
same command resumes. What passes in a minute is asked again.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from autoreproduce.errors import ContextError, ModelError, PlanLimitError
from autoreproduce.files.bounded import parse_json
from autoreproduce.models.errors import is_context_error

MOST_OUTPUT = 16 * 2**20  # bytes that a program may print
GEMINI = "gemini-2.5-pro"
GEMINI_SETTINGS = """{
  "tools": {"core": ["none"], "exclude": ["invoke_agent", "update_topic", "enter_plan_mode"]},
  "experimental": {"enableAgents": false, "plan": false}
}"""
STATUS_SECONDS = 10.0  # that a program may take to say whether it is logged in
LONGEST_WAIT = 120.0  # seconds before it's asked again
BY_PLAN = (
    "is paid by your plan: it costs $0 beyond it. Limit it by --budget '200 calls' or in tokens"
)


@dataclass(frozen=True)
class ProgramAnswer:
    """What one run of a program printed: text, tokens by name, and the error if it failed."""

    text: str = ""
    model: str = ""
    finish: str = "stop"
    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    counted: bool = False
    error: str = ""


@dataclass(frozen=True)
class Login:
    """Who a program works for, in its own words; without `by_plan` each call is billed, by a key or
    a cloud's account.
    """

    who: str
    by_plan: bool = True

    @property
    def paid(self) -> str:
        """Who pays, for a user to read."""
        return "your plan pays" if self.by_plan else "calls are billed"


@dataclass(frozen=True)
class AgentProgram:
    """One program: how it is asked, what it prints, and how one logs in.

    `keys` are variables with keys that it would use before its login.
    """

    title: str
    program: str
    package: str
    login: str
    keys: tuple[str, ...]
    ask: Callable[[str, str, Path], list[str]]  # model, system prompt, folder
    read: Callable[[str], ProgramAnswer]
    logged_in: Callable[[str], Login | None]  # path of the program
    surroundings: Callable[[str, Path], dict[str, str]]  # system prompt, folder: its variables
    system_apart: bool = True

    def path(self) -> str | None:
        """Where it is installed, None if it isn't."""
        return shutil.which(self.program)


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that a program printed: the whole text, or one a line."""
    try:
        found = parse_json(text)
        yield from [found] if isinstance(found, dict) else []
    except ValueError:
        for line in text.splitlines():
            if line.lstrip().startswith("{"):
                try:
                    found = parse_json(line)
                except ValueError:
                    continue
                if isinstance(found, dict):
                    yield found


def _ask_claude(model: str, system: str, folder: Path) -> list[str]:
    named = ["--model", model] if model else []
    alone = [
        "--tools",
        "",
        "--strict-mcp-config",
        "--setting-sources",
        "",
        "--no-session-persistence",
    ]
    alone += ["--disable-slash-commands", "--system-prompt", system or "Answer what is asked."]
    return ["-p", "--output-format", "json", *named, *alone]


def _read_claude(printed: str) -> ProgramAnswer:
    for said in reversed(list(_objects(printed))):
        if said.get("type") != "result":
            continue
        usage = said.get("usage") if isinstance(said.get("usage"), dict) else {}
        assert isinstance(usage, dict)
        cached, written = (
            _count(usage.get(f"cache_{each}_input_tokens")) for each in ("read", "creation")
        )
        models = said.get("modelUsage")
        text = str(said.get("result") or "")
        failed = bool(said.get("is_error")) or said.get("subtype") not in (None, "success")
        return ProgramAnswer(
            text="" if failed else text,
            model=str(next(iter(models), "")) if isinstance(models, dict) else "",
            finish=str(said.get("stop_reason") or "stop"),
            input=_count(usage.get("input_tokens")) + cached + written,
            cached=cached,
            cache_write=written,
            output=_count(usage.get("output_tokens")),
            counted=bool(usage),
            error=(text or str(said.get("subtype") or "it failed")) if failed else "",
        )
    return ProgramAnswer(error="it printed no result")


def _claude_logged_in(path: str) -> Login | None:
    found = next(_objects(_printed([path, "auth", "status"], KEYS["claude_code"])), {})
    if found.get("loggedIn") is not True:
        return None
    who = str(found.get("authMethod") or "logged in")
    billed = re.search(r"key|third_party|console|bedrock|vertex|foundry", who, re.IGNORECASE)
    return Login(who, by_plan=not billed)


def _ask_codex(model: str, system: str, folder: Path) -> list[str]:
    named = ["--model", model] if model else []
    off = ["shell_tool", "apply_patch_freeform", "view_image_tool", "web_search_request"]
    alone = [part for each in off for part in ("-c", f"features.{each}=false")]
    alone += [
        "-c",
        'web_search="disabled"',
        "-c",
        "mcp_servers={}",
        "-c",
        'approval_policy="never"',
    ]
    asked = ["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only"]
    return [*asked, "--cd", str(folder), *alone, *named, "-"]


def _read_codex(printed: str) -> ProgramAnswer:
    text, error, usage = "", "", None
    for said in _objects(printed):
        kind, item = said.get("type"), said.get("item")
        if kind == "item.completed" and isinstance(item, dict):
            if item.get("type") == "agent_message":
                text = str(item.get("text") or "")
        elif kind == "turn.completed":
            usage = said.get("usage") if isinstance(said.get("usage"), dict) else {}
            error = ""
        elif kind in ("turn.failed", "error"):
            found = said.get("error") if isinstance(said.get("error"), dict) else said
            assert isinstance(found, dict)
            error = str(found.get("message") or error or "the turn failed")
    if usage is None:
        return ProgramAnswer(error=error or "it printed no end of its turn")
    return ProgramAnswer(
        text=text,
        input=_count(usage.get("input_tokens")),
        cached=_count(usage.get("cached_input_tokens")),
        output=_count(usage.get("output_tokens")),
        reasoning=_count(usage.get("reasoning_output_tokens")),
        counted=bool(usage),
    )


def _codex_logged_in(path: str) -> Login | None:
    printed = _printed([path, "login", "status"], KEYS["codex"])
    found = re.search(r"(?<!not )Logged in(?: using ([^\n]*))?|API key configured", printed)
    if found is None:
        return None
    who = (found[1] or found[0]).partition(" - ")[0].strip()  # without what it shows of a key
    return Login(who, by_plan="key" not in who.casefold())


def _ask_gemini(model: str, system: str, folder: Path) -> list[str]:
    named = ["--model", model or GEMINI]  # else it asks a smaller one first which is needed
    asked = ["--output-format", "json", "--approval-mode", "default", "--extensions", "none"]
    # The question comes on its standard input; --prompt chooses the mode without a terminal.
    return [*asked, "--allowed-mcp-server-names", "none", "--skip-trust", *named, "--prompt", " "]


def _around_gemini(system: str, folder: Path) -> dict[str, str]:
    settings, said = folder / ".gemini" / "settings.json", folder / "system.md"
    settings.parent.mkdir()
    settings.write_text(GEMINI_SETTINGS)
    said.write_text(system or "Answer what is asked.", encoding="utf-8", errors="replace")
    found = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}
    return {**found, "GEMINI_SYSTEM_MD": str(said)}


def _read_gemini(printed: str) -> ProgramAnswer:
    start = printed.find("{")
    for said in _objects(printed[start:] if start >= 0 else ""):
        error = said.get("error")
        if isinstance(error, dict):
            return ProgramAnswer(
                error=str(error.get("message") or error.get("type") or "it failed")
            )
        stats = said.get("stats")
        models = stats.get("models") if isinstance(stats, dict) else None
        counts = [
            each.get("tokens")
            for each in (models.values() if isinstance(models, dict) else ())
            if isinstance(each, dict)
        ]
        found = [each for each in counts if isinstance(each, dict)]
        thoughts = sum(_count(each.get("thoughts")) for each in found)
        return ProgramAnswer(
            text=str(said.get("response") or ""),
            model=str(next(iter(models), "")) if isinstance(models, dict) else "",
            input=sum(_count(each.get("prompt")) for each in found),
            cached=sum(_count(each.get("cached")) for each in found),
            output=sum(_count(each.get("candidates")) for each in found) + thoughts,
            reasoning=thoughts,
            counted=bool(found),
        )
    return ProgramAnswer(error="it printed no answer")


def _gemini_logged_in(path: str) -> Login | None:
    if (Path.home() / ".gemini" / "oauth_creds.json").is_file():
        return Login("Google account")
    set_key = next((name for name in KEYS["gemini_cli"] if os.environ.get(name)), "")
    return Login(set_key, by_plan=False) if set_key else None


KEYS = {  # variables with keys that it would use before its login
    "claude_code": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "codex": ("OPENAI_API_KEY", "CODEX_API_KEY"),
    "gemini_cli": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
PROGRAMS: Mapping[str, AgentProgram] = {
    "claude_code": AgentProgram(
        "Claude Code", "claude", "@anthropic-ai/claude-code", "claude auth login",
        KEYS["claude_code"], _ask_claude, _read_claude, _claude_logged_in,
        lambda *_: {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
    ),
    "codex": AgentProgram(
        "Codex", "codex", "@openai/codex", "codex login",
        KEYS["codex"], _ask_codex, _read_codex, _codex_logged_in,
        lambda *_: {}, False,
    ),
    "gemini_cli": AgentProgram(
        "Gemini CLI", "gemini", "@google/gemini-cli", "gemini",
        KEYS["gemini_cli"], _ask_gemini, _read_gemini, _gemini_logged_in,
        _around_gemini,
    ),
}  # fmt: skip


def login_of(provider: str) -> Login | None:
    """Who the program of a provider works for here; None if it isn't installed or logged in."""
    path = PROGRAMS[provider].path()
    return _login_at(provider, path) if path else None


@cache
def _login_at(provider: str, path: str) -> Login | None:
    return PROGRAMS[provider].logged_in(path)  # which takes a second or more


def asked(
    program: AgentProgram,
    path: str,
    model: str,
    system: str,
    question: str,
    seconds: float,
    retries: int = 0,
) -> ProgramAnswer:
    """The answer to one question; what passes in a while is asked again. Raises PlanLimitError at
    the plan's limit, ContextError for a question that's too long, ModelError where the program
    fails or isn't logged in.
    """
    if not program.system_apart and system:
        question = f"{system}\n\n{question}"
    for left in range(retries, -1, -1):
        answer = _answer(program, path, model, system, question, seconds)
        if not answer.error:
            return answer
        if not left or not _PASSES.search(answer.error) or is_context_error(400, answer.error):
            break
        time.sleep(_wait(answer.error, retries - left))
    raise failure(program, answer.error)


def _answer(
    program: AgentProgram, path: str, model: str, system: str, question: str, seconds: float
) -> ProgramAnswer:
    from autoreproduce.files.owner import temporary_folder

    login = program.logged_in(path) if program.program == "gemini" else None
    kept = program.keys if login is None or login.by_plan else ()
    given = {name: value for name, value in os.environ.items() if name not in kept}
    with temporary_folder("question-") as folder:
        command = [path, *program.ask(model, system, folder)]
        variables = {**given, **program.surroundings(system, folder)}
        out, err, code = _run(command, question, folder, variables, seconds)
    answer = program.read(out)
    if not answer.error and (code == 0 or answer.text):
        return answer
    said = answer.error
    if not said or said.startswith("it printed no"):
        said = " ".join(err.split())[-400:] or said or f"exit code {code}"
    if _CUT_OFF.search(said):
        return replace(answer, error="", finish="length")
    return replace(answer, error=said)


def _wait(said: str, tried: int) -> float:
    """Seconds before the next try: as long as is said, else longer each time."""
    named = re.search(r"\bin (\d+(?:\.\d+)?) ?s(?:ec\w*)?\b", said)
    return min(float(named[1]) if named else 2.0**tried, LONGEST_WAIT)


def failure(program: AgentProgram, said: str) -> ModelError:
    """The error for what a program said instead of an answer."""
    words = " ".join(said.split())[:400]
    again = "then run the same command; it resumes from here"
    if is_context_error(400, words):
        return ContextError(
            f"the prompt is too long for {program.title} ({words})",
            fix="name its context with --context-tokens N, so the paper is shortened to fit",
        )
    if _PASSES.search(words):
        return ModelError(f"{program.title} can't answer now ({words})", fix=f"wait, {again}")
    if _LIMIT.search(words):
        ends = limit_ends(words, datetime.now().astimezone())
        when = f"it ends at {ends:%Y-%m-%d %H:%M}: " if ends else ""
        return PlanLimitError(
            f"the plan of {program.title} is at its limit ({words})",
            fix=f"{when}run the same command then; it resumes from here",
            ends=ends,
        )
    if _LOGGED_OUT.search(words):
        what, fix = "isn't logged in", f"log in ({program.login})"
    elif _TOO_OLD.search(words):
        what, fix = "is too old", f"update it (npm install -g {program.package}@latest)"
    elif _NO_MODEL.search(words):
        what, fix = "doesn't have that model", "name another, or leave its name out"
    else:
        what, fix = "gave no answer", f"try it by itself ({program.program})"
    return ModelError(f"{program.title} {what} ({words})", fix=f"{fix}, {again}")


_PASSES = re.compile(
    r"(?<!5-hour )(?<!usage )\brate.?limit|(?:tokens|requests) per min|\b(?:TPM|RPM)\b|overloaded"
    r"|(?:status|error|code|http)\D{0,12}\b(?:429|500|502|503|504|529)\b"
    r"|connection (?:error|reset|refused|closed|timed out|lost)|request timed out|ECONN\w+"
    r"|ETIMEDOUT|fetch failed|socket hang up|internal server error|stream (?:error|disconnected)",
    re.IGNORECASE,
)
_CUT_OFF = re.compile(r"exceeded the \d+ output token maximum|max(?:imum)? output tokens", re.I)
_TOO_OLD = re.compile(
    r"(?:unknown|unexpected|unrecognized|invalid) (?:option|argument|flag)s?", re.IGNORECASE
)
_NO_MODEL = re.compile(
    r"\bmodel\b.{0,80}(?:not found|does ?n[o']t exist|not supported|not exist|is invalid|no access)"
    r"|(?:invalid|unknown|unsupported) model|issue with the selected model",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"(?:usage|session|weekly|daily|opus|sonnet|plan|5.?hour|\d+.?h(?:ou)?r?|hit your) limit"
    r"|limit (?:was |has been |is )?reached|reached your .{0,30}limit"
    r"|(?:quota|capacity).{0,40}(?:exceeded|exhausted|reset)"
    r"|exhausted your (?:capacity|quota|daily)"
    r"|resource_exhausted|out of (?:extra )?usage",
    re.IGNORECASE,
)
_LOGGED_OUT = re.compile(
    r"not logged in|/login|(?:log|sign) ?in again|please (?:log|sign) in|401 unauthorized"
    r"|invalid api key|set an auth method|authentication (?:failed|required)|oauth token"
    r"|refresh token|manual authori[sz]ation|log out and sign in",
    re.IGNORECASE,
)
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_SPAN = re.compile(
    r"\b(?:in|after)((?:(?:\s|,|and)*\d+\s*"
    r"(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[dhms])(?![a-z]))+)",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d\d))?(?::\d\d)?\s*([ap])\.?m\b|\b(\d{1,2}):(\d\d)\b", re.I)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(
    rf"\b({'|'.join(_MONTHS)})[a-z]*\.? (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?", re.I
)


def limit_ends(said: str, now: datetime) -> datetime | None:
    """When a plan's limit ends, by what the program said of it; None if it doesn't say.

    Forms: seconds since 1970 after a bar, "in 2 days 3 hours", "after 2h30m5s", "resets 3pm
    (Europe/Berlin)", "try again at Oct 9th, 2026 3:05 PM", an ISO time.
    """
    if found := re.search(r"\|(\d{10})(?:\d{3})?\b", said):
        return datetime.fromtimestamp(int(found[1])).astimezone()
    if found := re.search(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?", said):
        return datetime.fromisoformat(found[0]).astimezone()
    if found := _SPAN.search(said):
        parts = re.findall(r"(\d+)\s*([dhms])", found[1], re.IGNORECASE)
        seconds = sum(int(number) * _UNITS[unit.lower()] for number, unit in parts)
        return now + timedelta(seconds=seconds)
    zone = now.tzinfo
    if named := re.search(r"\(([A-Z][\w+-]*(?:/[\w+-]+)*)\)", said):
        with suppress(ZoneInfoNotFoundError, ValueError):
            zone = ZoneInfo(named[1])
    date, told = _DATE.search(said), re.split(r"reset|again|until|ends", said, maxsplit=1)[-1]
    clock = _CLOCK.search(told)
    if clock is None and date is None:
        return None
    ends = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if clock is not None:
            hour = int(clock[1] or clock[4])
            if clock[3]:
                hour = hour % 12 + (12 if clock[3].lower() == "p" else 0)
            ends = ends.replace(hour=hour, minute=int(clock[2] or clock[5] or 0))
        if date is not None:
            month = _MONTHS.index(date[1].lower()) + 1
            ends = ends.replace(month=month, day=int(date[2]), year=int(date[3] or ends.year))
            if not date[3] and ends < now - timedelta(days=1):
                ends = ends.replace(year=ends.year + 1)
        elif ends <= now:
            ends += timedelta(days=1)
    except ValueError:
        return None
    return ends.astimezone(now.tzinfo)


def found_programs() -> list[tuple[str, AgentProgram, Login | None]]:
    """The programs that are installed: the name for --model, and as whom each is logged in."""
    installed = [name for name, each in PROGRAMS.items() if each.path()]
    with ThreadPoolExecutor() as pool:
        logins = list(pool.map(login_of, installed))
    found = zip(installed, logins, strict=True)
    return [(name.replace("_", "-"), PROGRAMS[name], login) for name, login in found]


def _printed(command: Sequence[str], keys: Sequence[str]) -> str:
    """What a program says of itself without those keys; "" if it fails."""
    given = {name: value for name, value in os.environ.items() if name not in keys}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=STATUS_SECONDS, check=False, env=given,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f"{done.stdout}\n{done.stderr}" if done.returncode == 0 else ""


def _run(
    command: list[str], question: str, folder: Path, variables: Mapping[str, str], seconds: float
) -> tuple[str, str, int]:
    """What the command printed, on both streams, and its exit code; it ends with all it started."""
    try:
        process = subprocess.Popen(
            command, cwd=folder, env=dict(variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise ModelError(
            f"{command[0]} cannot be run ({error.strerror})", retryable=False
        ) from None
    try:
        out, err = process.communicate(question, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise ModelError(
            f"{command[0]} did not answer within {seconds:g} s",
            fix="try later, or raise --request-timeout",
        ) from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return out[-MOST_OUTPUT:], err[-MOST_OUTPUT:], process.returncode
