"""Imports run one way, from the command line down to the errors. This is the picture of the house."""

import ast
from pathlib import Path

import autoreproduce

# A module may import from its own line (its own package) and from those below.
LAYERS = [
    ["__main__", "cli", "cli_commands", "cli_score", "cli_suite", "cli_autoexperiment", "cli_grade"],
    ["options", "console", "runner"],
    ["solvers", "eval", "doctor"],
    ["workflow"],
    ["literature_review", "paper_lineage", "code_development"],
    ["benchmarks"],
    ["agents", "autoexperiment", "paperbench"],
    ["models", "tape_model", "chat_completions"],
    ["trial", "workspace", "prices", "metrics_file"],
    ["papers", "prompting", "sandboxes"],
    [
        "commands",
        "command_lines",
        "listing",
        "fences",
        "budget",
        "tape",
        "task",
        "model_errors",
        "tokens",
        "journal",
        "structured",
    ],
    ["config", "content", "turns"],
    ["errors"],
]
WITHIN = {"commands": {"command_lines", "listing", "fences"}, "command_lines": {"fences", "listing"}, "listing": {"fences"},
          "models": {"tape_model", "chat_completions"}, "options": set(), "tape_model": set(), "__main__": {"cli"}, "cli": {"cli_commands"}, "runner": {"console", "options"},
          "literature_review": set(), "code_development": {"literature_review"}}  # fmt: skip
PACKAGE = Path(autoreproduce.__file__).parent


def level(name: str) -> int:
    return next(n for n, names in enumerate(LAYERS) if name in names)


def imported(path: Path) -> set[str]:
    """Top-level modules of the package that a file imports when it runs (not for types alone)."""
    tree = ast.parse(path.read_text())
    for_types = {
        id(inner) for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }  # fmt: skip
    found = set()
    for node in ast.walk(tree):
        if id(node) in for_types or not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        parts = node.module.split(".")
        if parts[0] == "autoreproduce":
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


def test_every_module_has_a_layer_and_imports_downwards() -> None:
    known = {name for names in LAYERS for name in names}
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        relative = path.relative_to(PACKAGE)
        own = relative.parts[0].removesuffix(".py")
        if own == "__init__" or own.startswith("_content"):
            continue
        assert own in known, f"{relative} is in no layer: give it one"
        for other in imported(path) & known - {own}:
            if level(other) <= level(own) and other not in WITHIN.get(own, ()):
                wrong.append(f"{relative} imports {other}")
    assert not wrong


def test_importing_the_contracts_runs_nothing_heavy() -> None:
    imports = {
        n.module for n in ast.walk(ast.parse((PACKAGE / "__init__.py").read_text())) if isinstance(n, ast.ImportFrom)
    }
    assert imports <= {
        "__future__",
        "collections.abc",
        "dataclasses",
        "typing",
        "autoreproduce.task",
        "autoreproduce.trial",
    }
