# autoreproduce itself, with bubblewrap for the programs that models write, and the pages of `view`.
#   docker build -t autoreproduce .
#   docker run --rm -v "$PWD:/work" autoreproduce --task Darcy --dry-run
# Trials need the `security_opt` of compose.yaml: bubblewrap makes namespaces and a /proc of its own.
# BASE is any Debian or Ubuntu image with Python 3.11 or later and its venv module. In a network
# without PyPI, WHEELS is a folder of the context or an address with wheels.
ARG BASE=python:3.11-slim
FROM ${BASE} AS build
ARG EXTRAS=torch,plots,view,mcp
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG WHEELS=
RUN python3 -m venv /opt/autoreproduce
COPY . /source
RUN --mount=type=secret,id=ca,target=/ca.pem set -e; cd /source; \
    for name in PIP_INDEX_URL PIP_EXTRA_INDEX_URL; do eval "[ -n \"\$$name\" ]" || unset "$name"; done; \
    [ ! -s /ca.pem ] || export PIP_CERT=/ca.pem; \
    /opt/autoreproduce/bin/python -m pip install --no-cache-dir ${WHEELS:+--find-links "$WHEELS"} \
        -c constraints-cpu.txt ".[$EXTRAS]"

FROM ${BASE}
RUN if ! command -v bwrap >/dev/null || ! command -v git >/dev/null; then \
        apt-get update && apt-get install -y --no-install-recommends bubblewrap git && \
        rm -rf /var/lib/apt/lists/*; fi
COPY --from=build /opt/autoreproduce /opt/autoreproduce
ENV PATH=/opt/autoreproduce/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    AUTOREPRODUCE_CACHE_DIR=/work/.cache
WORKDIR /work
ENTRYPOINT ["autoreproduce"]
CMD ["--help"]
