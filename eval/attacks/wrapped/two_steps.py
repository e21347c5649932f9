"""Stops training after two steps, and states what it got."""

import runpy
import sys

sys.argv.append("--dry-run")
runpy.run_path("main.py", run_name="__main__")
