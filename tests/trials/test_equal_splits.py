"""A validation number that is also the test number, in metrics and in what was printed."""

import pytest

from autoreproduce.trials.measurement import equal_splits


@pytest.mark.parametrize(
    ("metrics", "same"),
    [
        ({"val_acc": 0.712, "test_acc": 0.712}, True),
        ({"validation accuracy": 71.25, "test accuracy": 71.25}, True),
        ({"val_acc": 0.712, "test_acc": 0.711}, False),
        ({"val_acc": 1.0, "test_acc": 1.0}, False),  # easy tasks
        ({"val_acc": 0.5, "test_acc": 0.5}, False),  # too few digits
        ({"val_acc": 0.712, "test_loss": 0.712}, False),
        ({"value_acc": 0.712, "test_acc": 0.712}, False),
        ({"interval": 0.712, "intertest": 0.712}, False),
    ],
)
def test_of_metrics(metrics: dict[str, float], same: bool) -> None:
    assert bool(equal_splits(metrics)) == same


@pytest.mark.parametrize(
    ("printed", "same"),
    [
        ("epoch 9 val acc 0.712 test acc 0.698\nbest: val acc 0.712, test acc: 0.712\n", True),
        ("val_acc=0.712 test_acc=0.712\nepoch 2: val_acc=0.713 test_acc=0.698\n", False),
        ("val loss 0.712, test acc 0.712\n", False),
        ("val 0.7125 test 0.7125", True),
        ("val 0.50 test 0.50", False),
        ("nothing", False),
    ],
)
def test_of_what_was_printed(printed: str, same: bool) -> None:
    assert bool(equal_splits({}, printed)) == same
