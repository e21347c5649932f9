"""Works in a temporary folder, and moves its results at the end."""

import os
import runpy
import shutil
import sys
import tempfile
from pathlib import Path

home = Path.cwd()
sys.path.insert(0, str(home))
with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    runpy.run_path(str(home / "main.py"), run_name="__main__")
    os.chdir(home)
    for path in Path(place).iterdir():
        shutil.move(path, home / path.name)
