"""What a solver of masked functions is shown of the project and of the paper."""

from __future__ import annotations

from pathlib import Path

import pytest
from chat_server import Answer, chat_server

from autoreproduce.papers.sections import section_or_headings
from autoreproduce.plugins.autoexperiment.layout import lay_out
from autoreproduce.plugins.autoexperiment.retrieval import mentions
from autoreproduce.plugins.autoexperiment.surroundings import (
    called_elsewhere,
    most_similar,
    read_project,
)
from autoreproduce.plugins.autoexperiment.tasks import masked_of

TRAIN = """\
import tools.text as text
from tools import vectors
from tools.vectors import Scaler as Scale, unit
from .near import nearby
import os


def loss(a, b):
    raise NotImplementedError


def go(a):
    os.getcwd()
    return unit(a), Scale(2)(a), vectors.norm(a), text.clean("x"), nearby(1)
"""
VECTORS = '''\
def norm(a):
    """The Euclidean norm of a (n,)."""
    secret = sum(x * x for x in a)
    return secret**0.5


def unit(a, eps=1e-9):
    return [x / (norm(a) + eps) for x in a]


def unused(a):
    return a


class Scaler:
    """Scales."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, a):
        """By the factor."""
        return [self.factor * x for x in a]

    def other(self):
        return 1


def squared_loss(first, second):
    total = 0.0
    for one, other in zip(first, second):
        total += (one - other) ** 2
    return total / len(first)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "app/train.py": TRAIN,
        "app/near.py": "def nearby(n):\n    return n\n",
        "tools/__init__.py": "",
        "tools/vectors.py": VECTORS,
        "tools/text.py": "def clean(t):\n    return t.strip()\n",
        "broken.py": "def (:\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_a_file_imports_and_calls_is_shown_without_bodies(project: Path) -> None:
    found = "\n".join(called_elsewhere(read_project(project), "app/train.py"))
    assert "tools/vectors.py:\ndef norm(a):" in found and "The Euclidean norm of a (n,)." in found
    assert "def unit(a, eps=1e-09):" in found and "app/near.py:\ndef nearby(n):" in found
    assert "tools/text.py:\ndef clean(t):" in found
    assert "class Scaler:" in found and "def __call__(self, a):" in found
    for hidden in ("secret", "unused", "other", "getcwd", "return"):
        assert hidden not in found


def test_the_most_similar_function_is_shown_once_and_never_a_masked_one(project: Path) -> None:
    found, about = read_project(project), "loss the squared loss of first and second, total"
    masked = [("app/train.py", "loss")]
    shown = most_similar(found, masked, about, "")
    assert shown.startswith("tools/vectors.py:\ndef squared_loss(first, second):")
    assert most_similar(found, masked, about, VECTORS) == ""
    assert most_similar(found, [*masked, ("tools/vectors.py", "squared_loss")], about, "") == ""
    assert most_similar(found, masked, "nothing of the kind", "") == ""


def test_mentions_are_whole_words(project: Path) -> None:
    (project / "app" / "steps.py").write_text("global_step = 1\nstepped = global_step\n" * 60)
    (project / "app" / "uses.py").write_text("from model import step\n" + "x = 1\n" * 100)
    found = "".join(mentions(project, "model.py", ["Model.step#2"]))
    assert "app/uses.py" in found and "global_step" not in found


MARKDOWN = """\
# A title
Words.
## 3 Method
How.
### 3.1 Training schedule
Ten steps.
## 4 Results
Numbers.
"""
PLAIN = "A title\n\nWords.\n\n3 Method\n\nHow.\n\n3.1 Training schedule\n\nTen steps.\n\n4 Results\n\nNumbers.\n"

INLINE = """A title

1. The book. Readings of 1. and 2. order are
kept.

1. A list of one. It is no section.

2. Grade is what a reader of the whole book gives to it in the end.

It has steps.
"""


def test_a_section_whose_heading_runs_inline_is_found_by_number() -> None:
    book = section_or_headings(INLINE, "1")
    assert "order are\nkept." in book and "It is no section." in book and "Grade" not in book
    assert section_or_headings(INLINE, "section 2").endswith("It has steps.")
    assert section_or_headings(INLINE, "the book") == book
    listed = section_or_headings(INLINE, "3").splitlines()
    assert listed[1:] == ["1. The book", "2. Grade is what a reader of the whole …"]


@pytest.mark.parametrize("paper", [MARKDOWN, PLAIN])
def test_a_section_is_found_by_name_or_number(paper: str) -> None:
    assert "Ten steps." in section_or_headings(paper, "training schedule")
    whole = section_or_headings(paper, "Method")
    assert "How." in whole and "Ten steps." in whole and "Numbers." not in whole
    assert "Numbers." in section_or_headings(paper, "4") and "How." not in section_or_headings(
        paper, "4"
    )
    none = section_or_headings(paper, "Appendix Z")
    assert none.startswith("The paper has no section 'Appendix Z'") and "3.1 Training" in none


@pytest.mark.slow
def test_an_agent_asks_for_a_section_and_may_be_without_commands_and_readme(run, tmp_path):
    steps = [
        Answer("", tools=(("section", {"name": "the mean"}),)),
        Answer("", tools=(("shell", {"command": "ls"}),)),
        Answer("", tools=(("submit", {"answer": "{}"}),)),
    ]

    def script(request):
        return steps[sum(message["role"] == "assistant" for message in request.messages)]

    with chat_server(script) as server:
        run(server, solver="agentic", refsol=False, readme=False)
    names = {each["function"]["name"] for each in server.requests[0].body["tools"]}
    assert names == {"shell", "view", "edit", "section", "submit"}
    assert "refsol.sh" not in server.requests[0].prompt
    assert "The paper has no section 'the mean'" in server.requests[1].prompt
    assert "README" not in server.requests[2].prompt and "refsol" not in server.requests[2].prompt


@pytest.mark.slow
def test_without_the_commands_the_loop_is_refused_and_agentless_does_not_see_them(run):
    with chat_server(["~~~python\ndef mean(values):\n    return 1.0\n~~~"]) as server:
        refused = run(server, solver="autoreproduce", refsol=False)
        assert "choose --solver agentless" in refused.result.reason and not server.requests
        run(server, out="other", refsol=False)
    assert "python run.py --power" not in server.requests[0].prompt


@pytest.mark.slow
def test_the_full_code_is_the_task_with_no_function_masked(run, tmp_path):
    answer = '{"Experiment 1": {"mean": 4.0}}'
    with chat_server([Answer("", tools=(("submit", {"answer": answer}),))]) as server:
        done = run(server, solver="agentic", name="0101.00001_")
    assert done.result.metric == 1 and done.result.details["n"] == 0
    assert done.result.details["upstream"] is False  # by the answer, which lacks numbers
    masked = masked_of(done.task)
    lay_out(masked, tmp_path / "w")
    for file in masked.paper.code.rglob("*.py"):
        laid_out = tmp_path / "w" / file.relative_to(masked.paper.code)
        assert laid_out.read_bytes() == file.read_bytes()
