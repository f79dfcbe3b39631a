# Aider on top of the base, in a Python environment of its own. It runs on Python
# 3.10 to 3.12; the base has 3.11.
ARG BASE

FROM ${BASE}
ARG VERSION=0.86.1
# Where the user's pip finds packages; empty means pip's own.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG PIP_PROXY
ARG PIP_TRUSTED_HOST
# Verbose, pip tells which host it could not reach.
RUN --mount=type=cache,id=aibox-pip,target=/root/.cache/pip,sharing=locked \
    python3 -m venv /opt/aider \
 && /opt/aider/bin/pip install --verbose --disable-pip-version-check --no-input --timeout=20 --retries=2 "aider-chat==${VERSION}" \
 && ln -s /opt/aider/bin/aider /usr/local/bin/aider
# The trial leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp HOME=/tmp aider --version
CMD ["aider"]
