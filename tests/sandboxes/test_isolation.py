"""What programs in a sandbox can see and reach, and what the sandbox does with files and output."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from sandbox_helpers import ALL, BUILD, living, wait_until

from autoreproduce import Sandbox
from autoreproduce.errors import SandboxError

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("OPENAI_API_KEY", "AUTOREPRODUCE_API_KEY", "GITHUB_TOKEN", "SOMETHING"):
        monkeypatch.setenv(name, SECRET)
    return SECRET


def test_environment_is_ours_alone(secret: str, sandbox: Sandbox) -> None:
    lines = dict(line.split("=", 1) for line in sandbox.execute("env", 10).stdout.splitlines())
    assert secret not in lines.values()
    given = {
        "PATH",
        "HOME",
        "TMPDIR",
        "USER",
        "LOGNAME",
        "LANG",
        "PYTHONPATH",
        "PYTHONUNBUFFERED",
        "DATA_DIR",
    }
    given |= {
        "PYTHONDONTWRITEBYTECODE",
        "MPLBACKEND",
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
    }
    of_tools = {
        "OMP_WAIT_POLICY",
        "NUMEXPR_NUM_THREADS",
        "CUDA_VISIBLE_DEVICES",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "HOSTNAME",
    }
    assert given <= set(lines) <= given | of_tools
    assert lines["OMP_NUM_THREADS"] == "1" and lines["PYTHONUNBUFFERED"] == "1"
    assert sandbox.execute("cat $DATA_DIR/train.txt; ls -A $HOME", 10).stdout == "some data"


def test_no_secret_in_any_process(secret: str, isolating: Sandbox) -> None:
    done = isolating.execute("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline", 10)
    assert "OMP_NUM_THREADS" in done.stdout and secret not in done.stdout
    assert str(Path.home()) not in done.stdout.replace(sys.base_prefix, "").replace(sys.prefix, "")


def test_home_and_engine_are_not_there(isolating: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "beside").write_text("private")
    sockets = (
        "/var/run/docker.sock /run/docker.sock /run/containerd/containerd.sock /run/dbus /run/user"
    )
    done = isolating.execute(
        f"ls -d {tmp_path}/beside {__file__} {sockets} /etc/shadow.x /root/.ssh", 10
    )
    assert done.stdout == "" and done.exit_code != 0
    home = set(isolating.execute(f"ls -A {Path.home()}", 10).stdout.split())
    prefixes = [Path(prefix) for prefix in (sys.prefix, sys.base_prefix)]
    seen = {
        prefix.relative_to(Path.home()).parts[0]
        for prefix in prefixes
        if prefix.is_relative_to(Path.home())
    }
    skeleton = (
        {".bashrc", ".profile", ".cache"} if isolating.name == "docker" else set()
    )  # the image's own
    assert home <= seen | skeleton


def test_nothing_but_the_workspace_can_be_written(isolating: Sandbox) -> None:
    places = "/usr /etc /bin /data /packages / /sys /proc/sys/kernel /run /root"
    places += (
        " /dev" if isolating.name == "bubblewrap" else ""
    )  # Docker's /dev is a small file system in memory
    done = isolating.execute(
        f"for f in {places}; do touch $f/x 2>/dev/null && echo $f; done; touch x /tmp/x $HOME/x", 10
    )
    assert done.ok and done.stdout == ""


OPENED = """
import os, stat
OWN = "self", "thread-self", "pressure"  # a program's own, and a watch that ends with its open file
for folder, folders, files in os.walk("/proc"):
    folders[:] = [name for name in folders if not (folder == "/proc" and (name.isdigit() or name in OWN))]
    for name in files:
        try:
            handle = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_NONBLOCK)
            kind = os.fstat(handle).st_mode
            os.close(handle)
        except OSError:
            continue
        if not stat.S_ISCHR(kind):  # what Docker hides is /dev/null there
            print(os.path.join(folder, name))
