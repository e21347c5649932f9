"""The settings as the Python API's functions take them: by name, with their types.

A test holds them against `config.Settings`, which says what each means.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, get_type_hints

Function = TypeVar("Function", bound=Callable[..., Any])


class AnySettings(TypedDict, total=False):
    """Those that each function takes, `model` and `budget` aside."""

    research_model: str | None
    code_model: str | None
    base_url: str | None
    api_key: str | None
    temperature: float | None
    max_output_tokens: int
    context_tokens: int | None
    request_timeout: float
    max_retries: int
    price: str | None
    record: str | Path | None
    attempt_budget: str | None
    attempt_seconds: float | None
    max_steps: int
    lineage: bool
    lineage_cache: bool
    k: int
    debug: bool
    refine: bool
    effort: Literal["evidence", "paper"]
    diagrams: bool
    max_debug: int
    dry_run_seconds: float
    time_limit_minutes: float | None
    retrieval: Literal["none", "full", "passages", "oracle"]
    stub: Literal["signature", "docstring", "oracle"]
    refsol: bool
    readme: bool
    history: Literal["full", "window", "summary"]
    command_seconds: float
    sandbox: str
    image: str | None
    runtime: str | None
    gpus: str | None
    allow_install: str
    memory_gb: float
    cpus: float
    processes: int
    disk_gb: float
    output_kb: int
    output_mb: int
    build_base: str
    build_ca_bundle: str | Path | None
    build_find_links: str | None
    build_constraints: str | Path | None
    mineru: bool
    mineru_tier: Literal["flash", "basic", "standard", "advanced"]
    mineru_url: str | None
    offline: bool
    arxiv_api: str
    arxiv_url: str
    github_api: str
    github_url: str
    github_token: str | None
    semantic_scholar_api: str
    profile: str
    seed: int
    seeds: int
    readings_minutes: float | None
    cache_dir: str | Path
    runs_dir: str | Path


class TrialSettings(AnySettings, total=False):
    """Of a function that takes `model` by itself."""

    budget: str | float | None


def shows_settings(given: type[Any]) -> Callable[[Function], Function]:
    """Makes a function's signature show the settings that its last parameter takes, so that `help`
    and a notebook's completion name them.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        *named, _ = signature.parameters.values()
        kind = inspect.Parameter.KEYWORD_ONLY
        settings = [
            inspect.Parameter(name, kind, default=None, annotation=hint)
            for name, hint in get_type_hints(given).items()
        ]
        vars(function)["__signature__"] = signature.replace(parameters=[*named, *settings])
        return function

    return decorate
