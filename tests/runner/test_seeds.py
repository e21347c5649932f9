"""More seeds, the verdict and `--require`, with a real trial: real loop, programs and files."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny
from chat_server import chat_server
from claim_maker import claim, file_of
from trial_results import facts_of

from autoreproduce.claims.verdicts.trial_verdict import SeedRun
from autoreproduce.cli.console.attempts import unmet_requirement
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.runner.repeater import command_with_seed, seed_use
from autoreproduce.runner.seeds import _while_time_is
from autoreproduce.trials.begun import note_begun
from autoreproduce.trials.journal_reader import read_journal

WRITTEN = '"squared_error": error}'


def reply(request: Any) -> str:
    """The tiny experiment, but with another number for each seed: 1, 1.001, 1.002 …"""
    text = tiny.reply(request).replace(
        "    parser.parse_args()\n", "    args = parser.parse_args()\n"
    )
    return text.replace(WRITTEN, '"squared_error": 1 + args.seed / 1000}')


def attempt(folder: Path, out: Path, url: str, **settings: Any) -> Reproduction:
    return tiny.reproduced(folder, url, out=out, **settings)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the trial of one run in `trial`."""
    folder = tmp_path_factory.mktemp("seeds")
    tiny.lay_out(folder)
    with chat_server(reply) as server:
        attempt(folder, folder / "trial", server.base_url)
        (folder / "url").write_text(server.base_url)
    return folder


@pytest.fixture
def trial(once: Path, tmp_path: Path) -> Path:
    """A copy of the finished trial; its endpoint is gone, so no model call can be made."""
    copied = Path(shutil.copytree(once / "trial", tmp_path / "trial"))
    note_begun(once / "cache", copied)  # as if it had been begun there
    return copied


def again(once: Path, trial: Path, **settings: Any) -> Reproduction:
    return attempt(once, trial, (once / "url").read_text(), **settings)


def seeds_of(trial: Path) -> list[str]:
    return [step.name for step in read_journal(trial / "steps.jsonl") if step.phase == "seeds"]


@pytest.mark.slow
def test_one_run_has_a_verdict(once: Path) -> None:
    outcome = facts_of(once / "trial")
    verdict = outcome["claims"]
    assert outcome["verdict"] == "not comparable" and outcome["level"] == "open"
    assert not {"sentence", "level"} & verdict.keys()  # stored once
    assert [run["seed"] for run in verdict["runs"]] == [0]
    readme = (once / "trial/result/README.md").read_text()
    assert outcome["sentence"] in readme


@pytest.mark.slow
def test_more_seeds_are_added_to_a_finished_trial_once(once: Path, trial: Path) -> None:
    claims = file_of(
        claim(1.001, metric="squared error", direction="lower", scale="raw", printed="1.001")
    )
    (trial / "claims.json").write_text(claims.to_json())
    done = again(once, trial, seeds=3)
    assert seeds_of(trial) == ["seed 1", "seed 2"] and not done.earlier
    found = done.verdict
    assert found is not None and [run.value for run in found.runs] == [1.0, 1.001, 1.002]
    assert found.mean == pytest.approx(1.001) and found.overall.word == "reproduced"
    assert done.claims[0].verdict.word == "reproduced" and done.result.verdict == "reproduced"
    assert (trial / "seeds/2/workspace/metrics.json").is_file()
    for page in ("report.html", "result/README.md"):
        assert (
            "Reproduced: the paper says 1.001, the program measured" in (trial / page).read_text()
        )
    assert unmet_requirement(done, "reproduced") == ""

    assert again(once, trial, seeds=3).earlier
    more = again(once, trial, seeds=4)
    assert seeds_of(trial) == ["seed 1", "seed 2", "seed 3"]
    assert more.verdict is not None and len(more.verdict.runs) == 4
    assert again(once, trial).earlier


@pytest.mark.slow
def test_a_trial_that_was_killed_among_its_seeds_runs_only_the_missing(
    once: Path, trial: Path
) -> None:
    again(once, trial, seeds=3)
    (trial / "result.json").unlink()
    lines = (trial / "steps.jsonl").read_text().splitlines(keepends=True)
    (trial / "steps.jsonl").write_text("".join(lines[:-1]))
    begun = json.loads(lines[-2])["at"], len(lines)
    done = again(once, trial, seeds=3)
    after = (trial / "steps.jsonl").read_text().splitlines()
    assert (json.loads(after[-2])["at"], len(after)) == begun
    assert done.verdict is not None and len(done.verdict.runs) == 3


