"""The relay in the sandbox adds nothing to an agent's output."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from autoreproduce.plugins.external_agents.gateway import relay

# The child holds the connection that its parent, which the relay waits for, has left behind.
AGENT = """
import os, socket, sys, time
held = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
held.sendall(b"x")
time.sleep(0.5)
if os.fork():
    os._exit(3)
time.sleep(0.5)
"""


@pytest.mark.slow
def test_a_connection_that_is_open_at_the_end_leaves_no_traceback(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as gateway, socket.socket() as free:
        gateway.bind(path)
        gateway.listen()
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
        free.close()
        agent = [sys.executable, "-c", AGENT, port]
        done = subprocess.run(
            [sys.executable, "-I", "-S", relay.__file__, path, port, *agent],
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert done.returncode == 3
    assert done.stderr == ""
