"""Settings by subsystem.

A setting has one name that users write everywhere (`--max-debug`, AUTOREPRODUCE_MAX_DEBUG,
`max_debug = 5` in the file or in a suite) and one place in the code (`settings.method.max_debug`).
Each field says which commands have it as an option, and whether it may differ when a trial is
resumed: where files are, what may be spent, and how long the full run may take.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from platformdirs import user_cache_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic.fields import FieldInfo

from autoreproduce.errors import nearest


def is_address(text: str) -> bool:
    """True for an http address with a host."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, half an IPv6 address
        return False


_DEVICE = re.compile(r"all|\d+(:\d+)?|(GPU|MIG)-[\w/-]+")

# The commands that run programs, and those that ask a model.
RUNS = "reproduce verify score rerun reference calibrate mcp"
RUNS += " attacks controls discriminate mask prove"  # of eval/lab and maskmaker
ASKS = "reproduce verify audit score plan lineage calibrate grade mcp attacks controls mask"
READS = "reproduce verify audit score plan lineage mcp"  # those that read papers
WORKS = f"{RUNS} audit plan lineage grade"  # those that keep something in the cache, and in runs


def setting(
    default: Any, description: str, on: str = "", *, resumes: bool = False, **bounds: Any
) -> Any:
    """A field of the settings. `on`: the commands with that option, by name; `resumes`: it may
    differ when a trial is resumed, and `resume` has the option too.
    """
    declared: dict[str, Any] = {"on": on.split() + (["resume"] if resumes else [])}
    return Field(default, description=description, json_schema_extra=declared, **bounds)


class SettingsSection(BaseModel):
    """The settings of one subsystem. In YAML and TOML a budget of 5 and the GPU 0 are numbers."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


class ModelSettings(SettingsSection):
    """The chat models of the two agents."""

    name: str | None = setting(None, "provider:name, tape, or tape:FILE", f"{ASKS} doctor")
    research: str | None = setting(
        None, "the research agent's, if different", "reproduce verify audit plan lineage mcp"
    )
    code: str | None = setting(None, "the code agent's, if different", "reproduce mcp")
    base_url: str | None = setting(
        None, "your server (OpenAI's protocol, or Anthropic's)", f"{ASKS} doctor", resumes=True
    )
    api_key: SecretStr | None = setting(None, "from the environment only", resumes=True)
    temperature: float | None = setting(None, "the provider's default if unset", ASKS, ge=0, le=10)
    max_output_tokens: int = setting(16_000, "longest reply", ASKS, ge=1)
    context_tokens: int | None = setting(
        None, "its context, reply included; longer papers are shortened", ASKS, ge=4_000
    )
    request_timeout: float = setting(
        600.0, "seconds one answer may take", ASKS, resumes=True, gt=0, le=86_400
    )
    max_retries: int = setting(6, "of a call that fails for a while", ASKS, resumes=True, ge=0)
    price: str | None = setting(
        None,
        "for unlisted models: INPUT,CACHED,OUTPUT dollars per million tokens",
        ASKS,
        resumes=True,
    )
    record: Path | None = setting(
        None, "write the replies to this tape", "reproduce verify lineage", resumes=True
    )


class BudgetSettings(SettingsSection):
    """What may be spent."""

    total: str | None = setting(
        None, "dollars (5), '200000 tokens' or '200 calls'", ASKS, resumes=True
    )
    attempt: str | None = setting(
        None, "dollars or tokens for one attempt (masked functions, agents, baselines)", "reproduce"
    )
    attempt_seconds: float | None = setting(None, "the same, in seconds", "reproduce", gt=0)
    max_steps: int = setting(50, "steps of a tool agent, calls of a baseline", "reproduce", ge=1)


class MethodSettings(SettingsSection):
    """The paper's method and its ablations."""

    lineage: bool = setting(
        True, "read the most relevant cited papers and their code", "reproduce graph"
    )
    lineage_cache: bool = setting(
        True, "reuse what earlier trials learnt of them", "reproduce lineage"
    )
    k: int = setting(3, "how many cited papers to follow", "reproduce lineage", ge=0, le=20)
    debug: bool = setting(
        True, "fix a program that fails, up to --max-debug times", "reproduce graph"
    )
    refine: bool = setting(
        True, "check versions against the paper and improve them", "reproduce graph"
    )
    audit: bool = setting(True, "also look where code and paper differ", "verify")
    effort: Literal["evidence", "paper"] = setting(
        "evidence", "paper: review each file", "reproduce"
    )
    coder: str | None = setting(
        None,
        "who writes the program: edit, tools, or agent:NAME [tools if the model can call them]",
        "reproduce graph",
    )
    from_code: str | None = setting(
        None, "code that the coder begins with: a folder, archive or git URL", "reproduce"
    )
    own_login: bool = setting(
        False, "let --coder agent:claude-code or agent:codex use your own login", "reproduce"
    )
    diagrams: bool = setting(False, "show the figures to the research agent", "reproduce")
    max_debug: int = setting(20, "attempts to fix one phase's program", "reproduce", ge=0)
    dry_run_seconds: float = setting(180.0, "seconds a dry run may take", "reproduce", gt=0)
    time_limit_minutes: float | None = setting(
        None,
        "limit of the full run, else the task's; raise it to continue a stopped run",
        "reproduce verify score rerun",
        resumes=True,
        gt=0,
    )


