"""What takes the place of a function's result, or of what it changes, in a proof by influence.

The text of these functions becomes part of a masked function's body and runs in the sandbox, so it
needs nothing but the standard library; arrays are known by what they can do. They are plain
functions without types of their own for the same reason: NumPy, torch and pandas may be missing.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

NOTHING = "nothing that the function returns or changes can be nulled"
INSIDE = ("in_kind", "array_in_kind", "object_in_kind", "copy_of", "state_of", "null_changes")


def in_kind(found: Any, fill: int, depth: int = 0) -> Any:
    """`found` with `fill` for each number: types, shapes, keys and lengths stay; text is empty."""
    made = found
    if found is None or isinstance(found, type) or depth > 6:
        pass
    elif isinstance(found, (str, bytes, set, frozenset)):
        made = type(found)()
    elif isinstance(found, (bool, int, float, complex)):
        made = type(found)(fill)
    elif isinstance(found, dict):
        import copy

        made = copy.copy(found)
        for key, value in found.items():
            made[key] = in_kind(value, fill, depth + 1)
    elif isinstance(found, (list, tuple)):
        parts = [in_kind(each, fill, depth + 1) for each in found]
        made = type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    elif hasattr(found, "__next__"):
        made = (in_kind(each, fill, depth + 1) for each in found)
    elif hasattr(found, "shape"):
        made = array_in_kind(found, fill)
    else:
        made = object_in_kind(found, fill, depth)
    return made


def array_in_kind(found: Any, fill: int) -> Any:
    """A tensor, array, sparse matrix or table of the same shape and type, full of `fill`."""
    import sys

    if hasattr(found, "new_full"):  # a tensor, which stays part of its graph
        made = found.new_full(found.shape, fill)
        return made + found.nan_to_num() * 0 if found.requires_grad else made
    if hasattr(found, "nnz"):
        made = found.copy()
        made.data[:] = fill
        return made
    if hasattr(found, "iloc"):
        made = found.copy()
        if found.ndim == 1:
            return made * 0 + fill if found.dtype.kind in "biuf" else made
        for name in found.select_dtypes(["number", "bool"]).columns:
            made[name] = made[name] * 0 + fill
        return made
    if hasattr(found, "dtype") and "numpy" in sys.modules:
        made = sys.modules["numpy"].full_like(found, fill)
        return made if getattr(found, "ndim", 0) else made[()]
    return found * 0 + fill


def object_in_kind(found: Any, fill: int, depth: int) -> Any:
    """A function whose results are in kind, or an object with its attributes in kind."""
    import copy
    import types

    if isinstance(found, (types.FunctionType, types.MethodType)):
        return lambda *args, **named: in_kind(found(*args, **named), fill)
    if hasattr(found, "parameters") and hasattr(found, "state_dict"):  # a torch module
        for each in found.parameters():
            each.data.fill_(fill)
        return found
    if not hasattr(found, "__dict__") or isinstance(found, types.ModuleType):
        return found
    made = copy.copy(found)
    for name, value in vars(found).items():
        made.__dict__[name] = in_kind(value, fill, depth + 1)
    return made


def copy_of(value: Any) -> Any:
    """A copy of what can be changed in place, as deep as one level; anything else as it is."""
    for name in ("clone", "copy"):
        if hasattr(value, "shape") and hasattr(value, name):
            return getattr(value, name)()
    return value.copy() if isinstance(value, (list, dict, set)) else value


def state_of(arguments: Any) -> Any:
    """The arguments, each with its attributes, and copies of all of them as they are now."""
    found = []
    for each in arguments:
        inner = vars(each) if hasattr(each, "__dict__") and not hasattr(each, "shape") else {}
        found.append((each, copy_of(each), {k: (v, copy_of(v)) for k, v in inner.items()}))
    return found


def null_changes(state: Any, fill: int) -> None:
    """Put into kind what the arguments of `state_of` have that they did not have then.

    Raises TypeError if nothing is seen to have changed: then nothing was tried.
    """

    def differs(one: Any, other: Any) -> bool:
        try:
            return bool((one != other) if not hasattr(one, "shape") else (one != other).sum())
        except Exception:
            return True

    changed = False
    for each, before, attributes in state:
        if attributes or (hasattr(each, "__dict__") and not hasattr(each, "shape")):
            for name, value in list(vars(each).items()):
                was, copied = attributes.get(name, (None, None))
                if name not in attributes or was is not value or differs(copied, value):
                    each.__dict__[name] = in_kind(value, fill)
                    changed = True
        elif before is not each and differs(before, each):
            changed = True
            if isinstance(each, list):
                each[:] = in_kind(each, fill)
            elif isinstance(each, dict):
                each.update(in_kind(each, fill))
            else:
                each[...] = in_kind(each, fill)
    if not changed:
        raise TypeError("nothing that the function returns or changes can be nulled")  # NOTHING


def inside_text() -> str:
    """The functions above that run in the sandbox, as Python without their annotations' meaning."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    chosen = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in INSIDE
    ]
    for node in chosen:
        for each in ast.walk(node):
            if isinstance(each, ast.FunctionDef):
                each.returns = None
                for arg in each.args.args:
                    arg.annotation = None
    return "\n".join(ast.unparse(node) for node in chosen)
