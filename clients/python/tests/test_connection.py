"""Tests of connections that fall silent or lead to a proxy, and of answers that no server of aibox gives.

Each test uses both clients, on servers of its own.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import math
import select
import socket
import struct
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from unittest import mock

from aibox import AsyncClient, AsyncSandbox, Client, Sandbox, errors, schema
from aibox import _protocol as protocol
from aibox._protocol import STREAM_HEADERS
from aibox._sync.transport import Transport


class Held(bytes):
    """An answer after which the connection stays open."""


class Dripping(Held):
    """The begin of an answer that continues without an end, byte by byte."""


class Server:
    """A server that gives each request, on a connection of its own, the next answer."""

    def __init__(self, answers: tuple[bytes, ...]) -> None:
        self._answers = iter(answers)
        self._closed = threading.Event()
        self._connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for answer in self._answers:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            with connection.makefile("rb") as reader:
                head = b"".join(iter(reader.readline, b"\r\n")).lower()
                if b"content-length" in head:
                    reader.read(int(head.partition(b"content-length:")[2].split()[0]))
            connection.sendall(answer)
            if isinstance(answer, Dripping):
                with suppress(OSError):  # the client closes the connection
                    while not self._closed.wait(0.05):
                        connection.sendall(b"x")
            if not isinstance(answer, Held):
                connection.close()

    def close(self) -> None:
        self._closed.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for connection in (*self._connections, self._listener):
            connection.close()


def answer(status: int, body: bytes, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def envelope(document: object, flags: int = 0) -> bytes:
    data = json.dumps(document).encode()
    return struct.pack(">BI", flags, len(data)) + data


def stream(*envelopes: bytes) -> bytes:
    return answer(200, b"".join(envelopes), STREAM_HEADERS["Content-Type"])


BAD_GATEWAY = answer(502, b"<html>Bad Gateway</html>", "text/html")
INFO = answer(200, b'{"version": "1.2.3"}')
ONE = envelope({"seq": "1", "stdout": {"data": "YQ=="}})
EXIT = envelope({"seq": "2", "exit": {"code": 3}}) + envelope({}, 2)


def uses(use: Callable[[Any], Any], *answers: bytes) -> Iterator[Callable[[], Any]]:
    """Return functions that use a sandbox of each client, and return the result or the items."""

    def synchronous(url: str) -> Any:
        with Client(url, "token") as client:
            result = use(Sandbox(client, schema.Sandbox(sandbox_id="s")))
            return list(result) if inspect.isgenerator(result) else result

    async def asynchronous(url: str) -> Any:
        async with AsyncClient(url, "token") as client:
            result = use(AsyncSandbox(client, schema.Sandbox(sandbox_id="s")))
            return [item async for item in result] if inspect.isasyncgen(result) else await asyncio.wait_for(result, 60)

    for run in (synchronous, lambda url: asyncio.run(asynchronous(url))):
        server = Server(answers)
        try:
            yield lambda: run(server.url)
        finally:
            server.close()


class ConnectionTest(unittest.TestCase):
    def test_an_error_of_the_source_of_an_upload_is_that_of_the_caller(self) -> None:
        class Broken(io.BytesIO):
            def read(self, size: int | None = -1) -> bytes:
                raise OSError("the disk is broken")

        for use in uses(lambda sandbox: sandbox.write_file("x", Broken()), Held()):
            with self.assertRaisesRegex(OSError, "the disk is broken"):
                use()

    def test_a_call_is_repeated_while_a_proxy_does_not_reach_the_server(self) -> None:
        for use in uses(lambda sandbox: sandbox.client.info(), BAD_GATEWAY, answer(503, b'{"message": "no upstream"}'), INFO):
            self.assertEqual(use().version, "1.2.3")

    def test_a_call_that_cannot_be_repeated_is_lost_at_a_proxy(self) -> None:
        for use in uses(lambda sandbox: sandbox.exec(["true"]), BAD_GATEWAY):
            with self.assertRaisesRegex(errors.ConnectionLostError, "HTTP status 502"):
                use()

    def test_a_stream_continues_when_a_proxy_reaches_the_server_again(self) -> None:
        for use in uses(lambda sandbox: sandbox.process(1).events(), stream(ONE), BAD_GATEWAY, stream(EXIT)):
            self.assertEqual([event.seq for event in use()], [1, 2])

    def test_an_error_of_the_server_itself_is_no_error_of_a_proxy(self) -> None:
        error = {"code": "unavailable", "message": "no runtime"}
        for use in uses(lambda sandbox: sandbox.client.info(), answer(503, json.dumps(error).encode())):
            with self.assertRaisesRegex(errors.MachineError, "no runtime"):
                use()

    def test_a_call_is_repeated_that_the_end_of_the_server_has_canceled(self) -> None:
        for use in uses(lambda sandbox: sandbox.client.info(), answer(499, b'{"code": "canceled"}'), INFO):
            self.assertEqual(use().version, "1.2.3")

    def test_what_is_no_answer_of_the_schema_is_an_error_of_the_protocol(self) -> None:
        for body in (b"null", b"[]", b'"text"', b'{"quota": 3}', b'{"rights": 3}', b'{"usage": {"sandboxes": "many"}}'):
            for use in uses(lambda sandbox: sandbox.client.info(), answer(200, body)):
                with self.subTest(body=body), self.assertRaises(errors.ProtocolError):
                    use()
        for use in uses(lambda sandbox: sandbox.destroy(), answer(200, b"<html>Log in</html>", "text/html")):
            with self.assertRaises(errors.ProtocolError):
                use()
        for document in (None, [], {"seq": "1", "stdout": {"data": "a"}}, {"seq": "1", "time": "noon"}):
            for use in uses(lambda sandbox: sandbox.process(1).events(), stream(envelope(document))):
                with self.subTest(document=document), self.assertRaises(errors.ProtocolError):
                    use()
        for error in (b"null", b'{"error": 3, "code": 4}', b'{"code": "internal", "details": 3}', b'{"kind": "invalid", "hints": 3}'):
            for use in uses(lambda sandbox: sandbox.client.info(), answer(400, error)):
                with self.subTest(error=error), self.assertRaises(errors.AiboxError):
                    use()

    def test_the_url_of_an_opened_port_is_the_one_that_the_server_signed(self) -> None:
        signed = "http://80-s.localhost:8800/?aibox=signed"
        for use in uses(lambda sandbox: sandbox.open_port(80), answer(200, json.dumps({"url": signed}).encode())):
            self.assertEqual(use(), signed)

    def test_a_timeout_is_for_the_whole_answer(self) -> None:
        for use in uses(lambda sandbox: sandbox.request_port(80, timeout=0.5), Dripping(b"HTTP/1.1 200 OK\r\n\r\n")):
            with self.assertRaises(errors.TimedOutError):
                use()

    def test_a_server_that_has_vanished_is_noticed_without_a_timeout(self) -> None:
        kept = []
        setsockopt = socket.socket.setsockopt

        def spy(sock: socket.socket, *option: Any) -> None:
            kept.append(option)
            setsockopt(sock, *option)

        with mock.patch.object(socket.socket, "setsockopt", spy):
            for run in uses(lambda sandbox: sandbox.client.info(), INFO):
                kept.clear()
                run()
                self.assertIn((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), kept)

    def test_a_timeout_is_also_for_connecting(self) -> None:
        given = []

        def drop(address: object, timeout: float, *rest: object) -> socket.socket:
            given.append(timeout)
            raise TimeoutError

        async def hang(*args: object, **options: object) -> None:
            await asyncio.Event().wait()

        async def asynchronous() -> None:
            async with AsyncClient("http://127.0.0.1:9", "token") as client:
                await asyncio.wait_for(client.sandboxes.list(schema.ListSandboxesRequest(), timeout=0.2), 60)

        with mock.patch("aibox._protocol.ATTEMPTS", (60, 60, 60)):
            with mock.patch("socket.create_connection", drop), Client("http://127.0.0.1:9", "token") as client, self.assertRaises(errors.TimedOutError):
                client.sandboxes.list(schema.ListSandboxesRequest(), timeout=0.2)
            with mock.patch("asyncio.open_connection", hang), self.assertRaises(errors.TimedOutError):
                asyncio.run(asynchronous())
        self.assertEqual([timeout <= 0.2 for timeout in given], [True])

    def test_a_timeout_is_also_for_connecting_on_a_unix_socket(self) -> None:
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
            listener.bind(folder + "/socket")
            listener.listen(0)
            first.connect(folder + "/socket")  # it fills the queue of the server, which accepts none
            caught: list[BaseException] = []

            def call() -> None:
                try:
                    with Client(f"unix:{folder}/socket") as client:
                        client.sandboxes.list(schema.ListSandboxesRequest(), timeout=0.2)
                except BaseException as err:
                    caught.append(err)

            thread = threading.Thread(target=call, daemon=True)
            thread.start()
            thread.join(20)
            self.assertEqual([type(err) for err in caught], [errors.TimedOutError])

    def test_a_server_that_does_not_run_is_named_despite_a_short_timeout(self) -> None:
        def synchronous(url: str) -> None:
            with Client(url) as client:
                client.sandboxes.list(schema.ListSandboxesRequest(), timeout=0.3)

        async def asynchronous(url: str) -> None:
            async with AsyncClient(url) as client:
                await client.sandboxes.list(schema.ListSandboxesRequest(), timeout=0.3)

        with tempfile.TemporaryDirectory() as folder:
            for run in (synchronous, lambda url: asyncio.run(asynchronous(url))):
                with self.assertRaises(errors.ConnectionLostError) as caught:
                    run(f"unix:{folder}/missing")
                self.assertEqual(caught.exception.hints, ["start it with `aibox serve`"])

    def test_a_timeout_is_for_all_addresses_of_a_name_and_the_handshake_together(self) -> None:
        now, given = 0, []
        resolved = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"192.0.2.{number}", 80)) for number in range(4)]
        connected = mock.Mock()

        def drop(address: tuple[str, int], timeout: float, *rest: object) -> Any:
            nonlocal now
            now += 1
            given.append(timeout)
            if address[0] == "192.0.2.3":
                return connected
            raise TimeoutError

        with (
            mock.patch("time.monotonic", lambda: now),
            mock.patch("socket.getaddrinfo", lambda *args, **options: resolved),
            mock.patch("socket.create_connection", drop),
        ):
            Transport(protocol.Address(host="box.example.com", port=80))._connection(protocol.Deadline(9)).connect()
        self.assertEqual(given, [9, 8, 7, 6])
        connected.settimeout.assert_called_with(5)

    def test_a_timeout_is_for_all_attempts_together(self) -> None:
        request = schema.ListSandboxesRequest()
        with mock.patch("aibox._protocol.ATTEMPTS", (60, 60, 60)):
            for use in uses(lambda sandbox: sandbox.client.sandboxes.list(request, timeout=0.2), BAD_GATEWAY, INFO):
                with self.assertRaises(errors.TimedOutError):
                    use()

    def test_a_connection_that_the_server_has_closed_is_not_used_again(self) -> None:
        kept = INFO.replace(b"Connection: close\r\n", b"")

        def await_close(connection: socket.socket) -> None:
            poll = select.poll()
            poll.register(connection, select.POLLIN)
            poll.poll(60_000)

        def use_twice(sandbox: Any) -> Any:
            async def asynchronous() -> Any:
                await sandbox.client.info()
                await_close(sandbox.client.transport._idle[0].writer.get_extra_info("socket"))  # the event loop does not run meanwhile
                return await sandbox.exec(["true"])

            if isinstance(sandbox, AsyncSandbox):
                return asynchronous()
            sandbox.client.info()
            await_close(sandbox.client.transport._idle[0].sock)
            return sandbox.exec(["true"])

        for use in uses(use_twice, kept, answer(200, b'{"exit": {"code": 3}}')):
            self.assertEqual(use().exit_code, 3)

    def test_a_fork_is_returned_although_its_snapshot_cannot_be_deleted(self) -> None:
        taken, broken = answer(200, b'{"snapshotId": "n"}'), answer(500, b'{"code": "internal", "message": "broken"}')
        for use in uses(lambda sandbox: sandbox.fork(), taken, answer(200, b'{"sandboxId": "t"}'), broken):
            self.assertEqual(use().sandbox_id, "t")
        for use in uses(lambda sandbox: sandbox.fork(), taken, answer(429, b'{"code": "resource_exhausted", "message": "full"}'), broken):
            with self.assertRaisesRegex(errors.LimitError, "full"):
                use()

    def test_what_an_attempt_with_a_lost_answer_has_deleted_is_deleted(self) -> None:
        missing = answer(404, b'{"code": "not_found", "message": "there is no volume"}')
        request = schema.DeleteVolumeRequest(name="v")
        for lost in (BAD_GATEWAY, b""):
            for use in uses(lambda sandbox: sandbox.client.volumes.delete(request), lost, missing):
                self.assertIsNone(use())
        for use in uses(lambda sandbox: sandbox.client.volumes.delete(request), missing):
            with self.assertRaises(errors.NotFoundError):
                use()
        for use in uses(lambda sandbox: sandbox.refresh(), BAD_GATEWAY, missing):
            with self.assertRaises(errors.NotFoundError):
                use()

    def test_all_headers_of_a_name_are_returned(self) -> None:
        cookies = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        for use in uses(lambda sandbox: sandbox.request_port(80), cookies):
            self.assertEqual(use().headers["set-cookie"], "a=1, b=2")

    def test_a_stream_continues_on_another_connection_if_the_first_one_is_silent(self) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {STREAM_HEADERS['Content-Type']}\r\nContent-Length: 100000\r\n\r\n".encode()
        answers = (Held(head + ONE), Held(), stream(EXIT), stream(EXIT), stream(EXIT))
        with mock.patch("aibox._protocol.MAX_SILENCE", 0.5):
            for use in uses(lambda sandbox: sandbox.process(1).events(), *answers):
                self.assertEqual([event.seq for event in use()], [1, 2])

    def test_a_watch_is_lost_if_its_connection_is_silent(self) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {STREAM_HEADERS['Content-Type']}\r\nContent-Length: 100000\r\n\r\n".encode()
        with mock.patch("aibox._protocol.MAX_SILENCE", 0.5):
            for use in uses(lambda sandbox: sandbox.watch("/"), Held(head + envelope({}))):
                with self.assertRaises(errors.ConnectionLostError):
                    use()

    def test_a_stream_of_events_without_a_wrapper_is_lost_if_its_connection_is_silent(self) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {STREAM_HEADERS['Content-Type']}\r\nContent-Length: 100000\r\n\r\n".encode()
        request = schema.CreateTemplateRequest(name="x")
        with mock.patch("aibox._protocol.MAX_SILENCE", 0.5):
            for use in uses(lambda sandbox: sandbox.client.templates.create(request), Held(head + envelope({}))):
                with self.assertRaises(errors.ConnectionLostError):
                    use()

    def test_a_stream_of_events_can_have_no_limit_of_silence(self) -> None:
        request = schema.CreateTemplateRequest(name="x")
        created = stream(envelope({"log": "x"}) + envelope({}, 2))
        for use in uses(lambda sandbox: sandbox.client.templates.create(request, max_silence=math.inf), created):
            self.assertEqual([event.log for event in use()], ["x"])


if __name__ == "__main__":
    unittest.main()
