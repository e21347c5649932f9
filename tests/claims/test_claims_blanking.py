"""Claimed values are withheld where they stand as results, and stay where they are settings."""

import pytest
from claim_maker import claim, std
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreproduce.claims.user_claims import read_user_claim
from autoreproduce.claims.withholding import WITHHELD, blank_values, leaks

OURS = claim(94.3, spread=std(0.2), row=("Zeta",))
ALPHA = claim(92.2, id="alpha", row=("Alpha",), is_baseline=True)
CLAIMS = [OURS, ALPHA]

LATEX = r"""\begin{table}\caption{Results: Zeta reaches 94.3.}\label{tab:main}
\begin{tabular}{lrcc}\toprule
\multirow{2}{*}{Model} & \multirow{2}{*}{Params (M)} & \multicolumn{2}{c}{CIFAR} \\
 & & Acc & NLL \\ \midrule
Alpha & 94.3 & 92.2 & 0.31 \\
\rowcolor{gray} Zeta & 11.2 & \multicolumn{1}{c}{\textbf{94.3} {\scriptsize $\pm$ 0.2}} & 0.25 \\
\bottomrule \end{tabular}\end{table}
"""
MARKDOWN = """Table 1: Results

| Model | Params (M) | CIFAR Acc | CIFAR NLL |
|---|---|---|---|
| Alpha | 94.3 | 92.2 | 0.31 |
| Zeta | 11.2 | **94.3** $\\pm$ 0.2 | 0.25 |
"""
HTML = """Table 1: Results
<table><tr><td>Model</td><td>Params (M)</td><td>CIFAR Acc</td><td>CIFAR NLL</td></tr>
<tr><td>Alpha</td><td>94.3</td><td>92.2</td><td>0.31</td></tr>
<tr><td>Zeta</td><td>11.2</td><td><b>94.3</b>&plusmn;0.2</td><td>0.25</td></tr></table>"""


def test_the_result_cells_of_a_claimed_table_in_latex() -> None:
    blanked = blank_values(LATEX, CLAIMS)
    assert r"Alpha & 94.3 & [withheld] & [withheld] \\" in blanked
    assert (
        r"\rowcolor{gray} Zeta & 11.2 & \multicolumn{1}{c}{[withheld]} & [withheld] \\" in blanked
    )
    assert r"\multicolumn{2}{c}{CIFAR}" in blanked
    assert "Zeta reaches [withheld]." in blanked
    assert leaks(blanked, CLAIMS) == []


@pytest.mark.parametrize("text", [MARKDOWN, HTML])
def test_the_same_in_markdown_and_html(text: str) -> None:
    blanked = blank_values(text, [claim(94.3, row=("Zeta",), column=("CIFAR Acc",))])
    assert blanked.count(WITHHELD) == 4
    assert "92.2" not in blanked
    assert "0.31" not in blanked
    assert blanked.count("94.3") == 1  # the parameters
    assert blanked.count("11.2") == 1


def test_sentences_with_the_number_and_its_names_or_a_result() -> None:
    text = (
        "We reach an accuracy of 94.3\\% on CIFAR (Alpha: 92.2). Zeta obtains $94.3 \\pm 0.2$.\n\n"
        "On average it improves from 92.2 to over 94 points. The error falls. "
        "It has 94.3 M weights."
    )
    assert blank_values(text, CLAIMS) == (
        "We reach an accuracy of [withheld]\\% on CIFAR (Alpha: [withheld]). "
        "Zeta obtains $[withheld]$.\n\n"
        "On average it improves from [withheld] to over [withheld] points. The error falls. "
        "It has 94.3 M weights."
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Zeta is trained with a momentum of 0.9 and reaches good accuracy.",
        "To reach this accuracy we set $\\lambda = 0.9$ throughout.",
        "The accuracy is best with a learning rate of 0.9 and weight decay 0.9.",
        "Zeta uses dropout 0.9, a ratio $r = 0.9$ and a threshold set to 0.9.",
        "For all results $\\beta_1 = 0.9$ and the temperature $\\tau$ is 0.9.",
        "Zeta keeps 0.9 dropout.",
        "Images are cropped to 0.9 of their side.",
        "Report for Zeta the accuracy with a 90% Wilson interval.",
        "Accuracy of Zeta, mean and 90 % confidence interval.",
    ],
)
def test_a_setting_that_equals_a_claimed_value_stays(sentence: str) -> None:
    one = claim(0.9, scale="fraction", row=("Zeta",))
    assert blank_values(sentence, [one]) == sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "Zeta reaches 0.9 with a momentum of 0.5.",
        "With depth 12 the accuracy is 0.9.",
        "Averaged over 5 seeds: 0.9 accuracy.",
        "The mean over runs is 0.90 accuracy.",
        "Zeta obtains 0.9 over 5 seeds.",
        "Its accuracy, 90 %, is the best.",
        "Accuracy: 90.0%",
    ],
)
def test_a_result_beside_settings_is_withheld(sentence: str) -> None:
    one = claim(0.9, scale="fraction", row=("Zeta",))
    blanked = blank_values(sentence, [one])
    assert WITHHELD in blanked
    assert "0.9" not in blanked
    assert "90" not in blanked
    assert "5" in blanked or "5" not in sentence


