"""The rules that check an audit's items: quotations, places, numbers, twins."""

import pytest

from autoreproduce.claims.differences import (
    Audit,
    Difference,
    Effect,
    Item,
    Kind,
    checked,
    lines_of,
    sorted_items,
)

PAPER = """# Method
We train for 200 epochs with a learning rate of $10^{-3}$. Scores below 25 are dropped.

## Evaluation
The weight of each unit is the **inverse** propensity, $w_i = 1/p_i$, and accuracy is averaged
over ten folds.
"""
FILES = {
    "src/train.py": "import os\n\nEPOCHS = 20\nRATE = 1e-3\n\n\ndef keep(score):\n    return score <= 25\n",
    "src/weigh.py": "def weigh(y, x, w):\n    y = w * y\n    x = w[:, None] * x\n    return y, x\n",
    "other.py": "EPOCHS = 5\n",
}


def item(**facts: object) -> Item:
    usual = {
        "kind": "training length", "says": "200 epochs", "does": "20 epochs",
        "paper": "We train for 200 epochs", "file": "src/train.py", "first": 3,
        "code": "EPOCHS = 20", "moves": "yes", "claims": ["accuracy", "nothing"],
    }  # fmt: skip
    return Item.model_validate(usual | facts)


def kept_of(*items: Item):
    return checked(items, PAPER, FILES, ["accuracy"])


def test_an_item_whose_quotations_are_found_is_kept_with_their_places() -> None:
    [found], dropped = kept_of(item(first=40))
    assert (found.id, found.section, found.place) == ("D1", "Method", "src/train.py, line 3")
    assert found.claims == ("accuracy",) and found.can_move and not dropped


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"paper": "We train for 300 epochs"}, "the paper doesn't have these words"),
        ({"paper": "We train … with a rate of 2"}, "the paper doesn't have these words"),
        ({"paper": "the"}, "too few words to find them"),
        ({"code": "EPOCHS = 30"}, "the code doesn't have these lines"),
        ({"code": "EPOCHS = 20\nRATE = 1e-4"}, "the code doesn't have these lines"),
        ({"does": "200 epochs"}, "the same"),
        ({"kind": "absent", "code": "x = 1", "file": ""}, "the code doesn't have these lines"),
    ],
)
def test_what_cannot_be_found_is_dropped_with_its_reason(change, why) -> None:
    kept, [line] = kept_of(item(**change))
    assert kept == [] and why in line


@pytest.mark.parametrize(
    ("text", "quote", "kept"),
    [
        ("The classifier reaches [withheld] in 200 epochs.", "reaches 94.3 % in 200 epochs", True),
        ("The classifier reaches [withheld]% in 200 epochs.", "reaches [withheld] in 200", True),
        ("The classifier reaches 94.3 % in 200 epochs.", "reaches [withheld] in 200 epochs", True),
        ("The classifier reaches 94.3 % in 200 epochs.", "reaches [withheld] in 100 epochs", False),
        ("The classifier reaches [withheld] in 200 epochs.", "reaches 94.3 % in 100 epochs", False),
        ("The classifier reaches 91.0 % in 200 epochs.", "reaches 94.3 % in 200 epochs", False),
        ("The classifier reaches [withheld] in 200 epochs.", "[withheld] [withheld] in", False),
    ],
)
def test_a_quotation_may_hold_a_result_where_results_are_withheld(
    text: str, quote: str, kept: bool
) -> None:
    found, _ = checked((item(paper=quote),), f"# Method\n\n{text}\n", FILES, ["accuracy"])
    assert bool(found) is kept


LEAK = {"kind": "leak", "says": "", "does": "keeps the test rows", "paper": ""}


