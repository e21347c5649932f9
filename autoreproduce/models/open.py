"""Chat models opened by name: `provider:name`, a name behind an OpenAI-compatible URL, or a tape.

A model is any LangChain chat model. Retries on 429, 5xx and time-outs are those of the provider's
own client, which respects Retry-After and adds jitter. What a server answers is not trusted: its
size and its time are limited (`http_limits`). This module also gives the names that callers of a
model need, from `replies`, `prices` and `tokens`.

A call gives a provider's errors as ours, counts tokens and has the shared prompt cached.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from autoreproduce.config import Settings, is_address
from autoreproduce.content import pip_install
from autoreproduce.errors import AutoReproduceError, ContextError, UsageError, nearest, shown
from autoreproduce.files.handed_over import named_tape
from autoreproduce.models.agent_programs import PROGRAMS
from autoreproduce.models.errors import explain, odd_answer, refused_settings
from autoreproduce.models.prices import (
    PROVIDERS,
    Usage,
    cost_of,
    endpoint,
    key_variable,
    most_it_costs,
    price_of,
)
from autoreproduce.models.replies import Reply, reply_of, storable, usage_of
from autoreproduce.models.servers import SERVERS, is_free
from autoreproduce.models.tape import CallSite
from autoreproduce.models.tokens import count_tokens, reply_tokens, rough_tokens

if TYPE_CHECKING:
    import httpx2
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.tools import BaseTool


# The templates' last heading: what is before it is shared by several prompts.
QUESTION = "\n# What is asked"


def call(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    place: CallSite,
    most_output: int | None = None,
    tools: Sequence[BaseTool] = (),
) -> AIMessage:
    """One call of the model at `place`. Raises ModelError, or ContextError for a long prompt.

    `most_output`: tokens that the reply may have, where that isn't what the model was opened with.
    `tools`: that the reply may call.
    If the provider counts no tokens, they are estimated, and `response_metadata["usage_estimated"]`
    is set.
    """
    prompt = _cacheable(model, messages)
    limited = most_output is not None and hasattr(model, "max_tokens")
    more: dict[str, Any] = {"max_tokens": most_output} if limited else {}
    if tools and _is_anthropic(model):
        more |= {"cache_control": {"type": "ephemeral"}}  # the conversation so far, too
    asked: Any = model.bind_tools(tools) if tools else model
    return explained(
        lambda: asked.invoke(prompt, config={"metadata": place._asdict()}, **more),
        model,
        lambda: [message.text for message in messages],
    )


def explained(
    do: Callable[[], AIMessage], model: BaseChatModel, texts: Callable[[], Sequence[str]]
) -> AIMessage:
    """The message that `do` gets from `model` for prompts of these `texts`; errors as `call`."""
    try:
        message = do()
    except AutoReproduceError:
        raise
    except Exception as error:
        known = explain(error, model)
        if known is None:
            raise
        raise known from error
    if message.type != "ai":
        role = message.type[:40]
        raise odd_answer(f"its message is not the assistant's, but of the role {role!r}", model)
    return message if _has_usage(message) else _with_estimated_usage(message, texts())


def _has_usage(message: AIMessage) -> bool:
    """False if the provider did not count, or its counts are impossible. A tape is believed."""
    usage = usage_of(message)
    credible = usage and usage.input and (usage.output or not message.text)
    return bool(credible or message.response_metadata.get("replayed"))


def _cacheable(model: BaseChatModel, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages, with what other prompts share marked for Anthropic's prompt cache.

    Marked are the system message and all before QUESTION in the first human message. Other
    providers cache by themselves.
    """
    if not _is_anthropic(model):
        return list(messages)
    return [_marked(message) if n < 2 else message for n, message in enumerate(messages)]


def _is_anthropic(model: BaseChatModel) -> bool:
    return type(model).__name__ == "ChatAnthropic"


