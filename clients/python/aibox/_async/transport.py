"""HTTP/1.1 to a server, on asyncio's streams: the standard library has no HTTP client for them."""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, TypeVar, overload

from .. import _protocol as protocol
from .._message import Message
from .._sync.transport import Response
from ..errors import AiboxError, ConnectionLostError, ProtocolError, TimedOutError

M = TypeVar("M", bound=Message)
T = TypeVar("T")

_LOST = (OSError, EOFError, asyncio.LimitOverrunError)
_BUFFER_BYTES = 1 << 20


@dataclass
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def close(self) -> None:
        with suppress(RuntimeError):  # The loop may be closed.
            self.writer.close()


class _Answer:
    """The answer on a connection: its status and headers, and its body in pieces."""

    def __init__(self, reader: asyncio.StreamReader, status: int, headers: dict[str, str], bodiless: bool) -> None:
        self.status = status
        self.headers = headers
        self._reader = reader
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        self._left: int | None = None  # of the body, or of its current chunk
        self._ended = bodiless
        if not self._chunked and "content-length" in headers:
            self._left = _number(headers["content-length"], 10)
            self._ended = self._ended or self._left == 0
        self.reusable = (self._chunked or self._left is not None or bodiless) and headers.get("connection", "").lower() != "close"

    @classmethod
    async def read_head(cls, reader: asyncio.StreamReader, method: str) -> _Answer:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, _, rest = head.partition("\r\n")
            version, _, status_text = line.partition(" ")
            if not version.startswith("HTTP/1."):
                raise ProtocolError("the server does not speak HTTP/1.1")
            status = _number(status_text[:3], 10)
            if status >= 200:
                break
        fields = (field.partition(":") for field in rest.split("\r\n"))
        headers = protocol.join_headers((name.strip(), value.strip()) for name, colon, value in fields if colon)
        return cls(reader, status, headers, method == "HEAD" or status in (204, 304))

    async def read(self, limit: int) -> bytes:
        """Return up to limit bytes, or nothing at the end of the body."""
        if self._ended:
            return b""
        if self._chunked and not self._left:
            await self._next_chunk()
            if self._ended:
                return b""
        data = await self._reader.read(min(limit, limit if self._left is None else self._left))
        if not data:
            if self._left is None:
                self._ended = True
                return b""
            raise EOFError("the connection was closed")
        if self._left is not None:
            self._left -= len(data)
            self._ended = self._left == 0 and not self._chunked
        return data

    async def _next_chunk(self) -> None:
        if self._left == 0:
            await self._reader.readexactly(2)
        line = await self._reader.readuntil(b"\r\n")
        self._left = _number(line.split(b";")[0].strip().decode("latin-1"), 16)
        if self._left == 0:
            while await self._reader.readuntil(b"\r\n") != b"\r\n":
                pass
            self._ended = True

    async def read_exactly(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count > 0:
            data = await self.read(count)
            if not data:
                raise EOFError("the answer ended early")
            parts.append(data)
            count -= len(data)
        return b"".join(parts)

    async def read_all(self, limit: int) -> bytes:
        parts: list[bytes] = []
        while data := await self.read(1 << 16):
            parts.append(data)
            limit -= len(data)
            if limit < 0:
                raise ProtocolError("the server's answer is too large")
        return b"".join(parts)


class _Stored:
    """An answer that was received as a whole."""

    def __init__(self, status: int, data: bytes) -> None:
        self.status = status
        self._data = data

    @classmethod
    async def receive(cls, reader: asyncio.StreamReader) -> _Stored:
        answer = await _Answer.read_head(reader, "POST")
        return cls(answer.status, await answer.read_all(protocol.MAX_BYTES))

    async def read_exactly(self, count: int) -> bytes:
        if count > len(self._data):
            raise EOFError("the answer ended early")
        data, self._data = self._data[:count], self._data[count:]
        return data

    async def read_all(self, limit: int) -> bytes:
        return self._data[:limit]


def _number(text: str, base: int) -> int:
    if not text.isascii() or not text.isalnum():
        raise ProtocolError("the server does not speak HTTP/1.1")
    try:
        return int(text, base)
    except ValueError as err:
        raise ProtocolError("the server does not speak HTTP/1.1") from err


class AsyncTransport:
    """Sends calls to one server, on one event loop."""

    def __init__(self, address: protocol.Address, token: str = "", context: ssl.SSLContext | None = None) -> None:
        self.address = address
        self._headers = {"Host": address.authority}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._context = context
        self._idle: list[_Connection] = []

    @overload
    async def call(self, path: str, request: Message, response: None, *, timeout: float | None = None, idempotent: bool = False) -> None: ...

    @overload
    async def call(self, path: str, request: Message, response: type[M], *, timeout: float | None = None, idempotent: bool = False) -> M: ...

    async def call(self, path: str, request: Message, response: type[M] | None, *, timeout: float | None = None, idempotent: bool = False) -> M | None:
        """Make a call. It is repeated if its answer was lost and the method permits this."""
        body = protocol.encode(request.to_json())

        async def attempt(connection: _Connection) -> Response:
            return await self._exchange(connection, "POST", path, protocol.UNARY_HEADERS, body)

        result = await self._attempts(attempt, idempotent, timeout, is_call=True, is_deletion=idempotent and response is None)
        document = protocol.decode(result.body)
        return protocol.parse(response, document) if response else None

    def events(self, path: str, request: Message, response: type[M], max_silence: float | None = None) -> AsyncIterator[M]:
        """Make a call that returns a stream with keep-alive events. Without max_silence, it is protocol.MAX_SILENCE."""
        return self.stream(path, request, response, protocol.MAX_SILENCE if max_silence is None else max_silence)

    async def stream(self, path: str, request: Message, response: type[M], max_silence: float | None = None) -> AsyncIterator[M]:
        """Make a call that returns a stream. It is lost if no message arrives for max_silence, in seconds.

        None and math.inf are no limit.
        """
        if max_silence == math.inf:
            max_silence = None
        connection = await self._connect()
        try:
            answer = await self._lost(self._request(connection, path, protocol.envelope(request.to_json())), max_silence)
            while (data := await self._lost(self._envelope(answer), max_silence)) is not None:
                yield protocol.parse(response, protocol.decode(data))
        finally:
            connection.close()

    @overload
    async def upload(self, path: str, requests: AsyncIterable[Message], response: None) -> None: ...

    @overload
    async def upload(self, path: str, requests: AsyncIterable[Message], response: type[M]) -> M: ...

    async def upload(self, path: str, requests: AsyncIterable[Message], response: type[M] | None) -> M | None:
        """Make a call whose request is a stream."""
        connection = await self._connect()
        try:
            answer = await self._send(connection, path, requests)
            await self._check(answer)
            data = await self._lost(self._envelope(answer))
            if data is None or await self._lost(self._envelope(answer)) is not None:
                raise ProtocolError("the server's answer is not one message")
            return protocol.parse(response, protocol.decode(data)) if response else None
        finally:
            connection.close()

    async def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", timeout: float | None = None) -> Response:
        """Send a request that is not a call."""

        async def attempt(connection: _Connection) -> Response:
            return await self._exchange(connection, method, path, headers, body)

        return await self._attempts(attempt, False, timeout)

    async def close(self) -> None:
        """Close the idle connections."""
        connections, self._idle = self._idle, []
        for connection in connections:
            connection.close()
            with suppress(*_LOST):
                await connection.writer.wait_closed()

    async def _attempts(
        self,
        attempt: Callable[[_Connection], Awaitable[Response]],
        idempotent: bool,
        timeout: float | None,
        is_call: bool = False,
        is_deletion: bool = False,
    ) -> Response:
        deadline = protocol.Deadline(timeout)
        for number, delay in enumerate((*protocol.ATTEMPTS, None)):
            connection = self._pooled() or await self._connect(deadline)
            try:
                rest = deadline.left()
                result = await asyncio.wait_for(attempt(connection), rest)
            except _LOST as err:
                connection.close()
                if isinstance(err, TimeoutError) and err.errno is None:  # otherwise the other end has vanished
                    raise TimedOutError("the server did not answer in time") from err
                if not idempotent or delay is None:
                    raise ConnectionLostError(f"the connection to {self.address} was lost: {err}") from err
                await asyncio.sleep(deadline.left(delay) or 0)
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
            await asyncio.sleep(deadline.left(delay) or 0)
        raise AssertionError

    async def _exchange(self, connection: _Connection, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        connection.writer.write(self._head(method, path, {**headers, "Content-Length": str(len(body))}) + body)
        await connection.writer.drain()
        answer = await _Answer.read_head(connection.reader, method)
        data = await answer.read_all(protocol.MAX_BYTES)
        if answer.reusable:
            self._idle.append(connection)
        else:
            connection.close()
        return Response(answer.status, answer.headers, data)

    def _head(self, method: str, path: str, headers: Mapping[str, str]) -> bytes:
        fields = {**headers, **self._headers}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
        if any(char in line for line in lines for char in "\r\n\0"):
            raise ValueError("a header has a line break")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _pooled(self) -> _Connection | None:
        """Return an idle connection that the server has not closed."""
        while self._idle:
            connection = self._idle.pop()
            # The event loop may not have run since the server has closed it.
            if not connection.writer.is_closing() and protocol.is_idle(connection.writer.get_extra_info("socket")):
                return connection
            connection.close()
        return None

    async def _connect(self, deadline: protocol.Deadline | None = None) -> _Connection:
        """Connect to the server. It may be restarting, so try several times."""
        deadline = deadline or protocol.Deadline()
        for delay in (*protocol.ATTEMPTS, None):
            rest = deadline.left(10)
            try:
                return await asyncio.wait_for(self._open(), rest)
            except OSError as err:
                await asyncio.sleep(protocol.pause_after(err, self.address, deadline, delay))
        raise AssertionError

    async def _open(self) -> _Connection:
        address = self.address
        if address.socket:
            return _Connection(*await asyncio.open_unix_connection(address.socket, limit=_BUFFER_BYTES))
        context = (self._context or ssl.create_default_context()) if address.tls else None
        reader, writer = await asyncio.open_connection(address.host, address.port, ssl=context, limit=_BUFFER_BYTES)
        # A call without a timeout would otherwise wait forever for a server that has vanished.
        protocol.keep_alive(writer.get_extra_info("socket"))
        return _Connection(reader, writer)

    async def _request(self, connection: _Connection, path: str, body: bytes) -> _Answer:
        head = self._head("POST", path, {**protocol.STREAM_HEADERS, "Content-Length": str(len(body))})
        connection.writer.write(head + body)
        await connection.writer.drain()
        answer = await _Answer.read_head(connection.reader, "POST")
        await self._check(answer)
        return answer

    async def _send(self, connection: _Connection, path: str, requests: AsyncIterable[Message]) -> _Stored:
        """Send a stream. The server may answer before its end, and refuse the rest."""
        answer = asyncio.ensure_future(_Stored.receive(connection.reader))

        async def write(data: bytes) -> None:
            with suppress(*_LOST):  # the answer has the reason
                connection.writer.write(data)
                await connection.writer.drain()

        try:
            await write(self._head("POST", path, {**protocol.STREAM_HEADERS, "Transfer-Encoding": "chunked"}))
            async for message in requests:
                data = protocol.envelope(message.to_json())
                await write(b"%x\r\n%b\r\n" % (len(data), data))
                if answer.done() or connection.writer.is_closing():
                    break
            else:
                await write(b"0\r\n\r\n")
            return await self._lost(answer)
        finally:
            answer.cancel()

    async def _check(self, answer: _Answer | _Stored) -> None:
        if answer.status != 200:
            raise protocol.error_of_response(answer.status, await answer.read_all(1 << 20))

    async def _envelope(self, answer: _Answer | _Stored) -> bytes | None:
        """Read a document of a stream. None: it has ended without an error."""
        last, length = protocol.parse_header(await answer.read_exactly(protocol.HEADER_BYTES))
        data = await answer.read_exactly(length)
        if last:
            protocol.check_end(data)
            return None
        return data

    async def _lost(self, step: Awaitable[T], timeout: float | None = None) -> T:
        try:
            async with asyncio.timeout(timeout):
                return await step
        except _LOST as err:
            reason = str(err) or "nothing was received"
            raise ConnectionLostError(f"the connection to {self.address} was lost: {reason}") from err


async def pause(seconds: float) -> None:
    """Wait."""
    await asyncio.sleep(seconds)


async def pieces(source: BinaryIO) -> AsyncIterator[bytes]:
    """Return the rest of a file in pieces. It is read in another thread, since it may be slow."""
    while data := await asyncio.to_thread(source.read, protocol.PIECE_BYTES):
        yield data
