"""A session: a coding agent that works on a repository, and its changes."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import BinaryIO

from .. import _protocol as protocol
from .. import schema
from ..errors import AiboxError, ProtocolError
from .client import AsyncClient
from .sandbox import _pieces
from .transport import pause

_ENDED = (schema.SessionState.DONE, schema.SessionState.STOPPED, schema.SessionState.FAILED)


class AsyncSession:
    """A run of a coding agent. Nothing of its work reaches a repository before accept."""

    def __init__(self, client: AsyncClient, info: schema.Session) -> None:
        self.client = client
        self.info = info

    @property
    def session_id(self) -> str:
        """The id."""
        return self.info.session_id

    @property
    def state(self) -> schema.SessionState:
        """The state when it was last read; see refresh."""
        return self.info.state

    @classmethod
    async def start(
        cls,
        prompt: str,
        *,
        agent: str = "",
        repository: str | None = None,
        tree: bytes | BinaryIO | None = None,
        branch: str = "",
        settings: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        network: schema.NetworkPolicy | None = None,
        limits: schema.Limits | None = None,
        client: AsyncClient | None = None,
    ) -> AsyncSession:
        """Start an agent on a repository of the server's machine, or on a source tree as a tar archive."""
        client = client or AsyncClient()
        tree_id: str | None = None
        if tree is not None:
            tree_id = (await client.sessions.upload_tree(_tree_requests(tree))).tree_id
        request = schema.StartSessionRequest(
            agent=agent,
            prompt=prompt,
            repository=repository,
            tree_id=tree_id,
            branch=branch,
            settings=dict(settings or {}),
            options=dict(options or {}),
            metadata=dict(metadata or {}),
            idempotency_key=str(uuid.uuid4()),
            network=network,
            limits=limits,
        )
        return cls(client, await client.sessions.start(request))

    @classmethod
    async def get(cls, session_id: str, *, client: AsyncClient | None = None) -> AsyncSession:
        """Return a session by its id."""
        client = client or AsyncClient()
        return cls(client, await client.sessions.get(schema.GetSessionRequest(session_id=session_id)))

    @classmethod
    async def list(
        cls,
        *,
        states: Sequence[schema.SessionState] = (),
        metadata: Mapping[str, str] | None = None,
        agent: str = "",
        client: AsyncClient | None = None,
    ) -> AsyncIterator[AsyncSession]:
        """Return the sessions that match all filters, the newest first."""
        client = client or AsyncClient()
        request = schema.ListSessionsRequest(
            states=[*states], metadata=[f"{key}={value}" for key, value in (metadata or {}).items()], agent=agent
        )
        while True:
            page = await client.sessions.list(request)
            for info in page.sessions:
                yield cls(client, info)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def refresh(self) -> schema.Session:
        """Read the session again, and return the new info."""
        self.info = await self.client.sessions.get(schema.GetSessionRequest(session_id=self.session_id))
        return self.info

    async def events(self, from_seq: int = 1) -> AsyncIterator[schema.SessionEvent]:
        """Return the events from a number on, up to the end of the session, each exactly once.

        If the connection is lost, the rest is read on another one.
        """
        following = max(from_seq, 1)
        backoff = protocol.Backoff(self.client.reconnect_seconds)
        while True:
            request = schema.SessionEventsRequest(session_id=self.session_id, from_seq=following)
            try:
                async for event in self.client.sessions.events(request):
                    backoff.reset()
                    if event.seq == 0 or event.seq < following:
                        continue
                    if event.seq > following:
                        raise ProtocolError(f"event {following} of the session is missing")
                    following += 1
                    yield event
                return
            except AiboxError as err:
                delay = backoff.next(err)
            await pause(delay)

    async def wait(self) -> schema.Session:
        """Wait until the agent has ended, and return the session."""
        async for _ in self.events():
            pass
        while (await self.refresh()).state not in _ENDED:
            await pause(0.2)
        return self.info

    async def changes(self) -> schema.ChangeSet:
        """Return the changes of a session that has ended, file by file, with risks and hunks."""
        return await self.client.sessions.changes(schema.SessionChangesRequest(session_id=self.session_id))

    async def diff(self, *paths: str) -> bytes:
        """Return the changes as a patch. It holds the agent's bytes: escape them before a terminal shows them."""
        return (await self.client.sessions.diff(schema.SessionDiffRequest(session_id=self.session_id, paths=[*paths]))).patch

    async def accept(
        self,
        changes: schema.ChangeSet | None = None,
        *,
        files: Sequence[str | schema.FileSelection] = (),
        branch: str | None = None,
        message: str = "",
    ) -> schema.AcceptChangesResponse:
        """Deliver changes: as a git bundle in the response, or with branch as a new branch of the repository.

        Give the changes that were read, so that others are not accepted. Without files, all
        changes without risks are accepted. An empty branch gets a name from the session.
        """
        request = schema.AcceptChangesRequest(
            session_id=self.session_id,
            digest=changes.digest if changes else "",
            files=[schema.FileSelection(path=file) if isinstance(file, str) else file for file in files],
            target=schema.AcceptTarget.BUNDLE if branch is None else schema.AcceptTarget.BRANCH,
            branch=branch or "",
            message=message,
        )
        return await self.client.sessions.accept(request)

    async def feedback(self, prompt: str = "", *, comments: Sequence[schema.Comment] = ()) -> AsyncSession:
        """Start a session that continues this one with comments on its changes."""
        request = schema.SessionFeedbackRequest(session_id=self.session_id, comments=[*comments], prompt=prompt)
        return AsyncSession(self.client, await self.client.sessions.feedback(request))

    async def stop(self) -> schema.Session:
        """End the agent. Its work is kept."""
        self.info = await self.client.sessions.stop(schema.StopSessionRequest(session_id=self.session_id))
        return self.info

    async def delete(self) -> None:
        """Remove a session that has ended, with its unaccepted work."""
        await self.client.sessions.delete(schema.DeleteSessionRequest(session_id=self.session_id))


async def _tree_requests(tree: bytes | BinaryIO) -> AsyncIterator[schema.UploadTreeRequest]:
    yield schema.UploadTreeRequest()
    async for piece in _pieces(tree):
        yield schema.UploadTreeRequest(archive=piece)
