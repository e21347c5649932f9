"""From a submission into a clean copy: the bodies of the masked functions and their helpers alone.

What a solver may write is the body of a masked function. What it may add are helpers: definitions,
imports and constants under new names, in the scopes around the function, as far as its body needs
them. Its signatures, its decorators, its other edits and its other files are not taken, and a note
lists them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoreproduce.errors import SandboxError, SourceError
from autoreproduce.files.kinds import REMADE
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.autoexperiment.functions import Function
from autoreproduce.plugins.autoexperiment.helpers import inside_strings, needed_helpers, reindented
from autoreproduce.plugins.autoexperiment.masking import read_source
from autoreproduce.plugins.autoexperiment.python_source import PythonSource

LARGEST = 4_000_000  # bytes of a submitted file
MOST_NOTES = 20


@dataclass(frozen=True)
class Transplanted:
    """A clean file with a submission's bodies, the helpers taken, and notes on the rest."""

    data: bytes
    helpers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def transplant(
    clean: PythonSource, submission: PythonSource, addresses: Sequence[str]
) -> Transplanted:
    """`clean` with the submission's bodies of the functions at `addresses` (of `clean`).

    Raises SourceError if the submission does not parse or lacks one of them.
    """
    pieces: list[tuple[int, int, bytes]] = []
    helpers: list[str] = []
    notes: list[str] = []
    targets = sorted((clean.find(address) for address in addresses), key=lambda each: each.line)
    for target in targets:
        found = _counterpart(target, clean, submission)
        notes += _notes_on_signature(target, found)
        region = clean.region(target)
        body = _body(submission, found, region.indent, b"\n" if region.inline else b"")
        pieces.append((region.start, region.end, clean.fitting(body).encode()))
        for helper in needed_helpers(clean, submission, target, found, set(helpers)):
            pieces.append((helper.place, helper.place, clean.fitting(helper.text).encode()))
            helpers += helper.names
    return Transplanted(clean.spliced(pieces), tuple(helpers), tuple(notes))


def transplant_files(clean: Path, submission: Path, wanted: Iterable[tuple[str, str]]) -> list[str]:
    """Transplant into the files below `clean`; `wanted` are pairs of file and address.

    Returns notes: helpers taken, edits not taken. Raises SourceError, and then nothing was written.
    """
    addresses: dict[str, list[str]] = {}
    for file, address in wanted:
        addresses.setdefault(file, []).append(address)
    done, notes = {}, []
    for file, names in addresses.items():
        done[file] = transplant(
            read_source(clean, file), read_source(submission, file, most=LARGEST), names
        )
        notes += [f"{file}: {note}" for note in done[file].notes]
        if done[file].helpers:
            notes.append(f"{file}: helpers taken: {', '.join(done[file].helpers)}")
    for file, made in done.items():
        Tree(clean).write(file, made.data)
    return notes


def left_behind(given: Path, submission: Path, masked: Iterable[str]) -> list[str]:
    """One note for each kind of file that a submission changed, but for the masked ones."""
    changed, added, removed = [], [], []
    clean, submitted = Tree(given.resolve()), Tree(submission)
    ours, theirs = _files(clean), _files(submitted)
    for name in sorted((ours | theirs) - {str(Path(file)) for file in masked}):
        if name not in ours:
            added.append(name)
        elif name not in theirs:
            removed.append(name)
        elif not _is_unchanged(clean, submitted, name):
            changed.append(name)
    kinds = {"changed": changed, "new": added, "removed": removed}
    return [f"not taken, {kind}: {_first_names(names)}" for kind, names in kinds.items() if names]


def _counterpart(target: Function, clean: PythonSource, submission: PythonSource) -> Function:
    """The submission's function of the same name; among namesakes the same one in order."""
    found = [each for each in submission.functions if each.qualname == target.qualname]
    before = [each for each in clean.functions if each.qualname == target.qualname]
    if len(found) == len(before) and found:
        return found[target.nth - 1]
    plain = [each for each in found if not each.overload]
    if len(plain) == 1:
        return plain[0]
    if not found:
        raise SourceError(
            f"the submission's {submission.name} has no function {target.qualname}",
            fix="leave it where it was",
        )
    raise SourceError(
        f"the submission's {submission.name} has {len(found)} functions {target.qualname} instead "
        f"of {len(before)}",
        fix="leave one for each",
    )


def _notes_on_signature(target: Function, found: Function) -> list[str]:
    notes = []
    if _shape(target.node.args) != _shape(found.node.args):
        notes.append(f"{target.address}: its parameters were changed; the original ones count")
    if [_shape(each) for each in target.node.decorator_list] != [
        _shape(each) for each in found.node.decorator_list
    ]:
        notes.append(f"{target.address}: its decorators were changed; the original ones count")
    return notes


def _shape(node: ast.AST) -> str:
    try:
        return ast.dump(node)
    except RecursionError:
        return ""


def _body(source: PythonSource, function: Function, indent: bytes, before: bytes) -> str:
    """The function's body as lines that begin with `indent`."""
    region = source.region(function)
    text = source.utf8[region.start : region.end].decode()
    if region.inline:
        return (before + indent).decode() + text.strip(" \t\f;")
    inside = inside_strings(function.node)
    line, old = source.line_of(region.start), region.indent.decode()
    return before.decode() + reindented(text, line, old, indent.decode(), inside)


def _files(tree: Tree) -> set[str]:
    return set(tree.files(skip=REMADE))


def _is_unchanged(given: Tree, submission: Tree, name: str) -> bool:
    """True if a file of the submission is as it was given."""
    try:
        return given.sha256(name, most=2**50) == submission.sha256(name, most=2**50)
    except (FileNotFoundError, SandboxError):
        return False


def _first_names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NOTES])
    return shown + (f" and {len(names) - MOST_NOTES} more" if len(names) > MOST_NOTES else "")
