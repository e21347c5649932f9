"""Claims as papers state them: with n, with intervals in the cell or beside it, and in words."""

import re

import pytest

from autoreproduce.claims.check import check_in_paper
from autoreproduce.claims.replies import read_claims
from autoreproduce.claims.user_claims import read_user_claim
from autoreproduce.errors import CommandError, UsageError

PAPER = """# Cost
Table 1: Cost with its 95 % interval.

| Method | Cost | Lower | Upper | SD | CI | Both |
|---|---|---|---|---|---|---|
| LQR | 22.75 | 22.1 | 23.4 | 0.9 | [22.1, 23.4] | 22.75 [22.1, 23.4] |
| PID | 21.0 | 20.5 | 22.0 | 0.7 | [20.5, 22.0] | 21.0 [20.5, 22.0] |

There is no significant difference between LQR and PID. MPC is significantly better than both.
"""


def checked(*fields: str) -> list[str]:
    """What is wrong with claims of a reply."""
    given = "direction: lower, scale: raw, table: Table 1"
    items = [f"- {{{'' if 'metric' in one else 'metric: cost, '}{given}, {one}}}" for one in fields]
    file = read_claims("```yaml\n" + "\n".join(items) + "\n```")
    return [str(problem) for problem in check_in_paper(list(file.claims), PAPER).problems]


@pytest.mark.parametrize(
    "fields",
    [
        "row: [LQR], column: [Cost], value: 22.75, interval: [22.1, 23.4]",
        "row: [PID], column: [Cost], value: 21.0, interval: '[20.5, 22.0]'",
        "row: [LQR], column: [Both], value: 22.75, interval: [22.1, 23.4]",
        "row: [LQR], column: [Cost], value: 22.75, spread: {interval: [22.1, 23.4], kind: 95% ci}",
        "row: [LQR], column: [Cost], value: 22.75, interval: [22.1, 23.4], spread: {kind: range}",
        "row: [LQR], column: [Cost], value: 22.75, spread: {interval: null, value: 0.65}",
        "row: [LQR], column: [Cost], value: 22.75, spread: {value: 0.9, kind: std}",
        "row: [LQR], column: [Cost], value: 22.75, spread: {value: 0.65, kind: 95% ci}",
        "row: [PID], column: [Cost], value: 21.0, spread: {plus: 1.0, minus: 0.5, kind: 95% ci}",
        "row: [LQR], column: [CI], value: 23.4, metric: upper end of the interval",
        "row: [LQR], column: [CI], value: 22.1, metric: lower end of the interval",
        "row: [LQR], column: [Both], value: 23.4, metric: upper bound",
        "row: [LQR], column: [Upper], value: 23.4",
    ],
)
def test_an_interval_may_stand_in_the_cell_or_in_other_columns(fields: str) -> None:
    assert checked(fields) == []


@pytest.mark.parametrize(
    "spread", ["interval: [20.5, 23.4]", "spread: {value: 0.77, kind: std}", "spread: {value: 9}"]
)
def test_a_spread_of_another_row_or_none_is_dropped_and_its_claim_stays(spread: str) -> None:
    file = read_claims(
        "```yaml\n- {metric: cost, direction: lower, scale: raw, table: Table 1, "
        f"row: [LQR], column: [Cost], value: 22.75, {spread}}}\n```"
    )
    checked_in = check_in_paper(list(file.claims), PAPER)
    [kept] = checked_in.right
    assert checked_in.problems == [] and kept.spread is None
    assert re.fullmatch(r"its ± [\d.]+ isn't printed with it", kept.remark)


def test_a_number_of_another_cell_is_refused() -> None:
    [problem] = checked("row: [LQR], column: [CI], value: 22.75")
    assert "not 22.75" in problem


def test_an_interval_that_is_none_is_said() -> None:
    with pytest.raises(CommandError, match=r"isn't two ends around 22.75: give \[lower, upper\]"):
        checked("row: [LQR], column: [Cost], value: 22.75, interval: [23.0, 23.4]")


P = "metric: p-value, direction: match, scale: raw, value: 0.05"


@pytest.mark.parametrize(
    ("claim", "right"),
    [
        ("row: [LQR], kind: at_least, sentence: There is no significant difference between LQR", 1),
        ("row: [MPC], kind: at_most, sentence: MPC is significantly better than both", 1),
        ("row: [LQR], kind: at_most, sentence: There is no significant difference between LQR", 0),
        ("row: [MPC], kind: at_least, sentence: MPC is significantly better than both", 0),
        ("row: [MPC], sentence: MPC is significantly better than both", 0),
    ],
)
def test_significance_in_words_is_a_bound_of_p(claim: str, right: int) -> None:
    file = read_claims(f"```yaml\n- {{{P}, {claim}}}\n```")
    assert len(check_in_paper(list(file.claims), PAPER).right) == right


@pytest.mark.parametrize(
    ("text", "value", "n", "spread"),
    [
        ("Ours: accuracy = 94.3% ± 0.2 (n=5)", 94.3, 5, (0.2, "unstated")),
        ("Ours: accuracy = 94.3% ± 0.2 (n = 5, std) higher", 94.3, 5, (0.2, "std")),
        ("Ours: accuracy = 94.3% ± 0.2 (5 seeds; 95% CI)", 94.3, 5, (0.2, "ci95")),
        ("Ours: accuracy = 94.3%, n = 12", 94.3, 12, None),
        ("Ours: accuracy = 0.74 (1,000 runs)", 0.74, 1000, None),
        ("Ours: rmse = 0.74 [0.71, 0.79] lower", 0.74, None, (0.05, "ci95")),
        ("Ours: rmse = 0.74 (95% CI 0.71 to 0.79, n=8)", 0.74, 8, (0.05, "ci95")),
        ("Ours: bias = -0.02 [-0.05; 0.01]", -0.02, None, (0.03, "ci95")),
        ("Ours (5 seeds): accuracy = 94.3%", 94.3, None, None),
    ],
)
def test_what_stands_in_brackets_behind_a_users_number_is_read(
    text: str, value: float, n: int | None, spread: tuple[float, str] | None
) -> None:
    found = read_user_claim(text)
    assert (found.value, found.n) == (value, n)
    assert found.id == ("ours_5_seeds_accuracy" if "Ours (5" in text else found.id)
    got = found.spread and (round(found.spread.value, 9), found.spread.kind)
    assert got == spread


def test_a_bracket_that_says_something_else_is_told_the_grammar() -> None:
    with pytest.raises(UsageError) as error:
        read_user_claim("Ours: accuracy = 94.3 (k=5)")
    assert "(n=5, std)" in error.value.fix
    assert read_user_claim("Ours: p-value < 0.05 (n=20)").n == 20
    assert read_user_claim("Ours: accuracy > SVM").than == ("SVM",)
