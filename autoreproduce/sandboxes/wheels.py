"""Installing packages: wheels are fetched outside by the harness's own pip, and installed inside.

Each wheel is fetched once (`WheelCache`). Nothing of what is fetched runs outside: only wheels are
taken, by name, and neither source distributions nor addresses, whose building would run their code.
What the sandbox reports of its Python is checked before pip reads it. Inside there is no network.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Protocol
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from autoreproduce.config import Limits, digest, sha256_of
from autoreproduce.contracts import Execution, Packages
from autoreproduce.errors import SandboxError
from autoreproduce.files.bounded import LARGEST_JSON, parse_json
from autoreproduce.files.owner import scratch
from autoreproduce.files.tree import Tree
from autoreproduce.sandboxes import pip_for_sandbox, pythons
from autoreproduce.sandboxes.watch import STDERR, Disk, Output, Pipes, execution, watch

LARGEST_ANSWER = 4 * 2**20  # bytes of the sandbox's answer that are read
# The variables that locate the user's pip.conf.
SETTINGS = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "PIP_CONFIG_FILE")
PARTS = ("wheels", "site", "empty", "temporary")  # folders that fetching needs
PIP_GB = 0.5  # of address space that pip itself needs, with room; it takes 0.15
NO_WHEEL = (
    "[Only wheels are installed, since building a source distribution runs its code: name a "
    "version that has a wheel for Python {python}, or have the user put one (pip wheel NAME) into "
    "a folder of build_find_links, or into the image (--image).]\n"
)

# Run inside by the overlay's Python; the last line that it prints is the answer.
ASK = """\
import importlib.metadata, json, sys
from pip._vendor.packaging import markers, tags
found = {}
for each in importlib.metadata.distributions():
    name, extras = each.metadata["Name"], each.metadata.get_all("Provides-Extra") or []
    package = {"name": name, "version": each.version, "requires": each.requires or []}
    if name and each.version:  # else it's what a package that was removed left behind
        found.setdefault(name, package | {"extras": extras})
facts = {"markers": markers.default_environment(), "platforms": [*tags.platform_tags()]}
facts |= {"installed": [*found.values()], "implementation": tags.interpreter_name()}
print(json.dumps(facts))
"""

NO_REPORT = "what the index offers cannot be installed: name other packages, or another index"
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$")]
Version = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.!+_-]{0,79}$")]
Line = Annotated[str, Field(pattern=r"^[^\r\n]{0,999}$")]


class Installed(BaseModel):
    """A package that a sandbox has."""

    name: Name
    version: Version
    requires: list[Line]
    extras: list[Name]

    @property
    def metadata(self) -> str:
        """What pip reads of it."""
        lines = ["Metadata-Version: 2.1", f"Name: {self.name}", f"Version: {self.version}"]
        lines += [f"Requires-Dist: {line}" for line in self.requires if "@" not in line]
        lines += [f"Provides-Extra: {name}" for name in self.extras]
        return "\n".join([*lines, ""])


class Facts(BaseModel):
    """What a sandbox reports of its Python: hostile until checked."""

    markers: dict[Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")], Line] = Field(max_length=30)
    platforms: list[Annotated[str, Field(pattern=r"^[a-z0-9_]{1,60}$")]] = Field(
        min_length=1, max_length=300
    )
    implementation: Annotated[str, Field(pattern=r"^[a-z]{2,20}$")]
    installed: list[Installed] = Field(max_length=5_000)

    @property
    def python(self) -> str:
        """Its version, such as 3.11.7."""
        full = self.markers.get("python_full_version", "")
        version = TypeAdapter(Annotated[str, Field(pattern=r"^[23]\.\d{1,2}\.\d{1,2}")])
        return version.validate_python(full).rstrip("+")

    @property
    def target(self) -> list[str]:
        """pip's options for this Python."""
        platforms = [word for name in self.platforms for word in ("--platform", name)]
        implementation = ("--implementation", self.implementation)
        return ["--python-version", self.python, *implementation, *platforms]


class RunInside(Protocol):
    """Runs a bash line in a sandbox's overlay; `wheels` is a host folder that it sees."""

    def __call__(
        self,
        command: str,
        timeout: float,
        *,
        on_output: Callable[[str], None] | None = None,
        wheels: Path,
        keep: int | None = None,
    ) -> Execution:
        """`keep` bytes of each stream are stored; as many as the limits allow if None."""
        ...


