"""Settings by subsystem.

A setting has one name that users write everywhere (`--max-debug`, AUTOREPRODUCE_MAX_DEBUG,
`max_debug = 5` in the file or in a suite) and one place in the code (`settings.method.max_debug`).
Each field says all that is true of a setting (`Facts`), so that no list of settings stands
elsewhere: whether it may differ when a trial is resumed, and who may set it. Commands take settings
by group.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from platformdirs import user_cache_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic.fields import FieldInfo

from autoreproduce.errors import UsageError, nearest


def is_address(text: str) -> bool:
    """True for an http address with a host."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, half an IPv6 address
        return False


_DEVICE = re.compile(r"all|\d+(:\d+)?|(GPU|MIG)-[\w/-]+")

WALLED = ("auto", "docker", "bubblewrap")  # sandboxes that anybody may name
_OWN_CODER = re.compile(r"edit|tools|agent:[A-Za-z0-9_-]+")  # by name, and no file


@dataclass(frozen=True)
class Facts:
    """What is true of a setting beside its type, its default and its bounds.

    `groups`: those by which commands take it; None: its section. `resumes`: it may differ when a
    trial is resumed. `reaches`: True of a value that sends data or keys somewhere, weakens what
    holds programs, says where files are read and written, or what a call costs (at a price of 0 no
    budget ends anything): no file that somebody else may have written sets it. `lowered`: such a
    file may lower it, never raise it. `of_one_trial`: no suite sets it, each trial has its own.
    `before`: the values under which a trial is as it was before there was such a setting. `flag`:
    its name, if that isn't the field's. `word`: its option's, if code can't use it as a name.
    """

    groups: tuple[str, ...] | None = None
    resumes: bool = False
    reaches: Callable[[Any], object] | None = None
    lowered: bool = False
    of_one_trial: bool = False
    before: tuple[Any, ...] = ()
    flag: str = ""
    word: str = ""

    def __call__(self, schema: Any) -> None:
        """A JSON schema says nothing of them."""


# Of a setting that reaches outside whatever its value is, and is another on another machine.
REACHES: dict[str, Any] = {"resumes": True, "reaches": lambda _: True}


def setting(
    default: Any,
    description: str,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    **facts: Any,
) -> Any:
    """A field of the settings, with its `Facts`."""
    extra = Facts(**facts)
    return Field(default, description=description, ge=ge, gt=gt, le=le, json_schema_extra=extra)


class SettingsSection(BaseModel):
    """The settings of one subsystem. In YAML and TOML a budget of 5 and the GPU 0 are numbers."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


class ModelSettings(SettingsSection):
    """The chat models of the two agents."""

    name: str | None = setting(None, "provider:name, tape, or tape:FILE", flag="model")
    research: str | None = setting(
        None, "the research agent's, if different", flag="research_model", groups=()
    )
    code: str | None = setting(None, "the code agent's, if different", flag="code_model", groups=())
    base_url: str | None = setting(
        None, "your server (OpenAI's protocol, or Anthropic's)", **REACHES
    )
    api_key: SecretStr | None = setting(None, "from the environment only", **REACHES)
    temperature: float | None = setting(None, "the provider's default if unset", ge=0, le=10)
    max_output_tokens: int = setting(16_000, "longest reply", ge=1)
    context_tokens: int | None = setting(
        None, "its context, reply included; longer papers are shortened", ge=4_000
    )
    request_timeout: float = setting(
        600.0, "seconds one answer may take", resumes=True, gt=0, le=86_400
    )
    max_retries: int = setting(6, "of a call that fails for a while", resumes=True, ge=0)
    price: str | None = setting(
        None, "for unlisted models: INPUT,CACHED,OUTPUT dollars per million tokens", **REACHES
    )
    record: Path | None = setting(
        None, "write the replies to this tape", groups=(), **REACHES, of_one_trial=True
    )


class BudgetSettings(SettingsSection):
    """What may be spent."""

    total: str | None = setting(
        None,
        "dollars (5), '200000 tokens' or '200 calls'",
        flag="budget",
        groups=("model", "budget"),
        resumes=True,
    )
    attempt: str | None = setting(
        None,
        "dollars or tokens for one attempt (masked functions, agents, baselines)",
        flag="attempt_budget",
    )
    attempt_seconds: float | None = setting(None, "the same, in seconds", gt=0)
    max_steps: int = setting(50, "steps of a tool agent, calls of a baseline", ge=1)


class MethodSettings(SettingsSection):
    """The paper's method and its ablations."""

    lineage: bool = setting(True, "read the most relevant cited papers and their code")
    lineage_cache: bool = setting(True, "reuse what earlier trials learnt of them")
    k: int = setting(3, "how many cited papers to follow", ge=0, le=20)
    debug: bool = setting(True, "fix a program that fails, up to --max-debug times")
    refine: bool = setting(True, "check versions against the paper and improve them")
    audit: bool = setting(True, "also look where code and paper differ", groups=())
    effort: Literal["evidence", "paper"] = setting("evidence", "paper: review each file")
    coder: str | None = setting(
        None,
        "who writes the program: edit, tools, or agent:NAME [tools if the model can call them]",
        reaches=lambda coder: not _OWN_CODER.fullmatch(str(coder or "edit")),
        before=(None, "edit"),
    )
    from_code: str | None = setting(
        None,
        "code that the coder begins with: a folder, archive or git URL",
        word="from",
        reaches=bool,
        before=(None,),
    )
    own_login: bool = setting(
        False,
        "let --coder agent:claude-code or agent:codex use your own login",
        reaches=bool,
        before=(False,),
    )
    diagrams: bool = setting(False, "show the figures to the research agent")
    max_debug: int = setting(20, "attempts to fix one phase's program", ge=0)
    dry_run_seconds: float = setting(180.0, "seconds a dry run may take", gt=0)
    time_limit_minutes: float | None = setting(
        None,
        "limit of the full run, else the task's; raise it to continue a stopped run",
        groups=(),
        resumes=True,
        gt=0,
    )