class MaskedSettings(SettingsSection):
    """Masked functions (AutoExperiment)."""

    retrieval: Literal["none", "full", "passages", "oracle"] = setting(
        "passages", "how much of the paper a solver sees", "mask"
    )
    stub: Literal["signature", "docstring", "oracle"] = setting(
        "docstring", "what is left of a masked function: oracle adds the paper's passage"
    )
    refsol: bool = setting(True, "show a solver the commands that run the experiment")
    readme: bool = setting(True, "leave the repository's README files to a solver")
    history: Literal["full", "window", "summary"] = setting(
        "full", "what an agent remembers of its own steps"
    )
    command_seconds: float = setting(1200.0, "seconds one command may take", gt=0)


class Limits(SettingsSection):
    """What a program in a sandbox may use. What a sandbox cannot enforce is in its `promises`."""

    memory_gb: float = setting(8.0, "for a program and all its processes", RUNS, resumes=True, gt=0)
    cpus: float = setting(2.0, "processors a program may use", RUNS, resumes=True, gt=0)
    processes: int = setting(512, "processes and threads at once", RUNS, resumes=True, gt=0)
    disk_gb: float = setting(10.0, "most a program may write", RUNS, resumes=True, gt=0)
    output_kb: int = setting(64, "kept of each stream, head and tail", RUNS, resumes=True, gt=0)
    output_mb: int = setting(200, "stop a program that prints more", RUNS, resumes=True, gt=0)