def install(
    run: RunInside,
    packages: Packages,
    folder: Path,
    limits: Limits,
    index: Mapping[str, str],
    timeout: float,
    on_output: Callable[[str], None] | None,
    cache: Path,
    python: str = "",
    overlay: str = "",
) -> Execution:
    """Install packages with all that they need.

    Wheels are stored in `folder` meanwhile and kept in `cache`; `index` is pip's variables for the
    user's index.
    `python`: the file of another Python than the sandbox's own, whose `overlay` is filled anew.
    """
    end, command = time.monotonic() + timeout, packages.command
    parts = scratch(folder)
    try:
        for name in PARTS:
            (parts / name).mkdir()
        wheels = parts / "wheels"
        ask = shlex.join(["python", "-I", "-c", pythons.ASK if python else ASK, python])
        asked = run(ask, timeout, wheels=wheels, keep=LARGEST_ANSWER)
        if not asked.ok:
            return replace(asked, command=command, stdout="", stderr=asked.stderr[-4_000:])
        facts = _facts(asked.stdout)
        fetching = Fetching(facts, parts, limits, index, on_output, WheelCache(cache))
        fetched = fetching.fetch(packages, end) if packages.requirements else asked
        if not fetched.ok:
            return replace(fetched, command=command)
        named = sorted(file.name for file in wheels.iterdir())
        if not named and not python:
            there = "all of them are there already\n" if packages.requirements else ""
            return replace(fetched, command=command, stdout=there)
        # what is missing is known by now
        pip = ["python", "-c", pip_for_sandbox.RUN_PIP, "install", "--no-deps"]
        pip += [*packages.options, "--", *named]
        inside = f'cd "$PIP_FIND_LINKS" && {shlex.join(pip)}'
        if python:
            inside = pythons.fill_line(packages.python, python, overlay, facts.target)
        done = run(inside, max(end - time.monotonic(), 1), on_output=on_output, wheels=wheels)
        return replace(done, command=command, seconds=round(timeout - (end - time.monotonic()), 3))
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def _facts(output: str) -> Facts:
    try:
        facts = Facts.model_validate_json(output.strip().rpartition("\n")[2])
        assert facts.python
    except ValidationError as error:
        what = error.errors()[0]
        raise SandboxError(
            f"the sandbox's Python cannot be identified ({what['msg']})", fix="use another image"
        ) from None
    return facts


class Fetching:
    """The harness's pip for the Python of a sandbox; `folder` holds those of `PARTS`."""

    def __init__(
        self,
        facts: Facts,
        folder: Path,
        limits: Limits,
        index: Mapping[str, str],
        on_output: Callable[[str], None] | None,
        cache: WheelCache,
    ) -> None:
        self.facts, self.folder, self.limits, self.on_output = facts, folder, limits, on_output
        self.index, self.cache = index, cache
        self._environment = {
            name: os.environ[name] for name in SETTINGS if name in os.environ
        } | dict(index)
        # pip unpacks there: what it takes counts as the sandbox's files do
        self._environment["TMPDIR"] = str(folder / "temporary")
        (folder / "facts.json").write_text(facts.model_dump_json(include={"markers"}))
        for each in facts.installed:
            info = folder / "site" / f"{each.name.replace('-', '_')}-{each.version}.dist-info"
            info.mkdir(exist_ok=True)
            (info / "METADATA").write_text(each.metadata)
            (info / "INSTALLER").write_text("pip\n")

    def fetch(self, packages: Packages, end: float) -> Execution:
        """Put the wheels that the sandbox lacks into wheels/; `end` by the monotonic clock."""
        key, wheels = self._key(packages), self.folder / "wheels"
        known = None if packages.options else self.cache.wheels_of(key)  # --upgrade asks anew
        if known is not None and not self.cache.put_into(wheels, known):
            return Execution(packages.command, 0, "", "", 0.0)
        report = self.folder / "report.json"
        before = ["--uploaded-prior-to", packages.before] if packages.before else []
        done = self._pip(["install", *before, "--dry-run", "--report", str(report),
                          *packages.arguments], end)  # fmt: skip
        if not done.ok:
            return done
        try:
            needed = _report(report)
        except (SandboxError, ValueError) as error:
            return replace(done, exit_code=1, stderr=f"{done.stderr}[{NO_REPORT}: {error}]\n")
        kept = {wheel for each in needed if (wheel := each.kept)}
        missing = set(self.cache.put_into(wheels, kept))
        pins = [each.pin for each in needed if each.kept is None or each.kept in missing]
        if pins:
            dest = ["--dest", str(wheels), "--", *pins]
            done = self._pip(["download", "--no-deps", *before, *dest], end)
        if done.ok:
            self.cache.keep(key, wheels)
        return done

    def _key(self, packages: Packages) -> str:
        """What decides which wheels a list needs."""
        facts = self.facts.model_dump()
        for name in ("platform_release", "platform_version"):  # a kernel's
            facts["markers"].pop(name, None)
        return digest([packages.arguments, packages.before, facts, dict(self.index)])

    def _pip(self, arguments: list[str], end: float) -> Execution:
        if find_spec("pip") is None:
            raise SandboxError(
                "this Python has no pip, which fetches packages", fix="run python -m ensurepip"
            )
        memory = int(max(self.limits.memory_gb, PIP_GB) * 2**30)
        own = [sys.executable, "-I", pip_for_sandbox.__file__, str(memory)]
        own.append(str(self.folder / "facts.json"))
        first, *rest = arguments
        always = ["--only-binary", ":all:", "--no-input", "--quiet", "--progress-bar", "off"]
        always += [*self.facts.target, "--disable-pip-version-check"]
        child = subprocess.Popen(
            [*own, str(self.folder / "site"), first, *always, *rest],
            env=self._environment,
            cwd=self.folder / "empty",
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return self._watched_to_end(child, f"pip {first}", end)

    def _watched_to_end(
        self, child: subprocess.Popen[bytes], command: str, end: float
    ) -> Execution:
        output = Output(self.limits.output_kb * 1024, self.limits.output_mb * 2**20, self.on_output)
        disk, pipes = Disk(self.folder, self.limits), Pipes(child)
        timeout = max(end - time.monotonic(), 1)

        def kill() -> None:
            os.killpg(child.pid, signal.SIGKILL)

        try:
            stopped, seconds = watch(pipes, output, timeout, [disk], kill)
        finally:
            if child.poll() is None:
                kill()
            code = child.wait()
            pipes.close()
        if code and not stopped and "\nMemoryError" in output.text(STDERR):
            stopped = "memory"
        done = execution(command, max(code, 0), output, seconds, stopped, timeout, self.limits)
        lacks = "No matching distribution found" in done.stderr
        more = NO_WHEEL.format(python=self.facts.python) if lacks else ""
        return replace(done, stderr=done.stderr + more)


class _Metadata(BaseModel):
    name: Name
    version: Version


class _Archive(BaseModel):
    hashes: dict[str, str] = {}


class _Download(BaseModel):
    url: str = ""
    archive_info: _Archive = _Archive()


class _Wheel(BaseModel):
    metadata: _Metadata
    download_info: _Download = _Download()

    @property
    def pin(self) -> str:
        """NAME==VERSION."""
        return f"{self.metadata.name}=={self.metadata.version}"

    @property
    def kept(self) -> KeptWheel | None:
        """What it is in the cache; None where the index gives no checksum."""
        name = unquote(urlsplit(self.download_info.url).path.rpartition("/")[2])
        try:
            return KeptWheel(name=name, sha256=self.download_info.archive_info.hashes["sha256"])
        except (KeyError, ValidationError):
            return None


class _Report(BaseModel):
    install: list[_Wheel]


def _report(report: Path) -> list[_Wheel]:
    """What pip found to be missing.

    Raises ValueError or SandboxError for a report that is too large, or names a package as none is.
    """
    found = parse_json(Tree(report.parent).read(report.name, LARGEST_JSON))
    return _Report.model_validate(found).install


# Wheels that were fetched once, by their content, and which of them a list of packages needs.
#
# A list is resolved again after `DAYS`: until then the same list for the same Python and index
# has the same wheels, and no index is asked.

DAYS = 30
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+!-]{0,250}\.whl$")]


