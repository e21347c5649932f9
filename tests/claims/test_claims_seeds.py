"""The printed number within the distribution over seeds; more seeds never make a miss of a hit."""

import math
import random

import pytest
from claim_maker import claim, std
from hypothesis import assume, given
from hypothesis import strategies as st

from autoreproduce.claims.claim import Claim
from autoreproduce.claims.verdicts.comparable import MeasuredAs
from autoreproduce.claims.verdicts.distribution import over_seeds
from autoreproduce.claims.verdicts.one_claim import Baseline, Verdict, judge
from autoreproduce.claims.verdicts.orderings import OrderVerdict, judge_ordering

MISSED = ("off", "opposite")
VALUE = st.floats(1.0, 90.0)
SEEDS = st.lists(st.floats(-30.0, 30.0), min_size=1, max_size=60)


def seeded(one: Claim, values: list[float], baseline: Baseline | None = None) -> Verdict:
    seeds = tuple(range(len(values)))
    return judge(one, MeasuredAs(values=tuple(values), seeds=seeds), baseline=baseline)


def normal(count: int, mean: float = 0.0, spread: float = 1.0) -> list[float]:
    draw = random.Random(1)
    return [mean + spread * draw.gauss(0, 1) for _ in range(count)]


def test_many_seeds_say_where_the_number_lies_and_how_wide_inside_is() -> None:
    paper = claim(3.0, scale="raw", printed="3.00", metric="loss", direction="lower")
    found = seeded(paper, normal(500, 3.4, 0.5))
    assert found.word == "reproduced"
    assert found.percentile == pytest.approx(21, abs=4)
    assert found.inside == pytest.approx((2.4, 4.4), abs=0.15)
    assert "of 500 seeds, 95 % of which lie from 2.4" in found.why
    far = seeded(paper, normal(500, 6.0, 0.5))
    assert (far.word, far.percentile) == ("off (better)" if far.better else "off", 0.0)
    assert seeded(paper, normal(19, 3.4, 0.5)).percentile is None


def test_a_number_in_the_tail_is_no_miss_and_no_hit() -> None:
    paper = claim(3.0, scale="raw", printed="3.00", metric="loss", direction="lower")
    found = seeded(paper, [*normal(199, 6.0, 0.5), 3.0])
    assert found.word == "close" and "percentile 0.25 of 200 seeds" in found.why


def test_few_seeds_that_straddle_the_number_cannot_tell() -> None:
    paper = claim(50.0)
    found = seeded(paper, [40.0, 52.0, 71.0])
    assert found.word == "untestable" and "40 to 71" in found.why
    assert seeded(paper, [60.0, 62.0, 64.0]).word == "off"


@pytest.mark.parametrize(
    "values", [[60.0, 62.0, 71.0], [0.85, 0.98, 1.20, 1.05], [53.0, 59.0, 90.0]]
)
def test_few_seeds_whose_mean_may_be_the_number_cannot_tell(values: list[float]) -> None:
    paper = claim(1.22, printed="1.22", scale="raw") if values[0] < 1 else claim(50.0)
    found = seeded(paper, values)
    assert found.word == "untestable" and "known no better than" in found.why
    assert seeded(paper, values[:2]).word == "off"


def test_single_runs_are_held_as_means_against_a_mean() -> None:
    values = tuple(normal(400, 50.0, 5.0))
    several = over_seeds(claim(50.0, n=25), values, 25)
    assert several is not None and several.of_mean == 25
    assert several.high - several.low == pytest.approx(4 * 5.0 / 5, rel=0.15)
    one = over_seeds(claim(50.0), values)
    assert one is not None and one.high - one.low == pytest.approx(4 * 5.0, rel=0.1)


@given(VALUE, SEEDS, st.sampled_from([None, 0.5, 5.0]), st.none() | st.floats(0.1, 20.0))
def test_a_number_that_a_seed_gave_is_never_a_miss(
    value: float, others: list[float], spread: float | None, gain: float | None
) -> None:
    """One run hits; whatever the further seeds give, no rule makes a miss of it."""
    fields = {} if spread is None else {"spread": std(spread), "n": 5}
    paper = claim(value, scale="raw", printed=repr(value), **fields)
    baseline = None if gain is None else Baseline(value - gain)
    assert seeded(paper, [value], baseline).word == "reproduced"
    found = seeded(paper, [value, *(value + other for other in others)], baseline)
    assume(found.word != "not comparable")  # a mean a hundred times as large is another unit
    assert found.word not in MISSED


