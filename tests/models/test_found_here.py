"""What the first error without a model names of this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.models import found_here
from autoreproduce.models.found_here import how_here, ways_here
from autoreproduce.models.open import open_model
from autoreproduce.models.servers import ModelServer


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No program, no server, no key."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    closed = {"ollama": ModelServer("Ollama", "http://127.0.0.1:9/v1", True)}
    monkeypatch.setattr(found_here, "SERVERS", closed)


@contextmanager
def listing(body: Any) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(200 if self.path == "/v1/models" else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def test_nothing_is_here() -> None:
    assert ways_here() == [] and how_here("do that") == "do that"


def test_a_key_a_server_and_a_program_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "claude"
    file.write_text("#!/bin/sh\necho '{\"loggedIn\": true}'\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with listing({"data": [{"id": "nomic-embed-text"}, {"id": "qwen3:8b"}]}) as address:
        here = {"ollama": ModelServer("Ollama", address, True)}
        monkeypatch.setattr(found_here, "SERVERS", here)
        with pytest.raises(UsageError) as caught:
            open_model(Settings())
    said = str(caught.value)
    places = [said.index(f"--model {each}") for each in ("claude-code (", "ollama:qwen3:8b (")]
    assert places == sorted(places) and "--model anthropic:" in said
    assert "ANTHROPIC_API_KEY is set" in said


def test_a_program_that_is_not_logged_in_is_not_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "codex"
    file.write_text("#!/bin/sh\necho 'Not logged in'; exit 1\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert ways_here() == []


@pytest.mark.parametrize("body", [b"<html>", {"data": []}, {"data": None}, [1], {"x": 1}])
def test_a_port_where_something_else_listens_is_not_named(
    body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listing(body) as address:
        here = {"vllm": ModelServer("vLLM", address, True)}
        monkeypatch.setattr(found_here, "SERVERS", here)
        assert ways_here() == []


def test_a_key_that_is_missing_names_what_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    with pytest.raises(UsageError) as caught:
        open_model(Settings(), "openai:gpt-5")
    assert caught.value.what == "no key for openai"
    assert "set OPENAI_API_KEY (or AUTOREPRODUCE_API_KEY), or give --model mistralai:" in (
        caught.value.fix
    )


def test_a_server_at_an_address_of_its_own_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with listing({"data": [{"id": "llama3"}]}) as address:
        monkeypatch.setenv("OLLAMA_BASE_URL", address)
        assert ways_here() == ["--model ollama:llama3 (Ollama answers on this machine)"]


def test_googles_other_variable_is_its_key_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", "has a space")
    [way] = ways_here()
    assert way.startswith("--model google_genai:") and "GEMINI_API_KEY is set" in way
    with pytest.raises(UsageError, match="the key in GEMINI_API_KEY has a space"):
        open_model(Settings(), "google_genai:gemini-2.5-pro")
    monkeypatch.setenv("GOOGLE_API_KEY", "has another")
    with pytest.raises(UsageError, match="the key in GOOGLE_API_KEY"):
        open_model(Settings(), "google_genai:gemini-2.5-pro")
