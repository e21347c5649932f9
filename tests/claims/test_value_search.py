"""Claimed values are found by their digits, in every spelling, whatever a reader of tables saw."""

import time

import pytest
from claim_maker import claim

from autoreproduce.claims.claim import Claim
from autoreproduce.claims.withholding import WITHHELD, blank_values, leaks, search_again

GATED = claim(0.912, row=("Gated",), column=("F1",), metric="f1", scale="fraction", printed="0.912")
SHARE = GATED.model_copy(update={"value": 91.2, "printed": "91.2", "scale": "percent"})
SLOPE = claim(-0.387, row=("Slope",), column=("b",), metric="slope", printed="-0.387")
PARTICLES = claim(12345.6, row=("Ours",), column=("N",), metric="count", printed="12,345.6")


@pytest.mark.parametrize("one", [GATED, SHARE])
@pytest.mark.parametrize(
    "spelt",
    [
        "0.912",
        ".912",
        "91.2 %",
        r"91.2\%",
        "91.2%",
        "91,2",
        "91,2 %",
        "0,912",
        "9.12e-1",
        "0.9120",
        "9.12E-01",
        "9.12 × 10^-1",
        "9.12 × 10⁻¹",
        r"$9.12 \times 10^{-1}$",
        "9.12·10−1",
        "91.20",
        "91.2 percent",
        "0{,}912",
        "０．９１２",
        "0·912",
        "91·2 %",
        "+0.912",
        "acc0.912",
        "0.9123",
        "0.911999",
        "912e-3",
    ],
)
def test_a_value_is_found_in_each_spelling_where_nothing_names_it(spelt: str, one: Claim) -> None:
    text = f"By the second week it stood at {spelt} for all of them, as before."
    assert [leak.id for leak in leaks(text, [one])] == ["ours"]
    assert "912" not in blank_values(text, [one]) and "91" not in blank_values(text, [one])


NEARLY_ONE = claim(0.9999998, row=("0",), column=("R2",), metric="r2", printed="0.9999998")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a burn-in of 1,000 from a random context", True),
        ("after 1,000 of them it stops", True),
        ("it stood at 1.000 for all of them", False),
        ("it stood at 0.99999980 for all of them", False),
    ],
)
def test_a_round_thousand_is_no_value_near_one(text: str, kept: bool) -> None:
    assert (blank_values(text, [NEARLY_ONE]) == text) == kept


@pytest.mark.parametrize("sign", ["-", "−", "–", "—", r"\textminus ", "$-$", "minus ", ""])
def test_a_negative_value_is_found_with_any_minus_sign(sign: str) -> None:
    text = f"The line falls by {sign}0.387 from there (95 % of it at once)."
    assert "387" not in blank_values(text, [SLOPE])


@pytest.mark.parametrize(
    "spelt",
    [
        "12,345.6",
        "12 345.6",
        "12\u202f345,6",
        "12.345,6",
        "12'345.6",
        r"12\,345.6",
        "12345.6",
        "1.23456e4",
        "12,346",
        "12345",
        "12.3k",
        "12.35 thousand",
        "0.0123 million",
    ],
)
def test_thousands_are_read_with_any_separator(spelt: str) -> None:
    assert (
        blank_values(f"There were {spelt} of them.", [PARTICLES])
        == f"There were {WITHHELD} of them."
    )


@pytest.mark.parametrize(
    "text",
    [
        "We use a learning rate of 0.25 and 2 layers.",
        "In 2019 the first of 912 samples was taken.",
        "See Section 9.12 and arXiv:2505.09120, release 0.912.3 or numpy==0.912.",
        "It takes 91.2 ms and 0.912 GB, or 0.00912k and 912k.",
        "The other reaches 0.913, the third 0.92 and 9.12.",
        "Of 1024 images 91 are blurred.",
    ],
)
def test_settings_counts_years_and_names_stay(text: str) -> None:
    claims = [GATED, claim(25.0, id="b", printed="25", scale="percent"), claim(1024, id="c")]
    assert blank_values(text, claims) == text


