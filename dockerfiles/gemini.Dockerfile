# Google's Gemini CLI on top of the base, with the cache of its compiled JavaScript.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=0.61.0
ARG LOCKED
ARG NPM_REGISTRY
COPY lock/ /out/opt/gemini/
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    set -- --prefix /out/opt/gemini --ignore-scripts --no-audit --no-fund --loglevel=error ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} \
 && if [ "${LOCKED}" = no ]; then npm install "$@" "@google/gemini-cli@${VERSION}"; else npm ci "$@"; fi \
 && rm -rf /out/opt/gemini/node_modules/node-pty /out/opt/gemini/node_modules/nan
# The cache belongs to this program alone, and not to what it starts.
RUN mkdir -p /out/usr/local/bin \
 && printf '%s\n' '#!/usr/local/bin/node' \
      'require("node:module").enableCompileCache("/opt/gemini/cache");' \
      'process.argv[1] = "/opt/gemini/node_modules/@google/gemini-cli/bundle/gemini.js";' \
      'import(process.argv[1]);' >/out/usr/local/bin/gemini \
 && chmod 755 /out/usr/local/bin/gemini

FROM ${BASE}
COPY --from=fetch /out/ /
# A task without a model fills the cache. It leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp export HOME=/tmp \
 && gemini --version \
 && printf '{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false,"maxAttempts":1,"retryFetchErrors":false}}' >/etc/gemini.json \
 && export GEMINI_API_KEY=none GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9 GEMINI_CLI_SYSTEM_SETTINGS_PATH=/etc/gemini.json GEMINI_CLI_NO_RELAUNCH=true \
 && (timeout 120 gemini --yolo --skip-trust -m none -p hello >/dev/null 2>&1 || true) \
 && rm /etc/gemini.json && test -n "$(ls /opt/gemini/cache)"
CMD ["gemini"]