"""


def test_no_setting_of_the_kernel_can_be_written(isolating: Sandbox) -> None:
    """Root without a capability may write most of /proc/sys, core_pattern among it, which runs
    programs outside.
    """
    isolating.write("look.py", OPENED.encode())
    done = isolating.execute("python look.py", 30)  # opened for writing, and nothing written
    assert done.ok and done.stdout == ""


def test_no_privilege(isolating: Sandbox) -> None:
    status = isolating.execute("cat /proc/self/status", 10).stdout
    values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {values[name].strip("0") for name in ("CapPrm", "CapEff", "CapBnd", "CapInh")} == {""}
    assert values["NoNewPrivs"] == "1"
    assert (
        isolating.execute("mount -t tmpfs none /tmp || chown 12345 /workspace", 10).exit_code != 0
    )
    assert values["Seccomp"] == "2"
    assert isolating.execute("unshare -U true", 10).exit_code != 0


def test_files_are_the_callers(sandbox: Sandbox, tmp_path: Path) -> None:
    assert sandbox.execute("echo 1 > made; mkdir folder", 10).ok
    for name in ("made", "folder"):
        assert (tmp_path / "workspace" / name).stat().st_uid == os.getuid()


CONNECT = "import socket;socket.create_connection(('{}',{}),3);print('reached')"


def test_no_network(isolating: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for host in ("127.0.0.1", "172.17.0.1", "192.0.2.1"):
            done = isolating.execute(f'python -c "{CONNECT.format(host, port)}"', 10)
            assert done.exit_code != 0 and not done.stopped and "reached" not in done.stdout
    assert isolating.execute("cat /proc/net/route | wc -l", 10).stdout.strip() == "1"  # the heading


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/passwd", "a/../../outside", ".", "", "/workspace"]
)
def test_read_and_write_refuse_to_leave(make, tmp_path: Path, path: str) -> None:
    sandbox = make("process")
    (tmp_path / "outside").write_text("private")
    with pytest.raises(SandboxError):
        sandbox.read(path)
    with pytest.raises(SandboxError):
        sandbox.write(path, b"changed")
    assert (tmp_path / "outside").read_text() == "private"


@pytest.mark.parametrize("path", ["link", "folder/file", "loop"])
def test_links_are_not_read_and_give_way_to_what_is_written(
    make, tmp_path: Path, path: str
) -> None:
    sandbox = make("process")
    (tmp_path / "outside").write_text("private")
    (tmp_path / "workspace" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "workspace" / "folder").symlink_to(tmp_path)
    (tmp_path / "workspace" / "loop").symlink_to("loop")
    with pytest.raises(SandboxError):
        sandbox.read(path)
    sandbox.write(path, b"changed")
    assert sandbox.read(path) == b"changed"
    assert (tmp_path / "outside").read_text() == "private" and not (tmp_path / "file").exists()


def test_links_made_by_programs_do_not_lead_out(isolating: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("private")
    assert isolating.execute(
        f"ln -s {tmp_path}/outside one; ln -s ../outside two; mkfifo pipe; mkdir folder", 10
    ).ok
    names = ("one", "two", "pipe", "folder")
    for name in names:
        with pytest.raises(SandboxError):
            isolating.read(name)
        isolating.write(name, b"changed")
    assert isolating.execute(f"cat {' '.join(names)}", 10).stdout == "changed" * 4
    assert (tmp_path / "outside").read_text() == "private"


def test_read_write_and_what_programs_see(sandbox: Sandbox) -> None:
    sandbox.write("deep/folder/x.py", b"print('hello')")
    assert sandbox.execute("python deep/folder/x.py > out.txt", 20).ok
    assert sandbox.read("out.txt") == sandbox.read("/workspace/out.txt") == b"hello\n"
    with pytest.raises(FileNotFoundError):
        sandbox.read("missing.txt")


def test_exit_code_decides(sandbox: Sandbox) -> None:
    loud = sandbox.execute("echo 'Traceback: Error!' >&2", 10)
    assert (
        loud.ok and loud.stderr == "Traceback: Error!\n" and loud.command.startswith("echo 'Trace")
    )
    failed = sandbox.execute("echo all went well; exit 3", 10)
    assert not failed.ok and (failed.exit_code, failed.stopped, failed.stdout) == (
        3,
        "",
        "all went well\n",
    )
    assert sandbox.execute("no-such-program", 10).exit_code == 127
    assert sandbox.execute("kill -TERM $$", 10).exit_code == 143


@pytest.mark.parametrize("command", ["echo a\0b", "echo " + "x" * 131_072])
def test_a_command_that_no_kernel_takes_is_the_writers_failure(
    sandbox: Sandbox, command: str
) -> None:
    done = sandbox.execute(command, 10)
    assert done.exit_code in (1, 126) and not done.ok and done.stderr
    assert sandbox.execute("echo on", 10).stdout == "on\n"


@pytest.mark.slow
def test_output_comes_as_it_is_printed(sandbox: Sandbox, token: str) -> None:
    seen: list[tuple[str, bool]] = []
    command = f"echo é one; sleep 0.7; echo two >&2; sleep 0.7; printf '\\xff'; : {token}"
    done = sandbox.execute(
        command, 20, on_output=lambda text: seen.append((text, bool(living(token))))
    )
    assert done.ok and done.stdout == "é one\n\ufffd"
    seen = [(text, alive) for text, alive in seen if text]  # "" says that it runs on
    assert [text for text, _ in seen] == ["é one\n", "two\n", "\ufffd"]
    assert [alive for _, alive in seen[:2]] == [True, True]  # so `living` does find what runs


@pytest.mark.parametrize("kind", ALL)
def test_side_by_side_with_one_label(make, kind: str) -> None:
    first, second = make(kind), make(kind)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(first.execute, "sleep 0.5; echo one", 20)
        two = pool.submit(second.execute, "sleep 0.5; echo two", 20)
    assert (one.result().stdout, two.result().stdout) == ("one\n", "two\n")
    second.close()
    assert first.execute("echo still", 10).stdout == "still\n"


KILLED = """
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
sys.path[:0] = {path!r}
from sandbox_fixtures import _open, settings_for
folder = Path({folder!r})
folders = dict(data_dir=None, packages=folder / "packages")
sandbox = _open({kind!r}, settings_for({kind!r}), folder / "workspace", folders, "killed")
sandbox.execute("echo ready; sleep 600; : {token}", 600, on_output=lambda text: text and print(text, flush=True))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bubblewrap", "process", "process-polling"])
def test_nothing_outlives_a_killed_caller(make, kind: str, token: str, tmp_path: Path) -> None:
    make(kind).close()
    with killed_caller(kind, token, tmp_path) as left:
        assert wait_until(lambda: not living(token), 5)
    assert left
    make(kind).execute(
        "true", 20
    )  # the next one removes what that one could not, unless a test beside did already
    assert wait_until(lambda: not any(path.exists() for path in left), 5)


