"""Programs whose truth is known: their files, the table, and one that is really run."""

import subprocess
import sys
from pathlib import Path

import pytest
from chat_server import chat_server
from sandbox_fixtures import settings_for

from autoreproduce.claims.claim import Claim
from autoreproduce.errors import UsageError
from eval.lab import control_claims
from eval.lab import controls as lab
from eval.lab.control_claims import claims_table, held_against
from eval.lab.controls import (
    Call,
    as_targeted,
    confusion_table,
    control_names,
    misses,
    read_control,
    share_of,
    variants_of,
)
from eval.lab.run_controls import run_controls

MEAN = """
title: The mean
field: arithmetic
paper: a page
code: ours
licence: MIT
files:
  main.py: |
    import json
    values = [1.5, 2.25, 8.125]
    mean = sum(values) / len(values)
    numbers = {"mean": mean, "total": mean * 3, "last": values[-1] ** 2}
    json.dump({"metrics": numbers}, open("metrics.json", "w"))
claims:
  mean: {claim: "all: mean = 3.958333"}
  total: {claim: "all: total = 11.875"}
  last: {claim: "last: square = 66.1", truth: not reproducible, why: "it is 66.02"}
altered:
  - name: off-by-one
    what: the first value is left out
    edits: [{file: main.py, old: "sum(values)", new: "sum(values[1:])"}]
    fall: [mean, total]
  - name: printed
    what: the numbers are constants
    edits: [{file: main.py, old: "mean * 3", new: "11.8750"}]
    fall: [total]
"""


@pytest.mark.parametrize("name", control_names())
def test_a_control_that_ships_can_be_read_and_its_faults_fit(name: str) -> None:
    control = read_control(name)
    plain, *faulty = variants_of(name, control)
    assert set(plain.truths) == set(control.claims) and any(plain.truths.values())
    assert len(faulty) >= 2
    for one in faulty:
        assert one.files != plain.files and not any(one.truths.values())
        compile(one.files["main.py"], one.fault, "exec")


def test_the_controls_that_ship_are_many() -> None:
    found = [read_control(name) for name in control_names()]
    assert sum(len(one.claims) for one in found) >= 70
    assert sum(len(one.altered) for one in found) >= 25


def test_an_unknown_control_is_refused() -> None:
    with pytest.raises(UsageError, match="choose among"):
        read_control("nothing")


CALLS = [
    *(Call("a", "", f"c{n}", True, "reproduced") for n in range(19)),
    Call("a", "", "missed", True, "close", "0.1 away"),
    Call("a", "", "wrong", False, "off"),
    Call("a", "swapped", "c1", False, "close"),
]


def test_the_table_counts_by_truth_and_by_what_claims_are_called() -> None:
    assert share_of(CALLS[:21], True) == "19 of 20 (76%–99%)"
    assert share_of(CALLS[:21], False) == "0 of 1 (0%–79%)"
    *_, whole = confusion_table(CALLS).splitlines()
    assert whole == (
        "| **all** | 21 | 19 of 20 (76%–99%) | 0 of 1 (0%–79%) | 1 | 1 | 0 of 1 (0%–79%) |"
    )
    assert misses(CALLS) == ["a: missed is reproduced, called close (0.1 away)"]


def test_one_false_word_misses_the_target() -> None:
    assert as_targeted(CALLS)
    assert not as_targeted([*CALLS, Call("a", "swapped", "c2", False, "reproduced")])
    assert not as_targeted([*CALLS, Call("a", "", "c2", True, "off")])


def claim_of(key: str, value: float, row: str, column: str) -> Claim:
    fields = {"id": key, "row": [row], "column": [column], "metric": "accuracy"}
    place = {"sentence": f"it has {value}", "direction": "higher", "value": value}
    return Claim.model_validate({**fields, **place})


