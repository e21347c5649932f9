"""`verify` with its audit: a planted leak is named, run the paper's way, and said first."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from chat_server import chat_server
from sandbox_fixtures import settings_for
from typer.testing import CliRunner

from autoreproduce.claims.differences import Audit, Difference
from autoreproduce.cli.app import app
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.report.audit_page import audited_sentence, effect_lines
from autoreproduce.plugins.verify.verify import verify

pytestmark = pytest.mark.slow
PAPER = """# Counting
## Method
The mean is taken over the test rows alone, which are the last four.

## Results
Our counter has a score of 3.5.
"""
PROGRAM = """ROWS = [1, 2, 3, 4, 5, 6, 3, 4]
test = ROWS[:]
print("score", sum(test) / len(test))
"""
CLAIMS = """```yaml
- {row: [counter], metric: score, direction: match, value: 3.5, scale: raw,
   sentence: Our counter has a score of 3.5}
```"""
LEAK = {
    "kind": "leak", "says": "the last four rows are for testing", "does": "scores all rows",
    "paper": "over the test rows alone, which are the last four", "file": "count.py", "first": 2,
    "code": "test = ROWS[:]", "moves": "yes", "claims": ["counter_score"], "sure": "high",
    "replacement": {"file": "count.py", "old": "ROWS[:]", "new": "ROWS[-4:]"},
}  # fmt: skip


def test_a_leak_is_named_run_and_said_first(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "count.py").write_text(PROGRAM)
    (tmp_path / "paper.md").write_text(PAPER)
    place = {"id": "counter_score", "file": "stdout", "line": 1, "number": 1, "text": "score 3.5"}
    replies = [
        CLAIMS,
        json.dumps({"command": "python count.py", "packages": [], "why": "the only script"}),
        json.dumps({"places": [place]}),
        json.dumps({"items": [LEAK]}),
        json.dumps({"items": [{"id": "D1", "holds": True, "why": "all rows are taken"}]}),
    ]
    with chat_server(replies) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url, audit=True
        )
        [done] = verify(code, settings=settings, paper=tmp_path / "paper.md")
        assert len(server.requests) == len(replies)
        assert "3.5" not in server.requests[3].prompt.split("# The code")[0]  # withheld
    audit = done.result.audit
    assert audit is not None
    [one] = audit.differences
    assert [(e.before, e.after) for e in one.effects] == [(3.5, 4.5)] and one.confirmed
    assert done.result.sentence.startswith("Reproduced, but not as stated (scores all rows)")
    assert done.result.level == "mixed" and done.result.metric == 3.5
    page = done.report.read_text()
    assert "count.py, line 2" in page and "3.5 → 4.5" in page

    def printed(*arguments: str) -> str:
        ran = CliRunner().invoke(app, ["report", str(done.path), *arguments])
        assert ran.exit_code == 0, ran.output
        return ran.output

    issue = printed("--issue")
    assert (
        "> over the test rows alone" in issue and "test = ROWS[:]" in issue and "3.5 → 4.5" in issue
    )
    for nowhere in (tmp_path, tmp_path / "none" / "found.sarif"):
        ran = CliRunner().invoke(app, ["report", str(done.path), "--sarif", str(nowhere)])
        assert isinstance(ran.exception, UsageError) and "--sarif" in str(ran.exception)
    printed("--sarif", str(tmp_path / "found.sarif"))
    sarif = json.loads((tmp_path / "found.sarif").read_text())
    [found] = sarif["runs"][0]["results"]
    place = found["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "count.py"},
        "region": {"startLine": 2, "endLine": 2},
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("reproduced", "reproduced"), "done the paper's way, 2 more numbers are reached."),
        (("reproduced", "close"), "done the paper's way, 1 more number is reached."),
        (("close", "off"), "as a run showed (scores all rows)."),
    ],
)
def test_what_the_papers_way_reaches_is_in_the_sentence(words: tuple[str, str], said: str) -> None:
    effects = [
        {"claim": name, "before": 9.553, "after": 9.702, "word": word}
        for name, word in zip("ab", words, strict=True)
    ]
    leak = Difference.model_validate({**LEAK, "id": "D1", "effects": effects})
    missed = [
        SimpleNamespace(claim=SimpleNamespace(id=name), verdict=SimpleNamespace(word="off"))
        for name in "ab"
    ]
    result = SimpleNamespace(audit=Audit(differences=(leak,)), judged=missed, claims=None)
    sentence = audited_sentence("Not reproduced: all 2 missed.", result)
    assert sentence.endswith(said)


def test_the_sentence_names_a_difference_in_brief() -> None:
    effect = {"claim": "a", "before": 9.553, "after": 9.702, "word": "close"}
    does = f"stops at k = 8 {'whatever the ratio is ' * 9}; the cap binds at α = 2"
    long = Difference.model_validate({**LEAK, "does": does, "id": "D1", "effects": [effect]})
    result = SimpleNamespace(audit=Audit(differences=(long,)), judged=[], claims=None)
    sentence = audited_sentence("Not reproduced: all 2 missed.", result)
    assert "(stops at k = 8 whatever" in sentence and sentence.endswith(" …).")
    assert "cap" not in sentence and len(sentence) < 280


@pytest.mark.parametrize("assumes", ["", "λ = 0.95"])
def test_a_run_with_values_of_ours_says_so_and_makes_nothing_not_as_stated(assumes: str) -> None:
    facts = {**LEAK, "kind": "model", "assumes": assumes}
    effect = {"claim": "counter_score", "before": 3.5, "after": 4.5, "word": "off"}
    one = Difference.model_validate({**facts, "effects": [effect]})
    lines = effect_lines(one, {})
    assert lines[0] == "counter_score: 3.5 → 4.5 (missed)"
    assert lines[1:] == ["by values of ours, which the paper leaves open: λ = 0.95"] * bool(assumes)
    assert one.confirmed and one.undoes("counter_score") == (None if assumes else 4.5)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("apps/M_Liu.m", "M = eye(2);\nM(2, 2) = x(2);\n", "M(2, 2) = x(2);"),
        ("run.bat", "rem a run\npython a.exe --split 0.4\n", "python a.exe --split 0.4"),
        ("Makefile", "all:\n\t./a --epochs 20\n", "./a --epochs 20"),
        ("conf/net.jsonnet", "{\n  use_jinc: false,\n}\n", "use_jinc: false,"),
    ],
)
def test_every_kind_of_program_is_audited_and_what_is_not_read_is_named(
    tmp_path: Path, name: str, text: str, line: str
) -> None:
    code = tmp_path / "code"
    (code / name).parent.mkdir(parents=True)
    (code / name).write_text(text)
    (code / "fig.png").write_bytes(b"\x89PNG")
    (code / "large.m").write_text("x = 1;\n" * 200_000)
    (tmp_path / "paper.md").write_text(PAPER)
    item = {
        **LEAK, "kind": "model", "file": name, "code": line, "claims": [], "replacement": None,
    }  # fmt: skip
    more = [
        {**item, "says": "", "paper": "", "does": "draws once", "moves": "no"},
        {**item, "says": "ten folds", "paper": "ten folds are averaged"},
        {
            **item,
            "says": "a mean",
            "paper": "The mean is taken over the test rows",
            "kind": "metric",
        },
    ]
    looks = [{"id": "D3", "answer": "wrong", "why": "a mean is taken"}]
    replies = [json.dumps({"items": [item, *more]}), json.dumps({"items": looks})]
    with chat_server(replies) as server:
        ran = CliRunner().invoke(
            app,
            [
                "audit", str(code), "--paper", str(tmp_path / "paper.md"), "--model", "any",
                "--base-url", server.base_url, "--runs-dir", str(tmp_path / "runs"),
            ],
            env={"AUTOREPRODUCE_CACHE_DIR": str(tmp_path / "cache")},
        )  # fmt: skip
        assert ran.exit_code == 0, ran.output
    assert f"D1 {name}, line 2 (model; can move a number)" in ran.output
    assert f"moves no number that it states:\n   {name}, line 2: draws once\n" in ran.output
    assert "dropped by rules: 1\n   ten folds: the paper doesn't have these words" in ran.output
    assert "dropped by a second reader: 1\n   a mean: a mean is taken\n" in ran.output
    assert "fig.png (no code)" in ran.output
    assert "large.m (larger than 1,000,000 bytes)" in ran.output


@pytest.mark.parametrize(
    ("file", "line", "new", "shown"),
    [
        ("count.ipynb", "ROWS[:]", "ROWS[-4:]", "3.5 → 4.5"),
        ("count.ipynb", "# %time", "1", "replacement can&#39;t be made in count.ipynb"),
    ],
)
def test_a_notebook_is_run_with_the_papers_way_or_it_is_said(
    tmp_path: Path, file: str, line: str, new: str, shown: str
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    rows, test, score, _ = PROGRAM.split("\n")
    cells = [rows, "%time\n" + test, score]
    (code / file).write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})
    )
    (code / "run.py").write_text(
        "import json\n"
        "for cell in json.load(open('count.ipynb'))['cells']:\n"
        "    exec(''.join(cell['source']).replace('%time', ''))\n"
    )
    (tmp_path / "paper.md").write_text(PAPER)
    place = {"id": "counter_score", "file": "stdout", "line": 1, "number": 1, "text": "score 3.5"}
    leak = {
        **LEAK, "file": file, "replacement": {"file": file, "old": line, "new": new},
    }  # fmt: skip
    replies = [
        CLAIMS,
        json.dumps({"command": "python run.py", "packages": [], "why": "the only script"}),
        json.dumps({"places": [place]}),
        json.dumps({"items": [leak]}),
        json.dumps({"items": []}),
    ]
    with chat_server(replies) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url, audit=True
        )
        [done] = verify(code, settings=settings, paper=tmp_path / "paper.md")
        assert "## count.ipynb\n~~~~\n   1|# %% cell 1\n" in server.requests[3].prompt
    page = done.report.read_text()
    assert "count.ipynb, cell 2" in page and shown in page


@pytest.mark.parametrize("command", ["python main.py", "cd src && sh far.sh", "python a/b.py -x 1"])
def test_a_command_none_of_whose_files_is_there_is_an_error(tmp_path: Path, command: str) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "fit.py").write_text("x = 1\n")
    (tmp_path / "paper.md").write_text(PAPER)
    given = ["audit", str(code), "--paper", str(tmp_path / "paper.md"), "--model", "any"]
    ran = CliRunner().invoke(app, [*given, "--run", command])
    assert isinstance(ran.exception, UsageError) and "--run names" in str(ran.exception)
    assert "leave --run out" in (ran.exception.fix or "")