class MaskedSettings(SettingsSection):
    """Masked functions (AutoExperiment)."""

    retrieval: Literal["none", "full", "passages", "oracle"] = setting(
        "passages", "how much of the paper a solver sees"
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

    memory_gb: float = setting(
        8.0, "for a program and all its processes", resumes=True, lowered=True, gt=0
    )
    cpus: float = setting(2.0, "processors a program may use", resumes=True, gt=0)
    processes: int = setting(512, "processes and threads at once", resumes=True, lowered=True, gt=0)
    disk_gb: float = setting(10.0, "most a program may write", resumes=True, lowered=True, gt=0)
    output_kb: int = setting(
        64, "kept of each stream, head and tail", resumes=True, lowered=True, gt=0
    )
    output_mb: int = setting(
        200, "stop a program that prints more", resumes=True, lowered=True, gt=0
    )


class SandboxSettings(SettingsSection):
    """Where programs run, and how its image is built."""

    name: str = setting(
        "auto",
        "docker, bubblewrap; process isolates nothing",
        flag="sandbox",
        resumes=True,
        reaches=lambda name: name not in WALLED,
    )
    image: str | None = setting(None, "a Docker image of your own", **REACHES)
    runtime: str | None = setting(
        None, "Docker runtime: runsc (gVisor), kata; the Engine's default if unset", **REACHES
    )
    gpus: str | None = setting(None, "all, or numbers such as 0,1", **REACHES)
    allow_install: str = setting("pip,uv,conda", "installers that agents may run", groups=())
    limits: Limits = Limits()
    build_base: str = setting("python:3.11-slim", "the image ours is built from", **REACHES)
    build_debian_packages: str = setting(
        "", "packages our image has beside Python, as 'r-base-core g++'", **REACHES
    )
    build_ca_bundle: Path | None = setting(None, "more certificate authorities to trust", **REACHES)
    build_find_links: str | None = setting(None, "folders or pages of wheels", **REACHES)
    build_constraints: Path | None = setting(None, "a pip constraints file", **REACHES)

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
        "auto", "of a PDF's tables; auto: Docling or MinerU, if installed"
    )
    docling_models: Path | None = setting(None, "the folder with Docling's weights", **REACHES)
    mineru_tier: Literal["flash", "basic", "standard", "advanced"] = setting(
        "flash", "MinerU's thoroughness"
    )
    mineru_url: str | None = setting(None, "a MinerU server", **REACHES)
    offline: bool = setting(False, "fetch nothing: use the digest and the lineage cache")
    arxiv_api: str = setting("https://export.arxiv.org/api/query", "arXiv's API", **REACHES)
    arxiv_url: str = setting("https://arxiv.org", "where arXiv's files are", **REACHES)
    github_api: str = setting("https://api.github.com", "GitHub's API", **REACHES)
    github_url: str = setting("https://github.com", "where repositories are cloned from", **REACHES)
    github_token: SecretStr | None = setting(None, "from the environment only", **REACHES)
    semantic_scholar_api: str = setting(
        "https://api.semanticscholar.org/graph/v1", "Semantic Scholar's API", **REACHES
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
    profile: str = setting("small", "small, or full as in the paper")
    seed: int = setting(0, "seed of the programs", of_one_trial=True, ge=0, le=2**32 - 1)
    seeds: int = setting(
        1, "runs of the final program, each with its own seed", resumes=True, ge=1, le=1000
    )
    readings_minutes: float | None = setting(
        None,
        "minutes for other readings; 0: none [as long as the runs, at least 5; up to 30 if they "
        "need it]",
        resumes=True,
        ge=0,
    )
    cache_dir: Path = setting(
        user_cache_path("autoreproduce"),
        "data, papers, lineage",
        groups=("model", "sandbox"),
        **REACHES,
    )
    runs_dir: Path = setting(
        Path("runs"), "where trials go", groups=("model", "sandbox"), **REACHES, of_one_trial=True
    )

    @model_validator(mode="before")
    @classmethod
    def _by_flag(cls, given: Any) -> Any:
        """Files the names that users write under their sections."""
        return _nested(given) if isinstance(given, dict) else given

    def flat(self) -> dict[str, Any]:
        """Every setting by the name that users write."""
        return {name: _at(self, one.path) for name, one in FLAGS.items()}

    def identity(self) -> dict[str, Any]:
        """What makes a trial what it is, as JSON: a resumed trial must have the same. Settings that
        earlier versions had not are left out where they change nothing.
        """
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in self.flat().items()
            if name not in MACHINE and value not in FLAGS[name].facts.before
        }

    def given(self) -> set[str]:
        """The names of the settings that were set, and not left to their defaults."""
        return {name for name, one in FLAGS.items() if _was_set(self, one.path)}

    def having(self, **changes: Any) -> Settings:
        """These settings with others in place of some, by the names that users write."""
        ours = {name: value for name, value in self.flat().items() if name in self.given()}
        return Settings(**{**ours, **changes})


