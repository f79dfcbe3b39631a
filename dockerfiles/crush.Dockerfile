# Crush on top of the base. Its npm package holds no program but says where the one of
# each processor is, and its SHA-256: the lock of the package pins the program, too.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=0.96.1
ARG LOCKED
ARG NPM_REGISTRY
COPY lock/ /fetch/
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    set -- --prefix /fetch --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} \
 && if [ "${LOCKED}" = no ]; then npm install "$@" "@charmland/crush@${VERSION}"; else npm ci "$@"; fi \
 && case "$(dpkg --print-architecture)" in amd64) arch=x64 ;; arm64) arch=arm64 ;; *) exit 64 ;; esac \
 && archive() { jq -er --arg arch "linux-${arch}" ".archives[\$arch].$1" /fetch/node_modules/@charmland/crush/package.json; } \
 && test "$(archive checksum.algorithm)" = sha256 \
 && curl --fail --silent --show-error --location --retry 2 --connect-timeout 20 --output /archive.tar.gz "$(archive url)" \
 && echo "$(archive checksum.digest)  /archive.tar.gz" | sha256sum --check --strict \
 && mkdir -p /out/usr/local/bin \
 && tar -xzf /archive.tar.gz -C /out/usr/local/bin --strip-components=1 --no-same-owner "$(archive wrappedIn)/crush"

FROM ${BASE}
COPY --from=fetch /out/ /
# The trial leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp HOME=/tmp crush --version
CMD ["crush"]
