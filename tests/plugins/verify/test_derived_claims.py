"""Repositories that write their numbers as people do: fractions, rows to be averaged, columns of
bounds, a file a seed. Each is run and read whole; the model only names what is taken of which rows.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server
from sandbox_fixtures import settings_for
from trial_results import verdict_of

from autoreproduce import verify
from autoreproduce.claims.claim import Claim
from autoreproduce.claims.verdicts.trial_verdict import TrialVerdict
from autoreproduce.plugins.verify.output_places import Places, statement_lines
from autoreproduce.runner.api_results import Reproduction

PAPER = """# Control under noise
## Experiments
We run each controller on three noise levels.

Table 1: Mean cost over the levels, with its 95 % interval.

| Method | Cost | Gap (%) |
|---|---|---|
| LQR | 22.0 | 7.48 |
| PID | 21.0 | 19.93 |
| MPC | 15.0 | 63.96 |

LQR costs 4.8 % more than PID.
"""
SUMMARY = """
import csv, math
rows = [("lqr", 1, 10.0), ("lqr", 2, 20.0), ("lqr", 3, 36.0), ("pid", 1, 12.0), ("pid", 2, 20.0)]
rows += [("pid", 3, 31.0), ("mpc", 1, 16.0), ("mpc", 2, 18.0), ("mpc", 3, 20.0)]
with open("summary.csv", "w", newline="") as file:
    csv.writer(file).writerows([("method", "level", "cost"), *rows])
for name, square in (("lqr", 0.005595), ("pid", 0.0397045), ("mpc", 0.4091393)):
    print(f"{name:10s} gap={math.sqrt(square):.5f}")
