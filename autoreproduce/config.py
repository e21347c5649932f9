"""Settings of a trial: flags > environment (AUTOREPRODUCE_*) > autoreproduce.toml > defaults.

`Settings.digest_of` names what may not change while a trial is resumed; what only concerns this machine
(where things lie, how much may be spent) may.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from platformdirs import user_cache_path
from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

CONFIG_FILE = "autoreproduce.toml"


class Limits(BaseModel):
    """What a program in a sandbox may use. A limit that a sandbox cannot enforce is said in its `promises`."""

    memory_gb: float = Field(8.0, gt=0)
    cpus: float = Field(2.0, gt=0)
    processes: int = Field(512, gt=0)
    disk_gb: float = Field(10.0, gt=0, description="largest file, and largest sum of files, written by a program")
    output_kb: int = Field(64, gt=0, description="kept of each stream, half head and half tail")
    output_mb: int = Field(200, gt=0, description="a program that prints more is stopped")


class Settings(BaseSettings):
    """Everything a trial can be told. Field names are the flags' names."""

    model_config = SettingsConfigDict(
        env_prefix="AUTOREPRODUCE_", toml_file=CONFIG_FILE, extra="forbid",
        coerce_numbers_to_str=True,  # in YAML and TOML a budget of 5 and the GPU 0 are numbers
    )  # fmt: skip

    # models
    model: str | None = Field(None, description="provider:name, tape, or tape:FILE")
    research_model: str | None = None
    code_model: str | None = None
    base_url: str | None = Field(None, description="an OpenAI-compatible endpoint")
    api_key: SecretStr | None = None
    temperature: float | None = None
    max_output_tokens: int = 16_000
    request_timeout: float = Field(600.0, gt=0, le=86_400, description="seconds that one answer may take")
    max_retries: int = 6
    budget: str | None = Field(None, description="dollars (5, $5) or tokens (200000 tokens)")
    price: str | None = Field(None, description="INPUT,CACHED,OUTPUT dollars a million tokens, for unlisted models")
    record: Path | None = None

    # the method
    lineage: bool = True
    lineage_cache: bool = Field(True, description="read first what earlier trials learnt of cited papers")
    k: int = Field(3, ge=0, le=20)
    debug: bool = True
    refine: bool = True
    mineru: bool = False
    mineru_tier: Literal["flash", "basic", "standard", "advanced"] = "flash"
    mineru_url: str | None = None
    diagrams: bool = False
    max_debug: int = Field(20, ge=0)
    profile: str = "small"

    # masked functions (AutoExperiment)
    retrieval: Literal["none", "full", "passages", "oracle"] = Field(
        "passages", description="how much of the paper a solver of masked functions sees"
    )
    stub: Literal["signature", "docstring", "oracle"] = Field(
        "docstring", description="what is left of a masked function: oracle adds the paper's passage to its description"
    )
    history: Literal["full", "window", "summary"] = Field("full", description="what an agent keeps of its own steps")
    max_steps: int = Field(50, ge=1, description="of an agent with tools")
    command_seconds: float = Field(1200.0, gt=0, description="of one command, where functions are masked")
    attempt_budget: str | None = Field(None, description="of one attempt on masked functions: dollars or tokens")
    attempt_seconds: float | None = Field(None, gt=0, description="of one attempt on masked functions")
    seed: int = 0
    offline: bool = Field(False, description="fetch nothing: the task's digest and the lineage cache serve")

    # the sandbox
    sandbox: Literal["auto", "docker", "bubblewrap", "process"] = "auto"
    image: str | None = None
    gpus: str | None = None
    dry_run_seconds: float = Field(180.0, gt=0)
    time_limit_minutes: float | None = Field(None, gt=0, description="of the full run; the task's own where unset")
    limits: Limits = Limits()
    allow_install: str = Field("pip,uv,conda", description="what the Bash command may run")
    build_base: str = "python:3.11-slim"
    build_ca_bundle: Path | None = None
    build_find_links: str | None = None
    build_constraints: Path | None = None

    # where things are
    cache_dir: Path = user_cache_path("autoreproduce")
    runs_dir: Path = Path("runs")
    arxiv_api: str = "https://export.arxiv.org/api/query"
    arxiv_url: str = "https://arxiv.org"
    github_api: str = "https://api.github.com"
    github_url: str = "https://github.com"
    github_token: SecretStr | None = None
    semantic_scholar_api: str = "https://api.semanticscholar.org/graph/v1"

    # what may differ when a trial goes on
    MACHINE: ClassVar[frozenset[str]] = frozenset(
        {"base_url", "api_key", "request_timeout", "max_retries", "budget", "price", "record"}
        | {"sandbox", "image", "gpus", "limits", "cache_dir", "runs_dir", "mineru_url"}
        | {"build_ca_bundle", "build_find_links", "build_constraints", "build_base"}
        | {"arxiv_api", "arxiv_url", "github_api", "github_url", "github_token", "semantic_scholar_api"}
    )

    @model_validator(mode="before")
    @classmethod
    def _limits_by_their_flags(cls, given: Any) -> Any:
        """`memory_gb` in autoreproduce.toml is `[limits] memory_gb`; limits that are whole already stay."""
        if not isinstance(given, dict):
            return given
        limits = {name: given[name] for name in Limits.model_fields if name in given}
        others = {name: value for name, value in given.items() if name not in limits}
        if limits and isinstance(others.get("limits", {}), dict):
            others["limits"] = {**others.get("limits", {}), **limits}
        return others

    @field_validator("arxiv_api", "arxiv_url", "github_api", "github_url", "semantic_scholar_api", "mineru_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        """Refused at once: in the midst of a trial each client fails on it in its own way."""
        if value is not None and not is_address(value):
            raise ValueError("write it as https://HOST or http://HOST:PORT, with what follows")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        *sources: PydanticBaseSettingsSource,
        **named: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then environment, then autoreproduce.toml in the current folder."""
        return named["init_settings"], named["env_settings"], TomlConfigSettingsSource(settings_cls)

    def kept(self) -> dict[str, Any]:
        """The settings that make a trial what it is: a resumed trial must have the same."""
        return self.model_dump(mode="json", exclude=set(self.MACHINE))


def is_address(text: str) -> bool:
    """True for an http address with a host."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, half an IPv6 address
        return False


def digest(value: object) -> str:
    """A short SHA-256 of any JSON value, independent of key order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]