class Setting(NamedTuple):
    """A declared setting: the path to it in `Settings`, its field, and its facts."""

    path: tuple[str, ...]
    field: FieldInfo
    facts: Facts

    @property
    def groups(self) -> tuple[str, ...]:
        """By which commands take it."""
        return self.path[:-1][:1] if self.facts.groups is None else self.facts.groups

    @property
    def kinds(self) -> set[Any]:
        """The types of its values."""
        return {self.field.annotation, *get_args(self.field.annotation)}


def _declared(
    section: type[BaseModel], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, Setting]]:
    for name, field in section.model_fields.items():
        kind, here, facts = field.annotation, (*path, name), field.json_schema_extra
        if isinstance(kind, type) and issubclass(kind, SettingsSection):
            yield from _declared(kind, here)
        elif isinstance(facts, Facts):
            yield facts.flag or name, Setting(here, field, facts)


# By the names that users write.
FLAGS: dict[str, Setting] = dict(_declared(Settings))
SECRETS = frozenset(flag for flag, one in FLAGS.items() if SecretStr in one.kinds)
MACHINE = frozenset(flag for flag, one in FLAGS.items() if one.facts.resumes)


def taken(groups: Iterable[str], names: Collection[str] = ()) -> list[str]:
    """The settings that a command takes by their groups or their own names, as they are declared.
    Secrets come from the environment alone. Raises UsageError for a group that there isn't.
    """
    known = dict.fromkeys(group for one in FLAGS.values() for group in one.groups)
    for group in set(groups) - set(known):
        what = f"{group} is no group of settings"
        raise UsageError(what, fix=f"{nearest(group, known)}there are {', '.join(known)}")
    return [
        flag
        for flag, one in FLAGS.items()
        if (flag in names or {*groups} & {*one.groups}) and flag not in SECRETS
    ]


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
            FLAGS[key].path
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
