"""Computes on one thread."""

import os
import runpy

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
runpy.run_path("main.py", run_name="__main__")
