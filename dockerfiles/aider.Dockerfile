# Aider on top of the base, in a Python environment of its own. It runs on Python
# 3.10 to 3.12; the base has 3.11.
ARG BASE

FROM ${BASE}
ARG VERSION=0.86.1
ARG LOCKED
# Where the user's pip finds packages; empty means pip's own.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG PIP_PROXY
ARG PIP_TRUSTED_HOST
# What packages are built with comes first, from the lock as well: pip does not ask for
# checksums of what it fetches for a build of its own. Only a very talkative pip names the
# host it could not reach, so it is asked again.
RUN --mount=type=cache,id=aibox-pip,target=/root/.cache/pip,sharing=locked \
    --mount=type=bind,source=lock,target=/lock \
    python3 -m venv /opt/aider \
 && export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_DEFAULT_TIMEOUT=20 \
 && locked() { /opt/aider/bin/pip install --retries=2 --require-hashes "$@"; } \
 && if ! if [ "${LOCKED}" = no ]; then /opt/aider/bin/pip install --retries=2 "aider-chat==${VERSION}"; \
      else locked --only-binary=:all: -r /lock/build.txt && locked --no-build-isolation -r /lock/requirements.txt; fi; then \
      /opt/aider/bin/pip download -vv --retries=0 --no-deps --only-binary=:all: --dest=/tmp "aider-chat==${VERSION}" 2>&1 | grep "Could not fetch URL"; \
      exit 1; \
    fi \
 && ln -s /opt/aider/bin/aider /usr/local/bin/aider
# The trial leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp HOME=/tmp aider --version
CMD ["aider"]
