"""The paper against itself: what its sentences say and its own tables don't."""

import pytest
from claim_maker import claim

from autoreproduce.claims.contradictions import contradictions
from autoreproduce.papers.model import Paper
from autoreproduce.papers.tables import tables_in

TABLE = """
Table 1: Estimators over 1,000 data sets.

| Estimator | Bias | RMSE | Coverage |
|---|---|---|---|
| OLS | 0.120 | 0.310 | 0.801 |
| Ridge | -0.035 | 0.280 | 0.912 |
| Lasso | 0.041 | 0.295 | 0.930 |
"""
SECOND = """
Table 2: Accuracy (%) on two data sets.

| Method | Moons | Digits |
|---|---|---|
| GraphNet | 91.4 | 88.2 |
| LabelProp | 89.0 | 89.5 |
"""

THIRD = """
Table 3: Macro F1.

| Model | News | Reviews | Tweets |
|---|---|---|---|
| NB | 0.81 | 0.74 | 0.62 |
| SVM | 0.86 | 0.79 | 0.66 |
| LR | 0.85 | 0.80 | 0.67 |
"""


def found_in(text: str, *claims: object) -> list[tuple[str, str, str]]:
    whole = f"# A study\n\n{text}\n{TABLE}\n{SECOND}\n{THIRD}\nAnother paragraph.\n"
    paper = Paper(
        title="A study", text=whole, body=whole, tables=tuple(tables_in(whole)), source="markdown"
    )
    return [(one.what, *one.quotes) for one in contradictions(paper, list(claims))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Ridge has an RMSE of 0.260 here.", "Ridge | RMSE: 0.280"),
        ("For Lasso the coverage is 93.9 %.", "Lasso | Coverage: 0.930"),
        ("OLS outperforms Ridge in RMSE.", "OLS | RMSE: 0.310; Ridge | RMSE: 0.280"),
        ("GraphNet outperforms LabelProp on all data sets.", "GraphNet | Digits: 88.2; LabelProp"),
        ("On Digits, GraphNet beats LabelProp.", "GraphNet | Digits: 88.2; LabelProp | Digits"),
        ("Lasso has a lower RMSE than Ridge.", "Lasso | RMSE: 0.295; Ridge | RMSE: 0.280"),
        ("Lasso attains the lowest RMSE.", "Lasso | RMSE: 0.295; Ridge | RMSE: 0.280"),
        ("OLS achieves the highest coverage.", "OLS | Coverage: 0.801; Lasso | Coverage: 0.930"),
        ("Lasso outperforms all other estimators in RMSE.", "Lasso | RMSE: 0.295; Ridge"),
        ("LabelProp reaches the best accuracy on Moons.", "LabelProp | Moons: 89.0; GraphNet"),
        ("SVM achieves the highest macro F1 on all three corpora.", "SVM | Reviews: 0.79; LR"),
        ("The SVM is the best model on every corpus.", "SVM | Reviews: 0.79; LR"),
        ("SVM outperforms all other models on each corpus.", "SVM | Reviews: 0.79; LR"),
        ("NB has a higher F1 than LR on News.", "NB | News: 0.81; LR | News: 0.85"),
        ("The F1 of LR on News is 0.88.", "LR | News: 0.85"),
        ("On Tweets, NB is best.", "NB | Tweets: 0.62; LR | Tweets: 0.67"),
    ],
)
def test_a_sentence_that_a_table_contradicts_is_found(sentence: str, told: str) -> None:
    [(what, quoted, cells)] = found_in(sentence)
    assert quoted == sentence and cells.startswith(told) and "Table" in what


@pytest.mark.parametrize(
    "sentence",
    [
        "Ridge has an RMSE of 0.280 here.",
        "Ridge has an RMSE of 0.28 here.",  # rounded
        "For Lasso the coverage is 93 %.",
        "For Lasso the coverage is 0.93.",
        "Ridge reduces the RMSE of OLS by 0.030.",  # a difference
        "Ridge with penalty 0.5 has the lowest RMSE.",
        "OLS does not outperform Ridge in RMSE.",
        "Ridge outperforms OLS in RMSE.",
        "GraphNet outperforms LabelProp on Moons.",
        "GraphNet outperforms LabelProp.",  # on one of the two
        "Lasso has the second lowest RMSE.",
        "Lasso has the lowest RMSE among the sparse ones.",
        "Ridge attains the lowest RMSE.",
        "Ridge outperforms all other estimators in RMSE.",
        "GraphNet outperforms all other methods.",  # on one of two
        "OLS might have the highest coverage.",
        "OLS is fitted with learning rate 0.01, and its RMSE is shown.",
        "Prior work reported an RMSE of 0.5 for Ridge.",
        # of a condition, a statistic or an aim that the table hasn't
        "With 50 samples, Ridge has a coverage of 0.88.",
        "Ridge has a coverage of 0.950 with n = 10,000.",
        "In Figure 3, GraphNet reaches 93.0 on Moons.",
        "For small n, OLS beats Lasso in RMSE.",
        "GraphNet has the best accuracy on Digits after LabelProp.",
        "OLS has a median RMSE of 0.25.",
        "The target for Lasso is a coverage of 0.95.",
        "The nominal coverage is 0.95, and Lasso has the highest coverage.",
        "Smith et al. find that OLS has an RMSE of 0.35.",
        "Does Lasso outperform Ridge?",
        "Suppose that OLS outperforms Ridge in RMSE.",
        "The SVM is the best model on News.",
        "SVM is the best model.",  # on one of three
        "SVM is the best known classifier.",
        "SVM has the highest accuracy on Tweets.",  # of another metric
        "SVM has the highest recall on every corpus.",
        "The accuracy of LR on News is 0.88.",
        "The lr is 0.05 on News.",  # no LR
        "LR outperforms NB on all corpora.",
        "Ridge has the lowest bias.",  # -0.035 is lower, and no one says whether in size
    ],
)
def test_what_a_table_bears_out_or_leaves_open_is_none(sentence: str) -> None:
    assert found_in(sentence) == []


def test_a_claim_of_a_sentence_is_held_against_the_cell_of_its_names() -> None:
    sentence = "In our runs Ridge ends at 0.260."
    one = claim(
        0.260, row=("Ridge",), column=("RMSE",), metric="RMSE", scale="raw", printed="0.260",
        sentence=sentence, experiment="",
    )  # fmt: skip
    [(what, quoted, cells)] = found_in(sentence, one)
    assert (quoted, cells) == (sentence, "Ridge | RMSE: 0.280")
    assert "gives 0.260" in what and what.endswith("0.280")
    right = one.model_copy(update={"value": 0.28, "printed": "0.28"})
    assert found_in(sentence, right) == []


def test_which_way_is_better_may_come_from_a_claim() -> None:
    said = "GraphNet outperforms LabelProp on Digits."
    plain_one = claim(88.2, row=("GraphNet",), column=("Digits",), metric="loss", direction="lower")
    assert len(found_in(said)) == 1 and found_in(said, plain_one) == []
