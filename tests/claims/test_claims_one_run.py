"""How many observations runs are, what one of them shows, and on which scale it is."""

import pytest
from claim_maker import claim, file_of, std

from autoreproduce.claims.claim import Claim, Spread
from autoreproduce.claims.verdicts.all_claims import judge_all
from autoreproduce.claims.verdicts.comparable import MeasuredAs, repeats, scale_factors
from autoreproduce.claims.verdicts.one_claim import Verdict, judge
from autoreproduce.claims.verdicts.orderings import judge_ordering

COIN = claim(0.883, scale="raw", printed="0.883", spread=Spread(value=0.009))


def verdict(one: Claim, *values: float, seeded: bool = True, **fields: object) -> Verdict:
    measured = MeasuredAs.model_validate({"values": values, "seeded": seeded, **fields})
    return judge(one, measured)


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ((0.883, 0.883, 0.883), 3),
        ((0.1 + 0.2, 0.3), 2),  # sums in another order
        ((0.883, 0.8830001), 1),  # they print alike, and are two numbers
        ((0.883, 0.883, 0.884), 1),
        ((0.883,), 1),
        ((), 1),
        ((0.883, float("nan")), 1),
        ((0.0, 0.0), 2),
        ((-1.5, 1.5), 1),
    ],
)
def test_runs_that_gave_one_number(values: tuple[float, ...], count: int) -> None:
    assert repeats(values) == count


def test_three_equal_numbers_of_three_seeds_are_no_scatter() -> None:
    found = verdict(COIN, 0.883, 0.883, 0.883)
    assert (found.word, found.values, found.interval, found.repeats) == ("close", (0.883,), None, 3)
    assert found.why == (
        "equal in all 3 printed digits, but the paper's number varies by ± 0.009, and no "
        "seed moves ours; 3 runs gave this very number and count as one"
    )
    near = verdict(COIN, 0.880, 0.880)
    assert near.word == "close" and "varies by ± 0.009" in near.why
    of_runs = claim(0.883, scale="raw", printed="0.883", n=5)
    assert verdict(of_runs, 0.883, 0.883).word == "close"


BIAS = claim(-0.021, scale="raw", printed="-0.021", metric="bias", replicates=1000)


@pytest.mark.parametrize(
    ("values", "alike"), [((-0.021, -0.021), False), ((-0.021,), True), ((-0.0212,) * 200, True)]
)
def test_a_number_over_replicates_that_no_seed_moves_is_close(
    values: tuple[float, ...], alike: bool
) -> None:
    found = verdict(BIAS, *values, alike=alike)
    assert (found.word, found.exact) == ("close", 0)
    assert "but the paper's number is over 1,000 replicates, and no seed moves ours" in found.why
    assert verdict(BIAS, *values, alike=alike, seeded=False).word == "reproduced"
    assert verdict(claim(0.45, scale="raw", printed="0.45"), 0.45, alike=True).word == "reproduced"


def test_nor_is_it_reproduced_within_its_monte_carlo_error() -> None:
    share = claim(94.8, printed="94.8", metric="coverage", direction="match", replicates=1000)
    assert verdict(share, 94.1, alike=False).word == "reproduced"
    for values in ((94.1,), (94.1, 94.1, 94.1)):
        found = verdict(share, *values, alike=True)
        assert (found.word, "Monte Carlo" in found.why) == ("close", True)


def test_equal_runs_know_a_number_over_replicates_as_one_does() -> None:
    draws = tuple(range(-50, 50))
    one = claim(1.0, scale="raw", printed="1.0", metric="bias", replicates=100)
    once = verdict(one, -0.5, seeded=False, replicates=[draws])
    thrice = verdict(one, *[-0.5] * 3, seeded=False, replicates=[draws] * 3)
    assert once.distance == pytest.approx(thrice.distance)


def test_a_program_without_randomness_is_one_run() -> None:
    assert verdict(COIN, 0.883, 0.883, 0.883, seeded=False).word == "reproduced"
    exact = claim(1.204, scale="raw", printed="1.204")
    found = verdict(exact, 1.2041, 1.2041, 1.2041)
    assert (found.word, found.values, found.repeats) == ("reproduced", (1.2041,), 3)
    assert verdict(exact, 1.21, 1.21, 1.21).word == "close"