"""


def claim(row: str, column: str, value: str, metric: str, scale: str = "raw") -> str:
    return (
        f"- {{row: [{row}], column: [{column}], metric: {metric}, value: {value}, scale: {scale}, "
        "direction: match, table: Table 1}"
    )


def cost(method: str) -> dict[str, Any]:
    return {
        "take": "mean",
        "of": {"file": "summary.csv", "key": "cost", "where": {"method": method}},
    }


def verified(
    folder: Path, program: str, claims: list[str], *replies: dict[str, Any], **how: Any
) -> tuple[Reproduction, TrialVerdict, list[str]]:
    """The trial of `main.py`, its verdict, and the prompts."""
    (folder / "paper.md").write_text(PAPER)
    (folder / "code").mkdir()
    (folder / "code" / "main.py").write_text(program)
    texts = ["```yaml\n" + "\n".join(claims) + "\n```", '{"command": "python main.py"}']
    with chat_server([*texts, *map(json.dumps, replies)]) as server:
        given = {"model": "any", "base_url": server.base_url, "audit": False, **how}
        settings = settings_for("process", runs_dir=folder / "runs", **given)
        [done] = verify(folder / "code", paper=folder / "paper.md", settings=settings)
        prompts = [one.prompt for one in server.requests]
    assert isinstance(done, Reproduction)
    found = verdict_of(done.path)
    assert found is not None
    return done, found, prompts


@pytest.mark.slow
def test_means_over_rows_are_derived_and_the_one_that_is_off_is_said(tmp_path: Path) -> None:
    claims = [claim(m, "Cost", v, "cost") for m, v in (("LQR", "22.0"), ("PID", "21.0"))]
    claims.append(claim("MPC", "Cost", "15.0", "cost"))
    places = [{"id": f"{m}_cost", **cost(m)} for m in ("lqr", "pid", "mpc")]
    done, found, _ = verified(tmp_path, SUMMARY, claims, {"places": places})
    assert [one.verdict.mean for one in found.claims] == [22.0, 21.0, 18.0]
    words = "mean of cost in 3 rows of summary.csv where method = lqr"
    assert found.claims[0].derived == words
    assert done.result.sentence == (
        "Partly reproduced: MPC / Cost is 20 % above the paper; the other 2 hold."
    )
    assert words in (done.path / "report.html").read_text()
    assert words in done.result.model_dump_json()


@pytest.mark.slow
def test_printed_fractions_are_the_papers_percentages_in_every_digit(tmp_path: Path) -> None:
    numbers = (("LQR", "7.48"), ("PID", "19.93"), ("MPC", "63.96"))
    claims = [claim(m, "Gap (%)", v, "gap", "percent") for m, v in numbers]
    places = [
        {"id": f"{m}_gap", "of": {"file": "stdout", "key": "gap", "where": {"": m}}}
        for m in ("lqr", "pid", "mpc")
    ]
    done, _, _ = verified(tmp_path, SUMMARY, claims, {"places": places})
    said = "Reproduced: the code prints fractions; times 100 all 3 are equal."
    assert done.result.sentence == said
    assert "0.0748 %" not in (tmp_path / "runs").rglob("report.html").__next__().read_text()


@pytest.mark.slow
def test_fractions_that_are_off_are_compared_where_the_output_says_what_they_are(
    tmp_path: Path,
) -> None:
    claims = [claim("LQR", "Gap (%)", "7.48", "gap", "percent")]
    program = "print('share of the gap (0 to 1):', 0.1 * 0.6)\n"
    at = {"file": "stdout", "key": "share of the gap"}
    place = {"id": "lqr_gap", "of": at, "scale": "fraction"}
    _, found, _ = verified(tmp_path, program, claims, {"places": [place]})
    (one,) = found.claims
    assert (one.verdict.word, one.verdict.factor, one.verdict.mean) == ("off", 100, 6.0)


@pytest.mark.slow
def test_an_expression_that_names_nothing_is_refused_with_what_is_there(tmp_path: Path) -> None:
    claims = [claim(m, "Cost", v, "cost") for m, v in (("LQR", "22.0"), ("PID", "21.0"))]
    wrong = {"take": "mean", "of": {"file": "summary.csv", "key": "costs"}}
    first = {"places": [{"id": "lqr_cost", **cost("lqr")}, {"id": "pid_cost", **wrong}]}
    second = {"places": [{"id": "pid_cost", **wrong}]}
    done, found, prompts = verified(tmp_path, SUMMARY, claims, first, second)
    assert "pid_cost: summary.csv has no column 'costs': its columns are method" in prompts[-1]
    assert [one.verdict.word for one in found.claims] == ["reproduced", "not measured"]
    missing = done.result.details["sections"]["What wasn't found, and why"]
    assert missing[0][0] == "pid_cost" and "no column 'costs'" in missing[0][1]


@pytest.mark.slow
def test_a_relative_change_between_two_rows(tmp_path: Path) -> None:
    stated = (
        "- {row: [LQR], metric: cost more than PID, value: 4.8, scale: percent, direction: match, "
        "sentence: LQR costs 4.8 % more than PID}"
    )
    place = {
        "id": "lqr_cost_more_than_pid",
        "take": "change",
        "of": [cost("lqr"), cost("pid")],
        "then": "times 100",
    }
    _, found, _ = verified(tmp_path, SUMMARY, [stated], {"places": [place]})
    (one,) = found.claims
    assert one.verdict.word == "reproduced" and round(one.verdict.mean or 0, 2) == 4.76
    assert one.derived.startswith("relative change from mean of cost")


@pytest.mark.slow
def test_a_file_a_seed_gives_as_many_runs(tmp_path: Path) -> None:
    program = """
import json, os
for seed, cost in enumerate((21.0, 22.5, 22.8)):
    os.makedirs(f"out/seed{seed}")
    json.dump({"test": {"cost": cost * 1.0}}, open(f"out/seed{seed}/metrics.json", "w"))
