"""The Docker image in which programs run: built once from `sandbox/`, named by its recipe's digest.

It is built through the Engine's API by its classic builder, so that neither a docker client nor a
plug-in of it is needed. What only concerns this network (authorities, folders of wheels, index
variables) goes into the first stage alone and is not in the finished image.
"""

from __future__ import annotations

import io
import re
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from filelock import FileLock

from autoreproduce.config import Settings, digest
from autoreproduce.errors import SandboxError, UsageError
from autoreproduce.sandboxes import inside

if TYPE_CHECKING:
    from docker import DockerClient

HERE = Path(__file__).resolve().parents[1]
NAME = "autoreproduce-sandbox"
DEBIAN = "Dockerfile.debian"
DAY = 86_400
REPORTED = ("Step ", "Collecting ", "Downloading ", "Installing ", "Successfully ")


def recipe_folder() -> Path:
    """The folder `sandbox/`, in the package as installed or beside it in a checkout."""
    for folder in (HERE / "_content" / "sandbox", HERE.parent / "sandbox"):
        if (folder / "Dockerfile").exists():
            return folder
    raise SandboxError(
        "the folder sandbox/ with the image's recipe is missing",
        fix="install the package again, or give --image",
    )


def image_name(settings: Settings) -> str:
    """The image that a sandbox with these settings runs."""
    if settings.sandbox.image:
        return settings.sandbox.image
    device = "cuda" if settings.sandbox.gpus else "cpu"
    own = f"{NAME}:{device}-{digest(_ingredients(settings))[:12]}"
    debian = _debian_packages(settings)
    recipe = (recipe_folder() / DEBIAN).read_text() if debian else ""
    return f"{own}-{digest([recipe, debian])[:12]}" if debian else own


def ensure_image(client: DockerClient, settings: Settings, note: Callable[[str], None]) -> str:
    """The name of an image that the Engine has; built or pulled if missing, noting progress."""
    name = image_name(settings)
    if has_image(client, name):
        return name
    with _failure_recorded(settings):
        if settings.sandbox.image:
            _pull(client, name, note)
        else:
            # Trials that start together build it once.
            plain = settings.having(build_debian_packages="")
            with FileLock(settings.cache_dir / "image.lock"):
                if not has_image(client, image_name(plain)):
                    _build(client, plain, note)
                if not has_image(client, name):
                    _build(client, settings, note)
    return name


def _pull(client: DockerClient, name: str, note: Callable[[str], None]) -> None:
    from docker.errors import APIError

    note(f"Pulling the image {name}")
    try:
        client.images.pull(name)
    except APIError as error:
        raise SandboxError(
            f"the image {name} is not here and cannot be pulled ({error.explanation})",
            fix="build it",
        ) from error


def failed_lately(settings: Settings) -> str:
    """Why getting this very image failed within the last day, in one line; "" if it did not."""
    try:
        file = _failure_file(settings)
        age = time.time() - file.stat().st_mtime
        return f"{file.read_text()} (tried {age / 3600:.0f} h ago)" if 0 <= age < DAY else ""
    except OSError:
        return ""


def forget_failure(settings: Settings) -> None:
    """Have `auto` try again to build or pull the image."""
    _failure_file(settings).unlink(missing_ok=True)


def _failure_file(settings: Settings) -> Path:
    return settings.cache_dir / f"image-{digest(image_name(settings))}.failed"


@contextmanager
def _failure_recorded(settings: Settings) -> Iterator[None]:
    """Record why an image could not be built or pulled, so that `auto` waits before it retries."""
    settings.cache_dir.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except SandboxError as error:
        _failure_file(settings).write_text(" ".join(str(error).split()))
        raise
    forget_failure(settings)


def has_image(client: DockerClient, name: str) -> bool:
    """True if the Engine has the image."""
    from docker.errors import ImageNotFound

    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    return True


