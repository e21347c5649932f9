"""What the agents' Bash command may do: install packages, and nothing else.

A command is read word by word and put together anew, so that what the shell gets contains no word that was not
understood. Whatever tool the agent names, pip installs: it is what every sandbox has, and it sees what is there
already. apt-get is for images whose user may run it.
"""

from __future__ import annotations

import re
import shlex

from autoreproduce.errors import CommandError

INSTALLERS = {
    ("pip", "install"): "pip",
    ("pip3", "install"): "pip",
    ("python", "-m", "pip", "install"): "pip",
    ("python3", "-m", "pip", "install"): "pip",
    ("uv", "pip", "install"): "uv",
    ("conda", "install"): "conda",
    ("mamba", "install"): "conda",
    ("apt-get", "install"): "apt",
    ("apt", "install"): "apt",
}
KEPT = {"--upgrade": "--upgrade", "-U": "--upgrade", "--pre": "--pre", "--no-deps": "--no-deps"}
DROPPED = (
    "-q",
    "--quiet",
    "-y",
    "--yes",
    "--no-cache-dir",
    "--user",
    "--no-input",
    "--system",
    "--no-install-recommends",
)
OTHER_NAMES = {"pytorch": "torch"}  # conda's name -> pip's
NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9.*+!_-]+"
REQUIREMENT = re.compile(rf"({NAME})(\[{NAME}(?:,{NAME})*\])?({VERSION}(?:,{VERSION})*)?")
CONDA = re.compile(rf"({NAME})=([0-9][A-Za-z0-9.*]*)(?:=[A-Za-z0-9_.*]+)?")
ARCHIVE = re.compile(r"\.(whl|zip|tar|gz|bz2|xz|tgz|egg|txt|toml|cfg|py)$", re.IGNORECASE)
DEBIAN = re.compile(r"[a-z0-9][a-z0-9.+-]+")
FORM = "write it as: pip install NAME NAME==VERSION"


def check_install(command: str, allowed: str) -> str:
    """The command to run for an agent's Bash command, normalised; `allowed` names tools with commas between.

    Raises CommandError with the reason for whatever is not the plain installation of packages by their names.
    """
    words = _words(command)
    tool, rest = _tool(words)
    if tool not in {name.strip() for name in allowed.split(",")}:
        raise CommandError(f"{tool} is not allowed here, only {allowed}: {FORM}")
    options, names = [], []
    for word in rest:
        if word in KEPT and tool != "apt":
            options.append(KEPT[word])
        elif word.startswith("-"):
            _refuse_option(word)
        else:
            names.append(_debian(word) if tool == "apt" else _requirement(word, tool))
    if not names:
        raise CommandError(f"no package is named: {FORM}")
    start = "apt-get install --yes" if tool == "apt" else "python -m pip install"
    return shlex.join([*start.split(), *dict.fromkeys(options), *names])


def _words(command: str) -> list[str]:
    lines = [line for line in command.strip().splitlines() if line.strip()]
    if len(lines) != 1:
        raise CommandError(f"Bash takes one line, this has {len(lines)}: name all packages in one command")
    try:
        return shlex.split(lines[0])
    except ValueError as error:
        raise CommandError(f"Bash cannot read this line ({error}): {FORM}") from None


def _tool(words: list[str]) -> tuple[str, list[str]]:
    for start, tool in INSTALLERS.items():
        if tuple(words[: len(start)]) == start:
            return tool, words[len(start) :]
    raise CommandError(f"Bash only installs packages, and {shlex.join(words[:3])!r} does not: {FORM}")


def _refuse_option(word: str) -> None:
    if word not in DROPPED:
        raise CommandError(f"the option {word.partition('=')[0]} is not allowed: {FORM}")


def _requirement(word: str, tool: str) -> str:
    match = REQUIREMENT.fullmatch(word)
    if match is None and tool == "conda" and (pinned := CONDA.fullmatch(word)):
        version = pinned[2] if pinned[2].endswith("*") else f"{pinned[2]}.*"  # conda's = means «begins with»
        return f"{OTHER_NAMES.get(pinned[1], pinned[1])}=={version}"
    if match is None or ARCHIVE.search(match[1]):
        raise CommandError(f"{word!r} is no package name with an optional version{_kind(word)}: {FORM}")
    name = OTHER_NAMES.get(match[1], match[1]) if tool == "conda" else match[1]
    return f"{name}{match[2] or ''}{match[3] or ''}"


def _debian(word: str) -> str:
    if DEBIAN.fullmatch(word) is None:
        raise CommandError(f"{word!r} is no name of a Debian package{_kind(word)}: name packages only")
    return word


def _kind(word: str) -> str:
    """What a refused word seems to be, so that the agent knows what to leave out."""
    if re.search(r"[;&|<>`$(){}\n]", word):
        return " (it holds what a shell would act on)"
    if "://" in word or "@" in word:
        return " (addresses are not allowed)"
    if "/" in word or word.startswith(".") or ARCHIVE.search(word):
        return " (files and paths are not allowed)"
    return ""
