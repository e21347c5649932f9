"""The gate to the code agent: what a template puts in passes it; what its own program made doesn't."""

import re
from pathlib import Path

import pytest
from claim_maker import claim

from autoreproduce.agents.prompts import Own, Prompts
from autoreproduce.claims.user_claims import read_user_claims
from autoreproduce.claims.withholding import SEEN, WITHHELD, Withholding, may_have_been_seen
from autoreproduce.content import folder

GATED = claim(0.912, row=("Gated",), column=("F1",), metric="f1", scale="fraction", printed="0.912")


def rendered(place: Path, template: str, withhold: Withholding | None, **variables: object) -> str:
    (place / "part.md").write_text("Part: {{ said }}\n")
    (place / "asked.md").write_text(template)
    return Prompts(place).render("asked", withhold=withhold, **variables)


@pytest.mark.parametrize(
    "template",
    ["{{ said }}", '{% include "part.md" %}', "{% for one in [said] %}- {{ one }}{% endfor %}"],
)
def test_each_text_that_a_template_puts_in_passes_the_gate(tmp_path: Path, template: str) -> None:
    said = {"said": "It ends at 91.2 % in March."}
    assert "91.2" not in rendered(tmp_path, template, Withholding([GATED]), **said)
    assert "91.2 %" in rendered(tmp_path, template, None, **said)
    assert "91.2 %" in rendered(tmp_path, template, Withholding(), **said)


def test_what_the_program_wrote_or_printed_is_shown_as_it_is(tmp_path: Path) -> None:
    """Else `[withheld]` would say that the program reached the paper's number."""
    template = "{{ code | number }}\n{{ printed | own }}\n{{ told }}\n{{ count }}"
    values = {"code": "f1 = 0.912", "printed": "f1 0.912", "told": Own("0.912"), "count": 912}
    text = rendered(tmp_path, template, Withholding([GATED]), **values)
    assert text.count("0.912") == 3 and WITHHELD not in text


@pytest.mark.parametrize("name", ["context/code", "context/listing", "debug/edit", "debug/analyse"])
def test_the_prompts_that_ship_mark_what_the_program_made(name: str) -> None:
    text = (folder("prompts") / f"{name}.md").read_text()
    assert "| own }}" in text


def test_what_cannot_be_decided_is_told_in_the_outcome(tmp_path: Path) -> None:
    gate = Withholding([GATED])
    text = rendered(tmp_path, "{{ said }}", gate, said="With a threshold of 0.912 it opens.")
    assert "threshold of 0.912" in text
    (tmp_path / "data").mkdir()
    (tmp_path / "data/README.txt").write_text("The authors reach .912 with this.")
    (tmp_path / "data/values.csv").write_text("0.912\n")  # data hold any number
    gate.look_through(tmp_path / "data", given="MEAN = 0.5  # gives an F1 of 91.2 %\n")

    class Written:
        def write(self, name: str, text: str) -> None:
            (tmp_path / name).write_text(text)

    gate.write(Written())  # type: ignore[arg-type]
    told = may_have_been_seen(tmp_path)
    assert len(told) == 3 and all(
        "value may have been seen: Gated / F1 (0.912)" in one for one in told
    )
    assert [next(n for n in ("asked", "README", "preprocess") if n in one) for one in told]
    for broken in ("{", "7", "\x00"):
        (tmp_path / SEEN).write_text(broken)
        assert may_have_been_seen(tmp_path) == []


SHORT = "Then $R$ was the largest $98\\%$ of the time, $S$ in $2\\%$."
MEANS = "The means were $\\overline{R}_\\sigma = 0.91$ and $\\bar H = 0.7$ with $\\sigma = 0.5$."


@pytest.mark.parametrize(
    ("value", "sentence", "gone", "kept"),
    [
        (98.0, SHORT, ["98", "2"], []),  # the rest of a share says as much
        (0.91, MEANS, ["0.91"], ["0.5"]),  # an index is no setting's name, an equation no excuse
        (0.7, MEANS, ["0.7"], ["0.5"]),
        (0.5, "At $\\lambda = 0.5$ the loss is 0.5.", ["is 0.5"], ["lambda = 0.5"]),
    ],
)
def test_a_value_is_withheld_in_the_sentence_it_was_taken_from(
    value: float, sentence: str, gone: list[str], kept: list[str]
) -> None:
    scale = "percent" if value > 1 else "raw"
    stated = claim(value, metric="share", scale=scale, sentence=sentence, row=("R",), column=())
    before = f"# Results\n\nWe simulate. {sentence} No more.\n"
    after = Withholding([stated])(before)
    left = after.replace(WITHHELD, "")
    for number in gone:
        assert not re.search(rf"(?<![\d.]){re.escape(number)}(?!\.?\d)", left)
    assert all(number in left for number in kept)


HORIZON = ["mean T_H = 0.76", "minimum T_H = 0.60", "maximum T_H = 0.92", "sample size = 122"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (r"It occurred at a mean time of $0.76 \text{ s}$.", r"time of $# \text{ s}$."),
        (r"The mean is $0.76\,\mathrm{m/s}$ there.", r"mean is $#\,\mathrm{m/s}$ there."),
        ("A mean of 0.76 s, all between 0.60 s and 0.92 s.", "of # s, all between # s and # s."),
        ("The required sample size is $n = 122$, and more.", "size is $n = #$, and more."),
        (r"We set $\gamma = 0.60$ and $k = 122$.", r"set $\gamma = 0.60$ and $k = 122$."),
        ("The damping was 0.60 and the mass 0.92.", "was 0.60 and the mass 0.92."),
    ],
)
def test_a_claim_in_the_users_words_is_withheld_with_its_unit_and_its_neighbours(
    text: str, left: str
) -> None:
    claims = read_user_claims(HORIZON)
    assert Withholding(claims)(text).replace(WITHHELD, "#").endswith(left)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("It fails in 3/40 of the runs.", f"It fails in {WITHHELD} of the runs."),
        ("It fails in 3 of 40 runs.", f"It fails in {WITHHELD} runs."),
        ("It fails in 30 out of 400.", f"It fails in {WITHHELD}."),
        ("It fails in 90 of the 1,200 runs.", f"It fails in {WITHHELD} runs."),
        ("Ours fails in 7.5 % of the samples.", f"Ours fails in {WITHHELD} % of the samples."),
        ("Ours fails in 7.5 per cent of cases.", f"Ours fails in {WITHHELD} per cent of cases."),
        ("It fails in 4/40 of the runs.", None),
        ("We label 7.5 % of the samples.", None),
        ("The step is 3/4 of it, on 2019/03/40.", None),
    ],
)
def test_a_count_that_states_a_claimed_share_is_withheld(said: str, shown: str | None) -> None:
    share = claim(7.5, metric="failures", printed="7.5", unit="%", row=("Ours",))
    assert Withholding([share])(said) == (shown or said)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("It misclassifies 15.3 % of the nodes.", f"It misclassifies {WITHHELD} % of the nodes."),
        ("Its error rate is 0.153 there.", f"Its error rate is {WITHHELD} there."),
        ("Its error is 15.2 %.", None),
        ("We drop 15 % of the edges.", None),
    ],
)
def test_what_is_missing_to_a_claimed_share_tells_it(said: str, shown: str | None) -> None:
    share = claim(84.7, metric="accuracy", printed="84.7", unit="%", row=("Ours",))
    assert Withholding([share])(said) == (shown or said)
