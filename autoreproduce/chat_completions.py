"""LangChain's chat model for OpenAI's protocol, with a lighter way to the wire.

The prompt, the tools, the reading of the answer are LangChain's, unchanged; but a plain call goes out through urllib3
and not through OpenAI's own client, which checks what is asked and answered against its types: with a hundred trials
at once in one interpreter, all of them wait for that. Streams, the Responses API, structured answers and calls through
a proxy go LangChain's own way.
"""

from __future__ import annotations

import json
import random
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from langchain_core.callbacks import CallbackManager
from langchain_core.globals import get_llm_cache
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables.config import ensure_config
from langchain_openai import ChatOpenAI
from urllib3.exceptions import HTTPError, InvalidHeader, NewConnectionError
from urllib3.exceptions import TimeoutError as TimedOut

from autoreproduce import __version__, turns

if TYPE_CHECKING:
    from ssl import SSLContext

    from langchain_core.callbacks import CallbackManagerForLLMRun
    from langchain_core.language_models import LanguageModelInput
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import RunnableConfig

IDLE = 1000  # connections that are kept open between calls, at the most
REACHED = 30.0  # seconds until a server has taken a connection
LATEST = 600.0  # seconds that an answer may take where no time-out is set
LONGEST = 60.0  # seconds that a provider may ask to wait
_PASSES = frozenset({408, 409, 429, *range(500, 600)})  # what OpenAI's own client tries again, too
_VERSIONS = (None, "v0")  # of LangChain's messages, as OpenAI's protocol has them
_BOUND = frozenset({"ls_structured_output_format", "structured_output_format", "stream"})
_OTHERWISE = frozenset({"response_format", "extra_headers", "extra_query", "extra_body", "timeout"})


class Route(NamedTuple):
    """To one server: its connections, the path there, and what is the same for each call."""

    connections: urllib3.HTTPConnectionPool
    path: str
    headers: dict[str, str]
    retries: urllib3.Retry
    timeout: urllib3.Timeout


class StatusError(Exception):
    """An answer that is none: `status_code`, the decoded `body` where there is one, `response` with its headers."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.status_code = int(response.status)
        self.body = _decoded(response.data)
        super().__init__(response.data.decode("utf-8", "replace")[:1000] or f"status {self.status_code}")


class AnswerError(ValueError):
    """A success that holds no answer of a chat model."""


class ChatCompletions(ChatOpenAI):
    """ChatOpenAI, whose plain calls take the short way.

    Errors: StatusError, AnswerError, TimeoutError, ConnectionError.
    """

    leaves_turn: ClassVar[bool] = True  # by itself, and only while it waits

    @cached_property
    def route(self) -> Route | None:
        """Where calls go, by OpenAI's client, which knows the variables that bear on it.

        None, and so LangChain's own way: through a proxy, or to an address that holds a user and a password.
        """
        client = self.root_client
        url = urlsplit(f"{client.base_url}chat/completions")
        if self.openai_proxy or url.username or _behind_proxy(url.scheme, url.netloc):
            return None
        told = {**client.default_headers, **client.auth_headers, "User-Agent": f"autoreproduce/{__version__}"}
        headers = {k: v for k, v in told.items() if isinstance(v, str) and not k.startswith("X-Stainless")}
        seconds = self.request_timeout if isinstance(self.request_timeout, int | float) else LATEST
        timeout = urllib3.Timeout(connect=min(seconds, REACHED), read=seconds)
        retries = Retries.times(2 if self.max_retries is None else self.max_retries)
        return Route(_connections(f"{url.scheme}://{url.netloc}"), url.path, headers, retries, timeout)

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """As LangChain's, without the work for tracers, caches and callbacks where there are none."""
        messages = self._convert_input(input).to_messages()
        if self._watched(config) or _BOUND & kwargs.keys() or not all(isinstance(m.content, str) for m in messages):
            return super().invoke(input, config, stop=stop, **kwargs)
        result = self._generate(messages, stop, **kwargs)
        generation = result.generations[0]
        message = cast("AIMessage", generation.message)
        told = {**(result.llm_output or {}), **(generation.generation_info or {}), **message.response_metadata}
        message.response_metadata = told
        return message

    def _watched(self, config: RunnableConfig | None) -> bool:
        """True where LangChain has something to do beside the call."""
        special = self.cache is not None or self.rate_limiter or self.streaming or self.output_version not in _VERSIONS
        if special or get_llm_cache() is not None:
            return True
        told = ensure_config(config).get("callbacks")
        return bool(CallbackManager.configure(told, self.callbacks, self.verbose).handlers)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        plain = "messages" in payload and not payload.get("stream") and not _OTHERWISE & payload.keys()
        answer = self._answer(self.route, payload) if plain and self.route else None
        if answer is None:
            with turns.left():
                return super()._generate(messages, stop, run_manager, **kwargs)
        return self._create_chat_result(answer)

    def _answer(self, route: Route, payload: dict[str, Any]) -> dict[str, Any] | None:
        """What the provider answers, None where it sends the caller elsewhere."""
        body = json.dumps(payload).encode()
        try:
            with turns.left():
                answer = route.connections.urlopen(
                    "POST",
                    route.path,
                    body,
                    route.headers,
                    retries=route.retries,
                    redirect=False,
                    timeout=route.timeout,
                )
        except HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise _plainly(reason) from reason.__cause__
        if answer.status // 100 == 3:
            return None
        if answer.status // 100 != 2:
            raise StatusError(answer)
        return _object(answer.data)

    def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> ChatResult:
        """As LangChain's, which trips in many ways over what no chat model answers."""
        try:
            result = super()._create_chat_result(response, generation_info)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise AnswerError(str(error)) from error
        if not any(isinstance(each.message, AIMessage) for each in result.generations[:1]):
            raise AnswerError("it holds no choice of the role assistant")
        return result


