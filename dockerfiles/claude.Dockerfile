# Anthropic's Claude Code on top of the base. The launcher of its npm package stays
# behind: /usr/local/bin/claude is the native program.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=2.1.329
ARG LOCKED
ARG NPM_REGISTRY
COPY lock/ /fetch/
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    set -- --prefix /fetch --ignore-scripts --no-audit --no-fund --loglevel=error ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} \
 && if [ "${LOCKED}" = no ]; then npm install "$@" "@anthropic-ai/claude-code@${VERSION}"; else npm ci "$@"; fi \
 && mkdir -p /out/usr/local/bin \
 && mv /fetch/node_modules/@anthropic-ai/claude-code-linux-*/claude /out/usr/local/bin/claude

FROM ${BASE}
COPY --from=fetch /out/ /
# The trial leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp HOME=/tmp claude --version
CMD ["claude"]