def test_what_a_model_reads_is_held_against_the_claims_that_are_known() -> None:
    control = read_control("online-boosting")
    read = [
        claim_of("a", 0.884708, "Naive Bayes", column="Phishing"),
        claim_of("b", 0.642197, "Hoeffding Tree", column="Elec2"),
        claim_of("c", 0.9, "ALMA", column="Elec2"),
    ]
    found = held_against("online-boosting", control, read)
    assert found.placed == ["phishing_nb"] and found.elsewhere == ["bananas_ht"]
    assert len(found.unread) == 4 and found.others == 1
    assert claims_table([found]).endswith("| online-boosting | 6 | 1 | 1 | 4 | 1 |")
    assert claims_table([]) == ""


def test_a_text_names_its_commit_in_full() -> None:
    with_text = [name for name in control_names() if read_control(name).text]
    assert len(with_text) >= 4 and all(len(read_control(n).text_place[1]) == 40 for n in with_text)
    with pytest.raises(UsageError, match="OWNER/NAME@COMMIT:PATH"):
        _ = read_control(with_text[0]).model_copy(update={"text": "o/n@main:p.tex"}).text_place


CLAIM = """```yaml
- {row: [all], metric: mean, direction: match, value: 3.958333, scale: raw,
   sentence: "Over all, we find a mean of 3.958333"}
```"""


@pytest.mark.slow
def test_with_a_model_the_claims_of_a_text_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "1" * 40
    text = f"text: o/n@{commit}:paper/paper.md\nexperiment: the mean\n"
    (tmp_path / "controls").mkdir()
    control = MEAN.partition("altered:")[0].replace("licence: MIT\n", f"licence: MIT\n{text}")
    (tmp_path / "controls" / "mean.yaml").write_text(control)
    monkeypatch.setattr(lab, "folder", lambda name: tmp_path)

    def laid(*given: object) -> None:
        place = Path(str(given[-1])) / "paper"
        place.mkdir(parents=True)
        (place / "paper.md").write_text("# Means\nOver all, we find a mean of 3.958333.\n")

    monkeypatch.setattr(control_claims, "lay_authors_code", laid)
    with chat_server([CLAIM]) as server:
        settings = settings_for(
            "process", runs_dir=tmp_path / "runs", model="any", base_url=server.base_url
        )
        run_controls([], tmp_path / "out", settings, print)
    assert "| mean | 3 | 1 | 0 | 2 | 0 |" in (tmp_path / "out" / "controls.md").read_text()


@pytest.mark.slow
def test_a_control_is_run_and_its_faults_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "controls").mkdir()
    (tmp_path / "controls" / "mean.yaml").write_text(MEAN)
    monkeypatch.setattr(lab, "folder", lambda name: tmp_path)
    said: list[str] = []
    settings = settings_for("process", runs_dir=tmp_path / "runs")
    assert run_controls([], tmp_path / "out", settings, said.append)
    table = (tmp_path / "out" / "controls.md").read_text()
    assert "| mean | 3 | 2 of 2 (34%–100%) | 0 of 1 (0%–79%) | 2 | 3 | 0 of 3 (0%–56%) |" in table


# Two that are quick show the way of packages; all that ship run where there's a network.
FROM_PACKAGES = ["moments-accountant", "statsmodels-2011"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FROM_PACKAGES)
def test_a_control_made_of_packages_reaches_its_targets(name: str, tmp_path: Path) -> None:
    if packages := read_control(name).packages:
        asked = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", packages[0]]
        done = subprocess.run([*asked, "--dest", str(tmp_path)], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no package index here: {done.stderr.strip().splitlines()[-1]}")
    settings = settings_for(
        "process", disk_gb=2, memory_gb=4, runs_dir=tmp_path / "runs", cache_dir=tmp_path / "cache"
    )
    said: list[str] = []
    assert run_controls([name], tmp_path / "out", settings, said.append), said[-1]


@pytest.mark.slow
@pytest.mark.network
def test_the_controls_that_ship_reach_their_targets(tmp_path: Path) -> None:
    settings = settings_for(
        "process", disk_gb=2, memory_gb=4, runs_dir=tmp_path / "runs", cache_dir=tmp_path / "cache"
    )
    said: list[str] = []
    assert run_controls([], tmp_path / "out", settings, said.append), said[-1]
