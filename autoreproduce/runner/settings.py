"""Settings by precedence: flags, environment (AUTOREPRODUCE_*), autoreproduce.toml of the current
folder, the user's own, defaults.

The current folder may be somebody else's (a repository that was cloned), so its file sets nothing
that reaches outside: the same file in the user's configuration may.

The Python API's functions take them by the same names.
"""

import difflib
import inspect
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

from platformdirs import user_config_path
from pydantic import ValidationError

from autoreproduce.config import FLAGS, MACHINE, Settings
from autoreproduce.errors import UsageError, nearest, shown
from autoreproduce.files.handed_over import raised, reaching, tapes_elsewhere
from autoreproduce.files.shared import read_plain
from autoreproduce.job import Job
from autoreproduce.options import Options, completed, declared
from autoreproduce.sandboxes import check_name
from autoreproduce.setting_options import SettingOptions

CONFIG_FILE = "autoreproduce.toml"
PREFIX = "AUTOREPRODUCE_"
BUDGETS = ("budget", "attempt_budget")  # which no folder's file may set over the user's own
LARGEST = 100_000  # bytes of a file of settings


def load_settings(flags: Mapping[str, Any], note: Callable[[str], None] | None = None) -> Settings:
    """Settings from flags, the environment and the files. Raises UsageError that names the field.

    `note` gets a line on those that no flag set and that are not the defaults: what and from where.
    """
    layers = _layers()
    given = {name: value for _, layer in layers for name, value in layer.items()}
    settings = _checked({**given, **flags})
    check_name(settings.sandbox.name)
    if note is not None and (told := _origins(layers, settings, flags)):
        note(f"settings: {told}")
    return settings


def _checked(given: Mapping[str, Any]) -> Settings:
    """Raises UsageError that names the field."""
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = flag_of(first["loc"])
        if first["type"] == "extra_forbidden":
            raise UsageError(
                f"setting {name}: unknown{_nearest(name)}",
                fix=f"correct the name, also in {CONFIG_FILE}",
            ) from None
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(
            f"setting {name}: {message} (it is {first['input']!r})",
            fix=f"correct the flag, the environment's {PREFIX}{name.upper()} or {CONFIG_FILE}",
        ) from None


def _layers() -> list[tuple[str, dict[str, Any]]]:
    """What is set, by where, the strongest last."""
    variables = {name: os.environ.get(f"{PREFIX}{name.upper()}") for name in FLAGS}
    environment = {name: value for name, value in variables.items() if value is not None}
    own, here = user_config_path("autoreproduce") / CONFIG_FILE, Path(CONFIG_FILE)
    found = _file_settings(here)
    if wrong := [*reaching(found, Path.cwd()), *tapes_elsewhere(found, Path.cwd())]:
        raise UsageError(
            f"{CONFIG_FILE} of the current folder sets {wrong[0]}, which leads elsewhere or "
            "weakens what confines programs and budgets, and the folder may be somebody else's",
            fix=f"give it as a flag, as {PREFIX}{wrong[0].upper()}, or in {own}",
        )
    mine = _file_settings(own)
    higher = raised(found, _checked({**mine, **environment}).flat())
    if higher := [*higher, *(name for name in BUDGETS if name in found and name in mine)]:
        raise UsageError(
            f"{CONFIG_FILE} of the current folder sets {higher[0]} over yours, and the folder may "
            "be somebody else's",
            fix=f"give it as a flag, as {PREFIX}{higher[0].upper()}, or in {own}",
        )
    return [(str(own), mine), (CONFIG_FILE, found), ("environment", environment)]


def _origins(
    layers: list[tuple[str, dict[str, Any]]], settings: Settings, flags: Mapping[str, Any]
) -> str:
    """The settings given, as "k = 9 (autoreproduce.toml)", joined by commas; secrets left out."""
    from_where = {name: where for where, layer in layers for name in layer if name not in flags}
    defaults, now = Settings().flat(), settings.flat()
    return ", ".join(
        f"{name} = {shown(str(now[name]))} ({where})"
        for name, where in from_where.items()
        if name in now and now[name] != defaults[name]
    )


def settings_here(job: Job, given: Settings | None = None) -> Settings:
    """A stored Job's settings over those of this machine, which has the secrets; what is `given`
    now replaces what may differ when a trial is resumed. Raises UsageError for a password that is
    missing here.
    """
    flat = job.settings.flat()
    stored = {name: flat[name] for name in job.settings.given() if flat[name] is not None}
    changed = given.flat() if given else {}
    new = {name: changed[name] for name in changed if given and name in given.given() & MACHINE}
    settings = load_settings({**stored, **new})
    if missing := [name for name in job.left_out if name not in settings.given()]:
        raise UsageError(
            f"the address of {missing[0]} has a password, and a job holds no secret",
            fix=f"set {PREFIX}{missing[0].upper()} where the trial is attempted",
        )
    return settings


