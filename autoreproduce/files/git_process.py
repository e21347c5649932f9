"""git, run on repositories of people we do not know.

Nothing of the repository is run: no hook, no filter (LFS), no template, no submodule, no transport
but those that are named. The user's own configuration is not read, what git writes to the disk and
prints is bounded, and after its time all of it is killed.
"""

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from autoreproduce.errors import AutoReproduceError

# Bytes that git may print: a tree of a few entries can list billions of files.
LARGEST_OUTPUT = 256 * 2**20
LARGEST_COMPLAINT = 2**20  # bytes of its errors that are kept: a server can add to them
LARGEST_FILE = 2 * 2**30  # bytes of one file that git writes, the pack of a whole repository
# Bytes of address space: git holds a tree or a commit whole, of the size that its server names.
LARGEST_MEMORY = 2 * 2**30
NO_CONFIGURATION = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
}
# Of the user's variables: where programs are, and how the network is reached. No key is among them.
_PASSED_ON = ("GIT_SSL_", "GIT_PROXY_", "GIT_CURL_", "SSL_CERT_")
_PASSED = frozenset({"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "CURL_CA_BUNDLE"})
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
_SETTINGS = (
    "credential.helper=",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "gc.auto=0",
    "pack.threads=1",
    "core.bigFileThreshold=64m",  # larger files are streamed
    "core.packedGitWindowSize=32m",
    "core.packedGitLimit=256m",
    "fetch.unpackLimit=1",
    "submodule.recurse=false",
    "http.followRedirects=initial",
    "init.templateDir=",
    "log.showSignature=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
)


class GitError(AutoReproduceError):
    """git failed; the text is its own message."""

    kind = "git"


class GitTimeoutError(GitError):
    """git was stopped after its seconds."""

    kind = "git timeout"
    retryable = True


def run_git(
    folder: Path,
    arguments: Iterable[str],
    seconds: float,
    *,
    protocols: str = "http:https",
    environment: Mapping[str, str] | None = None,
    given: bytes = b"",
    most: int | None = None,
    memory: int = LARGEST_MEMORY,
) -> bytes:
    """What git prints, run in `folder`. `protocols`: those that it may use, with colons between;
    `given`: its standard input; `most`: bytes that it may print, LARGEST_OUTPUT if not given;
    `memory`: bytes of address space.

    Raises GitError with git's own message, after `seconds`, or if it prints too much: all of it is
    killed. Raises FileNotFoundError if git is not installed.
    """
    most = LARGEST_OUTPUT if most is None else most
    settings = [part for each in _SETTINGS for part in ("-c", each)]
    limits = f"ulimit -f {LARGEST_FILE // 512}; ulimit -v {memory // 1024}"  # sh: 512 bytes, KiB
    limited = f'{limits}; exec git "$@"'
    with tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        process = subprocess.Popen(
            ["sh", "-c", limited, "git", *settings, *arguments],
            cwd=folder,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**_environment(), "GIT_ALLOW_PROTOCOL": protocols, **(environment or {})},
        )
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        out, err = _printed(process, most)
    except BaseException:  # also Ctrl-C: git's helpers must not stay behind
        _kill(process)
        raise
    finally:
        timer.cancel()
        process.wait()
    if late.is_set():
        raise GitTimeoutError(f"git did not finish within {seconds:g} s")
    _check_end(process.returncode, out, err, most)
    return out


def _check_end(code: int, out: bytes, err: bytes, most: int) -> None:
    if len(out) > most:
        raise GitError(
            f"git prints over {most >> 20} MiB: the repository holds too many files",
            kind="git output",
        )
    if code == 127:
        raise FileNotFoundError("git")
    if code:
        raise GitError(f"git failed: {_last_line(err)}")


def _printed(process: subprocess.Popen[bytes], most: int) -> tuple[bytes, bytes]:
    """What a process prints on both of its streams, no more of each than is allowed."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout as stdout, process.stderr as stderr:
        errors: list[bytes] = []

        def take() -> None:
            while data := stderr.read(2**16):
                errors.append(data)
                del errors[: -LARGEST_COMPLAINT // 2**16]

        reader = threading.Thread(target=take, daemon=True)
        reader.start()
        out = stdout.read(most + 1)
        if len(out) > most:
            _kill(process)
        reader.join()
    return out, b"".join(errors)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _environment() -> dict[str, str]:
    """What git needs of the caller's. Its other own variables may name another repository.

    Nobody can be asked for a password.
    """
    passed = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED or name.lower() in _PROXIES or name.startswith(_PASSED_ON)
    }
    return {
        **passed,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "SSH_ASKPASS": "true",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }


def _last_line(err: bytes) -> str:
    lines = [line for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))] or lines
    return errors[-1][:200] if errors else "it printed no reason"
