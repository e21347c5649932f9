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

from autoreproduce.config import FLAGS
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


def reaching(settings: Mapping[str, Any], beside: Path | None = None) -> list[str]:
    """The names among `settings`, as users write them, whose values reach outside
    (`config.Facts.reaches`); a folder of runs below `beside` doesn't.
    """
    out = [name for name, value in settings.items() if _reaches(name, value)]
    runs = settings.get("runs_dir")
    if beside is not None and isinstance(runs, str):
        top = beside.resolve()
        with suppress(ValueError, OSError):  # no path at all
            if (top / runs).resolve().is_relative_to(top):
                out.remove("runs_dir")
    return out


def _reaches(name: str, value: object) -> bool:
    says = FLAGS[name].facts.reaches if name in FLAGS else None
    return says is not None and bool(says(value))


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


def raised(settings: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    """The names among `settings` of limits that such a file may lower (`config.Facts.lowered`) and
    that are above the user's `own`. What is no number is left to the settings' own check.
    """
    limits = [name for name, one in FLAGS.items() if one.facts.lowered and name in settings]
    numbers = [name for name in limits if isinstance(settings[name], int | float)]
    return [name for name in numbers if settings[name] > own[name]]