@pytest.mark.parametrize(
    ("sentence", "withheld"),
    [
        ("Zeta has an accuracy of 25 %.", True),
        ("Zeta obtains 25.0 on CIFAR.", True),
        ("Zeta reaches 0.25.", True),
        ("The accuracy of Zeta is 0.25.", True),
        ("Its 0.25 accuracy is low.", True),
        ("| Zeta | 0.25 |", True),
        ("Windows of Zeta overlap by 0.25, which improves the accuracy.", False),
        ("We keep 0.25 of all edges, and Zeta still performs well.", False),
        ("Zeta reaches its accuracy with a mask of 0.25.", False),
    ],
)
def test_a_percentage_as_a_fraction_is_withheld_only_as_a_result(
    sentence: str, withheld: bool
) -> None:
    blanked = blank_values(sentence, [claim(25.0, row=("Zeta",), column=("CIFAR Acc",))])
    assert (WITHHELD in blanked) == withheld


@pytest.mark.parametrize(
    ("sentence", "withheld"),
    [
        ("Its loss is 61 % higher than that of Beta.", True),
        ("The rival is 61\\% worse.", True),
        ("We take a 20 % lower learning rate.", False),
        ("It needs 20 % better initial batch sizes.", False),
    ],
)
def test_a_percentage_by_which_results_differ_is_withheld(sentence: str, withheld: bool) -> None:
    assert (WITHHELD in blank_values(sentence, CLAIMS)) == withheld


def test_counts_stay_and_rates_that_are_metrics_do_not() -> None:
    ten = claim(10.0, metric="error rate", direction="lower")
    text = "Trained for 10 epochs with 10 layers and a batch size of 10, the error rate is 10 %."
    assert blank_values(text, [ten]) == text.replace("is 10 %", f"is {WITHHELD} %")
    success = claim(0.9, metric="success rate", scale="fraction")
    assert blank_values("A success rate of 0.9.", [success]) == f"A success rate of {WITHHELD}."
    width = claim(0.9, metric="width", scale="fraction")
    assert blank_values("We find a width of 0.9.", [width]) == f"We find a width of {WITHHELD}."


BESIDE = """Table 1: Results

| Model | Size | Rivers | Lakes |
|---|---|---|---|
| Dense | 1.25M | 84.13 | 81.72 |
| Zeta | 1.75M | 94.37 | 88.46 |

"""


@pytest.mark.parametrize(
    "text",
    [
        "Figure 2: Zeta ends at 94.37 (Dense: 84.1).",
        "It is 94.37±0.21 on Rivers and 88.46 ± 0.30 on Lakes.",
        "We go from 0.8413 to 0.9437.",
        r"\addplot coordinates {(1,84.13) (2,88.46) (3,94.37)};",
        "Dense gets 84.13%.",
        "| Variant | Hits |\n|---|---|\n| no gate | 84.13 |\n| full | 94.37 |",
        "[^1]: Without a bias, accuracy on Rivers is 90.9 instead of 94.37.",
    ],
)
def test_what_stands_beside_a_claim_in_its_table_is_withheld_elsewhere_too(text: str) -> None:
    ours = claim(94.37, row=("Zeta",), column=("Rivers",), table="Table 1", scale="percent")
    blanked = blank_values(BESIDE + text, [ours])
    assert "1.25M" in blanked and "1.75M" in blanked
    for number in ("84.1", "0.8413", "94.37", "0.9437", "88.46", "81.72", "90.9"):
        assert number not in blanked


def test_few_digits_and_settings_that_equal_a_number_beside_a_claim_stay() -> None:
    rows = "| Alpha | 0.90 | 84.13 |\n| Zeta | 0.97 | 94.37 |\n"
    table = f"Table 1: Results\n\n| Model | F1 | Acc |\n|---|---|---|\n{rows}"
    ours = claim(94.37, row=("Zeta",), column=("Acc",), table="Table 1", scale="percent")
    kept = "A momentum of 0.90, a threshold of 84.13, and version 94.37.1 of it."
    assert kept in blank_values(f"{table}\n{kept}", [ours])


