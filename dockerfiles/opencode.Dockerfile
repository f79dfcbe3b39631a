# OpenCode on top of the base: of its native programs the one that suits this
# processor. The script of its npm package, which would choose it, is not run.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=1.18.33
ARG LOCKED
ARG NPM_REGISTRY
COPY lock/ /fetch/
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    set -- --prefix /fetch --ignore-scripts --no-audit --no-fund --loglevel=error ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} \
 && if [ "${LOCKED}" = no ]; then npm install "$@" "opencode-ai@${VERSION}"; else npm ci "$@"; fi \
 && case "$(dpkg --print-architecture)" in amd64) arch=x64 ;; arm64) arch=arm64 ;; *) exit 64 ;; esac \
 && if [ "$arch" = x64 ] && ! grep -qw avx2 /proc/cpuinfo; then arch=x64-baseline; fi \
 && mkdir -p /out/usr/local/bin \
 && install -m 0755 "/fetch/node_modules/opencode-linux-${arch}/bin/opencode" /out/usr/local/bin/opencode

FROM ${BASE}
COPY --from=fetch /out/ /
# The trial leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp HOME=/tmp opencode --version
CMD ["opencode"]