"""
    old = tmp_path / "code" / "out" / "seed9"
    claims = [claim("LQR", "Cost", "22.0", "cost")]
    of = {"file": "out/*/metrics.json", "key": "test.cost"}
    place = {"id": "lqr_cost", "take": "mean", "of": of, "runs": True}
    _, found, _ = verified(tmp_path, program, claims, {"places": [place]})
    (one,) = found.claims
    assert one.verdict.values == (21.0, 22.5, 22.8) and one.verdict.word == "reproduced"
    assert not old.exists()


@pytest.mark.slow
def test_a_file_of_before_is_no_run_and_further_seeds_are_read_alike(tmp_path: Path) -> None:
    program = """
import json, os, sys
os.makedirs("out", exist_ok=True)
print("x" * int(sys.argv[1]) if len(sys.argv) > 1 else "")
json.dump({"cost": 22.0}, open("out/b.json", "w"))
"""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "out").mkdir()
    (tmp_path / "code" / "out" / "a.json").write_text('{"cost": 99.0}')
    (tmp_path / "code").rename(tmp_path / "given")
    claims = [claim("LQR", "Cost", "22.0", "cost")]
    place = {"id": "lqr_cost", "take": "mean", "of": {"file": "out/*.json", "key": "cost"}}
    (tmp_path / "paper.md").write_text(PAPER)
    (tmp_path / "given" / "main.py").write_text(program)
    texts = ["```yaml\n" + claims[0] + "\n```", '{"command": "python main.py"}']
    with chat_server([*texts, json.dumps({"places": [place]})]) as server:
        how = {"model": "any", "base_url": server.base_url, "audit": False, "seeds": 2}
        settings = settings_for("process", runs_dir=tmp_path / "runs", **how)
        [done] = verify(tmp_path / "given", paper=tmp_path / "paper.md", settings=settings)
    assert isinstance(done, Reproduction)
    found = verdict_of(done.path)
    assert found and [run.metrics["lqr_cost"] for run in found.runs] == [22.0, 22.0]


INTERVALS = """# Cost
Table 1: Cost with its 95 % interval over ten runs.

| Method | Cost | Lower | Upper |
|---|---|---|---|
| LQR | 22.00 | 21.45 | 22.55 |

The cost degrades gracefully with noise, whatever LQR does.
"""
RUNS = """
import csv
rows = [("run", "cost")] + [(n, 18.0 + n * 8 / 9) for n in range(10)]
with open("runs.csv", "w", newline="") as file:
    csv.writer(file).writerows(rows)
