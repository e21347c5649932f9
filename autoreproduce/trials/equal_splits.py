"""A validation number and a test number that are one and the same, in what a program wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

FEWEST_DIGITS = 3  # that two numbers share not by chance
_VALIDATION = re.compile(r"(?<![a-z])(?:validation|valid|val|dev)(?![a-z])", re.IGNORECASE)
_SPLIT = r"(?P<split>validation|valid|val|dev|test)"
_PRINTED = re.compile(  # "val acc 0.712", "test_acc=0.712"
    rf"(?<![a-z]){_SPLIT}(?:[ _-](?P<what>[a-z]\w*))?[\s:=(]{{1,4}}(?P<number>\d+\.\d+)",
    re.IGNORECASE,
)


def equal_splits(metrics: Mapping[str, float], printed: str = "") -> str:
    """A sentence on a validation number that is its test number to the last digit; "" if none is.

    `metrics`: by name, as the program wrote them. `printed`: what it printed, whose last line with
    both numbers counts.
    """
    for name, value in metrics.items():
        other = _VALIDATION.sub("test", name.replace("_", " "))
        twin = next((key for key in metrics if key.replace("_", " ") == other and key != name), "")
        if twin and metrics[twin] == value and _digits(f"{value:.12g}") >= FEWEST_DIGITS:
            return _sentence(name, twin, f"{value:.6g}")
    lines = list(_lines_with_both(printed))
    if lines and lines[-1][1] == lines[-1][3]:
        name, shown, twin, _ = lines[-1]
        return _sentence(name, twin, shown)
    return ""


def _sentence(validation: str, test: str, value: str) -> str:
    return (
        f"{validation} and {test} are the same number to the last digit ({value}): read whether "
        "the number that is stated of the test split was computed on it"
    )


def _lines_with_both(printed: str) -> Iterator[tuple[str, str, str, str]]:
    """(name, number) of the validation and of the test split, of each line that has both."""
    for line in printed.splitlines():
        found: dict[tuple[bool, str], tuple[str, str]] = {}
        for match in _PRINTED.finditer(line):
            what = (match["what"] or "").casefold()
            is_test = match["split"].casefold() == "test"
            name = " ".join(filter(None, (match["split"], match["what"])))
            found[is_test, what] = (name, match["number"])
        for (is_test, what), validation in found.items():
            test = found.get((True, what))
            if not is_test and test and _digits(validation[1]) >= FEWEST_DIGITS:
                yield (*validation, *test)


def _digits(number: str) -> int:
    """How many digits a number has, without zeros at either end."""
    return len(re.sub(r"\D", "", number).strip("0"))