def belongings(pid: int) -> list[Path]:
    """Folders and groups of a process."""
    groups = [
        Path(folder)
        for folder, _, _ in os.walk("/sys/fs/cgroup")
        if f"/autoreproduce-{pid}-" in folder
    ]
    return groups + list(Path(tempfile.gettempdir()).glob(f"autoreproduce-scratch-{pid}-*"))


@contextmanager
def killed_caller(kind: str, token: str, folder: Path) -> Iterator[list[Path]]:
    """A process that ran a hung program in a sandbox was killed with SIGKILL, and is gone; what it
    had made.
    """
    code = KILLED.format(
        path=[str(Path(__file__).parents[1])], folder=str(folder), kind=kind, token=token
    )
    environment = BUILD | {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH"
    }
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout
        first = process.stdout.readline()
        made = belongings(process.pid)
        process.kill()
    assert first == b"ready\n"
    yield made


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_container_of_a_killed_caller_is_removed(make, token: str, tmp_path: Path) -> None:
    make("docker").close()
    with killed_caller("docker", token, tmp_path):
        assert living(token)  # it goes on: that is why the next one looks for it
        sandbox = make("docker", label="killed")
        assert wait_until(lambda: not living(token), 5)
        assert sandbox.execute("echo fine", 20).stdout == "fine\n"


def test_what_bubblewrap_could_not_do_is_not_the_programs_failure(make) -> None:
    sandbox = make("bubblewrap")
    shutil.rmtree(sandbox._etc)
    with pytest.raises(SandboxError, match="could not start the program"):
        sandbox.execute("true", 5)


def test_a_program_sees_the_gpus_that_it_was_given_by_cudas_own_numbers(make) -> None:
    """Only their device files are there, so CUDA counts them from 0 on."""
    assert (
        make("bubblewrap", gpus="2,5").execute("echo $CUDA_VISIBLE_DEVICES", 20).stdout == "0,1\n"
    )
    assert make("bubblewrap").execute("echo $CUDA_VISIBLE_DEVICES", 20).stdout == "\n"