def _build(client: DockerClient, settings: Settings, note: Callable[[str], None]) -> None:
    """Build our image, or from it the one with Debian packages. Raises SandboxError with the last
    lines of a build that failed.
    """
    from docker.errors import APIError, DockerException

    name, debian = image_name(settings), _debian_packages(settings)
    base = image_name(settings.having(build_debian_packages="")) if debian else ""
    arguments = {"BASE": base, "DEBIAN_PACKAGES": debian} if debian else _arguments(settings)
    much = f"with {debian}" if debian else "once, some minutes"
    note(f"Building the sandbox image {name} from {arguments['BASE']}: {much}")
    with tempfile.TemporaryFile() as context:
        if debian:
            with tarfile.open(fileobj=context, mode="w") as tar:
                tar.add(recipe_folder() / DEBIAN, "Dockerfile")
        else:
            _write_context(context, settings)
        context.seek(0)
        try:
            lines = client.api.build(
                fileobj=context,
                custom_context=True,
                tag=name,
                buildargs=arguments,
                decode=True,
                rm=True,
                forcerm=True,
                timeout=3600,
            )
            try:
                _report_progress(lines, note)
            finally:
                for _ in lines:  # what is left of the answer: its connection closes at its end
                    pass
                with suppress(DockerException, OSError):  # the Engine frees it, waited for or not
                    first_stage = {"dangling": True, "label": "autoreproduce=build"}
                    client.images.prune(filters=first_stage)
        except (APIError, DockerException, OSError) as error:
            raise SandboxError(
                f"the sandbox image cannot be built ({error})", fix="see sandbox/README.md"
            ) from error


def _report_progress(lines: Iterator[dict[str, Any]], note: Callable[[str], None]) -> None:
    last: list[str] = []
    for line in lines:
        if "error" in line:
            # The last lines are missing if the base image is.
            lines_and_error = [" / ".join(last)[-600:], line["error"].strip()[:300]]
            raise SandboxError(
                f"the sandbox image cannot be built ({' / '.join(filter(None, lines_and_error))})",
                fix="see sandbox/README.md for a base image, authorities and wheels of your own",
            )
        text = re.sub(
            r"\x1b\[[0-9;]*m", "", str(line.get("stream") or line.get("status") or "")
        ).strip()
        if text:
            last = [*last[-3:], text.splitlines()[-1]]
        if text.startswith(REPORTED):
            note(f"image: {text[:160]}")


def _ingredients(settings: Settings) -> dict[str, Any]:
    """All that determines the image."""
    files = {path.name: path.read_text() for path in _recipe(settings)}
    constraints = (
        settings.sandbox.build_constraints.read_text() if settings.sandbox.build_constraints else ""
    )
    return {"files": files, "base": settings.sandbox.build_base, "constraints": constraints}


def _debian_packages(settings: Settings) -> str:
    """Their names in order, with spaces between. Raises UsageError for what is no name."""
    names = settings.sandbox.build_debian_packages.replace(",", " ").split()
    if wrong := [name for name in names if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name)]:
        raise UsageError(
            f"{wrong[0]!r:.60} is no name of a Debian package",
            fix="name them as apt does, as 'r-base-core r-cran-mgcv g++'",
        )
    return " ".join(sorted(set(names)))


def _recipe(settings: Settings) -> list[Path]:
    names = (
        "Dockerfile",
        "requirements.txt",
        f"torch-{'cuda' if settings.sandbox.gpus else 'cpu'}.txt",
    )
    return [recipe_folder() / name for name in names]


def _arguments(settings: Settings) -> dict[str, str]:
    found = inside.index(settings, inside.caller())
    index = {name: value for name, value in found.items() if name in inside.PASSED_ON}
    links = " ".join(link for link in _links(settings) if not Path(link).is_dir())
    return index | {
        "BASE": settings.sandbox.build_base,
        "DEVICE": "cuda" if settings.sandbox.gpus else "cpu",
        "FIND_LINKS": links,
    }


def _links(settings: Settings) -> list[str]:
    return (settings.sandbox.build_find_links or inside.caller().get("PIP_FIND_LINKS", "")).split()


def _wheels(settings: Settings) -> list[Path]:
    folders = [Path(link) for link in _links(settings) if Path(link).is_dir()]
    return [wheel for folder in folders for wheel in sorted(folder.glob("*.whl"))]


def _write_context(file: IO[bytes], settings: Settings) -> None:
    """The build's files as a tar: the recipe, and `extra/` with what this network needs."""
    with tarfile.open(fileobj=file, mode="w") as tar:
        for path in _recipe(settings):
            tar.add(path, path.name)
        authorities = inside.ca_bundle(settings, inside.caller())
        _add(tar, "extra/ca.pem", authorities.read_bytes() if authorities else b"")
        constraints = (
            settings.sandbox.build_constraints.read_bytes()
            if settings.sandbox.build_constraints
            else b""
        )
        _add(tar, "extra/constraints.txt", constraints)
        for wheel in _wheels(settings):
            tar.add(wheel.resolve(), f"extra/wheels/{wheel.name}")


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    tar.addfile(entry, io.BytesIO(data))
