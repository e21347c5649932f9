"""The machine and the versions that a trial ran with, for its record."""

import os
import platform
import shutil
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    "autoreproduce",
    "langgraph",
    "langchain",
    "langchain-openai",
    "torch",
    "numpy",
    "docker",
    "arxiv",
    "PyGithub",
)


def versions() -> dict[str, str]:
    """Versions of Python and of the installed packages that matter to a trial."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    """Cached: a suite records many trials."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def hardware(gpus: str | None = None) -> dict[str, Any]:
    """Processors, memory in GB, system, and the GPUs that the driver names."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cpus": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "memory_gb": _memory_gb(),
        "gpus": _gpus() if gpus else [],
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError):
        return None


def _gpus() -> list[str]:
    if shutil.which("nvidia-smi") is None:
        return []
    done = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return done.stdout.strip().splitlines() if done.returncode == 0 else []
