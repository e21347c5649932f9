"""What went wrong at a provider, as one line that names the fix.

An error is judged by its HTTP status, by the types that LangChain, the providers' clients and httpx
raise, and by the code that the provider gives in its answer.
"""

import html
import math
import re
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic import ValidationError

from autoreproduce.errors import ContextError, ModelError, UsageError, shown
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.http_limits import BY_PROXY

# Many servers have no code for a prompt that is too long: of this alone the words are read. They
# speak of the prompt, of the context, or of both together, never of the reply alone.
_PROMPT = r"(?<![\w-])(?:prompt|inputs?|messages?|conversation|request(?: body)?)(?![\w-])"
_CONTEXT = re.compile(
    r"context[ _-]*(?:length|window|size|limit|(?:the )?overflow)"
    r"|(?:maximum|exceed\w*|available) context"
    rf"|{_PROMPT}[^.\n]{{0,90}}(?:too (?:long|large|big)|longer than|超长)"
    rf"|{_PROMPT}(?=[^.\n]*(?:token|length|text))[^.\n]{{0,90}}"
    r"(?:exceed|more than|\d ?> ?\d|must (?:be|have) (?:<|less|fewer|at most|under))"
    r"|max(?:imum)?[ _-](?:prompt|input|model|seq)[ _-](?:length|len|tokens)|n_keep[^\n]{0,40}n_ctx"
    r"|range of input length|exceed max_num_tokens|input token count|model token limit"
    r"|too many (?:total |input |prompt )*(?:tokens|text bytes)"
    r"|tokens must be at least 1, got -\d|room for \d+ tokens|ran out of room"
    r"|string with maximum length \d{6,}|expected maxLength: \d+, actual"
    rf"|reduce (?:the |your )?(?:length|size|number)[^.\n]{{0,40}}{_PROMPT}",
    re.IGNORECASE,
)
# what some servers write before any complaint; it is no word about the prompt
_PREFIX = re.compile(r"input validation error|invalid (?:input|request)\w*", re.IGNORECASE)
_NOT_CONTEXT = re.compile(r"per (?:minute|hour|day)|rate.?limit", re.IGNORECASE)
# Ollama, vLLM, OpenRouter, llama.cpp, Groq and OpenAI each say it in other words.
_NO_TOOLS = re.compile(
    r"(?:support\w*|unsupported|requires?|unrecognized|unknown|unexpected|not permitted)"
    r"[^\n]{0,80}\b(?:tools?|function.?call\w*)\b"
    r"|\b(?:tools?|tool.?(?:choice|call\w*|use)|function.?call\w*)\b[^\n]{0,80}"
    r"(?:not support|unsupported|requires?|not (?:available|allowed|permitted|enabled))",
    re.IGNORECASE,
)
_TOO_LONG = {  # OpenAI's, llama.cpp's, Anthropic's, GitHub's
    "context_length_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "tokens_limit_reached",
}
_LIMIT = re.compile(
    r"(?:<= ?|(?:length|window|size|limit|maximum|context|room for|only|up to|max input tokens"
    r"|exceeds?|than|under|max)\b[^\d.\n]{0,40})"
    r"(\d[\d,]*)|(\d[\d,]*)(?: tokens?)? max",
    re.IGNORECASE,
)
# numbers that are none of tokens: characters, a batch, MiniMax's code
_NO_LIMIT = re.compile(r"maxLength: ?\d+|batch size\D{0,9}\d+|\(2013\)")
MADE_UP = "status_made_up"  # `wire`'s mark on an answer whose status the server didn't send
_NO_CREDIT = re.compile(
    r"\A(?:insufficient_quota|billing_hard_limit_reached|billing_not_active|billing_error)\Z"
    r"|(?:\bno|n[o']t have (?:any|enough)|insufficient|(?:used|spent) all|out of|exhausted)\b"
    r"[^.\n]{0,40}\b(?:credits?|balance|funds)\b"
    r"|\b(?:credits?|balance)\b[^.\n]{0,30}(?:too low|insufficient|exhausted|not enough)"
    r"|余额不足|欠费",
    re.IGNORECASE,
)
# xAI and Google answer 400 to a key that they don't know.
WRONG_KEY = re.compile(
    r"(?:incorrect|invalid|wrong|expired|unknown|missing) (?:api|access)[ _-]?(?:key|token)"
    r"|\bapi[ _-]?key (?:is )?(?:not valid|invalid|expired|not found)",
    re.IGNORECASE,
)
_PAGE = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype html|html|head|!--)", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,300})</title", re.IGNORECASE)
A_PAGE = "a web page"
_AGAIN = "then run the same command; it resumes from here"
LONG_WAIT = 30.0  # seconds; longer waits that a provider asks for are shown
# By the HTTP status: what is wrong, and the fix.
_STATUS = {
    401: ("refused the key", "set the provider's key variable, or AUTOREPRODUCE_API_KEY"),
    403: ("does not permit this call", "check what the key may do, and the model's name"),
    404: ("does not know this model or address", "check --model and --base-url"),
    407: ("is behind a proxy that wants a login", "name it as http://USER:PASSWORD@HOST:PORT"),
    408: ("took too long", f"wait, {_AGAIN}"),
    429: ("limits the rate", f"wait, {_AGAIN}"),
}
_REFUSED = (
    "refused the request",
    "check the model's settings (--temperature, --max-output-tokens)",
)
# Types of the clients. They are named and not imported, since most clients of LangChain are not
# installed, and importing one takes a second: one that is not loaded raised nothing.
_TIMEOUTS = (
    "builtins.TimeoutError",
    "httpx.TimeoutException",
    "httpx2.TimeoutException",
    "openai.APITimeoutError",
    "anthropic.APITimeoutError",
    "langchain_core.exceptions.ModelTimeoutError",
)
_UNREACHABLE = (
    "builtins.ConnectionError",
    "httpx.TransportError",
    "httpx2.TransportError",
    "openai.APIConnectionError",
    "anthropic.APIConnectionError",
    "langchain_core.exceptions.ModelConnectionError",
)
_ODD = ("openai.OpenAIError", "anthropic.AnthropicError", "langchain_core.exceptions.ModelError")
# which Anthropic's client takes for a broken connection
_UNFIT = ("autoreproduce.files.http_limits.UnfitAnswerError",)
_OVERFLOW = ("langchain_core.exceptions.ContextOverflowError",)
_CHAT_MODELS = "langchain_core.language_models.chat_models"


