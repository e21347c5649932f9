"""How the agents' Bash command may install packages.

A command is parsed word by word and written again, so that what the shell gets contains no word
that was not understood. Whatever tool the agent names, pip installs: every sandbox has it, and it
sees what is installed already. System packages belong in the image (`sandbox/README.md`): a program
may not install them.
"""

from __future__ import annotations

import re
import shlex

from autoreproduce.contracts import Packages
from autoreproduce.errors import CommandError
from autoreproduce.files.handed_over import ARCHIVE, MOST_PACKAGES, PACKAGE_OPTIONS, package_parts

INSTALLERS = {
    ("pip", "install"): "pip",
    ("pip3", "install"): "pip",
    ("python", "-m", "pip", "install"): "pip",
    ("python3", "-m", "pip", "install"): "pip",
    ("uv", "pip", "install"): "uv",
    ("conda", "install"): "conda",
    ("mamba", "install"): "conda",
}
PASSED = {"-U": "--upgrade", **{option: option for option in PACKAGE_OPTIONS}}
DROPPED = ("-q", "--quiet", "-y", "--yes", "--no-cache-dir", "--user", "--no-input", "--system")
OTHER_NAMES = {"pytorch": "torch"}  # conda's name -> pip's
CONDA = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=([0-9][A-Za-z0-9.*]*)(?:=[A-Za-z0-9_.*]+)?")
FORM = "write it as: pip install NAME NAME==VERSION"


def installs(command: str) -> bool:
    """Whether a Bash command is to install something; `check_install` says whether it may."""
    words = tuple(command.split())
    apt = words[:1] in (("apt",), ("apt-get",))
    return apt or any(words[: len(start)] == start for start in INSTALLERS)


def check_install(command: str, allowed: str) -> Packages:
    """What an agent's Bash command installs; `allowed` names tools with commas between.

    Raises CommandError with the reason for whatever is not the plain installation of packages by
    their names.
    """
    words = _shell_words(command)
    tool, rest = _tool_and_rest(words)
    if tool not in {name.strip() for name in allowed.split(",")}:
        raise CommandError(f"{tool} is not allowed here, only {allowed}: {FORM}")
    options, names = [], []
    for word in rest:
        if word in PASSED:
            options.append(PASSED[word])
        elif word.startswith("-"):
            _refuse_option(word)
        else:
            names.append(_requirement(word, tool))
    if not names:
        raise CommandError(f"no package is named: {FORM}")
    if len(names) > MOST_PACKAGES:
        raise CommandError(f"at most {MOST_PACKAGES} packages in one command: {FORM}")
    return Packages(tuple(names), tuple(dict.fromkeys(options)))


def _shell_words(command: str) -> list[str]:
    lines = [line for line in command.strip().splitlines() if line.strip()]
    if len(lines) != 1:
        raise CommandError(
            f"Bash takes one line, this has {len(lines)}: name all packages in one command"
        )
    try:
        return shlex.split(lines[0])
    except ValueError as error:
        raise CommandError(f"Bash cannot read this line ({error}): {FORM}") from None


def _tool_and_rest(words: list[str]) -> tuple[str, list[str]]:
    for start, tool in INSTALLERS.items():
        if tuple(words[: len(start)]) == start:
            return tool, words[len(start) :]
    if words[0] in ("apt", "apt-get"):
        raise CommandError(
            f"system packages cannot be installed here, they belong in the image: {FORM}"
        )
    raise CommandError(
        f"Bash only installs packages, and {shlex.join(words[:3])!r} does not: {FORM}"
    )


def _refuse_option(word: str) -> None:
    if word not in DROPPED:
        raise CommandError(f"the option {word.partition('=')[0]} is not allowed: {FORM}")


def _requirement(word: str, tool: str) -> str:
    text = word
    if tool == "conda" and (pinned := CONDA.fullmatch(word)):
        # conda's = means "begins with"
        version = pinned[2] if pinned[2].endswith("*") else f"{pinned[2]}.*"
        text = f"{pinned[1]}=={version}"
    match = package_parts(text)
    if match is None:
        raise CommandError(
            f"{word[:200]!r} isn't a package name with an optional version{_hint(word)}: {FORM}"
        )
    name = OTHER_NAMES.get(match[1], match[1]) if tool == "conda" else match[1]
    return f"{name}{match[2] or ''}{match[3] or ''}"


def _hint(word: str) -> str:
    """What a refused word seems to be, so that the agent knows what to leave out."""
    if re.search(r"[;&|<>`$(){}\n]", word):
        return " (it holds what a shell would act on)"
    if "://" in word or "@" in word:
        return " (addresses are not allowed)"
    if "/" in word or word.startswith(".") or ARCHIVE.search(word):
        return " (files and paths are not allowed)"
    return ""
