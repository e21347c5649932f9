"""From a submission into a clean copy: the bodies of the masked functions, helpers beside them, and nothing else.

What a solver may write is the body of a masked function. What it may add are helpers: definitions, imports and
constants under names that were not there, in the scopes around the function, as far as its body needs them. Its
signatures, its decorators, its other edits and its other files stay behind, and a note says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from filecmp import cmp
from pathlib import Path

from autoreproduce.autoexperiment.functions import Function
from autoreproduce.autoexperiment.helpers import inside_strings, needed_helpers, reindented
from autoreproduce.autoexperiment.masking import read_source
from autoreproduce.autoexperiment.source import Source
from autoreproduce.errors import SourceError

LARGEST = 4_000_000  # bytes of a submitted file
MOST_NOTES = 20


@dataclass(frozen=True)
class Transplanted:
    """A clean file with a submission's bodies; the helpers that came with them, and what did not."""

    data: bytes
    helpers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def transplant(clean: Source, submission: Source, addresses: Sequence[str]) -> Transplanted:
    """`clean` with the bodies that `submission` gives the functions at `addresses` (addresses in `clean`).

    Raises SourceError where the submission does not parse or lacks one of them.
    """
    pieces: list[tuple[int, int, bytes]] = []
    helpers: list[str] = []
    notes: list[str] = []
    for target in sorted((clean.find(address) for address in addresses), key=lambda each: each.line):
        found = _counterpart(target, clean, submission)
        notes += _refused(target, found)
        region = clean.region(target)
        body = _body(submission, found, region.indent, b"\n" if region.inline else b"")
        pieces.append((region.start, region.end, clean.fitting(body).encode()))
        for helper in needed_helpers(clean, submission, target, found, set(helpers)):
            pieces.append((helper.place, helper.place, clean.fitting(helper.text).encode()))
            helpers += helper.names
    return Transplanted(clean.spliced(pieces), tuple(helpers), tuple(notes))


def transplant_files(clean: Path, submission: Path, wanted: Iterable[tuple[str, str]]) -> list[str]:
    """Transplant into the files below `clean`, a copy made for it; `wanted` are pairs of file and address.

    Returns what should be told: helpers taken, edits left behind. Raises SourceError, and then wrote nothing.
    """
    addresses: dict[str, list[str]] = {}
    for file, address in wanted:
        addresses.setdefault(file, []).append(address)
    done, notes = {}, []
    for file, names in addresses.items():
        done[file] = transplant(read_source(clean, file), _submitted(submission, file), names)
        notes += [f"{file}: {note}" for note in done[file].notes]
        if done[file].helpers:
            notes.append(f"{file}: helpers taken: {', '.join(done[file].helpers)}")
    for file, made in done.items():
        (clean / file).write_bytes(made.data)
    return notes


def left_behind(given: Path, submission: Path, masked: Iterable[str]) -> list[str]:
    """The files of a submission that differ from those it was given, the masked ones apart, one note for each kind."""
    apart = {Path(file) for file in masked}
    changed, added, removed = [], [], []
    ours, theirs = _files(given), _files(submission)
    for path in sorted((ours | theirs) - apart):
        if path not in ours:
            added.append(str(path))
        elif path not in theirs:
            removed.append(str(path))
        elif not cmp(given / path, submission / path):
            changed.append(str(path))
    kinds = {"changed": changed, "new": added, "removed": removed}
    return [f"not taken, {kind}: {_list(names)}" for kind, names in kinds.items() if names]


def _submitted(folder: Path, file: str) -> Source:
    path = folder / file
    if path.is_file() and path.stat().st_size > LARGEST:
        raise SourceError(f"{file} of the submission holds over {LARGEST // 1_000_000} MB: write functions, not data")
    return read_source(folder, file)


def _counterpart(target: Function, clean: Source, submission: Source) -> Function:
    """The submission's function of the same name; among namesakes the same one in order."""
    found = [each for each in submission.functions if each.qualname == target.qualname]
    before = [each for each in clean.functions if each.qualname == target.qualname]
    if len(found) == len(before) and found:
        return found[target.nth - 1]
    plain = [each for each in found if not each.overload]
    if len(plain) == 1:
        return plain[0]
    if not found:
        raise SourceError(f"the submission's {submission.name} has no function {target.qualname}: keep it where it was")
    raise SourceError(
        f"the submission's {submission.name} has {len(found)} functions {target.qualname} where {len(before)} were: "
        "keep one for each"
    )


def _refused(target: Function, found: Function) -> list[str]:
    notes = []
    if _shape(target.node.args) != _shape(found.node.args):
        notes.append(f"{target.address}: its parameters were changed; the original ones count")
    if [_shape(each) for each in target.node.decorator_list] != [_shape(each) for each in found.node.decorator_list]:
        notes.append(f"{target.address}: its decorators were changed; the original ones count")
    return notes


def _shape(node: ast.AST) -> str:
    try:
        return ast.dump(node)
    except RecursionError:
        return ""


def _body(source: Source, function: Function, indent: bytes, before: bytes) -> str:
    """The function's body as lines that begin with `indent`."""
    region = source.region(function)
    text = source.utf8[region.start : region.end].decode()
    if region.inline:
        return (before + indent).decode() + text.strip(" \t\f;")
    inside = inside_strings(function.node)
    line, old = source.line_of(region.start), region.indent.decode()
    return before.decode() + reindented(text, line, old, indent.decode(), inside)


def _files(folder: Path) -> set[Path]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path for path in found if not {".git", "__pycache__"} & set(path.parts)}


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NOTES])
    return shown + (f" and {len(names) - MOST_NOTES} more" if len(names) > MOST_NOTES else "")
