"""The Python that a task's folder holds, read and run under names that no other module has."""

import sys
from pathlib import Path
from types import ModuleType

from autoreproduce.errors import UsageError
from autoreproduce.files.shared import read_text


def text_of(path: Path, name: str | None) -> str | None:
    """The text of a file of the task, None where none is named; a named one that is missing is an
    error.
    """
    if name is None:
        return None
    try:
        return read_text(path, name)
    except FileNotFoundError:
        raise UsageError(f"{path / name} is missing", fix="the task needs it") from None


def load_module(path: Path) -> ModuleType:
    """A Python file of a task folder, run under a name that no other module has; no bytecode is
    written there.
    """
    source = text_of(path.parent, path.name) or ""
    name = f"reproducebench_{path.parent.name}_{path.stem}"
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(source, path, "exec"), module.__dict__)
    return module
