"""What a program imports, read from its source."""

import ast
import sys
from collections.abc import Mapping

from autoreproduce.files.bounded import parse_python


def imported_modules(files: Mapping[str, str]) -> list[str]:
    """Top-level modules that the program imports, without its own and the standard library's."""
    own = {part for path in files for part in path.removesuffix(".py").split("/")}
    names: set[str] = set()
    for text in files.values():
        try:
            tree = parse_python(text)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names.add(node.module.partition(".")[0])
    return sorted(names - own - sys.stdlib_module_names)
