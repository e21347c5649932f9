"""The sandbox without a daemon: Linux namespaces by bubblewrap, a few milliseconds a command.

Nothing of the host is there but what is bound below, read-only: the system's programs and libraries, a few files
of /etc, and the Python that runs us. All else (home folders, sockets in /run, other temporary files) is not hidden
but absent.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from autoreproduce import Execution
from autoreproduce.config import Limits, Settings
from autoreproduce.errors import SandboxError
from autoreproduce.sandboxes import cgroups, inside
from autoreproduce.sandboxes.local import LocalSandbox
from autoreproduce.sandboxes.owners import scratch

WORKSPACE, DATA, PACKAGES, HOME = "/workspace", "/data", "/packages", "/home/sandbox"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/sys/devices/system")
LAST = "/run/bin"  # last in PATH: for systems whose Python is called python3 alone
ETC = ("alternatives", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "ssl/openssl.cnf")
ETC_NETWORK = ("hosts", "nsswitch.conf", "ssl/certs", "pki/tls/certs", "pki/ca-trust", "ca-certificates")
ALONE = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--clearenv"),
    *("--die-with-parent", "--new-session", "--hostname", "sandbox"),
)
# Root without any capability may still write the kernel's settings there: they go by the user's number.
KERNEL = ("sys", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "sysrq-trigger")


class BubblewrapSandbox(LocalSandbox):
    """One `bwrap` a command: its own processes, network, users and files."""

    name = "bubblewrap"

    def __init__(self, settings: Settings, workspace: Path, *, group: bool = True, **told: Any) -> None:
        super().__init__(settings, workspace, group=group, **told)
        self._index = inside.index(settings, inside.caller())
        self._etc = scratch()
        (self._etc / "passwd").write_text(f"sandbox:x:{os.getuid()}:{os.getgid()}::{HOME}:/bin/bash\n")
        (self._etc / "group").write_text(f"sandbox:x:{os.getgid()}:\n")
        self._info: tuple[int, int] | None = None
        by = "a cgroup" if group and can_group(settings.limits) else "looking five times a second"
        self.promises = (
            "programs see the workspace, the data and the system's libraries alone, without network or privileges; "
            f"memory and processes are limited by {by}, disk by looking every second."
        )

    def execute(
        self, command: str, timeout: float, *, network: bool = False, on_output: Callable[[str], None] | None = None
    ) -> Execution:
        """See autoreproduce.Sandbox. What bubblewrap itself could not do is its failure, not the program's."""
        done = super().execute(command, timeout, network=network, on_output=on_output)
        if done.exit_code == 1 and not done.stdout and done.stderr.startswith("bwrap: "):
            said = done.stderr.splitlines()[0]
            raise SandboxError(f"bubblewrap could not start the program ({said}): run the same command again")
        return done

    def close(self) -> None:
        """See autoreproduce.Sandbox."""
        shutil.rmtree(self._etc, ignore_errors=True)

    def _environment(self, network: bool) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin"}  # of bwrap itself, which programs can read in /proc/1/environ

    def _passed(self) -> tuple[int, ...]:
        assert self._info
        return (self._info[1],)

    def _argv(self, command: str, network: bool) -> list[str]:
        self._info = os.pipe()
        run = inside.install_argv(command, PACKAGES) if network else ["bash", "-c", command]
        return [
            "bwrap", *ALONE, "--info-fd", str(self._info[1]), *system_binds(self.limits),
            *self._own_binds(network), *(gpu_binds(self._gpus) if self._gpus else ()),
            *(self._network_binds() if network else self._work_binds()),
            "--remount-ro", "/", *self._variables(network), "--", *run,
        ]  # fmt: skip

    def _own_binds(self, network: bool) -> list[str]:
        binds = ["--bind" if network else "--ro-bind", str(self._packages), PACKAGES]
        binds += ["--symlink", sys.executable, f"{LAST}/python"]
        for name in ("passwd", "group"):
            binds += ["--ro-bind", str(self._etc / name), f"/etc/{name}"]
        return binds

    def _work_binds(self) -> list[str]:
        binds = ["--bind", str(self.workspace), WORKSPACE, "--chdir", WORKSPACE]
        if (self.workspace / ".git").exists():  # whoever writes a hook or a setting there runs code outside
            binds += ["--ro-bind", str(self.workspace / ".git"), f"{WORKSPACE}/.git"]
        return binds + (["--ro-bind", str(self._data), DATA] if self._data else [])

    def _network_binds(self) -> list[str]:
        """An installing command sees neither workspace nor data: it has the network."""
        binds = ["--share-net", "--chdir", "/tmp"]
        for name in ETC_NETWORK:
            binds += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        binds += ["--ro-bind-try", str(Path("/etc/resolv.conf").resolve()), "/etc/resolv.conf"]
        for path, host in self._index.files.items():
            binds += ["--ro-bind", str(host), path]
        return binds

    def _variables(self, network: bool) -> list[str]:
        path = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin:{LAST}"
        data = DATA if self._data else ""
        found = inside.variables(self.limits, home=HOME, data=data, packages=PACKAGES, path=path)
        if network:
            found = inside.installing(found, PACKAGES) | self._index.variables
        return [word for name, value in found.items() for word in ("--setenv", name, value)]

    def _kill(self, child: subprocess.Popen[bytes]) -> None:
        if child.returncode is None:  # the first process inside is in the child's group; the kernel ends the others
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def _ended(self) -> None:
        """Wait until the first process inside is gone: the kernel ends all others before it."""
        if self._info is None:
            return
        reading, writing = self._info
        self._info = None
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            told = file.read()
        with suppress(ValueError, KeyError):
            _wait_gone(json.loads(told)["child-pid"])


