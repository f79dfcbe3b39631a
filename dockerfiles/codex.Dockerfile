# OpenAI's Codex CLI on top of the base. The JavaScript launcher of its npm
# package stays behind: /usr/local/bin/codex is the native program.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=0.169.0
ARG LOCKED
ARG NPM_REGISTRY
# The package of the platform holds one folder, which must keep its shape: the
# program finds its helpers beside itself. Voice needs a sound card; a box has none.
COPY lock/ /fetch/
RUN --mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked \
    set -- --prefix /fetch --ignore-scripts --no-audit --no-fund --loglevel=error ${NPM_REGISTRY:+"--registry=${NPM_REGISTRY}"} \
 && if [ "${LOCKED}" = no ]; then npm install "$@" "@openai/codex@${VERSION}"; else npm ci "$@"; fi \
 && mkdir -p /out/opt /out/usr/local/bin \
 && mv /fetch/node_modules/@openai/codex-linux-*/vendor/* /out/opt/codex \
 && rm -rf /out/opt/codex/codex-resources/voice \
 && ln -s /opt/codex/bin/codex /out/usr/local/bin/codex

FROM ${BASE}
COPY --from=fetch /out/ /
# A first start unpacks skills and makes its databases: done here, once, with no
# conversation in them. What names an installation or a process must not stay.
RUN codex --version \
 && (timeout 30 codex -c analytics.enabled=false --disable plugins app-server </dev/null >/dev/null 2>&1 || true) \
 && cd /root/.codex && rm -rf tmp .tmp sessions installation_id \
 && python3 -c 'import glob, sqlite3; [sqlite3.connect(f).execute("PRAGMA wal_checkpoint(TRUNCATE)") for f in glob.glob("*.sqlite")]'
CMD ["codex"]
