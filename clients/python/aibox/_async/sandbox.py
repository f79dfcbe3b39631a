"""A sandbox, and what can be done in it."""

from __future__ import annotations

import re
import uuid
import warnings
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import BinaryIO
from urllib.parse import quote

from .. import _protocol as protocol
from .. import schema
from .._sync.transport import Response
from ..errors import AiboxError, IncompleteCopyWarning, OutputLostError, UnsupportedError
from ..results import CodeResult, ExecResult, arguments, duration, network_policy
from .client import AsyncClient
from .process import AsyncProcess
from .transport import pieces


class AsyncSandbox:
    """An isolated machine. As a context manager, it is destroyed at the end.

    Times are seconds or a timedelta. A command is a list of arguments, or text for a shell.
    """

    def __init__(self, client: AsyncClient, info: schema.Sandbox) -> None:
        self.client = client
        self.info = info

    @property
    def sandbox_id(self) -> str:
        """The id."""
        return self.info.sandbox_id

    @property
    def state(self) -> schema.SandboxState:
        """The state when it was last read; see refresh."""
        return self.info.state

    @classmethod
    async def create(
        cls,
        template: str = "",
        *,
        name: str = "",
        metadata: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | timedelta | None = None,
        idle_timeout: float | timedelta | None = None,
        on_timeout: schema.OnTimeout = schema.OnTimeout.UNSPECIFIED,
        network: schema.NetworkPolicy | str | None = None,
        allowed_hosts: Sequence[str] | None = None,
        denied_hosts: Sequence[str] | None = None,
        limits: schema.Limits | None = None,
        permissions: schema.Permissions | None = None,
        volumes: Sequence[schema.VolumeMount] = (),
        snapshot: schema.Snapshot | str = "",
        model: str = "",
        settings: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        client: AsyncClient | None = None,
    ) -> AsyncSandbox:
        """Create a sandbox, and return when it can start processes.

        Without allowed_hosts, the sandbox has the tenant's default policy; with an empty list,
        it reaches no host. network is a mode (none, local, allowlist, public) or a whole
        policy. The creation has a key, so it can be repeated safely if the connection is lost.

        With a snapshot, the sandbox continues from it. Arguments that are not given are those of
        the snapshot's sandbox.
        """
        request = schema.CreateSandboxRequest(
            template=template,
            name=name,
            metadata=dict(metadata or {}),
            env=dict(env or {}),
            timeout=duration(timeout),
            idle_timeout=duration(idle_timeout),
            on_timeout=on_timeout,
            network=network_policy(network, allowed_hosts, denied_hosts),
            limits=limits,
            permissions=permissions,
            volumes=[*volumes],
            snapshot_id=snapshot if isinstance(snapshot, str) else snapshot.snapshot_id,
            model=model,
            settings=dict(settings or {}),
            idempotency_key=str(uuid.uuid4()) if idempotency_key is None else idempotency_key,
        )
        client = client or AsyncClient()
        return cls(client, await client.sandboxes.create(request))

    @classmethod
    async def get(cls, sandbox_id: str, *, client: AsyncClient | None = None) -> AsyncSandbox:
        """Return a sandbox by its id."""
        client = client or AsyncClient()
        return cls(client, await client.sandboxes.get(schema.GetSandboxRequest(sandbox_id=sandbox_id)))

    @classmethod
    async def list(
        cls,
        *,
        states: Sequence[schema.SandboxState] = (),
        metadata: Mapping[str, str] | None = None,
        template: str = "",
        name: str = "",
        client: AsyncClient | None = None,
    ) -> AsyncIterator[AsyncSandbox]:
        """Return the sandboxes that match all filters, the newest first."""
        client = client or AsyncClient()
        request = schema.ListSandboxesRequest(
            states=[*states], metadata=[f"{key}={value}" for key, value in (metadata or {}).items()], template=template, name=name
        )
        while True:
            page = await client.sandboxes.list(request)
            for info in page.sandboxes:
                yield cls(client, info)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def refresh(self) -> schema.Sandbox:
        """Read the sandbox again, and return the new info."""
        self.info = await self.client.sandboxes.get(schema.GetSandboxRequest(sandbox_id=self.sandbox_id))
        return self.info

    async def extend(self, by: float | timedelta) -> schema.Sandbox:
        """Extend the time until the sandbox ends."""
        self.info = await self.client.sandboxes.extend(schema.ExtendSandboxRequest(sandbox_id=self.sandbox_id, by=duration(by)))
        return self.info

    async def set_timeout(self, timeout: float | timedelta) -> schema.Sandbox:
        """End the sandbox this long after now. 0 means no limit."""
        self.info = await self.client.sandboxes.update(
            schema.UpdateSandboxRequest(sandbox_id=self.sandbox_id, timeout=duration(timeout))
        )
        return self.info

    async def set_idle_timeout(self, timeout: float | timedelta) -> schema.Sandbox:
        """End the sandbox after this long without a call, output or traffic. 0 means no limit."""
        self.info = await self.client.sandboxes.update(
            schema.UpdateSandboxRequest(sandbox_id=self.sandbox_id, idle_timeout=duration(timeout))
        )
        return self.info

    async def set_metadata(self, metadata: Mapping[str, str]) -> schema.Sandbox:
        """Replace the metadata."""
        self.info = await self.client.sandboxes.update(
            schema.UpdateSandboxRequest(sandbox_id=self.sandbox_id, metadata=schema.Metadata(entries=dict(metadata)))
        )
        return self.info

    async def pause(self) -> schema.Sandbox:
        """Stop the processes, and keep memory and files."""
        self.info = await self.client.sandboxes.pause(schema.PauseSandboxRequest(sandbox_id=self.sandbox_id))
        return self.info

    async def resume(self) -> schema.Sandbox:
        """Continue a paused sandbox."""
        self.info = await self.client.sandboxes.resume(schema.ResumeSandboxRequest(sandbox_id=self.sandbox_id))
        return self.info

    async def snapshot(self, name: str = "", *, ttl: float | timedelta | None = None) -> schema.Snapshot:
        """Store the state, from which other sandboxes can be created, until it is deleted or for ttl."""
        request = schema.SnapshotSandboxRequest(sandbox_id=self.sandbox_id, name=name, ttl=duration(ttl))
        return await self.client.sandboxes.snapshot(request)

    async def fork(self) -> AsyncSandbox:
        """Create a sandbox that continues from the state of this one. Both continue to run."""
        taken = await self.snapshot(ttl=600)  # in case it cannot be deleted
        try:
            return await AsyncSandbox.create(
                snapshot=taken, name=self.info.name, metadata=self.info.metadata, on_timeout=self.info.on_timeout, client=self.client
            )
        finally:
            with suppress(AiboxError):  # its ttl deletes it
                await self.client.sandboxes.delete_snapshot(schema.DeleteSnapshotRequest(snapshot_id=taken.snapshot_id))

    async def metrics(self) -> schema.SandboxMetrics:
        """Return what the sandbox uses now."""
        return await self.client.sandboxes.metrics(schema.SandboxMetricsRequest(sandbox_id=self.sandbox_id))

    async def destroy(self) -> None:
        """End the sandbox and remove its files. It is no error if it has already ended."""
        await self.client.sandboxes.destroy(schema.DestroySandboxRequest(sandbox_id=self.sandbox_id))

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        await self.destroy()

    # Processes and code.

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "",
        user: str = "",
        stdin: bytes | str = b"",
        timeout: float | timedelta | None = None,
        max_output_bytes: int = 0,
        check: bool = False,
    ) -> ExecResult:
        """Run a command, wait for its end, and return its output. With check, a failure raises CommandError."""
        request = schema.ExecRequest(
            sandbox_id=self.sandbox_id,
            argv=arguments(command),
            env=dict(env or {}),
            dir=cwd,
            user=user,
            stdin=stdin.encode() if isinstance(stdin, str) else stdin,
            timeout=duration(timeout),
            max_output_bytes=max_output_bytes,
        )
        result = ExecResult(await self.client.processes.exec(request))
        return result.check() if check else result

    async def start(
        self,
        command: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "",
        user: str = "",
        stdin: bool = False,
        tty: tuple[int, int] | None = None,
        timeout: float | timedelta | None = None,
        linger: float | timedelta | None = None,
        keep_bytes: int = 0,
        overflow: schema.Overflow = schema.Overflow.UNSPECIFIED,
    ) -> AsyncProcess:
        """Start a process. tty gives it a terminal with this number of rows and columns.

        With linger, it is killed when its output was not read for this time.
        """
        request = schema.StartProcessRequest(
            sandbox_id=self.sandbox_id,
            argv=arguments(command),
            env=dict(env or {}),
            dir=cwd,
            user=user,
            stdin=stdin,
            tty=None if tty is None else schema.TerminalSize(rows=tty[0], cols=tty[1]),
            timeout=duration(timeout),
            linger=duration(linger),
            keep_bytes=keep_bytes,
            overflow=overflow,
        )
        started = await self.client.processes.launch(request)
        return AsyncProcess(self.client, self.sandbox_id, started.process_id)

    async def exec_stream(
        self,
        command: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "",
        user: str = "",
        timeout: float | timedelta | None = None,
        linger: float | timedelta = 60,
    ) -> AsyncIterator[schema.ProcessEvent]:
        """Run a command, and return its output while it runs, as events: stdout, stderr, and exit as the last one.

        No output is lost if the connection is lost. A command whose output is not read for the time
        linger is killed.
        """
        process = await self.start(
            command, env=env, cwd=cwd, user=user, timeout=timeout, linger=linger, keep_bytes=protocol.STREAM_KEEP_BYTES
        )
        async for event in process.events():
            if event.lost is not None:
                raise OutputLostError("output was dropped before it was read", event.lost.next_seq)
            yield event

    async def processes(self) -> Sequence[schema.Process]:
        """Return the processes that were started in the sandbox."""
        return (await self.client.processes.list(schema.ListProcessesRequest(sandbox_id=self.sandbox_id))).processes

    def process(self, process_id: int) -> AsyncProcess:
        """Return a process by its number, also one that another client has started."""
        return AsyncProcess(self.client, self.sandbox_id, process_id)

    async def run_code(
        self,
        code: str,
        language: str = "python",
        *,
        context: schema.CodeContext | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str = "",
        user: str = "",
        stdin: bytes | str = b"",
        timeout: float | timedelta | None = None,
        max_output_bytes: int = 0,
        validation: schema.CodeValidation = schema.CodeValidation.UNSPECIFIED,
        check: bool = False,
    ) -> CodeResult:
        """Run source text in python, javascript, ruby or bash. With a context, variables are kept between calls."""
        request = schema.RunCodeRequest(
            sandbox_id=self.sandbox_id,
            language="" if context else language,
            code=code,
            context_id=context.context_id if context else "",
            env=dict(env or {}),
            dir=cwd,
            user=user,
            stdin=stdin.encode() if isinstance(stdin, str) else stdin,
            timeout=duration(timeout),
            max_output_bytes=max_output_bytes,
            validation=validation,
        )
        result = CodeResult(await self.client.processes.run_code(request))
        return result.check() if check else result

    async def run_python(self, code: str, *, timeout: float | timedelta | None = None, check: bool = False) -> CodeResult:
        """Run Python code."""
        return await self.run_code(code, "python", timeout=timeout, check=check)

    async def create_context(
        self, language: str = "python", *, cwd: str = "", env: Mapping[str, str] | None = None, user: str = ""
    ) -> schema.CodeContext:
        """Create an interpreter that keeps its variables, for run_code."""
        request = schema.CreateContextRequest(sandbox_id=self.sandbox_id, language=language, dir=cwd, env=dict(env or {}), user=user)
        return await self.client.processes.create_context(request)

    async def delete_context(self, context: schema.CodeContext) -> None:
        """End a code context."""
        await self.client.processes.delete_context(
            schema.DeleteContextRequest(sandbox_id=self.sandbox_id, context_id=context.context_id)
        )

    async def pip_install(self, *packages: str, timeout: float | timedelta | None = None) -> ExecResult:
        """Install Python packages. The sandbox needs the preset pip among its allowed hosts."""
        command = ["python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--", *packages]
        return await self.exec(command, timeout=timeout, check=True)

    # Files.

    async def write_file(self, path: str, content: bytes | str | BinaryIO, *, mode: int = 0, user: str = "") -> schema.FileInfo:
        """Write a file. It appears whole or not at all, and replaces an earlier one."""
        return await self.client.files.write(self._write_requests(path, content, mode, user))

    async def _write_requests(
        self, path: str, content: bytes | str | BinaryIO, mode: int, user: str
    ) -> AsyncIterator[schema.WriteFileRequest]:
        yield schema.WriteFileRequest(sandbox_id=self.sandbox_id, path=path, mode=mode, user=user)
        async for piece in _pieces(content):
            yield schema.WriteFileRequest(content=piece)

    async def read_file(self, path: str, *, user: str = "") -> bytes:
        """Return the content of a file."""
        return b"".join([piece async for piece in self.read_stream(path, user=user)])

    async def read_text(self, path: str, *, user: str = "") -> str:
        """Return the content of a UTF-8 file."""
        return (await self.read_file(path, user=user)).decode()

    async def read_stream(self, path: str, *, offset: int = 0, length: int = 0, user: str = "") -> AsyncIterator[bytes]:
        """Return a file, or a part of it, in pieces. length 0 means up to the end."""
        request = schema.ReadFileRequest(sandbox_id=self.sandbox_id, path=path, offset=offset, length=length, user=user)
        async for piece in self.client.files.read(request):
            yield piece.content

    async def list_files(self, path: str = ".", *, depth: int = 0, user: str = "") -> Sequence[schema.FileInfo]:
        """Return the entries of a folder, sorted by path. depth is how many levels of folders are listed."""
        request = schema.ListFilesRequest(sandbox_id=self.sandbox_id, path=path, depth=depth, user=user)
        entries: Sequence[schema.FileInfo] = []
        while True:
            page = await self.client.files.list(request)
            entries = [*entries, *page.entries]
            if not page.next_page_token:
                return entries
            request.page_token = page.next_page_token

    async def stat(self, path: str, *, user: str = "") -> schema.FileInfo:
        """Describe a file or folder. A symlink is not followed."""
        return await self.client.files.stat(schema.StatFileRequest(sandbox_id=self.sandbox_id, path=path, user=user))

    async def make_dir(self, path: str, *, mode: int = 0, user: str = "") -> schema.FileInfo:
        """Create a folder and its missing parents."""
        return await self.client.files.make_dir(schema.MakeDirRequest(sandbox_id=self.sandbox_id, path=path, mode=mode, user=user))

    async def move(self, source: str, destination: str, *, overwrite: bool = False, user: str = "") -> schema.FileInfo:
        """Rename a file or folder."""
        request = schema.MoveFileRequest(
            sandbox_id=self.sandbox_id, source=source, destination=destination, overwrite=overwrite, user=user
        )
        return await self.client.files.move(request)

    async def remove(self, path: str, *, recursive: bool = False, user: str = "") -> None:
        """Remove a file, an empty folder, or with recursive a folder with its content."""
        await self.client.files.remove(
            schema.RemoveFileRequest(sandbox_id=self.sandbox_id, path=path, recursive=recursive, user=user)
        )

    async def watch(self, path: str, *, recursive: bool = False, user: str = "") -> AsyncIterator[schema.FileEvent]:
        """Return the changes in a folder. The first event is UNSPECIFIED. All changes after it are reported."""
        request = schema.WatchFilesRequest(sandbox_id=self.sandbox_id, path=path, recursive=recursive, user=user)
        async for event in self.client.files.watch(request):
            yield event

    async def download(self, path: str, *, user: str = "") -> AsyncIterator[bytes]:
        """Return a file or folder as a tar archive, in pieces.

        The archive is as untrusted as the sandbox: extract it with tarfile's filter "data".
        An archive that lacks files causes an IncompleteCopyWarning.
        """
        request = schema.DownloadFilesRequest(sandbox_id=self.sandbox_id, path=path, user=user)
        async for piece in self.client.files.download(request):
            if piece.archive:
                yield piece.archive
            if piece.left_out:
                warnings.warn(f"the copy of {path} is not complete: {piece.left_out}", IncompleteCopyWarning, stacklevel=2)

    async def upload(self, path: str, archive: bytes | BinaryIO, *, user: str = "") -> None:
        """Extract a tar archive in a folder, which is created if it is missing.

        Entries that are not extracted, such as pipes, cause an IncompleteCopyWarning.
        """
        answer = await self.client.files.upload(self._upload_requests(path, archive, user))
        if answer.left_out:
            warnings.warn(f"the copy to {path} is not complete: {answer.left_out}", IncompleteCopyWarning, stacklevel=2)

    async def _upload_requests(self, path: str, archive: bytes | BinaryIO, user: str) -> AsyncIterator[schema.UploadFilesRequest]:
        yield schema.UploadFilesRequest(sandbox_id=self.sandbox_id, path=path, user=user)
        async for piece in _pieces(archive):
            yield schema.UploadFilesRequest(archive=piece)

    # Network and ports.

    async def network(self) -> schema.NetworkPolicy:
        """Return the network policy in force."""
        return await self.client.network.get(schema.GetNetworkRequest(sandbox_id=self.sandbox_id))

    async def set_network(
        self, *, allowed_hosts: Sequence[str] | None = None, denied_hosts: Sequence[str] | None = None
    ) -> schema.NetworkPolicy:
        """Replace the lists of hosts. None keeps a list; an empty one has no host."""
        policy = network_policy(None, allowed_hosts, denied_hosts) or schema.NetworkPolicy()
        policy.mode = schema.NetworkMode.UNSPECIFIED  # it is not changed
        return await self.client.network.set(schema.SetNetworkRequest(sandbox_id=self.sandbox_id, policy=policy))

    async def explain_network(self, host: str, port: int = 0) -> schema.ExplainNetworkResponse:
        """Return whether the sandbox can reach a host, and which rule decides."""
        return await self.client.network.explain(schema.ExplainNetworkRequest(sandbox_id=self.sandbox_id, host=host, port=port))

    async def list_ports(self) -> Sequence[schema.Port]:
        """Return the ports that programs in the sandbox listen on."""
        return (await self.client.ports.list(schema.ListPortsRequest(sandbox_id=self.sandbox_id))).ports

    def port_url(self, port: int, path: str = "/") -> str:
        """Return the URL of a port, for requests that send the tenant's token."""
        base = self.client.transport.address.base_url
        if not base:
            raise UnsupportedError(
                "a server on a Unix socket has no URLs", hints=["use request_port, or start the server with `aibox serve --listen`"]
            )
        full = self._port_path(port, path)
        protocol.check_path(full)
        return base + full

    async def open_port(self, port: int, *, ttl: float | timedelta | None = None) -> str:
        """Return a URL with which a browser can reach a port without a token."""
        signed = await self.client.ports.sign(schema.SignPortRequest(sandbox_id=self.sandbox_id, port=port, ttl=duration(ttl)))
        return signed.url

    async def request_port(
        self,
        port: int,
        path: str = "/",
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        timeout: float | None = None,
    ) -> Response:
        """Send an HTTP request to a port in the sandbox."""
        return await self.client.transport.request(method, self._port_path(port, path), headers or {}, body, timeout)

    def _port_path(self, port: int, path: str) -> str:
        path = re.sub("%(?![0-9A-Fa-f]{2})", "%25", path)  # what is escaped already stays as it is
        escaped = quote(path, safe="/:?#[]@!$&'()*+,;=%-._~")
        return f"/v1/sandboxes/{quote(self.sandbox_id, safe='')}/ports/{int(port)}/{escaped.removeprefix('/')}"


async def _pieces(content: bytes | str | BinaryIO) -> AsyncIterator[bytes]:
    """Return content in pieces of a size for one message."""
    if isinstance(content, str):
        content = content.encode()
    if isinstance(content, bytes):
        for start in range(0, len(content), protocol.PIECE_BYTES):
            yield content[start : start + protocol.PIECE_BYTES]
        return
    async for piece in pieces(content):
        yield piece
