"""A trial's runs held against the paper's claims, and what is said if these cannot be compared."""

import json
from pathlib import Path

import pytest
from claim_maker import claim, file_of
from trial_results import trial_result

from autoreproduce.claims.choices import Choice
from autoreproduce.claims.claim import ClaimsFile, Spread
from autoreproduce.claims.verdicts.trial_verdict import SeedRun, TrialVerdict, claims_problem
from autoreproduce.errors import TrialError
from autoreproduce.evaluation.report.claims_table import claim_rows, ordering_lines, runs_line
from autoreproduce.evaluation.report.evidence import Evidence
from autoreproduce.evaluation.report.headline import headline
from autoreproduce.evaluation.verdict import SeedUse, judge_trial, same_numbers
from autoreproduce.task import Metric, ReferenceNumber, Task
from autoreproduce.trials.result import read_result

OURS = claim(94.3, spread=Spread(value=0.2, kind="std"), n=3, printed="94.3")
ALPHA = claim(92.0, id="alpha", row=("Alpha",), is_baseline=True)


def task_of(**fields: object) -> Task:
    metric = Metric(name="accuracy", direction="higher")
    return Task.model_validate(
        {"id": "t", "metric": metric, "instruction": "", "profile": "full", **fields}
    )


def runs_of(*values: float | None, recomputed: bool = False, name: str = "ours") -> list[SeedRun]:
    return [
        SeedRun(
            seed=seed,
            value=value,
            metrics={} if value is None else {"accuracy": value, name: value},
            recomputed=recomputed,
            reason="exit code 2" if value is None else "",
        )
        for seed, value in enumerate(values)
    ]


def judged(
    *values: float | None,
    claims: ClaimsFile | None = None,
    task: Task | None = None,
    recomputed: bool = False,
    **more: object,
) -> TrialVerdict:
    runs = runs_of(*values, recomputed=recomputed)
    outcome = trial_result(status="measured", reason="", metric=values[0], recomputed=recomputed)
    return judge_trial(task or task_of(), outcome, runs, claims, **more)  # type: ignore[arg-type]


def test_three_runs_reproduce_a_claim() -> None:
    found = judged(94.2, 94.4, 94.3, claims=file_of(OURS))
    assert found.sentence == "Reproduced: the paper says 94.3 %, the program measured 94.3."
    assert (found.level, found.overall.word) == ("good", "reproduced")
    assert found.mean == pytest.approx(94.3) and found.interval is not None
    assert found.claims_digest == file_of(OURS).digest
    said = runs_line(found)
    assert said.startswith("mean 94.3 (95 % interval of this mean 94.0") and "0, 1, 2" in said


def test_one_run_that_comes_close_is_told_how_it_is_repeated() -> None:
    takes = SeedUse("--seed", "--seeds 3 repeats it with other seeds, by --seed")
    found = judged(93.9, claims=file_of(OURS), seeds=takes)
    assert found.overall.word == "partly" and found.level == "mixed"
    assert "One run: --seeds 3 repeats it with other seeds, by --seed." in found.remarks
    without = judged(93.9, claims=file_of(OURS))
    assert "--seeds" not in " ".join((*without.remarks, without.sentence))
    reached = judged(94.3, claims=file_of(OURS), seeds=takes)
    assert (reached.overall.word, reached.level) == ("reproduced", "good")
    assert "--seeds" not in " ".join(reached.remarks)


@pytest.mark.parametrize("values", [(94.3, 94.3, 94.3), (94.2, 94.2)])
def test_runs_with_the_same_numbers_count_as_one_and_are_said_to(values: tuple[float, ...]) -> None:
    found = judged(*values, claims=file_of(OURS), seeds=SeedUse("--seed"))
    assert found.alike and found.interval is None and runs_line(found) == ""
    assert (found.overall.word, len(found.claims[0].verdict.values)) == ("partly", 1)
    said = f"{len(values)} runs gave the same numbers to the last digit, so they count as one: "
    assert f"{said}this program doesn't use its seed (--seed), or has no randomness." in (
        found.remarks
    )
    fixed = judged(*values, claims=file_of(OURS))  # its command takes no seed
    assert fixed.overall.word == "reproduced"
    assert f"{said}its command takes no seed, and nothing in it varies." in fixed.remarks


def test_one_run_whose_number_any_seed_gives_is_no_run_to_be_repeated() -> None:
    takes = SeedUse("--seed", "--seeds 3 repeats it with other seeds, by --seed")
    runs = [SeedRun(seed=0, value=93.9, metrics={"ours": 93.9}, any_seed=True)]
    outcome = trial_result(status="measured", reason="", metric=93.9)
    found = judge_trial(task_of(), outcome, runs, file_of(OURS), seeds=takes)
    assert found.overall.word == "partly" and "--seeds 3" not in " ".join(found.remarks)
    assert "Another seed gave the same numbers to the last digit" in " ".join(found.remarks)