def _marked(message: BaseMessage) -> BaseMessage:
    if not isinstance(message.content, str) or not message.content:
        return message
    shared, heading, rest = message.content, "", ""
    if message.type == "human":
        shared, heading, rest = message.content.rpartition(QUESTION)
    blocks: list[str | dict[str, Any]] = []
    if shared.strip():
        blocks += [{"type": "text", "text": shared, "cache_control": {"type": "ephemeral"}}]
    if rest:
        blocks += [{"type": "text", "text": heading + rest}]
    return message.model_copy(update={"content": blocks})


def _with_estimated_usage(message: AIMessage, texts: Sequence[str]) -> AIMessage:
    from langchain_core.messages.ai import UsageMetadata

    input_tokens = sum(count_tokens(text) for text in texts)
    output_tokens = count_tokens(message.text)
    usage = UsageMetadata(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
    )
    metadata = {**message.response_metadata, "usage_estimated": True}
    return message.model_copy(update={"usage_metadata": usage, "response_metadata": metadata})


__all__ = [
    "ContextError",
    "Reply",
    "Usage",
    "call",
    "can_call_tools",
    "cost_of",
    "count_tokens",
    "explained",
    "most_it_costs",
    "open_model",
    "price_of",
    "reply_of",
    "rough_tokens",
    "sees_pictures",
    "storable",
    "tell_of_waits",
]

LARGEST_ANSWER = 4 * 2**20  # bytes; the longest answers of today are well below one million
_ADDRESSED = ("openai", "anthropic", *SERVERS)  # whose models --base-url can lead elsewhere
_OPENAI_KIN = ("azure_openai", "deepseek", "together", "xai")  # derived from ChatOpenAI's base
_MODEL_HELP = (
    "set --model provider:name with the provider's key, --base-url for a local server, or "
    "--model tape"
)


def open_model(settings: Settings, name: str | None = None) -> BaseChatModel:
    """The chat model `name` (default: `settings.model.name`). Calls nothing.

    Raises UsageError for a missing key, an unknown provider or a missing package, with the fix.
    """
    name = name or settings.model.name
    if named_tape(name) == "":
        raise UsageError(
            "no tape ships for this task and profile", fix="name one with --model tape:FILE"
        )
    if not name:
        from autoreproduce.models.found_here import how_here

        raise UsageError("no model is configured", fix=how_here(_MODEL_HELP))
    if tape := named_tape(name):
        from autoreproduce.models.tape_model import TapeModel

        return TapeModel.open(Path(tape).expanduser())
    provider, model = split_name(name, settings)
    if url := endpoint(settings, provider):
        _check_address(provider, url)
    if provider in PROGRAMS:
        from autoreproduce.models.program_chat import open_program

        asked = settings.model
        return open_program(provider, model, asked.request_timeout, asked.max_retries)
    base_url = url if provider in SERVERS else settings.model.base_url
    options: dict[str, Any] = {
        "max_tokens": reply_tokens(settings.model),
        "timeout": settings.model.request_timeout,
        "max_retries": settings.model.max_retries,
        "temperature": settings.model.temperature,
        "base_url": base_url,
        "api_key": _key(provider, base_url, settings),
    }
    given = {key: value for key, value in options.items() if value is not None}
    from autoreproduce.files.http_limits import check_proxy

    client = "openai" if provider in SERVERS else provider
    check_proxy(url or f"https://{provider}", _proxy(client))
    return _initialised(client, model, given)


def endpoint_host(settings: Settings, name: str) -> str:
    """Where the model `name` is reached: host and port without credentials, "tape", or the
    provider if it is its own address.
    """
    if name.startswith(("tape:", "tape of ")):
        return "tape"
    provider, _ = split_name(name, settings)
    url = endpoint(settings, provider)
    return urlsplit(url).netloc.rpartition("@")[2] if url else provider