def test_another_table_keeps_its_other_results() -> None:
    head = "| Model | Accuracy | Speed |\n|---|---|---|\n"
    own = f"Table 7: Ours\n\n{head}| Zeta | 94.3 | 12.0 |\n| Beta | 91.0 | 11.5 |\n"
    other = f"\nTable 8: Others\n\n{head}| Ours | 94.3 | 13.0 |\n| Gamma | 92.1 | 12.5 |\n"
    blanked = blank_values(
        own + other, [claim(94.3, row=("Zeta",), column=("Accuracy",), table="Table 7")]
    )
    assert "94.3" not in blanked and "91.0" not in blanked
    assert "| 13.0 |\n| Gamma | 92.1 | 12.5 |" in blanked


def test_a_claim_whose_cell_is_not_found_has_the_whole_table_that_holds_its_number() -> None:
    text = "| Model | Accuracy | Speed |\n|---|---|---|\n| Zeta | 94.3 | 12.0 |\n| Beta | 91.0 | 9.3 |\n"
    blanked = blank_values(text, [claim(94.3, row=("Q",), column=("Acc",), metric="top accuracy")])
    assert "94.3" not in blanked and "91.0" not in blanked
    assert "| Model | Accuracy | Speed |" in blanked and "| Beta |" in blanked


def test_names_with_numbers_and_other_texts_stay() -> None:
    text = "ResNet-94.3 and 194.35 are no results of Zeta's accuracy; 9.43 neither."
    assert blank_values(text, CLAIMS) == text
    for same in ("", "def f(x):\n    return 94.3 * x\n", "No number here."):
        assert blank_values(same, CLAIMS) == same
    assert blank_values(LATEX, []) == LATEX


def test_blanking_twice_changes_nothing() -> None:
    for text in (LATEX, MARKDOWN, HTML):
        once = blank_values(text, CLAIMS)
        assert blank_values(once, CLAIMS) == once


def test_leaks_say_which_claim_and_where() -> None:
    text = "Some text.\n\nZeta has accuracy 94.3 here.\n| Zeta | 94.30 |\n"
    found = leaks(text, CLAIMS)
    assert [(leak.id, text[leak.start : leak.end]) for leak in found] == [
        ("ours", "94.3"),
        ("ours", "94.30"),
    ]
    assert found[0].excerpt == "Zeta has accuracy 94.3 here."


@pytest.mark.slow
@given(
    st.decimals(10, 99, places=1),
    st.sampled_from(["{} accuracy", "Zeta: {}", "it reaches {} on CIFAR", "accuracy = {}"]),
    st.lists(
        st.sampled_from(["Plain words here.", "Momentum of 0.5.", "## Head", "- item 3"]),
        max_size=4,
    ),
)
def test_no_stated_result_is_left(value: object, form: str, around: list[str]) -> None:
    one = claim(float(str(value)), row=("Zeta",))
    text = "\n\n".join([*around, form.format(value) + ".", *around])
    assert leaks(text, [one])
    blanked = blank_values(text, [one])
    assert leaks(blanked, [one]) == []
    assert blanked.replace(WITHHELD, str(value)) == text


SUCCESS = claim(
    1.0,
    row=("Product", "Gate"),
    column=("Success", "Rate"),
    metric="success rate",
    scale="fraction",
)
SPARSITY = claim(
    4.6e-7,
    id="sparsity",
    row=("Product", "Gate"),
    column=("Sparsity error", "Mean"),
    metric="sparsity error",
    direction="lower",
    scale="raw",
)
SOLVED = claim(
    1e6,
    id="solved",
    row=("Product", "Gate"),
    column=("Solved at", "Median"),
    metric="iterations until solved",
    direction="lower",
    scale="raw",
)
SHARE = claim(
    97.0,
    id="share",
    row=("Product", "Linear"),
    column=("Success", "Rate"),
    metric="success rate",
    is_baseline=True,
)
UNITS = [SUCCESS, SPARSITY, SOLVED, SHARE]
SETTINGS = [
    "Inputs are drawn from $U[1, 2]$, the test set from $U[1,6]$.",
    r"\begin{algorithmic}[1]",
    r"\Let{$k$}{\Call{Uniform}{$0, 1 - 2s - o$}} \Comment{the result's offset}",
    r"| Gate | 10 | $10^6$ | $2 \cdot 10^6$ |",
    r"$\lambda$ grows from $10^6$ on, while the sparsity error converges.",
    r"The error of $\sum_{h=1}^{H} W_{h} - 1$ is reported.",
    r"We want the bias towards $\{-1, 0, 1\}$ and clamp to $[-1, 1]$ in each iteration.",
    r"The sparsity error is $\max_h \min(|w_h|, |1 - |w_h||)$.",
    "The success rate is given with a 97% confidence interval.",
    "The success rate is measured on 97% of the data, with 3 hidden layers.",
    "Train on 97% for training and report the success rate.",
    "Success rates stand in table 1 and in section 97.",
    "$$\n\\begin{align}\ny &= 97 x + 1 \\\\ z &= 4.6 \\cdot 10^{-7}\n\\end{align}\n$$",
    "The best success rate is reached with a dropout of 97% and Adam's default of 0.97 for $\\beta_1$.",
    "We improve the learning rate by 97%.",
]
RESULTS = [
    ("The gate reaches a success rate of {}%.", "100"),
    ("The gate has a success rate of ${} {{~}}^{{+0\\%}}_{{-4\\%}}$.", "1.0"),
    ("It succeeds in {}% of runs.", "100"),
    ("The success rate is {} for the gate.", "1"),
    ("The gate's sparsity error, ${}$, is lowest.", r"4.6 \cdot 10^{-7}"),
    (r"Its $\text{{sparsity error}} = {}$ is lowest.", "4.6e-7"),
    ("Linear succeeds in {}% of cases.", "97"),
    ("Ours achieves {}.", "0.97"),
    ("Without the clamp the success rate drops to {}%.", "81"),  # an ablation's, that none claims
    ("Without the bias, it loses {} points.", "12.5"),
    ("With neither, a sparsity error of {} remains.", "0.0031"),
]


