"""One matcher for the names of experiments: of the plan, of the paper's tables, as users write."""

import pytest

from autoreproduce.claims.experiments import PaperPlan, experiment_key, meant_by, named_nowhere
from autoreproduce.errors import UsageError


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (
            "table-2",
            ["Table 2", "table 2:", "TABLE II", "Tab. 2", "tab 2", "Tab.~2", "Tbl. ii", "Table2"],
        ),
        ("table-14", ["Table XIV", "table 14.", "the Table 14"]),
        ("figure-3", ["Figure 3", "Fig. 3", "fig 3", "FIG. III", "Figure~3"]),
        ("table-2-left", ["Table 2 (left)", "Tab. II (left)"]),
        ("table-s4", ["Table S4", "Tab. S4"]),
        ("table-tab-main", ["Table tab:main"]),
        ("tab-main", ["tab:main"]),
        ("tabular-data", ["Tabular data"]),
    ],
)
def test_a_name_in_its_usual_forms(key: str, names: list[str]) -> None:
    assert {experiment_key(name) for name in names} == {key}


def plan_of(*names: str, tables: tuple[tuple[str, ...], ...] = ()) -> PaperPlan:
    one = {"what": "w", "dataset": "d", "data": "generated", "minutes": 1, "instruction": "i"}
    one |= {"metrics": [{"name": "error", "direction": "lower"}]}
    return PaperPlan.model_validate(
        {"paper": "P", "model": "m", "created": "2026", "machine": "x", "tables": tables}
        | {"experiments": [{**one, "name": name} for name in names]}
    )


@pytest.mark.parametrize(
    ("typed", "listed"),
    [
        ("Table 1", "Table tab:err"),  # which the paper's source calls by its label alone
        ("tab. I", "Table tab:err"),
        ("tab:err", "Table tab:err"),
        ("TABLE II", "Table 2"),
        ("2", "Table 2"),
        ("table 3", "Table III (left)"),
        ("fig. 4", "Figure 4"),
    ],
)
def test_what_users_type_finds_what_the_plan_lists(typed: str, listed: str) -> None:
    plan = plan_of(
        "Table tab:err",
        "Table 2",
        "Table III (left)",
        "Figure 4",
        tables=(("1", "tab:err"), ("II",)),
    )
    assert [one.name for one in plan.chosen([typed])] == [listed]


def test_what_is_unknown_or_can_mean_two_is_refused_with_the_names() -> None:
    plan = plan_of("Table 2 (left)", "Table 2 (right)", "Table 21")
    with pytest.raises(UsageError, match="can mean 2 experiments") as two:
        plan.chosen(["Tab. 2"])
    assert "Table 2 (left), Table 2 (right); or main, all" in str(two.value.fix)
    with pytest.raises(UsageError, match="no experiment 'Table 3'"):
        plan.chosen(["Table 3"])
    with pytest.raises(ValueError, match="two experiments have one name"):
        plan_of("Table 2", "Tab. II")
    assert meant_by("Table 7", ["Table 1", "Table 2"], [("1", "tab:a"), ("2",)]) == []


@pytest.mark.parametrize(
    ("typed", "nowhere"),
    [
        ("Table 2", False),
        ("tab. II", False),
        ("Table tab:err", False),
        ("Table 2 (left)", False),
        ("Table 9", True),
        ("Tabel 2", True),  # no such word in the text
        ("tab:other", True),
        ("Figure 3", False),
        ("Fig. 12", True),
        ("MNIST", False),  # its text has it, so the plan tells
        ("ImageNet", True),
        ("Section 7", False),
        ("main", False),
        ("all", False),
    ],
)
def test_what_the_paper_surely_has_not_is_known_before_it_is_planned(
    typed: str, nowhere: bool
) -> None:
    text = "Table 2 has the error on MNIST; Fig. 3 its course. The other one is in Table I."
    assert named_nowhere(typed, [("1", "tab:err"), ("2",)], text) == nowhere


@pytest.mark.parametrize("typed", ["Table 1", "Figure 2", "Table 9"])
def test_where_the_text_numbers_nothing_only_the_plan_tells(typed: str) -> None:
    text = r"As the table and the figure show, \ref{fig:a} is as in Figure 3 of their paper."
    assert not named_nowhere(typed, [], text)
