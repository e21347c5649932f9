"""Model servers that speak OpenAI's protocol, by short names, and which addresses cost nothing.

`ollama:NAME` is `openai:NAME` at Ollama's address: the client, its limits and its retries are the
same. A server on this machine or in its private network bills nobody, so a call there costs 0
dollars unless --price says otherwise.
"""

import ipaddress
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit


class ModelServer(NamedTuple):
    """Where a kind of server listens unless --base-url says otherwise. `free`: it runs on one's own
    machines.
    """

    title: str
    address: str
    free: bool


SERVERS: Mapping[str, ModelServer] = {
    "ollama": ModelServer("Ollama", "http://127.0.0.1:11434/v1", True),
    "vllm": ModelServer("vLLM", "http://127.0.0.1:8000/v1", True),
    "lmstudio": ModelServer("LM Studio", "http://127.0.0.1:1234/v1", True),
    "openrouter": ModelServer("OpenRouter", "https://openrouter.ai/api/v1", False),
}
_OF_THIS_MACHINE = frozenset({"localhost", "0.0.0.0", "host.docker.internal"})


def is_local(url: str) -> bool:
    """True for an address of this machine or of a private network."""
    host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    if host in _OF_THIS_MACHINE or host.endswith(".localhost"):
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found.is_loopback or found.is_private or found.is_link_local


def is_free(provider: str, url: str | None) -> bool:
    """True if nobody bills a call of the provider's models at that address.

    A name without a dot is one of a local network, as in a compose file; it is believed of servers
    that run on one's own machines.
    """
    if url is None:
        return False
    own = provider in SERVERS and SERVERS[provider].free
    return is_local(url) or (own and "." not in (urlsplit(url).hostname or "."))