"""


@pytest.mark.slow
def test_an_interval_beside_its_number_is_claimed_and_held_against_the_codes(
    tmp_path: Path,
) -> None:
    """The paper's interval is narrower than the code's: nobody saw it, since the claim of an
    interval in other columns was refused.
    """
    (tmp_path / "paper.md").write_text(INTERVALS)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "main.py").write_text(RUNS)
    stated = """```yaml
claims:
- {row: [LQR], column: [Cost], metric: cost, value: 22.00, scale: raw, direction: match,
   interval: [21.45, 22.55], n: 10, table: Table 1}
- {row: [LQR], column: [Lower], metric: lower end of the 95 % interval, value: 21.45, scale: raw,
   direction: match, table: Table 1}
- {row: [LQR], column: [Upper], metric: upper end of the 95 % interval, value: 22.55, scale: raw,
   direction: match, table: Table 1}
notes:
- {kind: statement, what: no number decides it, quotes: [The cost degrades gracefully with noise]}
```"""
    cost = {"file": "runs.csv", "key": "cost"}
    ids = ["lqr_cost", "lqr_lower_end_of_the_95_interval"]
    places = [
        {"id": ids[0], "take": "mean", "of": cost, "runs": True},
        {"id": ids[1], "take": "lower", "of": cost},
        {"id": ids[1].replace("lower", "upper"), "take": "upper", "of": cost},
    ]
    replies = [stated, '{"command": "python main.py"}', json.dumps({"places": places})]
    with chat_server(replies) as server:
        how = {"model": "any", "base_url": server.base_url, "audit": False}
        settings = settings_for("process", runs_dir=tmp_path / "runs", **how)
        [done] = verify(tmp_path / "code", paper=tmp_path / "paper.md", settings=settings)
    assert isinstance(done, Reproduction)
    found = verdict_of(done.path)
    assert found is not None
    words = [one.verdict.word for one in found.claims]
    assert words[0] == "reproduced" and len(found.claims[0].verdict.values) == 10
    assert words[1:] == ["off", "off"]
    assert [round(one.verdict.mean or 0, 2) for one in found.claims[1:]] == [20.07, 23.93]
    title = "Statements that no rule judges, with the numbers beside them"
    [(quote, numbers)] = done.result.details["sections"][title]
    assert quote == '"The cost degrades gracefully with noise"'
    assert "LQR / Cost: paper 22.00, here 22" in numbers
    assert title in (done.path / "report.html").read_text()


@pytest.mark.parametrize(
    ("kind", "says"), [("order", "better than Alpha"), ("equal", "as good as Alpha")]
)
def test_what_is_said_in_words_has_no_number_of_the_papers(kind: str, says: str) -> None:
    claim = Claim(id="a", row=("Ours",), metric="cost", direction="lower", kind=kind,
                  than=("Alpha",), value=0, sentence="Ours has a lower cost than Alpha")  # fmt: skip
    [(_, numbers)] = statement_lines(["Ours is cheap"], [claim], Places([claim], {}))
    assert numbers == f"Ours: cost: paper {says}, here none"


@pytest.mark.slow
def test_a_run_without_any_of_the_numbers_couldnt_tell_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    (tmp_path / "paper.md").write_text(INTERVALS)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "main.py").write_text("print('saved a figure')\n")
    stated = """```yaml
- {row: [LQR], column: [Cost], metric: cost, value: 22.00, scale: raw, direction: match,
   table: Table 1}
```"""
    nothing = {"places": [], "missing": [{"id": "lqr_cost", "why": "only a figure is saved"}]}
    plan = '{"command": "python main.py"}'
    replies = [stated, *[plan, json.dumps(nothing)] * 3]
    with chat_server(replies) as server:
        how = {"model": "any", "base_url": server.base_url, "audit": False}
        settings = settings_for("process", runs_dir=tmp_path / "runs", **how)
        [done] = verify(tmp_path / "code", paper=tmp_path / "paper.md", settings=settings)
    assert isinstance(done, Reproduction)
    page = (done.path / "report.html").read_text()
    said = "it ran in full and gave no number: the paper&#39;s number isn&#39;t in what it printed"
    assert said in page and "only a figure is saved" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "word"),
    [
        ("print('cost=22.0 violations=0')\n", "not comparable"),
        ("bad = sum(x > 3 for x in [1, 2])\nprint(f'cost=22.0 violations={bad}')\n", "reproduced"),
        ("import os\nos.system('echo violations: 0')\n", "not comparable"),
    ],
)
def test_a_literal_of_one_digit_that_is_printed_with_its_name_is_no_measurement(
    tmp_path: Path, program: str, word: str
) -> None:
    stated = (
        "- {row: [LQR], metric: violations, value: 0.0, scale: raw, direction: match, "
        "sentence: LQR has 0.0 violations}"
    )
    paper = "# Control\nLQR has 0.0 violations in all of our runs.\n"
    place = {"id": "lqr_violations", "of": {"file": "stdout", "key": "violations"}}
    (tmp_path / "paper.md").write_text(paper)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "main.py").write_text(program)
    replies = [f"```yaml\n{stated}\n```", '{"command": "python main.py"}']
    with chat_server([*replies, json.dumps({"places": [place]})]) as server:
        how = {"model": "any", "base_url": server.base_url, "audit": False}
        settings = settings_for("process", runs_dir=tmp_path / "runs", **how)
        [done] = verify(tmp_path / "code", paper=tmp_path / "paper.md", settings=settings)
    assert isinstance(done, Reproduction)
    found = verdict_of(done.path)
    assert found and found.claims[0].verdict.word == word
