"""Suites from end to end in this process: what is run, kept, refused, retried and counted."""

import json
import os
from pathlib import Path

import pytest
import tiny
from chat_server import Answer, chat_server
from suite_world import asked, finish, lay_out, run

from autoreproduce.errors import PaperError, TrialError, UnreachableError, UsageError
from autoreproduce.evaluation.tables.rows import read_rows as finished_rows
from autoreproduce.plugins.suites.api import plan_suite, run_suite
from autoreproduce.plugins.suites.estimate import print_estimate
from autoreproduce.plugins.suites.plan import Plan
from autoreproduce.plugins.suites.results import read_rows
from autoreproduce.plugins.suites.run import SuiteRun, SuiteSummary
from autoreproduce.plugins.suites.suite_file import read_suite
from autoreproduce.plugins.suites.view import sums


@pytest.mark.slow
def test_tasks_times_variants_times_trials(tmp_path: Path) -> None:
    file = lay_out(
        tmp_path, ("one", "two"), trials=2, variants={"a": {}, "b": {"settings": {"k": 5}}}
    )
    with chat_server(lambda request: "7") as server:
        summary = run(file, server.base_url)
    assert summary.exit_code == 0
    assert summary.snapshot["counts"] == {
        "total": 8,
        "measured": 8,
        "failed": 0,
        "not scored": 0,
        "stopped": 0,
        "running": 0,
        "waiting": 0,
    }
    trials = {f"{task}/{k}/{seed}" for task in ("one", "two") for k in (3, 5) for seed in (0, 1)}
    assert asked(server) == {(trial, n): 1 for trial in trials for n in range(3)}


@pytest.mark.slow
def test_in_python_a_suite_returns_its_trials_and_says_what_was_left(tmp_path: Path) -> None:
    file, out = lay_out(tmp_path, ("one", "two")), tmp_path / "out"
    with chat_server(lambda request: "7") as server:
        asked = {"out": out, "trust": True, "base_url": server.base_url, "workers": 1}
        done = run_suite(file, **asked)
        short = run_suite(file, budget="1 tokens", trials=2, **asked)
    assert [(row["task"], row["variant"], row["status"]) for row in done.rows()] == [
        ("one", "default", "measured"),
        ("two", "default", "measured"),
    ]
    assert done.stopped == "" and "budget" in short.stopped, short.stopped


