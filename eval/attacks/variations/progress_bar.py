"""Draws a progress bar on standard error while it works."""

import runpy
import sys
import threading

done = threading.Event()


def draw() -> None:
    """A bar that moves, five times a second."""
    count = 0
    while not done.wait(0.2):
        count += 1
        sys.stderr.write(f"\r[{'#' * (count % 40):40}] {count} it")


thread = threading.Thread(target=draw, daemon=True)
thread.start()
runpy.run_path("main.py", run_name="__main__")
done.set()