@given(VALUE, st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=60), st.none() | st.just(0.6))
def test_seeds_each_of_which_is_a_hit_are_one_together(
    value: float, offsets: list[float], spread: float | None
) -> None:
    fields = {} if spread is None else {"spread": std(spread), "n": 4}
    paper = claim(value, scale="raw", printed=f"{value:.2f}", **fields)
    runs = [value * (1 + offset / 40) for offset in offsets]
    hits = [run for run in runs if seeded(paper, [run]).word == "reproduced"]
    assume(len(hits) >= 2)
    assert seeded(paper, hits).word not in MISSED


def first_of(one: Claim, runs: list[float], replicates: bool = False) -> list[str]:
    """The words after one run, two and so on, up to 19."""
    lists = tuple(tuple(run + 0.3 * part for part in UNIT) for run in runs) if replicates else ()
    return [
        judge(
            one,
            MeasuredAs(
                values=tuple(runs[:count]), seeds=tuple(range(count)), replicates=lists[:count]
            ),
        ).word
        for count in (1, 2, 3, 4, 5, 7, 10, 15, 19)
    ]


@pytest.mark.parametrize(
    "fields", [{}, {"spread": std(0.01), "n": 5}, {"spread": std(0.01)}, {"printed": "0.310"}]
)
def test_fewer_than_20_seeds_make_no_miss_of_what_the_first_of_them_reproduced(
    fields: dict[str, object],
) -> None:
    """Draws around the paper's number: by chance the first three reproduce it, and five don't."""
    draw, closed = random.Random(1), 0
    stated = {"scale": "raw", "metric": "mse", "direction": "lower", "printed": "0.31"}
    for _ in range(40):
        paper = claim(0.31, **{**stated, **fields})
        words = first_of(paper, [draw.gauss(0.31, 0.02) for _ in range(19)])
        if "reproduced" in words:
            after = words[words.index("reproduced") :]
            assert not set(after) & set(MISSED), words
            closed += "close" in after
    assert closed


def test_nor_do_they_of_what_monte_carlo_error_had_allowed() -> None:
    paper = claim(
        0.0, printed="0.0000", scale="raw", metric="bias", direction="match", replicates=500
    )
    near, far = ([shift + number / 1e6 for number in range(19)] for shift in (0.033, 0.06))
    assert first_of(paper, near, replicates=True) == ["reproduced", *["close"] * 8]
    assert first_of(paper, far, replicates=True) == ["off"] * 9


@pytest.mark.parametrize(
    ("fields", "begins"),
    [
        ({"metric": "bias", "replicates": 500}, "0.02 away; Monte Carlo error alone allows 0.02"),
        ({"spread": std(0.02), "n": 5}, "0.02 away, within the paper's own ± 0.02; at percent"),
        ({"value": -0.02, "printed": "-0.0200"}, "our mean is equal in all 3 printed digits; a"),
        ({"value": 0.4}, "0.42 better; at most 0.05 counts; at percentile 100 of 30 seeds, 95 % o"),
    ],
)
def test_what_many_seeds_gave_is_said_whatever_decides(
    fields: dict[str, object], begins: str
) -> None:
    stated = {"value": 0.0, "printed": "0.0000", "scale": "raw", "direction": "lower", **fields}
    stated |= {"printed": "0.4"} if stated["value"] == 0.4 else {}
    runs = [-0.02 + (number - 14.5) / 1e4 for number in range(30)]
    lists = tuple(tuple(run + 0.3 * part for part in UNIT) for run in runs)
    found = judge(
        claim(**stated),
        MeasuredAs(
            values=tuple(runs),
            seeds=tuple(range(30)),
            replicates=lists if "replicates" in fields else (),
        ),
    )
    assert found.why.startswith(begins)
    assert found.why.count("of 30 seeds, 95 % of which lie from -0.02138 to -0.01862") == 1
    assert f"at percentile {found.percentile:.3g} of 30" in found.why


def test_nor_of_a_bound_that_the_first_had_held() -> None:
    bound = claim(0.05, kind="at_most", metric="p-value", scale="raw")
    found = seeded(bound, [0.01, 0.02, 0.08, 0.07, 0.09])
    assert (found.word, found.why) == (
        "close",
        "at most 0.05 in 2 of 5 runs; but the first 2 runs reproduced it, and 20 would tell",
    )
    assert seeded(bound, [0.01, 0.02, *[0.08 + n / 1e4 for n in range(18)]]).word == "off"


def test_a_program_that_is_off_is_off_however_its_first_seeds_came_out() -> None:
    paper = claim(0.31, scale="raw", metric="mse", direction="lower", printed="0.310")
    first = [0.318, 0.332, 0.345]
    assert seeded(paper, first).word == "reproduced"
    for count, word in ((4, "close"), (16, "close"), (17, "off"), (197, "off")):
        found = seeded(paper, [*first, *normal(count, 0.338, 0.004)])
        assert found.word == word, found.why
    assert found.percentile == 0 and "of 200 seeds" in found.why
    assert seeded(paper, normal(5, 0.338, 0.004)).word == "off"  # no first few reproduce it


