"""Trains in a thread beside the main one."""

import runpy
import threading

failed: list[BaseException] = []


def work() -> None:
    """Run the program, and keep what it raised."""
    try:
        runpy.run_path("main.py", run_name="__main__")
    except BaseException as error:
        failed.append(error)


thread = threading.Thread(target=work)
thread.start()
thread.join()
if failed:
    raise failed[0]
