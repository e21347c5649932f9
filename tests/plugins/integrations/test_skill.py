"""The skill for coding agents: where it is installed, and what it overwrites."""

from pathlib import Path

import pytest

from autoreproduce.errors import UsageError
from autoreproduce.plugins.integrations.commands import install_skill, skill_text


def test_the_skill_is_installed_and_no_other_file_is_overwritten(tmp_path: Path) -> None:
    file = install_skill(tmp_path)
    assert file.read_text() == skill_text() and install_skill(tmp_path) == file
    head = skill_text().split("---")[1]
    assert "name: reproduce-a-paper" in head and "description: " in head
    file.write_text("something of mine")
    with pytest.raises(UsageError, match="move it away"):
        install_skill(tmp_path)


def test_a_link_among_the_skills_overwrites_no_other_file(tmp_path: Path) -> None:
    (skills := tmp_path / "skills").mkdir()
    (mine := tmp_path / "mine").mkdir()
    (skills / "reproduce-a-paper").symlink_to(mine)
    with pytest.raises(UsageError, match="link that leads out"):
        install_skill(skills)
    assert not list(mine.iterdir())
