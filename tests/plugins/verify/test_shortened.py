"""A plan that shortens the paper's run: what only chance may have moved is never called off."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server
from sandbox_fixtures import settings_for

from autoreproduce import verify
from autoreproduce.plugins.verify.run_plan import RunPlan, Shortening
from autoreproduce.runner.api_results import Reproduction

STUDY = """import argparse, math, random
parser = argparse.ArgumentParser()
parser.add_argument("--reps", type=int, default=1000)
reps = parser.parse_args().reps
draw = random.Random(7)
TRUTH = 0.0
errors, costs, covered = [], [], 0
for _ in range(reps):
    sample = [draw.gauss(TRUTH, 1) for _ in range(20)]
    mean = sum(sample) / 20
    sd = (sum((x - mean) ** 2 for x in sample) / 19) ** 0.5
    errors.append(mean)
    costs.append(math.exp(sample[0]))
    covered += abs(mean) <= 2.093 * sd / 20**0.5
print("rmse", (sum(e * e for e in errors) / reps) ** 0.5)
print("coverage", covered / reps)
print("cost", sum(costs) / reps)
print("variance", 1 / 20 + 1 / 3)
"""
EXACT = "print('limit', (1 + 1 / 3) ** 3 / 7)\n"
FILES = {"main.py": STUDY, "exact.py": EXACT}
# by theory RMSE is 0.2236, coverage 0.95 and cost 1.6487; the other two hold to each digit
TRUE = {"rmse": "0.226", "coverage": "0.948", "cost": "1.712", "variance": "0.38333"}
TRUE |= {"limit": "0.33862"}
CUT = {"what": "repetitions", "kind": "replicates", "paper": 1000, "run": 50, "at": "--reps 50"}
PLAN = {"commands": ["python main.py --reps 50", "python exact.py"], "shortened": [CUT]}


def paper_of(stated: dict[str, str]) -> str:
    said = "\n".join(f"The mean has a {name} of {value}." for name, value in stated.items())
    return f"# A study\nWe take 1,000 repetitions of 20 values.\n{said}\n"


def claims_of(stated: dict[str, str]) -> str:
    items = [
        f"- {{row: [mean], metric: {name}, direction: match, value: {value}, scale: "
        f"{'fraction' if name == 'coverage' else 'raw'}, sentence: The mean has a {name} of {value}}}"
        for name, value in stated.items()
    ]
    return "```yaml\n" + "\n".join(items) + "\n```"


def places_of(code: Path, stated: dict[str, str], plan: dict[str, Any]) -> str:
    """The model's reply on where the numbers stand: what the commands print, tried here."""
    printed = list[str]()
    for line in plan["commands"]:
        here = line.replace("python ", f"{sys.executable} ")
        ran = subprocess.run(here, shell=True, cwd=code, capture_output=True, text=True, check=True)
        printed += ran.stdout.splitlines()
    found = []
    for name in stated:
        line = next(n for n, text in enumerate(printed, 1) if text.startswith(name))
        of = {"file": "stdout", "line": line, "number": 1, "text": printed[line - 1]}
        found.append({"id": f"mean_{name}", "of": of})
    return json.dumps({"places": found})


def run_shortened(
    folder: Path,
    stated: dict[str, str],
    plan: dict[str, Any] = PLAN,
    files: dict[str, str] = FILES,
    plans: Sequence[object] = (),
    paper: str = "",
) -> Reproduction:
    """The trial of these files by this plan, after which the model says where the numbers are.
    `plans`: all of the model's replies with a plan, if it's more than the one.
    """
    (folder / "code").mkdir(parents=True)
    for name, text in files.items():
        (folder / "code" / name).write_text(text)
    (folder / "paper.md").write_text(paper or paper_of(stated))
    said = places_of(folder / "code", stated, plan)
    replies = [claims_of(stated), *map(json.dumps, plans or [plan]), said]
    with chat_server(replies) as server:
        settings = settings_for(
            "process", runs_dir=folder / "runs", model="any", base_url=server.base_url, audit=False
        )
        [done] = verify(folder / "code", paper=folder / "paper.md", settings=settings)
    assert isinstance(done, Reproduction)
    return done


def words_of(done: Reproduction) -> dict[str, tuple[str, str]]:
    return {
        one.claim.id.removeprefix("mean_"): (one.verdict.word, one.verdict.why)
        for one in done.claims
    }


