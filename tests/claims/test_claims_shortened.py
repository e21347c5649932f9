"""Numbers of a run that was shortened: close or untestable within its noise, off beyond it alone."""

import math
import random
from statistics import fmean

import pytest
from claim_maker import claim, file_of, std

from autoreproduce.claims.choices import Choice, instead, says, shortened_of, with_count
from autoreproduce.claims.claim import Claim, Spread
from autoreproduce.claims.verdicts.all_claims import judge_all
from autoreproduce.claims.verdicts.comparable import MeasuredAs
from autoreproduce.claims.verdicts.one_claim import Verdict, judge
from autoreproduce.claims.verdicts.orderings import judge_orderings
from autoreproduce.claims.verdicts.shortened import Shortened, untouched

CUT = Shortened(what="repetitions", paper=1000, run=50, replicates=True)
MOVES = ((6, 11.9), (12, 9.2), (25, 10.4))  # of a mean of 10 over 50


def cost(value: float, **fields: object) -> Claim:
    known = {"scale": "raw", "direction": "match", "metric": "cost", "column": ("cost",)}
    return claim(value, **{**known, "printed": f"{value:.3f}", **fields})


def judged(one: Claim, *values: float, cut: Shortened = CUT, **more: object) -> Verdict:
    return judge(one, MeasuredAs(values=values, shortened=cut, **more))  # type: ignore[arg-type]


def test_without_a_known_noise_nothing_is_off_and_digits_and_margin_count_as_ever() -> None:
    assert judged(cost(10.0), 13.0).word == "untestable"
    assert judged(cost(10.0), 700.0).word == "untestable"
    assert judge(cost(10.0), MeasuredAs(values=(13.0,))).word == "off"
    assert judged(cost(10.0), 10.0001).word == "reproduced"
    assert judged(cost(10.0), 10.1).word == "close"


def test_shorter_runs_bound_what_chance_can_do() -> None:
    cut = CUT.model_copy(update={"shorter": MOVES})
    near, far = judged(cost(14.0), 10.0, cut=cut), judged(cost(40.0), 10.0, cut=cut)
    assert near.word == "untestable" and "50 repetitions, which may move it by" in near.why
    assert far.word == "off" and "the noise of 50 repetitions can't move it by more" in far.why
    fractions = cost(0.4, scale="percent", printed="0.400")  # the program's are of one
    measured = MeasuredAs(values=(0.1,), scale="fraction", shortened=cut)
    assert judge(fractions, measured).word == "untestable"


@pytest.mark.parametrize(
    ("spread", "near", "far"),
    [
        (std(2.0), "close", "off"),
        (Spread(value=0.0632, kind="sem"), "close", "off"),
        (Spread(value=2.0), "untestable", "untestable"),  # nobody knows what it means
    ],
)
def test_the_papers_own_deviation_tells_the_noise(spread: Spread, near: str, far: str) -> None:
    one = cost(10.0, spread=spread, n=1000)
    assert judged(one, 10.0 + 1.8 * 2 / math.sqrt(50)).word == near
    assert judged(one, 13.0).word == far


def test_the_error_of_a_share_is_that_of_both_counts() -> None:
    coverage = claim(0.95, metric="coverage", column=("coverage",), scale="fraction")
    found = judged(coverage, 0.90)
    assert found.word == "close" and "0.95 away" not in found.why
    assert found.distance == pytest.approx(0.05 / math.sqrt(0.95 * 0.05 * (1 / 50 + 1 / 1000)))
    assert judged(coverage, 0.86).word == "untestable"  # 2.9 errors are no gross miss
    assert judged(coverage, 0.80).word == "off"
    half = CUT.model_copy(update={"run": 500})
    assert judged(coverage, 0.935, cut=half).word == "reproduced"


def test_replicates_that_the_program_writes_tell_it_exactly() -> None:
    draw = random.Random(0)
    values = tuple(draw.gauss(3, 1) for _ in range(50))
    bias = cost(3.2, metric="bias", column=("bias",))
    found = judged(bias, fmean(values), replicates=(values,))
    assert found.word == "close" and "1,000 replicates in the paper and 50 here" in found.why
    assert judged(bias, fmean(values) - 1, replicates=(tuple(v - 1 for v in values),)).word == "off"


def test_seeds_that_the_run_lists_or_that_were_run_tell_it() -> None:
    cut = Shortened(what="seeds", paper=20, run=3)
    listed = judged(cost(50.0), 40.0, 41.0, 45.0, cut=cut)
    assert listed.word == "untestable" and "from 20 to 3 seeds" in listed.why
    assert judged(cost(900.0), 40.0, 41.0, 45.0, cut=cut).word == "off"
    again = judged(cost(10.0), 9.4, 10.3, 10.9, 9.9, 10.4, seeds=(0, 1, 2, 3, 4), seeded=True)
    assert again.word == "reproduced" and "by the scatter of 5 seeds" in again.why
    few = CUT.model_copy(update={"paper": 2000})
    again = judged(cost(10.0), 9.4, 10.3, 10.9, 9.9, 10.4, seeds=(0, 1, 2, 3, 4), cut=few)
    assert again.word == "close" and again.why.endswith("from 2,000 to 50 repetitions")


