#!/usr/bin/env bash
# Starts a Docker Engine where none answers (root, Debian), and makes the base image where no registry can be
# reached. Ends with an error where no engine can be had; the tests that need one then skip.
set -euo pipefail
cd "$(dirname "$0")"
if ! docker info >/dev/null 2>&1; then
  command -v dockerd >/dev/null || { echo "no dockerd is installed"; exit 1; }
  [ "$(id -u)" = 0 ] || { echo "starting an engine needs root"; exit 1; }
  pgrep -x dockerd >/dev/null || rm -f /var/run/docker.pid  # left by an engine that was killed
  log="$(mktemp)"
  setsid dockerd >"$log" 2>&1 </dev/null &
  for _ in $(seq 120); do docker info >/dev/null 2>&1 && break; sleep 0.5; done
  docker info >/dev/null 2>&1 || { tail -n 20 "$log"; exit 1; }
fi
./base_image.sh >/dev/null
