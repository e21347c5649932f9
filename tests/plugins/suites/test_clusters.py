"""The same suites on Slurm and on Ray: nodes that are processes of this machine, real otherwise.

`.ci/slurm_cluster.sh start` and `.ci/ray_cluster.sh start` make them; SLURM_CONF and RAY_ADDRESS
name them.
"""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, Request, chat_server
from suite_world import ASKED, asked, counts, environment, finish, lay_out, start, wait_for
from trial_results import verdict_of

from autoreproduce.config import digest
from autoreproduce.extensions import table
from autoreproduce.models.tape import CallSite, TapeHead, tape_of, write_tape
from autoreproduce.plugins.suites.results import COLUMNS, read_rows
from autoreproduce.trials.trial import Trial

pytestmark = pytest.mark.timeout(400)
PATIENCE = 250.0  # seconds: each trial starts a Python of its own
SMALL = {"cpus": 1, "memory_gb": 0.5}
# Without its keeper a suite's tasks end.
END_KEEPERS = """
import ray
ray.init("auto", namespace="autoreproduce", log_to_driver=False)
for name in ray.util.list_named_actors():
    ray.kill(ray.get_actor(name))
"""
# What a row says of when and where, and not of what came out.
OF_THE_RUN = {
    "seconds",
    "created",
    "hardware",
    "processor",
    "cpus",
    "memory_gb",
    "gpus",
    "hosts",
    "machines",
} | {name for name in COLUMNS if name.startswith("seconds_")}


def slurm_is_missing() -> str:
    """Why no Slurm cluster answers, "" if one does."""
    if "SLURM_CONF" not in os.environ:
        return "SLURM_CONF names no cluster (.ci/slurm_cluster.sh start FOLDER makes one)"
    done = subprocess.run(["sinfo", "-h"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"Slurm does not answer: {done.stderr.strip()}"


@pytest.fixture(
    params=[
        pytest.param("slurm", marks=pytest.mark.slurm),
        pytest.param("ray", marks=pytest.mark.ray),
    ]
)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Each executor whose cluster is there."""
    name = str(request.param)
    missing = "" if "RAY_ADDRESS" in os.environ else "RAY_ADDRESS names no cluster"
    if reason := slurm_is_missing() if name == "slurm" else missing:
        pytest.skip(reason)
    if name == "slurm":
        give_back_all_nodes()
    yield name
    end_what_is_left(name, tmp_path)


def give_back_all_nodes() -> None:
    """Slurm takes a node away whose killed task ends slowly, as on a busy machine, until somebody
    gives it back; a test that needs all three would wait for it until its time is over.
    """

    def away() -> set[str]:
        return {line.split()[0] for line in nodes().splitlines() if line.split()[1] != "idle"}

    def nodes() -> str:
        return printed_by("sinfo", "-h", "-N", "-o", "%N %T %E")

    with suppress(AssertionError):
        wait_for(lambda: not away(), seconds=30)
    for node in away():
        print(f"taken away by Slurm:\n{nodes()}")
        change = ["scontrol", "update", f"NodeName={node}"]
        subprocess.run([*change, "State=DOWN", "Reason=ended"], check=True)
        subprocess.run([*change, "State=RESUME"], check=True)
    with suppress(AssertionError):
        wait_for(lambda: not away(), seconds=60)
    assert not away(), f"nodes that Slurm doesn't give back:\n{nodes()}"


def end_what_is_left(name: str, folder: Path) -> None:
    """End the jobs of suites whose runner did not come to its end: they would slow the next test
    down, and so on.
    """
    states = [json.loads(path.read_text()) for path in folder.rglob("out/state.json")]
    if all(state["ended"] for state in states):
        return
    if name == "slurm":
        for out in folder.rglob("out"):
            subprocess.run(["scancel", f"--name=autoreproduce-{digest(str(out))}"])
    else:
        subprocess.run([sys.executable, "-c", END_KEEPERS], timeout=PATIENCE)


def once_all_began(trials: int, answer: Callable[[Request], Answer]) -> Callable[[Request], Answer]:
    """An endpoint that answers nobody until every trial has made a call. On a busy machine the
    workers start many seconds apart, and a test would else see some end before others begin.
    """
    began: set[str] = set()
    all_began = threading.Event()

    def answered(request: Request) -> Answer:
        match = ASKED.search(request.prompt)
        assert match
        began.add(match[1])
        if len(began) == trials:
            all_began.set()
        all_began.wait(PATIENCE)
        return answer(request)

    return answered


def lay_out_on(name: str, folder: Path, *tasks: str, **more: Any) -> Path:
    """A suite's file for an executor."""
    options = {"poll_seconds": 0.5} if name == "slurm" else {}
    settings = {**SMALL, **more.pop("settings", {})}
    return lay_out(folder, tasks or ("one",), settings=settings, executor={name: options}, **more)


def ended_well(file: Path, url: str, *flags: str) -> str:
    """What the suite's command printed, which ended with 0."""
    done = finish(file, url, *flags, seconds=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def printed_by(*command: str) -> str:
    """What a command of Slurm prints."""
    return subprocess.run(command, capture_output=True, text=True).stdout


def outputs(folder: Path) -> list[str]:
    """What the programs of all trials printed."""
    journals = [path.read_text() for path in sorted(folder.glob("trials/*/*/*/steps.jsonl"))]
    steps = [json.loads(line) for text in journals for line in text.splitlines()]
    return [step["result"]["stdout"] for step in steps if step["result"]["kind"] == "execute"]


def test_rows_are_equal_to_local_ones_but_for_times_and_machines(
    cluster: str, tmp_path: Path
) -> None:
    """One trial is recorded on a live endpoint; then the tape is replayed on both."""
    live = lay_out(tmp_path / "live", how={"calls": 2, "command": "seq 3"}, settings=SMALL)
    with chat_server(lambda request: "7") as server:
        ended_well(live, server.base_url)
    trial = Trial.read(tmp_path / "live/out/trials/one/default/1")
    head = TapeHead(
        model="scripted",
        recorded="2026-11-22",
        task="one",
        profile="full",
        settings=trial.record.settings,
    )
    calls = [
        (CallSite(step.role, step.phase, step.name), step.result)
        for step in trial.steps
        if step.kind == "model"
    ]
    tape = tmp_path / "tape.jsonl"
    write_tape(tape, head, tape_of(calls))
    found = []
    for name in ("local", cluster):
        file = (
            lay_out_on(
                name,
                tmp_path / name,
                "one",
                "two",
                trials=2,
                how={"calls": 2, "command": "seq 3"},
                settings={"model": f"tape:{tape}"},
            )
            if name != "local"
            else lay_out(
                tmp_path / name,
                ("one", "two"),
                trials=2,
                how={"calls": 2, "command": "seq 3"},
                settings={**SMALL, "model": f"tape:{tape}"},
            )
        )
        ended_well(file, "http://127.0.0.1:9/v1")
        found.append(read_rows(tmp_path / name / "out"))
    for ours, theirs in zip(*found, strict=True):
        kept = {name: value for name, value in ours.items() if name not in OF_THE_RUN}
        phases = [re.sub(r'"seconds": [\d.]+', "", row["phases"]) for row in (ours, theirs)]
        assert phases[0] == phases[1]
        assert {**kept, "phases": 0} == {**{n: theirs[n] for n in kept}, "phases": 0}
        assert theirs["hardware"] and theirs["status"] == "measured"


CODE = """
numbers = [float(line) for line in open("points.txt")]
print(f"mean {sum(numbers) / len(numbers):.5f}")
"""
MEAN = """```yaml
- {row: [estimator], metric: mean, direction: match, value: 3.95833, scale: raw,
   sentence: Our estimator has a mean of 3.95833}
```"""
LINE = {"id": "estimator_mean", "file": "stdout", "line": 1, "number": 1, "text": "mean 3.95833"}
# What a model says to each kind of prompt of `verify`.
VERIFYING = {
    "# The code that was handed in": json.dumps({"command": "python run_it.py"}),
    "# What the run left": json.dumps({"places": [LINE]}),
}


@pytest.mark.parametrize("cluster", [pytest.param("slurm", marks=pytest.mark.slurm)], indirect=True)
def test_code_is_held_against_its_paper_on_the_nodes(cluster: str, tmp_path: Path) -> None:
    """Two trials of code in a folder beside the suite's file, its data with it."""
    if "code:" not in table("solver_kinds"):
        pytest.skip("the solver of code that is there is not installed")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/run_it.py").write_text(CODE)
    (tmp_path / "theirs/points.txt").write_text("1.5\n2.25\n8.125\n")
    (tmp_path / "means.md").write_text("# Means\nOur estimator has a mean of 3.95833 on it.\n")
    task = {"name": "means", "metric": "first_claim:higher", "paper": "means.md"}
    file = lay_out_on(
        cluster,
        tmp_path,
        tasks_=[task],
        trials=2,
        solver="code:theirs",
        settings={"max_output_tokens": 2000, "audit": False},
    )

    def answer(request: Request) -> Answer:
        said = [text for words, text in VERIFYING.items() if words in request.prompt]
        return Answer(said[0] if said else MEAN)

    with chat_server(answer) as server:
        ended_well(file, server.base_url, "--workers", "2")
    assert len(server.requests) == 2 * 3  # claims, the plan, places
    verdicts = [verdict_of(path.parent) for path in tmp_path.rglob("out/trials/**/result.json")]
    words = [one.verdict.word for found in verdicts if found for one in found.claims]
    assert words == ["reproduced"] * 2


def test_the_budget_is_one_over_all_nodes(cluster: str, tmp_path: Path) -> None:
    """Nine trials at once on three nodes; the endpoint counts 120 tokens a call."""
    limit, at_once = 3000, 9
    file = lay_out_on(cluster, tmp_path, trials=at_once, how={"calls": 20})
    with chat_server(lambda request: Answer("7", hang=0.05)) as server:
        flags = ["--budget", f"{limit} tokens", "--workers", str(at_once)]
        done = finish(file, server.base_url, *flags, seconds=PATIENCE)
        spent = 120 * len(server.requests)
    assert done.returncode == 3, done.stdout + done.stderr
    assert spent <= limit + 120 * at_once
    assert spent > 0.8 * limit
    state = json.loads((tmp_path / "out/ledger.json").read_text())
    assert (state["tokens"], state["open"]) == (spent, {})


def test_a_worker_that_met_a_429_waits_as_long_as_it_says(cluster: str, tmp_path: Path) -> None:
    """Nine trials on three nodes have a call under way, whose answers come a second apart; from the
    first on the provider refuses every call for ten seconds and says how long: each worker learns
    it once.
    """
    trials, calls, seconds = 9, 4, 10.0
    first_answer = 0.0
    refused: list[float] = []
    answers = itertools.count()

    def answer(request: Request) -> Answer:
        nonlocal first_answer
        with lock:
            now = time.monotonic()
            if (n := next(answers)) < trials:
                first_answer = first_answer or now + 1
                return Answer("7", hang=1.0 + n)
            if not first_answer <= now < first_answer + seconds:
                return Answer("7")
            refused.append(now)
            left = first_answer + seconds - now
        return Answer(status=429, retry_after=round(left, 2) + 0.01)

    lock = threading.Lock()
    file = lay_out_on(cluster, tmp_path, trials=trials, how={"calls": calls})
    with chat_server(once_all_began(trials, answer)) as server:
        ended_well(file, server.base_url, "--workers", str(trials))
        made = asked(server)
    print(f"{cluster}: {len(refused)} calls refused")
    assert 0 < len(refused) <= trials
    assert len(made) == trials * calls and sum(made.values()) == len(made) + len(refused)


def test_a_killed_runner_finds_its_jobs_again_and_nothing_runs_twice(
    cluster: str, tmp_path: Path
) -> None:
    file = lay_out_on(cluster, tmp_path, trials=4, how={"calls": 10})
    with chat_server(lambda request: Answer("7", hang=0.5)) as server:
        with start(file, server.base_url, "--workers", "4") as running:
            wait_for(lambda: len(server.requests) >= 8, PATIENCE)
            os.killpg(running.pid, signal.SIGKILL)
        ended_well(file, server.base_url, "--workers", "4")
        assert set(asked(server).values()) == {1}
        assert len(server.requests) == 40
    assert counts(tmp_path / "out") == {"measured": 4}


def test_ctrl_c_ends_the_jobs_and_the_same_command_resumes_them(
    cluster: str, tmp_path: Path
) -> None:
    trials, calls = 3, 40
    hang = [0.5]  # seconds: what is left after some calls lasts until the stop arrives
    file = lay_out_on(cluster, tmp_path, trials=trials, how={"calls": calls})
    slow = once_all_began(trials, lambda request: Answer("7", hang=hang[0]))
    with chat_server(slow) as server:
        with start(file, server.base_url) as running:
            wait_for(lambda: len(server.requests) >= 6, PATIENCE)
            running.send_signal(signal.SIGINT)
            printed, _ = running.communicate(timeout=PATIENCE)
            assert running.returncode == 130, printed
        assert counts(tmp_path / "out") == {"stopped": trials}
        time.sleep(1.5)
        before = len(server.requests)
        time.sleep(1.5)
        assert len(server.requests) == before
        hang[0] = 0.0
        ended_well(file, server.base_url)
        made = asked(server)
    assert counts(tmp_path / "out") == {"measured": trials}
    assert len(made) == trials * calls
    assert sum(made.values()) <= len(made) + trials  # the calls under way


def test_gpus_are_those_that_the_engine_granted(cluster: str, tmp_path: Path) -> None:
    """Six trials, three nodes with two declared GPUs each; a program sees its own one alone."""
    node = "${SLURMD_NODENAME:-$RAY_NODE}"
    file = lay_out_on(
        cluster,
        tmp_path,
        trials=6,
        how={"calls": 1, "command": f"echo gpu=$CUDA_VISIBLE_DEVICES {node}; sleep 2"},
        settings={"gpus": "all"},
    )
    with chat_server(once_all_began(6, lambda request: Answer("7"))) as server:
        ended_well(file, server.base_url, "--workers", "6")
    granted = [re.search(r"gpu=(\S*)", text)[1] for text in outputs(tmp_path / "out")]  # type: ignore[index]
    assert sorted(granted) == ["0", "0", "0", "1", "1", "1"]


def test_what_no_node_can_meet_is_refused_at_once(cluster: str, tmp_path: Path) -> None:
    file = lay_out_on(cluster, tmp_path, settings={"cpus": 1000})
    with chat_server(lambda request: "7") as server:
        done = finish(file, server.base_url, seconds=PATIENCE)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "1000" in done.stderr and "cpus" in done.stderr


SESSION = """
import ray
ray.init("auto", log_to_driver=False, logging_level=50)
print(ray._private.worker._global_node.get_session_dir_path())
"""


@pytest.mark.parametrize("cluster", [pytest.param("ray", marks=pytest.mark.ray)], indirect=True)
def test_a_key_reaches_the_tasks_and_no_log_of_rays(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "a-key-that-no-log-may-have-7f3a"
    monkeypatch.setenv("AUTOREPRODUCE_API_KEY", key)
    options = {"ray": {"env": ["AUTOREPRODUCE_API_KEY"]}}
    file = lay_out(tmp_path, ("one",), settings=SMALL, executor=options)
    with chat_server(lambda request: Answer("7")) as server:
        ended_well(file, server.base_url)
    sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {key}"
    session = printed_by(sys.executable, "-c", SESSION).split()[-1]
    logs = Path(session) / "logs"
    assert any(logs.iterdir())
    assert printed_by("grep", "-rl", key, str(logs)) == ""


@pytest.mark.parametrize("cluster", [pytest.param("slurm", marks=pytest.mark.slurm)], indirect=True)
def test_a_preempted_job_and_one_of_a_node_that_went_down_resume_at_their_step(
    cluster: str, tmp_path: Path
) -> None:
    trials, calls = 6, 30
    on_each_node = {"cpus": 6}  # of 16: two trials a node
    file = lay_out_on(cluster, tmp_path, trials=trials, how={"calls": calls}, settings=on_each_node)
    slow = once_all_began(trials, lambda request: Answer("7", hang=0.5))
    with chat_server(slow) as server:
        with start(file, server.base_url, "--workers", "6") as running:
            wait_for(lambda: len(server.requests) >= 2 * trials, PATIENCE)
            listed = printed_by("squeue", "-h", "-r", "-t", "R", "-o", "%i %N").split()
            where = dict(zip(listed[::2], listed[1::2], strict=True))
            first, node = next(iter(where.items()))
            subprocess.run(["scontrol", "requeue", first], check=True)
            down = next((each for each in where.values() if each != node), node)
            try:
                command = ["scontrol", "update", f"NodeName={down}"]
                subprocess.run([*command, "State=DOWN", "Reason=test"], check=True)
                printed, _ = running.communicate(timeout=PATIENCE)
            finally:
                subprocess.run([*command, "State=RESUME"])  # it may have come back by itself
        assert running.returncode == 0, printed
        made = asked(server)
    lost = sum(each == down for each in where.values()) + 1
    assert len(made) == trials * calls and sum(made.values()) <= len(made) + lost
    assert counts(tmp_path / "out") == {"measured": trials}


@pytest.mark.parametrize("cluster", [pytest.param("slurm", marks=pytest.mark.slurm)], indirect=True)
def test_a_job_that_a_node_could_not_start_is_started_again(cluster: str, tmp_path: Path) -> None:
    """Slurm holds it for somebody to release, and the suite would wait for ever."""
    found = re.search(r"SlurmdSpoolDir\s*= (\S+)", printed_by("scontrol", "show", "config"))
    assert found
    spool = Path(found[1].replace("%n", "n1"))
    away = spool.with_name("away")
    spool.rename(away)  # n1 cannot write a job's script
    file = lay_out_on(cluster, tmp_path, how={"calls": 1})
    name = f"--name=autoreproduce-{digest(str(tmp_path / 'out'))}"
    try:
        with chat_server(lambda request: "7") as server, start(file, server.base_url) as running:
            wait_for(lambda: printed_by("squeue", "-h", name), PATIENCE)
            number = printed_by("squeue", "-h", "-r", "-o", "%A", name).split()[0]
            shown = ("scontrol", "show", "job", number)
            wait_for(lambda: "Restarts=1" in printed_by(*shown), PATIENCE)
            away.rename(spool)
            printed, _ = running.communicate(timeout=PATIENCE)
    finally:
        if away.exists():
            away.rename(spool)
    assert running.returncode == 0, printed
    assert counts(tmp_path / "out") == {"measured": 1}


@pytest.fixture
def extra_node(cluster: str, tmp_path: Path) -> Iterator[int]:
    """A fourth Ray node; its process id."""
    ray = str(Path(sys.executable).parent / "ray")
    sizes = ["--num-cpus=16", "--num-gpus=0", "--memory=64000000000"]
    host = os.environ["RAY_ADDRESS"].rpartition(":")[0]
    flags = ["--object-store-memory=100000000", f"--node-ip-address={host}", "--block"]
    with (tmp_path / "node.log").open("w") as log:
        node = subprocess.Popen(
            [ray, "start", f"--address={os.environ['RAY_ADDRESS']}", *sizes, *flags],
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=environment(tmp_path),
        )
    wait_for(lambda: "runtime started" in (tmp_path / "node.log").read_text(), PATIENCE)
    yield node.pid
    node.kill()
    node.wait()


def below(pid: int) -> list[int]:
    """A process and all that it started."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
    )
    return [pid, *(each for child in listed.stdout.split() for each in below(int(child)))]


@pytest.mark.parametrize("cluster", [pytest.param("ray", marks=pytest.mark.ray)], indirect=True)
def test_a_lost_nodes_trials_continue_elsewhere(
    cluster: str, extra_node: int, tmp_path: Path
) -> None:
    trials, calls = 8, 14
    file = lay_out_on(cluster, tmp_path, trials=trials, how={"calls": calls})
    slow = once_all_began(trials, lambda request: Answer("7", hang=0.5))
    with chat_server(slow) as server:
        with start(file, server.base_url, "--workers", "8") as running:
            wait_for(lambda: len(server.requests) >= 2 * trials, PATIENCE)
            lost = below(extra_node)
            for pid in lost:
                os.kill(pid, signal.SIGKILL)
            printed, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode == 0, printed
        made = asked(server)
    assert len(made) == trials * calls
    assert sum(made.values()) <= len(made) + trials  # at most the calls under way
    assert counts(tmp_path / "out") == {"measured": trials}