def test_where_only_some_numbers_vary_each_claim_counts_its_own() -> None:
    same = claim(0.5, id="same", scale="raw", printed="0.50", row=("Fixed",))
    other = claim(0.7, id="other", scale="raw", printed="0.70")
    values = {
        "same": MeasuredAs(values=(0.51, 0.51, 0.51)),
        "other": MeasuredAs(values=(0.69, 0.70, 0.72)),
    }
    found = judge_all(file_of(same, other), values)
    assert [(one.word, len(one.values)) for one in found] == [("close", 1), ("reproduced", 3)]


def test_a_failed_seed_among_equal_ones_is_said() -> None:
    found = verdict(COIN, 0.883, float("nan"), 0.883)
    assert (found.word, found.why) == ("untestable", "1 of 3 runs gave no finite number")


def test_five_equal_runs_hold_no_order_and_no_bound() -> None:
    better, worse = claim(90.0, id="a"), claim(85.0, id="b", row=("SVM",), is_baseline=True)
    runs = [MeasuredAs(values=(value,) * 5, seeds=(0, 1, 2, 3, 4)) for value in (91.0, 84.0)]
    found = judge_ordering(better, worse, *runs)
    assert (found.word, found.why[:18]) == ("same direction only", "7 better in the on")
    varied = MeasuredAs(values=(84.0, 84.1, 84.2, 83.9, 83.8), seeds=(0, 1, 2, 3, 4))
    assert judge_ordering(better, worse, runs[0], varied).word == "holds"
    bound = claim(0.05, kind="at_most", metric="p-value", scale="raw")
    assert verdict(bound, 0.01, 0.01).word == "close"
    order = claim(0.0, kind="order", than=("SVM",))
    assert verdict(order, *[7.0] * 5).word == "close"


@pytest.mark.parametrize("kind", ["std", "sem", "ci95", "range", "unstated"])
@pytest.mark.parametrize("n", [None, 3, 5])
def test_one_run_within_the_papers_own_spread(kind: str, n: int | None) -> None:
    paper = claim(
        90.0, printed="90.0", n=n, spread=Spread.model_validate({"value": 0.6, "kind": kind})
    )
    found = verdict(paper, 90.5)
    if n is None and kind in ("sem", "ci95"):  # of one estimate
        assert found.word == "close"
        return
    assert (found.word, found.why) == ("reproduced", "0.5 away, within the paper's own ± 0.6")
    assert verdict(paper, 90.7).word != "reproduced"


@pytest.mark.parametrize("kind", ["sem", "ci95"])
@pytest.mark.parametrize("n", [None, 1])
def test_the_standard_error_of_one_estimate_excuses_no_other_number(kind: str, n: int | None):
    spread = Spread.model_validate({"value": 0.9, "kind": kind})
    effect = claim(9.702, scale="raw", printed="9.702", direction="match", n=n, spread=spread)
    assert verdict(effect, 9.553).word == "close"
    assert verdict(effect, 10.05).word == "untestable"
    assert verdict(effect, 3.8).word == "off"
    assert verdict(effect, 9.7021).word == "reproduced"


@pytest.mark.parametrize(
    ("spread", "n"),
    [(Spread(value=0.381, kind="sem"), None), (std(0.381), 5), (Spread(value=0.9), 3)],
)
def test_chance_explains_nothing_in_the_papers_own_run(spread: Spread, n: int | None) -> None:
    exact = [2.913, 17.821, 9.624]
    same = [
        claim(v, id=f"e{i}", row=(f"E{i}",), scale="raw", printed=f"{v}")
        for i, v in enumerate(exact)
    ]
    other = claim(9.702, id="blocking", scale="raw", printed="9.702", spread=spread, n=n)
    measured = {one.id: MeasuredAs(values=(one.value + 1e-5,)) for one in same}
    for value, word in ((9.709, "close"), (9.553, "off"), (9.70203, "reproduced")):
        measured["blocking"] = MeasuredAs(values=(value,))
        found = judge_all(file_of(*same, other), measured)[-1]
        assert found.word == word
    measured["blocking"] = MeasuredAs(values=(9.65,))
    if spread.kind != "sem":  # whose word is the same without it
        (*_, found) = judge_all(file_of(*same, other), measured)
        assert "3 other numbers of the run" in found.why


