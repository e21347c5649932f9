#!/usr/bin/env bash
# The three ways to install, each into a clean environment and without the pinned versions: pip 23.2
# (Python 3.11 brings it), the wheel from an empty folder, uv. Each resolves in one pass, and what
# was installed answers.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

answers() { # ENVIRONMENT
  (cd "$work" && "$1/bin/autoreproduce" --version && "$1/bin/autoreproduce" bench list >/dev/null)
  # 1: torch is missing, and the line says how to get it
  (cd "$work" && PATH=/usr/bin:/bin "$1/bin/autoreproduce" doctor || true) | grep -E 'torch:.* -m pip install .*torch>=|torch: [0-9]'
  du -sm "$1" | sed 's/\t.*/ MB/'
}

echo "-- pip install ."
python3 -m venv "$work/by-pip"
"$work/by-pip/bin/python" -m pip install --quiet "pip==23.2.1"
"$work/by-pip/bin/python" -m pip --version
cp -r "$root" "$work/source" && rm -rf "$work/source/.venv"
"$work/by-pip/bin/python" -m pip install --quiet "$work/source"
answers "$work/by-pip"

echo "-- pip install dist/*.whl"
"$work/by-pip/bin/python" -m pip install --quiet build
"$work/by-pip/bin/python" -m build --wheel --outdir "$work/dist" "$work/source" >/dev/null
python3 -m venv "$work/by-wheel"
(mkdir "$work/empty" && cd "$work/empty" && "$work/by-wheel/bin/python" -m pip install --quiet "$work"/dist/*.whl)
answers "$work/by-wheel"

echo "-- uv pip install"
"$work/by-pip/bin/python" -m pip install --quiet uv
uv="$work/by-pip/bin/uv"
"$uv" venv --quiet --python python3 "$work/by-uv"
"$uv" pip install --quiet --python "$work/by-uv/bin/python" "$work/source"
[ "$(du -sm "$work/by-uv" | cut -f1)" -lt 300 ] || { echo "without torch it takes 300 MB or more"; exit 1; }
answers "$work/by-uv"
