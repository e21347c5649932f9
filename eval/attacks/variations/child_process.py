"""Trains in a child process."""

import subprocess
import sys

sys.exit(subprocess.call([sys.executable, "main.py", *sys.argv[1:]]))
