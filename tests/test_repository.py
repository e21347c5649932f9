"""The repository's own files for people and machines that work on it: they agree with the
package.
"""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from autoreproduce import __version__

ROOT = Path(__file__).parents[1]


def load_toml(name: str):
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def load(name: str):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_a_citation_names_this_version():
    assert load("CITATION.cff")["version"] == __version__


def test_the_workflow_runs_what_the_makefile_has():
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    steps = [
        step.get("run", "")
        for job in load(".github/workflows/tests.yml")["jobs"].values()
        for step in job["steps"]
    ]
    called = {target for step in steps for target in re.findall(r"\bmake ([a-z-]+)", step)}
    assert called == {"test", "check", "docs"} <= made


def test_a_commit_is_checked_as_make_check_does():
    check = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]
    for hook in load(".pre-commit-config.yaml")["repos"][0]["hooks"]:
        program, command = re.match(r"\.venv/bin/(\w+) (\S+)", hook["entry"]).groups()
        assert f"$(BIN)/{program} {command}" in check


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: path.stem
)
def test_an_issue_form_asks_for_something(form):
    content = yaml.safe_load(form.read_text(encoding="utf-8"))
    ids = [part["id"] for part in content["body"] if part["type"] != "markdown"]
    assert content["name"] and content["description"] and len(ids) == len(set(ids)) > 0
    assert any(part.get("validations", {}).get("required") for part in content["body"])


def test_the_tool_s_image_starts_the_command_and_compose_names_it():
    recipe, compose = (ROOT / "Dockerfile").read_text(), load("compose.yaml")
    assert "ARG BASE=python:3.11-slim" in recipe and 'ENTRYPOINT ["autoreproduce"]' in recipe
    extras = load_toml("pyproject.toml")["project"]["optional-dependencies"]
    assert set(re.search(r"^ARG EXTRAS=(.*)$", recipe, re.MULTILINE)[1].split(",")) <= set(extras)
    images = [service["image"] for service in compose["services"].values()]
    assert images == ["autoreproduce", "autoreproduce", "ollama/ollama"]
    tool = compose["services"]["autoreproduce"]
    assert "systempaths=unconfined" in tool["security_opt"], "else bubblewrap mounts no /proc"
    assert "cap_add" not in tool
