# The real Crush. The test adds the first line, with aibox's base, and the program.
COPY crush /usr/local/bin/crush
RUN HOME=/tmp/trial crush --version && rm -rf /tmp/trial