class SandboxSettings(SettingsSection):
    """Where programs run, and how its image is built."""

    name: str = setting(
        "auto", "docker, bubblewrap; process isolates nothing", f"{RUNS} lineage", resumes=True
    )
    image: str | None = setting(None, "a Docker image of your own", RUNS, resumes=True)
    runtime: str | None = setting(
        None,
        "Docker runtime: runsc (gVisor), kata; the Engine's default if unset",
        f"{RUNS} doctor",
        resumes=True,
    )
    gpus: str | None = setting(
        None, "all, or numbers such as 0,1", f"{RUNS} plan doctor", resumes=True
    )
    allow_install: str = setting("pip,uv,conda", "installers that agents may run", "reproduce mcp")
    limits: Limits = Limits()
    build_base: str = setting(
        "python:3.11-slim", "the image ours is built from", RUNS, resumes=True
    )
    build_debian_packages: str = setting(
        "", "packages our image has beside Python, as 'r-base-core g++'", RUNS, resumes=True
    )
    build_ca_bundle: Path | None = setting(
        None, "more certificate authorities to trust", RUNS, resumes=True
    )
    build_find_links: str | None = setting(None, "folders or pages of wheels", RUNS, resumes=True)
    build_constraints: Path | None = setting(None, "a pip constraints file", RUNS, resumes=True)

    @field_validator("gpus")
    @classmethod
    def _devices(cls, value: str | None) -> str | None:
        """Refused at once, as what follows is: Docker would say so after a model was paid."""
        if value and not all(map(_DEVICE.fullmatch, value.split(","))):
            raise ValueError("write all, or numbers such as 0,1")
        return value

    @field_validator("allow_install")
    @classmethod
    def _installers(cls, value: str) -> str:
        if unknown := {one.strip() for one in value.split(",")} - {"pip", "uv", "conda", ""}:
            what = f"{nearest(min(unknown), ('pip', 'uv', 'conda'))}choose of pip,uv,conda"
            raise ValueError(f"no installer {min(unknown)}: {what}")
        return value


class PaperSettings(SettingsSection):
    """Where papers and repositories come from, and how they are read."""

    pdf_reader: Literal["auto", "own", "docling", "mineru"] = setting(
        "auto", "of a PDF's tables; auto: Docling or MinerU, if installed", READS
    )
    docling_models: Path | None = setting(
        None, "the folder with Docling's weights", READS, resumes=True
    )
    mineru_tier: Literal["flash", "basic", "standard", "advanced"] = setting(
        "flash", "MinerU's thoroughness", READS
    )
    mineru_url: str | None = setting(None, "a MinerU server", READS, resumes=True)
    offline: bool = setting(False, "fetch nothing: use the digest and the lineage cache", READS)
    arxiv_api: str = setting(
        "https://export.arxiv.org/api/query", "arXiv's API", READS, resumes=True
    )
    arxiv_url: str = setting("https://arxiv.org", "where arXiv's files are", READS, resumes=True)
    github_api: str = setting("https://api.github.com", "GitHub's API", READS, resumes=True)
    github_url: str = setting(
        "https://github.com", "where repositories are cloned from", READS, resumes=True
    )
    github_token: SecretStr | None = setting(None, "from the environment only", resumes=True)
    semantic_scholar_api: str = setting(
        "https://api.semanticscholar.org/graph/v1", "Semantic Scholar's API", READS, resumes=True
    )

    @field_validator(
        "arxiv_api", "arxiv_url", "github_api", "github_url", "semantic_scholar_api", "mineru_url"
    )
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        """Refused at once: in the midst of a trial each client fails on it in its own way."""
        if value is not None and not is_address(value):
            raise ValueError("write it as https://HOST or http://HOST:PORT, with what follows")
        return value


