"""Messages as dataclasses, and their JSON form.

The JSON form is that of Protobuf: camelCase names, 64-bit numbers as strings, bytes as
base64, fields with zero values left out. Unknown fields and values of newer servers are
ignored.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta, timezone
from enum import StrEnum
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")
M = TypeVar("M", bound="Message")
E = TypeVar("E", bound="Enumeration")


class Enumeration(StrEnum):
    """An enum of the schema. A value that only newer servers know becomes UNSPECIFIED."""

    @classmethod
    def _missing_(cls, value: object) -> Enumeration:
        return next(iter(cls))


@dataclass(frozen=True)
class Codec(Generic[T]):
    """The JSON form of the values of a type."""

    zero: Callable[[], T]
    encode: Callable[[T], Any]
    decode: Callable[[Any], T]


def scalar(name: str, codec: Codec[T]) -> T:
    """A field that has the zero value unless it is set."""
    return cast(T, field(default_factory=codec.zero, metadata={"name": name, "codec": codec, "kind": "scalar"}))


def optional(name: str, codec: Codec[T]) -> T | None:
    """A field that can be absent, as None."""
    return cast("T | None", field(default=None, metadata={"name": name, "codec": codec, "kind": "optional"}))


def repeated(name: str, codec: Codec[T]) -> list[T]:
    """A field that is a list."""
    return cast("list[T]", field(default_factory=list, metadata={"name": name, "codec": codec, "kind": "repeated"}))


def mapping(name: str, codec: Codec[T]) -> dict[str, T]:
    """A field that is a map."""
    return cast("dict[str, T]", field(default_factory=dict, metadata={"name": name, "codec": codec, "kind": "mapping"}))


class Message:
    """The base of all messages."""

    def to_json(self) -> dict[str, Any]:
        """Return the message as the value of a JSON document."""
        out: dict[str, Any] = {}
        for member in fields(cast(Any, self)):
            value, codec, kind = getattr(self, member.name), member.metadata["codec"], member.metadata["kind"]
            if kind == "optional":
                if value is not None:
                    out[member.metadata["name"]] = codec.encode(value)
            elif not value or (kind == "scalar" and value == codec.zero()):
                continue
            elif kind == "repeated":
                out[member.metadata["name"]] = [codec.encode(item) for item in value]
            elif kind == "mapping":
                out[member.metadata["name"]] = {key: codec.encode(item) for key, item in value.items()}
            else:
                out[member.metadata["name"]] = codec.encode(value)
        return out

    @classmethod
    def from_json(cls: type[M], document: Any) -> M:
        """Return the message in the value of a JSON document."""
        if not isinstance(document, Mapping):
            raise ValueError(f"{cls.__name__}: not an object: {document!r:.100}")
        values: dict[str, Any] = {}
        for member in fields(cast(Any, cls)):
            value = document.get(member.metadata["name"])
            if value is None:
                continue
            codec, kind = member.metadata["codec"], member.metadata["kind"]
            if kind == "repeated":
                values[member.name] = [codec.decode(item) for item in value]
            elif kind == "mapping":
                values[member.name] = {key: codec.decode(item) for key, item in value.items()}
            else:
                values[member.name] = codec.decode(value)
        return cls(**values)


def enumeration(kind: type[E], prefix: str) -> Codec[E]:
    """The codec of an enum whose values have a prefix in JSON."""

    def encode(value: E) -> str:
        if value not in list(kind):  # Otherwise a misspelled value would mean the default.
            raise ValueError(f"{value!r} is not a {kind.__name__}: use {', '.join(kind)}")
        return prefix + kind(value).value.upper()

    def decode(value: Any) -> E:
        return kind(str(value).removeprefix(prefix).lower())

    return Codec(lambda: next(iter(kind)), encode, decode)


def message(kind: Callable[[], type[M]]) -> Codec[M]:
    """The codec of a message. A function returns its class, which may be defined later."""
    return Codec(lambda: kind()(), lambda value: value.to_json(), lambda value: kind().from_json(value))


def _decode_bytes(text: Any) -> bytes:
    return base64.b64decode(text)


def _encode_bytes(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


def _decode_time(text: Any) -> datetime:
    match = _TIME.fullmatch(str(text))
    if match is None:
        raise ValueError(f"not a time: {text!r:.100}")
    second, fraction, zone = match.groups()
    micros = (fraction or "").ljust(6, "0")[:6]
    return datetime.fromisoformat(f"{second}.{micros}{'+00:00' if zone == 'Z' else zone}").astimezone(timezone.utc)


def _encode_time(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def _decode_duration(text: Any) -> timedelta:
    match = re.fullmatch(r"(-?)(\d+)(?:\.(\d{1,9}))?s", str(text))
    if match is None:
        raise ValueError(f"not a duration: {text!r:.100}")
    sign, seconds, fraction = match.groups()
    value = timedelta(seconds=int(seconds), microseconds=int((fraction or "").ljust(6, "0")[:6]))
    return -value if sign else value


def _encode_duration(value: timedelta) -> str:
    micros = value // timedelta(microseconds=1)
    seconds, rest = divmod(abs(micros), 1_000_000)
    return f"{'-' if micros < 0 else ''}{seconds}{f'.{rest:06d}' if rest else ''}s"


def _whole(value: float) -> int:
    """Return a whole number. A fraction near 0 would otherwise be sent as 0, which means the default or no limit."""
    if int(value) != value:
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


STRING = Codec(str, str, str)
BOOL = Codec(bool, bool, bool)
INT = Codec(int, _whole, int)
INT64 = Codec(int, lambda value: str(_whole(value)), int)
FLOAT = Codec(float, float, float)
BYTES = Codec(bytes, _encode_bytes, _decode_bytes)
TIMESTAMP = Codec(lambda: datetime.fromtimestamp(0, timezone.utc), _encode_time, _decode_time)
DURATION = Codec(timedelta, _encode_duration, _decode_duration)
# The bytes of an HTTP body. The API does not use its content type.
HTTP_BODY: Codec[bytes] = Codec(bytes, lambda data: {"data": _encode_bytes(data)}, lambda value: _decode_bytes(value.get("data", "")))
