"""Runs the program by a shell script, with what it prints in a file too."""

import subprocess
import sys
from pathlib import Path

Path("run.sh").write_text('set -o pipefail\n"$@" 2>&1 | tee out.log\n')
sys.exit(subprocess.call(["bash", "run.sh", sys.executable, "main.py", *sys.argv[1:]]))
