"""What a coder may read of the code that it begins with."""

import pytest
from claim_maker import claim

from autoreproduce.claims.withholding import Withholding
from autoreproduce.method.starting_code import without_results
from autoreproduce.papers.table_rows import WITHHELD

BIAS = claim(
    -0.021,
    id="plug_in_bias",
    printed="-0.021",
    row=("Plug-in",),
    column=("Bias",),
    metric="bias",
    scale="raw",
)
CORA = claim(84.7, id="hop_cora", printed="84.7", row=("HopNet",), column=("Cora",))
GATE = Withholding([BIAS, CORA])
LONG = "x\n" + "\n".join(f"{n / 10:.1f}" for n in range(2000))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README", "HopNet reaches 84.7 on Cora."),
        ("est.R", "# bias -0.021 of the plug-in\nfit <- lm(y ~ x)\n"),
        ("run.py", '"""HopNet gets 84.7 on Cora."""\nx = 1\n'),
        ("run.py", "x = 1  # bias -0.021\n"),
        ("sim.c", "/* plug-in bias -0.021 */\nint x = 1; // HopNet 84.7\n"),
        ("sim.m", "x = 1; % HopNet 84.7\n"),
        ("out/results.json", '{"hopnet": {"cora": 84.7}, "plug_in": {"bias": -0.021}}'),
        ("out/results.json", '{"hopnet_cora": 0.847}'),
        ("table1.csv", "estimator,bias\nplug-in,-0.021\nmle,0.03\n"),
        ("last.log", "HopNet cora acc 84.70\n"),
        ("results.yaml", "lr: 0.01\nplug-in:\n  bias: -0.021\n"),
    ],
)
def test_results_are_withheld_wherever_they_are_told(name: str, text: str) -> None:
    shown = without_results(name, text, GATE)
    assert WITHHELD in shown and not any(each in shown for each in ("84.7", "0.847", "0.021"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("main.py", "assert abs(acc - 84.7) < 1\n"),
        ("main.py", "text = f('''\n84.7\n''')\n"),
        ("main.py", 'page = "http://host#84.7"\n'),
        ("sim.R", "rnorm(10, 84.7)\n"),
        ("sim.m", "printf('%5.3f', 84.7)\n"),
        ("data/points.csv", LONG),
        ("config.yaml", "lr: 0.01\nepochs: 20\n"),
    ],
)
def test_what_a_program_runs_on_stays(name: str, text: str) -> None:
    assert without_results(name, text, GATE) == text
