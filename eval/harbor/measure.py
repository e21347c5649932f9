"""Measures a submission in Harbor's verifier: runs it from the beginning, recomputes its number.

Started by test.sh as root in a container of its own. The program runs as `nobody`, on a copy of
/app without earlier results, with decoys in place of the test targets; the true ones lie below
/tests, which only root may enter, and so may the folder of the reward until all that the program
started has ended. The reward is 1 if the recomputed number lies in the reference's band, else 0.
"""

import importlib.util
import json
import math
import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

TESTS, LOGS = Path("/tests"), Path("/logs/verifier")
APP, WORK, DATA = Path("/app"), Path("/measured/app"), Path("/measured/data")
RESULTS = ("metrics.json", "predictions.npz", "checkpoint.pt")
MOST = 4 * 2**30  # bytes of predictions


def lay_out(user: pwd.struct_passwd) -> None:
    """The program's own copy, and the data that it sees."""
    TESTS.chmod(0o700)
    shutil.copytree(APP, WORK, symlinks=True, ignore=shutil.ignore_patterns(*RESULTS))
    shutil.copytree(TESTS / "decoys", DATA)
    for path in (WORK, *WORK.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)


def run(facts: dict, user: pwd.struct_passwd) -> str:
    """Run `python main.py`; why it failed, "" if it did not."""
    env = {"PATH": os.environ["PATH"], "HOME": str(WORK), "DATA_DIR": str(DATA)}
    command = ["python", "main.py"]
    try:
        done = subprocess.run(
            command, cwd=WORK, env=env, user=user.pw_uid, group=user.pw_gid, extra_groups=[],
            timeout=facts["minutes"] * 60, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "it was stopped at its time limit"
    finally:
        end_processes(user)
    return "" if done.returncode == 0 else f"exit code {done.returncode}"


def end_processes(user: pwd.struct_passwd) -> None:
    """End what the program left running, without a new process: it may have left no room for one.

    As the user, a signal to all reaches that user's processes alone.
    """
    os.setresuid(user.pw_uid, user.pw_uid, 0)
    try:
        os.kill(-1, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # there is none
    finally:
        os.setresuid(0, 0, 0)


def recomputed(facts: dict, data: Path) -> float:
    """The metric of the predictions against the targets in `data`. Raises ValueError, OSError."""
    file = WORK / facts["predictions"]
    if file.is_symlink() or not file.is_file() or file.stat().st_size > MOST:
        raise ValueError(f"{file.name} was not written")
    spec = importlib.util.spec_from_file_location("metric", TESTS / "metric.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    value = float(module.metric(file, data))
    if not math.isfinite(value):
        raise ValueError(f"the metric is {value}")
    return value


def measure() -> dict:
    """The rewards by name."""
    facts = json.loads((TESTS / "facts.json").read_text())
    user = pwd.getpwnam("nobody")
    lay_out(user)
    if why := run(facts, user):
        print(why)
        return {"reward": 0, "ran": 0}
    try:
        value = recomputed(facts, TESTS / "data")
    except Exception as error:  # numpy raises whatever a strange file leads it to
        print(f"the number cannot be recomputed: {error}")
        return {"reward": 0, "ran": 1}
    low, high = facts["band"]
    within = int(low <= value <= high)
    print(f"{facts['metric']} {value:.6g}; the reference's band is {low:.6g} to {high:.6g}")
    return {"reward": within, "ran": 1, facts["metric"]: value}


def main() -> None:
    """Measure, and leave a reward whatever the program does to this process.

    Harbor opens the folder to everybody: a program would write its own reward there.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    mode = LOGS.stat().st_mode & 0o777
    LOGS.chmod(0o700)
    reward = LOGS / "reward.json"
    reward.write_text(json.dumps({"reward": 0, "ran": 0}))
    try:
        reward.write_text(json.dumps(measure()))
    except (OSError, shutil.Error) as error:  # a pipe in /app, names that are too long
        print(f"it cannot be measured: {error}")
    LOGS.chmod(mode)


if __name__ == "__main__":
    main()