def test_two_runs_of_a_bare_number_say_no_more_than_one() -> None:
    bare = claim(0.31, scale="raw", metric="mse", direction="lower", printed="0.310")
    found = seeded(bare, [0.333, 0.338])
    assert found.word == "close" and found.why.endswith("two runs cannot say more")
    known = bare.model_copy(update={"spread": std(0.02), "n": 5})
    assert seeded(known, [0.333, 0.338]).word == "reproduced"  # the paper's own scatter is known
    assert (
        seeded(bare, [0.333, 0.338, 0.328]).word == "reproduced" != seeded(bare, [0.4, 0.41]).word
    )


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.01, 0.316, 2.0]))
def test_more_seeds_of_a_right_program_keep_the_verdict_on_a_bias(
    seed: int, count: int, spread: float
) -> None:
    """Replicates of the paper's own law: what one run reproduces, many don't miss."""
    draw = random.Random(seed)
    error = spread / math.sqrt(500)
    paper = claim(
        round(draw.uniform(-1, 1) * error, 6),
        scale="raw",
        metric="bias",
        direction="match",
        replicates=500,
    )
    values = tuple(draw.gauss(0, error) for _ in range(count))
    whole = tuple(tuple(value + spread * one for one in UNIT) for value in values)
    first = judge(paper, MeasuredAs(values=values[:1], seeds=(0,), replicates=whole[:1]))
    found = judge(paper, MeasuredAs(values=values, seeds=tuple(range(count)), replicates=whole))
    if first.word == "reproduced":
        assert found.word not in MISSED


def _unit(count: int = 500) -> tuple[float, ...]:
    raw = normal(count)
    middle = sum(raw) / count
    size = math.sqrt(sum((one - middle) ** 2 for one in raw) / (count - 1))
    return tuple((one - middle) / size for one in raw)


UNIT = _unit()


def pair(wins: int, seeds: int, gap: float = 1.0) -> OrderVerdict:
    """Of so many seeds in which Ours is `gap` better in `wins`, and as much worse in the others."""
    ours = [80.0 + seed / 1e4 + (gap if seed < wins else -gap) for seed in range(seeds)]
    numbers = tuple(range(seeds))
    better, worse = claim(82.0, id="a"), claim(80.0, id="b", row=("OLS",), is_baseline=True)
    return judge_ordering(
        better,
        worse,
        MeasuredAs(values=tuple(ours), seeds=numbers),
        MeasuredAs(values=(80.0,) * seeds, seeds=numbers),
    )


@pytest.mark.parametrize(
    ("wins", "seeds", "word", "said"),
    [
        (138, 200, "same direction only", "right in 138 of 200 seeds (69 %)"),
        (22, 200, "does not hold", "right in 22 of 200 seeds (11 %)"),
        (170, 200, "holds", "right in 170 of 200 seeds (85 %)"),
        (5, 5, "holds", "right in 5 of 5 seeds; by chance"),
        (2, 3, "same direction only", "right in 2 of 3 seeds; by chance"),
    ],
)
def test_an_ordering_has_the_share_of_seeds_in_which_it_holds(
    wins: int, seeds: int, word: str, said: str
) -> None:
    found = pair(wins, seeds)
    assert (found.word, found.share) == (word, wins / seeds)
    assert said in found.why


def stated(kind: str, *values: float, **fields: object) -> Verdict:
    return seeded(claim(0.05, kind=kind, metric="p-value", scale="raw", **fields), list(values))


def test_a_bound_holds_in_a_share_of_seeds() -> None:
    assert stated("at_most", *[0.01] * 19, 0.06, *normal(20, 0.02, 0.001)).word == "reproduced"
    mostly = stated("at_most", *normal(69, 0.03, 0.001), *normal(31, 0.08, 0.001))
    assert (mostly.word, mostly.why) == ("close", "at most 0.05 in 69 of 100 runs (69 %)")
    assert stated("at_most", 0.01, 0.02, 0.07).word == "close"
    assert stated("at_most", 0.01, 0.08, 0.07).word == "off"
    assert stated("at_least", 0.01, 0.02, 0.03).why == "at least 0.05 in 0 of 3 runs"


def test_a_stated_order_has_its_share_too() -> None:
    order = claim(0.0, kind="order", than=("OLS",))
    found = seeded(order, [1.0 + n / 100 for n in range(138)] + [-1.0 - n / 100 for n in range(62)])
    assert (found.word, found.why[:41]) == ("close", "in this order in 138 of 200 runs (69 %); ")
    lost = seeded(order, [1.0, 1.1, *(-1.0 - n / 100 for n in range(8))])
    assert lost.word == "opposite" and lost.why.endswith("in this order in 2 of 10 runs")
