"""Runs a Python program with its training loops cut short, from outside: no line of it serves the purpose.

Started in the sandbox as `python short_run.py main.py`; needs nothing but the standard library. Each `for` loop
over epochs, and each loop that trains or reads a data loader, ends after two rounds. Recognised are loops whose
variable is named for epochs or steps, loops whose body calls `.backward()` or `.step()`, and, when the program
runs, any loop over an object of a class named like `DataLoader`. A loop that is none of these runs as it is.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import Any

ROUNDS = 2
NAMED = re.compile(r"^_?(epochs?|ep|steps?|iterations?|iters?)(_?\w{0,4})?$")


def _cut(items: Iterable[Any], trains: bool) -> Iterator[Any]:
    """The first rounds of a loop that trains or reads a data loader, else all of them."""
    loader = any("Loader" in kind.__name__ for kind in type(items).__mro__)
    return islice(iter(items), ROUNDS) if trains or loader else iter(items)


class _Cutter(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.AST:
        calls = {n.func.attr for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
        named = isinstance(node.target, ast.Name) and NAMED.match(node.target.id)
        trains = ast.Constant(bool(named or calls & {"backward", "step"}))
        node.iter = ast.copy_location(ast.Call(ast.Name("_cut_short", ast.Load()), [node.iter, trains], []), node.iter)
        return self.generic_visit(node)


def compiled(source: str, path: str) -> CodeType:
    """The program's code with its loops cut."""
    return compile(ast.fix_missing_locations(_Cutter().visit(ast.parse(source, path))), path, "exec")


class _Loader(SourceFileLoader):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        return compiled(bytes(data).decode(), str(path))

    def get_code(self, fullname: str) -> CodeType:
        return compiled(Path(self.path).read_text(), self.path)


class _Finder(MetaPathFinder):
    """Loads the program's own modules cut; libraries are as they are."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """A module of the program's folder, None for all others."""
        spec = PathFinder.find_spec(name, [self.folder]) if path is None else None
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            return None
        spec.loader = _Loader(name, spec.origin)
        return spec


def main() -> None:
    """Run the program named first, with the arguments after it."""
    import builtins

    program = Path(sys.argv[1]).resolve()
    sys.argv = sys.argv[1:]
    builtins._cut_short = _cut  # type: ignore[attr-defined]
    sys.path[0] = str(program.parent)
    sys.meta_path.insert(0, _Finder(program.parent))
    module = type(sys)("__main__")
    module.__file__ = str(program)
    sys.modules["__main__"] = module
    exec(compiled(program.read_text(), str(program)), module.__dict__)


if __name__ == "__main__":
    main()
