"""An agent that is a program of its own, as a YAML file describes it: `eval/agents/NAME.yaml`.

One file adds an agent. It says how the agent is installed, which protocol it speaks, how it is
started, and what its limits are. The agent's code is fetched by the user or from a registry, and
never contained here.
"""

import os
import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from autoreproduce.content import folder
from autoreproduce.errors import UsageError, nearest
from autoreproduce.files.bounded import parse_yaml
from autoreproduce.files.shared import read_plain
from autoreproduce.solvers.limits import AgentLimits
from autoreproduce.task import folder_name

Pinned = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[a-z,]+\])?==[A-Za-z0-9.+!_-]+$")
]
NpmName = Annotated[str, Field(pattern=r"^(@[a-z0-9-]+/)?[a-z0-9][a-z0-9._-]*$")]
Version = Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+[A-Za-z0-9.+-]*$")]
Variable = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]


class AgentPart(BaseModel):
    """A part of an agent's file: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


CODE = "AUTOREPRODUCE_CODE_"  # begins the variables that name an agent's code
# Of agents that ship: their files name no other.
SHIPPED_CODE = ("PAPER2CODE", "DEEPCODE", "CHATDEV", "AGENT_LABORATORY")


class CodeFolder(AgentPart):
    """Code that the user fetched: an environment variable names its folder.

    The file may be somebody else's, so no other variable is read: `HOME` names a folder too.
    """

    variable: Variable
    fetch: str = Field(description="the command by which the user gets it")

    @field_validator("variable")
    @classmethod
    def _of_code(cls, name: str) -> str:
        if name not in SHIPPED_CODE and not name.startswith(CODE):
            raise ValueError(f"{name} may name any folder of this machine: call it {CODE}NAME")
        return name


class Login(AgentPart):
    """How the agent works with its user's own login, where they say --own-login. Only agents that
    ship may have one: a file of others could name any file and host.
    """

    program: Literal["claude_code", "codex"] = Field(description="of `models.agent_programs`")
    hosts: list[str] = Field(min_length=1, description="of the provider: all that it can reach")
    credentials: list[str] = Field(min_length=1, description="JSON files below the user's HOME")
    environment: dict[Variable, str] = Field({}, description="in place of the agent's own")
    files: dict[str, str] = Field({}, description="in place of the agent's own")


class AgentFile(AgentPart):
    """The contract. In `files` and `environment`, `{gateway}` and `{model}` are filled in.

    `command` and `resume` are bash scripts, run in the task's folder, which find the address and
    the model's name in the variables GATEWAY and MODEL, and the task's text in TASK.md. `resume`
    continues an attempt that was interrupted; without it the attempt is repeated.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")]
    description: str = ""
    protocol: Literal["chat", "responses", "messages", "google"]
    pip: list[Pinned] = Field([], description="below /agent/python, started by its bin/python")
    npm: dict[NpmName, Version] = Field({}, description="below /agent/npm/node_modules")
    code: CodeFolder | None = Field(None, description="at /agent/code")
    environment: dict[Variable, str] = {}
    files: dict[str, str] = Field({}, description="below the agent's HOME: settings, mostly")
    command: str
    resume: str = ""
    result: str = Field(".", description="the folder that holds main.py, relative to the task's")
    limits: AgentLimits = AgentLimits()
    login: Login | None = None

    @field_validator("files")
    @classmethod
    def _inside(cls, files: dict[str, str]) -> dict[str, str]:
        for name in files:
            if not PurePosixPath(_relative(name)).parts or any(
                other.startswith(f"{name}/") for other in files
            ):
                raise ValueError(f"{name!r} isn't a file, or a folder of another")
        return files

    @field_validator("result")
    @classmethod
    def _result_inside(cls, path: str) -> str:
        return _relative(path)

    def filled(self, text: str, gateway: str, model: str) -> str:
        """A text of `files` or `environment` with the address and the model's name."""
        return text.replace("{gateway}", gateway).replace("{model}", model)

    def code_folder(self) -> Path | None:
        """The folder of the user's, None if the agent needs none. Raises UsageError."""
        if self.code is None:
            return None
        named = os.environ.get(self.code.variable)
        if not named or not Path(named).is_dir():
            raise UsageError(
                f"the agent {self.name} needs its code, and {self.code.variable} names no folder",
                fix=f"{self.code.fetch}, then export {self.code.variable}=FOLDER",
            )
        found = Path(named).resolve()
        if Path.home().resolve().is_relative_to(found):
            raise UsageError(
                f"{self.code.variable} names {found}, which holds your home folder",
                fix="export the folder of the agent's code alone",
            )
        return found


def read_agent(name: str) -> AgentFile:
    """The agent of that name, or of that YAML file. Raises UsageError with the field at fault."""
    path = _file_of(name)
    try:
        agent = AgentFile.model_validate(parse_yaml(read_plain(path).decode("utf-8")))
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise UsageError(f"{path}: {'; '.join(faults)}", fix="fix the file") from None
    except (OSError, ValueError, UsageError, yaml.YAMLError) as error:
        words = " ".join(str(error).split())[:300]
        raise UsageError(f"{path} isn't an agent's file ({words})", fix="fix the file") from None
    if agent.login and path.parent != folder("eval") / "agents":
        raise UsageError(
            f"{path} has a login, and only agents that ship may have one", fix="leave it out"
        )
    agent.code_folder()
    return agent


def agent_names() -> list[str]:
    """The agents that ship."""
    return sorted(path.stem for path in (folder("eval") / "agents").glob("*.yaml"))


def _file_of(name: str) -> Path:
    if name.endswith((".yaml", ".yml")):
        path = Path(name).expanduser()
        if path.is_file():
            return path
    elif re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name) and name in agent_names():
        return folder("eval") / "agents" / f"{name}.yaml"
    raise UsageError(
        f"there is no agent {name}",
        fix=f"{nearest(name, agent_names())}choose among {', '.join(agent_names())}, or name a "
        "YAML file (docs/agents.md)",
    )


def _relative(path: str) -> str:
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ValueError(f"{path} must be a path below the folder")
    for part in PurePosixPath(path).parts:
        folder_name(part)
    return path
