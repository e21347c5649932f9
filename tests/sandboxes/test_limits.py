"""Programs that misbehave, for real, in each sandbox: stopped in time, the reason named, nothing
left running.
"""

import os
import sys
import time
from pathlib import Path

import pytest
from sandbox_fixtures import Make
from sandbox_helpers import ALL, POLLING, living, wait_until

from autoreproduce import Sandbox, Stopped

GRACE = 5.0
EATER = (
    "import time;held=[]\nfor _ in range(40): held.append(bytearray(b'x'*(50<<20)));time.sleep(.05)"
)


def stopped(
    sandbox: Sandbox, command: str, token: str, timeout: float = 20.0
) -> tuple[Stopped, str, str, float]:
    """Run a program that is to be stopped; checks what holds for each of them, and that the next
    command works.
    """
    began = time.monotonic()
    done = sandbox.execute(f": {token}; {command}", timeout)
    took = time.monotonic() - began
    assert took < timeout + GRACE
    assert living(token) == []
    assert not done.ok and done.exit_code != 0
    assert "[stopped: " in done.stderr.splitlines()[-1]
    after = sandbox.execute("echo fine", 10)
    assert (after.exit_code, after.stdout, after.stopped) == (0, "fine\n", "")
    return done.stopped, done.stdout, done.stderr, took


@pytest.fixture(params=[*ALL, *POLLING])
def sandbox(request: pytest.FixtureRequest, make: Make) -> Sandbox:
    return make(request.param)


@pytest.mark.slow
def test_hung_and_deaf_with_a_daemon(sandbox: Sandbox, token: str) -> None:
    code = "import signal,time;[signal.signal(s,signal.SIG_IGN) for s in (1,2,3,15)];print(1,flush=True);time.sleep(600)"
    daemon = f"setsid nohup bash -c 'sleep 600; : {token}' >/dev/null 2>&1"
    command = f"{daemon} & echo begun; echo grumbling >&2; python -c '{code}' {token}"
    reason, out, err, took = stopped(sandbox, command, token, timeout=2)
    assert reason == "timeout" and out == "begun\n1\n" and err.startswith("grumbling\n")
    assert took < 2 + GRACE


def test_fork_bomb(sandbox: Sandbox, token: str, request: pytest.FixtureRequest) -> None:
    if os.getuid() == 0 and "polling" in request.node.name:
        pytest.skip(
            "the kernel limits no number of processes for root but by cgroups, which root can make"
        )
    reason, out, _, _ = stopped(
        sandbox, f"echo begun; f() {{ f | f & }}; f; sleep 30; : {token}", token, timeout=15
    )
    assert reason == "processes" and out.startswith("begun\n")


def test_threads_count_as_processes(sandbox: Sandbox, token: str) -> None:
    code = "import threading,time\nfor _ in range(300): threading.Thread(target=time.sleep,args=(60,)).start()"
    reason, _, _, _ = stopped(sandbox, f"python -c '{code}' {token}", token)
    assert reason == "processes"


@pytest.mark.slow
def test_memory_eater_in_a_child(sandbox: Sandbox, token: str) -> None:
    command = f'(python -c "print(1);{EATER}" {token}); echo survived; sleep 30'
    reason, out, _, _ = stopped(sandbox, command, token)
    assert reason == "memory" and out.startswith("1\n")


def test_output_flood_keeps_head_and_tail(sandbox: Sandbox, token: str) -> None:
    heard = [0]
    began = time.monotonic()
    command = f"echo the head; echo a word >&2; yes {token} | head -c 1G; echo the end"
    done = sandbox.execute(
        command, 30, on_output=lambda text: heard.__setitem__(0, heard[0] + len(text))
    )
    assert time.monotonic() - began < 30 + GRACE
    assert done.stopped == "output" and done.exit_code != 0 and living(token) == []
    assert done.stdout.startswith("the head\n") and "bytes are missing here" in done.stdout
    assert token in done.stdout.splitlines()[-2] and len(done.stdout) < 10_000
    assert done.stderr.startswith("a word\n") and "more than its 200 MB" in done.stderr
    assert 100 << 20 < heard[0] < 220 << 20
    assert sandbox.execute("echo fine", 10).stdout == "fine\n"


def test_daemon_is_ended_with_its_command(sandbox: Sandbox, token: str) -> None:
    code = (
        "import os,time\n"
        "if os.fork()==0:\n"
        " os.setsid()\n"
        " if os.fork()==0:\n"
        "  os.environ.clear(); open('pid','w').write('x'); time.sleep(600)\n"
        " os._exit(0)\n"
        "while not os.path.exists('pid'): time.sleep(.01)\n"
        "print('parent ends')"
    )
    began = time.monotonic()
    done = sandbox.execute(f'python -c "{code}" {token}', 20)
    assert time.monotonic() - began < 10
    assert done.ok and done.stdout == "parent ends\n"
    assert sandbox.read("pid") == b"x"
    assert living(token) == []
    assert sandbox.execute("echo fine", 10).stdout == "fine\n"


@pytest.mark.slow
def test_one_large_file(sandbox: Sandbox, token: str) -> None:
    reason, _, err, _ = stopped(
        sandbox, f"head -c 1G /dev/zero > large; sleep 30; : {token}", token
    )
    assert reason == "disk" and "large (" in err
    with pytest.raises(FileNotFoundError):
        sandbox.read("large")  # what it wrote is removed: it would stop every later program


@pytest.mark.slow
def test_many_files(sandbox: Sandbox, token: str) -> None:
    sandbox.write("kept.py", b"print(1)")
    time.sleep(0.2)
    command = f"for i in $(seq 2000); do head -c 8M /dev/zero > f$i; sleep 0.05; done; : {token}"
    assert stopped(sandbox, command, token)[0] == "disk"
    assert sandbox.read("kept.py") == b"print(1)"


def test_temporary_files_are_limited(isolating: Sandbox, token: str) -> None:
    done = isolating.execute(
        f"head -c 2G /dev/zero > /tmp/x; : {token}; ls -l /tmp/x | cut -d' ' -f5", 20
    )
    assert done.stopped or int(done.stdout.split()[-1]) < 600 << 20


def test_killed_by_itself(sandbox: Sandbox) -> None:
    done = sandbox.execute("echo before; kill -9 $$", 10)
    assert done.stdout == "before\n" and done.stopped == "killed" and done.exit_code == 137


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_closed_output_is_waited_for(sandbox: Sandbox, tmp_path: Path) -> None:
    done = sandbox.execute("exec >&- 2>&-; sleep 0.5; touch done; exit 4", 10)
    assert done.exit_code == 4 and sandbox.read("done") == b""


def test_a_listener_that_fails_leaves_nothing(sandbox: Sandbox, token: str) -> None:
    def fail(text: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sandbox.execute(f"echo one; sleep 600; : {token}", 20, on_output=fail)
    assert wait_until(lambda: not living(token), 5)
    assert sandbox.execute("echo fine", 10).stdout == "fine\n"
