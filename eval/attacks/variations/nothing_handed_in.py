"""Hands in no weights."""

import runpy
from pathlib import Path

runpy.run_path("main.py", run_name="__main__")
for name in ("weights.npz", "predict.py"):
    Path(name).unlink(missing_ok=True)
