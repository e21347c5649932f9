"""The command `doctor`: what a trial needs on this machine, what was found, and a fix for what is
missing. No network is used but this machine itself.
"""

import importlib.util
import json as json_module
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import settings_options
from autoreproduce.config import Settings
from autoreproduce.content import install_command
from autoreproduce.errors import AutoReproduceError
from autoreproduce.files.handed_over import named_tape
from autoreproduce.sandboxes import why_not

app = CommandApp()


@app.command()
@settings_options(main=("model", "base_url", "gpus", "runtime"))
def doctor(
    *,
    settings: Settings,
    json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
) -> None:
    """Check what a trial needs here, and say how to fix it."""
    raise typer.Exit(0 if print_checks(settings, json) else 1)


RUNS = "The demo can run here (--task Darcy --model tape): it needs nothing of what's missing."
RUNS_NOT = "No trial can run here yet: it needs git, and Docker Engine or bubblewrap with torch."
FREE_GB = 5.0
ENOUGH_GB = 20.0  # with Docker's image and MinerU's weights


def print_checks(settings: Settings, as_json: bool) -> bool:
    """A line a check; True if a trial can run."""
    found = checks(settings)
    for check in found:
        if as_json:
            print(json_module.dumps(asdict(check)))
        else:
            fix = f": {check.fix}" if check.fix else ""
            print(f"{'ok     ' if check.ok else 'missing'}  {check.name}: {check.found}{fix}")
    ok = {check.name: check.ok for check in found}
    runs = ok["git"] and (ok["Docker Engine"] or (ok["bubblewrap"] and ok["torch"]))
    if not as_json:
        print(RUNS if runs else RUNS_NOT)
    return runs


@dataclass(frozen=True)
class Check:
    """One thing: whether it is as it should be, what was found, and the fix ("" if none is
    needed).
    """

    name: str
    ok: bool
    found: str
    fix: str = ""


def checks(settings: Settings) -> list[Check]:
    """All checks, in the order in which a user would fix them. Takes a few seconds at most."""
    return [
        _model(settings),
        _agent_programs(),
        _sandbox("Docker Engine", "docker", settings),
        _image(settings),
        _sandbox("bubblewrap", "bubblewrap", settings),
        _gpu(settings),
        _torch(),
        Check(
            "arXiv",
            True,
            f"{settings.papers.arxiv_api} and {settings.papers.arxiv_url} (not asked)",
        ),
        _github(settings),
        _pdf_reader(settings),
        _program("git", "git", "--version", "install git"),
        _disk("cache", settings.cache_dir),
        _disk("trials", settings.runs_dir),
    ]


def _model(settings: Settings) -> Check:  # noqa: PLR0911
    if settings.model.name is None:
        from autoreproduce.models.found_here import how_here

        fix = how_here(
            "--model PROVIDER:NAME with the provider's key, or --model tape to replay a recorded "
            "trial"
        )
        return Check("model", False, "no model is set", fix)
    if (tape := named_tape(settings.model.name)) is not None:
        return Check("model", True, f"the replies of a tape ({tape or 'the one of the task'})")
    from autoreproduce.models.agent_programs import PROGRAMS
    from autoreproduce.models.open import endpoint_host, split_name
    from autoreproduce.models.prices import endpoint, key_variable
    from autoreproduce.models.servers import is_free

    try:
        provider, name = split_name(settings.model.name, settings)
    except AutoReproduceError as error:
        return Check("model", False, error.what, error.fix)
    if provider in PROGRAMS:
        return _agent_model(provider)
    variable, url = key_variable(provider), endpoint(settings, provider)
    where = f" at {endpoint_host(settings, settings.model.name)}" if url else ""
    if settings.model.api_key or (variable and os.environ.get(variable)):
        return Check("model", True, f"{provider}:{name}{where}, with a key")
    if not variable or is_free(provider, url):
        return Check("model", True, f"{provider}:{name}{where}, which needs no key")
    return Check(
        "model",
        False,
        f"{provider}:{name}{where}, without a key",
        f"set {variable} or AUTOREPRODUCE_API_KEY",
    )


def _agent_model(provider: str) -> Check:
    from autoreproduce.models.agent_programs import PROGRAMS

    program = PROGRAMS[provider]
    path = program.path()
    if path is None:
        fix = f"npm install -g {program.package}, then {program.login}"
        return Check("model", False, f"{program.title} isn't installed", fix)
    if login := program.logged_in(path):
        return Check("model", True, f"{program.title}, logged in ({login.who}): {login.paid}")
    return Check("model", False, f"{program.title} isn't logged in", program.login)


