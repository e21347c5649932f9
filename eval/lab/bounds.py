"""How far honest runs of a task's method agree on one draw: what its bounds in task.yaml rest on.

    python -m eval.lab.bounds lsm --draws 2 --seeds 3

The reference runs with several seeds on secret draws of the data, one run at a time. Each pair of
runs on a draw has the task's statistics (`agreement.py`), and each run its number. A finished run
is not run again, so a changed statistic is measured on the same predictions.
"""

import argparse
import json
import os
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev

from autoreproduce.benchmarks.reproducebench.benchmark import ReproduceBench
from autoreproduce.benchmarks.reproducebench.draws import Draw, draw_of, new_seed
from autoreproduce.benchmarks.reproducebench.recomputing import agreement_of, recompute
from autoreproduce.benchmarks.reproducebench.tasks import find_task, lay_out_reference
from autoreproduce.config import Settings
from autoreproduce.files.tree import Tree
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import Task
from autoreproduce.trials.run import Run, run_program


def main() -> None:
    """Run, compare, print a line a pair and the extremes, and write them beside the runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--profile", default="small")
    parser.add_argument("--data", type=Path, help="published files you have")
    parser.add_argument("--runs", type=Path, default=Path("runs/bounds"))
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--cpus", type=float, default=2.0)
    asked = parser.parse_args()
    settings = Settings.model_validate({"sandbox": asked.sandbox, "cpus": asked.cpus})
    task = find_task(asked.task, asked.profile)
    benchmark = ReproduceBench(ReproduceBench.Options())
    task = benchmark.prepare(task, settings.cache_dir, print, asked.data)
    pairs: dict[str, list[float]] = {}
    gaps: list[float] = []
    for number in range(asked.draws):
        home = asked.runs / f"{task.id}-{task.profile}" / f"draw-{number}"
        home.mkdir(parents=True, exist_ok=True)
        seed_file = home / "draw"
        if not seed_file.exists():
            seed_file.write_text(new_seed())
        draw = draw_of(task, settings.cache_dir, seed_file.read_text(), print)
        spaces = [_run(task, draw, home / f"seed-{n}", n, settings) for n in range(asked.seeds)]
        numbers = [recompute(task, space, draw.truth).value for space in spaces]
        print(task.id, "draw", number, "numbers", numbers, flush=True)
        known = [value for value in numbers if value is not None]
        gaps += [stdev(known)] if len(known) > 1 else []
        for one, other in combinations(spaces, 2):
            for found in agreement_of(task, one, other, draw.truth):
                pairs.setdefault(found.name, []).append(found.value)
                told = f"{found.name} {found.value:.4g}"
                print(task.id, number, one.name, other.name, told, flush=True)
    for name, values in pairs.items():
        spread = stdev(values) if len(values) > 1 else 0.0
        print(
            f"{task.id}: {name}: {min(values):.4g} to {max(values):.4g} of {len(values)} pairs, "
            f"mean {fmean(values):.4g}, s {spread:.3g}"
        )
    print(f"{task.id}: s of the number on a draw {gaps}")
    record = {"pairs": pairs, "s": gaps}
    (asked.runs / f"{task.id}-{task.profile}" / "bounds.json").write_text(json.dumps(record))


def _run(task: Task, draw: Draw, folder: Path, seed: int, settings: Settings) -> Path:
    """The folder of the reference's run with a seed, run now unless it ran before."""
    done = folder.with_name(f"{folder.name}.done")
    if done.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    lay_out_reference(task, folder)
    place = SandboxSetup(settings, folder.parent / "packages", draw.shown, trusted=True)
    sandbox = place.open(folder.resolve())
    try:
        command = f"python main.py --profile {task.profile} --seed {seed}"
        run = Run(command, task.time_limit_minutes * 300, results=())
        ran = run_program(sandbox, Tree(folder), run)
    finally:
        sandbox.close()
    if not ran.ok:
        raise SystemExit(f"{task.id} seed {seed}: {ran.stopped or ran.stderr[-500:]}")
    done.write_text(f"{ran.cpu_seconds} {os.cpu_count()}\n")
    return folder


if __name__ == "__main__":
    main()
