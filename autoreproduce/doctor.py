"""What a trial needs on this machine: what was found of it, and the mend of what is missing. No network is used."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError
from autoreproduce.sandboxes import why_not

FREE_GB = 5.0
ENOUGH_GB = 20.0  # with Docker's image and MinerU's weights


@dataclass(frozen=True)
class Check:
    """One thing: whether it is as it should be, what was found, and what mends it ("" where nothing needs to be)."""

    name: str
    ok: bool
    found: str
    mend: str = ""


def checks(settings: Settings) -> list[Check]:
    """All checks, in the order in which a user would mend them. Some seconds at most."""
    return [
        _model(settings),
        _sandbox("Docker Engine", "docker", settings),
        _image(settings),
        _sandbox("bubblewrap", "bubblewrap", settings),
        _gpu(settings),
        _torch(),
        _arxiv(settings),
        _github(settings),
        _mineru(settings),
        _program("git", "git", "--version", "install git"),
        _disk("cache", settings.cache_dir),
        _disk("trials", settings.runs_dir),
    ]


def _model(settings: Settings) -> Check:
    if settings.model is None:
        mend = "--model PROVIDER:NAME with the provider's key, or --model tape to replay a recorded trial"
        return Check("model", False, "no model is set", mend)
    if settings.model == "tape" or settings.model.startswith("tape:"):
        return Check("model", True, f"the replies of a tape ({settings.model[5:] or 'the one of the task'})")
    from autoreproduce.models import is_local, split_name
    from autoreproduce.prices import PROVIDERS

    try:
        provider, name = split_name(settings.model, settings)
    except AutoReproduceError as error:
        return Check("model", False, str(error).partition(": ")[0], str(error).partition(": ")[2])
    variable, where = PROVIDERS[provider][0], f" at {settings.base_url}" if settings.base_url else ""
    if settings.api_key or (variable and os.environ.get(variable)):
        return Check("model", True, f"{provider}:{name}{where}, with a key")
    if not variable or (settings.base_url and is_local(settings.base_url)):
        return Check("model", True, f"{provider}:{name}{where}, which needs no key")
    return Check("model", False, f"{provider}:{name}{where}, without a key", f"set {variable} or AUTOREPRODUCE_API_KEY")


def _sandbox(title: str, name: str, settings: Settings) -> Check:
    reason = why_not(name, settings)
    found, _, mend = reason.partition(": ")
    return Check(title, not reason, found or "works", mend)


def _image(settings: Settings) -> Check:
    if why_not("docker", settings):
        return Check("image", False, "not looked for, without Docker Engine", "Docker Engine first")
    from autoreproduce.sandboxes.engine import connect, engine
    from autoreproduce.sandboxes.image import has_image, image_name

    try:
        with engine():
            name, client = image_name(settings), connect(5)
            there = has_image(client, name)
            client.close()
    except AutoReproduceError as error:
        return Check("image", False, str(error).partition(": ")[0], str(error).partition(": ")[2])
    how = "pulled" if settings.image else f"built from {settings.build_base}"
    return Check("image", True, f"{name}{'' if there else f', not here yet: it is {how} at the first trial'}")


def _gpu(settings: Settings) -> Check:
    wanted = settings.gpus is not None
    if shutil.which("nvidia-smi") is None:
        mend = "install NVIDIA's driver, or leave --gpus out" if wanted else ""
        return Check("GPU", not wanted, "no nvidia-smi: trials run on the processor", mend)
    listed = _said("nvidia-smi", "--query-gpu=index,name,memory.total", "--format=csv,noheader").splitlines()
    if not listed:
        return Check("GPU", not wanted, "nvidia-smi lists none", "see whether the driver is loaded (nvidia-smi)")
    found = "; ".join(listed)
    if shutil.which("docker") and not shutil.which("nvidia-ctk") and not shutil.which("nvidia-container-cli"):
        mend = "install NVIDIA's container toolkit, or use --sandbox bubblewrap"
        return Check("GPU", not wanted, f"{found}; Docker cannot use it", mend)
    return Check("GPU", True, f"{found}{'' if wanted else '; --gpus all gives it to trials'}")


def _torch() -> Check:
    if importlib.util.find_spec("torch") is None:
        mend = "pip install 'autoreproduce[torch]'; programs in Docker have their own"
        return Check("torch", False, "not in this Python, which programs in bubblewrap use", mend)
    from importlib.metadata import version

    return Check("torch", True, version("torch"))


def _arxiv(settings: Settings) -> Check:
    return Check("arXiv", True, f"{settings.arxiv_api} and {settings.arxiv_url} (not asked)")


def _github(settings: Settings) -> Check:
    if settings.github_token:
        return Check("GitHub", True, f"{settings.github_api}, with a token (not asked)")
    mend = "60 calls an hour without one; set AUTOREPRODUCE_GITHUB_TOKEN for lineage of more than a few papers"
    return Check("GitHub", not settings.lineage, f"{settings.github_api}, without a token", mend)


def _mineru(settings: Settings) -> Check:
    if settings.mineru_url:
        return Check("MinerU", True, f"the server at {settings.mineru_url} (not asked)")
    if shutil.which("mineru-kit") or importlib.util.find_spec("mineru"):
        return Check("MinerU", True, f"installed, tier {settings.mineru_tier}")
    mend = "pip install 'autoreproduce[mineru]'" if settings.mineru else ""
    return Check("MinerU", not settings.mineru, "not installed: papers are read without it", mend)


def _program(title: str, program: str, argument: str, mend: str) -> Check:
    if shutil.which(program) is None:
        return Check(title, False, f"{program} is not there", mend)
    said = _said(program, argument)
    return Check(title, bool(said), said.splitlines()[0] if said else f"{program} does not run", "" if said else mend)


def _disk(what: str, folder: Path) -> Check:
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free / 2**30
    found = f"{free:.0f} GB free for {folder}"
    if not os.access(there, os.W_OK):
        return Check(f"disk for {what}", False, f"{there} is not open for writing", "name another folder")
    if free < FREE_GB:
        return Check(
            f"disk for {what}", False, found, f"make room: a trial wants {FREE_GB:g} GB, an image {ENOUGH_GB:g}"
        )
    return Check(f"disk for {what}", True, found)


def _said(*argv: str) -> str:
    try:
        done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
