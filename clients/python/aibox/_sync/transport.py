"""HTTP/1.1 to a server, by http.client, on TCP or a Unix socket."""

from __future__ import annotations

import http.client
import math
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar, overload

from .. import _protocol as protocol
from .._message import Message
from ..errors import AiboxError, ConnectionLostError, ProtocolError, TimedOutError

M = TypeVar("M", bound=Message)

_LOST = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Response:
    """The answer of a program in a sandbox to an HTTP request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _SourceError(Exception):
    """The source of an upload has failed. It is no error of the connection, although its class may be one of those."""

    def __init__(self, cause: OSError) -> None:
        super().__init__()
        self.cause = cause


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        deadline = protocol.Deadline(self.timeout)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            while True:
                try:
                    self.sock.connect(self._path)
                    return
                except BlockingIOError as err:  # too many connections wait for the server
                    if not deadline.allows(0):
                        raise TimeoutError from err
                time.sleep(0.05)
        except OSError:
            self.sock.close()
            raise


def _dial(address: tuple[str, int], deadline: protocol.Deadline) -> socket.socket:
    """Connect to the first address of a name that answers. The handshake has the time that is left."""
    lost: OSError = OSError("the name has no address")
    for *_, resolved in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
        timeout = deadline.left(10)
        try:
            connection = socket.create_connection((str(resolved[0]), address[1]), timeout)
        except OSError as err:
            lost = err
            continue
        try:
            connection.settimeout(deadline.left(10))
        except BaseException:
            connection.close()
            raise
        return connection
    raise lost


class Transport:
    """Sends calls to one server. Several threads can use it."""

    def __init__(self, address: protocol.Address, token: str = "", context: ssl.SSLContext | None = None) -> None:
        self.address = address
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._context = context
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []

    @overload
    def call(self, path: str, request: Message, response: None, *, timeout: float | None = None, idempotent: bool = False) -> None: ...

    @overload
    def call(self, path: str, request: Message, response: type[M], *, timeout: float | None = None, idempotent: bool = False) -> M: ...

    def call(self, path: str, request: Message, response: type[M] | None, *, timeout: float | None = None, idempotent: bool = False) -> M | None:
        """Make a call. It is repeated if its answer was lost and the method permits this."""
        body = protocol.encode(request.to_json())

        def attempt(connection: http.client.HTTPConnection, rest: float | None) -> Response:
            return self._exchange(connection, "POST", path, {**protocol.UNARY_HEADERS, **self._headers}, body, rest)

        result = self._attempts(attempt, idempotent, timeout, is_call=True, is_deletion=idempotent and response is None)
        document = protocol.decode(result.body)
        return protocol.parse(response, document) if response else None

    def events(self, path: str, request: Message, response: type[M], max_silence: float | None = None) -> Iterator[M]:
        """Make a call that returns a stream with keep-alive events. Without max_silence, it is protocol.MAX_SILENCE."""
        return self.stream(path, request, response, protocol.MAX_SILENCE if max_silence is None else max_silence)

    def stream(self, path: str, request: Message, response: type[M], max_silence: float | None = None) -> Iterator[M]:
        """Make a call that returns a stream. It is lost if nothing arrives for max_silence, in seconds.

        None and math.inf are no limit.
        """
        if max_silence == math.inf:
            max_silence = None
        body = protocol.envelope(request.to_json())
        connection = self._connect()
        try:
            connection.sock.settimeout(max_silence)
            answer = self._request(connection, path, body)
            while (data := self._envelope(answer)) is not None:
                yield protocol.parse(response, protocol.decode(data))
        finally:
            connection.close()

    @overload
    def upload(self, path: str, requests: Iterable[Message], response: None) -> None: ...

    @overload
    def upload(self, path: str, requests: Iterable[Message], response: type[M]) -> M: ...

    def upload(self, path: str, requests: Iterable[Message], response: type[M] | None) -> M | None:
        """Make a call whose request is a stream."""
        connection = self._connect()
        try:
            answer = self._request(connection, path, _envelopes(requests))
            data = self._envelope(answer)
            if data is None or self._envelope(answer) is not None:
                raise ProtocolError("the server's answer is not one message")
            return protocol.parse(response, protocol.decode(data)) if response else None
        except _SourceError as err:
            raise err.cause from None
        finally:
            connection.close()

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", timeout: float | None = None) -> Response:
        """Send a request that is not a call."""

        def attempt(connection: http.client.HTTPConnection, rest: float | None) -> Response:
            return self._exchange(connection, method, path, {**headers, **self._headers}, body, rest)

        return self._attempts(attempt, False, timeout)

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            connections, self._idle = self._idle, []
        for connection in connections:
            connection.close()

    def _attempts(
        self,
        attempt: Callable[[http.client.HTTPConnection, float | None], Response],
        idempotent: bool,
        timeout: float | None,
        is_call: bool = False,
        is_deletion: bool = False,
    ) -> Response:
        deadline = protocol.Deadline(timeout)
        for number, delay in enumerate((*protocol.ATTEMPTS, None)):
            connection = self._pooled() or self._connect(deadline)
            try:
                result = attempt(connection, deadline.left())
            except _LOST as err:
                connection.close()
                if isinstance(err, TimeoutError) and err.errno is None:  # otherwise the other end has vanished
                    raise TimedOutError("the server did not answer in time") from err
                if not idempotent or delay is None:
                    raise ConnectionLostError(f"the connection to {self.address} was lost: {err}") from err
                time.sleep(deadline.left(delay) or 0)
                continue
            except BaseException:
                connection.close()
                raise
            if not is_call or result.status == 200:
                return result
            failure = protocol.error_of_response(result.status, result.body)
            if is_deletion and number > 0 and failure.kind == "not_found":
                return result  # an earlier attempt, whose answer was lost, has deleted it
            if not idempotent or delay is None or failure.kind not in protocol.REPEATABLE:
                raise failure
            time.sleep(deadline.left(delay) or 0)
        raise AssertionError

    def _exchange(self, connection: http.client.HTTPConnection, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout: float | None) -> Response:
        with _deadline(connection, timeout):
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            data = answer.read(protocol.MAX_BYTES + 1)
        if len(data) > protocol.MAX_BYTES:
            raise ProtocolError("the server's answer is too large")
        if answer.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append(connection)
        return Response(answer.status, protocol.join_headers(answer.getheaders()), data)

    def _pooled(self) -> http.client.HTTPConnection | None:
        """Return an idle connection that the server has not closed."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.sock is not None and protocol.is_idle(connection.sock):
                return connection
            connection.close()

    def _connect(self, deadline: protocol.Deadline | None = None) -> http.client.HTTPConnection:
        """Connect to the server. It may be restarting, so try several times."""
        deadline = deadline or protocol.Deadline()
        for delay in (*protocol.ATTEMPTS, None):
            connection = self._connection(deadline)
            try:
                connection.connect()
            except OSError as err:
                connection.close()
                time.sleep(protocol.pause_after(err, self.address, deadline, delay))
                continue
            if not self.address.socket:
                protocol.keep_alive(connection.sock)
            connection.sock.settimeout(None)
            return connection
        raise AssertionError

    def _connection(self, deadline: protocol.Deadline) -> http.client.HTTPConnection:
        address = self.address
        if address.socket:
            return _UnixConnection(address.socket, deadline.left(10))
        if address.tls:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(address.host, address.port, context=self._context)
        else:
            connection = http.client.HTTPConnection(address.host, address.port)
        # By default, each address of a name and the handshake would have the whole time.
        connection._create_connection = lambda to, *_: _dial(to, deadline)  # type: ignore[attr-defined]
        return connection

    def _request(self, connection: http.client.HTTPConnection, path: str, body: bytes | Iterable[bytes]) -> http.client.HTTPResponse:
        headers: dict[str, Any] = {**protocol.STREAM_HEADERS, **self._headers}
        try:
            try:
                connection.request("POST", path, body, headers, encode_chunked=not isinstance(body, bytes))
            except (BrokenPipeError, ConnectionResetError) as err:
                raise self._refusal(connection) or err from None
            answer = connection.getresponse()
        except _LOST as err:
            raise ConnectionLostError(f"the connection to {self.address} was lost: {err}") from err
        self._check(answer)
        return answer

    def _refusal(self, connection: http.client.HTTPConnection) -> AiboxError | None:
        """Return the error of a server that has refused the rest of a body."""
        with suppress(*_LOST):
            answer = http.client.HTTPResponse(connection.sock, method="POST")
            answer.begin()
            try:
                self._check(answer)
                self._envelope(answer)
            except ConnectionLostError:
                return None
            except AiboxError as refusal:
                return refusal
        return None

    def _check(self, answer: http.client.HTTPResponse) -> None:
        if answer.status != 200:
            raise protocol.error_of_response(answer.status, self._read(answer, 1 << 20, exact=False))

    def _envelope(self, answer: http.client.HTTPResponse) -> bytes | None:
        """Read a document of a stream. None: it has ended without an error."""
        last, length = protocol.parse_header(self._read(answer, protocol.HEADER_BYTES))
        data = self._read(answer, length)
        if last:
            protocol.check_end(data)
            return None
        return data

    def _read(self, answer: http.client.HTTPResponse, count: int, exact: bool = True) -> bytes:
        try:
            data = answer.read(count)
        except _LOST as err:
            raise ConnectionLostError(f"the connection to {self.address} was lost: {err}") from err
        if exact and len(data) < count:
            raise ConnectionLostError(f"the connection to {self.address} was lost")
        return data


@contextmanager
def _deadline(connection: http.client.HTTPConnection, timeout: float | None) -> Iterator[None]:
    """End an exchange after a time, in any phase. The timeout of a socket is only one between bytes."""
    if timeout is None:
        yield
        return
    expired, sock = threading.Event(), connection.sock

    def expire() -> None:
        expired.set()
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not that of TLS, which another thread uses

    timer = threading.Timer(timeout, expire)
    timer.daemon = True
    timer.start()
    try:
        yield
    except _LOST as err:
        if expired.is_set():
            raise TimeoutError from err
        raise
    finally:
        timer.cancel()
    if expired.is_set():  # what was read ends at the shutdown
        raise TimeoutError


def _envelopes(requests: Iterable[Message]) -> Iterator[bytes]:
    try:
        for request in requests:
            yield protocol.envelope(request.to_json())
    except OSError as err:
        raise _SourceError(err) from None


def pause(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def pieces(source: BinaryIO) -> Iterator[bytes]:
    """Return the rest of a file in pieces."""
    while data := source.read(protocol.PIECE_BYTES):
        yield data
