# Amp on top of the base. Its npm package chooses the native program that suits
# this processor; only that one comes along.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=0.0.1790142911-g7618fb
ARG NPM_REGISTRY
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    npm install --prefix /fetch --no-audit --no-fund --loglevel=error --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 \
      ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} "@sourcegraph/amp@${VERSION}" \
 && mkdir -p /out/usr/local/bin \
 && cp -L /fetch/node_modules/.bin/amp /out/usr/local/bin/amp \
 && chmod 755 /out/usr/local/bin/amp

FROM ${BASE}
COPY --from=fetch /out/ /
# The trial leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp HOME=/tmp amp --version
CMD ["amp"]
