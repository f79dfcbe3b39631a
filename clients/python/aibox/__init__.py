"""Sandboxes for programs: a client of aibox.

    from aibox import Sandbox

    with Sandbox.create(allowed_hosts=["pip"], timeout=600) as sandbox:
        print(sandbox.run_python("print(6 * 7)").stdout)

AsyncSandbox, AsyncProcess, AsyncSession and AsyncClient do the same with asyncio. The module
schema has all messages of the API.
"""

from . import errors, schema
from ._async.client import AsyncClient
from ._async.process import AsyncProcess
from ._async.sandbox import AsyncSandbox
from ._async.session import AsyncSession
from ._sync.client import Client
from ._sync.process import Process
from ._sync.sandbox import Sandbox
from ._sync.session import Session
from ._sync.transport import Response
from .errors import AiboxError
from .results import CodeResult, ExecResult

__all__ = [
    "AiboxError",
    "AsyncClient",
    "AsyncProcess",
    "AsyncSandbox",
    "AsyncSession",
    "Client",
    "CodeResult",
    "ExecResult",
    "Process",
    "Response",
    "Sandbox",
    "Session",
    "errors",
    "schema",
]
