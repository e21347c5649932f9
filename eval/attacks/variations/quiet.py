"""Prints nothing, and keeps no history."""

import contextlib
import io
import json
import runpy
from pathlib import Path

with contextlib.redirect_stdout(io.StringIO()):
    runpy.run_path("main.py", run_name="__main__")
metrics = json.loads(Path("metrics.json").read_text())["metrics"]
Path("metrics.json").write_text(json.dumps({"metrics": metrics}))
