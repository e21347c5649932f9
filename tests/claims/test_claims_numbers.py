"""Numbers as papers print them, and text without its markup."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreproduce.papers.numbers import number_of, numbers_in
from autoreproduce.papers.plain import name_of, plain


@pytest.mark.parametrize(
    ("printed", "value", "spread", "percent"),
    [
        ("94.3", 94.3, None, False),
        (r"94.3\%", 94.3, None, True),
        (r"1{,}234", 1234, None, False),
        ("1,234.5", 1234.5, None, False),
        (r"1\,000", 1000, None, False),
        ("1 000", 1000, None, False),
        ("1.2e-4", 1.2e-4, None, False),
        ("1e5", 1e5, None, False),
        (r"$10^{-3}$", 1e-3, None, False),
        ("10⁻³", 1e-3, None, False),
        (r"$3 \times 10^{-3}$", 3e-3, None, False),
        (r"$(1.2 \pm 0.3)\times 10^{-2}$", 0.012, 0.003, False),
        ("1.2 ± 0.1 × 10^-3", 1.2e-3, 1e-4, False),
        (r"$94.3 \pm 0.2$", 94.3, 0.2, False),
        (r"94.3\% $\pm$ 0.2", 94.3, 0.2, True),
        (r"\textbf{94.3}{\scriptsize $\pm$0.1}", 94.3, 0.1, False),
        (r"\textbf{94.3} {\tiny ±0.1}", 94.3, 0.1, False),
        (r"$\mathbf{94.3}_{\pm 0.2}$", 94.3, 0.2, False),
        (r"$94.3_{0.2}$", 94.3, 0.2, False),
        (r"$94.3^{+0.2}_{-0.1}$", 94.3, 0.2, False),
        (r"$13\% {~}^{+8\%}_{-5\%}$", 13, 8, True),
        (r"$5.9 \cdot 10^{4} {~}^{+7.8 \cdot 10^{3}}_{-6.6 \cdot 10^{3}}$", 5.9e4, 7.8e3, False),
        ("94.3(2)", 94.3, 0.2, False),
        # a power behind the ± is of both, unless the number has its own
        (r"$3.1\times10^{-3} \pm 0.2\times10^{-3}$", 3.1e-3, 2e-4, False),
        ("3.1 × 10⁻³ ± 2 × 10⁻⁴", 3.1e-3, 2e-4, False),
        ("3.1e-3 ± 2 × 10^-4", 3.1e-3, 2e-4, False),
        ("(3.1±0.2)e-3", 3.1e-3, 2e-4, False),
        ("1.23(4) × 10⁻⁵", 1.23e-5, 4e-7, False),
        ("1.23(4)e−5", 1.23e-5, 4e-7, False),
        ("3 × 10<sup>-4</sup>", 3e-4, None, False),
        ("3 x 10^(-4)", 3e-4, None, False),
        ("3e–4", 3e-4, None, False),
        (r"$94.3_{-0.1}^{+0.2}$", 94.3, 0.2, False),
        ("94.3$_{0.2}$", 94.3, 0.2, False),
        ("94.3 +/− 0.2", 94.3, 0.2, False),
        ("‒0.25", -0.25, None, False),
        ("－0.25", -0.25, None, False),
        ("1 234.5", 1234.5, None, False),
        ("12 345,6", 12345.6, None, False),
        ("<b>94.3</b>&plusmn;0.1", 94.3, 0.1, False),
        ("**94.3** +/- 0.1", 94.3, 0.1, False),
        (r"\hphantom{0}9.5", 9.5, None, False),
        (r"\phantom{00}9.5\%", 9.5, None, True),
        (r"94.3\textsuperscript{\dag}", 94.3, None, False),
        (r"94.3\textsuperscript{2}", 94.3, None, False),
        ("94.3<sup>2</sup>", 94.3, None, False),
        (r"$94.3^{2}$", 94.3, None, False),
        (r"94.3\cite{someone2020}", 94.3, None, False),
        (r"\textcolor{red}{94.3}", 94.3, None, False),
        (r"\underline{94.3}", 94.3, None, False),
        (r"{\bf 94.3}", 94.3, None, False),
        (r"\num{1e-4}", 1e-4, None, False),
        ("−0.5", -0.5, None, False),
        ("$-3.2$", -3.2, None, False),
        (".31", 0.31, None, False),
        ("94,3", 94.3, None, False),
        ("25.6M", 25.6, None, False),
        ("0·912", 0.912, None, False),
        ("91·2%", 91.2, None, True),
        ("3·10^5", 3e5, None, False),
        ("64·64", 64, None, False),
        (r"$2\cdot3$", 2, None, False),
        ("0⋅91", 0.91, None, False),
        ("−0·38 ± 0·02", -0.38, 0.02, False),
        ("９１．２％", 91.2, None, True),
    ],
)
def test_a_cell_s_number_is_read(
    printed: str, value: float, spread: float | None, percent: bool
) -> None:
    found = numbers_in(plain(printed), cell=True)
    assert found, plain(printed)
    assert found[0].value == pytest.approx(value, rel=1e-12)
    assert found[0].spread == (None if spread is None else pytest.approx(spread))
    assert found[0].percent is percent


@pytest.mark.parametrize(
    "name", ["ResNet-50", "CIFAR-10", "3D", "top-1", "F1", "Recall@20", "1st", "abc"]
)
def test_a_name_with_a_digit_is_no_number(name: str) -> None:
    assert numbers_in(name) == []


def test_a_number_has_its_place_in_latex() -> None:
    text = r"It reaches $94.3 \pm 0.2$\,\% in 10 epochs, 1{,}000 steps."
    found = numbers_in(text)
    assert [n.value for n in found] == [94.3, 10, 1000]
    assert text[found[0].start : found[0].end] == r"94.3 \pm 0.2"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("the slope is $-0.53$, as", [-0.53]),
        ("between $-0.2$ and (−0.53)", [-0.2, -0.53]),
        ("$-$0.53 and ${-}0.53$", [-0.53, -0.53]),
        ("$x$-0.53, a range of $0.2$-$0.53$, 0.2$-$0.53", [0.53, 0.2, 0.53, 0.2, 0.53]),
        ("a $p$-value $-1.5 \\pm 0.2$", [-1.5]),
    ],
)
def test_a_minus_is_a_sign_behind_an_opening_dollar_alone(text: str, values: list[float]) -> None:
    assert [number.value for number in numbers_in(text)] == values


def test_the_last_digit_says_how_exact_a_number_is() -> None:
    wanted = {"94.30": 0.01, "94.3": 0.1, "94": 1, "1.2e-4": 1e-5, "1{,}000": 1}
    found = {text: number_of(text) for text in wanted}
    assert {text: number and number.step for text, number in found.items()} == wanted


def test_one_number_is_one_number() -> None:
    assert number_of("94.3 % ± 0.2") is not None
    assert number_of("94.3 or 95.1") is None
    assert number_of("about 94.3 points") is None
    assert number_of("none") is None


@pytest.mark.slow
@given(st.floats(min_value=-1e6, max_value=1e6, allow_nan=False), st.integers(0, 5))
def test_any_number_survives_latex_markdown_and_html(value: float, digits: int) -> None:
    text = f"{value:.{digits}f}"
    for form in (text, f"${text}$", rf"\textbf{{{text}}}", f"**{text}**", f"<b>{text}</b>"):
        found = number_of(plain(form))
        assert found is not None
        assert found.value == pytest.approx(float(text), abs=1e-12)


@pytest.mark.slow
@given(st.text(max_size=200))
def test_no_text_breaks_the_readers(text: str) -> None:
    for number in numbers_in(text):
        assert 0 <= number.start < number.end <= len(text)
    numbers_in(plain(text), cell=True)
    name_of(text)


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        (r"**Ours**$^\dagger$ [12]", "ours"),
        ("LSM† [a; b]", "lsm"),
        (r"Acc. (\%) $\uparrow$", "acc %"),
        ("ResNet-50", "resnet 50"),
        (r"$\lambda=0.1$", "λ 0.1"),
        ("F$_1$", "f 1"),
        ("<b>Ours</b><sup>*</sup>", "ours"),
        ("Ours (ResNet)", "ours resnet"),
    ],
)
def test_names_are_compared_without_marks(heading: str, name: str) -> None:
    assert name_of(heading) == name


def test_an_incomplete_macro_is_neither_printed_nor_a_pattern():
    code = (
        r'from autoreproduce.papers.plain import plain; print(plain(r"gain \frac{1} of $\frac$"))'
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("gain 1/of\n", "")
