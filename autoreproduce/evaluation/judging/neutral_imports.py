"""Imports between a program's own files, under the neutral names by which a judge sees these.

A module is found as Python finds it: a relative import from the importing file's package, another
one beside that file, then from the top. A name that several files of other folders share, and that
says no more, is left as it is: it would name the wrong file.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath


class ModuleNames:
    """The modules of a program by their dotted paths, each with its file's neutral name."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names`: path -> neutral file name."""
        self._by_path = {
            _dotted(PurePosixPath(path)): name.removesuffix(".py")
            for path, name in names.items()
            if path.endswith(".py")
        }

    def find(self, module: str, importer: str, level: int = 0) -> str | None:
        """The neutral name of what `importer` (a path) means by `module`; None if not its own.

        `level`: the dots before a relative import.
        """
        folders = PurePosixPath(importer).parts[:-1]
        if level:
            if level > len(folders) + 1:
                return None
            above = folders[: len(folders) - (level - 1)]
            return self._by_path.get(".".join([*above, *([module] if module else [])]))
        beside = self._by_path.get(".".join([*folders, module]))
        return beside or self._by_path.get(module) or self._only_one(module)

    def _only_one(self, module: str) -> str | None:
        """A program may put a folder of its own on Python's path: the one module that fits."""
        found = [name for path, name in self._by_path.items() if path.endswith(f".{module}")]
        return found[0] if len(found) == 1 else None


def _dotted(path: PurePosixPath) -> str:
    parts = [*path.parts[:-1], *([] if path.stem == "__init__" else [path.stem])]
    return ".".join(parts)


def neutral_imports(
    tree: ast.AST, path: str, modules: ModuleNames
) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Each import of the program's own modules in `path`, with what a judge sees in its place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            new = _from_import(node, path, modules)
        elif isinstance(node, ast.Import):
            new = _plain_import(node, path, modules)
        else:
            continue
        if new:
            yield node, new


def _from_import(node: ast.ImportFrom, path: str, modules: ModuleNames) -> str:
    """`from package import module` may import files, names of the package, or both."""
    package = node.module or ""
    own = modules.find(package, path, node.level)
    lines, others = [], []
    for alias in node.names:
        module = f"{package}.{alias.name}" if package else alias.name
        file = modules.find(module, path, node.level) if alias.name != "*" else None
        if file is None:
            others.append(alias)
        else:
            lines.append(f"import {file} as {alias.asname or alias.name}")
    if others and own:
        lines.append(ast.unparse(ast.ImportFrom(own, others, 0)))
    elif others and lines:
        lines.append(ast.unparse(ast.ImportFrom(node.module, others, node.level)))
    return "; ".join(lines)


def _plain_import(node: ast.Import, path: str, modules: ModuleNames) -> str:
    found = [modules.find(alias.name, path) for alias in node.names]
    if not any(found):
        return ""
    aliases = [
        ast.alias(file, alias.asname or alias.name) if file else alias
        for file, alias in zip(found, node.names, strict=True)
    ]
    return ast.unparse(ast.Import(aliases))
