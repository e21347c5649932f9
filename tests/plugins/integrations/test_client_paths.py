"""A client of the MCP server names a folder: nothing hidden comes along."""

import subprocess
from pathlib import Path

import pytest

from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.plugins.integrations.mcp_server import Tools, own_program


@pytest.mark.parametrize("hidden", [".env", ".ssh/id", "deep/er/.netrc"])
def test_no_hidden_file_comes_along_with_a_folder(in_folder: Path, hidden: str) -> None:
    (in_folder / "code" / hidden).parent.mkdir(parents=True)
    (in_folder / "code" / hidden).write_text("the-secret")
    tools = Tools(Settings(runs_dir=in_folder / "runs"))
    for path in (".", "code", str(in_folder)):
        for ask in (
            lambda path=path: tools.start_reproduction(task="lsm", data=path),
            lambda path=path: tools.start_reproduction(paper=path, experiment=["main"]),
            lambda path=path: tools.plan_paper(path),
            lambda path=path: tools.score_code(path, "lsm"),
        ):
            with pytest.raises(UsageError, match="is hidden and would come along"):
                ask()
    assert not (in_folder / "runs" / "jobs").exists()


def test_a_program_may_lie_in_git_beside_its_runs(in_folder: Path) -> None:
    for name in (".git/config", ".venv/.lock", ".gitignore", "runs/a/.env", "main.py"):
        (in_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (in_folder / name).touch()
    assert own_program(in_folder, ".", in_folder / "runs") == "."


def test_what_git_tracks_is_no_secret(in_folder: Path) -> None:
    """A clone with its .github, and a configuration that only its own tool knows."""
    for name in (".github/ci.yml", ".zenodo.json", ".binder/start", "main.py"):
        (in_folder / "code" / name).parent.mkdir(parents=True, exist_ok=True)
        (in_folder / "code" / name).write_text("x")
    with pytest.raises(UsageError, match=r"with \.(zenodo\.json|binder), which is hidden"):
        own_program(in_folder, "code", in_folder / "runs")
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=in_folder / "code", check=True)
    assert own_program(in_folder, "code", in_folder / "runs") == "code"
    (in_folder / "code" / ".binder" / ".env").write_text("the-secret")
    with pytest.raises(UsageError, match=r"with \.binder/\.env, which is hidden"):
        own_program(in_folder, "code", in_folder / "runs")