def test_a_bound_an_order_and_an_ordering_are_no_misses_within_the_noise() -> None:
    bound = cost(0.05, kind="at_most", metric="p-value", column=("p",))
    assert judge(bound, MeasuredAs(values=(0.08,))).word == "off"
    found = judged(bound, 0.08)
    assert found.word == "untestable" and found.why.endswith("from 1,000 to 50 repetitions")
    ours = cost(5.0, id="ours", direction="lower")
    theirs = cost(6.0, id="theirs", direction="lower", row=("Base",), is_baseline=True)
    order = cost(1.0, id="order", direction="lower", kind="order", than=("Base",))
    moves = ((12, 5.8), (25, 6.6))
    cut, base = (
        CUT.model_copy(update={"shorter": tuple((k, v + add) for k, v in moves)})
        for add in (0.0, 0.3)
    )
    measured = {
        "ours": MeasuredAs(values=(6.2,), shortened=cut),
        "theirs": MeasuredAs(values=(5.9,), shortened=base),
    }
    file = file_of(ours, theirs, order)
    assert [one.word for one in judge_all(file, measured)] == ["untestable", "close", "untestable"]
    [told] = judge_orderings(file, measured)
    assert told.word == "not measured" and "shortened from 1,000 to 50" in told.why
    plain = {name: one.model_copy(update={"shortened": None}) for name, one in measured.items()}
    assert judge_orderings(file, plain)[0].word == "does not hold"
    same = cut.model_copy(update={"shorter": ((12, 59.9), (25, 60.1))})
    base = cut.model_copy(update={"shorter": ((12, 5.8), (25, 6.0))})
    far = {
        "ours": MeasuredAs(values=(60.0,), shortened=same),
        "theirs": MeasuredAs(values=(5.9,), shortened=base),
    }
    assert judge_orderings(file, far)[0].word == "does not hold"


def test_a_shortened_run_is_not_the_papers_own() -> None:
    exact = [cost(value, id=f"c{value}") for value in (1.234, 2.345, 3.456, 4.567)]
    measured = {one.id: MeasuredAs(values=(one.value,)) for one in exact}
    last = cost(10.0, id="last")
    measured["last"] = MeasuredAs(values=(13.0,), shortened=CUT)
    words = [one.word for one in judge_all(file_of(*exact, last), measured)]
    assert words == ["reproduced"] * 4 + ["untestable"]


def test_what_no_shorter_run_moves_depends_on_no_draw() -> None:
    assert untouched(0.38333, (0.38333, 0.38333))
    assert not untouched(0.38333, ())
    assert not untouched(0.38333, (0.38333, 0.3833))
    assert not untouched(0.95, (0.95, 0.95))  # so few digits agree by chance
    two = CUT.model_copy(update={"shorter": ((12, 0.95), (25, 0.95))})
    assert judged(cost(0.96), 0.95, cut=two).word == "close"
    assert judged(cost(1.1), 0.95, cut=two).word == "untestable"  # the last digit may have moved
    assert judged(cost(5.0), 0.95, cut=two).word == "off"


def test_noise_of_many_studies_is_hardly_ever_off() -> None:
    draw, words = random.Random(3), list[str]()
    for _ in range(400):
        paper = fmean(math.exp(draw.gauss(0, 1)) for _ in range(1000))
        ours = [math.exp(draw.gauss(0, 1)) for _ in range(50)]
        shorter = tuple((k, fmean(ours[:k])) for k in (6, 12, 25))
        cut = CUT.model_copy(update={"shorter": shorter})
        words.append(judged(cost(round(paper, 3)), fmean(ours), cut=cut).word)
    assert words.count("off") <= 4 and words.count("untestable") > 300


@pytest.mark.parametrize(
    ("words", "had", "count", "found"),
    [
        ("--reps 50", 50, 25, "--reps 25"),
        ("--reps=50", 50, 6, "--reps=6"),
        ("--seeds 0 1 2 3", 4, 2, "--seeds 0 1"),
        ("seeds = [3, 5, 8]", 3, 1, ""),  # 3 is its first and its length
        ("seeds = [4, 5, 8]", 3, 1, "seeds = [4]"),
        ("--n 50 --m 50", 50, 25, ""),
        ("--rate 0.50 --n 50", 50, 25, "--rate 0.50 --n 25"),
        ("seq 1 50", 50, 12, "seq 1 12"),
    ],
)
def test_the_words_of_a_count_with_another(words: str, had: int, count: int, found: str) -> None:
    if found or had != 3:
        assert with_count(words, had, count) == found
    assert says("python a.py --reps 50; b", "--reps 50") and not says("--reps 500", "--reps 50")
    assert instead("a --n 5 --n 50", "--n 5", "--n 2") == "a --n 2 --n 50"


def test_only_what_a_plan_shortened_is_noise() -> None:
    known = {"what": "seeds", "key": "seeds", "value": 3, "kind": "stated", "place": "Section 4"}
    of_plan = Choice.model_validate(
        {**known, "paper": 10, "why": "time", "cut": {"words": "--n 3"}, "claims": ["a"]}
    )
    mild = of_plan.model_copy(update={"value": 2})
    of_model = Choice.model_validate({**known, "paper": 10, "why": "time"})
    assert shortened_of("a", [of_model, of_plan, mild]) == [mild, of_plan]
    assert shortened_of("b", [of_plan]) == []