def test_settings_of_code_stay_and_what_its_comments_say_does_not() -> None:
    f1 = claim(0.88, row=("Gated",), column=("Lakes",), metric="f1", printed="0.88", scale="raw")
    ppl = claim(12.0, id="p", row=("Gated",), column=("PPL",), metric="perplexity", printed="12.0")
    code = "# F1 on Lakes should be {}\nthreshold = 0.88\n# perplexity of {}\nn_layers = 12\n"
    assert blank_values(code.format("0.88", "12.0"), [f1, ppl]) == code.format(WITHHELD, WITHHELD)
    assert "88 %" not in blank_values("On Lakes its F1 is 88 %.", [f1])
    assert "88 % of the labels" in blank_values("F1 with 88 % of the labels.", [f1])


def test_what_cannot_be_decided_stays_and_is_told() -> None:
    text = "The gate opens at a threshold of 0.912 in all runs."
    assert blank_values(text, [GATED]) == text
    assert [leak.id for leak in leaks(text, [GATED])] == ["ours"]


FIXED = """EXHIBIT B
RECOGNITION RATE

Network        F1      Latency (ms)
Dense, 2x      0.883   14.1
Gated          0.912   9.3
Batch size     64      64

Gates cost nothing at 3.5 volts.
"""
RULED = """+-------+-------+-------+
| Net   | F1    | AUC   |
+=======+=======+=======+
| Dense | 0.883 | 0.951 |
+-------+-------+-------+
| Gated | 0.912 | 0.963 |
+-------+-------+-------+
"""
BY_COLUMNS = (
    "Dense\nGated\nF1\n0.883\n0.912\n\nAUC\n0.951\n0.963\n\nWe now turn to what this means."
)
LATEX = "\\begin{mytab}\nNet & F1 & AUC \\tabularnewline\nDense & .883 & .951 \\cr\nGated & .912 & .963 \\cr\n\\end{mytab}"
HTML = "<div><p>Net</p><p>F1</p></div>\n<ul>\n<li>Dense <b>0.883</b> 0.951</li>\n<li>Gated <b>0.912</b> 0.963</li>\n</ul>"
RUN_TOGETHER = "Net F1 AUC Dense 0.883 0.951 Gated 0.912 0.963"
SPLIT = "| Net | F1 | |\n|---|---|---|\n| Dense | 0 | 883 |\n| Gated | 0 | 912 |\n"
COMMA = "Netz;F1;AUC\nDense; 0,883; 0,951\nGated; 0,912; 0,963\n"
TABS = "Net\tF1\tAUC\nDense\t0.883\t0.951\nGated\t0.912\t0.963"
SINGLE = "Net F1 AUC\nDense 0.883 0.951\nGated 0.912 0.963\nRecognition by network."


@pytest.mark.parametrize(
    "table", [FIXED, RULED, BY_COLUMNS, LATEX, HTML, RUN_TOGETHER, SPLIT, COMMA, TABS, SINGLE]
)
@pytest.mark.parametrize("named", ["", "Table II"])
def test_all_results_of_a_table_that_no_reader_knows_are_withheld(table: str, named: str) -> None:
    one = GATED.model_copy(update={"table": named or "Table 9"})
    blanked = blank_values(f"We compare networks.\n\n{table}\n\nThat is all.", [one])
    for digits in ("883", "912", "951", "963", "14.1", "9.3"):
        assert digits not in blanked
    for name in ("Dense", "Gated", "F1"):
        assert name in blanked
    assert "2x" in blanked or "2x" not in table
    assert "Batch size     64      64" in blanked or table != FIXED
    assert "3.5 volts" in blanked or table != FIXED
    assert blank_values(blanked, [one]) == blanked


def test_a_table_of_settings_below_it_stays() -> None:
    text = f"{SINGLE}\n\nTable 3: Settings\n\nlearning rate 0.125\nwidth 64\nnoise 0.03 0.05\n"
    assert "learning rate 0.125\nwidth 64\nnoise 0.03 0.05" in blank_values(text, [GATED])


@pytest.mark.slow
def test_a_long_text_takes_no_more_than_linear_time() -> None:
    rows = "\n".join(f"Row {n}  {n / 7:.3f}  {n / 3:.2f} ± 0.1" for n in range(1_000))
    signs = ("1,2." * 5_000, "0.9 ± " * 4_000, "[withheld] " * 4_000, " | " * 10_000)
    began = time.process_time()
    for text in (rows, "1" * 100_000, *signs):
        blank_values(text, [GATED])
    assert time.process_time() - began < 20