@pytest.mark.slow
def test_what_noise_of_fewer_repetitions_explains_is_never_off(tmp_path: Path) -> None:
    done = run_shortened(tmp_path, TRUE)
    words = words_of(done)
    assert {name: word for name, (word, _) in words.items()} == {
        "rmse": "close",
        "coverage": "close",
        "cost": "untestable",
        "variance": "reproduced",
        "limit": "reproduced",
    }
    cut = ", in a run that was shortened from 1,000 to 50 repetitions."
    assert done.result.sentence.endswith(cut)
    assert "within the noise of 50 repetitions; Monte Carlo error" in words["rmse"][1]
    assert "1,000 replicates in the paper and 50 here); ours are few" in words["coverage"][1]
    assert words["cost"][1].startswith("couldn't tell: ")
    assert "the run was shortened from 1,000 to 50 repetitions, which may move" in words["cost"][1]
    assert words["variance"][1] == "equal in all 5 printed digits"  # no shorter run moves it
    page = (done.path / "report.html").read_text()
    assert "python main.py --reps 50 (50 repetitions for 1,000)" in page
    assert "shortened from 1,000 to 50 repetitions" in page
    assert "repetitions: 1000 as stated in the paper; taken 50 (×0.05)" in page
    journal = (done.path / "steps.jsonl").read_text()
    assert all(f"--reps {count} " in journal for count in (25, 12, 6))


@pytest.mark.slow
def test_a_fault_far_outside_the_noise_is_off_and_so_is_what_no_repetition_moves(
    tmp_path: Path,
) -> None:
    wrong = STUDY.replace("TRUTH = 0.0", "TRUTH = 2.0").replace(
        "exp(sample[0])", "exp(sample[0]) + 90"
    )
    stated = TRUE | {"variance": "0.39333", "limit": "0.34862"}
    words = words_of(run_shortened(tmp_path, stated, files={"main.py": wrong, "exact.py": EXACT}))
    assert {word for word, _ in words.values()} == {"off"}
    assert "the noise of 50 repetitions can't move it by more than" in words["cost"][1]
    assert not [
        why for name, (_, why) in words.items() if "short" in why and name in ("variance", "limit")
    ]


SEEDS = """import argparse, random
parser = argparse.ArgumentParser()
parser.add_argument("--seeds", type=int, nargs="+", default=list(range(20)))
found = []
for seed in parser.parse_args().seeds:
    found.append(random.Random(seed).gauss(50, 4))
print("score", sum(found) / len(found))
print("size", 2 * sum(range(36)) - 26)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("score", "word"), [("53.6", "untestable"), ("95.1", "off")])
def test_fewer_seeds_of_a_list_are_noise_that_halves_of_the_list_show(
    tmp_path: Path, score: str, word: str
) -> None:
    seeds = "0 1 2 3 4 5 6 7"
    plan = {"commands": [f"python main.py --seeds {seeds}"]}
    cut = {"what": "seeds", "kind": "seeds", "paper": 200, "run": 8, "at": f"--seeds {seeds}"}
    stated = {"score": score, "size": "1234"}
    done = run_shortened(
        tmp_path,
        stated,
        plan | {"shortened": [cut]},
        {"main.py": SEEDS},
        paper=paper_of(stated).replace("1,000 repetitions", "200 seeds"),
    )
    found = words_of(done)
    assert found["score"][0] == word and found["size"] == (
        "reproduced",
        "equal in all 4 printed digits",
    )
    journal = (done.path / "steps.jsonl").read_text()
    assert '--seeds 0 1 2 3"' in journal.replace("\\\\", "") and '--seeds 0 1"' in journal


EPOCHS = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=200)
error = 1.0
for _ in range(parser.parse_args().epochs):
    error *= 0.97
print("error", 0.1 + error)
print("parameters", 7850 + 10)
"""


@pytest.mark.slow
def test_fewer_epochs_are_no_noise_and_not_comparable_but_for_what_they_do_not_move(
    tmp_path: Path,
) -> None:
    plan = {"commands": ["python main.py --epochs 20"]}
    cut = {"what": "epochs", "kind": "epochs", "paper": 200, "run": 20, "at": "--epochs 20"}
    stated = {"error": "0.1023", "parameters": "7850"}
    done = run_shortened(
        tmp_path,
        stated,
        plan | {"shortened": [cut]},
        {"main.py": EPOCHS},
        paper=paper_of(stated).replace("1,000 repetitions", "200 epochs"),
    )
    words = words_of(done)
    assert words["error"] == ("not comparable", "scaled down: epochs 20 for 200 (×0.1)")
    assert words["parameters"][0] == "close" and "7850" not in words["parameters"][1]


BOOTSTRAP = """import random, sys
draw, B = random.Random(3), int(sys.argv[1])
data = [draw.gauss(10, 3) for _ in range(40)]
means = [sum(draw.choices(data, k=40)) / 40 for _ in range(B)]
middle = sum(means) / B
print("estimate", sum(data) / 40)
print("se", (sum((m - middle) ** 2 for m in means) / (B - 1)) ** 0.5)
"""


