#!/usr/bin/env bash
# The fast tests with the lowest versions that pyproject.toml admits, as a user who is not root, on
# a PATH without bubblewrap and Docker.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
home="$(mktemp -d)"
trap 'rm -rf "$home"' EXIT
as=() python=python3
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  # root's own Python may lie where no other user can go
  "${as[@]}" "$(readlink -f "$(command -v python3)")" -c "" 2>/dev/null || python=/usr/bin/python3
fi
python3 -m venv "$home/tools" && "$home/tools/bin/python" -m pip install --quiet uv
"$home/tools/bin/uv" venv --quiet --seed --python "$python" "$home/venv"
"$home/tools/bin/uv" pip install --quiet --python "$home/venv/bin/python" --resolution lowest-direct \
  --editable "$root[plots,view,test,mcp,otel]"
grep '^torch==' "$root/constraints-cpu.txt" >"$home/torch.txt" # by pip: uv looks for the CPU build elsewhere
"$home/venv/bin/python" -m pip install --quiet -r "$home/torch.txt" "scipy==1.13.*"
mkdir "$home/bin"
for folder in /usr/local/bin /usr/bin /bin; do
  for program in "$folder"/*; do
    case "${program##*/}" in bwrap | docker | dockerd) ;; *) ln -sf "$program" "$home/bin/" ;; esac
  done
done
git clone --quiet "$root" "$home/clone"
if [ "$(id -u)" = 0 ]; then chown -R 65534:65534 "$home"; fi
cd "$home/clone"
"${as[@]}" env -i HOME="$home" PATH="$home/bin" PYTHONPATH="$home/clone" TMPDIR="${TMPDIR:-/tmp}" \
  "$home/venv/bin/python" -m pytest -n 4 --dist worksteal -p no:cacheprovider -rs "$@"