@pytest.mark.slow
def test_a_password_in_the_base_url_is_kept_nowhere(tmp_path: Path) -> None:
    file = lay_out(tmp_path, ("one",))
    with chat_server(lambda request: "7") as server:
        done = finish(file, server.base_url.replace("//", "//me:pa55word@"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and b"pa55word" in path.read_bytes()
    ]


@pytest.mark.slow
def test_the_same_command_runs_only_what_is_not_finished(tmp_path: Path) -> None:
    file = lay_out(tmp_path, ("one", "two"))
    with chat_server(lambda request: "7") as server:
        run(file, server.base_url, tasks=["one"])
        assert len(server.requests) == 3
        before = (tmp_path / "out/trials/one/default/1/steps.jsonl").read_bytes()
        summary = run(file, server.base_url)
        assert len(server.requests) == 6
        more = run(file, server.base_url, trials=2)
        assert len(server.requests) == 12
    assert (tmp_path / "out/trials/one/default/1/steps.jsonl").read_bytes() == before
    assert summary.snapshot["finished_before"] == 1
    assert more.snapshot["counts"]["measured"] == 4
    run(file, server.base_url, tasks=["two"])
    assert len(read_rows(tmp_path / "out")) == 4  # what earlier commands chose stays in the table


@pytest.mark.parametrize(
    ("change", "said"),
    [(["k=5"], "settings k: 3 → 5"), (["model=other"], "settings model: 'scripted' → 'other'")],
)
def test_changed_settings_are_refused_with_the_difference(
    tmp_path: Path, change: list[str], said: str
) -> None:
    file = lay_out(tmp_path)
    with chat_server(lambda request: "7") as server:
        run(file, server.base_url)
        with pytest.raises(UsageError, match="other content") as caught:
            run(file, server.base_url, *change)
        assert said in str(caught.value)
        assert caught.value.exit_code == 2
        assert (
            run(file, server.base_url, "max_retries=2", "memory_gb=3").snapshot["finished_before"]
            == 1
        )  # the machine's
        assert len(server.requests) == 3


@pytest.mark.slow
def test_a_variant_is_the_same_in_all_its_tasks_whatever_a_command_leaves_out(
    tmp_path: Path,
) -> None:
    file = lay_out(
        tmp_path, ("one", "two"), variants={"a": {}, "b": {"settings": {"max_debug": 1}}}
    )
    with chat_server(lambda request: "7") as server:
        run(file, server.base_url, tasks=["one"], variants=["a"])
        with pytest.raises(UsageError, match=r"one · a · 1 \(settings k: 3 → 5\)"):
            run(file, server.base_url, "k=5", tasks=["two"], trials=2)
        assert run(file, server.base_url, "k=5", tasks=["two"], variants=["b"]).exit_code == 0
        assert run(file, server.base_url, tasks=["two"], variants=["a"], trials=2).exit_code == 0


def test_a_changed_task_or_paper_is_refused_although_unfinished(tmp_path: Path) -> None:
    with chat_server([Answer("7"), Answer(status=401)]) as server:
        assert run(lay_out(tmp_path), server.base_url).exit_code == 4
        with pytest.raises(UsageError, match="task content"):
            run(lay_out(tmp_path, how={"calls": 4}), server.base_url)
        file = lay_out(tmp_path)
        (tmp_path / "paper.md").write_text("# Another\n")
        with pytest.raises(UsageError, match="paper: "):
            run(file, server.base_url)


def test_a_suite_of_an_earlier_version_resumes(tmp_path: Path) -> None:
    file = lay_out(tmp_path, ("one", "two"))
    with chat_server([*"7" * 4, Answer(status=401)]) as server:
        assert run(file, server.base_url, workers=1).exit_code == 4
    for path in tmp_path.glob("out/trials/*/*/*/job.json"):
        job = json.loads(path.read_text())
        own = job["more"]["suites"]
        parts = json.loads(own["mark"])["parts"]
        assert parts.pop("task") == own["task"]
        parts["task's paper"] = parts.pop("paper")
        head = {name: own[name] for name in ("task", "variant", "number")}
        own["mark"] = json.dumps({"suite": "counting", **head, "digest": "0", "parts": parts})
        path.write_text(json.dumps(job))
    with chat_server(lambda request: "7") as server:
        summary = run(file, server.base_url)
        assert (summary.exit_code, summary.snapshot["finished_before"]) == (0, 1)
        assert len(server.requests) == 2
        (tmp_path / "paper.md").write_text("# Another\n")
        with pytest.raises(UsageError, match=r"one · default · 1 and 1 more \(paper: "):
            run(file, server.base_url)


def test_a_solvers_failure_is_data(tmp_path: Path) -> None:
    with chat_server(lambda request: "no number") as server:
        summary = run(lay_out(tmp_path, ("one", "two")), server.base_url)
    assert summary.exit_code == 0
    assert summary.snapshot["counts"]["failed"] == 2
    assert {ended.reason for ended in summary.ended.values()} == {"the last reply holds no number"}


def test_empty_replies_are_the_solvers_failure_and_not_the_endpoints(tmp_path: Path) -> None:
    with chat_server(lambda request: "") as server:
        summary = run(lay_out(tmp_path), server.base_url)
    assert (summary.exit_code, summary.snapshot["counts"]["failed"]) == (0, 1)


@pytest.mark.slow
def test_an_endpoint_that_fails_is_tried_again_then_not_scored_and_goes_on_later(
    tmp_path: Path,
) -> None:
    """Of the failing trial the finished call is kept; the other trial is not touched by it."""
    down = True

    def answer(request):
        return (
            Answer(status=500)
            if down and "one/" in request.prompt and "call 1" in request.prompt
            else "7"
        )

    file = lay_out(tmp_path, ("one", "two"), retry_after=[0.0, 0.01])
    with chat_server(answer) as server:
        summary = run(file, server.base_url, "max_retries=1")
        assert summary.exit_code == 4
        counts = summary.snapshot["counts"]
        assert (counts["measured"], counts["not scored"]) == (1, 1)
        assert (
            asked(server)["one/3/0", 1] == 3 * 2
        )  # attempts of the trial, times those of the call
        assert asked(server)["one/3/0", 0] == 1
        ended = json.loads((tmp_path / "out/trials/one/default/1/ended.json").read_text())
        assert (ended["status"], ended["attempts"], ended["kind"]) == ("not scored", 3, "model")
        down = False
        assert run(file, server.base_url).exit_code == 0
        assert asked(server)["one/3/0", 0] == 1


@pytest.mark.parametrize(
    ("error", "again"), [(UnreachableError("arXiv is down"), True), (PaperError("no PDF"), False)]
)
def test_a_paper_that_cannot_be_fetched_is_tried_again_and_one_that_cannot_be_read_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: PaperError, again: bool
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("steps_solver.Steps.solve", fail)
    with chat_server([]) as server:
        run(lay_out(tmp_path, retry_after=[0.0]), server.base_url)
    ended = json.loads((tmp_path / "out/trials/one/default/1/ended.json").read_text())
    assert (ended["status"], ended["attempts"]) == ("not scored", 1 + again)


def test_an_endpoint_that_is_gone_ends_the_suite_instead_of_every_trial(tmp_path: Path) -> None:
    with chat_server(lambda request: "7") as server:
        gone = server.base_url
    summary = run(lay_out(tmp_path, trials=40), gone, "max_retries=0", workers=2)
    assert summary.exit_code == 4
    assert "in a row" in summary.reason
    assert summary.snapshot["counts"]["waiting"] > 30


def test_a_refused_key_is_not_tried_again(tmp_path: Path) -> None:
    with chat_server(lambda request: Answer(status=401, error={"message": "bad key"})) as server:
        summary = run(lay_out(tmp_path, retry_after=[60.0]), server.base_url)
        assert len(server.requests) == 1
    assert summary.exit_code == 4


@pytest.mark.slow
@pytest.mark.parametrize(("told", "over"), [(15, 0), (60, 10)])
def test_ten_workers_stay_within_the_suites_budget(tmp_path: Path, told: int, over: int) -> None:
    """Counted at the endpoint. A prompt is reckoned beforehand at some 30 tokens: where the
    provider counts fewer the limit holds to the last token, where it counts more it is passed by
    less than the calls in flight cost.
    """
    cost, calls = told + 20, 60
    limit = cost * calls // 2
    with chat_server(
        lambda request: Answer("7", prompt_tokens=told, completion_tokens=20, hang=0.02)
    ) as server:
        file = lay_out(tmp_path, trials=12, how={"calls": 5})
        summary = run(file, server.base_url, workers=10, budget=f"{limit} tokens")
        assert summary.exit_code == 3
        assert limit - 10 * 80 <= cost * len(server.requests) <= limit + over * cost
        assert summary.snapshot["tokens"] == cost * len(server.requests)
        made = len(server.requests)
        assert run(file, server.base_url, workers=10, budget=f"{limit} tokens").exit_code == 3
        assert len(server.requests) <= made + 1  # what was spent before counts
        assert run(file, server.base_url, workers=10, budget="20000 tokens").exit_code == 0
    assert asked(server) == {(f"one/3/{seed}", n): 1 for seed in range(12) for n in range(5)}


def test_a_budget_of_calls_counts_each_and_is_resumed(tmp_path: Path) -> None:
    file = lay_out(tmp_path, ("one", "two"))  # each trial asks three times
    with chat_server(lambda request: "7") as server:
        summary = run(file, server.base_url, workers=2, budget="4 calls")
        assert summary.exit_code == 3 and "budget of 4 calls" in summary.reason
        assert len(server.requests) == 4 and summary.snapshot["calls"] == 4
        again = run(file, server.base_url, workers=2, budget="4 calls")
        assert again.exit_code == 3 and len(server.requests) == 4
        shown = sums(again.snapshot)
        assert "4 of 4 calls" in shown
        assert run(file, server.base_url, workers=2, budget="6 calls").exit_code == 0
    assert len(server.requests) == 6


CLAUDE = """#!/usr/bin/env python3
import json, os, sys
if sys.argv[1:] == ["auth", "status"]:
    sys.exit(print(json.dumps({"loggedIn": True, "authMethod": "claude.ai"})))
asked = sys.stdin.read()
with open(os.environ["ASKED"], "a") as log:
    log.write("x")
usage = {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 20}
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "7",
                  "usage": usage}))
"""


@pytest.mark.slow
def test_a_plans_program_is_limited_in_calls_and_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").write_text(CLAUDE)
    (tmp_path / "bin" / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    file = lay_out(tmp_path / "suite", ("one", "two"), settings={"model": "claude-code"})

    def limited(budget: str) -> SuiteSummary:
        plan = Plan(read_suite(file))
        plan.choose()
        return SuiteRun(plan, tmp_path / "out", workers=2, budget=budget).run()

    with pytest.raises(UsageError, match=r"give it in calls or tokens"):
        limited("$5")
    assert not (tmp_path / "asked").exists()
    summary = limited("2 calls")
    assert summary.exit_code == 3 and (tmp_path / "asked").read_text() == "xx"
    assert (summary.snapshot["tokens"], summary.snapshot["cost"]) == (240, 0.0)
    assert limited("250 tokens").exit_code == 3
    assert (tmp_path / "asked").read_text() == "xx"  # the next would pass it
    done = limited("100k tokens")
    assert done.exit_code == 0 and (tmp_path / "asked").read_text() == "x" * 6
    assert done.snapshot["tokens"] == 720


def test_a_trials_own_budget_is_its_solvers_matter(tmp_path: Path) -> None:
    with chat_server(lambda request: "7") as server:
        variants = {"poor": {"settings": {"budget": "200 tokens"}}, "rich": {}}
        summary = run(lay_out(tmp_path, variants=variants), server.base_url, budget="100000 tokens")
    statuses = {planned.variant: ended.status for planned, ended in summary.ended.items()}
    assert statuses == {"poor": "failed", "rich": "measured"}
    assert summary.exit_code == 0
    told = {row.variant: (row.executed, row.metric) for row in finished_rows(tmp_path / "out")}
    assert told == {
        "poor": (0, None),
        "rich": (0, 7),
    }  # tables count it as the suite does; nothing is executed here


def test_dollars_need_a_price_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOREPRODUCE_API_KEY", "k")
    with chat_server(lambda request: "7") as server:
        file = lay_out(tmp_path)
        with pytest.raises(UsageError, match=r"variant default: the price of \w+ is unknown"):
            run(file, "https://gateway.example/v1", budget="$5")
        assert not (tmp_path / "out").exists()
        summary = run(file, server.base_url, "price='1,1,10'", budget="$5")
    assert summary.snapshot["cost"] == pytest.approx(3 * (100 * 1 + 20 * 10) / 1e6)


def test_a_trial_killed_before_its_outcome_is_not_taken_for_finished(tmp_path: Path) -> None:
    """The journal is replayed, no call is made again, and the outcome comes out the same."""
    file = lay_out(tmp_path)
    with chat_server(lambda request: "7") as server:
        run(file, server.base_url)
        path = tmp_path / "out/trials/one/default/1/result.json"
        whole = json.loads(path.read_text())
        path.unlink()
        summary = run(file, server.base_url)
        assert len(server.requests) == 3
        (path.parent / "report.html").unlink()
        run(file, server.base_url)
        assert (path.parent / "report.html").exists()
    assert summary.snapshot["finished_before"] == 0
    again = json.loads(path.read_text())
    times = {"cost": {}, "seal": ""}  # the seconds differ, and the seal is over them too
    assert {**again, **times} == {**whole, **times}
    assert summary.snapshot["tokens"] == 360


@pytest.mark.slow
def test_a_damaged_journal_stops_its_trial_alone(tmp_path: Path) -> None:
    file = lay_out(tmp_path, ("one", "two"), retry_after=[60.0])
    with chat_server([*"7" * 3, Answer(status=401), *"7" * 3]) as server:
        run(file, server.base_url, workers=1, tasks=["one"])
        (tmp_path / "out/trials/one/default/1/result.json").unlink()
        journal = tmp_path / "out/trials/one/default/1/steps.jsonl"
        journal.write_text("{not a step}\n" + journal.read_text())
        run(file, server.base_url, tasks=["two"])
        summary = run(file, server.base_url)
    assert summary.exit_code == 4
    assert {(planned.task, ended.status) for planned, ended in summary.ended.items()} == {
        ("one", "not scored"),
        ("two", "measured"),
    }
    assert "line 1 is damaged" in summary.reason


def test_one_runner_a_folder(tmp_path: Path) -> None:
    file, told = lay_out(tmp_path), []
    with chat_server(lambda request: "7") as server:

        def second(request):
            with pytest.raises(TrialError, match="watch"):
                run(file, server.base_url)
            told.append(1)
            return "7"

        with chat_server(second) as busy:
            assert run(file, busy.base_url).exit_code == 0
    assert len(told) == 3


def test_a_bug_in_a_solver_ends_its_trial_alone(tmp_path: Path) -> None:
    file = lay_out(
        tmp_path, ("one", "two"), variants={"good": {}, "bad": {"solver": "steps_solver:Raises"}}
    )
    with chat_server(lambda request: "7") as server:
        summary = run(file, server.base_url)
    assert summary.snapshot["counts"]["measured"] == 2
    assert summary.snapshot["counts"]["failed"] == 2
    reasons = [each.reason for each in summary.ended.values() if each.status == "failed"]
    assert len(reasons) == 2
    assert all("IndexError: no such step in " in each for each in reasons), reasons


@pytest.mark.parametrize("solver", ["steps_solver:Broken", "steps_solver:Stps"])
@pytest.mark.parametrize("dry", [False, True])
def test_a_solver_that_cannot_be_loaded_is_named_with_its_variant_before_anything_begins(
    tmp_path: Path, solver: str, dry: bool
) -> None:
    file = lay_out(tmp_path, variants={"good": {}, "bad": {"solver": solver}})
    with pytest.raises(UsageError, match=r"variant bad: .*steps_solver\.py.*(__init__|Steps\?)"):
        if dry:
            print_estimate(plan_suite(file, trust=True), tmp_path / "out", 1, None, False)
        else:
            run(file, "http://127.0.0.1:9/v1")
    assert not list((tmp_path / "out").glob("trials/*"))


def test_a_file_with_an_unknown_solver_says_so_instead_of_asking_for_trust(tmp_path: Path) -> None:
    file = lay_out(tmp_path, solver="autoreprodce")
    with pytest.raises(UsageError, match=r"solver: unknown solver .*did you mean autoreproduce\?"):
        plan_suite(file)


def test_a_solver_that_exits_ends_its_trial_alone(tmp_path: Path) -> None:
    file = lay_out(tmp_path, variants={"bad": {"solver": "steps_solver:Quits"}, "good": {}})
    with chat_server(lambda request: "7") as server:
        summary = run(file, server.base_url, workers=1)
    assert {p.variant: e.status for p, e in summary.ended.items()} == {
        "bad": "not scored",
        "good": "measured",
    }
    assert summary.exit_code == 4 and "SystemExit" in summary.reason


@pytest.mark.slow
def test_the_projects_own_solver_in_a_suite(tmp_path: Path) -> None:
    """The whole method on the tiny experiment, twice at once, under two variants, one of them
    without its debugging.
    """
    entry = {"name": "line", "metric": "squared_error", "paper": "paper.md", "data": "data"}
    variants = {"whole": {}, "no-debug": {"settings": {"debug": False}}}
    file = lay_out(
        tmp_path,
        variants=variants,
        solver="autoreproduce",
        tasks_=[entry],
        settings={"lineage": False, "max_output_tokens": 2000, "price": "1,1,1"},
    )
    tiny.lay_out(tmp_path)
    with chat_server(tiny.reply) as server:
        summary = run(file, server.base_url, workers=2, budget="$1")
    assert summary.exit_code == 0
    rows = {row["variant"]: row for row in read_rows(tmp_path / "out")}
    assert (rows["whole"]["status"], rows["no-debug"]["status"]) == ("measured", "failed")
    assert rows["whole"]["metric"] == pytest.approx(0, abs=1e-3)
    assert rows["no-debug"]["ended_in"] == "method_replication"
    assert rows["whole"]["cost"] > rows["no-debug"]["cost"] > 0
    assert rows["whole"]["seconds_full_run"] is not None
    assert summary.snapshot["cost"] == pytest.approx(sum(row["cost"] for row in rows.values()))


def test_an_edited_solver_is_refused_and_old_rows_are_not_shown_as_its(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    own = tmp_path / "edited_solver.py"
    own.write_text("from steps_solver import Steps\n")
    file = lay_out(tmp_path)
    file.write_text(file.read_text().replace("steps_solver:Steps", "edited_solver:Steps"))
    assert "edited_solver:" in file.read_text()
    with chat_server(lambda request: "7") as server:
        assert run(file, server.base_url).exit_code == 0
        assert run(file, server.base_url).snapshot["finished_before"] == 1
        own.write_text(own.read_text() + "LAYERS = 2\n")
        with pytest.raises(UsageError, match="solver's source"):
            run(file, server.base_url)
