"""What went wrong at a provider, as one line that names the mend.

Providers' clients raise their own types; LangChain gives most of them a common base in its newer versions. The
HTTP status and a few words of the message say the same for all of them, so these are what is looked at.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

from autoreproduce.errors import ModelError

_CONTEXT = re.compile(
    r"context[ _](?:length|window|size)|maximum context|prompt is too long|input (?:is )?too long"
    r"|too many (?:input )?tokens|exceeds? the (?:available )?context|input tokens exceed",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient_quota|exceeded your current quota|credit balance|billing", re.IGNORECASE)
_AGAIN = "then run the same command; it goes on from here"
_REFUSED = ("refused the request", "check the model's settings (--temperature, --max-output-tokens)")
_TIMEOUTS = {"APITimeoutError", "TimeoutException", "ModelTimeoutError", "TimeoutError", "ReadTimeout"}
_UNREACHABLE = {"APIConnectionError", "ModelConnectionError", "TransportError", "ConnectionError"}
_ODD = {"OpenAIError", "AnthropicError", "ModelError", "JSONDecodeError", "AnswerError"}
_STATUS = {
    401: ("refused the key", "set the provider's key variable, or AUTOREPRODUCE_API_KEY"),
    403: ("does not permit this call", "check what the key may do, and the model's name"),
    404: ("does not know this model or address", "check --model and --base-url"),
    408: ("took too long, retries included", f"wait, {_AGAIN}"),
    429: ("limits the rate, retries included", f"wait, {_AGAIN}"),
}


class ContextError(ModelError):
    """The prompt is longer than the model's context; a shorter prompt may pass."""


def explain(error: Exception, model: Any) -> ModelError | None:
    """The error for the user, None where `error` is none of a provider's: then it is a bug, with its traceback."""
    if isinstance(error, Warning):
        return None
    said = _said(error, model)
    where = _where(model)
    raw = f"{error} {getattr(error, 'body', '')}"  # the body also holds the provider's code for what happened
    status, kinds = status_of(error), _kinds(error)
    if "ContextOverflowError" in kinds or (status in {400, 413, 422} and _CONTEXT.search(raw)):
        return ContextError(
            f"the prompt is too long for the model ({said}): use a model with a larger context, fewer cited papers "
            "(--k), or less output (--max-output-tokens)"
        )
    if status is not None:
        return ModelError(_by_status(status, said, where, bool(_NO_CREDIT.search(raw))))
    if kinds & _TIMEOUTS:
        return ModelError(f"{where} did not answer in time, retries included: try later, or raise --request-timeout")
    if kinds & _UNREACHABLE:
        return ModelError(
            f"{where} cannot be reached ({_cause(error)}): is it running, is --base-url right, is there a network?"
        )
    return _odd_answer(error, said, where, kinds)


def status_of(error: BaseException) -> int | None:
    """The HTTP status that a provider answered, None where there was none."""
    return next((code for each in _chain(error) if isinstance(code := getattr(each, "status_code", None), int)), None)


def retry_after(error: BaseException) -> float | None:
    """The seconds that the provider asks to wait, None where it does not say, or asks for none."""
    for each in _chain(error):
        headers = getattr(getattr(each, "response", None), "headers", None) or {}
        for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
            with suppress(KeyError, TypeError, ValueError):
                seconds = _seconds(headers[name]) / unit
                if 0 < seconds < float("inf"):
                    return seconds
    return None


def _seconds(said: str) -> float:
    """A number, or the time until a date."""
    try:
        return float(said)
    except ValueError:
        return parsedate_to_datetime(said).timestamp() - time.time()


def may_pass(error: Exception) -> bool:
    """True where the same call may succeed later: a rate limit, a failure of the provider, a broken connection."""
    status = status_of(error)
    if status is not None:
        out_of_credit = status == 429 and _NO_CREDIT.search(f"{error} {getattr(error, 'body', '')}")
        return (status in {408, 409, 429} or status >= 500) and not out_of_credit
    return bool(_kinds(error) & {*_TIMEOUTS, *_UNREACHABLE})


def _kinds(error: BaseException) -> set[str]:
    return {kind.__name__ for each in _chain(error) for kind in type(each).__mro__}


def _by_status(status: int, said: str, where: str, no_credit: bool) -> str:
    if status == 402 or (status in {400, 429} and no_credit):
        return f"{where} has no credit left for this key ({status}: {said}): add credit, {_AGAIN}"
    if status >= 500:
        return f"{where} fails, retries included ({status}: {said}): wait, {_AGAIN}"
    what, mend = _STATUS.get(status, _REFUSED)
    return f"{where} {what} ({status}: {said}): {mend}"


def _odd_answer(error: Exception, said: str, where: str, kinds: set[str]) -> ModelError | None:
    """An answer that is none of a chat model: what speaks at the address is something else, or broken."""
    if kinds & _ODD or _raised_in_client(error):
        return ModelError(f"{where} did not answer as a chat model does ({said}): check --base-url (many end in /v1)")
    return None


def _raised_in_client(error: Exception) -> bool:
    """True for a TypeError and its like that a client raised over the answer it got."""
    trace, module = error.__traceback__, ""
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        trace = trace.tb_next
    client = module.partition(".")[0]
    return client in {"openai", "anthropic"} or (client.startswith("langchain_") and client != "langchain_core")


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__


def _cause(error: Exception) -> str:
    last = list(_chain(error))[-1]
    return str(last) or type(last).__name__


def _said(error: Exception, model: Any) -> str:
    """The provider's words on one line, without the key."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    text = inner.get("message") if isinstance(inner, dict) else None
    line = " ".join(str(text or error or type(error).__name__).split())
    for name in ("openai_api_key", "anthropic_api_key"):
        key: Any = getattr(model, name, None)
        value = str(key.get_secret_value()) if hasattr(key, "get_secret_value") else ""
        line = line.replace(value, "***") if len(value) > 4 else line
    return line if len(line) <= 300 else f"{line[:300]} …"


def _where(model: Any) -> str:
    """The address that was called; OpenAI's client knows it where a variable or nothing names it."""
    url = getattr(model, "openai_api_base", None) or getattr(model, "anthropic_api_url", None)
    url = url or getattr(getattr(model, "root_client", None), "base_url", None)
    return shown(str(url or type(model).__name__).rstrip("/"))


def shown(text: str) -> str:
    """An address, or a command that holds one, as others may see it: without user and password."""
    return re.sub(r"(https?://)[^/?#\s]*@", r"\1", text)
