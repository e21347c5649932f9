"""The example that ships: a small paper, its code and the model's recorded replies."""

from dataclasses import replace
from pathlib import Path

import pytest
from sandbox_fixtures import settings_for

from autoreproduce import Results, verify
from autoreproduce.files.tree import Tree

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/early-stopping"


@pytest.mark.slow
def test_the_example_holds_misses_and_holds_for_the_wrong_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(
        "process", runs_dir=tmp_path / "runs", model=f"tape:{EXAMPLE / 'tape.jsonl'}", audit=True
    )
    [done] = verify(
        EXAMPLE / "code", paper=EXAMPLE / "paper.md", experiment="Table 1", settings=settings
    )
    words = {one.claim.id: one.verdict.word for one in done.claims}
    assert words["last_epoch_accuracy"] == words["early_stopping_accuracy"] == "reproduced"
    assert words["ridge_accuracy"] == "off"
    audit = done.result.audit
    assert audit is not None
    assert done.differences[0].id == audit.moving[0].id
    (leak,) = audit.moving
    assert (leak.kind, leak.file) == ("leak", "train.py") and leak.confirmed
    moved = next(one for one in leak.effects if one.claim == "early_stopping_accuracy")
    assert (moved.before, moved.after) == (
        pytest.approx(0.72583, 1e-4),
        pytest.approx(0.70417, 1e-4),
    )
    assert done.result.verdict == "partly"
    page = (done.path / "report.html").read_text()
    assert "1 place that moves a number, as a run showed" in page
    assert page.count("reproduced, but not as stated") >= 2  # the leak's number, not the baseline's
    assert "done the paper&#39;s way, it&#39;s 0.7042" in page
    monkeypatch.syspath_prepend(ROOT / "docs/images")
    import pictures

    assert pictures.differences(Results((done,))) == [], "run make pictures: README's are older"
    changed = done.result.model_copy(update={"sentence": "Something else.", "claims": None})
    other = Results((replace(done, result=changed),))
    assert pictures.differences(other) == ["made_from.txt", "verify.svg"]


@pytest.mark.slow
def test_code_that_was_changed_is_run_anew(tmp_path: Path) -> None:
    code = tmp_path / "code"
    Tree(EXAMPLE / "code").copy_out(code)
    settings = settings_for(
        "process", runs_dir=tmp_path / "runs", model=f"tape:{EXAMPLE / 'tape.jsonl'}", audit=False
    )

    def verified() -> tuple[Path, bool]:
        asked = {"paper": EXAMPLE / "paper.md", "experiment": "Table 1", "settings": settings}
        [done] = verify(code, **asked)
        return done.path, done.earlier

    first, ran_before = verified()
    assert verified() == (first, True) and not ran_before
    (code / "train.py").write_text(
        (code / "train.py").read_text() + "# of the same length or not\n"
    )
    second, ran_before = verified()
    assert second != first and not ran_before
