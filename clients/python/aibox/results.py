"""Results of commands and code, with their output as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from . import schema
from .errors import CommandError


@dataclass(frozen=True)
class ExecResult:
    """The result of a command."""

    response: schema.ExecResponse

    @property
    def exit_code(self) -> int:
        """The exit code, or 128 plus the signal."""
        return self.response.exit.code if self.response.exit else 0

    @property
    def stdout(self) -> str:
        """Standard output as text; response.stdout has the bytes."""
        return self.response.stdout.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """Standard error as text; response.stderr has the bytes."""
        return self.response.stderr.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        """Whether the exit code is 0."""
        return self.exit_code == 0

    @property
    def timed_out(self) -> bool:
        """Whether the timeout ended it."""
        return self.response.timed_out

    @property
    def truncated(self) -> bool:
        """Whether output exceeded max_output_bytes, so that its end is missing."""
        return self.response.stdout_dropped_bytes > 0 or self.response.stderr_dropped_bytes > 0

    def check(self) -> ExecResult:
        """Raise CommandError unless the exit code is 0."""
        if not self.ok:
            reason = self.response.exit.error if self.response.exit else ""
            last = (self.stderr.strip() or reason).splitlines()[-1:]
            message = ": ".join([f"the command ended with exit code {self.exit_code}", *last])
            raise CommandError(message, exit_code=self.exit_code, stdout=self.response.stdout, stderr=self.response.stderr)
        return self


@dataclass(frozen=True)
class CodeResult:
    """The result of code."""

    response: schema.RunCodeResponse

    @property
    def status(self) -> schema.CodeStatus:
        """COMPLETED, FAILED or TIMEOUT."""
        return self.response.status

    @property
    def ok(self) -> bool:
        """Whether the code ended without an error."""
        return self.response.status == schema.CodeStatus.COMPLETED

    @property
    def stdout(self) -> str:
        """Standard output as text; response.stdout has the bytes."""
        return self.response.stdout.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """Standard error as text; response.stderr has the bytes."""
        return self.response.stderr.decode("utf-8", "replace")

    @property
    def result(self) -> str:
        """The value of the last expression as text, if the language and a context provide it."""
        return self.response.result

    @property
    def error(self) -> str:
        """The error with its traceback, if the code failed."""
        return self.response.error

    @property
    def findings(self) -> list[schema.CodeFinding]:
        """The findings of the validation. They are advice."""
        return self.response.findings

    def check(self) -> CodeResult:
        """Raise CommandError unless the code ended without an error."""
        if not self.ok:
            last = (self.error.strip() or self.stderr.strip()).splitlines()[-1:]
            message = ": ".join([f"the code ended with the status {self.status.value}", *last])
            code = self.response.exit_code if self.response.exit_code is not None else 1
            raise CommandError(message, exit_code=code, stdout=self.response.stdout, stderr=self.response.stderr)
        return self


def duration(value: float | timedelta | None) -> timedelta | None:
    """Return seconds as a timedelta."""
    if value is None or isinstance(value, timedelta):
        return value
    converted = timedelta(seconds=value)
    if value and not converted:  # 0 would mean no limit
        raise ValueError(f"{value!r} seconds are shorter than a microsecond")
    return converted


def arguments(command: str | Sequence[str]) -> list[str]:
    """Return the arguments of a command. Text is run by a shell."""
    return ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)


def network_policy(
    network: schema.NetworkPolicy | str | None,
    allowed_hosts: Sequence[str] | None,
    denied_hosts: Sequence[str] | None,
) -> schema.NetworkPolicy | None:
    """Return the policy of a sandbox. None means the tenant's default, an empty list no host."""
    if isinstance(allowed_hosts, str) or isinstance(denied_hosts, str):
        raise TypeError("hosts are a list, not a string")
    if isinstance(network, schema.NetworkPolicy):
        if allowed_hosts is not None or denied_hosts is not None:
            raise TypeError("give either a NetworkPolicy or lists of hosts")
        return network
    if network is None and allowed_hosts is None and denied_hosts is None:
        return None
    mode = schema.NetworkMode.ALLOWLIST if allowed_hosts is not None else schema.NetworkMode.UNSPECIFIED
    if network is not None:
        mode = schema.NetworkMode(network)
        if mode == schema.NetworkMode.UNSPECIFIED:
            raise ValueError(f"{network!r} is not a network mode: use none, local, allowlist or public")
    return schema.NetworkPolicy(
        mode=mode,
        allow=None if allowed_hosts is None else schema.HostList(hosts=list(allowed_hosts)),
        deny=None if denied_hosts is None else schema.HostList(hosts=list(denied_hosts)),
    )
