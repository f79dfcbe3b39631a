"""The parts of Connect's protocol that need no I/O.

A call is a POST with a JSON body. Streams are envelopes: a byte of flags, the length as
four bytes, and a JSON document; the last one has the flag END and may hold an error.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import select
import socket
import ssl
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ._message import Message
from .errors import AiboxError, ConnectionLostError, InvalidError, ProtocolError, TimedOutError, error_of

M = TypeVar("M", bound=Message)

COMPRESSED = 0x01
END = 0x02
HEADER_BYTES = 5
MAX_BYTES = 128 << 20

# How many bytes of output the server keeps for a stream. Half of them are reserved for output
# that was on its way when a connection was lost: more than the buffers of several connections.
STREAM_KEEP_BYTES = 64 << 20

# The size of the pieces in which files are sent.
PIECE_BYTES = 256 << 10

# Seconds between attempts to reach a server that may be restarting.
ATTEMPTS = (0.1, 0.3, 0.6)

# Seconds without a message after which a stream that has keep-alive events, which the server
# sends every 15 seconds, counts as lost. The other end may have vanished without closing the connection.
MAX_SILENCE = 60.0

UNARY_HEADERS = {"Content-Type": "application/json", "Connect-Protocol-Version": "1"}
STREAM_HEADERS = {"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}


@dataclass(frozen=True)
class Address:
    """Where a server listens: socket is the path of a Unix socket, or empty."""

    socket: str = ""
    host: str = ""
    port: int = 0
    tls: bool = False

    @property
    def authority(self) -> str:
        """The value of the header Host."""
        if self.socket:
            return "localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def base_url(self) -> str:
        """The URL of the server; empty for a Unix socket."""
        return "" if self.socket else f"{'https' if self.tls else 'http'}://{self.authority}"

    def __str__(self) -> str:
        return f"unix:{self.socket}" if self.socket else self.base_url


def _runtime_dir() -> str:
    """Return the folder of the user's sockets, or "" if there is none.

    A process that has no XDG_RUNTIME_DIR, or another user's, takes the folder of systemd.
    """

    def owner(path: str) -> int | None:
        try:
            return os.stat(path).st_uid
        except OSError:
            return None

    user = os.getuid()
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(given) and owner(given) in (None, user):
        return given
    common = f"/run/user/{user}"
    return common if os.path.isdir(common) and owner(common) == user else ""


def default_socket() -> str:
    """Return the path of the socket that `aibox serve` creates.

    Each state folder has a socket of its own.
    """
    import pwd  # not on Windows, which has no such socket

    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    state = os.path.normpath(os.path.join(state, "aibox"))
    runtime = _runtime_dir()
    folder = os.path.join(runtime, "aibox") if runtime else os.path.join(state, "runtime")
    name = "aibox.sock"
    try:
        own = os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".local", "state", "aibox")
    except KeyError:
        own = ""
    if state != own:
        name = f"aibox-{hashlib.sha256(os.fsencode(state)).hexdigest()[:12]}.sock"
    return os.path.join(folder, "api", name)


def parse_address(text: str | None) -> Address:
    """Parse unix:PATH, http://HOST:PORT or https://HOST:PORT.

    None means the value of AIBOX_URL, or else the user's own Unix socket.
    """
    text = text or os.environ.get("AIBOX_URL") or "unix:" + default_socket()
    if text.startswith("unix:"):
        path = re.sub(r"\A//(?=/)", "", text[len("unix:") :])
        if not path.startswith("/"):
            raise InvalidError(f"the path of the socket {text!r} is not absolute")
        return Address(socket=path)
    bad = InvalidError(f"{text!r} is not the address of a server", hints=["use unix:PATH, http://HOST:PORT or https://HOST:PORT"])
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError:
        raise bad from None
    if parts.scheme not in ("http", "https") or not host or parts.path not in ("", "/") or parts.query or parts.username:
        raise bad
    tls = parts.scheme == "https"
    return Address(host=host, port=port or (443 if tls else 80), tls=tls)


def parse_token(token: str | None) -> str:
    """Check a token. None means the value of AIBOX_TOKEN, or none."""
    token = os.environ.get("AIBOX_TOKEN", "") if token is None else token
    if not re.fullmatch(r"[!-~]*", token):
        raise InvalidError("the token has characters that no token has")
    return token


def check_path(path: str) -> None:
    """Refuse an escaped path that a URL cannot hold: it would lead to another path, and so perhaps out of a port."""
    only = re.split("[?#]", path, maxsplit=1)[0]
    if re.search(r"/(\.|%2e){1,2}(/|$)", only, re.IGNORECASE):
        raise InvalidError(f"the path {path!r} has a segment . or ..")


def keep_alive(connection: socket.socket) -> None:
    """Make a call without a timeout notice a server that has vanished."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)  # seconds