def test_many_seeds_say_how_many_numbers_lie_in_their_middle() -> None:
    claims = [
        claim(value, id=name, row=(name,), scale="raw", printed=f"{value}")
        for name, value in (("a", 10.0), ("b", 20.3), ("c", 35.5))
    ]
    runs = [
        SeedRun(seed=n, value=10.0, in_process=n > 0, metrics={
            "a": 10 + (n % 7 - 3) / 5, "b": 20 + (n % 5 - 2) / 5, "c": 30 + (n % 3) / 5
        })
        for n in range(40)
    ]  # fmt: skip
    outcome = trial_result(status="measured", reason="", metric=10.0)
    found = judge_trial(task_of(), outcome, runs, file_of(*claims), seeds=SeedUse("--seed"))
    assert [one.verdict.word for one in found.claims] == ["reproduced", "reproduced", "off"]
    assert "2 of 3 numbers lie in the middle 95 % of the seeds." in found.remarks
    assert any(one.startswith("Seeds 1 to 39 ran one after the other") for one in found.remarks)


@pytest.mark.parametrize(
    ("many", "origin"),
    [
        (24, "recomputed in 1 of 25 runs, else the program's own word"),
        (2, "recomputed in 1 of 3 runs, else the program's own word"),
        (0, "recomputed"),
    ],
)
def test_what_was_recomputed_in_the_first_run_alone_is_said_so(many: int, origin: str) -> None:
    runs = [
        SeedRun(
            seed=n,
            value=94.3 + n / 1e3,
            metrics={"ours": 94.3 + n / 1e3},
            recomputed=not n,
            in_process=n > 0,
        )
        for n in range(1 + many)
    ]
    outcome = trial_result(status="measured", reason="", metric=94.3, recomputed=True)
    found = judge_trial(task_of(), outcome, runs, file_of(OURS))
    assert [row.origin for row in claim_rows(found)] == [origin]
    ended = outcome.model_copy(
        update={"claims": found, "sentence": found.sentence, "level": found.level}
    )
    told = headline(Evidence(Path("/none"), result=ended), task_of()).reasons
    assert any("their numbers are the program's own word" in one for one in told) == bool(many)


def test_where_one_number_varies_the_runs_are_several() -> None:
    runs = [
        SeedRun(seed=n, value=94.3, metrics={"ours": 94.3, "loss": 0.1 + n / 100}) for n in range(3)
    ]
    outcome = trial_result(status="measured", reason="", metric=94.3)
    found = judge_trial(task_of(), outcome, runs, file_of(OURS), seeds=SeedUse("--seed"))
    assert not found.alike and not any("count as one" in remark for remark in found.remarks)
    assert found.claims[0].verdict.repeats == 3


@pytest.mark.parametrize(
    ("numbers", "same"),
    [
        ([{"a": 1.0}, {"a": 1.0}], True),
        ([{"a": 1.0}, {}, {"a": 1.0}], True),  # one failed
        ([{"a": 1.0}, {}], False),
        ([{}, {}], False),
        ([], False),
        ([{"a": 1.0}], False),
        ([{"a": 1.0}, {"a": 1.0, "b": 2.0}], False),
        ([{"a": 0.1 + 0.2}, {"a": 0.3}], True),
        ([{"a": 0.883}, {"a": 0.8830004}], False),
    ],
)
def test_which_runs_gave_the_same_numbers(numbers: list[dict[str, float]], same: bool) -> None:
    runs = [SeedRun(seed=n, value=each.get("a"), metrics=each) for n, each in enumerate(numbers)]
    assert same_numbers(runs) is same


def test_a_number_that_nothing_recomputed_is_not_called_recomputed() -> None:
    """No run wrote the claim's key: all() over none of them was true."""
    runs = [SeedRun(seed=n, value=94.3 + n / 10, metrics={"accuracy": 94.3}) for n in range(2)]
    outcome = trial_result(status="measured", reason="", metric=94.3)
    found = judge_trial(task_of(), outcome, runs, file_of(OURS))
    assert found.claims[0].verdict.values and not found.claims[0].recomputed
    assert "Written by the program itself and not recomputed: ours." in found.remarks
    lone = judge_trial(task_of(), outcome, runs[:1], file_of(OURS))
    assert not lone.claims[0].recomputed
    mixed = [runs[0].model_copy(update={"recomputed": True}), runs[1]]
    assert not judge_trial(task_of(), outcome, mixed, file_of(OURS)).claims[0].recomputed