@pytest.mark.parametrize(
    "change",
    [{}, {"paper": None}, {"paper": "…"}, {"says": "nothing in the text given"}, {"says": None}],
)
def test_what_the_paper_does_not_speak_of_needs_no_words_of_it(change) -> None:
    [found], dropped = kept_of(item(**(LEAK | change)))
    assert (found.paper, found.says, found.section, dropped) == ("", "", "", [])
    assert (found.title, found.paper_says) == ("keeps the test rows", "it doesn't say")
    assert found.can_move and found.place == "src/train.py, line 3"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"agrees": True}, "quotes nothing"),
        ({"kind": "absent"}, "quotes nothing"),
        ({"code": "EPOCHS = 30"}, "the code doesn't have these lines"),
        ({"code": ""}, "the code doesn't have these lines"),
    ],
)
def test_nothing_is_kept_that_neither_text_shows(change, why) -> None:
    kept, [line] = kept_of(item(**(LEAK | change)))
    assert kept == [] and line.startswith("keeps the test rows: ") and why in line


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        (r"S_m(t) = |\frac{\partial E}{\partial m}|", True),
        ("S_m(t) = |\\frac{\\partial E}{\\partial n}|", False),
        ("+ λ_1 ||E(I_i)||_2", True),
        ("+ λ_1 ||E(I_i)||_1", False),
        ("δ = 0.05.", True),
        ("δ = 0.5", False),
        ("$T_k = α T_{k-1}$", True),
        ("Adam", True),
        ("SGD", False),
        ("we", False),
    ],
)
def test_a_short_formula_is_a_quotation_where_it_stands_as_it_is(quote: str, stands: bool) -> None:
    paper = """# Sensitivity
We take $S_m(t) = |\\frac{\\partial E}{\\partial m}|$ and Adam with δ = 0.05, and the sum
L + λ_1 ||E(I_i)||_2.

# Cooling
Here $T_k = α T_{k-1}$.
"""
    kept, dropped = checked([item(paper=quote)], paper, FILES, [])
    assert bool(kept) == stands and len(dropped) == (not stands)
    if kept:
        assert kept[0].section == ("Cooling" if "T_k" in quote else "Sensitivity")


def test_two_things_on_the_same_lines_are_two() -> None:
    other = item(says="RATE is 1e-3", does="keeps the last", paper="a learning rate of $10^{-3}$")
    unsaid = item(**LEAK | {"does": "counts from zero on each call"})
    shorter = item(says="for 200 epochs", paper="for 200 epochs")
    found, dropped = kept_of(item(), other, item(**LEAK), unsaid, shorter, item(**LEAK))
    assert len(found) == 4 and len(dropped) == 2
    assert all("said already" in line for line in dropped)


def test_what_moves_nothing_and_is_not_spoken_of_is_beside_the_differences() -> None:
    found, _ = kept_of(item(), item(**LEAK | {"moves": "no"}), item(agrees=True, does="20"))
    parts = sorted_items(found)
    assert {name: [one.id for one in each] for name, each in parts.items()} == {
        "differences": ["D1"],
        "agreements": ["D3"],
        "beside": ["D2"],
    }


def test_an_item_without_a_phrase_is_named_by_its_quotation() -> None:
    [found], _ = kept_of(item(says=""))
    assert found.says == "We train for 200 epochs"


def test_quotations_bear_markup_blanks_gaps_and_line_numbers() -> None:
    formula = item(
        kind="loss", says="inverse propensity weights", does="squares the weights",
        paper="The weight of each unit is the inverse propensity … averaged over ten folds",
        file="weigh.py", first=1, code="2|    y = w*y\n3|    x = w[:,None] * x",
    )  # fmt: skip
    [found], _ = kept_of(formula)
    assert found.place == "src/weigh.py, lines 2–3" and found.section == "Evaluation"


def test_lines_are_told_by_their_file_and_the_nearest_place() -> None:
    assert lines_of("EPOCHS = 5", "elsewhere.py", 1, FILES) == ("other.py", 1, 1)
    assert lines_of("EPOCHS =", "", 1, FILES) is None  # in two files, and none is named
    twice = {"a.py": "x = 1\ny = 2\nx = 1\n"}
    assert lines_of("x = 1", "a.py", 3, twice) == ("a.py", 3, 3)