def explain(error: Exception, model: Any) -> ModelError | None:
    """The error for the user; None if `error` is not a provider's but a bug, with its traceback."""
    if isinstance(error, Warning):
        return None
    words, status = _words_of(error, model), status_of(error)
    if _is_too_long(error, status):
        return ContextError(
            f"the prompt is too long for the model ({words})",
            context_tokens=_limit_in(_answered(error)),
            fix="name its context with --context-tokens N, so the paper is shortened to fit; or "
            "use a model with a larger context, fewer cited papers (--k), or less output "
            "(--max-output-tokens)",
        )
    if _is(error, _UNFIT):
        return odd_answer(_cause(error), model)
    if status is not None:
        what, fix = _by_status(error, status, words)
        if (asked := retry_after(error) or 0) > LONG_WAIT and may_pass(error):
            what, fix = f"{what}; it asks to wait {duration(asked)}", f"wait, {_AGAIN}"
        found = ModelError(f"{_address(model)} {what}", fix=fix, retryable=may_pass(error))
        told = "\n".join(_texts(_answered(error)))
        found.refuses_tools = status not in (401, 403, 429) and bool(_NO_TOOLS.search(told))
        return found
    return _without_status(error, words, model)


def _without_status(error: Exception, words: str, model: Any) -> ModelError | None:
    """The error where no provider answered, or not by HTTP; None where it is none of a client's."""
    where = _address(model)
    notes = [note for each in _chain(error) for note in getattr(each, "__notes__", ())]
    way = next((f" {note}" for note in notes if note.startswith(BY_PROXY)), "")
    if _is(error, _TIMEOUTS):
        fix = "try later, or raise --request-timeout"
        return ModelError(f"{where} did not answer in time{way}{_retries(error)}", fix=fix)
    if _is(error, _UNREACHABLE):
        fix = "is it running, is --base-url right, is there a network?"
        if way:
            fix = "does the proxy run, may it reach that host? NO_PROXY lists hosts without one"
        return ModelError(f"{where} cannot be reached{way} ({_cause(error)})", fix=fix)
    if _is(error, _ODD) or _raised_in_client(error):
        return odd_answer(words, model)
    return None


def odd_answer(words: str, model: Any) -> ModelError:
    """The error for an answer that is none of a chat model: another server, or a broken one."""
    what = f"{_address(model)} did not answer as a chat model does ({words})"
    return ModelError(what, fix="check --base-url (many end in /v1)")


def status_of(error: BaseException) -> int | None:
    """The HTTP status of a provider's answer, None if there was none."""
    for each in _chain(error):
        for holder in (each, getattr(each, "response", None)):
            if isinstance(code := getattr(holder, "status_code", None), int) and code >= 300:
                return code
    return None


