# Amp on top of the base: its native program for this processor. The script of its
# npm package, which would choose it, is not run.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=0.0.1790142911-g7618fb
ARG LOCKED
ARG NPM_REGISTRY
COPY lock/ /fetch/
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    set -- --prefix /fetch --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} \
 && if [ "${LOCKED}" = no ]; then npm install "$@" "@sourcegraph/amp@${VERSION}"; else npm ci "$@"; fi \
 && mkdir -p /out/usr/local/bin \
 && install -m 0755 /fetch/node_modules/@ampcode/cli-linux-*/amp /out/usr/local/bin/amp

FROM ${BASE}
COPY --from=fetch /out/ /
# The trial leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp HOME=/tmp amp --version
CMD ["amp"]
