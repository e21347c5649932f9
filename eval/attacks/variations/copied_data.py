"""Copies the data to a folder of its own first."""

import os
import runpy
import shutil

shutil.copytree(os.environ["DATA_DIR"], "own_data", dirs_exist_ok=True)
os.environ["DATA_DIR"] = "own_data"
runpy.run_path("main.py", run_name="__main__")
