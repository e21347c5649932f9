"""Masking: the body of a function becomes a stub, every other byte of the file stays, and nothing is lost.

What a stub says is a variant: the description as docstring, nothing but the signature, or the description with the
paper's passage to follow. The benchmark's own text, made by line numbers, is in `upstream`.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from autoreproduce.autoexperiment.functions import Function
from autoreproduce.autoexperiment.source import Source
from autoreproduce.errors import SourceError

Variant = Literal["docstring", "signature", "oracle"]
VARIANTS: tuple[Variant, ...] = ("docstring", "signature", "oracle")
RAISE = "raise NotImplementedError"
FOLLOW = "Follow the paper where it says:"


@dataclass(frozen=True)
class Piece:
    """One masked body: where its stub stands in the masked file's text (UTF-8 bytes), and what stood there."""

    address: str
    start: int
    end: int
    original: str


@dataclass(frozen=True)
class Masked:
    """A file with stubs, and all that is needed to take them out again."""

    data: bytes
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Wanted:
    """One function to mask in a repository; `file` is relative to it, `name` and `line` as `Source.find` takes them."""

    file: str
    name: str
    line: int | None = None
    description: str = ""
    passage: str = ""


def stub(description: str = "", variant: Variant = "docstring", passage: str = "") -> str:
    """The lines of a stub without indentation: a docstring where there is something to say, and the `raise`."""
    said = "" if variant == "signature" else _plain(description)
    if variant == "oracle" and (passage := _plain(passage)):
        said = f"{said}\n\n{FOLLOW}\n\n{passage}".strip()
    return f"{_quoted(said)}\n{RAISE}" if said else RAISE


def mask(source: Source, stubs: Sequence[tuple[Function, str]]) -> Masked:
    """`source` with the bodies of these functions replaced by stubs (lines without indentation).

    Raises SourceError where one of them lies inside another.
    """
    pieces, moved, at = [], 0, 0
    splices = []
    for function, text in sorted(stubs, key=lambda each: source.region(each[0]).start):
        region = source.region(function)
        if region.start < at:
            raise SourceError(f"{source.name}: {function.address} lies in another masked function: mask the outer one")
        new = _laid_out(source, text, region.indent, region.inline)
        splices.append((region.start, region.end, new))
        start = region.start + moved
        original = source.utf8[region.start : region.end]
        pieces.append(Piece(function.address, start, start + len(new), original.decode()))
        moved += len(new) - len(original)
        at = region.end
    return Masked(source.spliced(splices), tuple(pieces))


def restore(masked: bytes, pieces: Iterable[Piece]) -> bytes:
    """The file as it was before `mask`. Raises SourceError where a piece does not lie in `masked`."""
    source = Source(masked, "the masked file")
    splices = [(piece.start, piece.end, piece.original.encode()) for piece in pieces]
    if any(not 0 <= start <= end <= len(source.utf8) for start, end, _ in splices):
        raise SourceError("a masked piece lies outside the file: it was changed since")
    return source.spliced(splices)


def mask_files(folder: Path, wanted: Sequence[Wanted], variant: Variant = "docstring") -> dict[str, Masked]:
    """Mask functions in the files below `folder`, in place; what was done, by file.

    Nothing is written before all masks are made. Raises SourceError for a file or function that is not there.
    """
    done = {}
    for file in dict.fromkeys(each.file for each in wanted):
        source = read_source(folder, file)
        chosen = [each for each in wanted if each.file == file]
        stubs = {source.find(each.name, each.line): stub(each.description, variant, each.passage) for each in chosen}
        if len(stubs) < len(chosen):
            raise SourceError(
                f"{file}: two entries mean the same function: name {', '.join(e.name for e in chosen)} apart"
            )
        done[file] = mask(source, list(stubs.items()))
    for file, masked in done.items():
        (folder / file).write_bytes(masked.data)
    return done


def read_source(folder: Path, file: str) -> Source:
    """A Python file below `folder`. Raises SourceError for one that is missing, leads out, or cannot be read."""
    pure = PurePosixPath(file)
    path = folder / pure
    try:
        if not file or pure.is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
            raise SourceError(f"{file!r} is no file below {folder.name}: give its path relative to the repository")
        if not path.is_file():
            raise SourceError(f"{file} is missing in {folder.name}: restore it, or name another")
        return Source(path.read_bytes(), file)
    except OSError as error:
        raise SourceError(f"{file} cannot be read ({os.strerror(error.errno or 0)}): make it a plain file") from None
    except ValueError:
        raise SourceError(f"{file!r:.80} cannot be the name of a file: give its path") from None


def _laid_out(source: Source, text: str, indent: bytes, inline: bool) -> bytes:
    """A stub's lines with the body's indentation, in the file's newlines and characters."""
    margin = indent.decode()
    lines = "\n".join(margin + line if line.strip() else "" for line in text.split("\n"))
    return source.fitting(f"\n{lines}" if inline else lines).encode()


def _plain(text: str) -> str:
    return textwrap.dedent(re.sub(r"\r\n?", "\n", text).replace("\0", "").expandtabs(4)).strip()


def _quoted(text: str) -> str:
    """A docstring literal whose value is `text`; raw where backslashes (formulas) read better so."""
    block = text if "\n" not in text else f"{text}\n"
    if "\\" in text and '"""' not in text and block[-1] not in '\\"':
        return f'r"""{block}"""'
    safe = block.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if safe.endswith('"'):
        safe = f'{safe[:-1]}\\"'
    return f'"""{safe}"""'
