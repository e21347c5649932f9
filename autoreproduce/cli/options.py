"""The settings as command-line options: one place (`config.Settings`) says what there is.

`settings_options` gives a Typer command the options of the settings that it uses. An option that is
not given is left to the environment, autoreproduce.toml and the defaults.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from autoreproduce.config import FLAGS, SPELLED, flags_of
from autoreproduce.errors import UnknownPriceError, UsageError
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
TaskName = Annotated[
    str | None, typer.Option(help="data set, id or method; any name with --metric")
]
RequireWord = Literal["reproduced", "partly"]
Require = Annotated[
    RequireWord | None, typer.Option(help="reproduced or partly: exit 1 if the verdict is less")
]
ArxivId = Annotated[str | None, typer.Option(help="the paper's arXiv id", metavar="ID")]


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
CarriedNames = Annotated[
    list[str] | None,
    typer.Option(
        help="a file over 100 MB that the run needs; repeatable",
        metavar="NAME",
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


def settings_options(command: str, main: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Makes `function(..., settings, ...)` a Typer command with the settings as options that are
    declared for the command of that name.

    They replace the parameter `settings`. Those in `main` matter first; the others
    are in the panel of their section.
    """
    ordered = [*main, *(flag for flag in flags_of(command) if flag not in main)]

    def decorate(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        parameters = []
        for name, own in signature.parameters.items():
            if name == "settings":
                parameters += [_parameter(flag, flag in main) for flag in ordered]
            else:
                parameters.append(own.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        @functools.wraps(function)
        def wrapped(**given: Any) -> None:
            values = {name: given.pop(name) for name in ordered}
            set_here = {name: value for name, value in values.items() if value is not None}
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


def _parameter(name: str, main: bool) -> inspect.Parameter:
    path, field = FLAGS[name]
    word = SPELLED.get(name, name).replace("_", "-")
    names = (f"--{word}/--no-{word}",) if field.annotation is bool else (f"--{word}",)
    kinds = {field.annotation, *get_args(field.annotation)}
    kind = next((each for each in (bool, int, float, Path) if each in kinds), str)
    option = typer.Option(
        *names,
        help=_help_text(field),
        rich_help_panel=None if main else PANELS.get(path[0], ADVANCED),
        show_default=False,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _help_text(field: FieldInfo) -> str:
    """The description with the choices and the default; a negated flag's name implies it."""
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    missing = [str(choice) for choice in choices if str(choice) not in (field.description or "")]
    listed = f"; {', '.join(map(str, choices))}" if missing else ""
    shown = isinstance(field.default, str | int | float) and not isinstance(field.default, bool)
    return f"{field.description or ''}{listed}{f' [{field.default}]' if shown else ''}".strip()
