"""Summaries without what models say around them, and whole."""

import pytest

from autoreproduce.errors import CommandError
from autoreproduce.method.literature_review import require_whole, summary_text

CHINESE = "模型把图像块变成令牌，用注意力在令牌之间交换信息，然后再映射回图像块。"
BODY = "# The method\n\nTokens attend to patches.\n\n1. Softmax over tokens."


@pytest.mark.parametrize(
    "reply",
    [
        BODY,
        f"Sure! Here is the method summary:\n\n{BODY}",
        f"Certainly. Below is the summary for the Darcy task.\n\n---\n\n{BODY}\n",
        f"Here\u2019s the summary you asked for:\n{BODY}\n\nLet me know if you need more detail!",
        f"```markdown\n{BODY}\n```",
        f"Of course!\n\n```markdown\n{BODY}\n```",
        f"{BODY}\n\n---\n\nIf you would like, I can also write the training loop.",
        f"Okay, here is the summary.\n\n{BODY}\n\nI hope this helps.",
    ],
)
def test_what_stands_around_a_summary_is_taken_off(reply):
    assert summary_text(reply) == BODY


@pytest.mark.parametrize(
    "reply",
    [
        "Here is the idea: attention compresses points, and a learned sum solves there.",
        "Here is the idea: attention compresses.\nThe rest follows.",
        "Sure convergence is not shown.\n\nThe loss is relative.",
        "Great care is taken of the padding.\n\nThe loss is relative.",
        "The method.\n\n```python\nx = 1\n```",
        "Let me know if you need more.",
        "This is a U-Net with attention.",
    ],
)
def test_what_belongs_to_a_summary_stays(reply):
    assert summary_text(reply) == reply


CHECKLIST = "\n".join(f"{n}. Item {n} has these seven words in it." for n in range(1, 16))


@pytest.mark.parametrize(
    ("stage", "text", "problem"),
    [
        ("overall", "It solves PDEs.", "3 words"),
        ("method", CHECKLIST, "a checklist alone"),
        ("experiment", f"# Experiment\n{CHECKLIST}", "a checklist alone"),
        ("experiment", "word " * 79, "79 words"),
    ],
)
def test_what_is_not_whole_is_refused(stage, text, problem):
    with pytest.raises(CommandError, match=problem):
        require_whole(stage, text)


def test_what_is_whole_passes():
    require_whole("overall", "word " * 50)
    require_whole("method", "word " * 60 + "\n" + CHECKLIST)


def test_words_of_a_script_without_spaces_count() -> None:
    require_whole("method", CHINESE * 8)
    with pytest.raises(CommandError, match="not whole"):
        require_whole("method", CHINESE * 4)
