"""What the research agent and the user write becomes claims, or errors that name item and field."""

import json

import pytest
from claim_maker import claim, file_of

from autoreproduce.claims.claim import ClaimsFile, id_of
from autoreproduce.claims.replies import read_claims
from autoreproduce.claims.user_claims import direction_of, read_user_claim, with_user_claims
from autoreproduce.errors import CommandError, UsageError
from autoreproduce.models.fenced import data_in_reply

REPLY = """Here they are:
```yaml
- row: [Ours]
  column: [CIFAR, Acc]
  metric: accuracy
  direction: higher
  value: 94.30
  scale: percent
  spread: {value: 0.2, kind: 95% CI}
  n: 5
  split: test
  main: true
  where: {table: Table 1}
- row: Alpha
  column: [CIFAR, Acc]
  metric: accuracy
  direction: higher
  value: 9.5e1
  unit: null
  n: unknown
  is_baseline: true
  sentence: "no: a colon, and # a mark"
```
"""


def test_a_list_in_yaml() -> None:
    ours, alpha = read_claims(REPLY, paper="P", experiment="Table 1").claims
    assert (ours.id, ours.printed, ours.half_step) == ("ours_cifar_acc", "94.30", 0.005)
    assert ours.spread is not None
    assert (ours.spread.kind, ours.n, ours.split, ours.main) == ("ci95", 5, "test", True)
    assert (alpha.row, alpha.value, alpha.n, alpha.unit) == (("Alpha",), 95.0, None, "")
    assert (alpha.is_baseline, alpha.spread, alpha.sentence) == (
        True,
        None,
        "no: a colon, and # a mark",
    )


def test_the_same_in_json_and_under_a_key() -> None:
    items = [
        {
            "row": "Ours",
            "column": "Acc",
            "metric": "acc",
            "direction": "higher",
            "value": 94.30,
            "table": "2",
            "main": True,
            "spread": "± 0.2",
            "n": None,
        }
    ]
    text = json.dumps(items).replace("94.3,", "94.30,")
    for reply in (text, f"```json\n{text}\n```", f'```\n{{"claims": {text}}}\n```'):
        (one,) = read_claims(reply).claims
        assert (one.printed, one.value, one.main, one.n) == ("94.30", 94.3, True, None)
        assert one.spread is not None
        assert (one.spread.value, one.spread.kind) == (0.2, "unstated")


@pytest.mark.parametrize(
    ("spread", "wanted"),
    [
        ("5", (5.0, "unstated", None, None)),
        ("{value: 5, kind: unknown}", (5.0, "unstated", None, None)),
        ("{plus: 1, minus: 5, kind: 95% ci}", (5.0, "ci95", 1.0, 5.0)),
        ("{plus: 1%, minus: -5, kind: range}", (5.0, "range", 1.0, 5.0)),
        ("+1/-5", (5.0, "unstated", 1.0, 5.0)),
        ('"+1% / −5%"', (5.0, "unstated", 1.0, 5.0)),
        ("{value: +1/-5, kind: std}", (5.0, "std", 1.0, 5.0)),
    ],
)
def test_a_spread_may_be_a_bare_number_or_have_two_sides(spread: str, wanted: object) -> None:
    reply = REPLY.replace("{value: 0.2, kind: 95% CI}", spread)
    one = read_claims(reply).claims[0].spread
    assert one is not None
    assert (one.value, one.kind, one.plus, one.minus) == wanted


def test_a_spread_with_one_size_is_written_as_before_there_were_two() -> None:
    one = read_claims(REPLY).claims[0].spread
    assert one is not None and one.model_dump() == {"value": 0.2, "kind": "ci95"}