def why_not(settings: Settings) -> str:
    """Why bubblewrap does not work here, with the mend; "" where it does."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap is for Linux only: use Docker"
    if shutil.which("bwrap") is None:
        return "bwrap is not installed: install your system's package bubblewrap (apt install bubblewrap)"
    argv = ["bwrap", *ALONE, *system_binds(settings.limits), "--", sys.executable, "-I", "-S", "-c", ""]
    try:
        done = subprocess.run(
            argv, check=False, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=2
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap does not run ({error}): use Docker"
    if done.returncode == 0:
        return ""
    said = (done.stderr.strip().splitlines() or ["no message"])[-1]
    if "Unknown option" in done.stderr:
        return f"bwrap is too old ({said.removeprefix('bwrap: ')}): install bubblewrap 0.8 or later, or use Docker"
    return (
        f"bwrap cannot make namespaces here ({said}): allow unprivileged user namespaces "
        "(sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap), or use Docker"
    )


def can_group(limits: Limits) -> bool:
    """True where a cgroup can be made for a command."""
    group = cgroups.make(limits)
    if group is not None:
        group.remove()
    return group is not None


def system_binds(limits: Limits) -> list[str]:
    """The file system that every command gets. What is temporary lives in memory, and may fill half of it."""
    size = ["--size", str(max(int(limits.memory_gb * 2**29), 2**20))]
    binds = [*size, "--tmpfs", "/tmp", *size, "--tmpfs", HOME, "--tmpfs", "/run", "--proc", "/proc", "--dev", "/dev"]
    binds += [*size, "--perms", "1777", "--tmpfs", "/dev/shm"]
    for name in KERNEL:
        binds += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for path in SYSTEM:
        if Path(path).is_symlink():  # /bin -> usr/bin
            binds += ["--symlink", str(Path(path).readlink()), path]
        else:
            binds += ["--ro-bind-try", path, path]
    for name in ETC:
        binds += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for prefix in dict.fromkeys([sys.base_prefix, sys.prefix]):
        binds += _bind_prefix(Path(prefix))
    return binds


def gpu_binds(gpus: str) -> list[str]:
    """The device files of NVIDIA GPUs: `all`, or numbers with commas between."""
    numbers = None if gpus == "all" else {f"nvidia{number}" for number in gpus.split(",")}
    binds = []
    for device in sorted(Path("/dev").glob("nvidia*")):
        if numbers is None or not device.name[6:].isdigit() or device.name in numbers:
            binds += ["--dev-bind", str(device), str(device)]
    return binds


def _bind_prefix(prefix: Path) -> list[str]:
    """A Python's folder at the path where it stands, and where a link to it stands."""
    if prefix.is_relative_to("/usr"):
        return []
    real = prefix.resolve()
    if real in (Path("/"), Path.home().resolve()):
        raise SandboxError(f"the Python in {prefix} would show all of it to programs: use a virtual environment")
    return [word for path in dict.fromkeys([prefix, real]) for word in ("--ro-bind", str(real), str(path))]


def _wait_gone(pid: int) -> None:
    end = time.monotonic() + 4
    while time.monotonic() < end:
        try:
            name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        except OSError:
            return
        if not name.endswith("(bwrap") or rest.split()[0] in "ZX":  # the number is another's by now, or it is over
            return
        time.sleep(0.002)
