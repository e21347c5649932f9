import pytest
from report_trials import darcy, outcome
from trial_results import trial_result

from autoreproduce.evaluation.report.verdict_words import disagreement, verdict
from autoreproduce.task import Metric, ReferenceNumber

FULL = darcy(profile="full", stand_in="")


def sentence_of(result, task=FULL, **more):
    found = verdict(result, task, **more)
    return found.level, found.sentence


def test_within_the_band_it_does_as_well():
    assert sentence_of(outcome()) == ("good", "The program does as well as our reference.")


def test_a_small_profile_is_named():
    assert sentence_of(outcome(), darcy())[1].startswith(
        "The program does as well as our reference on a small version of the experiment;"
    )


@pytest.mark.parametrize("value", [0.030, 0.036])
def test_the_ends_belong_to_the_band(value):
    assert sentence_of(outcome(metric=value, claimed=value))[0] == "good"


@pytest.mark.parametrize(
    "doubt",
    [{"recomputed": False}, {"claimed": 0.012}, {"claimed": 0.0}, {"integrity": "doubtful"}],
)
def test_a_number_that_is_disputed_or_the_programs_own_is_never_a_clean_success(doubt):
    assert sentence_of(outcome(**doubt))[0] == "mixed"


def test_digits_that_were_cut_off_dispute_nothing():
    assert disagreement(outcome(claimed=0.03180001)) is None


@pytest.mark.parametrize(
    ("value", "words"), [(0.052, "worse"), (0.0254, "better"), (0.036001, "worse")]
)
def test_outside_the_band_is_not_reproduced_whatever_the_flag_says(value, words):
    found = sentence_of(outcome(metric=value, claimed=value, within_band=True))
    assert found[0] == "mixed" and f"The program does {words} than our reference, by" in found[1]


def test_where_higher_is_better_the_sides_change():
    task = darcy(
        profile="full",
        metric=Metric(name="accuracy", direction="higher"),
        measured=ReferenceNumber(value=0.9, low=0.89, high=0.91),
    )
    assert "does better than" in sentence_of(outcome(metric=0.95, claimed=0.95), task)[1]
    assert "does worse than" in sentence_of(outcome(metric=0.8, claimed=0.8), task)[1]


def test_a_single_reference_gives_a_distance_and_no_judgement():
    task = darcy(profile="full", stand_in="", measured=ReferenceNumber(value=0.03))
    assert sentence_of(outcome(), task) == (
        "mixed",
        "The program does worse than our reference, by 6 %.",
    )
    assert "worse than the published one" in sentence_of(outcome(), darcy(measured=None))[1]


def test_without_a_reference_or_a_task_nothing_is_compared():
    alone = "Ran in full: relative L2 0.0318, with nothing here to hold it against."
    nothing = darcy(profile="full", stand_in="", measured=None, published=None)
    assert sentence_of(outcome(), nothing)[1] == alone
    for flag in (None, True, False):  # the outcome's own flag is no comparison
        assert sentence_of(outcome(within_band=flag), None) == ("open", alone)


def test_no_number_is_bad_even_where_the_status_is_good():
    assert (
        sentence_of(outcome(metric=None, reason="no metrics.json"))[1]
        == "Ran in full, but no number was measured: no metrics.json."
    )


def test_failed_stopped_and_unfinished_trials():
    failed = trial_result(
        status="failed", reason="it ended with exit code 1.\nTraceback", phase="method_replication"
    )
    assert sentence_of(failed) == (
        "bad",
        "Did not run: method replication failed, it ended with exit code 1. Traceback.",
    )
    late = trial_result(
        status="failed", reason="stopped at its limit (timeout)", phase="full_run", metric=0.03
    )
    assert sentence_of(late) == ("bad", "Did not run in full: stopped at its limit (timeout).")
    ran = late.model_copy(update={"reason": "no file", "details": {"ran": True}})
    said = "Couldn't tell: it ran in full and gave no number: no file."
    assert sentence_of(ran) == ("open", said)
    late.number.passed = False  # by a benchmark's own rule
    assert sentence_of(late)[1].startswith("Did not run in full: ")
    other = late.model_copy(update={"reason": "x is 4, not 1.625", "details": {"ran": True}})
    said = "Ran in full, but not as the original does: x is 4, not 1.625."
    assert sentence_of(other) == ("bad", said)
    stopped = trial_result(
        status="stopped", reason="the next call would pass the budget of $1", phase="refactoring"
    )
    assert sentence_of(stopped) == (
        "open",
        "Stopped before the full run, in refactoring: the next call would pass the budget of $1. The same command resumes it.",
    )
    said = stopped.model_copy(update={"reason": "run the same command with more to resume"})
    assert sentence_of(said)[1].endswith("refactoring: run the same command with more to resume.")
    asks = stopped.model_copy(update={"reason": "is there a network?"})
    assert sentence_of(asks)[1].endswith(" is there a network? The same command resumes it.")
    later = stopped.model_copy(update={"phase": "readings"})
    assert sentence_of(later)[1].startswith("Stopped after the full run, in other readings: ")
    assert sentence_of(None, last_phase="paper") == (
        "open",
        "Not finished: last seen in paper; the same command resumes there.",
    )
    assert sentence_of(None)[1].startswith("Not finished: no step was finished")
    assert "no reason was recorded" in sentence_of(trial_result(status="failed", reason=""))[1]
