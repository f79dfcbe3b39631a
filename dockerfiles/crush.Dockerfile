# Crush on top of the base. Its npm package holds no program: installing it fetches
# the one of this processor from its makers' release page and checks its digest.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=0.96.1
ARG NPM_REGISTRY
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    npm install --prefix /fetch --no-audit --no-fund --loglevel=error --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 \
      ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} "@charmland/crush@${VERSION}" \
 && mkdir -p /out/usr/local/bin \
 && mv /fetch/node_modules/@charmland/crush/bin/crush /out/usr/local/bin/crush

FROM ${BASE}
COPY --from=fetch /out/ /
# The trial leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp HOME=/tmp crush --version
CMD ["crush"]