def several(*values: float | None, scale: str = "percent", **fields: object) -> TrialVerdict:
    """The verdict on as many claims, 10, 20, 30 ... as there are values, in one run."""
    claims = [
        claim(10.0 * (n + 1), id=f"c{n}", row=(f"M{n}",), printed=f"{10 * (n + 1)}.00", scale=scale)
        for n in range(len(values))
    ]
    metrics = {f"c{n}": value for n, value in enumerate(values) if value is not None}
    runs = [SeedRun(seed=0, value=1.0, metrics={"x": 1.0, **metrics})]
    outcome = trial_result(status="measured", reason="", metric=1.0)
    return judge_trial(task_of(), outcome, runs, file_of(*claims), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "level", "sentence"),
    [
        (
            (10.1, 15.0, 36.0, 30.0, 70.0, 45.0),
            "bad",
            "Not reproduced: 5 of 6 missed, 1 came close.",
        ),
        (
            (8.0, 15.0, 21.0),
            "bad",
            "Not reproduced: all 3 missed, each below the paper's: 0.7–0.8 times it.",
        ),
        (
            (13.0, 26.0, 39.1),
            "bad",
            "Not reproduced: all 3 missed, each about 1.3 times the paper's (is it another split "
            "or setting?).",
        ),
        (
            (10_000.0, 20_000.0, 30_010.0),
            "bad",
            "Not reproduced: all 3 missed, each about 1000 times the paper's (is the unit or the "
            "split another?).",
        ),
        ((10.0, 20.0, 36.6), "mixed", "Partly reproduced: M2 / CIFAR / Acc is 22 % above the paper; the other 2 hold."),
        (
            (10.0, 15.0, 36.0, 40.4),
            "mixed",
            "Partly reproduced: of the paper's 4 numbers, 2 were missed, 1 came close, 1 was "
            "reached.",
        ),
        (
            (10.0, 20.0, None),
            "mixed",
            "Partly reproduced: of the paper's 3 numbers, 1 wasn't measured, 2 were reached.",
        ),
        (
            (8.0, None, None),
            "bad",
            "Not reproduced: the one that was compared missed, 2 weren't measured.",
        ),
        ((None, None), "open", "Couldn't tell: the program gave none of the paper's 2 numbers."),
        (
            (0.1, 0.2, 0.3),
            "good",
            "Reproduced: the code prints fractions; times 100 all 3 are equal.",
        ),
        (
            (0.1, 0.2, 0.36),
            "mixed",
            "Partly reproduced: M2 / CIFAR / Acc is 20 % above the paper; the other 2 hold (the "
            "code prints fractions).",
        ),
        (
            (0.1, 20, 0.36),
            "mixed",
            "Partly reproduced: M2 / CIFAR / Acc is 20 % above the paper; the other 2 hold (the "
            "code prints 2 of them as fractions).",
        ),
        ((10.1, 20.1, 30.1), "mixed", "Partly reproduced: all 3 numbers came close to the paper's."),
    ],
)  # fmt: skip
def test_the_headline_says_the_most_telling_fact_first(
    values: tuple[float | None, ...], level: str, sentence: str
) -> None:
    found = several(*values)
    assert (found.sentence, found.level) == (sentence, level)


def test_what_was_not_measured_or_compared_is_grey_and_no_miss() -> None:
    rows = claim_rows(several(10.0, None, 0.21))
    assert [(row.word, row.level) for row in rows] == [
        ("reproduced", "good"), ("not measured", "open"), ("not comparable", "open")
    ]  # fmt: skip
    told = several(0.101, 0.21)
    assert (told.overall.word, told.level) == ("not comparable", "open")
    assert told.sentence.startswith(
        "Couldn't tell: none of the paper's 2 numbers could be compared"
    )


def test_a_measured_number_has_no_unit_that_its_program_did_not_give() -> None:
    rows = claim_rows(several(0.1, 0.2))
    assert [row.measured for row in rows] == ["0.1 (× 100 = 10)", "0.2 (× 100 = 20)"]
    assert [row.paper for row in rows] == ["10.00 %", "20.00 %"]


def test_a_number_that_another_method_reaches_is_no_clean_success() -> None:
    blind = task_of(number_cannot_tell="a plain network reaches it too")
    values = (94.2, 94.4, 94.3)
    found = judged(*values, claims=file_of(OURS), task=blind)
    assert found.level == "mixed" and not found.overall.meets("reproduced")
    assert "a plain network reaches it too" in " ".join(found.remarks)
    assert judged(*values, claims=file_of(OURS)).level == "good"


def test_the_recomputed_number_counts_and_not_what_the_program_wrote() -> None:
    runs = [SeedRun(seed=0, value=80.0, metrics={"ours": 94.3}, recomputed=True)]
    outcome = trial_result(status="measured", reason="", metric=80.0, recomputed=True)
    found = judge_trial(task_of(), outcome, runs, file_of(OURS))
    assert found.claims[0].verdict.mean == 80.0 and found.claims[0].recomputed
    assert found.overall.word == "not reproduced" and found.level == "bad"


