"""Tries itself on two steps before it trains in full."""

import subprocess
import sys

subprocess.check_call([sys.executable, "main.py", *sys.argv[1:], "--dry-run"])
sys.exit(subprocess.call([sys.executable, "main.py", *sys.argv[1:]]))