class Settings(SettingsSection):
    """Everything a trial can be given. `Settings(max_debug=5)` takes the names of the flags."""

    model: ModelSettings = ModelSettings()
    budget: BudgetSettings = BudgetSettings()
    method: MethodSettings = MethodSettings()
    masked: MaskedSettings = MaskedSettings()
    sandbox: SandboxSettings = SandboxSettings()
    papers: PaperSettings = PaperSettings()
    profile: str = setting(
        "small",
        "small, or full as in the paper",
        "reproduce lineage score calibrate prepare reference mcp export attacks",
    )
    seed: int = setting(
        0, "seed of the programs", "reproduce verify reference discriminate", ge=0, le=2**32 - 1
    )
    seeds: int = setting(
        1,
        "runs of the final program, each with its own seed",
        "reproduce verify score",
        resumes=True,
        ge=1,
        le=1000,
    )
    readings_minutes: float | None = setting(
        None,
        "minutes for other readings; 0: none [as long as the runs, at least 5; up to 30 if they "
        "need it]",
        "reproduce verify",
        resumes=True,
        ge=0,
    )
    cache_dir: Path = setting(
        user_cache_path("autoreproduce"),
        "data, papers, lineage",
        f"{WORKS} list prepare export dataset",
        resumes=True,
    )
    runs_dir: Path = setting(Path("runs"), "where trials go", WORKS, resumes=True)

    @model_validator(mode="before")
    @classmethod
    def _by_flag(cls, given: Any) -> Any:
        """Files the names that users write under their sections."""
        return _nested(given) if isinstance(given, dict) else given

    def flat(self) -> dict[str, Any]:
        """Every setting by the name that users write."""
        return {name: _at(self, path) for name, (path, _) in FLAGS.items()}

    def identity(self) -> dict[str, Any]:
        """What makes a trial what it is, as JSON: a resumed trial must have the same. Settings that
        earlier versions had not are left out where they change nothing.
        """
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in self.flat().items()
            if name not in MACHINE and value not in AS_BEFORE.get(name, ())
        }

    def given(self) -> set[str]:
        """The names of the settings that were set, and not left to their defaults."""
        return {name for name, (path, _) in FLAGS.items() if _was_set(self, path)}

    def having(self, **changes: Any) -> Settings:
        """These settings with others in place of some, by the names that users write."""
        ours = {name: value for name, value in self.flat().items() if name in self.given()}
        return Settings(**{**ours, **changes})


# Where a flag is called otherwise than its field.
RENAMED: dict[tuple[str, ...], str] = {
    ("model", "name"): "model",
    ("model", "research"): "research_model",
    ("model", "code"): "code_model",
    ("budget", "total"): "budget",
    ("budget", "attempt"): "attempt_budget",
    ("sandbox", "name"): "sandbox",
}


def _fields(
    section: type[BaseModel], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[tuple[str, ...], FieldInfo]]]:
    for name, field in section.model_fields.items():
        kind, here = field.annotation, (*path, name)
        if isinstance(kind, type) and issubclass(kind, SettingsSection):
            yield from _fields(kind, here)
        else:
            yield RENAMED.get(here) or name, (here, field)


# The values under which a trial is as it was before there was such a setting.
AS_BEFORE: dict[str, tuple[Any, ...]] = {
    "coder": (None, "edit"),
    "from_code": (None,),
    "own_login": (False,),
}
SPELLED = {"from_code": "from"}  # where an option's word is none that code may use
# flag name -> (path of the field, the field)
FLAGS: dict[str, tuple[tuple[str, ...], FieldInfo]] = dict(_fields(Settings))
SECRETS = frozenset({"api_key", "github_token"})  # from the environment alone


def commands_of(flag: str) -> list[str]:
    """The commands that have a setting as an option."""
    declared = FLAGS[flag][1].json_schema_extra
    return list(declared["on"]) if isinstance(declared, dict) else []  # type: ignore[arg-type]


def flags_of(command: str) -> tuple[str, ...]:
    """The settings that are options of a command."""
    return tuple(flag for flag in FLAGS if command in commands_of(flag) and flag not in SECRETS)


# What may differ when a trial is resumed.
MACHINE = frozenset(flag for flag in FLAGS if "resume" in commands_of(flag))


def sha256_of(path: Path) -> str:
    """The SHA-256 of what a file holds, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(value: object) -> str:
    """A short SHA-256 of any JSON value, independent of key order."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _nested(given: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in given.items():
        path = (
            FLAGS[key][0]
            if key in FLAGS and not isinstance(value, dict | SettingsSection)
            else (key,)
        )
        place = nested
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = value
    return nested


def _at(settings: BaseModel, path: tuple[str, ...]) -> Any:
    value: Any = settings
    for name in path:
        value = getattr(value, name)
    return value


def _was_set(settings: BaseModel, path: tuple[str, ...]) -> bool:
    *sections, last = path
    return last in _at(settings, tuple(sections)).model_fields_set
