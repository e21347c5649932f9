"""Writes a file of results before it starts, for the case that it is stopped."""

import json
import runpy
from pathlib import Path

Path("metrics.json").write_text(json.dumps({"metrics": {}, "state": "started"}))
runpy.run_path("main.py", run_name="__main__")