@pytest.mark.slow
def test_fewer_bootstrap_draws_move_the_error_and_not_the_estimate(tmp_path: Path) -> None:
    plan = {"commands": ["python main.py 100"]}
    cut = {"what": "bootstrap draws", "kind": "replicates", "paper": 5000, "run": 100}
    stated = {"estimate": "9.102", "se": "0.465"}
    done = run_shortened(
        tmp_path,
        stated,
        plan | {"shortened": [cut | {"at": "main.py 100"}]},
        {"main.py": BOOTSTRAP},
        paper=paper_of(stated).replace("1,000 repetitions", "$5 \\times 10^3$ bootstrap draws"),
    )
    words = words_of(done)
    print(words)
    assert words["estimate"][0] == "off" and "shortened" not in words["estimate"][1]
    assert words["se"][0] == "close" and "the noise of 100 bootstrap draws" in words["se"][1]


IN_R = """reps <- as.integer(commandArgs(trailingOnly = TRUE)[1])
set.seed(1)
errors <- replicate(reps, mean(rnorm(20)))
costs <- replicate(reps, exp(rnorm(1)))
cat("rmse", sqrt(mean(errors^2)), "\\n")
cat("cost", mean(costs), "\\n")
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("Rscript"), reason="needs Rscript")
@pytest.mark.parametrize(
    ("rmse", "cost", "words"),
    [("0.226", "1.712", ["close", "untestable"]), ("2.26", "171.2", ["off", "off"])],
)
def test_a_simulation_in_r_is_judged_by_its_noise(
    tmp_path: Path, rmse: str, cost: str, words: list[str]
) -> None:
    plan = {"commands": ["Rscript sim.R 60"], "shortened": [CUT | {"run": 60, "at": "sim.R 60"}]}
    done = run_shortened(tmp_path, {"rmse": rmse, "cost": cost}, plan, {"sim.R": IN_R})
    print(words_of(done))
    assert [word for word, _ in words_of(done).values()] == words


@pytest.mark.slow
def test_a_count_that_nothing_states_goes_back_once_and_is_then_left_out(tmp_path: Path) -> None:
    made_up = PLAN | {"shortened": [CUT | {"paper": 777}]}
    done = run_shortened(tmp_path, TRUE, plans=[made_up, made_up])
    assert words_of(done)["cost"][0] == "off"
    again = run_shortened(tmp_path / "again", TRUE, plans=[made_up, PLAN])
    assert words_of(again)["cost"][0] == "untestable"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("with 1,000 repetitions", 1000),
        ("nsim <- 1e4", 10_000),
        (r"$5\times 10^{3}$ draws", 5000),
        ("10**6 steps", 10**6),
        ("twenty seeds", 20),
        (r"2{,}000 draws", 2000),
        ("B=200)", 200),
    ],
)
def test_a_count_is_found_as_papers_and_code_write_it(text: str, count: int) -> None:
    one = Shortening(what="x", kind="seeds", paper=count, run=3, at="--n 3")
    assert one.place({"the paper": "none", "a.R": text}) == "a.R"
    assert not Shortening(what="x", kind="seeds", paper=count + 1, run=3, at="--n 3").place(
        {"": text}
    )


@pytest.mark.parametrize(
    "wrong",
    [{"run": 1000}, {"run": 5000}, {"at": "50"}, {"at": "--reps 500"}, {"at": "--n 50 --m 50"}],
)
def test_what_says_no_smaller_count_in_one_place_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"isn't fewer|doesn't say"):
        Shortening.model_validate(CUT | wrong)


def test_each_command_has_what_it_was_shortened_by() -> None:
    driver = "import main\nB = 20\nprint(main.run(B))\n"
    cut = [CUT, CUT | {"what": "draws", "run": 20, "at": "B = 20"}]
    plan = RunPlan.model_validate(
        {
            "commands": ["python a.py --reps 50", "python b.py --reps 500"],
            "driver": driver,
            "shortened": cut,
        }
    )
    found = [[one.what for one in plan.shortened_in(each.command)] for each in plan.commands]
    assert found == [["repetitions"], [], ["draws"]]
    texts = {"the paper": "1000 repetitions"}
    assert plan.unfounded(texts) == []
    other = plan.model_copy(update={"driver": ""})
    assert other.unfounded(texts) == [
        "shortened: 'B = 20' stands in no command, and not in the driver"
    ]
    assert [one.what for one in other.founded(texts).shortened] == ["repetitions"]
