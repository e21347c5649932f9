"""A program that is to be judged: its files as text, wherever they came from.

A program is what a person would hand in: one file, a folder, an archive, a git URL, or the workspace of a
trial. Nothing of it is run here; links are not followed, and what is not a program's text (data, pictures,
weights) is named and left.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.model_errors import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

TEXT = {".py", ".ipynb", ".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".sh"}
LARGEST = 1_000_000  # bytes of one file; what is larger is data
PICTURES = 50_000_000  # bytes of a notebook, most of them the pictures that it drew
MOST = 2_000  # files
SKIPPED = {".git", "__pycache__", ".venv", "venv", "node_modules", ".ipynb_checkpoints", "site-packages"}
NO_CODE = "no code"
WRITTEN = {"metrics.json", "package-lock.json"}  # by programs, not by people


@dataclass(frozen=True)
class Program:
    """`files`: path -> text. `unread`: what was there and is no text of a program, with the reason."""

    files: dict[str, str]
    unread: dict[str, str] = field(default_factory=dict)
    origin: str = ""

    @property
    def empty(self) -> bool:
        """True where there is no code at all; configuration alone is none."""
        return not any(text.strip() for name, text in self.files.items() if name.lower().endswith((".py", ".sh")))


def read_program(
    source: str,
    scratch: Path | None = None,
    without: Sequence[Path] = (),
    kinds: Collection[str] = TEXT,
    skipped: Collection[str] = SKIPPED,
) -> Program:
    """The program at `source`: a file, a folder, a .zip or .tar archive, or a git URL.

    Folders in `without` are no part of it: what is written of a program may lie inside its folder. `kinds`: the
    endings of the files that are read; `skipped`: the names of folders that are not looked into.

    Raises UsageError where there is nothing, or it cannot be unpacked or cloned.
    """
    if _is_url(source):
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            cloned = _folder(_clone(source, Path(folder)), (), kinds, skipped)
            return Program(cloned.files, cloned.unread, shown(source))
    path = Path(source)
    if not path.exists():
        raise UsageError(f"{source} does not exist: name a file, a folder, an archive or a git URL")
    if path.is_dir():
        return Program(**{**vars(_folder(path, without, kinds, skipped)), "origin": source})
    if zipfile.is_zipfile(path) or tarfile.is_tarfile(path):
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            return Program(**{**vars(_folder(_unpack(path, Path(folder)), (), kinds, skipped)), "origin": source})
    return _one_file(path, kinds)


def _one_file(path: Path, kinds: Collection[str]) -> Program:
    text, why = _text(path, kinds)
    if text is None:
        raise UsageError(f"{path} cannot be judged ({why}): name a program's file, folder or archive")
    return Program({_python_name(path.name.encode("utf-8", "replace").decode()): text}, origin=str(path))


def _folder(
    root: Path, without: Sequence[Path] = (), kinds: Collection[str] = TEXT, skipped: Collection[str] = SKIPPED
) -> Program:
    own = {path.resolve() for path in without if root.resolve() in path.resolve().parents}
    files: dict[str, str] = {}
    unread: dict[str, str] = {}
    found = [path for path in _below(root, skipped) if not own & set((root.resolve() / path.relative_to(root)).parents)]
    first = set(sorted((path for path in found if is_text(path.name, kinds)), key=_may_be_data)[:MOST])
    for path in found:
        name = path.relative_to(root).as_posix().encode("utf-8", "replace").decode()
        text, why = _text(path, kinds)
        if text is None:
            unread[name] = why
        elif path in first:
            beside = path.suffix == ".ipynb" and path.with_suffix(".py").exists()  # a module of the same name
            files[f"{name}.py" if beside else _python_name(name)] = text
        else:
            unread[name] = f"beyond {MOST} files"
    return Program(files, unread)


def _below(root: Path, skipped: Collection[str]) -> list[Path]:
    """The files and links below a folder, by path, without those of a Python environment, whatever its name is."""
    found = [path for path in sorted(root.rglob("*")) if not set(skipped) & set(path.relative_to(root).parts)]
    environments = {path.parent for path in found if path.name in ("pyvenv.cfg", "conda-meta")} - {root}
    own = (path for path in found if not environments & set(path.parents))
    return [path for path in own if (path.is_file() or path.is_symlink()) and path.name not in WRITTEN]


def _may_be_data(path: Path) -> bool:
    """True where thousands of such files are no program: they are read after all code."""
    return path.suffix.lower() in {".json", ".yaml", ".yml", ".txt", ".md", ".rst"}


def _text(path: Path, kinds: Collection[str]) -> tuple[str | None, str]:
    """The text of one file, or None and why it is left."""
    if path.is_symlink():
        return None, "a link"
    if not is_text(path.name, kinds):
        return None, NO_CODE
    notebook = path.suffix.lower() == ".ipynb"
    try:
        if path.stat().st_size > (PICTURES if notebook else LARGEST):
            return None, f"larger than {LARGEST:,} bytes"
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return None, f"it cannot be read: {error.strerror}"
    text_of, why = _cells(text) if notebook else (text, "")
    return (text_of, why) if len(text_of or "") <= LARGEST else (None, f"larger than {LARGEST:,} bytes")


def _cells(text: str) -> tuple[str | None, str]:
    """The code cells of a notebook, one after another; lines for the shell become comments."""
    try:
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        # a half of a surrogate pair, which JSON may hold, becomes «?»
        sources = ["".join(cell["source"]).encode("utf-8", "replace").decode() for cell in cells]
        lines = [line for source in sources for line in [*source.split("\n"), ""]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, "no notebook that can be read"
    return "\n".join(f"# {line}" if line.lstrip().startswith(("%", "!")) else line for line in lines), ""


def _python_name(name: str) -> str:
    return f"{name.removesuffix('.ipynb')}.py" if name.endswith(".ipynb") else name


def _is_url(source: str) -> bool:
    return source.startswith(("https://", "http://", "ssh://", "git://", "file://", "git@"))


def _clone(url: str, folder: Path) -> Path:
    target, address = folder / "clone", shown(url)
    command = ["git", "-c", "core.hooksPath=/dev/null", "clone", "-q", "--depth", "1", "--", url, str(target)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=False,
            env={"GIT_TERMINAL_PROMPT": "0", "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)},
        )  # fmt: skip
    except (subprocess.TimeoutExpired, FileNotFoundError) as error:
        why = "no git" if isinstance(error, FileNotFoundError) else "it took over 300 s"
        raise UsageError(f"{address} cannot be cloned ({why}): clone it yourself and name the folder") from None
    if done.returncode:
        why = " ".join(done.stderr.split())[-300:]
        raise UsageError(f"{address} cannot be cloned ({why}): clone it yourself and name the folder")
    return target


def _unpack(path: Path, folder: Path) -> Path:
    """Unpack an archive's plain files. Raises UsageError for one that cannot be read or that would leave the folder."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                _bounded(sum(item.file_size for item in archive.infolist()), path)
                archive.extractall(folder)
        else:
            with tarfile.open(path) as tar:
                _bounded(sum(item.size for item in tar.getmembers()), path)
                for member in (each for each in tar if each.isfile()):  # its own filter came with Python 3.11.4
                    _put(folder, member.name, tar.extractfile(member), path)
    except AutoReproduceError:
        raise
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError) as error:
        raise UsageError(f"{path} cannot be unpacked ({error}): unpack it yourself and name the folder") from None
    return folder


def _put(folder: Path, name: str, content: IO[bytes] | None, archive: Path) -> None:
    """Write one file of an archive below `folder`, with no rights but to be read and written."""
    target = (folder / name).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise UsageError(
            f"{archive} holds {name}, which would leave its folder: unpack it yourself and name the folder"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content.read() if content else b"")


def _bounded(size: int, path: Path) -> None:
    if size > 2**30:
        raise UsageError(f"{path} unpacks to {size / 2**30:.1f} GiB: name the folder of the program alone")


def is_text(name: str, kinds: Collection[str] = TEXT) -> bool:
    """True for a program's own text: code and configuration, which may hold every number that is judged."""
    return PurePosixPath(name).suffix.lower() in kinds and PurePosixPath(name).name not in WRITTEN


def is_safe(name: str) -> bool:
    """True for a relative path that stays inside."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts
