"""What several machines share: leases, the budget's ledger, folders that travel, jobs."""

import io
import json
import math
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, chat_server
from pydantic import ValidationError
from suite_world import asked, environment, lay_out, run

from autoreproduce.errors import BudgetError, TrialError, UsageError
from autoreproduce.files.lease import Lease, hold
from autoreproduce.job import Job
from autoreproduce.models.budget import Budget, Cost
from autoreproduce.plugins.suites.clusters import ray_task, travelling
from autoreproduce.plugins.suites.clusters.ray_keeper import Keeper
from autoreproduce.plugins.suites.clusters.ray_task import STAY
from autoreproduce.plugins.suites.clusters.travelling import TravellingFolder, spooled
from autoreproduce.plugins.suites.finished_trials import EndedTrial
from autoreproduce.plugins.suites.job import read_job, suite_trial
from autoreproduce.plugins.suites.ledger import GrantedBudget, Ledger
from autoreproduce.plugins.suites.plan import Plan
from autoreproduce.plugins.suites.progress import Running, read_running
from autoreproduce.plugins.suites.suite_file import read_suite
from autoreproduce.plugins.suites.work import Worker, with_gpus
from autoreproduce.runner.settings import settings_here
from autoreproduce.trials.live import LiveRecord
from autoreproduce.trials.steps import ExecutionResult, ModelResult, Step


def add_one(path: str, times: int) -> None:
    """Read, change and write a number under a lease, in a process of its own."""
    number = Path(path)
    for _ in range(times):
        with Lease(number.with_name("lease"), beat=0):
            number.write_text(str(int(number.read_text()) + 1))


@pytest.mark.slow
def test_a_lease_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    number = tmp_path / "number"
    number.write_text("0")
    spawn = multiprocessing.get_context("fork")
    processes = [spawn.Process(target=add_one, args=(str(number), 25)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert number.read_text() == "100"
    assert [path.name for path in tmp_path.iterdir()] == ["number"]


def test_a_lease_of_a_process_that_was_killed_is_free_at_once(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from autoreproduce.files.lease import Lease\n"
        "Lease(Path(sys.argv[1])).acquire(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "lease")])
    assert (tmp_path / "lease").exists()
    began = time.monotonic()
    assert Lease(tmp_path / "lease").acquire(5)
    assert time.monotonic() - began < 2


@pytest.mark.slow
def test_a_lease_of_another_machine_is_taken_once_it_is_silent(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    path.write_text("another-machine/1/2/3\nmine\n")
    assert not Lease(path, patience=0.5).acquire(0.2)
    waiting = Lease(path, patience=0.5)
    beats = threading.Thread(target=lambda: [(time.sleep(0.2), os.utime(path)) for _ in range(4)])
    beats.start()
    assert not waiting.acquire(0.7)  # as long as it is touched it is held
    beats.join()
    assert waiting.acquire(3)


def test_who_lost_a_lease_learns_it_and_does_not_take_the_new_holders(tmp_path: Path) -> None:
    lease = hold(tmp_path / "lease", 0)
    lease.release()
    lease = Lease(tmp_path / "lease", beat=0.05)
    assert lease.acquire(0)
    (tmp_path / "lease").write_text("another-machine/1/2/3\nmine\n")
    time.sleep(0.3)
    assert lease.lost
    lease.release()
    assert (tmp_path / "lease").exists()


def begun(folder: Path, limit: str, spent: int = 0) -> Ledger:
    """A ledger with a limit."""
    budget = Budget.parse(limit)
    budget.spend(Cost(spent, calls=0))
    ledger = Ledger(folder)
    ledger.begin(budget, [], lambda key: Cost())
    return ledger


@pytest.mark.slow
def test_all_workers_together_stay_within_the_limit(tmp_path: Path) -> None:
    """Twelve trials with budgets of their own spend as fast as they can."""
    ledger = begun(tmp_path, "2000 tokens")

    def work(name: str) -> None:
        budget = GrantedBudget(Ledger(tmp_path), name, Cost(), threading.Event())
        try:
            while True:
                budget.reserve(Cost(50)).settle(Cost(37))
        except BudgetError:
            budget.leave()

    threads = [threading.Thread(target=work, args=(str(n),)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = ledger.read()
    assert 2000 - 50 < state.tokens <= 2000
    assert state.open == {}


@pytest.mark.slow
def test_all_workers_together_stay_within_a_limit_of_calls(tmp_path: Path) -> None:
    ledger, made = begun(tmp_path, "40 calls"), []

    def work(name: str) -> None:
        journal = Cost(calls=0)
        budget = GrantedBudget(Ledger(tmp_path), name, journal, threading.Event())
        try:
            while True:
                with budget.reserve(Cost(50)) as held:
                    if len(made) % 7:  # a call that fails is none
                        held.settle(Cost(37))
                    made.append(name)
        except BudgetError as error:
            assert "suite's budget of 40 calls" in str(error)
            budget.leave()

    threads = [threading.Thread(target=work, args=(str(n),)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = ledger.read()
    assert (state.unit, state.calls, state.open) == ("calls", 40, {})
    assert state.tokens == 40 * 37 and state.budget().spent_calls == 40


def test_the_calls_of_a_killed_worker_are_counted_when_its_trial_goes_on(tmp_path: Path) -> None:
    ledger = begun(tmp_path, "100 calls")
    killed = GrantedBudget(ledger, "a", Cost(calls=0), threading.Event())
    killed.reserve(Cost(60)).settle(Cost(60))
    assert ledger.read().calls == 0 and ledger.read().open["a"].held >= 1
    again = GrantedBudget(ledger, "a", Cost(60, calls=1), threading.Event())
    assert ledger.read().calls == 1
    for _ in range(99):
        again.reserve(Cost(60)).settle(Cost(60))
    with pytest.raises(BudgetError, match=r"100 calls \(100 calls spent\)"):
        again.reserve(Cost(60))
    again.leave()
    assert ledger.read().calls == 100


def test_a_grant_covers_several_calls_while_much_is_left(tmp_path: Path) -> None:
    ledger = begun(tmp_path, "1000000 tokens")
    asked_for = []

    class Counting(Ledger):
        def refill(self, *given):
            asked_for.append(given)
            return super().refill(*given)

    budget = GrantedBudget(Counting(tmp_path), "a", Cost(), threading.Event())
    for _ in range(40):
        budget.reserve(Cost(100)).settle(Cost(100))
    assert len(asked_for) == 10
    budget.leave()
    assert ledger.read().tokens == 4000


@pytest.mark.parametrize(
    "wrong", ["-1", "-1e9", "NaN", "-Infinity", "1e400", '"x"', "1" + "0" * 30]
)
@pytest.mark.parametrize("field", ["tokens", "dollars", "held", "open tokens", "open dollars"])
def test_no_forged_ledger_makes_a_budget_grow(tmp_path: Path, field: str, wrong: str) -> None:
    ledger = begun(tmp_path, "1000 tokens")
    ledger.enter("a", Cost())
    state = json.loads((tmp_path / "ledger.json").read_text())
    (state if field in state else state["open"]["a"])[field.removeprefix("open ")] = "FORGED"
    forged = json.dumps(state).replace('"FORGED"', wrong)
    (tmp_path / "ledger.json").write_text(forged)
    with pytest.raises(TrialError, match=r"ledger.json cannot be read"):
        ledger.refill("a", Cost(), 0, 10)
    ledger.begin(Budget(limit_tokens=1000), [], lambda key: Cost())  # it is made again
    assert ledger.read().tokens == 0


@pytest.mark.parametrize("wrong", [{"limit": -1}, {"limit": math.nan}, {"unit": "none"}])
def test_a_ledger_has_a_limit_of_tokens_or_dollars(tmp_path: Path, wrong: dict[str, Any]) -> None:
    (tmp_path / "ledger.json").write_text(json.dumps(wrong))
    with pytest.raises(TrialError, match=r"ledger.json cannot be read"):
        Ledger(tmp_path).enter("a", Cost())


@pytest.mark.parametrize("wrong", [-5.0, math.nan, math.inf, 1e30])
def test_no_forged_price_or_end_makes_a_budget_grow(tmp_path: Path, wrong: float) -> None:
    with pytest.raises(ValidationError):
        ModelResult(reply="", price=wrong)
    for name in ("cost", "tokens", "seconds"):
        with pytest.raises(ValidationError):
            EndedTrial.model_validate_json(json.dumps({"status": "stopped", name: wrong}))


def test_what_a_killed_worker_spent_is_counted_when_its_trial_goes_on(tmp_path: Path) -> None:
    ledger = begun(tmp_path, "100000 tokens", spent=100)
    killed = GrantedBudget(ledger, "a", Cost(100), threading.Event())
    killed.reserve(Cost(60)).settle(Cost(60))  # its journal says so, the ledger does not know
    assert ledger.read().tokens == 100
    assert ledger.read().open["a"].held >= 60
    again = GrantedBudget(ledger, "a", Cost(160), threading.Event())
    assert ledger.read().tokens == 160
    again.leave()
    ledger.begin(Budget(limit_tokens=500, spent_tokens=160), [], lambda key: Cost())
    assert (ledger.read().tokens, ledger.read().limit, ledger.read().open) == (160, 500.0, {})


def test_a_call_waits_for_what_another_machine_holds(tmp_path: Path) -> None:
    ledger = begun(tmp_path, "100 tokens")
    first = GrantedBudget(ledger, "a", Cost(), threading.Event())
    second = GrantedBudget(ledger, "b", Cost(), threading.Event())
    held = first.reserve(Cost(80))
    threading.Timer(0.3, lambda: held.settle(Cost(10))).start()
    second.reserve(Cost(60)).settle(Cost(60))
    assert ledger.read().tokens == 70
    with pytest.raises(BudgetError, match=r"100 tokens \(70 tokens spent\)"):
        second.reserve(Cost(60))
    stop = threading.Event()
    third = GrantedBudget(ledger, "c", Cost(), stop)
    first.reserve(Cost(30))
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        third.reserve(Cost(30))


def test_where_a_trial_stands_is_read_from_what_it_wrote_of_itself(tmp_path: Path) -> None:
    live = LiveRecord(tmp_path)
    live.phase("literature_review")
    call = ModelResult(reply="7", model="m", finish="stop")
    for number, result in enumerate((call, call, ExecutionResult(command="x", exit_code=0))):
        given = {"index": number, "phase": "p", "role": "code", "name": "n", "digest": "d"}
        live.step(Step(**given, at="2026", seconds=1.0, result=result), replayed=False)
    running = Running(0.0)
    read_running(tmp_path, running)
    assert (running.phase, running.calls, running.runs) == ("literature_review", 2, 1)
    (tmp_path / "live.json").write_text('{"calls": "many"}')
    read_running(tmp_path, running)  # what can't be read changes nothing
    assert running.calls == 2
    assert not (tmp_path / "running.json").exists()


def test_a_folder_travels_and_then_only_what_changed(tmp_path: Path) -> None:
    here = tmp_path / "here"
    (here / "workspace").mkdir(parents=True)
    (here / "workspace/a.py").write_text("a" * 100_000)
    (here / "steps.jsonl").write_text("1\n")
    (here / ".lock").write_text("")
    (here / "workspace/link").symlink_to("/etc/passwd")
    os.mkfifo(here / "workspace/pipe")
    sending = TravellingFolder(here, skip=(".lock",), last="steps.jsonl")
    there = TravellingFolder(tmp_path / "there", skip=(".lock",), last="steps.jsonl")
    there.unpack(io.BytesIO(b"".join(sending.pack())))
    (tmp_path / "there/.lock").write_text("its own")
    assert sorted(p.name for p in (tmp_path / "there").rglob("*")) == [
        ".lock",
        "a.py",
        "steps.jsonl",
        "workspace",
    ]
    (here / "workspace/b.py").write_text("b")
    (here / "workspace/a.py").unlink()
    small = b"".join(sending.pack())
    assert len(small) < 200
    there.unpack(io.BytesIO(small))
    assert (tmp_path / "there/workspace/b.py").read_text() == "b"
    assert not (tmp_path / "there/workspace/a.py").exists()
    assert (tmp_path / "there/.lock").read_text() == "its own"


def test_a_program_s_files_travel_whatever_their_names(tmp_path: Path) -> None:
    """Only the trial's own files of these names stay behind."""
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "workspace/deep").mkdir(parents=True)
    for folder in (here, here / "workspace", here / "workspace/deep"):
        for name in (*STAY, "\udcff"):
            (folder / name).write_text(folder.name)
    for name in ("steps.jsonl", "workspace/empty"):
        (here / name).touch()
    (here / "workspace/deep/job.json").chmod(0o755)
    packed = io.BytesIO(b"".join(TravellingFolder(here, skip=STAY, last="steps.jsonl").pack()))
    TravellingFolder(there, skip=STAY, last="steps.jsonl").unpack(packed)
    found = {str(path.relative_to(there)) for path in there.rglob("*") if path.is_file()}
    below = {f"{top}/{name}" for top in ("workspace", "workspace/deep") for name in STAY}
    names = {"\udcff", "workspace/\udcff", "workspace/deep/\udcff", "workspace/empty"}
    assert found == {*below, *names, "steps.jsonl"}
    assert (there / "workspace/deep/job.json").read_text() == "deep"
    assert (there / "workspace/deep/job.json").stat().st_mode & 0o777 == 0o755


class Near:
    """A keeper that is asked in this process."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper

    def ask(self, method: str, *given: Any) -> Any:
        return getattr(self.keeper, method)(*given)


def test_a_keeper_and_a_task_exchange_a_folder_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(travelling, "PART", 1000)
    kept, here = tmp_path / "suite/trials/t/v/1", tmp_path / "node"
    (kept / "workspace").mkdir(parents=True)
    (kept / "workspace/a").write_text("a" * 5000)
    (kept / "job.json").write_text("ours")
    keeper = Keeper(str(tmp_path / "suite"), "k", "n", {})
    folder = TravellingFolder(here, skip=STAY, last="steps.jsonl")

    def begin() -> int:
        number = keeper.start("t/v/1")
        with spooled(iter(lambda: keeper.next_part("t/v/1", number), b"")) as archive:
            folder.unpack(archive)
        return number

    synced = ray_task._synced(Near(keeper), "t/v/1", begin(), folder)  # type: ignore[arg-type]
    assert (here / "workspace/a").read_text() == "a" * 5000 and not (here / "job.json").exists()
    (here / "workspace/job.json").write_text("theirs" * 1000)
    (here / "steps.jsonl").write_text("1")
    (here / "workspace/a").unlink()
    synced()
    synced()
    assert not (kept / "workspace/a").exists() and (kept / "steps.jsonl").read_text() == "1"
    assert (kept / "workspace/job.json").read_text() == "theirs" * 1000
    assert (kept / "job.json").read_text() == "ours"
    with pytest.raises(ValueError, match="a part"):
        keeper.sync("t/v/1", 1, 0, b"1") and keeper.sync("t/v/1", 1, 7, b"1")
    assert begin() == 2
    with pytest.raises(TrialError, match="was started on another node"):
        synced()
    assert keeper.next_part("t/v/1", 1) == b""


LARGE = """
import resource, sys
from pathlib import Path
from autoreproduce.plugins.suites.clusters.travelling import TravellingFolder, spooled
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
here, there = TravellingFolder(Path(sys.argv[1])), TravellingFolder(Path(sys.argv[2]))
before = peak()
with spooled(here.pack(whole=True)) as file:
    there.unpack(file)
print(peak() - before)
"""


@pytest.mark.slow
def test_a_large_file_travels_in_little_memory(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with (tmp_path / "here/sparse").open("wb") as file:
        file.truncate(300 * 2**20)
    asked = [sys.executable, "-c", LARGE, str(tmp_path / "here"), str(tmp_path / "there")]
    grown = int(subprocess.run(asked, check=True, capture_output=True).stdout)
    assert grown < 64 * 2**10  # kB
    there = (tmp_path / "there/sparse").stat()
    assert there.st_size == 300 * 2**20 and there.st_blocks < 100  # nor does it take room


def test_an_archive_writes_through_no_link(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "workspace").mkdir(parents=True)
    (here / "workspace/x").write_text("new")
    there.mkdir()
    (tmp_path / "outside").mkdir()
    (there / "workspace").symlink_to(tmp_path / "outside")
    TravellingFolder(there).unpack(io.BytesIO(b"".join(TravellingFolder(here).pack())))
    assert list((tmp_path / "outside").iterdir()) == []
    assert (there / "workspace/x").read_text() == "new"


def job_in(folder: Path) -> Job:
    """The job of the one trial of a suite that was run here."""
    return read_job(folder / "out/trials/one/default/1/job.json", trust=True)


def test_a_trial_of_a_suite_runs_by_hand_and_holds_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOREPRODUCE_API_KEY", "key-51")
    file = lay_out(tmp_path)
    with chat_server([Answer("7"), Answer(status=401)]) as server:
        url = server.base_url.replace("//", "//me:pa55word@")
        assert run(file, url).exit_code == 4
    text = (tmp_path / "out/trials/one/default/1/job.json").read_text()
    assert "pa55word" not in text and "key-51" not in text
    with chat_server(lambda request: "7") as server:
        with pytest.raises(UsageError, match="set AUTOREPRODUCE_BASE_URL"):
            settings_here(job_in(tmp_path))
        monkeypatch.setenv("AUTOREPRODUCE_BASE_URL", server.base_url)
        ended = Worker(job_in(tmp_path), note=lambda text: None).run()
        assert (ended.status, len(server.requests)) == ("measured", 2)  # the first call was kept
        assert Worker(job_in(tmp_path), note=lambda text: None).run().status == "measured"
        assert len(server.requests) == 2


@pytest.mark.slow
def test_two_workers_of_one_trial_do_not_run_it_twice(tmp_path: Path) -> None:
    file = lay_out(tmp_path, how={"calls": 4})
    with chat_server([Answer(status=401)]) as server:
        run(file, server.base_url)
    job = job_in(tmp_path)
    with chat_server(lambda request: Answer("7", hang=0.3)) as server:
        job = job.having(settings=job.settings.having(base_url=server.base_url))
        path = tmp_path / "job.json"
        path.write_text(job.model_dump_json())
        command = [sys.executable, "-m", "autoreproduce", "work", str(path), "--trust"]
        workers = [
            subprocess.Popen(command, env=environment(tmp_path), cwd=tmp_path) for _ in range(3)
        ]
        assert [worker.wait(100) for worker in workers] == [0, 0, 0]
        assert set(asked(server).values()) == {1} and len(server.requests) == 4


@pytest.mark.parametrize(
    ("text", "said"), [("{}", "no section suites"), ("x", "no JSON"), ('{"number": "x"}', "number")]
)
def test_what_is_no_job_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "job.json").write_text(text)
    with pytest.raises(UsageError, match=said):
        read_job(tmp_path / "job.json")
    with pytest.raises(UsageError, match="does not exist"):
        read_job(tmp_path / "none.json")


def test_needs_come_from_the_settings_and_gpus_from_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autoreproduce.plugins.suites.job import job_of

    file = lay_out(tmp_path, settings={"gpus": "all", "cpus": 1.5, "memory_gb": 3, "max_debug": 1})
    plan = Plan(read_suite(file))
    plan.choose()
    job = job_of(plan, plan.trials[0], tmp_path / "out", "", None)
    assert suite_trial(job).needs.model_dump() == {
        "cpus": 2,
        "memory_gb": 4.0,
        "gpus": 1.0,
        "minutes": 138,
        "sandbox": "process",
    }
    read = Job.model_validate(json.loads(job.model_dump_json()))
    assert read.model_dump_json() == job.model_dump_json()
    monkeypatch.setenv("SLURM_JOB_GPUS", "3")
    machine = with_gpus(job, ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS"), threading.Event())
    with machine(settings_here(job)) as found:
        assert found.sandbox.gpus == "3"


@pytest.mark.slow
def test_a_trial_by_hand_leases_a_gpu_and_has_the_suites_budget(tmp_path: Path) -> None:
    """The suite's own run spent the budget of its folder, or holds its GPU."""
    how = {"calls": 2, "command": "echo gpu=$CUDA_VISIBLE_DEVICES"}
    file = lay_out(tmp_path, how=how, settings={"gpus": "0,1"})
    with chat_server([Answer("7")]) as server:
        assert run(file, server.base_url, budget="150 tokens").why == "budget"
    job, stop = job_in(tmp_path), threading.Event()
    with chat_server(lambda request: "7") as server:
        job = job.having(settings=job.settings.having(base_url=server.base_url))
        ended = Worker(job, note=lambda text: None).run()
        assert (ended.status, ended.kind) == ("stopped", BudgetError.kind)
        assert server.requests == []
    settings = job.settings
    with with_gpus(job, (), stop)(settings) as one, with_gpus(job, (), stop)(settings) as other:
        assert {one.sandbox.gpus, other.sandbox.gpus} == {"0", "1"}
