"""Chat models: opened by name, called with clear errors, their replies and usage read, their price known or not.

A model is any LangChain chat model: `provider:name`, the name of a model behind an OpenAI-compatible URL, or
a tape. What goes wrong at a provider becomes a ModelError that names the mend; retries on 429, 5xx and
time-outs are those of the client that carries the call, which heeds Retry-After and adds jitter.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from autoreproduce.config import Settings, is_address
from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.model_errors import ContextError, explain, shown
from autoreproduce.prices import PROVIDERS, Usage, cost_of, endpoint, most_it_costs, price_of
from autoreproduce.tape import Place
from autoreproduce.tokens import count_tokens, rough_tokens

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

__all__ = [
    "ContextError", "Reply", "Usage",
    "call", "cost_of", "count_tokens", "most_it_costs", "open_model", "price_of", "reply_of",
    "rough_tokens", "sees_pictures", "storable",
]  # fmt: skip

_FINISH = {
    "stop": "stop", "end_turn": "stop", "stop_sequence": "stop", "completed": "stop",
    "length": "length", "max_tokens": "length", "max_output_tokens": "length", "incomplete": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "filter", "refusal": "filter", "safety": "filter",
}  # fmt: skip
_THINKING = re.compile(r"\A\s*<(think|thinking)>.*?</\1>\s*", re.DOTALL)
ASKED = "\n# What is asked"  # the heading with which the templates begin what differs
_MODEL_HELP = "set --model provider:name with the provider's key, --base-url for a local server, or --model tape"


@dataclass(frozen=True)
class Reply:
    """What came of one call. `finish`: stop, length (cut off), filter, or the provider's own word."""

    text: str
    usage: Usage
    finish: str
    model: str


def open_model(settings: Settings, name: str | None = None) -> BaseChatModel:
    """The chat model `name` (default: `settings.model`). Calls nothing.

    Raises UsageError for a missing key, an unknown provider or a missing package, each with the mend.
    """
    name = name or settings.model
    if name == "tape":
        raise UsageError("no tape ships for this task and profile: name one by --model tape:FILE")
    if not name:
        raise UsageError(f"no model is configured: {_MODEL_HELP}")
    if name.startswith("tape:"):
        from autoreproduce.tape_model import TapeModel

        return TapeModel.open(Path(name.removeprefix("tape:")).expanduser())
    provider, model = split_name(name, settings)
    base_url = settings.base_url if provider == "openai" else None
    if provider == "openai" and (url := endpoint(settings)):
        _check_address(url)
    named: dict[str, Any] = {
        "max_tokens": settings.max_output_tokens,
        "timeout": settings.request_timeout,
        "max_retries": settings.max_retries,
        "temperature": settings.temperature,
        "base_url": base_url,
        "api_key": _key(provider, base_url, settings),
    }
    return _initialised(provider, model, {key: value for key, value in named.items() if value is not None})


def split_name(name: str, settings: Settings) -> tuple[str, str]:
    """Provider and model of `provider:name`; behind a base URL the provider is openai where the name has none."""
    prefix, colon, rest = name.partition(":")
    provider = prefix.replace("-", "_").lower()
    if colon and rest and provider in PROVIDERS:
        return provider, rest
    if settings.base_url:
        return "openai", name
    if not colon:
        raise UsageError(
            f"the model {name!r} names no provider: write provider:name, e.g. openai:{name}, or give --base-url"
        )
    raise UsageError(f"the provider {prefix!r} is unknown: one of {', '.join(PROVIDERS)}, or give --base-url")


def _check_address(url: str) -> None:
    """Raises UsageError for what LangChain or the wire would trip over only at the first call."""
    if not is_address(url) or urlsplit(url).query or urlsplit(url).fragment:
        raise UsageError(
            f"the base URL {shown(url)} is no address that can be called: write it as http://127.0.0.1:11434/v1"
        )


def _key(provider: str, base_url: str | None, settings: Settings) -> str | None:
    variable = PROVIDERS[provider][0]
    if settings.api_key:
        return _usable("AUTOREPRODUCE_API_KEY", settings.api_key.get_secret_value())
    if not variable:
        return None
    if found := os.environ.get(variable):
        return _usable(variable, found)
    if base_url and is_local(base_url):
        return "none"  # the client wants a key, a local server does not
    raise UsageError(f"no key for {provider}: set {variable} (or AUTOREPRODUCE_API_KEY), or {_MODEL_HELP}")


def _usable(variable: str, key: str) -> str:
    """The key, if it can be sent: a client that cannot send one says so with the key in its words."""
    if not re.fullmatch("[!-~]+", key):
        raise UsageError(f"the key in {variable} holds a space, a line's end or a sign that no key has: set it anew")
    return key