def is_idle(connection: socket.socket) -> bool:
    """Report whether the other end has neither closed the connection nor sent anything."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return not poll.poll(0)


class Deadline:
    """The end of the time for a call with all of its attempts. Without a timeout there is none."""

    def __init__(self, timeout: float | None = None) -> None:
        self._end = None if timeout is None else time.monotonic() + timeout

    def left(self, most: float | None = None) -> float | None:
        """Return how many seconds are left, up to most, or raise TimedOutError if there are none."""
        if self._end is None:
            return most
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimedOutError("the server did not answer in time")
        return left if most is None else min(left, most)

    def allows(self, pause: float) -> bool:
        """Report whether time is left after a pause, in seconds."""
        return self._end is None or time.monotonic() + pause < self._end


def pause_after(err: OSError, address: Address, deadline: Deadline, delay: float | None) -> float:
    """Return how many seconds to wait after a failed attempt to connect, or raise the error of the call.

    delay is how long to wait if there is time for another attempt; None after the last attempt.
    """
    is_timeout = isinstance(err, TimeoutError)
    if is_timeout:
        deadline.left()  # raises TimedOutError at the end of the time
    if delay is None or isinstance(err, ssl.SSLError) or not is_timeout and not deadline.allows(delay):
        raise ConnectionLostError(f"cannot connect to the server at {address}: {err}", hints=["start it with `aibox serve`"]) from err
    return deadline.left(delay) or 0


def join_headers(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by their names in lower case. Several of one name are joined by commas."""
    headers: dict[str, str] = {}
    for name, value in fields:
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def encode(document: Any) -> bytes:
    """Return a JSON document as bytes."""
    return json.dumps(document, separators=(",", ":")).encode()


def decode(data: bytes) -> Any:
    """Parse a JSON document of the server."""
    try:
        return json.loads(data)
    except ValueError as err:
        raise ProtocolError(f"the server's answer is not JSON: {data[:100]!r}") from err


def parse(kind: type[M], document: Any) -> M:
    """Return the message that a JSON document of the server holds."""
    try:
        return kind.from_json(document)
    except (ValueError, TypeError, AttributeError, OverflowError) as err:
        raise ProtocolError(f"the server's answer is not a message of aibox: {err}") from err


def envelope(document: Any) -> bytes:
    """Return a message of a stream."""
    data = encode(document)
    return struct.pack(">BI", 0, len(data)) + data


def parse_header(header: bytes) -> tuple[bool, int]:
    """Parse the header of an envelope: whether it is the last one, and the length of its document."""
    flags, length = struct.unpack(">BI", header)
    if flags & COMPRESSED or length > MAX_BYTES:
        raise ProtocolError("the server's answer is not a stream of aibox")
    return bool(flags & END), length


def check_end(data: bytes) -> None:
    """Raise the error of the last envelope, if it holds one."""
    document = decode(data)
    if not isinstance(document, Mapping):
        raise ProtocolError("the server's answer is not a stream of aibox")
    if document.get("error"):
        raise error_of_document(document["error"])