def test_something_the_code_lacks_needs_no_lines() -> None:
    [found], _ = kept_of(
        item(
            kind="absent",
            code="",
            file="",
            says="ten folds",
            does="",
            paper="averaged over ten folds",
        )
    )
    assert found.place == "" and found.kind == "absent"


def test_the_same_item_twice_is_one_and_a_bound_is_no_number() -> None:
    bound = item(
        kind="preprocessing",
        says="below 25",
        does="25 and below",
        code="return score <= 25",
        first=8,
        paper="Scores below 25 are dropped",
    )
    found, dropped = kept_of(item(), item(says="two hundred epochs", does="only 20"), bound)
    assert [one.kind for one in found] == ["training length", "preprocessing"]
    assert len(dropped) == 1 and "said already" in dropped[0]


def test_a_replacement_that_is_not_there_once_is_none() -> None:
    twice = {"file": "src/weigh.py", "old": "w", "new": "v"}
    once = {"file": "src/train.py", "old": "EPOCHS = 20", "new": "EPOCHS = 200"}
    assert kept_of(item(replacement=twice))[0][0].replacement is None
    assert kept_of(item(replacement=once))[0][0].replacement is not None


def test_an_agreement_moves_nothing() -> None:
    [found], _ = kept_of(
        item(
            agrees=True,
            says="a learning rate of 0.001",
            does="0.001",
            code="RATE = 1e-3",
            first=4,
            paper="a learning rate of $10^{-3}$",
            moves="yes",
        )
    )
    assert not found.can_move and Audit(agreements=(found,)).moving == ()


@pytest.mark.parametrize("field", ["says", "does", "direction"])
@pytest.mark.parametrize("text", ["trains longer " * 60, "x" * 900, "étape suivante, " * 40])
def test_a_long_phrase_is_cut_and_its_item_stays(field: str, text: str) -> None:
    given = {"kind": "model", "says": "two layers", "paper": "with two layers", field: text}
    phrase = getattr(Item.model_validate(given), field)
    assert 300 < len(phrase) <= 400
    assert phrase.endswith("…")
    assert " ".join(text.split()).startswith(phrase.removesuffix("…"))
    if " " in text:
        assert set(phrase.removesuffix("…").split()) <= set(text.split())


@pytest.mark.parametrize(
    ("said", "kind"),
    [("baseline", "baseline"), ("threshold", "other"), ("Loss ", "loss"), ("", "other")],
)
def test_an_item_of_any_kind_stays(said: str, kind: str) -> None:
    item = Item.model_validate({"kind": said, "says": "two layers", "paper": "with two layers"})
    assert item.kind == kind


@pytest.mark.parametrize(
    ("kind", "before", "after", "word", "undone"),
    [
        ("leak", 0.9, 0.87, "close", 0.87),
        ("hard-coded value", 0.9, 0.7, "off", 0.7),
        ("model", 0.9, 0.7, "off", 0.7),  # the paper's way misses what the code's reaches
        ("seeds", 0.9, 0.7, "opposite", 0.7),
        ("model", 0.9, 0.89, "close", None),  # nobody could tell
        ("model", 0.9, 0.9, "reproduced", None),
        ("leak", 0.9, 0.9, "reproduced", None),  # it moves nothing
        ("model", None, 0.7, "off", None),
    ],
)
def test_what_only_holds_by_a_difference_is_told_from_what_moves(
    kind: Kind, before: float | None, after: float, word: str, undone: float | None
) -> None:
    effect = Effect(claim="acc", before=before, after=after, word=word)
    one = Difference(kind=kind, says="a", paper="b", does="c", moves="yes", effects=(effect,))
    assert one.undoes("acc") == undone and one.undoes("other") is None
    assert bool(Audit(differences=(one,)).decisive) == (undone is not None)
