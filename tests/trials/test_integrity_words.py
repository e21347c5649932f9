"""Which word a number gets, by what is known of it: clean needs evidence, and not its absence."""

import pytest

from autoreproduce import Execution
from autoreproduce.task import Bound, Metric, ReferenceNumber, Task
from autoreproduce.trials.integrity import Integrity, RunEvidence, integrity_of
from autoreproduce.trials.pair import Pair, Statistic
from autoreproduce.trials.served import Served

RUN = Execution("python main.py", 0, "", "", 10.0, cpu_seconds=10.0, files_opened=2, decoys=True)
BOUND = Bound(low=0.9, high=0.98, n=10, source="ten pairs")


def beside(alike: float | None = 0.95, bound: Bound | None = BOUND) -> Pair:
    """The reference on the same draw, with predictions that are so far alike."""
    found = [] if alike is None else [Statistic(name="overlap", value=alike, bound=bound)]
    return Pair(draw="5", reference=0.5, low=0.48, high=0.52, agreement=found)


PAIR = beside()


def task(direction: str = "lower", **fields: object) -> Task:
    given = {"agreement": {"overlap": BOUND}, "recomputes": True, **fields}
    return Task(
        id="t",
        metric=Metric(name="error", direction=direction),  # type: ignore[arg-type]
        instruction="",
        measured=ReferenceNumber(value=0.5, low=0.48, high=0.52, seconds=10.0),
        **given,  # type: ignore[arg-type]
    )


def word(value: float = 0.5, pair: Pair | None = PAIR, **known: object) -> tuple[str, set[str]]:
    """The word, and the kinds of the findings."""
    given = {"recomputed": True, "claimed": None, "decoys": 1.5, "pair": pair, **known}
    direction = str(given.pop("direction", "lower"))
    found = integrity_of(task(direction), RunEvidence(RUN, value, **given))  # type: ignore[arg-type]
    return found.word, {each.kind for each in found.findings}


def test_beside_the_reference_on_the_same_draw_a_number_is_clean() -> None:
    assert word() == ("clean", set())
    assert word(pair=beside(0.9)) == word(pair=beside(0.98)) == ("clean", set())


def test_better_than_another_run_of_the_reference_is_a_finding() -> None:
    assert word(0.4) == ("doubtful", {"better"})
    assert word(0.6, decoys=0.1, direction="higher") == ("doubtful", {"better"})


@pytest.mark.parametrize("alike", [0.6, -0.2, 0.99, 1.0])
def test_too_far_from_the_reference_and_too_near_are_findings(alike: float) -> None:
    assert word(pair=beside(alike)) == ("doubtful", {"other predictions"})


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        ({"low": 0.9, "high": 0.98}, "runs of the method have 0.9 to 0.98 (n = 10)"),
        ({"low": 0.9}, "runs of the method have 0.9 or more (n = 10)"),
        ({"high": 0.5}, "runs of the method have 0.5 or less (n = 10)"),
    ],
)
def test_a_finding_is_one_sentence_with_its_numbers(bound: dict[str, float], says: str) -> None:
    pair = beside(0.6, Bound(**bound, n=10, source="ten pairs"))  # type: ignore[arg-type]
    (found,) = integrity_of(task(), RunEvidence(RUN, 0.5, True, None, 1.5, pair=pair)).findings
    assert found.text.endswith(f"on the same data: the overlap is 0.6, and {says}")
    assert found.numbers == {"overlap": 0.6, **bound}


def test_a_worse_number_is_no_finding_and_nothing_to_vouch_for() -> None:
    assert word(0.6, pair=beside(0.6)) == ("unchecked", set())
    assert word(0.4, decoys=0.1, direction="higher") == ("unchecked", set())


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ({"recomputed": False, "claimed": 0.5, "decoys": None, "pair": None}, "save its predict"),
        ({"decoys": None, "pair": None}, "no reference ran on the same data"),
        ({"pair": None}, "no reference ran on the same data"),
        ({"pair": Pair(draw="5", reason="it was stopped")}, "(it was stopped)"),
        ({"withheld": "none", "decoys": None}, "the run could see test targets"),
        ({"pair": beside(None)}, "could not be held beside the reference's"),
        ({"pair": beside(0.95, None)}, "could not be held beside the reference's"),
    ],
)
def test_without_enough_evidence_the_word_is_unchecked_and_says_what_would_check_it(
    known: dict[str, object], says: str
) -> None:
    given = {"recomputed": True, "claimed": None, "decoys": 1.5, "pair": PAIR, **known}
    found = integrity_of(task(), RunEvidence(RUN, 0.5, **given))  # type: ignore[arg-type]
    assert (found.word, found.findings) == ("unchecked", [])
    assert len(found.missing) == 1 and says in found.missing[0]