class KeptWheel(BaseModel, frozen=True):
    """A wheel's name and its content's SHA-256."""

    name: FileName
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


_LISTS = TypeAdapter(list[KeptWheel])


class WheelCache:
    """A folder with `SHA256/NAME.whl` of each wheel and `lists/KEY.json` of each list."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lists = folder / "lists"

    def wheels_of(self, key: str) -> list[KeptWheel] | None:
        """What a list needs; None if that isn't known, or no longer."""
        file = self._lists / f"{key}.json"
        try:
            if time.time() - file.stat().st_mtime > DAYS * 86_400:
                return None
            return _LISTS.validate_json(file.read_bytes())
        except (OSError, ValidationError):
            return None

    def put_into(self, wheels: Path, wanted: Iterable[KeptWheel]) -> list[KeptWheel]:
        """Put wheels into a folder; those that aren't kept, or whose content has changed."""
        missing = []
        for wheel in wanted:
            kept, target = self.folder / wheel.sha256 / wheel.name, wheels / wheel.name
            if kept.is_file() and not kept.is_symlink() and sha256_of(kept) == wheel.sha256:
                _link(kept, target)
            else:
                missing.append(wheel)
        return missing

    def keep(self, key: str, wheels: Path) -> None:
        """Keep the wheels of a folder as those of a list."""
        found = [
            KeptWheel(name=file.name, sha256=sha256_of(file))
            for file in sorted(wheels.glob("*.whl"))
        ]
        for wheel in found:
            kept = self.folder / wheel.sha256 / wheel.name
            if not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                made = kept.with_name(f".{os.getpid()}")
                _link(wheels / wheel.name, made)
                made.replace(kept)
        self._lists.mkdir(parents=True, exist_ok=True)
        made = self._lists / f".{key}.{os.getpid()}"
        made.write_bytes(_LISTS.dump_json(found))
        made.replace(self._lists / f"{key}.json")


def _link(source: Path, target: Path) -> None:
    """Another name of a file, or a copy where the file systems differ."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