def test_no_number_in_the_paper_has_a_reason() -> None:
    found = read_claims("```yaml\nnone_because: Figure 3 shows curves only\n```")
    assert (found.claims, found.none_because) == ((), "Figure 3 shows curves only")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("direction: higher\n  value: 94.30", "value: 94.30"),
            "(Ours), direction: Field required",
        ),
        (("value: 94.30", "value: high"), "claim 1 (Ours), value: 'high' is not one number"),
        (("value: 94.30", "value: 94 to 95"), "value: '94 to 95' is not one number"),
        (("scale: percent", "scale: points"), "claim 1 (Ours), scale: Input should be"),
        (("scale: percent", "scale: fraction"), "94.3 isn't a fraction"),
        (("n: 5", "n: 0"), "claim 1 (Ours), n: Input should be greater"),
        (("n: 5", "seeds: 5"), "claim 1 (Ours), seeds: Extra inputs"),
        (("n: 5", "value: 5"), "the key 'value' is given twice"),
        (("kind: 95% CI", "kind: width"), "claim 1 (Ours), spread.kind: Input should be"),
        (("column: [CIFAR, Acc]\n  metric", "metric"), "row and column headings: give both"),
        (("where: {table: Table 1}", "id: x"), "give either table"),
        (("where: {table: Table 1}", "where: {table: T, sentence: s}"), "give either table"),
        (("- row: [Ours]\n", "- 5\n- row: [Ours]\n"), "claim 1, as a whole: must be a mapping"),
        (("higher\n  value: 9.5e1", "up\n  value: 9.5e1"), "claim 2 (Alpha), direction"),
    ],
)
def test_an_error_names_item_and_field(change: tuple[str, str], message: str) -> None:
    assert change[0] in REPLY
    with pytest.raises(CommandError) as error:
        read_claims(REPLY.replace(*change, 1))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("", "empty"),
        ("I cannot find any.", "must hold a list"),
        ("```yaml\n[]\n```", "must hold a list"),
        ("```yaml\n- a: [b\n```", "cannot be read"),
        ('```json\n[{"a": 1, "a": 2}]\n```', "is given twice"),
        ("```yaml\n- a: 1\n```\n```yaml\n- b: 1\n```", "2 fenced blocks"),
    ],
)
def test_what_is_no_list_says_what_to_give(reply: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        read_claims(reply)


def test_a_number_may_have_words_behind_it_and_an_order_has_no_value() -> None:
    remarked = read_claims(REPLY.replace("value: 94.30", "value: 94.30 (three seeds)"))
    assert (remarked.claims[0].value, remarked.claims[0].printed) == (94.3, "94.30")
    with pytest.raises(CommandError, match="is not one number"):
        read_claims(REPLY.replace("value: 94.30", "value: 94.30 (std 0.2)"))
    item = "{row: A, column: B, metric: m, direction: higher, value: 9, table: 1, kind: order, than: C}"
    assert read_claims(f"```yaml\n- {item}\n```").claims[0].value == 0


def test_all_errors_come_together() -> None:
    wrong = REPLY.replace("94.30", "x").replace("direction: higher\n  value: 9.5e1", "value: 9.5e1")
    with pytest.raises(CommandError) as error:
        read_claims(wrong)
    assert "claim 1" in str(error.value)
    assert "claim 2 (Alpha), direction" in str(error.value)


def test_two_claims_with_the_same_names_get_two_ids() -> None:
    item = "- {row: A, column: B, metric: m, direction: lower, value: 1, table: 1}\n"
    assert [c.id for c in read_claims(f"```yaml\n{item * 3}```").claims] == [
        "a_b_m",
        "a_b_m_2",
        "a_b_m_3",
    ]
    with pytest.raises(CommandError, match="id: x is given to two"):
        read_claims(f"```yaml\n{item.replace('{', '{id: x, ') * 2}```")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "Ours / CIFAR: accuracy = 94.3% ± 0.2",
            (("Ours",), ("CIFAR",), "accuracy", 94.3, "higher", "percent", 0.2, ""),
        ),
        ("mse = 0.31", ((), (), "mse", 0.31, "lower", "raw", None, "")),
        ("A: speed = 3 items/s higher", (("A",), (), "speed", 3, "higher", "raw", None, "items/s")),
        (
            "A: relative_l2 = 6.5e-3 lower is better",
            (("A",), (), "relative_l2", 0.0065, "lower", "raw", None, ""),
        ),
        (
            "A (x=2): acc = 94.3 +/- 0.2 %",
            (("A (x=2)",), (), "acc", 94.3, "higher", "percent", 0.2, ""),
        ),
        ("energy = -12.5 eV minimized", ((), (), "energy", -12.5, "lower", "raw", None, "eV")),
    ],
)
def test_the_user_s_grammar(text: str, wanted: tuple[object, ...]) -> None:
    c = read_user_claim(text)
    spread = c.spread.value if c.spread else None
    assert (c.row, c.column, c.metric, c.value, c.direction, c.scale, spread, c.unit) == wanted
    assert c.source == "user"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accuracy", "write --claim"),
        ("accuracy = high", "write --claim"),
        ("= 5 higher", "write --claim"),
        ("accuracy = 1 2 higher", "write --claim"),
        ("accuracy = 5 > 3", "write --claim"),
    ],
)
def test_a_wrong_claim_of_the_user_s_names_the_grammar(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_user_claim(text)


def test_the_user_s_claim_replaces_the_one_with_its_names() -> None:
    paper = file_of(claim(94.3), claim(50.0, id="b", row=("B",)))
    mine = read_user_claim("Ours / CIFAR / Acc: accuracy = 95% higher")
    both = with_user_claims(paper, [mine])
    assert [(c.id, c.value) for c in both.claims] == [("b", 50.0), ("ours", 95.0)]
    assert with_user_claims(paper, []) is paper
    none = ClaimsFile(none_because="curves only")
    assert with_user_claims(none, [mine]).claims == (mine,)


def test_a_column_that_is_headed_by_the_metric_says_nothing_more() -> None:
    read = claim(1711.49, row=("Matching",), column=("Final cost",), metric="final cost")
    mine = read_user_claim("Matching: final_cost = 1711.49 ± 73.3 lower")
    assert [c.spread is not None for c in with_user_claims(file_of(read), [mine]).claims] == [True]
    other = claim(1.0, row=("Matching+",), column=("Final cost",), metric="final cost")
    assert len(with_user_claims(file_of(other), [mine]).claims) == 2


def test_directions_that_names_tell() -> None:
    known = {
        "accuracy": "higher",
        "MSE": "lower",
        "test error": "lower",
        "F1-score": "higher",
        "Dice ↑": "higher",
        "loss ↓": "lower",
        "relative_l2": "lower",
        "mAP": "higher",
        "R²": "higher",
        "adjusted R^2": "higher",
    }
    assert {name: direction_of(name) for name in known} == known
    assert direction_of("sparsity") is None


@pytest.mark.parametrize(
    ("metric", "better"),
    [
        ("MSE reduction", None),
        ("decrease of the test MSE from OLS", None),
        ("polynomial degree of the lowest test MSE", None),
        ("std of accuracy", None),
        ("rate of success", "higher"),
        ("accuracy of the best epoch", "higher"),
        ("lowest test MSE", "lower"),
    ],
)
def test_what_is_said_of_a_metric_has_no_direction_of_it(metric: str, better: str | None) -> None:
    assert direction_of(metric) == better


def test_a_file_is_frozen_with_its_rules() -> None:
    file = file_of(claim(94.3), claim(92.2, id="alpha", row=("Alpha",), is_baseline=True))
    text = file.to_json()
    assert ClaimsFile.from_json(text) == file
    assert json.loads(text)["digest"] == file.digest
    for changed in (text.replace("94.3", "90.3"), text.replace('"margin": 0.02', '"margin": 0.5')):
        assert changed != text
        with pytest.raises(UsageError, match="changed after it was frozen"):
            ClaimsFile.from_json(changed)
    for broken in ("", "[]", "{}", text[:-5]):
        with pytest.raises(UsageError, match="cannot be read"):
            ClaimsFile.from_json(broken)


def test_a_file_has_claims_or_a_reason() -> None:
    for wrong in ({}, {"claims": (claim(1.0),), "none_because": "x"}):
        with pytest.raises(ValueError, match="none_because"):
            ClaimsFile(**wrong)
    with pytest.raises(ValueError, match="the id ours"):
        file_of(claim(1.0), claim(2.0))


@pytest.mark.parametrize(
    ("headings", "metric", "key"),
    [
        (["Cao", "Time"], "time", "cao_time"),
        (["Cao", "No. iterations"], "number of iterations", "cao_no_iterations"),
        ([r"$\bm{\times}$", r"$\mathrm{NAC}_{\bullet}$"], "error", "times_nac_dot_error"),
        ([r"$\bm{-}$", r"$\mathrm{NAC}_{+}$"], "error", "minus_nac_plus_error"),
        (["k-modes", "β = 0.1", "Acc. (%)"], "mean accuracy", "k_modes_beta_0_1_acc_mean_accuracy"),
        (["**Müller**"], "R", "muller_r"),
        (["方法"], "%", "claim"),
    ],
)
def test_a_key_is_made_of_words_that_tell_the_number(
    headings: list[str], metric: str, key: str
) -> None:
    assert id_of(headings, metric, ()) == key
    assert id_of(headings, metric, {key}) == f"{key}_2"


def test_a_title_is_what_a_reader_sees_and_names_the_metric_once() -> None:
    where = {"row": [r"$\bm{\times}$", "NMU"], "column": ["Success", "Rate"]}
    assert claim(0.5, **where, metric="success rate").title == "× / NMU / Success / Rate"
    assert claim(0.5, **where, metric="runs").title == "× / NMU / Success / Rate: runs"


def test_a_backslash_in_quotes_is_the_papers() -> None:
    reply = r"""```yaml
- place: "at $\Delta = \sigma/4$, 5\% of \"all\", \nu \times \theta, \alpha"
```"""
    (read,) = data_in_reply(reply, "items")
    assert read["place"] == r'at $\Delta = \sigma/4$, 5\% of "all", \nu \times \theta, \alpha'