def refuse_sections(given: Mapping[str, Any], named_in: str) -> None:
    """Raise UsageError if a file of others gives anything but settings by their names: a whole
    section would bring others with it.
    """
    for name, value in given.items():
        if name not in FLAGS or isinstance(value, dict | list):
            raise UsageError(
                f"{named_in} has {name[:80]!r}, which isn't a setting that it may have",
                fix="it is damaged, or of another version: make it, or record it again",
            )


def flag_of(place: tuple[int | str, ...]) -> str:
    """The name that users write for the field at a path in Settings."""
    found = next((name for name, one in FLAGS.items() if one.path == place[: len(one.path)]), None)
    return found or ".".join(map(str, place))


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, FLAGS, 1)
    return f", did you mean {close[0]}?" if close else ""


def _file_settings(path: Path) -> dict[str, Any]:
    """A file of settings by the names that users write; none where there is no file."""
    try:
        found = tomllib.loads(read_plain(path, LARGEST).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, UsageError, RecursionError) as error:  # no TOML, not UTF-8, no plain file
        raise UsageError(
            f"{path} cannot be read ({error})", fix="correct it, or move it away"
        ) from None
    return by_flag(found)


def by_flag(given: dict[str, Any], section: tuple[str, ...] = ()) -> dict[str, Any]:
    """Sections of a file ([sandbox] build_base = …) by flag; names of no setting as they are."""
    flags = {one.path: name for name, one in FLAGS.items()}
    flat: dict[str, Any] = {}
    for key, value in given.items():
        here = (*section, key)
        flat |= by_flag(value, here) if isinstance(value, dict) else {flags.get(here, key): value}
    return flat


def settings_of(settings: Settings | None, **flat: Any) -> Settings:
    """The settings that were given whole, else those that were given by name, over the
    environment's and the file's. Raises UsageError that names an unknown one.
    """
    given = {name: value for name, value in flat.items() if value is not None}
    if settings is None:
        return load_settings(given)
    if given:
        raise UsageError(
            f"settings= and {next(iter(given))}= exclude each other", fix="give one of them"
        )
    return settings


Function = TypeVar("Function", bound=Callable[..., Any])
_LIST = re.compile(r"(?:[\w.]*\.)?Sequence\[")  # of texts or paths, in its annotation's words


def takes(kind: Any = None) -> Callable[[Function], Function]:
    """Makes a function's signature show what its last parameter, `**options`, takes: the options of
    the TypedDict `kind` and all settings, so that `help` and a notebook's completion name them. A
    text is taken for a list of one, and a name that is nearly a parameter's raises UsageError.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        *named, _ = signature.parameters.values()
        last = inspect.Parameter.KEYWORD_ONLY
        options = [
            inspect.Parameter(name, last, default=option.default, annotation=hint)
            for name, (hint, option) in (declared(kind) if kind else {}).items()
        ]
        own = {each.name for each in (*named, *options)}
        settings = [
            inspect.Parameter(name, last, default=None, annotation=hint)
            for name, hint in get_type_hints(SettingOptions).items()
            if name not in own
        ]
        first = [each for each in named if each.kind is not last]
        parameters = [*first, *options, *named[len(first) :], *settings]
        known = {each.name for each in parameters}
        lists = {each.name for each in parameters if _LIST.match(str(each.annotation))}

        @wraps(function)
        def called(*args: Any, **given: Any) -> Any:
            for name in given.keys() - known:
                if nearly := nearest(name, known):
                    raise UsageError(f"{function.__name__} takes no {name}", fix=nearly.strip())
            ones = {name for name in lists & given.keys() if isinstance(given[name], str | Path)}
            return function(*args, **{**given, **{name: (given[name],) for name in ones}})

        vars(called)["__signature__"] = signature.replace(parameters=parameters)
        return cast(Function, called)

    return decorate


def options_and_settings(
    kind: type[Options], given: Mapping[str, Any], settings: Settings | None
) -> tuple[Options, Settings]:
    """The options of the TypedDict `kind` among what a function was given by name, and the settings
    that the rest are. Raises UsageError.
    """
    known = declared(kind)
    mine = {name: value for name, value in given.items() if name in known}
    others = {name: value for name, value in given.items() if name not in known}
    return completed(kind, mine), settings_of(settings, **others)