def split_name(name: str, settings: Settings) -> tuple[str, str]:
    """Provider and model of `provider:name`; a bare name behind a base URL is openai's."""
    prefix, colon, rest = name.partition(":")
    provider = prefix.replace("-", "_").lower()
    if provider in PROGRAMS:
        return provider, rest
    if colon and rest and provider in PROVIDERS:
        return provider, rest
    if settings.model.base_url:
        return "openai", name
    if "/" in prefix:
        raise UsageError(
            f"the model {name!r} names no provider",
            fix=f"write {_of_path(name)}, or give --base-url",
        )
    if not colon:
        raise UsageError(
            f"the model {name!r} names no provider",
            fix=f"write provider:name, e.g. {_maker(name)}:{name}, or give --base-url",
        )
    if provider in PROVIDERS:
        raise UsageError(f"{name!r} names no model", fix=f"write {prefix}:NAME")
    names = [name.replace("_", "-") if name in PROGRAMS else name for name in PROVIDERS]
    meant = _SLASHED.get(provider)
    meant = f"did you mean {meant}? " if meant else nearest(provider, names)
    raise UsageError(
        f"the provider {prefix!r} is unknown",
        fix=f"{meant}one of {', '.join(names)}, or give --base-url",
    )


# How other programs write a provider before a slash.
_SLASHED = {
    "google": "google_genai",
    "gemini": "google_genai",
    "x_ai": "xai",
    "azure": "azure_openai",
}
_SLASHED |= {"lm_studio": "lmstudio", "hosted_vllm": "vllm", "ollama_chat": "ollama"}
_SLASHED |= {"mistral": "mistralai", "bedrock": "bedrock_converse"}
_SLASHED |= {"x_ai": "xai", "azure": "azure_openai"}


def _of_path(name: str) -> str:
    """What may be meant by `maker/model`: OpenRouter's name for it, or the maker's own."""
    maker, _, model = name.partition("/")
    maker = maker.replace("-", "_").lower()
    provider = _SLASHED.get(maker, maker)
    if provider in SERVERS:
        return f"{provider}:{model}"
    if provider in PROGRAMS:
        return f"{provider.replace('_', '-')}:{model}"
    own = f", or {provider}:{model} with the maker's own key" if provider in PROVIDERS else ""
    return f"openrouter:{name} to reach it through OpenRouter{own}"


def _maker(name: str) -> str:
    """The provider that one may have meant, by how its models are called."""
    begins = {"claude": "anthropic", "gemini": "google_genai", "mistral": "mistralai"}
    begins |= {"deepseek": "deepseek", "grok": "xai", "command": "cohere"}
    found = (maker for start, maker in begins.items() if name.lower().startswith(start))
    return next((maker for maker in found if maker in PROVIDERS), "openai")


def _check_address(provider: str, url: str) -> None:
    """Raises UsageError for what would otherwise fail only at the first call."""
    if provider not in _ADDRESSED:
        raise UsageError(
            f"--base-url cannot be used for {provider}",
            fix="leave it out, or name the model by openai:NAME or anthropic:NAME, whichever "
            "protocol the server speaks",
        )
    if not is_address(url) or urlsplit(url).query or urlsplit(url).fragment:
        raise UsageError(
            f"the base URL {shown(url)} isn't an address that can be called",
            fix="write it as http://127.0.0.1:11434/v1",
        )


def _key(provider: str, base_url: str | None, settings: Settings) -> str | None:
    variable = key_variable(provider)
    # a short name is an address that any file may give, and that key is for the address you gave
    elsewhere = provider in SERVERS and not settings.model.base_url
    if settings.model.api_key and not elsewhere:
        return _checked_key("AUTOREPRODUCE_API_KEY", settings.model.api_key.get_secret_value())
    if not variable:
        return None
    if found := os.environ.get(variable):
        return _checked_key(variable, found)
    if base_url and is_free(provider, base_url):
        return "none"  # the client wants a key, a local server does not
    other = "" if elsewhere else " (or AUTOREPRODUCE_API_KEY)"
    from autoreproduce.models.found_here import ways_here

    ways = ways_here()
    instead = f"give {', or '.join(ways)}" if ways else _MODEL_HELP
    raise UsageError(f"no key for {provider}", fix=f"set {variable}{other}, or {instead}")


