"""The skill that teaches a coding agent when to use which command, and how to read a verdict."""

from pathlib import Path

from autoreproduce import content
from autoreproduce.errors import UsageError
from autoreproduce.files.shared import inside, read_plain

NAME = "reproduce-a-paper"


def skill_text() -> str:
    """SKILL.md as it ships."""
    return (content.folder("eval") / "skills" / NAME / "SKILL.md").read_text(encoding="utf-8")


def install_skill(skills: Path) -> Path:
    """Write the skill into a folder of skills, in place of an older one of ours; its file.

    Raises UsageError if a file of that name was not written by this command, or a link leads out of
    the folder: one that came with a repository could have another file overwritten.
    """
    file, text = inside(skills, f"{NAME}/SKILL.md"), skill_text()
    try:
        if file.exists() and f"name: {NAME}\n" not in read_plain(file).decode():
            raise UsageError(f"{file} is not this skill", fix="move it away, or name another --to")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be written ({error})", fix="name another --to") from None
    return file
