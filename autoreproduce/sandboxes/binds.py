"""What bubblewrap shows of the machine: the options that make a command's file system.

The system's programs and libraries and the Python that runs us are bound read-only, without this
project and without what identifies the machine. Everything else does not exist inside.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from autoreproduce.config import Limits
from autoreproduce.errors import SandboxError
from autoreproduce.sandboxes import hidden
from autoreproduce.sandboxes.inside import HOME

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/sys/devices/system")
ETC = (
    "alternatives",
    "fonts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "ssl/openssl.cnf",
)
# Root without any capability may still write the kernel's settings there: the kernel checks the
# user's number alone.
KERNEL = ("sys", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "sysrq-trigger")
# What reveals the machine and the caller's keys; Docker hides the same.
SECRETS = ("keys", "kcore", "latency_stats", "timer_list", "sched_debug")


def system_binds(
    limits: Limits,
    private: Sequence[Path] = (),
    nameless: Path | None = None,
    python: Path | None = None,
) -> list[str]:
    """The file system that every command gets; temporary files take at most half of the memory.

    Neither this project nor the folders `private` are in it; `nameless` is the folder shown in the
    place of pip's metadata of the project; `python` is the folder of another Python.
    """
    size = ["--size", str(max(int(limits.memory_gb * 2**29), 2**20))]
    binds = [*size, "--tmpfs", "/tmp", *size, "--tmpfs", HOME, "--tmpfs", "/run"]
    binds += ["--proc", "/proc", "--dev", "/dev", *size, "--perms", "1777", "--tmpfs", "/dev/shm"]
    for name in KERNEL:
        binds += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for name in SECRETS:
        if Path("/proc", name).exists():
            binds += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    for path in SYSTEM:
        if Path(path).is_symlink():  # /bin -> usr/bin
            binds += ["--symlink", str(Path(path).readlink()), path]
        else:
            binds += ["--ro-bind-try", path, path]
    for name in ETC:
        binds += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return binds + _pythons([each.resolve() for each in private], nameless, python)


def _pythons(
    private: Sequence[Path], nameless: Path | None, other: Path | None = None
) -> list[str]:
    """The Python that runs us and an `other`, with what must not be seen in them masked.

    Raises SandboxError if it would show the user's home.
    """
    prefixes = [Path(each) for each in dict.fromkeys([sys.base_prefix, sys.prefix])]
    if other and other not in prefixes:
        prefixes.append(other)
    secret = [*hidden.of_project([*prefixes, "/usr", "/usr/local"]), *private]
    system = [(Path(path), Path(path)) for path in SYSTEM if not Path(path).is_symlink()]
    masked = hidden.masks(system, secret)
    binds = _masks(masked, nameless)
    for prefix in prefixes:
        real = prefix.resolve()
        if Path.home().resolve().is_relative_to(real):
            raise SandboxError(
                f"the Python in {prefix} would show your home folder to programs",
                fix="use a virtual environment",
            )
        if real.is_relative_to("/usr") and not any(real.is_relative_to(each) for each in secret):
            continue  # it is there already
        shown = hidden.parts(prefix)
        binds += [word for source, path in shown for word in ("--ro-bind", str(source), str(path))]
        more = hidden.masks(shown, secret)
        binds += _masks(more, nameless)
        masked += more
    folders = [str(path) for path in masked if path.is_dir()]
    return binds + [word for folder in folders for word in ("--remount-ro", folder)]


def _masks(paths: Sequence[Path], nameless: Path | None) -> list[str]:
    words = []
    for path in paths:
        if path.suffix == ".dist-info" and nameless is not None:
            words += ["--ro-bind", str(nameless), str(path)]
        elif path.is_dir():
            words += ["--tmpfs", str(path)]
        else:
            words += ["--ro-bind", "/dev/null", str(path)]
    return words


def gpu_binds(gpus: str) -> list[str]:
    """The device files of NVIDIA GPUs: `all`, or numbers with commas between."""
    numbers = None if gpus == "all" else {f"nvidia{number}" for number in gpus.split(",")}
    binds = []
    for device in sorted(Path("/dev").glob("nvidia*")):
        if numbers is None or not device.name[6:].isdigit() or device.name in numbers:
            binds += ["--dev-bind", str(device), str(device)]
    return binds
