"""Orderings, and the verdict on the whole."""

import pytest
from claim_maker import claim, file_of

from autoreproduce.claims.verdicts.comparable import MeasuredAs
from autoreproduce.claims.verdicts.one_claim import Verdict
from autoreproduce.claims.verdicts.orderings import (
    judge_ordering,
    judge_orderings,
    orderings,
    sign_test,
)
from autoreproduce.claims.verdicts.overall import Method, Overall, overall

OURS = claim(94.3)
ALPHA = claim(92.0, id="alpha", row=("Alpha",), is_baseline=True)


def runs(*values: float, **fields: object) -> MeasuredAs:
    return MeasuredAs(values=values, **fields)  # type: ignore[arg-type]


def order(ours: MeasuredAs | None, theirs: MeasuredAs | None) -> str:
    return judge_ordering(OURS, ALPHA, ours, theirs).word


def test_an_ordering_holds_from_five_seeds_on() -> None:
    assert order(runs(2, 3, 4, 5, 6), runs(1, 2, 3, 4, 5)) == "holds"
    assert order(runs(2, 3, 4), runs(1, 2, 3)) == "same direction only"
    assert order(runs(2.0), runs(1.0)) == "same direction only"
    assert order(runs(1, 1, 1, 1, 1), runs(2, 2, 2, 2, 2)) == "does not hold"
    assert order(runs(2, 2), runs(2, 2)) == "does not hold"
    assert order(runs(9, 3, 4, 5, 1), runs(1, 2, 3, 4, 5)) == "same direction only"


def test_runs_that_were_the_same_call_for_no_more_seeds() -> None:
    judged = judge_ordering(OURS, ALPHA, runs(2, 2), runs(1, 1))
    assert judged.word == "same direction only" and "2 runs were the same" in judged.why
    assert "more seeds would tell" in judge_ordering(OURS, ALPHA, runs(2), runs(1)).why
    alike = runs(2, alike=True), runs(1, alike=True)
    assert "any seed gives the same" in judge_ordering(OURS, ALPHA, *alike).why


def test_seeds_pair_the_runs() -> None:
    ours = runs(2, 3, 4, 5, 6, seeds=(0, 1, 2, 3, 4))
    assert order(ours, runs(5, 4, 3, 2, 1, seeds=(4, 3, 2, 1, 0))) == "holds"
    assert order(ours, runs(1, 2, seeds=(0, 7))) == "same direction only"
    assert "not paired" in judge_ordering(OURS, ALPHA, runs(2, 3), runs(1)).why


def test_what_cannot_be_ordered() -> None:
    assert order(None, runs(1)) == "not measured"
    assert order(runs(), runs(1)) == "not measured"
    assert order(runs(float("nan")), runs(1)) == "not measured"
    assert order(runs(0.9, scale="fraction"), runs(90, scale="percent")) == "not measured"


def test_chance_is_two_to_the_minus_m() -> None:
    assert [sign_test(m, 0) for m in (1, 3, 5)] == [0.5, 0.125, 0.03125]
    assert sign_test(0, 0) == 1
    assert sign_test(4, 1) == pytest.approx(6 / 32)


def test_orderings_come_from_the_baselines_of_a_table() -> None:
    better = claim(95.0, id="oracle", row=("Oracle",), is_baseline=True)
    same = claim(94.3, id="same", row=("Same",), is_baseline=True)
    lower = claim(
        1.0, id="loss", metric="loss", direction="lower", is_baseline=True, row=("Alpha",)
    )
    file = file_of(OURS, ALPHA, better, same, lower)
    assert [(a.id, b.id) for a, b in orderings(file)] == [("ours", "alpha"), ("oracle", "ours")]
    measured = {"ours": runs(94, 94), "alpha": runs(93, 95), "oracle": runs(96, 96)}
    assert [o.word for o in judge_orderings(file, measured)] == [
        "does not hold",
        "same direction only",
    ]


def verdicts(*words: str, n: int = 3) -> list[Verdict]:
    return [
        Verdict.model_validate(
            {"claim": f"c{i}", "word": word, "why": "w", "paper": 1.0, "values": (1.0,) * n}
        )
        for i, word in enumerate(words)
    ]


def whole(*words: str, method: Method | None = None, n: int = 3, needed: bool = False) -> Overall:
    claims = [claim(1.0, id=f"c{i}") for i in range(len(words))]
    return overall(claims, verdicts(*words, n=n), method=method, method_needed=needed)


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (("reproduced", "reproduced"), "reproduced"),
        (("reproduced", "close", "off"), "partly reproduced (1 of 3 claims)"),
        (("close", "close"), "partly reproduced (0 of 2 claims)"),
        (("reproduced", "not comparable"), "partly reproduced (1 of 2 claims)"),
        (("reproduced", "not measured"), "partly reproduced (1 of 2 claims)"),
        (("off", "opposite"), "not reproduced"),
        (("off", "not comparable"), "not reproduced"),
        (("not measured",), "not measured"),
        (("not measured", "off"), "not reproduced"),
        (("not comparable", "untestable"), "not comparable"),
        ((), "not comparable"),
    ],
)
def test_the_word_for_the_whole(words: tuple[str, ...], title: str) -> None:
    assert whole(*words).title == title


def test_a_broken_ordering_makes_it_partly() -> None:
    file = file_of(OURS, ALPHA)
    measured = {"ours": runs(94.3, 94.3), "alpha": runs(95, 95)}
    result = overall(
        file.claims,
        [v.model_copy(update={"claim": "ours"}) for v in verdicts("reproduced")],
        judge_orderings(file, measured),
    )
    assert (result.word, result.broken) == ("partly", 1)


def test_baselines_count_once_they_were_compared_or_alone() -> None:
    claims = [claim(1.0, id="c0"), claim(1.0, id="c1", is_baseline=True)]
    missed = overall(claims, verdicts("reproduced", "off"))
    assert (missed.word, missed.counted, missed.missed) == ("partly", 2, 1)
    not_built = overall(claims, verdicts("reproduced", "not measured"))
    assert (not_built.word, not_built.counted) == ("reproduced", 1)
    assert overall(claims[1:], verdicts("off", "off")[1:]).counted == 1


def test_require() -> None:
    assert whole("reproduced").meets("reproduced")
    assert not whole("reproduced", needed=True).meets("reproduced")
    assert whole("reproduced", needed=True).meets("partly")
    assert whole("close").meets("partly")
    assert not whole("close").meets("reproduced")
    assert not whole("off").meets("partly")
    assert not whole("not comparable").meets("partly")
