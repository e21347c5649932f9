"""Tasks of the user's own: their metrics, which way is better, and their claims."""

from pathlib import Path

import pytest

from autoreproduce.benchmarks.own import OwnTask, OwnTasks
from autoreproduce.claims.user_claims import claims_of_task
from autoreproduce.errors import UsageError
from autoreproduce.runner.find import find_or_make_task
from autoreproduce.task import Task


def own(*metrics: str, claims: tuple[str, ...] = ()) -> Task:
    return find_or_make_task("ETTh1", "2310.06625", None, metrics, "", "small", claims)


@pytest.mark.parametrize(
    ("metric", "direction"),
    [
        ("mse", "lower"),
        ("accuracy", "higher"),
        ("accuracy:lower", "lower"),
        ("zeal:higher", "higher"),
        ("val_loss", "lower"),
        ("recall_at_20", "higher"),
    ],
)
def test_the_direction_is_asked_for_or_follows_from_the_name(metric: str, direction: str) -> None:
    assert own(metric).metric.direction == direction


def test_an_unknown_name_takes_the_direction_of_the_users_claim() -> None:
    assert own("zeal", claims=("zeal = 3 higher",)).metric.direction == "higher"
    with pytest.raises(UsageError, match="--metric zeal:lower or --metric zeal:higher"):
        own("zeal", claims=("mse = 3",))


def test_a_long_name_is_cut_for_folders_and_stays_its_own() -> None:
    said = "Sections 2 and 3 (Tables 1, 2 and 3 and the sentences beside them): " + "rates " * 40
    one, other = (OwnTask(name=said + end, metric=("mse",)).id for end in ("men", "women"))
    assert one.startswith("sections-2-and-3-tables-1-2-and-3") and len(one) == 69
    assert one != other and OwnTask(name="Table 2", metric=("mse",)).id == "table-2"


def test_several_metrics_by_commas_or_one_by_one_are_the_same_task() -> None:
    by_comma, one_by_one = own("mse,mae"), own("mse", "mae")
    assert [metric.name for metric in by_comma.metrics] == ["mse", "mae"]
    assert by_comma == one_by_one and by_comma.metric.name == "mse"


def test_the_benchmark_loads_the_same_task_again_from_its_options() -> None:
    task = own("zeal", "mae", claims=("zeal = 3 higher",))
    again = OwnTasks(OwnTasks.Options.model_validate(task.benchmark_options)).load(task.id, "full")
    assert again == task and again.user_claims == ["zeal = 3 higher"]


def test_a_claim_that_cannot_be_read_is_refused_before_anything_begins() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        own("mse", claims=("no number",))
    assert OwnTask(name="a", metric="mse").metric == ("mse",)


def test_what_needs_no_reading_of_the_paper() -> None:
    """So a solver that reads none is held against it too."""
    assert claims_of_task(own("mse")) is None
    alone = claims_of_task(own("mse", claims=("mse = 0.3",)))
    assert alone is not None and [claim.id for claim in alone.claims] == ["mse"]
    task = find_or_make_task("lsm", None, None, None, "", "small", ["relative_l2 = 0.03"])
    over = claims_of_task(task)
    assert over is not None and [(c.id, c.value) for c in over.claims] == [("relative_l2", 0.03)]


def test_a_paper_with_a_task_that_is_none_of_the_benchmarks_needs_a_metric(tmp_path: Path) -> None:
    paper = tmp_path / "paper.md"
    paper.write_text("# T\n")
    with pytest.raises(UsageError, match="needs its metric") as found:
        find_or_make_task("Short simulation", None, paper, None, "", "small")
    assert "--metric" in found.value.fix and "--experiment" in found.value.fix
