#!/usr/bin/env bash
# Makes the base image of the sandbox where no image registry can be reached: Debian 12 with Python 3.11,
# the stand-in for python:3.11-slim. Needs mmdebstrap, a Docker Engine and a Debian mirror (as apt has it).
#
#   .ci/base_image.sh [TAG]        then    export AUTOREPRODUCE_BUILD_BASE=TAG
#
# Run again, it does nothing where the image is there. It prints the tag.
set -euo pipefail

tag="${1:-autoreproduce-base:bookworm}"
if docker image inspect "$tag" >/dev/null 2>&1; then
    echo "$tag"
    exit 0
fi

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# The documentation and the translations are a third of the size, and no program reads them.
mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,ca-certificates \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --aptopt='Acquire::Retries "5"' --customize-hook='ln -s python3 "$1/usr/bin/python"' \
    bookworm "$folder/base.tar" >&2
docker import --change 'CMD ["python3"]' "$folder/base.tar" "$tag" >/dev/null
echo "$tag"
