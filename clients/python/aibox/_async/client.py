"""A connection to a server."""

from __future__ import annotations

import ssl
from types import TracebackType

from .. import _protocol as protocol
from .. import schema
from . import services
from .transport import AsyncTransport


class AsyncClient:
    """A server, with one attribute for each service of the API.

    address is unix:PATH, http://HOST:PORT or https://HOST:PORT; None means the value of
    AIBOX_URL, or else the Unix socket of `aibox serve`. token is needed on TCP; None means the
    value of AIBOX_TOKEN. A stream whose connection is lost is continued; reconnect_seconds is
    how long the server may be unreachable.
    """

    def __init__(
        self,
        address: str | None = None,
        token: str | None = None,
        *,
        ssl_context: ssl.SSLContext | None = None,
        reconnect_seconds: float = 30,
    ) -> None:
        self.transport = AsyncTransport(protocol.parse_address(address), protocol.parse_token(token), ssl_context)
        self.reconnect_seconds = reconnect_seconds
        self.sandboxes = services.AsyncSandboxes(self.transport)
        self.processes = services.AsyncProcesses(self.transport)
        self.files = services.AsyncFiles(self.transport)
        self.network = services.AsyncNetwork(self.transport)
        self.ports = services.AsyncPorts(self.transport)
        self.sessions = services.AsyncSessions(self.transport)
        self.templates = services.AsyncTemplates(self.transport)
        self.volumes = services.AsyncVolumes(self.transport)
        self.audit = services.AsyncAudit(self.transport)
        self.server = services.AsyncServer(self.transport)

    async def info(self) -> schema.ServerInfo:
        """Return the server's version, and the caller's tenant, rights, quota and usage."""
        return await self.server.get(schema.GetServerRequest())

    async def close(self) -> None:
        """Close the connections. Sandboxes continue."""
        await self.transport.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
