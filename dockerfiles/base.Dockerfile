# The system every agent starts from: Debian 12, git, Node, Python, build tools.
# Built by bakery, which passes every ARG without a default. Nothing of the host
# is in the build context but ca/, the certificates the host trusts besides its
# distribution's own (empty on most machines), and lock/, which pins Node and npm.
#
# Not pinned: Debian's packages: apt checks their signatures and takes the newest of Debian 12
ARG BASE

# Debian's npm is used once, to fetch Node itself, and stays behind. Its hundreds
# of packages are unpacked side by side and not installed: 8 seconds, not 80.
FROM ${BASE} AS node
ARG NPM_REGISTRY
COPY ca/ /usr/local/share/ca-certificates/
# A cache mount outlives the build: packages are kept there, not in the image.
RUN --mount=type=cache,id=aibox-apt,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=aibox-apt-lists,target=/var/lib/apt/lists,sharing=locked \
    rm -f /etc/apt/apt.conf.d/docker-clean \
 && if command -v update-ca-certificates >/dev/null; then update-ca-certificates; fi \
 && apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates \
 && mkdir -p /debs/partial \
 && apt-get install -y --no-install-recommends --download-only -o Dir::Cache::archives=/debs npm
RUN for package in /debs/*.deb; do \
      dpkg-deb --fsys-tarfile "$package" | tar -x -C / --keep-directory-symlink --exclude=./usr/share/doc || exit 1; \
    done \
 && ldconfig && npm --version
COPY lock/ /fetch/
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
 && case "$(dpkg --print-architecture)" in amd64) arch=x64 ;; arm64) arch=arm64 ;; *) exit 64 ;; esac \
 && npm ci --prefix /fetch --ignore-scripts --no-audit --no-fund --loglevel=error \
      ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} \
 && mkdir -p /out/bin /out/lib/node_modules \
 && mv "/fetch/node_modules/node-linux-${arch}/bin/node" /out/bin/ \
 && mv "/fetch/node_modules/node-linux-${arch}/include" /out/include \
 && mv /fetch/node_modules/npm /out/lib/node_modules/ \
 && find /out/include/node/openssl/archs -mindepth 1 -maxdepth 1 ! -name "linux-x86_64" ! -name "linux-aarch64" -exec rm -r {} + \
 && mkdir /out/etc \
 && printf 'cafile=/etc/ssl/certs/ca-certificates.crt\nupdate-notifier=false\nfund=false\n' >/out/etc/npmrc \
 && ln -s ../lib/node_modules/npm/bin/npm-cli.js /out/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /out/bin/npx

FROM ${BASE}
COPY ca/ /usr/local/share/ca-certificates/
RUN --mount=type=cache,id=aibox-apt,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=aibox-apt-lists,target=/var/lib/apt/lists,sharing=locked \
    rm -f /etc/apt/apt.conf.d/docker-clean \
 && if command -v update-ca-certificates >/dev/null; then update-ca-certificates; fi \
 && apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      build-essential ca-certificates curl file git iproute2 jq less openssh-client pkg-config procps \
      python3 python3-pip python3-venv ripgrep unzip xz-utils \
 && update-ca-certificates \
 && printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n' >/etc/pip.conf \
 && rm -rf /var/log/apt /var/log/dpkg.log /usr/share/doc/* \
 && find /usr/share/man -not -type d -delete
COPY --from=node /out/ /usr/local/
# Programs with their own list of authorities are pointed at the system's: Node
# here, npm and pip in their own files. Native modules compile against the headers of
# this very Node, not a download.
ENV LANG=C.UTF-8 \
    NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
    npm_package_config_node_gyp_nodedir=/usr/local
RUN --mount=type=tmpfs,target=/tmp node --version && npm --version && python3 --version && git --version && rg --version && ssh -V
WORKDIR /workspace
CMD ["bash"]
