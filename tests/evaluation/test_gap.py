"""The performance gap's formula and where it ends."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autoreproduce.errors import UsageError
from autoreproduce.evaluation.scorers.gap import performance_gap, signed_gap

positive = st.floats(1e-6, 1e6)


@given(positive, positive)
def test_it_is_a_share_and_the_same_both_ways(one, other):
    gap = performance_gap(one, other)
    assert 0 <= gap < 1
    assert gap == pytest.approx(performance_gap(other, one))
    assert gap == pytest.approx(1 - min(one, other) / max(one, other), abs=1e-12)


@given(positive, positive, st.floats(0.01, 100))
def test_units_do_not_matter(one, other, scale):
    assert performance_gap(one * scale, other * scale) == pytest.approx(
        performance_gap(one, other), abs=1e-9
    )


@given(positive)
def test_the_ends(value):
    assert performance_gap(value, value) == 0
    for nothing in (None, 0.0, math.nan, math.inf):
        assert performance_gap(value, nothing) == 1.0


@given(positive, positive)
def test_the_sign_says_worse(reference, agent):
    assume(reference != agent)
    assert (signed_gap(reference, agent, "lower") > 0) == (agent > reference)
    assert signed_gap(reference, agent, "higher") == -signed_gap(reference, agent, "lower")
    assert abs(signed_gap(reference, agent, "lower")) == performance_gap(reference, agent)


@pytest.mark.parametrize("reference", [0.0, -1.0, math.nan, math.inf])
def test_a_reference_that_is_no_positive_number_is_an_error(reference):
    with pytest.raises(UsageError, match="positive unit"):
        performance_gap(reference, 1.0)


def test_a_negative_metric_is_an_error_and_no_number():
    with pytest.raises(UsageError, match="at least 0"):
        performance_gap(1.0, -0.5)
    with pytest.raises(UsageError, match="finite"):
        signed_gap(1.0, math.nan, "lower")
