import json

import pytest

from autoreproduce.errors import CommandError
from autoreproduce.trials.metrics_file import check_form, parse_metrics, schema_text, usable_metrics


def written(tmp_path, text):
    path = tmp_path / "metrics.json"
    path.write_text(text)
    return path


def test_a_good_file_is_read_whole():
    value = {
        "metrics": {"relative_l2": 0.031, "epochs": 20},
        "history": [{"epoch": 1, "loss": 0.4}],
        "settings": {"lr": 1e-3},
    }
    found = parse_metrics(json.dumps(value), needs="relative_l2")
    assert found.metrics == {"relative_l2": 0.031, "epochs": 20.0}
    assert found.history == [{"epoch": 1.0, "loss": 0.4}]
    assert found.settings == {"lr": 1e-3}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("{'metrics': 1}", "is not JSON"),
        ('{"metrics": {"a": 0.1}', "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "the file must be an object"),
        ("{}", 'key "metrics" is missing; there are no keys'),
        ('{"metric": {"a": 1}}', 'key "metrics" is missing; there are metric'),
        ('{"metrics": {}}', '"metrics" is empty'),
        ('{"metrics": 0.3}', "metrics must be an object"),
        ('{"metrics": {"a": NaN}}', "metrics.a must be a finite number, but it is NaN"),
        ('{"metrics": {"a": Infinity}}', "metrics.a must be a finite number, but it is Infinity"),
        ('{"metrics": {"a": 1e999}}', "metrics.a must be a finite number"),
        (
            '{"metrics": {"a": "0.3"}}',
            'metrics.a must be a number (not text, not null, not true or false), but it is the text "0.3"',
        ),
        ('{"metrics": {"a": null}}', "metrics.a must be a number"),
        ('{"metrics": {"a": true}}', "metrics.a must be a number"),
        ('{"metrics": {"a": [0.1]}}', "but it is a list: [0.1]"),
        ('{"metrics": {"a": 1}, "history": {"epoch": 1}}', "history must be a list"),
        ('{"metrics": {"a": 1}, "history": [3]}', "history.0 must be an object"),
        ('{"metrics": {"a": 1}, "history": [{"loss": "low"}]}', "history.0.loss must be a number"),
        ('{"metrics": {"a": 1}, "settings": []}', "settings must be an object"),
    ],
)
def test_each_fault_is_named(text, reason):
    with pytest.raises(CommandError) as caught:
        parse_metrics(text)
    assert reason in str(caught.value)
    assert str(caught.value).startswith("metrics.json")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_missing_metric_are_named(tmp_path):
    with pytest.raises(CommandError, match="was not written"):
        usable_metrics(tmp_path / "metrics.json")
    with pytest.raises(CommandError, match='has no "relative_l2", only l2, loss'):
        parse_metrics('{"metrics": {"loss": 1, "l2": 2}}', needs="relative_l2")


def test_bytes_that_are_no_text_and_links_are_refused(tmp_path):
    path = tmp_path / "metrics.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match="cannot be read"):
        usable_metrics(path)
    secret = tmp_path / "secret.json"
    secret.write_text('{"metrics": {"a": 1}}')
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(CommandError, match="plain file"):
        usable_metrics(path)


def test_a_loss_that_diverged_is_kept_as_a_gap():
    found = parse_metrics(
        '{"metrics": {"a": 1}, "history": [{"epoch": 1, "loss": NaN}, {"loss": null}]}'
    )
    assert found.history == [{"epoch": 1.0, "loss": None}, {"loss": None}]


def test_the_example_in_the_schema_text_passes():
    example = next(x for x in schema_text(["mse", "mae"]).splitlines() if x.startswith("{"))
    assert not set("023456789") & set(example)  # no number that may be taken for a result
    found = parse_metrics(example.replace("<number>", "7"))
    assert found.metrics == {"mse": 7, "mae": 7}
    assert found.history == [{"epoch": 1.0, "loss": 7}]


@pytest.mark.parametrize(
    "text",
    ['{"metrics": {}}', '{"metrics": {"a": NaN, "b": Infinity}}', '{"metrics": {"a": null}}'],
)
def test_a_cut_run_may_leave_numbers_that_are_not_there_yet(text):
    check_form(text)


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"metrics": 0.3}'])
def test_a_cut_run_must_leave_the_file_in_its_form(text):
    with pytest.raises(CommandError, match=r"metrics\.json"):
        check_form(text)


def test_a_number_that_is_none_costs_no_other(tmp_path):
    text = '{"metrics": {"a": NaN, "b": 2, "c": null, "d": "0.3"}, "history": [{"loss": 1}]}'
    found, faults = usable_metrics(written(tmp_path, text))
    assert found.metrics == {"b": 2.0} and found.history == [{"loss": 1.0}]
    assert faults == {
        "a": "the program wrote NaN for it",
        "c": "the program wrote null for it",
        "d": 'the program wrote the text "0.3" for it',
    }
    with pytest.raises(CommandError, match="but it is NaN"):
        usable_metrics(written(tmp_path, '{"metrics": {"a": NaN}}'))
    with pytest.raises(CommandError, match="history must be a list"):
        usable_metrics(written(tmp_path, '{"metrics": {"a": 1, "b": NaN}, "history": 3}'))
