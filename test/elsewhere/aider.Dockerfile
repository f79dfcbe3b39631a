# The real Aider, from its source, on the packages of Debian and the stand-ins in python/.
# The test adds the first line, with aibox's base, and puts Aider's folder into aider/.
RUN apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
      python3-backoff python3-bs4 python3-configargparse python3-diff-match-patch python3-diskcache python3-dotenv python3-flake8 \
      python3-git python3-httpx python3-importlib-resources python3-json5 python3-jsonschema python3-networkx python3-numpy \
      python3-packaging python3-pathspec python3-pexpect python3-pil python3-prompt-toolkit python3-psutil python3-pydub \
      python3-pygments python3-pypandoc python3-pyperclip python3-requests python3-rich python3-scipy python3-shtab \
      python3-socksio python3-tqdm python3-yaml >/dev/null
COPY python /opt/aider-standins
COPY start /usr/local/bin/aider
COPY aider /opt/aider/aider
RUN HOME=/tmp/trial aider --version && rm -rf /tmp/trial
