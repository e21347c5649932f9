"""A paper's numbers are read once for all commands: real trials and plans, with a chat server that
counts what it's asked.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from chat_server import Server, chat_server

from autoreproduce import verify
from autoreproduce.config import Settings
from autoreproduce.job import Job
from autoreproduce.models.budget import Budget
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.runner.whole_paper.plan import PlannedPaper, named_paper, plan_paper
from autoreproduce.runner.whole_paper.run import reproduce_experiments

CLAIM = (
    "{{row: [{row}], column: [squared error], metric: squared_error, direction: lower,"
    " value: {value}, table: {table}, main: true}}"
)
FIRST = CLAIM.format(row="Descent", value="0.012", table="Table 1")
GUESS = CLAIM.format(row="Guess", value="3.5", table="Table 1")
NOTE = '{kind: missing setting, what: "no seed is said", quotes: ["Fewer points"]}'
EXPERIMENT = """- name: {name}
  what: Descent on points of a line
  main: {main}
  dataset: points of a line
  data: given
  metrics:
  - {{name: squared_error, direction: lower}}
  minutes: 0.5
  instruction: Fit the line.
  claims: {claims}
"""
PROGRAM = 'print("Descent", 3 / 250)\nprint("Guess", 7 / 2)\n'
PRINTED = ("Descent 0.012", "Guess 3.5")


class Asked:
    """What the server was asked: `plan`, `claims`, or any other question of a trial."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.plan_claims = {"Table 1": f"[{FIRST}]", "Table 2": "[]"}

    def __call__(self, request: Any) -> str:
        prompt = request.messages[-1]["content"]
        asked = prompt.rsplit("# What is asked", 1)[-1]
        if "List the experiments" in asked:
            self.kinds.append("plan")
            known = "Those of Table 1 are known already" in asked
            rows = [
                EXPERIMENT.format(
                    name=name,
                    main="true" if name == "Table 1" else "false",
                    claims="[]" if known and name == "Table 1" else claims,
                )
                for name, claims in self.plan_claims.items()
            ]
            return f"```yaml\nexperiments:\n{''.join(rows)}notes:\n- {NOTE}\n```"
        if "Write down the numbers" in asked:
            self.kinds.append("claims")
            if "Read the paper once" in asked:
                nothing = "none_because: the paper reports the squared error without a number"
                return tiny.READING.replace(nothing, f"claims:\n- {FIRST}\n- {GUESS}")
            return f"```yaml\nclaims:\n- {FIRST}\n- {GUESS}\nnotes:\n- {NOTE}\n```"
        self.kinds.append("other")
        if "Say how this code is run" in asked:
            return json.dumps({"command": "python run_it.py"})
        if "The numbers that are looked for" in prompt:
            said = enumerate(PRINTED, 1)
            names = [line.split("`")[1] for line in prompt.splitlines() if line.startswith("- `")]
            lines = {"guess": 2}
            texts = dict(said)
            return json.dumps(
                {
                    "places": [
                        {
                            "id": name,
                            "of": {
                                "file": "stdout",
                                "line": (n := lines.get(name.split("_")[0], 1)),
                                "number": 1,
                                "text": texts[n],
                            },
                        }
                        for name in names
                    ]
                }
            )
        if "The program is final" in asked:
            return '{"note": "", "reading": {}}'
        return tiny.reply(request)

    def count(self, kind: str) -> int:
        return self.kinds.count(kind)


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def server(asked: Asked) -> Iterator[Server]:
    with chat_server(asked) as found:
        yield found


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tiny.lay_out_paper(tmp_path)
    (tmp_path / "code").mkdir()
    (tmp_path / "code/run_it.py").write_text(PROGRAM)
    return tmp_path / "code"


def settings(server: Server, **more: Any) -> Settings:
    return tiny.settings(**{"base_url": server.base_url, "audit": False, **more})


def planned(server: Server, notes: list[str] | None = None) -> PlannedPaper:
    notes = [] if notes is None else notes
    return plan_paper(
        named_paper("paper.md", Settings()), settings(server), Budget(), notes.append, Path("data")
    )


