"""Why a command gave no numbers, in one word and one line: what a reader of a table of attempts wants to know."""

from __future__ import annotations

import re

from autoreproduce import Execution

STOPPED = {
    "timeout": "it did not end in time", "memory": "it needed more memory than it may have",
    "output": "it printed more than it may", "processes": "it started more processes than it may",
    "disk": "it wrote more than it may", "killed": "it was killed",
}  # fmt: skip

# The first that fits the end of stderr; the order is from the cause to the symptom.
KINDS = (
    ("not implemented", r"NotImplementedError", "a masked function was called and not written"),
    (
        "gpu",
        r"NVIDIA|CUDA (?:is not|error|driver|unavailable)|not compiled with CUDA|torch\.cuda|no CUDA|cudaError",
        "it needs a GPU",
    ),
    (
        "network",
        r"Name or service not known|name resolution|Network is unreachable|Max retries exceeded|URLError|"
        r"ConnectionError|gaierror|Could not resolve host|ConnectError",
        "it needs the network",
    ),
    ("outside", r"Read-only file system|PermissionError.*'/|Permission denied", "it writes outside its folder"),
    ("package", r"ModuleNotFoundError|ImportError|command not found", "a package or program is missing"),
    ("data", r"FileNotFoundError|No such file or directory", "a file is missing"),
)


def why_failed(done: Execution) -> tuple[str, str]:
    """The kind of a failure and a line that says it with the program's own last words."""
    words = last_words(done.stderr) or last_words(done.stdout)
    if done.stopped:
        return done.stopped, f"{STOPPED[done.stopped]} ({done.seconds:.0f} s)"
    end = done.stderr[-6000:]
    for kind, pattern, said in KINDS:
        if re.search(pattern, end):
            return kind, f"{said}: {words}"
    return "error", f"it ended with exit code {done.exit_code}: {words or 'no message'}"


def last_words(text: str) -> str:
    """The last line of a text that is not empty, shortened."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
