# Qwen Code on top of the base, with the cache of its compiled JavaScript. Its
# launcher stays behind: it starts a second process, and leaves it running when it
# is told to end.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=0.24.4
ARG LOCKED
ARG NPM_REGISTRY
# Sound needs a microphone; a box has none.
COPY lock/ /out/opt/qwen/
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    set -- --prefix /out/opt/qwen --ignore-scripts --no-audit --no-fund --loglevel=error ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} \
 && if [ "${LOCKED}" = no ]; then npm install "$@" "@qwen-code/qwen-code@${VERSION}"; else npm ci "$@"; fi \
 && rm -rf /out/opt/qwen/node_modules/@qwen-code/audio-capture
# The cache belongs to this program alone, and not to what it starts.
RUN mkdir -p /out/usr/local/bin \
 && printf '%s\n' '#!/usr/local/bin/node --expose-gc' \
      'require("node:module").enableCompileCache("/opt/qwen/cache");' \
      'process.argv[1] = "/opt/qwen/node_modules/@qwen-code/qwen-code/cli.js";' \
      'import(process.argv[1]);' >/out/usr/local/bin/qwen \
 && chmod 755 /out/usr/local/bin/qwen

FROM ${BASE}
COPY --from=fetch /out/ /
# A task without a model fills the cache. It leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp export HOME=/tmp \
 && qwen --version \
 && export OPENAI_API_KEY=none OPENAI_BASE_URL=http://127.0.0.1:9/v1 OPENAI_MODEL=none QWEN_CODE_NO_RELAUNCH=true QWEN_USAGE_STATISTICS_ENABLED=false \
 && (timeout 10 qwen --auth-type openai --yolo hello >/dev/null 2>&1 || true) \
 && test -n "$(ls /opt/qwen/cache)"
CMD ["qwen"]