SIZE = claim(122, row=("Prospective, power 80%",), metric="n", scale="raw", printed="122")
POWER = claim(
    0.796, row=("Prospective, power 80%",), metric="power", scale="fraction", printed="0.796"
)
TYPE_S = claim(0.008, row=("Retrospective",), metric="Type S error", printed="0.008")
R_OUTPUT = """{0} Study characteristics:
{0}    method   n1    sig_level
{0}    pearson  26    0.05
{0}
{0} Inferential risks:
{0}    power   typeM   typeS
{0}    0.796   2.161   0.008
"""


@pytest.mark.parametrize("mark", ["##", "#>", "#", ">", ">>>", "//", ""])
def test_the_output_of_a_program_is_a_table_whatever_marks_its_lines(mark: str) -> None:
    blanked = blank_values(R_OUTPUT.format(mark), [POWER, TYPE_S])
    assert not any(value in blanked for value in ("0.796", "2.161", "0.008"))
    assert "0.05" in blanked and "pearson  26" in blanked  # settings of another table
    assert blanked.splitlines()[0] == f"{mark} Study characteristics:"


@pytest.mark.parametrize("line", ["#> [1] {}", "[1] {}", "{}"])
def test_a_line_of_nothing_but_numbers_is_a_row(line: str) -> None:
    blanked = blank_values("The risks:\n\n" + line.format("0.796 2.161 0.008") + "\n", [POWER])
    assert not any(value in blanked for value in ("0.796", "2.161", "0.008"))


def test_headings_are_no_output() -> None:
    text = "## Results\n\n0.796   0.811\n\n## 4 epochs\n\n0.31   0.29\n"
    assert "0.31" in blank_values(text, [POWER])


@pytest.mark.parametrize("setting", ["80 %", "a power of 80%", "power = 0.80"])
def test_what_a_claims_name_says_is_a_setting_though_it_is_the_value_rounded(setting: str) -> None:
    text = f"We plan for {setting} and obtain a power of 0.796."
    assert blank_values(text, [POWER]) == text.replace("0.796", WITHHELD)


@pytest.mark.parametrize("said", ["pearson 122 NULL", "N: 122", "it stops at 122."])
def test_a_whole_number_that_nothing_names_is_told_of(said: str) -> None:
    passed, undecided = search_again(said, [SIZE])
    assert passed == said and [leak.id for leak in undecided] == ["ours"]


@pytest.mark.parametrize("said", ["122 epochs", "Section 122", "1.22", "0.122", "1220"])
def test_other_numbers_with_its_digits_are_not(said: str) -> None:
    assert search_again(said, [SIZE]) == (said, [])


KAPPA = claim(1.22, row=("kappa",), metric="maximum signal Z", scale="raw", printed="1.22")
KL = claim(0, row=("Control, KL",), metric="seeds triggered of 40", scale="raw", printed="0")
SEEDS = claim(3, row=("25 seeds",), metric="triggers", scale="raw", printed="3")
AT = claim(0.091, metric="collapse point", scale="raw", printed="0.091")
POINT = claim(0.091, metric="collapse point q_collapse", scale="raw", printed="0.091")


@pytest.mark.parametrize(
    ("text", "one", "value"),
    [
        (r"its signal $Z_{\max}^{\kappa}=1.22\pm0.28$ is low", KAPPA, "1.22"),
        (r"Successive KL produces none (0/40).", KL, "0/40"),
        (r"It triggers in 0 of 40 seeds.", KL, "0 of 40"),
        (r"It triggers in 40/40, and 0/30 elsewhere.", KL, ""),
        (r"Three of them: 3/25.", SEEDS, "3/25"),
        (r"Beyond it $p_{c} = 0.091$, at $q_{\mathrm{collapse}} = 0.091$.", AT, "}} = 0.091"),
        (r"Under removal, $q_{\mathrm{collapse}}=0.091$ (by $S(q)<0.1$).", POINT, "0.091"),
        (r"Under removal, $q_{\mathrm{warn}}=0.091$ (by $S(q)<0.1$).", POINT, ""),
        (r"See App. 1.22 and App.~A.1.22.", KAPPA, ""),
    ],
)
def test_a_value_is_found_by_its_symbol_its_digits_or_as_a_count(
    text: str, one: Claim, value: str
) -> None:
    blanked = blank_values(text, [one])
    assert value not in blanked if value else blanked == text