def _agent_programs() -> Check:
    """Those that can be a model by their user's plan. None is needed."""
    from autoreproduce.models.agent_programs import found_programs

    found = [
        f"{name} is logged in ({login.who}: {login.paid})"
        if login
        else f"{name} isn't logged in ({each.login})"
        for name, each, login in found_programs()
    ]
    return Check("agent programs", True, "; ".join(found) or "none of claude, codex and gemini")


def _sandbox(title: str, name: str, settings: Settings) -> Check:
    error = why_not(name, settings)
    return Check(title, False, error.what, error.fix) if error else Check(title, True, "works")


def _image(settings: Settings) -> Check:
    if why_not("docker", settings):
        return Check("image", False, "not looked for, without Docker Engine", "Docker Engine first")
    from autoreproduce.sandboxes.engine import connect, engine
    from autoreproduce.sandboxes.image import failed_lately, forget_failure, has_image, image_name

    try:
        with engine():
            name, client = image_name(settings), connect(5)
            there = has_image(client, name)
            client.close()
            failed = failed_lately(settings)
            forget_failure(settings)
    except AutoReproduceError as error:
        return Check("image", False, error.what, error.fix)
    if failed and not there:
        return Check("image", False, f"not here: {failed}", "the next trial tries again")
    how = "pulled" if settings.sandbox.image else f"built from {settings.sandbox.build_base}"
    return Check(
        "image", True, f"{name}{'' if there else f', not here yet: it is {how} at the first trial'}"
    )


def _gpu(settings: Settings) -> Check:
    wanted = settings.sandbox.gpus is not None
    if shutil.which("nvidia-smi") is None:
        fix = "install NVIDIA's driver, or leave --gpus out" if wanted else ""
        return Check("GPU", not wanted, "no nvidia-smi: trials run on the processor", fix)
    listed = _output_of(
        "nvidia-smi", "--query-gpu=index,name,memory.total", "--format=csv,noheader"
    ).splitlines()
    if not listed:
        return Check(
            "GPU",
            not wanted,
            "nvidia-smi lists none",
            "see whether the driver is loaded (nvidia-smi)",
        )
    found = "; ".join(listed)
    if (
        shutil.which("docker")
        and not shutil.which("nvidia-ctk")
        and not shutil.which("nvidia-container-cli")
    ):
        fix = "install NVIDIA's container toolkit, or use --sandbox bubblewrap"
        return Check("GPU", not wanted, f"{found}; Docker cannot use it", fix)
    return Check("GPU", True, f"{found}{'' if wanted else '; --gpus all gives it to trials'}")


def _torch() -> Check:
    missing = [name for name in ("torch", "scipy") if importlib.util.find_spec(name) is None]
    if missing:
        fix = f"{install_command('torch')}; programs in Docker have their own"
        seen = f"{' and '.join(missing)} not in this Python, which programs in bubblewrap use"
        return Check("torch", False, seen, fix)
    from importlib.metadata import version

    return Check("torch", True, version("torch"))


def _github(settings: Settings) -> Check:
    if settings.papers.github_token:
        return Check("GitHub", True, f"{settings.papers.github_api}, with a token (not asked)")
    fix = (
        "60 calls an hour without one; set AUTOREPRODUCE_GITHUB_TOKEN for lineage of more than a "
        "few papers"
    )
    return Check(
        "GitHub", not settings.method.lineage, f"{settings.papers.github_api}, without a token", fix
    )


def _pdf_reader(settings: Settings) -> Check:
    from autoreproduce.errors import UsageError
    from autoreproduce.papers.pdf_readers import reader_of

    try:
        reader = reader_of(settings)
    except UsageError as error:
        return Check("PDF reader", False, error.what, error.fix)
    if reader == "own":
        why = "text and plain tables are read directly, other tables aren't read"
        fix = "" if settings.papers.pdf_reader == "own" else install_command("pdf")
        return Check("PDF reader", True, why, fix)
    tier = f", tier {settings.papers.mineru_tier}" if reader == "mineru" else ""
    return Check("PDF reader", True, f"{reader}{tier}")


def _program(title: str, program: str, argument: str, fix: str) -> Check:
    if shutil.which(program) is None:
        return Check(title, False, f"{program} is missing", fix)
    printed = _output_of(program, argument)
    return Check(
        title,
        bool(printed),
        printed.splitlines()[0] if printed else f"{program} does not run",
        "" if printed else fix,
    )


def _disk(what: str, folder: Path) -> Check:
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free / 2**30
    found = f"{free:.0f} GB free for {folder}"
    if not os.access(there, os.W_OK):
        return Check(
            f"disk for {what}", False, f"{there} is not open for writing", "name another folder"
        )
    if free < FREE_GB:
        return Check(
            f"disk for {what}",
            False,
            found,
            f"make room: a trial wants {FREE_GB:g} GB, an image {ENOUGH_GB:g}",
        )
    return Check(f"disk for {what}", True, found)


def _output_of(*argv: str) -> str:
    try:
        done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