@pytest.mark.parametrize("text", SETTINGS)
def test_no_setting_is_lost_though_it_equals_a_claimed_value(text: str) -> None:
    assert blank_values(text, UNITS) == text


@pytest.mark.parametrize(("form", "value"), RESULTS)
def test_results_in_sentences_are_withheld(form: str, value: str) -> None:
    blanked = blank_values(form.format(value), UNITS)
    assert WITHHELD in blanked
    assert value not in blanked


@pytest.mark.slow
@settings(max_examples=5)
@given(st.permutations(RESULTS[:5]), st.permutations(SETTINGS), st.sampled_from(["\n\n", "\n"]))
def test_results_are_withheld_and_settings_stay_in_any_mixture(
    results: list[tuple[str, str]], set_up: list[str], between: str
) -> None:
    stated = [form.format(value) for form, value in results]
    lines = [line for pair in zip(set_up, stated, strict=False) for line in pair]
    blanked = blank_values("\n\n".join(lines) + between, UNITS)
    assert all(setting in blanked for setting, _ in zip(set_up, stated, strict=False))
    assert all(line not in blanked for line in stated)
    assert not leaks(blanked, UNITS)


def test_the_table_that_a_claim_names_is_withheld_though_its_headings_were_lost() -> None:
    text = "Table 1: success\n\n| a | b | c |\n|---|---|---|\n| x | 97.0 | 81.5 |\n"
    blanked = blank_values(text, [SHARE])
    assert "97.0" not in blanked and "81.5" not in blanked


def test_a_price_opens_no_equation() -> None:
    text = "It costs $5 and has a success rate of 97.0, for $10 more."
    assert blank_values(text, UNITS) == text.replace("97.0", WITHHELD)


@pytest.mark.parametrize("said", ["Zeta, CIFAR: hits = 94.3%", "best of CIFAR: hits = 92.2"])
@pytest.mark.parametrize("text", [LATEX, MARKDOWN, HTML])
def test_a_table_that_holds_a_users_claim_is_withheld_though_nobody_said_where(
    text: str, said: str
) -> None:
    blanked = blank_values(text, [read_user_claim(said)])
    assert "92.2" not in blanked and "0.25" not in blanked and "11.2" in blanked


def test_a_users_short_number_needs_a_word_of_its_claim_in_a_heading() -> None:
    table = "| Model | Acc |\n|---|---|\n| Zeta | 0.3 |\n"
    assert "0.3" not in blank_values(table, [read_user_claim("of Zeta: hits = 0.3")])
    assert "0.3" in blank_values(table, [read_user_claim("Beta: hits = 0.3")])


def test_a_size_with_a_hyphen_is_no_result() -> None:
    text = "Zeta's overhead is 16 % on 16-bit integers, a 16-point gain."
    overhead = claim(16.0, metric="overhead", scale="percent", row=("Zeta",))
    assert blank_values(text, [overhead]) == (
        f"Zeta's overhead is {WITHHELD} % on 16-bit integers, a {WITHHELD}-point gain."
    )


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("The per-round band covers the whole only $0.82$ at $L=2$.", "0.82"),
        ("With the per-round band at L = 2, 0.82 are left.", "0.82"),
        ("A momentum of 0.82 serves the per-round band at L=2.", ""),
        ("A band of 0.82 is wide.", ""),
    ],
)
def test_a_share_is_withheld_where_a_sentence_names_its_row(sentence: str, value: str) -> None:
    row = ("Table wrongunit, L = 2, per-round band",)
    one = claim(81.7, row=row, metric="coverage", scale="percent", unit="%")
    assert blank_values(sentence, [one]) == (
        sentence.replace(value, WITHHELD) if value else sentence
    )