def retry_after(error: BaseException) -> float | None:
    """The seconds that the provider asks to wait, None if it does not."""
    holders = (getattr(each, "response", None) for each in _chain(error))
    waits = (wait_in(getattr(holder, "headers", None) or {}) for holder in holders)
    return next((wait for wait in waits if wait), None)


def wait_in(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait by an answer's `Retry-After`, in either of its forms."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        with suppress(KeyError, TypeError, ValueError):
            seconds = _seconds(headers[name], headers.get("date", "")) / unit
            if 0 < seconds < float("inf"):
                return seconds
    return None


def _seconds(header: str, now: str) -> float:
    """A number, or the time until a date; `now` is the server's own clock, if it sent one."""
    try:
        return float(header)
    except ValueError:
        until = parsedate_to_datetime(header).timestamp()
    try:
        return until - parsedate_to_datetime(now).timestamp()
    except ValueError:
        return until - time.time()


def duration(seconds: float) -> str:
    """As people say it, with the time of day at its end."""
    minutes = math.ceil(seconds / 60)
    hours, days = minutes // 60, minutes // 1440
    if minutes < 2:
        said = f"{seconds:.0f} s"
    elif hours < 1:
        said = f"{minutes} min"
    else:
        said = f"{days} days" if days > 1 else f"{hours} h {minutes % 60} min"
    if seconds > 366 * 86400:
        return "more than a year"
    until = datetime.now().astimezone() + timedelta(seconds=seconds)
    return f"{said}, until {until:{'%H:%M' if days < 1 else '%Y-%m-%d %H:%M'}}"


def may_pass(error: Exception) -> bool:
    """True if the same call may succeed later: a rate limit, a failing provider, no connection."""
    status = status_of(error)
    if status is not None:
        passes = status in {408, 409, 429} or status >= 500
        no_credit = is_without_credit(status, _answered(error))
        return passes and not no_credit and not _is_too_long(error, status)
    return _is(error, (*_TIMEOUTS, *_UNREACHABLE)) and not _is(error, _UNFIT)


def _is(error: BaseException, names: tuple[str, ...]) -> bool:
    """True for an error of these types, or with one as its cause."""
    places = [name.rpartition(".") for name in names]
    found = [getattr(sys.modules.get(module), kind, None) for module, _, kind in places]
    types = tuple(kind for kind in found if kind is not None)
    return any(isinstance(each, types) for each in _chain(error))


def _is_too_long(error: BaseException, status: int | None) -> bool:
    if _is(error, _OVERFLOW):
        return True
    return status is not None and is_context_error(status, _answered(error))


def _answered(error: BaseException) -> Any:
    """What the provider said: the body of its answer, else the error's words."""
    bodies = [getattr(each, "body", None) for each in _chain(error)]
    return next((body for body in bodies if body), str(error))


def is_context_error(status: int, said: Any) -> bool:
    """True for an answer of this status that refuses a prompt for its length; `said` is its text,
    or the value of its JSON.

    A 413 does so whatever it says. Some servers say it as a failure of their own (5xx).
    """
    if status == 413:
        return True
    if status not in {400, 422} and status < 500:
        return False
    texts = list(_texts(said))
    if _TOO_LONG & set(texts):
        return True
    told = _PREFIX.sub("", "\n".join(texts))
    return bool(_CONTEXT.search(told)) and not _NOT_CONTEXT.search(told)


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value, without the names of its fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _limit_in(said: Any) -> int | None:
    """The context that a refusal names, in tokens; None if it names none."""
    inner = said.get("error", said) if isinstance(said, dict) else None
    if isinstance(inner, dict) and type(inner.get("n_ctx")) is int:  # llama.cpp's
        return int(inner["n_ctx"])
    words = _NO_LIMIT.sub("", "\n".join(_texts(said)).replace("[1, ", "<= "))
    told = re.findall(r"n_ctx[: =(]{1,4}(\d[\d,]*)()", words)  # LM Studio's, beside what's asked
    told = told or re.findall(r"\d ?> ?(\d[\d,]*)|tokens > (\d[\d,]*)", words)
    found = told or _LIMIT.findall(words)
    found = [one or two for one, two in found]
    counts = [int(each.replace(",", "")) for each in found]
    counts = [count for count in counts if 256 <= count <= 10**8]
    return min(counts) if counts else None


def is_without_credit(status: int, said: Any) -> bool:
    """True for an answer of this status that says that nobody pays for the call; `said` is its
    text, or the value of its JSON.
    """
    told = status in {400, 403, 429} and any(map(_NO_CREDIT.search, _texts(said)))
    return status == 402 or told


def _by_status(error: Exception, status: int, words: str) -> tuple[str, str]:
    """What the provider does that answers so, and the fix."""
    responses = (getattr(each, "response", None) for each in _chain(error))
    made_up = any(MADE_UP in getattr(each, "extensions", ()) for each in responses)
    number = "" if made_up else str(status)
    answer = f"({': '.join(filter(None, (number, words)))})"
    if is_without_credit(status, _answered(error)):
        return f"has no credit left for this key {answer}", f"add credit, {_AGAIN}"
    if status >= 500:
        return f"fails{_retries(error)} {answer}", f"wait, {_AGAIN}"
    if 300 <= status < 400:
        return f"redirects to another address ({status})", "give that with --base-url"
    if words.startswith(A_PAGE) and status not in (407, 408, 429):
        return f"did not answer as a chat model does {answer}", (
            "check --base-url (many end in /v1), and what stands before it (a proxy, a firewall)"
        )
    wrong_key = status in (400, 403) and WRONG_KEY.search(words)
    what, fix = _STATUS.get(401 if wrong_key else status, _REFUSED)
    return f"{what}{_retries(error)} {answer}", fix


def _retries(error: BaseException) -> str:
    """What is said of a call that its client made more than once."""
    for each in _chain(error):
        with suppress(AttributeError, RuntimeError):  # httpx's errors may have none
            asked: Any = each
            if asked.request.headers.get("x-stainless-retry-count", "0") != "0":
                return ", retries included"
    return ""


def _raised_in_client(error: Exception) -> bool:
    """True for a TypeError and its like that a client raised over the answer it got."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    modules = [str(frame.f_globals.get("__name__", "")) for frame in frames]
    if isinstance(error, LookupError) and modules[-1:] == [_CHAT_MODELS]:
        return True  # an answer without any choice
    clients = {module.partition(".")[0] for module in modules} - {"langchain_core"}
    return any(name in {"openai", "anthropic"} or name.startswith("langchain_") for name in clients)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__


def _cause(error: Exception) -> str:
    last = list(_chain(error))[-1]
    return str(last) or type(last).__name__


def _words_of(error: Exception, model: Any) -> str:
    """The provider's words on one line, without the key; "" for an answer without any."""
    line = " ".join(_said(_answered(error)).split())
    line = re.sub(r"\AError code: \d+(?: - )?", "", line) if status_of(error) else line
    line = line.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be stored
    for name in ("openai_api_key", "anthropic_api_key"):
        key: Any = getattr(model, name, None)
        value = str(key.get_secret_value()) if hasattr(key, "get_secret_value") else ""
        line = line.replace(value, "***") if len(value) > 4 else line
    return line if len(line) <= 300 else f"{line[:300]} …"


def _said(told: Any) -> str:
    """What an answer says to people: its message, wherever it stands; of a page the title; of a
    JSON without a message all its texts.
    """
    if isinstance(told, str):
        if _PAGE.match(told):
            title = _TITLE.search(told)
            return f"{A_PAGE}, {html.unescape(title[1]).strip()!r}" if title else A_PAGE
        try:  # some give another server's answer as text
            inner = parse_json(told) if told.lstrip()[:1] in ("{", "[") else None
        except ValueError:
            inner = None
        return _said(inner) if inner else told
    if isinstance(told, list):
        return "; ".join(filter(None, map(_said, told)))
    if not isinstance(told, dict):
        return ""
    behind = told.get("metadata")  # OpenRouter's: what the server behind it said
    raw = behind.get("raw") if isinstance(behind, dict) else None
    found = (_said(each) for each in (raw, *map(told.get, _MESSAGES)))
    return next(filter(None, found), "") or " ".join(_texts(told))


_MESSAGES = ("message", "Message", "error", "errors", "detail")


def _address(model: Any) -> str:
    """The address that was called; OpenAI's client knows its default."""
    url = getattr(model, "openai_api_base", None) or getattr(model, "anthropic_api_url", None)
    url = url or getattr(getattr(model, "root_client", None), "base_url", None)
    return shown(str(url or type(model).__name__).rstrip("/"))


def refused_settings(name: str, error: ValueError) -> UsageError:
    """The error for a model that its client refuses to set up; it names the variable to set."""
    # A ValidationError's own text shows the key.
    told = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
    reason = told.removeprefix("Value error, ")
    if variable := re.search(r"`([A-Z][A-Z0-9_]+)` environment variable", reason):
        fix = f"{variable[1]}=... in the environment, as docs/models.md shows"
        return UsageError(f"the model {name} needs {variable[1]}", fix=f"set {fix}")
    return UsageError(f"the model {name} cannot be set up ({reason})", fix="check its settings")