def verified(code: Path, server: Server, experiment: str = "Table 1", **more: Any) -> Reproduction:
    given = {name: more.pop(name) for name in ("instruction", "trial", "run") if name in more}
    [done] = verify(
        code, paper="paper.md", experiment=experiment, settings=settings(server, **more), **given
    )
    return done


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Table 1", "tab. I", ""])
def test_a_plans_claims_are_those_of_verify(
    code: Path, server: Server, asked: Asked, name: str
) -> None:
    planned(server)
    done = verified(code, server, name)
    assert asked.kinds == ["plan", "other", "other"]
    assert [one.claim.value for one in done.claims] == [0.012]
    assert done.result.verdict == "reproduced"
    [(told, _)] = done.result.details["sections"]["How the paper was read"]
    assert "scripted read the paper's numbers on 20" in told and "for a plan" in told
    notes = done.result.details["sections"]["Notes on the paper"]
    assert notes[0][0] == "missing setting: no seed is said"
    page = (done.path / "report.html").read_text()
    assert "<span>code</span>" not in page and ("<span>Table 1</span>" in page) == (
        name == "Table 1"
    )
    assert "experiment on code" not in "".join(request.prompt for request in server.requests)
    assert "not paid again. To have them read anew, remove" in page
    place = Path(told.rpartition("remove ")[2])
    assert place.is_file()
    place.unlink()
    again = verified(code, server, name, seed=1)  # another trial
    assert asked.count("claims") == 1 and len(again.claims) == 2


@pytest.mark.slow
def test_a_plan_leaves_out_what_verify_has_read(code: Path, server: Server, asked: Asked) -> None:
    verified(code, server, "Tab. 1")
    notes: list[str] = []
    plan = planned(server, notes).plan
    assert asked.kinds == ["claims", "other", "other", "plan"]
    first, second = plan.experiments
    assert [claim.value for claim in first.claims] == [0.012, 3.5] and not second.claims
    assert any("Table 1: scripted read the paper's numbers" in note for note in notes)
    verified(code, server, "Table 2")  # the plan has no numbers of it: they are read
    assert asked.count("claims") == 2


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["paper", "evidence"])
def test_reproduce_and_verify_read_once_whichever_comes_first(
    code: Path, server: Server, asked: Asked, effort: str
) -> None:
    asked.plan_claims["Table 1"] = "[]"  # the plan itself has read none
    job = Job(
        paper=Path("paper.md"),
        experiments=("Table 1",),
        settings=settings(server, effort=effort),
        data=Path("data"),
    )
    done = reproduce_experiments(job, lambda text: None)
    assert [trial.result.status for trial in done.trials] == ["measured"]
    assert asked.count("claims") == 1
    checked = verified(code, server)
    assert asked.count("claims") == 1 and len(checked.claims) == 2
    assert checked.result.verdict == "reproduced"
    other = reproduce_experiments(job.having(number=2), lambda text: None)
    assert other.trials[0].result.status == "measured"
    assert asked.count("claims") == 2  # a further attempt is one from the start


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["paper", "evidence"])
def test_reproduce_takes_what_verify_has_read(
    code: Path, server: Server, asked: Asked, effort: str
) -> None:
    verified(code, server)
    job = Job(
        paper=Path("paper.md"),
        experiments=("Table 1",),
        settings=settings(server, effort=effort),
        data=Path("data"),
    )
    [trial] = reproduce_experiments(job, lambda text: None).trials
    assert trial.result.status == "measured"
    assert asked.count("claims") == 1 and asked.count("plan") == 1
    assert {one.claim.value for one in trial.claims} == {0.012, 3.5}
    assert "that reading is used, and not paid again" in (trial.path / "report.html").read_text()


@pytest.mark.slow
def test_other_code_of_the_paper_shares_it_and_what_else_is_asked_does_not(
    code: Path, server: Server, asked: Asked
) -> None:
    verified(code, server)
    (code / "README.md").write_text("Other code now\n")
    verified(code, server, seed=1, run="python run_it.py")
    assert asked.count("claims") == 1
    verified(code, server, seed=2, instruction="Only the left half of the table.")
    verified(code, server, model="another")
    verified(code, server, trial=2)
    assert asked.count("claims") == 4
    text = Path("paper.md").read_text().replace("Fewer points.", "Fewer points, as revised.")
    Path("paper.md").write_text(text)
    verified(code, server)
    assert asked.count("claims") == 5


@pytest.mark.slow
def test_a_stored_reading_of_elsewhere_is_not_taken(
    code: Path, server: Server, asked: Asked, tmp_path: Path
) -> None:
    verified(code, server)
    verified(code, server, seed=1, cache_dir=tmp_path / "another-machine")
    assert asked.count("claims") == 2


@pytest.mark.slow
def test_a_trial_with_a_stored_reading_is_resumed_without_it(
    code: Path, server: Server, asked: Asked
) -> None:
    verified(code, server)
    with chat_server(["nothing usable"] * 2) as other:
        stopped = verified(code, server, seed=1, base_url=other.base_url, budget="1 tokens")
    assert stopped.result.status == "stopped"
    [stored] = Path("runs/papers/readings").rglob("*.json")
    stored.unlink()
    done = verified(code, server, seed=1)
    assert done.result.verdict == "reproduced" and asked.count("claims") == 1