def _checked_key(variable: str, key: str) -> str:
    """The key. Raises UsageError if it cannot be sent: a client's error would quote it."""
    if not re.fullmatch("[!-~]+", key):
        raise UsageError(
            f"the key in {variable} has a space, a line break or a character that no key has",
            fix="set it again",
        )
    return key


def _initialised(provider: str, model: str, options: dict[str, Any]) -> BaseChatModel:
    import httpx2

    listeners: list[Callable[[str], None]] = []
    try:
        if provider == "openai" or provider in _OPENAI_KIN:
            options |= {"http_client": _client(provider, options["timeout"], listeners)}
            # never asked: the default would read the machine's proxies, and fail on some; this one
            # trusts no certificate
            trusts_none = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            unused = httpx2.AsyncClient(trust_env=False, verify=trusts_none)
            options |= {"http_async_client": unused}
            options |= {"http_socket_options": ()}  # a client is given, to which none apply
        if provider == "openai":
            options |= {"openai_proxy": ""}  # the client above goes through it
        if provider == "openai":
            from autoreproduce.models.server_chat import ServerChat

            opened: BaseChatModel = ServerChat(model=model, **options)
        else:
            from langchain.chat_models import init_chat_model

            opened = init_chat_model(model, model_provider=provider, **options)
    except ImportError as error:
        # LangChain alone knows its packages' names, and gives them in the words of its error
        told = re.search(r"pip install (?:-U )?`?([\w-]+)", str(error))
        package = told[1] if told else f"langchain-{provider.replace('_', '-')}"
        raise UsageError(
            f"the package for {provider} is missing", fix=pip_install(package)
        ) from None
    except ValueError as error:  # a setting that the client refuses
        raise refused_settings(f"{provider}:{model}", error) from None
    if provider == "anthropic":  # ChatAnthropic takes no HTTP client, but its client does
        import anthropic

        own: Any = opened
        client = _client(provider, options["timeout"], listeners)
        vars(own)["_client"] = anthropic.Anthropic(**own._client_params, http_client=client)
    object.__setattr__(opened, _LISTENERS, listeners)
    return opened


_LISTENERS = "told_of_waits"


def tell_of_waits(model: Any, note: Callable[[str], None]) -> None:
    """Have `note` called with a line where the model's server asks for a wait of over half a
    minute, which its client takes.
    """
    getattr(model, _LISTENERS, []).append(note)


def _client(
    provider: str, seconds: float, listeners: Sequence[Callable[[str], None]]
) -> httpx2.Client:
    """A new client for each model, so that no trial waits for another. It follows no redirect."""
    from autoreproduce.files.http_limits import limited_client
    from autoreproduce.models.wire import CorrectingTransport

    def note(text: str) -> None:
        for each in listeners:
            each(text)

    return limited_client(
        seconds,
        LARGEST_ANSWER,
        proxy=_proxy(provider),
        around=lambda inner: CorrectingTransport(inner, note),
    )


def _proxy(provider: str) -> str | None:
    return os.environ.get(f"{provider.upper()}_PROXY")  # as LangChain's classes have it


def can_call_tools(model: BaseChatModel) -> bool:
    """False for a model whose class or profile says that it calls no tools; a server may still
    refuse them.
    """
    from langchain_core.language_models.chat_models import BaseChatModel

    profile = getattr(model, "profile", None) or {}
    takes = type(model).bind_tools is not BaseChatModel.bind_tools
    return takes and profile.get("tool_calling") is not False


def sees_pictures(model: BaseChatModel) -> bool | None:
    """Whether the model takes pictures, None if its profile does not contain it."""
    profile = getattr(model, "profile", None) or {}
    answer = profile.get("image_inputs")
    return None if answer is None else bool(answer)