def test_a_claim_of_another_row_is_taken_from_its_own_key() -> None:
    metrics = {"accuracy": 94.3, "ours": 94.3, "alpha": 92.1}
    runs = [SeedRun(seed=0, value=94.3, metrics=metrics)]
    outcome = trial_result(status="measured", reason="", metric=94.3)
    alpha = ALPHA.model_copy(update={"remark": "column unchecked"})
    found = judge_trial(task_of(), outcome, runs, file_of(OURS, alpha))
    assert {one.claim.id: one.verdict.mean for one in found.claims} == {"ours": 94.3, "alpha": 92.1}
    assert "Ours / CIFAR / Acc better than Alpha" in ordering_lines(found)[0]
    rows = claim_rows(found)
    assert [row.name.endswith("(baseline; column unchecked)") for row in rows] == [False, True]
    assert rows[0].paper == "94.3 %" and rows[0].origin == "written by the program"


@pytest.mark.parametrize(
    ("direction", "measured", "said"),
    [
        ("higher", 84.87, "-9.43 (10 % worse)"),
        ("higher", 99.015, "+4.72 (5 % better)"),
        ("lower", 99.015, "+4.72 (5 % worse)"),
        ("match", 99.015, "+4.72 (5 %)"),
        ("higher", 94.3, "+0"),
    ],
)
def test_a_difference_is_ours_minus_the_papers_and_says_which_way(
    direction: str, measured: float, said: str
) -> None:
    one = OURS.model_copy(update={"direction": direction})
    assert claim_rows(judged(measured, claims=file_of(one)))[0].difference == said


def test_a_run_without_a_number_leaves_the_claim_untestable() -> None:
    found = judged(94.3, None, claims=file_of(OURS))
    assert found.claims[0].verdict.word == "untestable"
    assert "seed 1: exit code 2" in found.remarks


def test_stand_in_data_leave_the_number_to_the_reference() -> None:
    small = task_of(
        profile="small",
        stand_in="Made here.",
        measured=ReferenceNumber(value=94.0, low=93.0, high=95.0),
    )
    found = judged(94.3, claims=file_of(OURS), task=small, recomputed=True)
    assert found.sentence == (
        "The program does as well as our reference on a small version of the experiment; "
        "its number is not comparable with the paper's."
    )
    assert (found.overall.word, found.level) == ("not comparable", "good")
    assert found.orderings == ()


def test_a_claim_says_itself_why_it_is_not_comparable() -> None:
    file = file_of(OURS.model_copy(update={"not_comparable": "other images"}))
    found = judged(94.3, claims=file)
    assert found.claims[0].verdict.why == "other images"
    assert found.sentence == (
        "Couldn't tell: the paper's 94.3 % could not be compared (other images)."
    )
    assert found.level == "open"


def test_a_choice_that_was_scaled_down_makes_the_claim_incomparable() -> None:
    choice = Choice(what="epochs", key="epochs", value=30, paper=300, kind="open", why="x")
    found = judged(94.3, claims=file_of(OURS), choices=[choice])
    assert found.claims[0].verdict.word == "not comparable"
    assert "scaled down: epochs 30 for 300" in found.claims[0].verdict.why


def test_without_claims_and_a_reference_the_number_stands_alone() -> None:
    none = ClaimsFile(paper="P", none_because="it prints figures only.")
    alone = "Ran in full: accuracy 94.3, with nothing here to hold it against."
    assert judged(94.3, claims=none).sentence == judged(94.3).sentence == alone


def test_a_verdict_is_read_again_and_a_damaged_one_refused(tmp_path: Path) -> None:
    assert read_result(tmp_path) is None
    result = trial_result(metric=94.2, claims=judged(94.2, 94.4, claims=file_of(OURS)))
    (tmp_path / "result.json").write_text(result.model_dump_json())
    again = read_result(tmp_path)
    assert again and again.model_dump() == result.model_dump()
    (tmp_path / "result.json").write_text("[]")
    with pytest.raises(TrialError, match="is damaged"):
        read_result(tmp_path)


def test_claims_that_were_altered_afterwards_are_named(tmp_path: Path) -> None:
    found = judged(94.2, 94.4, claims=file_of(OURS))
    path = tmp_path / "claims.json"
    path.write_text(file_of(OURS).to_json())
    assert claims_problem(tmp_path, found) == ""
    content = json.loads(path.read_text())
    content["claims"][0]["value"] = 90.0
    path.write_text(json.dumps(content))
    assert "changed after it was frozen" in claims_problem(tmp_path, found)
    path.write_text(file_of(OURS.model_copy(update={"value": 90.0})).to_json())  # a new digest
    assert "is not the one" in claims_problem(tmp_path, found)
