# Cursor's command line on top of the base: the archive that its own installer
# unpacks, of one version instead of the newest. It brings its own Node.
ARG BASE

FROM ${BASE} AS fetch
ARG VERSION=2026.09.10-fd3934a
ARG LOCKED
COPY lock/ /lock/
RUN case "$(dpkg --print-architecture)" in amd64) arch=x64 ;; arm64) arch=arm64 ;; *) exit 64 ;; esac \
 && mkdir -p /out/opt/cursor /out/usr/local/bin \
 && curl --fail --silent --show-error --location --retry 2 --connect-timeout 20 --output "/${arch}.tar.gz" \
      "https://downloads.cursor.com/lab/${VERSION}/linux/${arch}/agent-cli-package.tar.gz" \
 && if [ "${LOCKED}" != no ]; then cd / && grep "  ${arch}.tar.gz$" /lock/SHA256SUMS | sha256sum --check --strict; fi \
 && tar -xzf "/${arch}.tar.gz" -C /out/opt/cursor --strip-components=1 --no-same-owner \
 && ln -s /opt/cursor/cursor-agent /out/usr/local/bin/cursor-agent

FROM ${BASE}
COPY --from=fetch /out/ /
# The trial leaves nothing in HOME.
RUN --mount=type=tmpfs,target=/tmp HOME=/tmp cursor-agent --version
CMD ["cursor-agent"]
