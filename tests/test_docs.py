"""The documents say what is true: links lead somewhere, commands run, flags, messages and
dependencies exist, and what a command prints stands as it prints it.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pages
import pytest
from manual import manual
from setting_options import setting_options
from typer.main import get_command

from autoreproduce.cli.app import app
from autoreproduce.extensions import installed

# The handbook describes these, each in its pages and its commands.
DESCRIBED = {
    *("baselines", "external_agents", "integrations", "suites", "tables"),
    *("autoexperiment", "paperbench", "verify", "view"),
}
if missing := DESCRIBED - set(installed()):
    pytest.skip(f"the handbook describes plugins not installed: {missing}", allow_module_level=True)

ROOT = Path(__file__).parents[1]
HANDBOOK = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [block for page in pages.pages() for block in pages.marked_blocks(page)]
HELP = {"--help", "--help-all"}
# Of git, pip, Docker, mypy, Ray, Slurm, Kubernetes, Inspect AI, tools.
FOREIGN = {
    "--git-dir",
    "--extra-index-url",
    "--userns",
    "--strict",
    "--epochs",
    "--reading",  # of the programs that are run
    "--write",
    "--head",
    "--address",
    "--log-dir",
    "--gres",
    "--from-literal",
    "--executors",  # of perf/executors.py
    "--only",  # of perf/many_trials.py
    "--write-golden",  # of this suite
    *("--drawn", "--draws", "--recorded", "--program"),  # of python -m eval.lab
    *("--describe", "--command"),  # of maskmaker
    *("--prove", "--renamed"),  # in the log of results, of commands that are gone
}


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_the_page_of_commands_is_up_to_date() -> None:
    page = text_of(ROOT / "docs" / "commands.md")
    assert page == manual(), "run python tests/tools/manual.py > docs/commands.md"
    assert str(Path.home()) not in page


def test_editors_are_told_of_every_setting() -> None:
    module = text_of(ROOT / "autoreproduce" / "setting_options.py")
    run = "python tests/tools/setting_options.py > autoreproduce/setting_options.py"
    assert module == setting_options(), f"run {run}"


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page):
    assert pages.broken_links(page) == []


def test_a_broken_link_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "# One heading\n[a](page.md#one-heading) [b](gone.md) [c](#no-heading) `[d](x)`\n"
    )
    assert [each.split(": ")[1] for each in pages.broken_links(page)] == ["gone.md", "#no-heading"]


def test_the_site_has_every_page_once():
    named = re.findall(r"^ +- .+: (\S+\.md)$", text_of(ROOT / "mkdocs.yml"), re.MULTILINE)
    assert sorted(named) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="the docs extra is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "mermaid" in (tmp_path / "concepts/index.html").read_text()


@pytest.mark.parametrize(
    "block",
    [pytest.param(b, id=b.name, marks=[pytest.mark.slow] if b.slow else []) for b in BLOCKS],
)
@pytest.mark.timeout(1500)
def test_the_commands_run_as_shown(block, tmp_path):
    run_block(block, tmp_path)


def run_block(block, folder: Path) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AUTOREPRODUCE_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cache = os.environ["AUTOREPRODUCE_CACHE_DIR"]
    env = {**kept, "PATH": path, "HOME": str(folder), "AUTOREPRODUCE_CACHE_DIR": cache}
    for number, (command, expected) in enumerate(block.parts, 1):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=folder, env=env | {"COLUMNS": "200"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        wanted = block.exit_code if number == len(block.parts) else 0
        assert done.returncode == wanted, f"{block.name}: {command}\n{done.stdout}"
        missing = pages.missing_line(expected, done.stdout)
        assert missing is None, f'{block.name}: "{missing}" is not printed:\n{done.stdout}'


def test_a_block_that_fails_or_prints_something_else_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- test -->\n```sh\nfalse\n```\n<!-- test -->\n```console\n$ echo one two\none …\n```\n"
        "<!-- test: exit 3 -->\n```console\n$ echo one\n$ echo two; exit 3\nthree\n```\n"
    )
    fails, passes, differs = pages.marked_blocks(page)
    run_block(passes, tmp_path)
    for block in (fails, differs):
        with pytest.raises(AssertionError):
            run_block(block, tmp_path)


def test_what_commands_print_stands_as_they_print_it():
    shown = {}
    for page in pages.pages():
        for command, body in pages.generated(text_of(page)):
            shown[command] = page.name
            assert body == pages.body(command, body), (
                f"{page.name} does not show what `{command}` prints: "
                "python tests/tools/pages.py --write"
            )
    assert len(shown) >= 2  # the graph and the table of tasks


def command_tree():
    """{words of a command: its flags}, read from the command line itself."""
    found, todo = {}, [((), get_command(app))]
    while todo:
        words, command = todo.pop()
        if hasattr(command, "list_commands"):
            ctx = command.make_context("autoreproduce", [], resilient_parsing=True)
            for name in command.list_commands(ctx):
                todo.append(((*words, name), command.get_command(ctx, name)))
        flags = (o for p in command.params for o in (*p.opts, *p.secondary_opts))
        found[" ".join(words)] = {flag for flag in flags if flag.startswith("--")}
    return found


TREE = command_tree()


@pytest.mark.parametrize("page", HANDBOOK, ids=lambda page: page.name)
def test_every_flag_exists(page):
    known = set().union(*TREE.values()) | FOREIGN | HELP
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text_of(page))) <= known


@pytest.mark.parametrize("page", HANDBOOK, ids=lambda page: page.name)
def test_every_command_exists(page):
    form = r"(?:^|[`$] ?)autoreproduce ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?"
    shown = re.findall(form, text_of(page), re.MULTILINE)
    known = {words for words in TREE if words}
    groups = {words.split()[0] for words in known if " " in words}
    for first, second in shown:
        wanted = f"{first} {second}".strip() if first in groups else first
        assert wanted in known, f"`autoreproduce {wanted}` isn't a command"


def test_the_page_of_commands_shows_where_each_option_is_taken():
    parts = text_of(ROOT / "docs" / "commands.md").split("\n### ")[1:]
    sections = {name: text for name, _, text in (part.partition("\n") for part in parts)}
    for command, flags in TREE.items():
        if command not in sections:
            continue  # the program itself, or a group
        linked = re.findall(r"\(#(\w+)-settings\)", sections[command])
        text = sections[command] + "".join(sections[f"{each.title()} settings"] for each in linked)
        shown = set(re.findall(r"--[a-z-]+", text.replace("--[no-]", "--")))
        missing = {re.sub("^--no-", "--", each) for each in flags} - shown
        assert missing <= HELP, f"{command}: {missing}"


def test_every_make_target_exists():
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    for page in HANDBOOK:
        named = set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)", text_of(page), re.MULTILINE))
        assert {a or b for a, b in named} <= targets, page.name


def messages() -> list[str]:
    """Every text of the package as a pattern: what is filled in matches anything."""
    found = []
    for path in (ROOT / "autoreproduce").rglob("*.py"):
        for node in ast.walk(ast.parse(text_of(path))):
            if isinstance(node, ast.JoinedStr):
                parts = (v.value if isinstance(v, ast.Constant) else "\0" for v in node.values)
                found.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


@pytest.mark.slow
def test_every_message_of_troubleshooting_is_one_of_the_program():
    headings = re.findall(r"^### `(.+)`$", text_of(ROOT / "docs/troubleshooting.md"), re.MULTILINE)
    assert 15 <= len(headings) == len(set(headings))
    texts = [re.sub(r"\s+", " ", each) for each in messages()]
    for heading in headings:
        form = re.compile(r"[^:]*".join(map(re.escape, heading.split("…"))))
        assert any(form.search(text) for text in texts), f"no message of the program: {heading}"


def packages_of(project: dict) -> set[str]:
    extras = [each for group in project["optional-dependencies"].values() for each in group]
    names = (re.match(r"[\w.-]+", each)[0] for each in project["dependencies"] + extras)
    return {name.lower() for name in names}


def test_each_dependency_has_its_reason():
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    section = (
        text_of(ROOT / "CONTRIBUTING.md").partition("\n## Dependencies")[2].partition("\n## ")[0]
    )
    named = [name.lower() for name in re.findall(r"`([^`]+)`", section)]
    assert sorted(named) == sorted(packages_of(project))


def test_the_words_of_documents_are_the_field_s():
    never = re.compile(r"\b(mend(s|ed|ing)?|goes on with|go on with|at the door|owed)\b", re.I)
    for page in HANDBOOK:
        assert never.findall(text_of(page)) == [], page.name


def test_llms_txt_names_pages_that_exist() -> None:
    text = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")
    named = set(re.findall(r"\]\(([\w-]+\.md)\)", text))
    assert len(named) > 20 and named <= {page.name for page in (ROOT / "docs").glob("*.md")}