@pytest.mark.slow
def test_changed_claims_are_refused_and_said(once: Path, trial: Path) -> None:
    text = file_of(claim(1.0)).to_json().replace('"value": 1.0', '"value": 2.0')
    (trial / "claims.json").write_text(text)
    done = again(once, trial, seeds=2)
    assert done.claims == () and "changed after it was frozen" in " ".join(done.result.warnings)
    assert "changed after it was frozen" in done.report.read_text()


@pytest.mark.slow
def test_what_is_required_and_not_met_is_said(once: Path) -> None:
    done = again(once, once / "trial")
    assert unmet_requirement(done, None) == ""
    assert unmet_requirement(done, "partly") == "--require partly is not met: not comparable"


@pytest.mark.parametrize(
    ("command", "name", "third"),
    [
        ("python a.py --seed 0", "--seed", "python a.py --seed 3"),
        ("python a.py --seed=0 -x", "--seed", "python a.py --seed=3 -x"),
        ("python a.py --random_seed 4", "--random_seed", "python a.py --random_seed 3"),
        ("python a.py --train.seed=4", "--train.seed", "python a.py --train.seed=3"),
        ("SEED=1 python a.py", "SEED", "SEED=3 python a.py"),
        ("python a.py +trainer.seed=1 lr=0.1", "+trainer.seed", "python a.py +trainer.seed=3 lr=0.1"),
        ("python a.py --rng {seed}", "--rng", "python a.py --rng 3"),
        ("python run_{seed}.py", "{seed}", "python run_3.py"),
        ("python a.py", "", "python a.py"),
        ("python a.py --seeds 5", "", "python a.py --seeds 5"),
        ("python a.py --n-seed 5", "", "python a.py --n-seed 5"),
        ("python a.py --num_seed=5", "", "python a.py --num_seed=5"),
        ("python seed 3", "", "python seed 3"),
    ],
)  # fmt: skip
def test_what_in_a_command_takes_the_seed(command: str, name: str, third: str) -> None:
    assert command_with_seed(command, 3, ours=False) == third
    used = seed_use(command, {}, ours=False)
    assert used.name == name and ("--seeds 3" in used.advice) == bool(name)


def test_a_program_of_ours_takes_a_seed() -> None:
    assert command_with_seed("python main.py", 3) == "python main.py --seed 3"
    assert seed_use("python main.py", {}).name == "--seed"


@pytest.mark.parametrize(
    ("files", "advice"),
    [
        ({"main.py": "p.add_argument('-s', '--seed', type=int)"}, "python main.py --seed {seed}"),
        ({"main.py": '@click.option(\n  "--random-seed")'}, "python main.py --random-seed {seed}"),
        ({"main.py": 'seed = int(os.environ.get("MY_SEED", 0))'}, "MY_SEED={seed} python main.py"),
        (
            {"main.py": "@hydra.main(config_path='.')", "c.yaml": "lr: 0.1\nseed: 7\n"},
            "python main.py seed={seed}",
        ),
        ({"main.py": "print(1)", "c.yaml": "seed: 7"}, ""),  # nothing passes it on
        ({"main.py": "p.add_argument('--n-seed')"}, ""),
        ({"main.py": "print(1)", "other.py": "p.add_argument('--seed')"}, ""),
        ({}, ""),
    ],
)
def test_more_seeds_are_advised_where_the_program_takes_one(
    files: dict[str, str], advice: str
) -> None:
    used = seed_use("python main.py", files, ours=False)
    assert used.name == ""  # no run is given one
    said = f"main.py takes a seed, so --run '{advice}' --seeds 3 repeats it"
    assert used.advice == (said if advice else "")


@pytest.mark.parametrize(
    ("seconds", "numbers", "runs"),
    [
        (0.1, [0.5], []),  # the same number: any seed gives it
        (0.1, [0.6, 0.5], [0.6, 0.5]),
        (0.1, [None], None),  # none gave a number, which says nothing of the seed
    ],
)
def test_runs_in_a_process_each_tell_a_fixed_number_from_one_that_could_not_be_had(
    seconds: float, numbers: list[float | None], runs: list[float] | None
) -> None:
    left = iter(numbers)

    class Again:
        class trial:
            folder = Path("t")
            phase = note = staticmethod(lambda *told: None)

        def run(self, place: Path, name: str, seed: int) -> SeedRun:
            value = next(left)
            return SeedRun(seed=seed, value=value, metrics={"a": value} if value else {})

    first = SeedRun(seed=0, value=0.5, metrics={"a": 0.5}, seconds=seconds)
    found = _while_time_is(Again(), first, range(1, len(numbers) + 1), 120.0)  # type: ignore[arg-type]
    assert (found if found is None else [run.value for run in found]) == runs
