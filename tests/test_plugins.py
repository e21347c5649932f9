"""The kernel needs no plugin, and no plugin another: they are removed, with their tests and entry
points.
"""

import ast
import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = sorted(path.parent.name for path in ROOT.glob("autoreproduce/plugins/*/__init__.py"))
# What touches the tables that plugins add to, and a trial; the rest is collected.
RUN = (
    "test_imports.py",
    "cli/test_cli.py",
    "benchmarks/test_benchmarks.py",
    "evaluation/test_scorers.py",
    "runner/test_api.py",
    "solvers",
)
# Each plugin is kept in another two of five trees, so of any two each is once there without the other.
KEPT = list(zip(SHIPPED, combinations(range(5), 2), strict=False))
REMOVED = [[name for name, kept in KEPT if tree not in kept] for tree in range(5)]


def imported(file: Path) -> set[str]:
    """The plugins that a file imports from."""
    named = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found = (name.split(".") for name in names)
        named |= {
            parts[2]
            for parts in found
            if parts[:2] == ["autoreproduce", "plugins"][: len(parts)] and len(parts) > 2
        }
    return named & set(SHIPPED)


@pytest.mark.house
def test_tests_outside_a_plugins_folder_import_no_plugin() -> None:
    wrong = {}
    for file in (ROOT / "tests").rglob("*.py"):
        parts = file.relative_to(ROOT / "tests").parts
        own = {parts[1]} if parts[0] == "plugins" else set()
        if extra := imported(file) - own:
            wrong["/".join(parts)] = extra
    assert wrong == {}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The project in a folder of its own: package and tests copied, all else linked."""
    for entry in ROOT.iterdir():
        if entry.name in ("autoreproduce", "tests"):
            shutil.copytree(entry, tmp_path / entry.name)  # with what was compiled
        elif not entry.name.startswith(".") and entry.name != "runs":
            (tmp_path / entry.name).symlink_to(entry)
    return tmp_path


def remove(tree: Path, names: list[str]) -> None:
    """Take plugins out: their folders, their tests, their entry points here and as installed."""
    for name in names:
        shutil.rmtree(tree / "autoreproduce" / "plugins" / name)
        shutil.rmtree(tree / "tests" / "plugins" / name, ignore_errors=True)
    installed = distribution("autoreproduce")
    info = tree / "autoreproduce-0.dist-info"
    info.mkdir()
    kept = {"pyproject.toml": (ROOT / "pyproject.toml").read_text()}
    for name in ("METADATA", "entry_points.txt"):
        kept[f"{info.name}/{name}"] = installed.read_text(name) or ""
    for name, text in kept.items():
        lines = text.splitlines(keepends=True)
        gone = [f"autoreproduce.plugins.{each}" for each in names]
        (tree / name).unlink(missing_ok=True)
        (tree / name).write_text("".join(x for x in lines if not any(g in x for g in gone)))


def pytest_in(tree: Path, *arguments: str) -> None:
    """Run pytest on the copy; its entry points come before the installed package's."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("names", [*REMOVED, SHIPPED], ids="+".join)
def test_the_tests_pass_without(tree: Path, names: list[str]) -> None:
    remove(tree, names)
    found = "from autoreproduce.extensions import installed; print(*installed())"
    shown = subprocess.run(
        [sys.executable, "-c", found],
        cwd=tree,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tree)},
    )
    assert shown.stdout.split() == [name for name in SHIPPED if name not in names]
    if names != SHIPPED:
        pytest_in(tree, "--collect-only", "tests/plugins")
        return
    pytest_in(tree, "--collect-only", "tests")
    pytest_in(tree, "-k", "not quick", *(f"tests/{name}" for name in RUN))
    pytest_in(tree, "-m", "house", "tests/test_house.py")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("import nowhere_to_be_found", "ModuleNotFoundError: No module named"),
        ("plugin = 1", "TypeError: odd:plugin isn't a Plugin"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_named_and_left_out(
    tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "odd.py").write_text(text)
    (info := tmp_path / "odd-1.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[autoreproduce.plugins]\nodd = odd:plugin\n")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from autoreproduce.extensions import installed; print(*installed())",
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0 and "odd" not in done.stdout and done.stdout.strip()
    assert f"The plugin odd is left out: odd:plugin: {why}" in done.stderr
    assert "repair its package, or uninstall it" in done.stderr
