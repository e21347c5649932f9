"""What of an agent's request reaches the provider as it is: nothing that leads past the sandbox.

A provider can search the web, run code, fetch an address or open a file that it holds: an agent in
a sandbox could so reach the paper's repository. Which tools do that differs by provider and grows,
so a tool passes by its type, and others are left out. A field that's unknown here passes, unless
its words speak of such things, or of what another model or service would be paid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from autoreproduce.plugins.external_agents.gateway.exchange import Body, RefusedError

_SAMPLING = "temperature top_p top_k seed stream metadata user safety_identifier tool_choice store"
_CACHE = "prompt_cache_key prompt_cache_retention cache_control"
_FIELDS = {
    "chat": f"""{_SAMPLING} {_CACHE} messages tools functions function_call parallel_tool_calls n
        stop max_tokens max_completion_tokens stream_options response_format logprobs top_logprobs
        logit_bias presence_penalty frequency_penalty prediction verbosity reasoning_effort
        reasoning thinking include_reasoning reasoning_format reasoning_split separate_reasoning
        enable_thinking thinking_budget chat_template_kwargs provider transforms usage random_seed
        safe_prompt prompt_mode min_p top_a typical_p repetition_penalty repeat_penalty min_tokens
        stop_token_ids bad_words ignore_eos skip_special_tokens include_stop_str_in_output
        structured_outputs guided_json guided_regex guided_choice guided_grammar json_schema grammar
        cache_prompt keep_alive""",
    "responses": f"""{_SAMPLING} {_CACHE} input instructions tools parallel_tool_calls
        max_output_tokens max_tool_calls top_logprobs stream_options reasoning text truncation
        include client_metadata context_management""",
    "messages": f"""{_SAMPLING} {_CACHE} messages system tools max_tokens stop_sequences thinking
        output_config output_format context_management""",
    "google": """contents tools toolConfig tool_config systemInstruction system_instruction
        generationConfig generation_config safetySettings safety_settings labels""",
}
# In the words of providers: search_parameters, enable_search, plugins, mcp_servers, "m:online".
_REACHING = re.compile(
    r"search|web|brows|crawl|online|internet|plugin|mcp|connector|retriev|ground|data_?source"
    r"|knowledge|document|file|ur[il]|assistant|agent|extension|callback|hook|extra_body"
    r"|models|preset|route|fallback|tier|speed",
    re.IGNORECASE,
)
# Without these the request would mean something else.
_STORED = (
    "previous_response_id", "conversation", "background", "container", "prompt",
    "cachedContent", "cached_content",
)  # fmt: skip
# The types of tools that the agent runs itself, or that search among those it gives.
_TOOLS: Mapping[str, re.Pattern[str]] = {
    "chat": re.compile("function|custom"),
    "responses": re.compile(
        "function|custom|namespace|local_shell|shell|apply_patch|tool_search"
        "|computer|computer_use_preview"
    ),
    "messages": re.compile(
        r"custom|(?:bash|text_editor|computer|memory)_\d+|tool_search_tool_(?:bm25|regex)(?:_\d+)?"
    ),
}
_FUNCTIONS = ("functionDeclarations", "function_declarations")  # Google's tools but for its own

_SAID = (
    "messages", "input", "contents", "system", "instructions",
    "systemInstruction", "system_instruction", "prediction",
)  # fmt: skip
# What a tool takes or gave, what a tool is, and what a text cites: data, however its fields are
# called.
_DATA = (
    "input", "arguments", "parameters", "input_schema", "args", "response", "action", "operation",
    "tools", "annotations", "citations", "url_citation",
)  # fmt: skip
_WORDS = (
    "text", "content", "thinking", "reasoning", "reasoning_content", "summary", "refusal", "output",
    "stdout", "stderr", "error", "title", "name", "instructions", "system", *_DATA,
)  # fmt: skip
_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]{1,20}://", re.IGNORECASE)
_CITED = re.compile("search_result|citation")  # types of blocks whose address is only named


def allowed(protocol: str, given: Body) -> Body:
    """The request without what would lead past the sandbox. Raises RefusedError where little would
    be left of it.
    """
    for key in _STORED:
        if given.get(key):
            raise RefusedError("request", f"{key} isn't taken: send the whole conversation")
    known = _FIELDS[protocol].split()
    body = {
        key: value
        for key, value in given.items()
        if key in known or not _REACHING.search(json.dumps({key: value}))
    }
    for key in _SAID:
        _refuse_addresses(body.get(key), key)
    if protocol == "google":
        return _with_functions_alone(body)
    local: Body = _with_local_tools(protocol, body)
    if local.get("tools") == []:
        del local["tools"]
        local.pop("tool_choice", None)
    return local


def _with_local_tools(protocol: str, value: Any) -> Any:
    """The value with the agent's own tools alone in each list of tools: that of the request, of a
    namespace, and of what a search among tools found.
    """
    if isinstance(value, list):
        return [_with_local_tools(protocol, each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {
        key: each if key in _DATA and isinstance(each, dict) else _with_local_tools(protocol, each)
        for key, each in value.items()
    }
    if isinstance(found.get("tools"), list):
        found["tools"] = [each for each in found["tools"] if _is_local(protocol, each)]
    return found


def _is_local(protocol: str, tool: Any) -> bool:
    if not isinstance(tool, dict):
        return False
    kind, place = tool.get("type"), tool.get("environment")
    if kind is None:
        return "input_schema" in tool or "function" in tool
    here = not place or (isinstance(place, dict) and place.get("type") == "local")
    return here and _TOOLS[protocol].fullmatch(str(kind)) is not None


def _with_functions_alone(body: Body) -> Body:
    """The body without the tools that Google's server runs itself, such as a search of the web."""
    given = body.get("tools") or ()
    tools = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    kept = [{key: each[key] for key in _FUNCTIONS if key in each} for each in tools]
    kept = [each for each in kept if each]
    without = ("tools",) if kept else ("tools", "toolConfig", "tool_config")
    rest = {key: value for key, value in body.items() if key not in without}
    return {**rest, "tools": kept} if kept else rest


def _refuse_addresses(value: Any, key: str, kind: str = "") -> None:
    """Raises RefusedError for what the provider would fetch, or take from files that it holds, in
    the value at `key` of a block of the type `kind`.
    """
    if isinstance(value, str):
        if key not in _WORDS and _is_fetched(value, key) and not _CITED.search(kind):
            raise RefusedError("request", "an address is not taken, only its content")
    elif isinstance(value, list):
        for each in value:
            _refuse_addresses(each, key, kind)
    elif isinstance(value, dict):
        kind = str(value.get("type") or "")
        files = (value.get("file_id"), value.get("file_ids"), value.get("fileData"))
        held = any(files) or isinstance(value.get("file_data"), dict)
        if held and not _CITED.search(kind):
            raise RefusedError("request", "a file's address is not taken, only its content")
        for name, each in value.items():
            if name not in _DATA or isinstance(each, list):
                _refuse_addresses(each, name, kind)


def _is_fetched(text: str, key: str) -> bool:
    if key.lower().endswith(("url", "uri")):
        return bool(text) and not text.startswith("data:")
    return _ADDRESS.match(text) is not None
