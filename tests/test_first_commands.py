"""The commands of README and quickstart, as a reader pastes them: a fresh clone after `make demo`, a
fresh shell for each block, activated once as the pages say.

What installs is left to `.ci/installs.sh` and `make demo`, and `--dry-run` stands in for a model.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INSTALLS = re.compile(r"^pip install .*$|python3 -m venv \.venv && ", re.MULTILINE)
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAPER = (
    "# Title\n\n## Abstract\n\nWe train a model. Table 1: accuracy.\n\n| a | 81.2 |\n|---|---|\n"
)


def blocks() -> list[str]:
    """Each block's commands as they run here, without their remarks."""
    found: list[str] = []
    for page in ("README.md", "docs/quickstart.md"):
        for block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
            lines = INSTALLS.sub("", re.sub(r" +#.*", "", block)).splitlines()
            found.append(
                "\n".join(f"{line} --dry-run" if " --" in line else line for line in lines)
            )
    return found


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fresh") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "paper.md").write_text(PAPER)
    (folder / "code").mkdir()
    (folder / "code/main.py").write_text("print('accuracy 81.2')\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.split("\n")[0][:40])
def test_each_block_runs_in_a_fresh_shell(block: str, clone: Path) -> None:
    commands = block.replace("CODE", "code").replace("PAPER", "paper.md")
    commands = ". .venv/bin/activate\n" + commands.replace("make ", "make --dry-run ")
    kept = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(clone.parent),
        "OPENAI_API_KEY": "key",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=clone, env=kept, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
