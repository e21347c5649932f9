"""States its number with three digits."""

import json
import runpy
from pathlib import Path

runpy.run_path("main.py", run_name="__main__")
written = json.loads(Path("metrics.json").read_text())
written["metrics"] = {name: float(f"{value:.3g}") for name, value in written["metrics"].items()}
Path("metrics.json").write_text(json.dumps(written))
