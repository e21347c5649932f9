"""Masking: the body of a function becomes a stub; every other byte of the file stays.

A stub's content is a variant: the description as docstring, nothing, or the description with the
paper's passage to follow.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from autoreproduce.errors import SandboxError, SourceError, UsageError
from autoreproduce.files.shared import other_names, read_bytes
from autoreproduce.files.tree import LARGEST, Tree
from autoreproduce.plugins.autoexperiment.functions import Function
from autoreproduce.plugins.autoexperiment.python_source import PythonSource

Variant = Literal["docstring", "signature", "oracle"]
RAISE = "raise NotImplementedError"
FOLLOW = "Follow the paper where it says:"


@dataclass(frozen=True)
class Wanted:
    """One function to mask in a repository; `file` is relative to it.

    `name` and `line` are arguments of `PythonSource.find`.
    """

    file: str
    name: str
    line: int | None = None
    description: str = ""
    passage: str = ""


def stub(description: str = "", variant: Variant = "docstring", passage: str = "") -> str:
    """The lines of a stub without indentation: a docstring if it is not empty, and the `raise`."""
    text = "" if variant == "signature" else _normalised(description)
    if variant == "oracle" and (passage := _normalised(passage)):
        text = f"{text}\n\n{FOLLOW}\n\n{passage}".strip()
    return f"{_docstring_literal(text)}\n{RAISE}" if text else RAISE


def mask(source: PythonSource, stubs: Sequence[tuple[Function, str]]) -> bytes:
    """`source` with the bodies of these functions replaced by stubs (lines without indentation).

    Raises SourceError if one of them is inside another.
    """
    places = [(source.region(function), text) for function, text in stubs]
    return source.spliced(
        [(at.start, at.end, _laid_out(source, text, at.indent, at.inline)) for at, text in places]
    )


def mask_files(folder: Path, wanted: Sequence[Wanted], variant: Variant = "docstring") -> None:
    """Mask functions in the files below `folder`, in place.

    Nothing is written before all masks are made. Raises SourceError for a missing file or function.
    """
    done = {}
    for file in dict.fromkeys(each.file for each in wanted):
        source = read_source(folder, file)
        chosen = [each for each in wanted if each.file == file]
        stubs = {
            source.find(each.name, each.line): stub(each.description, variant, each.passage)
            for each in chosen
        }
        if len(stubs) < len(chosen):
            raise SourceError(
                f"{file}: two entries mean the same function",
                fix=f"name {', '.join(e.name for e in chosen)} apart",
            )
        done[file] = mask(source, list(stubs.items()))
    for file, masked in done.items():
        Tree(folder).write(file, masked)


def read_source(folder: Path, file: str, most: int = LARGEST) -> PythonSource:
    """A Python file below `folder`, which a program may own.

    Raises SourceError if it is missing, leads out, is not a plain file or has over `most` bytes.
    """
    pure = PurePosixPath(file)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts:
        raise SourceError(
            f"{file!r} isn't a file below {folder.name}",
            fix="give its path relative to the repository",
        )
    try:
        return PythonSource(Tree(folder).read(file, most), file)
    except FileNotFoundError:
        raise SourceError(
            f"{file} is missing in {folder.name}", fix="restore it, or name another"
        ) from None
    except SandboxError as error:
        raise SourceError(f"{file} cannot be read ({error})", fix="make it a plain file") from None


def read_shared_source(folder: Path, file: str) -> PythonSource:
    """A Python file of a set or a repository, in which links that stay inside may lead to it.

    Raises SourceError if it is missing, leads out, or cannot be read.
    """
    try:
        return PythonSource(read_bytes(folder, PurePosixPath(file)), file)
    except FileNotFoundError:
        raise SourceError(
            f"{file} is missing in {folder.name}", fix="restore it, or name another"
        ) from None
    except UsageError as error:
        raise SourceError(str(error)) from None


def refuse_other_names(folder: Path, file: str) -> None:
    """Raise SourceError if links lead to a file too: under their names it would stay unmasked."""
    if names := other_names(folder, file):
        raise SourceError(
            f"{file} cannot be masked, for the link {names[0]} leads to it too",
            fix="remove the link, or name another function",
        )


def _laid_out(source: PythonSource, text: str, indent: bytes, inline: bool) -> bytes:
    """A stub's lines with the body's indentation, in the file's newlines and characters."""
    margin = indent.decode()
    lines = "\n".join(margin + line if line.strip() else "" for line in text.split("\n"))
    return source.fitting(f"\n{lines}" if inline else lines).encode()


def _normalised(text: str) -> str:
    return textwrap.dedent(re.sub(r"\r\n?", "\n", text).replace("\0", "").expandtabs(4)).strip()


def _docstring_literal(text: str) -> str:
    """A docstring literal whose value is `text`; raw if it has backslashes (formulas)."""
    block = text if "\n" not in text else f"{text}\n"
    if "\\" in text and '"""' not in text and block[-1] not in '\\"':
        return f'r"""{block}"""'
    safe = block.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if safe.endswith('"'):
        safe = f'{safe[:-1]}\\"'
    return f'"""{safe}"""'
