"""Trains in a process that is forked off."""

import multiprocessing
import runpy

child = multiprocessing.get_context("fork").Process(
    target=runpy.run_path, args=("main.py",), kwargs={"run_name": "__main__"}
)
child.start()
child.join()
raise SystemExit(child.exitcode)
