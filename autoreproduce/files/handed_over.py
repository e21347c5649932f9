"""What people hand each other is hostile: data sets, trials, papers, tapes, agents, settings.

Nobody looks into such a file before it is used. So none of its words may become an option of a
tool, the name of a module that is imported, or a path that leads out of it. `docs/security.md`
lists each kind, with what it may do.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from autoreproduce.errors import UsageError

MOST_PACKAGES, LONGEST_PACKAGE = 500, 200  # of a list; characters of one
PACKAGE_OPTIONS = ("--upgrade", "--pre", "--no-deps")
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9.*+!_-]+"
PACKAGE = re.compile(rf"({_NAME})(\[{_NAME}(?:,{_NAME})*\])?({_VERSION}(?:,{_VERSION})*)?")
ARCHIVE = re.compile(r"\.(whl|zip|tar|gz|bz2|xz|tgz|egg|txt|toml|cfg|py)$", re.IGNORECASE)


def package_parts(text: str) -> re.Match[str] | None:
    """Name, extras and versions of `numpy[x]>=1,<2`; None for what is no package of an index: an
    option, an address, a path, an archive.
    """
    found = PACKAGE.fullmatch(text) if len(text) <= LONGEST_PACKAGE else None
    return None if found is None or ARCHIVE.search(found[1]) else found


def check_packages(names: Iterable[str], options: Iterable[str] = ()) -> None:
    """Raise UsageError unless each is a package with an optional version, each option one of
    `PACKAGE_OPTIONS`.
    """
    given = list(names)
    if len(given) > MOST_PACKAGES:
        raise UsageError(f"{len(given):,} packages are listed", fix=f"name at most {MOST_PACKAGES}")
    for text in given:
        if package_parts(text) is None:
            raise UsageError(
                f"{text[:80]!r} isn't a package with a version",
                fix="write it as NAME or NAME==VERSION; options, paths and addresses are not taken",
            )
    for text in options:
        if text not in PACKAGE_OPTIONS:
            raise UsageError(
                f"{text[:80]!r} isn't an option of an installation",
                fix=f"there is {', '.join(PACKAGE_OPTIONS)}",
            )


# Settings that send data or keys somewhere, weaken what holds programs, say where files are read
# and written, or what a call costs (at a price of 0 no budget ends anything). No file that somebody
# else may have written sets one.
REACHING = frozenset(
    {
        "base_url",
        "api_key",
        "github_token",
        "record",
        "cache_dir",
        "runs_dir",
        "mineru_url",
        "docling_models",
    }
    | {"arxiv_api", "arxiv_url", "github_api", "github_url", "semantic_scholar_api"}
    | {"sandbox", "image", "runtime", "gpus", "price"}
    | {"build_base", "build_ca_bundle", "build_find_links", "build_constraints"}
    | {"coder", "from_code", "own_login"}
)
_OWN_CODER = re.compile(r"edit|tools|agent:[A-Za-z0-9_-]+")  # by name, and no file
WALLED = ("auto", "docker", "bubblewrap")  # sandboxes that anybody may name


def reaching(settings: Mapping[str, Any], beside: Path | None = None) -> list[str]:
    """The names among `settings`, as users write them, that are of `REACHING`; a folder of runs
    below `beside` is not.
    """
    harmless = {"sandbox"} if settings.get("sandbox") in WALLED else set()
    if _OWN_CODER.fullmatch(str(settings.get("coder") or "edit")):
        harmless |= {"coder"}
    harmless |= {name for name in ("from_code", "own_login") if not settings.get(name)}
    runs = settings.get("runs_dir")
    if beside is not None and isinstance(runs, str):
        top = beside.resolve()
        with suppress(ValueError, OSError):  # no path at all
            harmless |= {"runs_dir"} if (top / runs).resolve().is_relative_to(top) else set()
    return [name for name in settings if name in REACHING and name not in harmless]


def named_tape(model: object) -> str | None:
    """The file of `tape:FILE`, "" of `tape` (the task's own); None for the name of a model."""
    kind, _, file = str(model).partition(":")
    return file if kind == "tape" else None


def tapes_elsewhere(settings: Mapping[str, Any], beside: Path) -> list[str]:
    """The names among `settings` of models that are the file of a tape, not below `beside`."""
    top, found = beside.resolve(), []
    for name in ("model", "research_model", "code_model"):
        if path := named_tape(settings.get(name)):
            inside = "\0" not in path and Path(path).resolve().is_relative_to(top)
            found += [] if inside and not path.startswith("~") else [name]
    return found


# Limits of a program, which such a file may lower and never raise.
LOWERED = ("memory_gb", "processes", "disk_gb", "output_kb", "output_mb")


def raised(settings: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    """The names among `settings` of limits that are above the user's `own`. What is no number is
    left to the settings' own check.
    """
    given = ((name, settings[name]) for name in LOWERED if name in settings)
    numbers = (pair for pair in given if isinstance(pair[1], int | float))
    return [name for name, value in numbers if value > own[name]]
