"""The command line's options: `config.Settings` and `autoreproduce.options` say what there is.

`settings_options` gives a Typer command its own options and the settings that it uses. A setting
that is not given is left to the environment, autoreproduce.toml and the defaults.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, is_typeddict

import typer
from pydantic.fields import FieldInfo

from autoreproduce.config import FLAGS, SECRETS, taken
from autoreproduce.errors import UnknownPriceError, UsageError, nearest
from autoreproduce.options import Option, declared
from autoreproduce.runner.settings import load_settings

PANELS = {
    "model": "Model",
    "budget": "Budget",
    "method": "Method",
    "masked": "Masked functions",
    "sandbox": "Sandbox",
    "papers": "Papers",
}
ADVANCED = "Advanced"

Command = Callable[..., None]
Json = Annotated[
    bool,
    typer.Option("--json", help="one JSON object a line, for machines", rich_help_panel=ADVANCED),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="show what it would take, without asking a model")
]
RequireWord = Literal["reproduced", "partly"]
Require = Annotated[
    RequireWord | None, typer.Option(help="reproduced or partly: exit 1 if the verdict is less")
]


def _checked_notify(to: str | None) -> str | None:
    from autoreproduce.cli.console.notify import checked_notify

    return checked_notify(to)


Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="resume what wasn't begun on this machine: you know where it's from",
        rich_help_panel=ADVANCED,
    ),
]
Notify = Annotated[
    str | None,
    typer.Option(
        callback=_checked_notify,
        help="when it ends: bell, or a URL to POST JSON to",
        metavar="bell|URL",
        rich_help_panel=ADVANCED,
    ),
]


def settings_options(
    *groups: str, also: Collection[str] = (), main: Sequence[str] = ()
) -> Callable[[Command], Command]:
    """Makes `function(..., settings, ...)` a Typer command.

    In place of `settings` it has the settings of these groups (`config.Facts.groups`), and those
    that `also` and `main` name; in place of a TypedDict of options each of these, and the function
    is given them as one. Those in `main` matter first, in this order; other options are advanced,
    and other settings in the panel of their section.
    """

    def decorate(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        found = taken(groups, {*also, *main})
        flags = [flag for flag in found if flag not in signature.parameters]
        parameters: list[inspect.Parameter] = []
        asked: dict[str, dict[str, Option]] = {}  # parameter -> the options that it takes together
        for name, own in signature.parameters.items():
            if name == "settings":
                parameters += [_setting(flag, flag in main) for flag in flags]
            elif is_typeddict(own.annotation):
                options = declared(own.annotation)
                asked[name] = {each: option for each, (_, option) in options.items()}
                parameters += [_option(each, *options[each], each in main) for each in asked[name]]
            else:
                parameters.append(_own(own, own.name in main))
        for name in {*also, *main} - {each.name for each in parameters}:
            close = nearest(name, FLAGS.keys() - SECRETS)
            fix = f"{close}name a setting that is no secret, or an option that it has"
            raise UsageError(f"{function.__name__} has no {name}", fix=fix)
        parameters = _with_first(parameters, main)

        @functools.wraps(function)
        def wrapped(**given: Any) -> None:
            values = {name: given.pop(name) for name in flags}
            set_here = {name: value for name, value in values.items() if value is not None}
            for group, options in asked.items():
                given[group] = dict(_given(options, given))
            settings = load_settings(set_here, _tell)
            try:
                function(settings=settings, **given)
            except UnknownPriceError as error:  # raised before a folder exists
                price = _asked_price(error, bool(given.get("json")))
                function(settings=settings.having(price=price), **given)

        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
        return wrapped

    return decorate


def _with_first(
    parameters: list[inspect.Parameter], main: Sequence[str]
) -> list[inspect.Parameter]:
    """The parameters, those in `main` together where the first of them stands."""
    named = {each.name: each for each in parameters}
    at = next((at for at, each in enumerate(parameters) if each.name in main), 0)
    others = [each for each in parameters[at:] if each.name not in main]
    return [*parameters[:at], *(named[name] for name in main), *others]


def _given(options: dict[str, Option], values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Takes the options out of the command line's values, as the Python function takes them."""
    for name, option in options.items():
        value = values.pop(name)
        if value is not None:
            yield name, [each for each in value.split(",") if each] if option.by_commas else value


def _asked_price(error: UnknownPriceError, as_json: bool) -> str:
    """The price that the user types; where nobody can be asked, the error is raised."""
    from autoreproduce.models.prices import Rates

    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise error
    print(f"{error.what}. Dollars a million tokens, 0,0,0 if it is free:", file=sys.stderr)
    while True:
        price: str = typer.prompt("INPUT,CACHED,OUTPUT", err=True)
        try:
            Rates.parse(price)
        except UsageError as wrong:
            print(wrong, file=sys.stderr)
            continue
        print(f"For the next time: --price {price}, or AUTOREPRODUCE_PRICE", file=sys.stderr)
        return price


def _tell(text: str) -> None:
    """Where settings came from, for whoever reads the screen."""
    if sys.stderr.isatty() or ".toml)" in text:
        print(text, file=sys.stderr)


def _setting(name: str, main: bool) -> inspect.Parameter:
    setting = FLAGS[name]
    word = (setting.facts.word or name).replace("_", "-")
    names = (f"--{word}/--no-{word}",) if setting.field.annotation is bool else (f"--{word}",)
    kind = next((each for each in (bool, int, float, Path) if each in setting.kinds), str)
    option = typer.Option(
        *names,
        help=_help_text(setting.field),
        rich_help_panel=None if main else PANELS.get(setting.path[0], ADVANCED),
        show_default=False,
    )
    return _keyword(name, Annotated[kind | None, option], None)


def _own(parameter: inspect.Parameter, main: bool) -> inspect.Parameter:
    """A parameter of the command's own, which may be declared among the options too."""
    hint = parameter.annotation
    if get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], Option):
        option = replace(hint.__metadata__[0], default=parameter.default)
        return _option(parameter.name, hint.__origin__, option, main)
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _option(name: str, hint: Any, option: Option, main: bool) -> inspect.Parameter:
    default = option.default
    shown = typer.Option(
        f"--{option.word or name.replace('_', '-')}",
        help=option.help,
        metavar=option.metavar,
        min=option.least,
        callback=option.check,
        rich_help_panel=None if main else ADVANCED,
    )
    kind = str if option.by_commas else _kind(hint)
    empty = None if get_origin(kind) is list else "" if option.by_commas else default
    return _keyword(name, Annotated[kind if empty is not None else kind | None, shown], empty)


def _kind(hint: Any) -> Any:
    """What Typer reads an option as: of a path that may be text a path, of a sequence a list."""
    if get_origin(hint) is Sequence:
        return list[_kind(get_args(hint)[0])]  # type: ignore[misc]
    if get_origin(hint) is Literal:
        return hint
    kinds = [each for each in get_args(hint) or (hint,) if each is not type(None)]
    return Path if Path in kinds else _kind(kinds[0]) if kinds != [hint] else hint


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _help_text(field: FieldInfo) -> str:
    """The description with the choices and the default; a negated flag's name implies it."""
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    missing = [str(choice) for choice in choices if str(choice) not in (field.description or "")]
    listed = f"; {', '.join(map(str, choices))}" if missing else ""
    shown = isinstance(field.default, str | int | float) and not isinstance(field.default, bool)
    return f"{field.description or ''}{listed}{f' [{field.default}]' if shown else ''}".strip()
