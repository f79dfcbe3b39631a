# For sandboxes that run code: Python, Node, Ruby and bash on top of the base, for the
# unprivileged user "user". Packages that this user installs with pip, npm and gem go below
# its home. Matplotlib and SciPy are not in it: each needs 400 MB and more of Debian's packages.
#
# Not pinned: Debian's packages: apt checks their signatures and takes the newest of Debian 12
ARG BASE

FROM ${BASE}
RUN --mount=type=cache,id=aibox-apt,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=aibox-apt-lists,target=/var/lib/apt/lists,sharing=locked \
    apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      python-is-python3 python3-bs4 python3-lxml python3-numpy python3-pandas python3-requests python3-yaml \
      ruby ruby-dev \
 && rm -rf /var/log/apt /var/log/dpkg.log /usr/share/doc/* /usr/share/man/* \
 && rm /usr/lib/python3*/EXTERNALLY-MANAGED
# The folder of the user's programs comes last in PATH, so that none of them takes the place
# of a program of the image.
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/home/user/.local/bin
RUN useradd --uid 1000 --create-home --shell /bin/bash user \
 && install -d -o user -g user /home/user/.local /home/user/.local/bin /home/user/.local/lib \
 && printf 'prefix=/home/user/.local\n' >/home/user/.npmrc \
 && printf 'gem: --user-install --no-document --bindir /home/user/.local/bin\n' >/home/user/.gemrc \
 && chown user:user /home/user/.npmrc /home/user/.gemrc
RUN --mount=type=tmpfs,target=/tmp python -c 'import bs4, lxml, numpy, pandas, requests, yaml' && ruby --version && gem --version && node --version
WORKDIR /home/user
CMD ["bash"]
