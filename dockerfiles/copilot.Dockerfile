# GitHub's Copilot CLI on top of the base. The launcher of its npm package stays
# behind: /usr/local/bin/copilot is the native program.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=1.0.102
ARG LOCKED
ARG NPM_REGISTRY
COPY lock/ /fetch/
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    set -- --prefix /fetch --ignore-scripts --no-audit --no-fund --loglevel=error ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} \
 && if [ "${LOCKED}" = no ]; then npm install "$@" "@github/copilot@${VERSION}"; else npm ci "$@"; fi \
 && mkdir -p /out/usr/local/bin \
 && mv /fetch/node_modules/@github/copilot-linux-*/copilot /out/usr/local/bin/copilot

FROM ${BASE}
COPY --from=fetch /out/ /
# The program unpacks itself into HOME at its first start: done here, once.
RUN COPILOT_OFFLINE=true COPILOT_AUTO_UPDATE=false copilot --version && rm -rf /root/.copilot
CMD ["copilot"]
