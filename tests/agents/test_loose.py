"""Replies whose command stands in a fence, or that hold a file and no command."""

import pytest

from autoreproduce.agents.commands import Edit, ShowSection, Submit, Update
from autoreproduce.agents.loose import WHOLE_FILE
from autoreproduce.agents.parsing import parse
from autoreproduce.errors import CommandError

CODE = "x = 1\ny = 2"
EDITED = Edit(1, 0, "x = 1\ny = 2\n")


@pytest.mark.parametrize(
    "reply",
    [
        f"```\nEDIT 1 0\n```python\n{CODE}\n```\n```",
        f"~~~~\nEDIT 1 0\n```python\n{CODE}\n```\n~~~~",
        f"```python\nEDIT 1 0\n{CODE}\n```",
        f"Sure:\n\n```\n**EDIT 1 0**\n\n{CODE}\n```\nDone.",
        f"EDIT：1 0\n```python\n{CODE}\n```",
        f"EDIT 1 0：\n```python\n{CODE}\n```",
    ],
)
def test_an_edit_in_a_fence_or_with_another_colon(reply: str) -> None:
    assert parse(reply, {"EDIT"}).command == EDITED


@pytest.mark.parametrize(
    ("reply", "command"),
    [
        ("```\nSUBMIT\n```", Submit()),
        ("SUBMIT。", Submit()),
        ("```text\nSECTION: 4.1\n```", ShowSection("4.1")),
        ("SECTION：4.1", ShowSection("4.1")),
        ("```\nUPDATE\n## Feedback\nUse L2.\n## Summary\nunchanged\n```", Update("Use L2.")),
        ("UPDATE\nUse L2.", Update("Use L2.")),
        ("UPDATE\nFeedback: Use L2.\nSummary: unchanged", Update("Use L2.")),
        ("UPDATE\n**Feedback:** Use L2.\n**Summary:** new", Update("Use L2.", "new")),
        ("UPDATE\n## 反馈\n用L2。", Update("## 反馈\n用L2。")),
    ],
)
def test_other_commands(reply: str, command: object) -> None:
    assert parse(reply, {"SUBMIT", "UPDATE", "SECTION"}).command == command


@pytest.mark.parametrize(
    "reply",
    [
        f"Here is the file:\n```python\n{CODE}\n```\nHope it helps!",
        f"```\n{CODE}\n```",
        f"Run it:\n```bash\npython main.py\n```\n\n- EDIT 1 0\n```python\n{CODE}\n```",
    ],
)
def test_code_alone_is_the_file_where_a_whole_file_is_asked_for(reply: str) -> None:
    assert parse(reply, {"EDIT", WHOLE_FILE}).command == EDITED
    with pytest.raises(CommandError):
        parse(reply, {"EDIT"})


@pytest.mark.parametrize(
    "reply",
    [
        f"```python\n{CODE}\n```\nor\n```python\n{CODE}\n```",
        f"```python\n{CODE}\n",
        f"Edit lines 12 to 14:\n```python\n{CODE}\n```",
        "```python\n\n```",
        "x = 1",
    ],
)
def test_what_could_be_something_else_is_no_file(reply: str) -> None:
    with pytest.raises(CommandError):
        parse(reply, {"EDIT", WHOLE_FILE})