def test_a_number_in_many_digits_is_close_within_a_thousandth_in_the_papers_own_run() -> None:
    """One of 1,249 rows told otherwise, as another version of a library does."""
    exact = [0.879904, 0.642197, 0.888711]
    same = [
        claim(v, id=f"e{i}", row=(f"E{i}",), scale="raw", printed=f"{v}")
        for i, v in enumerate(exact)
    ]
    forest = claim(0.907926, id="forest", scale="raw", printed="0.907926")
    measured = {one.id: MeasuredAs(values=(one.value,)) for one in same}
    for value, word in ((0.907126, "close"), (0.905500, "off"), (0.907926, "reproduced")):
        measured["forest"] = MeasuredAs(values=(value,))
        assert judge_all(file_of(*same, forest), measured)[-1].word == word


def test_the_sides_of_a_spread_and_its_width_count() -> None:
    sides = claim(90.0, printed="90.0", spread=Spread(value=1.5, plus=0.3, minus=1.5))
    assert verdict(sides, 88.6).word == "reproduced"
    assert verdict(sides, 90.5).word == "close"
    wide = claim(50.0, printed="50.0", spread=std(20.0), n=5)
    assert verdict(wide, 58.0).word == "off"  # two points of a percentage at most


def test_more_runs_within_the_papers_spread_are_no_miss() -> None:
    paper = claim(90.0, printed="90.0", n=100, spread=std(1.0))
    assert verdict(paper, 89.2).word == "reproduced"
    assert verdict(paper, *[89.2 + 0.01 * n for n in range(-9, 10)]).word == "reproduced"


def test_a_bias_near_zero_is_held_against_its_own_uncertainty() -> None:
    bias = claim(-0.008, scale="raw", printed="-0.008", direction="match", spread=std(0.010), n=50)
    assert verdict(bias, 0.001).word == "reproduced"
    assert verdict(bias, 0.004).word != "reproduced"


PERCENT = [7.48, 19.93, 63.96]


def shares(*extra: Claim) -> list[Claim]:
    own = [claim(v, id=f"c{n}", row=(f"M {n}",), printed=f"{v}") for n, v in enumerate(PERCENT)]
    return [*own, *extra]


def judged(claims: list[Claim], *values: float) -> list[Verdict]:
    found = {one.id: MeasuredAs(values=(v,)) for one, v in zip(claims, values, strict=True)}
    return judge_all(file_of(*claims), found)


def test_fractions_for_percentages_are_read_where_every_digit_agrees() -> None:
    found = judged(shares(), 0.07480, 0.19926, 0.63964)
    assert [(one.word, one.factor) for one in found] == [("reproduced", 100)] * 3
    assert found[0].why == "times 100: equal in all 3 printed digits"
    assert found[1].mean == pytest.approx(19.926)


def test_percentages_for_fractions_too() -> None:
    share = claim(0.943, scale="fraction", printed="0.943")
    (found,) = judged([share], 94.31)
    assert (found.word, found.factor) == ("reproduced", 0.01)
    assert found.why.startswith("divided by 100: equal in all 3")


def test_a_scale_that_is_known_holds_for_its_neighbours() -> None:
    more = claim(25.0, id="more", row=("Other",), printed="25.0")
    wrong = judged(shares(more), 0.07480, 0.19926, 0.63964, 0.31)[-1]
    assert (wrong.text, wrong.mean, wrong.factor) == ("off (better)", 31.0, 100)
    as_it_is = judged(shares(more), 0.07480, 0.19926, 0.63964, 25.0)[-1]
    assert (as_it_is.word, as_it_is.factor) == ("reproduced", 1)


def test_a_scale_is_no_guess() -> None:
    assert [one.word for one in judged(shares(), 0.0741, 0.1971, 0.6391)] == ["not comparable"] * 3
    one_digit = claim(0.5, scale="raw", printed="0.5")
    assert judged([one_digit], 50.0)[0].word == "not comparable"
    assert scale_factors([one_digit], {"ours": MeasuredAs(values=(50.0,))}) == {}
    said = MeasuredAs(values=(0.0748,), scale="fraction")
    assert scale_factors(shares()[:1], {"c0": said}) == {"c0": 100.0}
    assert judge(shares()[0], said, factor=100.0).mean == pytest.approx(7.48)  # and not twice
    assert scale_factors(shares(), {}) == {}