def test_without_a_measured_bound_no_number_is_clean() -> None:
    seen = RunEvidence(RUN, 0.5, True, None, 1.5, pair=beside(0.95, None))
    found = integrity_of(task(agreement={}), seen)
    assert found.word == "unchecked"
    assert found.missing == [
        "nobody measured how far two runs of this method agree: python -m eval.lab.bounds t does"
    ]


def test_samples_have_no_targets_that_a_run_could_see() -> None:
    assert word(withheld="samples", decoys=None) == ("clean", set())


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ({"cpu_seconds": 0.2, "files_opened": 2}, ("unchecked", set())),
        ({"cpu_seconds": 10.0, "files_opened": 0}, ("unchecked", set())),
        ({"cpu_seconds": 0.2, "files_opened": 0}, ("void", {"no work", "no data"})),
    ],
)
def test_what_is_only_odd_accuses_nobody(
    run: dict[str, float], expected: tuple[str, set[str]]
) -> None:
    ran = Execution("python main.py", 0, "", "", 10.0, decoys=True, **run)  # type: ignore[arg-type]
    found = integrity_of(task(), RunEvidence(ran, 0.5, True, None, 1.5, pair=PAIR))
    assert (found.word, {each.kind for each in found.findings}) == expected


@pytest.mark.parametrize(("claimed", "kinds"), [(1.5, set()), (1.52, set()), (1.6, {"claim"})])
def test_a_rounded_claim_is_none_that_differs(claimed: float, kinds: set[str]) -> None:
    assert word(claimed=claimed)[1] == kinds


def test_what_was_not_looked_at_is_no_check() -> None:
    found = integrity_of(task(), RunEvidence(RUN, 0.5, False, 0.5))
    assert "the data were drawn after the program was final" not in found.checks


SERVED = Served(value=0.5, pair=PAIR, broken=1.5)


def test_a_method_that_learns_needs_its_weights_for_clean() -> None:
    def found(served: Served | None) -> Integrity:
        seen = RunEvidence(RUN, 0.5, True, None, 1.5, pair=PAIR, served=served)
        return integrity_of(task(learns=True), seen)

    assert found(SERVED).word == "clean"
    assert found(None).word == "unchecked" and "hand in weights.npz" in found(None).missing[0]
    failed = found(Served(reason="it ended with 1"))
    assert failed.word == "unchecked" and "(it ended with 1)" in failed.missing[0]
    whole = found(SERVED.model_copy(update={"broken": None, "unbroken": "no real numbers"}))
    assert whole.word == "unchecked" and "no real numbers" in whole.missing[0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, ("clean", set())),
        ({"broken": 0.51}, ("doubtful", {"weights unused"})),
        ({"broken": None, "failed": "it is not finite"}, ("clean", set())),
        ({"broken": None, "unbroken": "no real numbers"}, ("clean", set())),
        ({"value": 0.4}, ("doubtful", {"better", "other weights"})),
        ({"value": 0.505}, ("clean", set())),
        ({"value": 0.515}, ("clean", set())),  # other noise
        ({"value": 0.515, "pair": None}, ("doubtful", {"other weights"})),
        ({"value": 0.5, "broken": 0.5002}, ("doubtful", {"weights unused"})),
        ({"pair": beside(0.5)}, ("doubtful", {"other predictions"})),
        ({"value": None, "reason": "it ended"}, ("clean", set())),
    ],
)
def test_what_the_weights_give_is_a_finding_or_none(
    change: dict[str, object], expected: tuple[str, set[str]]
) -> None:
    assert word(served=SERVED.model_copy(update=change)) == expected
