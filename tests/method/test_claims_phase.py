"""The claims of a trial: asked for, checked at their place, frozen, and withheld."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server
from records import Notes, trial_record

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.claims.claim import CLAIMS, ClaimsFile, claims_of
from autoreproduce.claims.withholding import Withholding
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.method.claims import (
    FrozenClaims,
    blanked_task,
    freeze_claims,
    to_measure,
    withholding,
)
from autoreproduce.models.budget import Budget
from autoreproduce.models.open import open_model
from autoreproduce.papers import Paper
from autoreproduce.papers.tables import tables_in
from autoreproduce.task import Metric, Task
from autoreproduce.trials.trial import Trial

TEXT = """# Lines
We set the learning rate to 0.1.

Table 1: Results.

| Method | MSE |
|---|---|
| Ours | 0.0123 |
| Least squares | 0.0200 |
"""
# the same numbers, but the rows are another way round: LaTeX decides
LATEX = r"""\begin{table}\caption{Results.}\label{tab:1}\begin{tabular}{lc}Method & MSE \\ \hline
Ours & 0.0200 \\ Least squares & 0.0123 \\ \end{tabular}\end{table}"""
TASK = Task(
    id="line",
    method="Ours",
    dataset="Lines",
    metric=Metric(name="mse", definition="mean of squares"),
    instruction="Ours reaches an MSE of 0.0123. Learning rate 0.1.",
)


@pytest.fixture(autouse=True)
def of_its_own(in_folder: Path) -> None:
    """What a paper's reading leaves in runs/ is no other test's."""


def item(row: str, value: str, *, baseline: bool = False) -> str:
    return (
        f"- {{row: ['{row}'], column: [MSE], metric: MSE, direction: lower, value: {value}, "
        f"is_baseline: {str(baseline).lower()}, main: {str(not baseline).lower()}, table: Table 1}}"
    )


def block(*items: str) -> str:
    return "\n".join(["```yaml", *items, "```"])


RIGHT = block(item("Ours", "0.0123"), item("Least squares", "0.0200", baseline=True))
WRONG_ROW = block(item("Ours", "0.0200"), item("Least squares", "0.0200", baseline=True))


class Asked:
    """What `freeze_claims` gave, and the requests that it took."""

    def __init__(self, folder: Path, replies: Sequence[str], task: Task = TASK, **paper: Any):
        self.notes = Notes()
        record = trial_record(task="t", profile="p", solver="s", model="m", created="now")
        read = Paper(
            **{"title": "T", "text": TEXT, "body": TEXT, "source": "markdown", **paper}, note=""
        )
        with chat_server(replies) as server, Trial.open(folder, record, [self.notes]) as trial:
            settings = Settings(model="m", base_url=server.base_url, max_retries=0)
            agent = Agent(
                "research", open_model(settings), "m", Prompts(), trial, Budget(), settings
            )
            trial.phase("claims")
            self.found: FrozenClaims = freeze_claims(task, read, agent, trial)
            self.requests = server.requests

    @property
    def values(self) -> dict[str, float]:
        return {claim.id: claim.value for claim in self.found.file.claims}


@pytest.mark.slow
def test_right_claims_are_frozen_and_the_own_one_has_the_metrics_key(tmp_path: Path) -> None:
    asked = Asked(tmp_path, [RIGHT])
    assert asked.values == {"mse": 0.0123, "least_squares_mse": 0.02}
    assert claims_of(tmp_path) == asked.found.file and not asked.found.warnings
    assert [claim.id for claim in to_measure(asked.found.file)] == ["mse", "least_squares_mse"]
    assert asked.notes.texts == ["measured: mse (lower is better)"]


@pytest.mark.slow
def test_what_the_papers_own_table_contradicts_is_listed_when_claims_are_frozen(
    tmp_path: Path,
) -> None:
    said = "Least squares outperforms Ours in MSE. Ours has an MSE of 0.0132."
    text = TEXT.replace("\n\nTable 1", f"\n{said}\n\nTable 1")
    asked = Asked(tmp_path, [RIGHT], text=text, body=text, tables=tuple(tables_in(text)))
    order, number = asked.found.notes
    assert (order.kind, order.quotes[0]) == ("contradiction", said[:38])
    assert number.quotes == ["Ours has an MSE of 0.0132.", "Ours | MSE: 0.0123"]
    assert [text for text in asked.notes.texts if text.startswith("the paper against itself: ")]
    assert len(asked.requests) == 1  # no call beside the one for claims


@pytest.mark.slow
def test_a_number_of_another_row_is_refused_with_where_it_stands(tmp_path: Path) -> None:
    asked = Asked(tmp_path, [WRONG_ROW, RIGHT])
    assert asked.values["mse"] == 0.0123
    again = asked.requests[1].messages
    assert [m["role"] for m in again] == ["system", "user", "assistant", "user"]
    problem = str(again[-1]["content"])
    assert "0.0200 stands in" in problem and "Least squares" in problem


@pytest.mark.slow
def test_after_a_wrong_claim_the_corrected_one_alone_is_enough(tmp_path: Path) -> None:
    asked = Asked(tmp_path, [WRONG_ROW, block(item("Ours", "0.0123"))])
    assert asked.values == {"least_squares_mse": 0.02, "mse": 0.0123}
    assert not asked.found.warnings
    problem = str(asked.requests[1].messages[-1]["content"])
    assert "The 1 right one(s) are taken: give the corrected ones alone" in problem


@pytest.mark.slow
def test_notes_on_the_paper_come_with_its_claims_and_may_begin_in_a_formula(tmp_path: Path) -> None:
    text = TEXT + "\nIts size is $0.4 \\times 5 = 11.75$, some ${\\sim}8\\times$ one model's.\n"
    noted = [
        "- {kind: misprint, what: it is 2, quotes: ['= 11.75$, some ${\\sim}8\\times$ one model']}",
        "- {kind: misprint, what: it is 3, quotes: ['= 11.85$, some ${\\sim}8']}",
    ]
    claims = ["claims:", *RIGHT.splitlines()[1:-1], "notes:", *noted]
    asked = Asked(tmp_path, [block(*claims)], text=text, body=text)
    assert asked.values == {"mse": 0.0123, "least_squares_mse": 0.02}
    assert [note.what for note in asked.found.notes] == ["it is 2"]
    assert "## notes" in asked.requests[0].prompt
    assert any("left out: the paper doesn't have these words" in one for one in asked.notes.texts)


@pytest.mark.slow
def test_a_wrong_claim_may_be_withdrawn(tmp_path: Path) -> None:
    asked = Asked(tmp_path, [WRONG_ROW, "none_because: it stands in another table"])
    assert asked.values == {"least_squares_mse": 0.02} and not asked.found.warnings


@pytest.mark.slow
def test_what_stays_wrong_is_left_out_with_a_warning(tmp_path: Path) -> None:
    asked = Asked(tmp_path, [WRONG_ROW, WRONG_ROW])
    assert asked.values == {"least_squares_mse": 0.02}
    (warning,) = asked.found.warnings
    assert "left out" in warning and "Least squares" in warning and warning in asked.notes.texts


@pytest.mark.slow
def test_latex_decides_if_there_is_some(tmp_path: Path) -> None:
    by_latex = block(item("Ours", "0.0200"), item("Least squares", "0.0123", baseline=True))
    asked = Asked(tmp_path, [by_latex], latex=LATEX)
    assert asked.values == {"mse": 0.02, "least_squares_mse": 0.0123}


@pytest.mark.slow
def test_tables_of_lines_are_said_beforehand_and_their_claims_name_a_line(tmp_path: Path) -> None:
    lines = "Method MSE\nOurs 0.0123±0.001\nLeast squares 0.0200\n\nTable 1: Results.\n"
    ours = item("Ours", "0.0123 ± 0.001").replace("{", '{line: "Ours 0.0123±0.001", ', 1)
    named = TASK.model_copy(update={"metric": Metric(name="m s e")})
    asked = Asked(tmp_path, [block(ours)], named, text=lines, body=lines)
    assert "- Table 1: read as lines of text" in str(asked.requests[0].messages[-1]["content"])
    (found,) = asked.found.file.claims  # under the metric's name, so that it is required once
    assert (found.id, found.line, found.remark) == ("m s e", "Ours 0.0123±0.001", "")
    parsed = Asked(tmp_path / "parsed", [RIGHT]).requests[0].messages[-1]
    assert "lines of text" not in str(parsed) and "could be read" not in str(parsed)
    without = Asked(tmp_path / "without", ["none_because: no"], text="Words.", body="Words.")
    assert "No table of this paper could be read" in str(without.requests[0].messages[-1])


@pytest.mark.slow
def test_nothing_right_leaves_the_reason(tmp_path: Path) -> None:
    asked = Asked(tmp_path, [block(item("Ours", "0.5")), "no list at all"])
    assert not asked.found.file.claims and "could be found" in asked.found.file.none_because
    assert asked.found.warnings


def test_replies_that_cannot_be_read_do_not_end_the_trial(tmp_path: Path) -> None:
    asked = Asked(tmp_path, ["I am not sure.", "Still not."])
    assert "could not be read" in asked.found.file.none_because and asked.found.warnings


def test_a_paper_without_numbers_says_so(tmp_path: Path) -> None:
    asked = Asked(tmp_path, ["none_because: results are drawn in Figure 2 alone"])
    assert asked.found.file.none_because == "results are drawn in Figure 2 alone"
    assert not asked.found.warnings


@pytest.mark.slow
def test_what_is_frozen_stays_on_a_resume(tmp_path: Path) -> None:
    first = Asked(tmp_path, [RIGHT])
    before = (tmp_path / CLAIMS).read_bytes()
    again = Asked(tmp_path, [])  # the journal answers
    assert again.found.file == first.found.file and not again.requests
    assert (tmp_path / CLAIMS).read_bytes() == before
    (tmp_path / CLAIMS).write_text(before.decode().replace("0.0123", "0.5"))
    with pytest.raises(UsageError, match="changed after it was frozen"):
        Asked(tmp_path, [])


def test_a_tasks_own_claims_cost_no_call_and_the_users_stand_over_them(tmp_path: Path) -> None:
    given = {
        "claims": [
            {
                "id": "mse",
                "metric": "mse",
                "direction": "lower",
                "value": 0.3,
                "source": "task",
                "not_comparable": "stand-in data",
            }
        ]
    }
    users = ["mse = 0.31", "Ours / ETTh2: mae = 0.5"]
    task = TASK.model_copy(update={"claims": given, "user_claims": users})
    asked = Asked(tmp_path, [], task)
    assert asked.values == {"mse": 0.31, "ours_etth2_mae": 0.5} and not asked.requests
    assert {claim.source for claim in asked.found.file.claims} == {"user"}
    alone = Asked(tmp_path / "alone", [], TASK.model_copy(update={"claims": given}))
    assert alone.found.file.claims[0].not_comparable == "stand-in data"


def test_the_code_agents_task_has_settings_and_no_results() -> None:
    file = ClaimsFile.model_validate(
        {
            "claims": [
                {
                    "id": "mse",
                    "metric": "mse",
                    "direction": "lower",
                    "value": 0.0123,
                    "source": "task",
                }
            ]
        }
    )
    task = blanked_task(TASK, withholding(FrozenClaims(file)))
    assert task.instruction == "Ours reaches an MSE of [withheld]. Learning rate 0.1."
    assert Withholding()("an MSE of 0.0123") == "an MSE of 0.0123"


@pytest.mark.slow
def test_the_users_claims_stand_beside_those_of_the_papers_experiment(tmp_path: Path) -> None:
    users = ["Ours / MSE: MSE = 0.01", "Ours: seconds = 3 lower"]
    task = TASK.model_copy(update={"user_claims": users, "experiment": "Table 1"})
    asked = Asked(tmp_path, [RIGHT], task)
    assert asked.values == {
        "mse": 0.01,  # in place of the paper's, under its key
        "least_squares_mse": 0.02,
        "ours_seconds": 3.0,
    }


def test_without_an_experiment_the_users_claims_are_all_that_is_measured(tmp_path: Path) -> None:
    users = ["Ours: MSE = 0.01", "Ours: seconds = 3 lower"]
    asked = Asked(tmp_path, [], TASK.model_copy(update={"user_claims": users}))
    assert asked.values == {"ours_mse": 0.01, "ours_seconds": 3.0} and not asked.requests
