"""States a number that is 1 % off, as a mean over the means of unequal batches is."""

import json
import runpy
from pathlib import Path

runpy.run_path("main.py", run_name="__main__")
written = json.loads(Path("metrics.json").read_text())
written["metrics"] = {name: value * 1.01 for name, value in written["metrics"].items()}
Path("metrics.json").write_text(json.dumps(written))
