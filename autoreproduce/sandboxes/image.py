"""The Docker image in which programs run: built once from `sandbox/`, and named by the digest of its recipe.

It is built through the Engine's API by its classic builder, so that neither a docker client nor a plug-in of it is
needed. What only concerns this network (authorities, folders of wheels, index variables) goes into the first stage
alone and is not in the finished image.
"""

from __future__ import annotations

import io
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from filelock import FileLock

from autoreproduce.config import Settings, digest
from autoreproduce.errors import SandboxError
from autoreproduce.sandboxes import inside

if TYPE_CHECKING:
    from docker import DockerClient

HERE = Path(__file__).resolve().parents[1]
NAME = "autoreproduce-sandbox"
TOLD = ("Step ", "Collecting ", "Downloading ", "Installing ", "Successfully ")


def recipe_folder() -> Path:
    """The folder `sandbox/`, in the package as installed or beside it in a checkout."""
    for folder in (HERE / "_content" / "sandbox", HERE.parent / "sandbox"):
        if (folder / "Dockerfile").exists():
            return folder
    raise SandboxError(
        "the folder sandbox/ with the image's recipe is missing: install the package anew, or give --image"
    )


def image_name(settings: Settings) -> str:
    """The image that a sandbox with these settings runs."""
    if settings.image:
        return settings.image
    device = "cuda" if settings.gpus else "cpu"
    return f"{NAME}:{device}-{digest(_ingredients(settings))[:12]}"


def ensure_image(client: DockerClient, settings: Settings, note: Callable[[str], None]) -> str:
    """The name of an image that is there; built or pulled where it was not, with progress lines to `note`."""
    from docker.errors import APIError

    name = image_name(settings)
    if has_image(client, name):
        return name
    if not settings.image:
        settings.cache_dir.mkdir(parents=True, exist_ok=True)
        with FileLock(settings.cache_dir / "image.lock"):  # trials that start together build it once
            if not has_image(client, name):
                build(client, settings, name, note)
        return name
    note(f"Pulling the image {name}")
    try:
        client.images.pull(name)
    except APIError as error:
        raise SandboxError(
            f"the image {name} is not here and cannot be pulled ({error.explanation}): build it"
        ) from error
    return name


def has_image(client: DockerClient, name: str) -> bool:
    """True where the Engine has the image."""
    from docker.errors import ImageNotFound

    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    return True


def build(client: DockerClient, settings: Settings, name: str, note: Callable[[str], None]) -> None:
    """Build the image `name`. Raises SandboxError with the last lines of a build that failed."""
    from docker.errors import APIError, DockerException

    note(f"Building the sandbox image {name} from {settings.build_base}: once, some minutes")
    with tempfile.TemporaryFile() as context:
        _write_context(context, settings)
        context.seek(0)
        try:
            lines = client.api.build(
                fileobj=context, custom_context=True, tag=name, buildargs=_arguments(settings), decode=True, rm=True,
                forcerm=True, timeout=3600,
            )  # fmt: skip
            try:
                _follow(lines, note)
            finally:
                client.images.prune(filters={"dangling": True, "label": "autoreproduce=build"})  # the first stage
        except (APIError, DockerException, OSError) as error:
            raise SandboxError(f"the sandbox image cannot be built ({error}): see sandbox/README.md") from error


def _follow(lines: Iterator[dict[str, Any]], note: Callable[[str], None]) -> None:
    last: list[str] = []
    for line in lines:
        if "error" in line:
            said = [" / ".join(last)[-600:], line["error"].strip()[:300]]  # of a base that is not there the error alone
            raise SandboxError(
                f"the sandbox image cannot be built ({' / '.join(filter(None, said))}): "
                "see sandbox/README.md for a base image, authorities and wheels of your own"
            )
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(line.get("stream") or line.get("status") or "")).strip()
        if text:
            last = [*last[-3:], text.splitlines()[-1]]
        if text.startswith(TOLD):
            note(f"image: {text[:160]}")


def _ingredients(settings: Settings) -> dict[str, Any]:
    """What decides how the image turns out."""
    files = {path.name: path.read_text() for path in _recipe(settings)}
    constraints = settings.build_constraints.read_text() if settings.build_constraints else ""
    return {"files": files, "base": settings.build_base, "constraints": constraints}


def _recipe(settings: Settings) -> list[Path]:
    names = ("Dockerfile", "requirements.txt", f"torch-{'cuda' if settings.gpus else 'cpu'}.txt")
    return [recipe_folder() / name for name in names]


def _arguments(settings: Settings) -> dict[str, str]:
    found = inside.index(settings, inside.caller()).variables
    index = {name: value for name, value in found.items() if name in inside.PASSED_ON}
    links = " ".join(link for link in _links(settings) if not Path(link).is_dir())
    return index | {
        "BASE": settings.build_base,
        "DEVICE": "cuda" if settings.gpus else "cpu",
        "FIND_LINKS": links,
    }


def _links(settings: Settings) -> list[str]:
    return (settings.build_find_links or inside.caller().get("PIP_FIND_LINKS", "")).split()


def _wheels(settings: Settings) -> list[Path]:
    folders = [Path(link) for link in _links(settings) if Path(link).is_dir()]
    return [wheel for folder in folders for wheel in sorted(folder.glob("*.whl"))]


def _write_context(file: IO[bytes], settings: Settings) -> None:
    """The build's files as a tar: the recipe, and a folder `extra` with what this network needs, possibly nothing."""
    with tarfile.open(fileobj=file, mode="w") as tar:
        for path in _recipe(settings):
            tar.add(path, path.name)
        authorities = inside.ca_bundle(settings, inside.caller())
        _add(tar, "extra/ca.pem", authorities.read_bytes() if authorities else b"")
        constraints = settings.build_constraints.read_bytes() if settings.build_constraints else b""
        _add(tar, "extra/constraints.txt", constraints)
        for wheel in _wheels(settings):
            tar.add(wheel.resolve(), f"extra/wheels/{wheel.name}")


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))
