# A desktop on top of the base: an X server without a screen, a window manager, a terminal,
# and a VNC server that noVNC shows in a web page on port 6080. It runs as the unprivileged
# user "user". xdotool and scrot let programs use the desktop.
#
# Not pinned: Debian's packages: apt checks their signatures and takes the newest of Debian 12
ARG BASE

FROM ${BASE}
RUN --mount=type=cache,id=aibox-apt,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=aibox-apt-lists,target=/var/lib/apt/lists,sharing=locked \
    apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      fonts-dejavu-core fonts-noto-color-emoji novnc openbox scrot websockify x11-xserver-utils x11vnc xdotool xterm xvfb \
 && rm -rf /var/log/apt /var/log/dpkg.log /usr/share/doc/* /usr/share/man/*
RUN useradd --uid 1000 --create-home --shell /bin/bash user
# Both servers listen on loopback alone: the only way to them is a forwarded port, which asks
# for a token. All programs end together, so that none is missing unnoticed.
RUN printf '%s\n' '#!/bin/bash' \
      '# start-desktop [WIDTHxHEIGHT]' \
      'set -eu' \
      'export DISPLAY=:0' \
      'trap "kill 0" EXIT' \
      'Xvfb :0 -screen 0 "${1:-1280x800}x24" -nolisten tcp -noreset -extension MIT-SHM &' \
      'until [[ -S /tmp/.X11-unix/X0 ]]; do sleep 0.05; kill -0 $!; done' \
      'xsetroot -solid "#3b4252"' \
      'openbox &' \
      'xterm -fa "DejaVu Sans Mono" -fs 11 -bg "#2e3440" -fg "#eceff4" -geometry 100x30+60+60 &' \
      'x11vnc -display :0 -localhost -rfbport 5900 -forever -shared -nopw -noshm -quiet >/dev/null 2>&1 &' \
      'vnc=$!' \
      'websockify --web /usr/share/novnc 127.0.0.1:6080 127.0.0.1:5900 &' \
      'wait -n $vnc $!' \
      >/usr/local/bin/start-desktop \
 && chmod 755 /usr/local/bin/start-desktop
# The address without a path shows the desktop.
RUN printf '<!doctype html><title>noVNC</title><meta http-equiv="refresh" content="0; url=vnc.html?autoconnect=true&amp;resize=scale">\n' \
      >/usr/share/novnc/index.html
WORKDIR /home/user
CMD ["start-desktop"]