def _initialised(provider: str, model: str, named: dict[str, Any]) -> BaseChatModel:
    try:
        if provider == "openai":
            from autoreproduce.chat_completions import ChatCompletions

            return ChatCompletions(model=model, **named)
        from langchain.chat_models import init_chat_model

        opened: BaseChatModel = init_chat_model(model, model_provider=provider, **named)
    except ImportError as error:
        told = re.search(r"pip install (?:-U )?`?([\w-]+)", str(error))  # LangChain knows the packages' names
        package = told[1] if told else f"langchain-{provider.replace('_', '-')}"
        raise UsageError(f"the package for {provider} is missing: pip install {package}") from None
    except ValueError as error:  # a setting that the client refuses
        said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error  # its str shows the key
        raise UsageError(f"the model {provider}:{model} cannot be set up: {said}; check its settings") from None
    return opened


def is_local(url: str) -> bool:
    """True for an address of this machine."""
    host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    return host in {"localhost", "::1", "0.0.0.0", "host.docker.internal"} or host.startswith("127.")


def sees_pictures(model: BaseChatModel) -> bool | None:
    """Whether the model takes pictures, None where its profile does not say."""
    profile = getattr(model, "profile", None) or {}
    answer = profile.get("image_inputs")
    return None if answer is None else bool(answer)


def call(model: BaseChatModel, messages: Sequence[BaseMessage], place: Place) -> AIMessage:
    """One call of the model at `place`. Raises ModelError (ContextError where the prompt is too long).

    Where the provider counts no tokens, they are estimated, and `response_metadata["usage_estimated"]` is set.
    """
    asked = _cacheable(model, messages)
    return explained(
        lambda: model.invoke(asked, config={"metadata": place._asdict()}), model, lambda: [m.text for m in messages]
    )


def explained(do: Callable[[], AIMessage], model: BaseChatModel, texts: Callable[[], Sequence[str]]) -> AIMessage:
    """The message that `do` gets from `model` for prompts of these `texts`; else as `call`."""
    try:
        message = do()
    except AutoReproduceError:
        raise
    except Exception as error:
        known = explain(error, model)
        if known is None:
            raise
        raise known from error
    return message if _counted(message) else _with_usage(message, texts())


def _counted(message: AIMessage) -> bool:
    """False where the provider counted nothing, or says so by noughts. A tape has what was counted then."""
    used: Mapping[str, Any] = message.usage_metadata or {}
    return bool(used.get("input_tokens") or used.get("output_tokens") or message.response_metadata.get("replayed"))


def _cacheable(model: BaseChatModel, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages, with what other prompts share marked for Anthropic's prompt cache; others cache unasked.

    Marked are the system message and all before the last heading of the first question, which says what is asked.
    """
    if type(model).__name__ != "ChatAnthropic":
        return list(messages)
    return [_marked(message) if n < 2 else message for n, message in enumerate(messages)]


def _marked(message: BaseMessage) -> BaseMessage:
    if not isinstance(message.content, str) or not message.content:
        return message
    shared, asked, rest = message.content.rpartition(ASKED) if message.type == "human" else (message.content, "", "")
    blocks = [{"type": "text", "text": shared, "cache_control": {"type": "ephemeral"}}] if shared.strip() else []
    return message.model_copy(
        update={"content": [*blocks, *([{"type": "text", "text": asked + rest}] if rest else [])]}
    )


def _with_usage(message: AIMessage, texts: Sequence[str]) -> AIMessage:
    from langchain_core.messages.ai import UsageMetadata

    asked = sum(count_tokens(text) for text in texts)
    answered = count_tokens(message.text)
    usage = UsageMetadata(input_tokens=asked, output_tokens=answered, total_tokens=asked + answered)
    metadata = {**message.response_metadata, "usage_estimated": True}
    return message.model_copy(update={"usage_metadata": usage, "response_metadata": metadata})


def reply_of(message: AIMessage) -> Reply:
    """Text, usage and ending of a reply, whichever provider it came from. Thinking is left out."""
    used: Mapping[str, Any] = message.usage_metadata or {}
    read, written = used.get("input_token_details") or {}, used.get("output_token_details") or {}
    usage = Usage(
        input=int(used.get("input_tokens") or 0),  # some servers count in text or in fractions
        cached=int(read.get("cache_read") or 0),
        output=int(used.get("output_tokens") or 0),
        reasoning=int(written.get("reasoning") or 0),
        cache_write=sum(value or 0 for key, value in read.items() if "creation" in key or key.startswith("ephemeral")),
    )
    metadata = message.response_metadata
    name = str(metadata.get("model_name") or metadata.get("model") or "")
    return Reply(_THINKING.sub("", storable(_text(message.content))), usage, _finish(metadata), name)


def storable(said: Any) -> Any:
    """What a file can hold: half a character, with which a reply that was cut off may end, becomes «?»."""
    return json.loads(json.dumps(said, ensure_ascii=False).encode("utf-8", "replace"))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [block if isinstance(block, str) else block.get("text") or "" for block in content if _is_text(block)]
    return "".join(parts)


def _is_text(block: Any) -> bool:
    return isinstance(block, str) or block.get("type") in {"text", "output_text"}


def _finish(metadata: Mapping[str, Any]) -> str:
    said = next(
        (metadata[key] for key in ("finish_reason", "stop_reason", "done_reason", "status") if metadata.get(key)), ""
    )
    return _FINISH.get(str(said).lower(), str(said).lower() or "stop")
