"""The settings as command-line options: one place (`config.Settings`) says what there is.

`settings_options` gives a Typer command one option for each field of Settings and of Limits. An option that
is not given is left to the environment, autoreproduce.toml and the defaults.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsError

from autoreproduce.config import CONFIG_FILE, Limits, Settings
from autoreproduce.errors import UsageError

NOT_FLAGS = {"api_key", "github_token", "limits"}  # secrets come from the environment alone
PANELS = {
    "Models": "model research_model code_model base_url temperature max_output_tokens request_timeout max_retries "
    "budget price record",
    "Masked functions": "retrieval stub history max_steps command_seconds attempt_budget attempt_seconds",
    "The method": "lineage lineage_cache k debug refine mineru mineru_tier mineru_url diagrams max_debug profile "
    "seed offline time_limit_minutes dry_run_seconds",
}


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """`command(settings, ...)` as a Typer command with the options of Settings in place of `settings`."""
    own = [p for name, p in inspect.signature(command, eval_str=True).parameters.items() if name != "settings"]
    fields = {**{n: f for n, f in Settings.model_fields.items() if n not in NOT_FLAGS}, **Limits.model_fields}

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        flags = {name: given.pop(name) for name in fields}
        command(settings=make_settings({k: v for k, v in flags.items() if v is not None}), **given)

    parameters = [*own, *(_parameter(name, field) for name, field in fields.items())]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


def make_settings(flags: dict[str, Any]) -> Settings:
    """Settings from flags, environment and file. Raises UsageError that names the field."""
    limits = _limits_of_environment() | {name: flags.pop(name) for name in list(flags) if name in Limits.model_fields}
    try:
        base = Settings(**flags)
        if not limits:
            return base
        return Settings(**flags, limits=Limits.model_validate({**base.limits.model_dump(), **limits}))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])).removeprefix("limits.")
        said = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"setting {where}: {said} (it is {first['input']!r}): correct the flag, the "
                         f"environment's AUTOREPRODUCE_{where.upper()} or autoreproduce.toml") from None  # fmt: skip
    except SettingsError as error:
        raise UsageError(f"{error}: correct that variable AUTOREPRODUCE_… of the environment") from None
    except (ValueError, OSError) as error:  # no TOML, not UTF-8, not to be read
        raise UsageError(f"{CONFIG_FILE} cannot be read ({error}): correct it, or move it away") from None


def _limits_of_environment() -> dict[str, Any]:
    """Limits by the names of their flags: AUTOREPRODUCE_MEMORY_GB. Settings knows them as AUTOREPRODUCE_LIMITS."""
    names = {name: f"AUTOREPRODUCE_{name.upper()}" for name in Limits.model_fields}
    return {name: os.environ[variable] for name, variable in names.items() if variable in os.environ}


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    flag = "--" + name.replace("_", "-")
    names = (f"{flag}/--no-{name.replace('_', '-')}",) if field.annotation is bool else (flag,)
    default = (
        ""
        if field.default in (None, False) or not isinstance(field.default, str | int | float)
        else f" [{field.default}]"
    )
    panel = next((panel for panel, those in PANELS.items() if name in those.split()), "Sandbox and machine")
    option = typer.Option(
        *names, help=f"{field.description or ''}{default}".strip(), rich_help_panel=panel, show_default=False
    )
    kind = field.annotation if field.annotation in (bool, int, float) else str
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=typing_annotated(kind, option)
    )


def typing_annotated(kind: Any, option: Any) -> Any:
    """Annotated[kind | None, option], built at run time."""
    from typing import Annotated

    return Annotated[kind | None, option]
