"""Sets its environment, and replaces its own process by the program."""

import os
import sys

os.environ["PYTHONHASHSEED"] = "0"
os.execv(sys.executable, [sys.executable, "main.py", *sys.argv[1:]])
