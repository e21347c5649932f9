"""The settings by the names that users write, as a Python function takes them (`budget="5"`).

Made of `config.Settings` by `tests/tools/setting_options.py`; a test compares the two.
"""

from pathlib import Path
from typing import Literal, TypedDict


class SettingOptions(TypedDict, total=False):
    """Each setting; None leaves one to the environment, autoreproduce.toml and its default."""

    model: str | None
    research_model: str | None
    code_model: str | None
    base_url: str | None
    api_key: str | None
    temperature: float | None
    max_output_tokens: int | None
    context_tokens: int | None
    request_timeout: float | None
    max_retries: int | None
    price: str | None
    record: str | Path | None
    budget: str | None
    attempt_budget: str | None
    attempt_seconds: float | None
    max_steps: int | None
    lineage: bool | None
    lineage_cache: bool | None
    k: int | None
    debug: bool | None
    refine: bool | None
    audit: bool | None
    effort: Literal["evidence", "paper"] | None
    coder: str | None
    from_code: str | None
    own_login: bool | None
    diagrams: bool | None
    max_debug: int | None
    dry_run_seconds: float | None
    time_limit_minutes: float | None
    retrieval: Literal["none", "full", "passages", "oracle"] | None
    stub: Literal["signature", "docstring", "oracle"] | None
    refsol: bool | None
    readme: bool | None
    history: Literal["full", "window", "summary"] | None
    command_seconds: float | None
    sandbox: str | None
    image: str | None
    runtime: str | None
    gpus: str | None
    allow_install: str | None
    memory_gb: float | None
    cpus: float | None
    processes: int | None
    disk_gb: float | None
    output_kb: int | None
    output_mb: int | None
    build_base: str | None
    build_debian_packages: str | None
    build_ca_bundle: str | Path | None
    build_find_links: str | None
    build_constraints: str | Path | None
    pdf_reader: Literal["auto", "own", "docling", "mineru"] | None
    docling_models: str | Path | None
    mineru_tier: Literal["flash", "basic", "standard", "advanced"] | None
    mineru_url: str | None
    offline: bool | None
    arxiv_api: str | None
    arxiv_url: str | None
    github_api: str | None
    github_url: str | None
    github_token: str | None
    semantic_scholar_api: str | None
    profile: str | None
    seed: int | None
    seeds: int | None
    readings_minutes: float | None
    cache_dir: str | Path | None
    runs_dir: str | Path | None