def error_of_response(status: int, data: bytes) -> AiboxError:
    """Return the error of a response that is not a success."""
    try:
        document = json.loads(data)
    except ValueError:
        document = None
    if isinstance(document, Mapping):
        inner = document.get("error")
        document = inner if isinstance(inner, Mapping) else document
        if isinstance(document.get("kind"), str) or isinstance(document.get("code"), str):
            return error_of_document(document)
    text = data[:200].decode("utf-8", "replace").strip()
    message = f"the server answered with the HTTP status {status}" + (f": {text}" if text else "")
    return ConnectionLostError(message) if status in _OF_PROXIES else ProtocolError(message)


# HTTP statuses of proxies that do not reach the server. Those of the server itself have an error.
_OF_PROXIES = (502, 503, 504)


# Connect's codes, for servers or proxies that add no details.
_CODES = {
    "canceled": "canceled",
    "invalid_argument": "invalid",
    "deadline_exceeded": "timeout",
    "not_found": "not_found",
    "already_exists": "conflict",
    "permission_denied": "refused",
    "resource_exhausted": "limit",
    "failed_precondition": "conflict",
    "aborted": "failed",
    "out_of_range": "invalid",
    "unimplemented": "unsupported",
    "unavailable": "environment",
    "unauthenticated": "unauthenticated",
}


def error_of_document(document: Any) -> AiboxError:
    """Return the error in a document of Connect, whose details hold aibox's error, or of aibox itself."""
    if not isinstance(document, Mapping):
        return ProtocolError(f"the server's error is not one of aibox: {document!r:.100}")
    if document.get("kind"):
        hints = [str(hint) for hint in _list(document.get("hints"))]
        return error_of(str(document["kind"]), str(document.get("message", "")), hints, str(document.get("id", "")))
    for detail in _list(document.get("details")):
        if isinstance(detail, Mapping) and detail.get("type") == "aibox.v1.Error":
            try:
                return _error_of_detail(str(detail.get("value", "")))
            except (ValueError, IndexError, binascii.Error):
                break
    code = str(document.get("code", ""))
    return error_of(_CODES.get(code, "internal"), str(document.get("message") or code or "the call failed"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _error_of_detail(value: str) -> AiboxError:
    """Parse an aibox.v1.Error in Protobuf's binary form. All of its fields are strings."""
    texts: dict[int, list[str]] = {}
    for number, data in _strings(base64.b64decode(value + "=" * (-len(value) % 4))):
        texts.setdefault(number, []).append(data.decode("utf-8", "replace"))
    kind, message, request_id = ("".join(texts.get(number, [])[-1:]) for number in (1, 2, 4))
    return error_of(kind, message, texts.get(3, []), request_id)


def _strings(data: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(data):
        tag = varint()
        if tag & 7 != 2:
            raise ValueError("not a string")
        length = varint()
        if position + length > len(data):
            raise ValueError("cut")
        yield tag >> 3, data[position : position + length]
        position += length


class Backoff:
    """The waits between attempts to continue a stream, and the limit for time without success."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.reset()

    def reset(self) -> None:
        """Start again after an event was received."""
        self._delay = 0.02
        self._since: float | None = None

    def next(self, err: AiboxError) -> float:
        """Return how long to wait before the next attempt, or raise the error of the last one."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if err.kind not in _TEMPORARY or now - self._since > self._patience:
            raise err
        delay = self._delay
        self._delay = min(1.0, delay * 2)
        return delay


# Kinds of errors of a stream that can be continued: the connection was lost, or the server
# is being restarted.
_TEMPORARY = ("connection", "canceled", "environment")

# Kinds of errors of a call that can be repeated if its method permits this: a proxy does not reach
# the server, or the server ended during the call.
REPEATABLE = ("connection", "canceled")
