"""A process in a sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator

from .. import _protocol as protocol
from .. import schema
from ..errors import AiboxError, ConnectionLostError, OutputLostError, ProtocolError
from .client import AsyncClient
from .transport import pause


class AsyncProcess:
    """A process that AsyncSandbox.start has started."""

    def __init__(self, client: AsyncClient, sandbox_id: str, process_id: int) -> None:
        self._client = client
        self.sandbox_id = sandbox_id
        self.process_id = process_id

    async def info(self) -> schema.Process:
        """Describe the process as it is now."""
        return await self._client.processes.get(schema.GetProcessRequest(sandbox_id=self.sandbox_id, process_id=self.process_id))

    async def events(self, from_seq: int = 1) -> AsyncIterator[schema.ProcessEvent]:
        """Return the events from a number on, up to the exit, each exactly once.

        If the connection is lost, the rest is read on another one. Events that the process has
        dropped, since it was started with the overflow drop, appear as an event lost.
        """
        following = max(from_seq, 1)
        backoff = protocol.Backoff(self._client.reconnect_seconds)
        while True:
            request = schema.ConnectProcessRequest(sandbox_id=self.sandbox_id, process_id=self.process_id, from_seq=following)
            try:
                async for event in self._client.processes.connect(request):
                    backoff.reset()
                    if event.lost is not None:
                        following = event.lost.next_seq
                        yield event
                        continue
                    if event.seq == 0 or event.seq < following:
                        continue
                    if event.seq > following:
                        raise ProtocolError(f"event {following} of process {self.process_id} is missing")
                    following += 1
                    yield event
                    if event.exit is not None:
                        return
                raise ConnectionLostError("the stream ended before the process")
            except AiboxError as err:
                delay = backoff.next(err)
            await pause(delay)

    async def output(self) -> AsyncIterator[bytes]:
        """Return standard output and standard error together, or the output of the terminal."""
        async for event in self.events():
            if event.lost is not None:
                raise OutputLostError("output was dropped before it was read", event.lost.next_seq)
            part = event.stdout or event.stderr
            if part is not None:
                yield part.data

    async def wait(self) -> schema.ProcessExit:
        """Wait for the end. Output that was not read yet is dropped."""
        info = await self.info()
        async for event in self.events(info.last_seq + 1 if info.exit is None else max(info.last_seq, 1)):
            if event.exit is not None:
                return event.exit
        raise ProtocolError("the process has no exit")

    async def send_input(self, data: bytes | str) -> None:
        """Write to the standard input or the terminal."""
        content = data.encode() if isinstance(data, str) else data
        for start in range(0, len(content), protocol.PIECE_BYTES):
            piece = content[start : start + protocol.PIECE_BYTES]
            await self._client.processes.send_input(
                schema.SendInputRequest(sandbox_id=self.sandbox_id, process_id=self.process_id, data=piece)
            )

    async def close_input(self) -> None:
        """End the standard input."""
        await self._client.processes.close_input(schema.CloseInputRequest(sandbox_id=self.sandbox_id, process_id=self.process_id))

    async def resize(self, rows: int, cols: int) -> None:
        """Change the size of the terminal."""
        await self._client.processes.resize(
            schema.ResizeProcessRequest(
                sandbox_id=self.sandbox_id, process_id=self.process_id, size=schema.TerminalSize(rows=rows, cols=cols)
            )
        )

    async def signal(self, number: int) -> None:
        """Send a signal to the process group, such as signal.SIGINT."""
        await self._client.processes.signal(
            schema.SignalProcessRequest(sandbox_id=self.sandbox_id, process_id=self.process_id, signal=int(number))
        )

    async def kill(self) -> None:
        """Kill the process group."""
        await self.signal(9)
