"""Runs inside a sandbox, by its own Python: passes a loopback port on to the gateway's socket.

    python -I -S relay.py SOCKET PORT COMMAND…

starts COMMAND once the port is open, and ends with its exit code. One thread serves all
connections, so that an agent that opens a thousand meets no limit of processes by our fault.
"""

import asyncio
import contextlib
import sys

OPEN = 100  # connections to the gateway at once: fewer than may wait there


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def relay(socket: str, port: int, command: list[str]) -> int:
    """Relay until the command ends; its exit code, 128 + N for a signal."""
    places = asyncio.Semaphore(OPEN)

    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The command may end with connections open. A cancelled handler would be logged with its
        # traceback, into the agent's own output.
        with contextlib.suppress(OSError, asyncio.CancelledError):
            async with places:
                there, back = await asyncio.open_unix_connection(socket)
                with contextlib.suppress(OSError):
                    await asyncio.gather(_copy(reader, back), _copy(there, writer))
                back.close()
        writer.close()

    await asyncio.start_server(passed_on, "127.0.0.1", port, backlog=1024)
    child = await asyncio.create_subprocess_exec(*command)
    code = await child.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(asyncio.run(relay(sys.argv[1], int(sys.argv[2]), sys.argv[3:])))
