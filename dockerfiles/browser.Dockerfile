# Debian's Chromium on top of the base, without a window, for programs that drive it by its
# debugging port (9222), such as Playwright. It runs as the unprivileged user "user".
#
# Not pinned: Debian's packages: apt checks their signatures and takes the newest of Debian 12
ARG BASE

FROM ${BASE}
RUN --mount=type=cache,id=aibox-apt,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=aibox-apt-lists,target=/var/lib/apt/lists,sharing=locked \
    apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      chromium fonts-dejavu-core fonts-liberation fonts-noto-color-emoji \
 && rm -rf /var/log/apt /var/log/dpkg.log /usr/share/doc/* /usr/share/man/*
RUN useradd --uid 1000 --create-home --shell /bin/bash user
# Chromium's own sandbox needs user namespaces and seccomp filters of the host's kernel. The
# sandbox around this image is the wall, also between Chromium and the host. A debugging port
# answers a page only if it may: no origin is allowed.
RUN printf '%s\n' '#!/bin/sh' \
      'exec chromium --headless=new --no-sandbox --remote-debugging-port=9222 --user-data-dir=/home/user/.browser \' \
      '  --no-first-run --no-default-browser-check --disable-gpu --disable-dev-shm-usage --disable-background-networking \' \
      '  --disable-component-update --disable-sync --password-store=basic --window-size=1280,800 "$@" about:blank' \
      >/usr/local/bin/start-browser \
 && chmod 755 /usr/local/bin/start-browser && chromium --version
WORKDIR /home/user
CMD ["start-browser"]
