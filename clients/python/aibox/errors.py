"""The errors of the client, which are all AiboxError, and its warning."""

from __future__ import annotations

from collections.abc import Sequence


class IncompleteCopyWarning(UserWarning):
    """A copy lacks files that are devices, pipes or sockets."""


class AiboxError(Exception):
    """A call failed.

    kind is the kind of the failure, message is one sentence, hints say what to do next, and
    request_id is the id of the request in the server's log.
    """

    kind = "internal"

    def __init__(self, message: str, *, kind: str = "", hints: Sequence[str] = (), request_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hints = list(hints)
        self.request_id = request_id
        if kind:
            self.kind = kind

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"hint: {hint}" for hint in self.hints)])


class InvalidError(AiboxError):
    """The request is invalid."""

    kind = "invalid"


class UnauthenticatedError(AiboxError):
    """There is no valid token."""

    kind = "unauthenticated"


class NotFoundError(AiboxError):
    """It does not exist for this tenant."""

    kind = "not_found"


class ConflictError(AiboxError):
    """It exists already, or is in a state that does not permit the call."""

    kind = "conflict"


class TooLargeError(AiboxError):
    """The request is too large."""

    kind = "too_large"


class LimitError(AiboxError):
    """A quota or another limit is reached."""

    kind = "limit"


class RefusedError(AiboxError):
    """A policy refuses it, or the token lacks a right."""

    kind = "refused"


class MachineError(AiboxError):
    """The server's machine is not ready."""

    kind = "environment"


class FailedError(AiboxError):
    """A program in the sandbox failed."""

    kind = "failed"


class UnsupportedError(AiboxError):
    """This server or its machine cannot do it."""

    kind = "unsupported"


class CanceledError(AiboxError):
    """The caller has ended the call."""

    kind = "canceled"


class TimedOutError(AiboxError):
    """A time limit ended the call."""

    kind = "timeout"


class InternalError(AiboxError):
    """A failure of aibox."""

    kind = "internal"


class ConnectionLostError(AiboxError):
    """The server could not be reached, or the connection was lost.

    Whether the call took effect is not known if its answer was lost.
    """

    kind = "connection"


class ProtocolError(AiboxError):
    """The answer does not come from an aibox server."""

    kind = "protocol"


class OutputLostError(AiboxError):
    """Output of a process was dropped before it was read; next_seq is the next event."""

    kind = "lost"

    def __init__(self, message: str, next_seq: int) -> None:
        super().__init__(message)
        self.next_seq = next_seq


class CommandError(AiboxError):
    """A command of exec or code of run_code failed, and check was set."""

    kind = "command"

    def __init__(self, message: str, *, exit_code: int, stdout: bytes, stderr: bytes) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr


_KINDS: dict[str, type[AiboxError]] = {
    kind.kind: kind
    for kind in (
        InvalidError,
        UnauthenticatedError,
        NotFoundError,
        ConflictError,
        TooLargeError,
        LimitError,
        RefusedError,
        MachineError,
        FailedError,
        UnsupportedError,
        CanceledError,
        TimedOutError,
        InternalError,
    )
}


def error_of(kind: str, message: str, hints: Sequence[str] = (), request_id: str = "") -> AiboxError:
    """Return the error of a kind that the server reported."""
    return _KINDS.get(kind, AiboxError)(message, kind=kind, hints=hints, request_id=request_id)