class Retries(urllib3.Retry):
    """Retries that wait as a provider asks (fractions of a second and dates alike), else ever longer with jitter."""

    @classmethod
    def times(cls, each: int) -> Retries:
        """As many for each kind of failure."""
        return cls(
            total=None, connect=each, read=each, status=each, other=each,
            status_forcelist=_PASSES, allowed_methods=None, raise_on_status=False,
        )  # fmt: skip

    def parse_retry_after(self, retry_after: str) -> float:
        """Seconds, a minute at most; none where it cannot be read."""
        try:
            seconds = float(retry_after)
        except ValueError:
            try:
                seconds = super().parse_retry_after(retry_after)
            except InvalidHeader:
                return 0.0
        return min(seconds, LONGEST) if seconds > 0 else 0.0

    def get_backoff_time(self) -> float:
        """Half a second after the first failure, twice as long after each, eight at most."""
        return float(min(8.0, 0.5 * 2.0 ** (len(self.history) - 1)) * random.uniform(0.75, 1.0))


@cache
def _certificates() -> SSLContext:
    """Read once a process and not by every client anew."""
    import httpx

    return httpx.create_ssl_context()


@cache
def _connections(origin: str) -> urllib3.HTTPConnectionPool:
    """What all models of a process share towards one server; a thread that finds none idle opens one."""
    tls = {"ssl_context": _certificates()} if origin.startswith("https:") else {}
    return urllib3.connection_from_url(origin, maxsize=IDLE, **tls)


def _behind_proxy(scheme: str, host: str) -> bool:
    """True where this machine's settings name a proxy for a host."""
    proxies = getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not proxy_bypass(host)


def _plainly(reason: BaseException) -> Exception:
    """What happened on the wire, as Python's own kinds of errors."""
    late = isinstance(reason, TimedOut) and not isinstance(reason, NewConnectionError)  # which urllib3 derives from it
    return TimeoutError(str(reason)) if late else ConnectionError(str(reason))


def _object(data: bytes) -> dict[str, Any]:
    """The JSON object of an answer, in whichever Unicode it came."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise AnswerError(str(error)) from error
    if not isinstance(found, dict):
        raise AnswerError(f"no object, but {data.decode('utf-8', 'replace')[:100]}")
    return found


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
