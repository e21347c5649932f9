"""What on this machine could answer without more ado: an agent program that is logged in, a model
server at its usual port, a key in the environment. The first error without a model names it.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor

import httpx2

from autoreproduce.models.agent_programs import found_programs
from autoreproduce.models.prices import PROVIDERS, key_variable, own_address
from autoreproduce.models.servers import SERVERS, ModelServer

LOOKING = 1.0  # seconds that a server on this machine may take to list its models
_NO_CHAT = re.compile(r"embed|rerank|\bbge\b|minilm|whisper|\btts\b|\bclip", re.IGNORECASE)
EXAMPLES = {  # a model of those who sell them, for the line that a user copies
    "openai": "gpt-5",
    "anthropic": "claude-sonnet-4-5",
    "google_genai": "gemini-2.5-pro",
    "mistralai": "mistral-large-latest",
    "deepseek": "deepseek-chat",
    "openrouter": "openai/gpt-5",
    "xai": "grok-4",
    "groq": "openai/gpt-oss-120b",
}


def ways_here() -> list[str]:
    """The flags that would work here, each with what was found; the cheapest first."""
    with ThreadPoolExecutor() as pool:
        programs = pool.submit(found_programs)
        own = {
            name: server._replace(address=own_address(name) or server.address)
            for name, server in SERVERS.items()
            if server.free
        }
        served = pool.map(first_model, own.values())
        ways = [
            f"--model {name} ({program.title} is logged in here: {login.paid})"
            for name, program, login in programs.result()
            if login
        ]
        for (name, server), model in zip(own.items(), served, strict=True):
            if model:
                ways.append(f"--model {name}:{model} ({server.title} answers on this machine)")
    for provider in PROVIDERS:
        variable = key_variable(provider)
        if variable and os.environ.get(variable):
            ways.append(f"--model {provider}:{EXAMPLES.get(provider, 'NAME')} ({variable} is set)")
    return ways


def first_model(server: ModelServer) -> str:
    """The first model that a server lists at its address and that can chat, by its name; "" if
    nothing answers there.
    """
    from autoreproduce.files.http_limits import limited_client

    try:
        with limited_client(LOOKING, 2**20) as client:
            listed = client.get(f"{server.address}/models").json()["data"]
        names = [str(each["id"])[:200] for each in listed]
        return next((name for name in names if not _NO_CHAT.search(name)), "")
    except (httpx2.HTTPError, ValueError, KeyError, TypeError, IndexError):
        return ""


def how_here(otherwise: str) -> str:
    """The fix for a missing model: what works here, else `otherwise`."""
    ways = ways_here()
    return f"here you can give {', or '.join(ways)}; else {otherwise}" if ways else otherwise
