"""The server's own log: one line an event, as text for people or JSON for machines, on standard error.

Lines hold a message and named values, never sentences glued together from them. Values whose name says that they are secret are
not written, nor are bytes; and no value can begin a new line.
"""

import contextlib
import json
import re
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson
from msgspec import Struct, field

TEXT, JSON = "text", "json"
DEBUG, INFO, WARNING, ERROR = 10, 20, 30, 40
MAX_VALUE = 4096  # characters

_LEVELS = {DEBUG: "debug", INFO: "info", WARNING: "warning", ERROR: "error"}
_SECRET = re.compile(r"token|authorization|password|passwd|secret|private|credential|cookie|(^|_)key($|_)", re.IGNORECASE)
_SECRET_IN_QUERY = re.compile(r"(?i)([?&](?:access_token|token|password)=)[^&#\s]*")
_PLAIN = re.compile(r"[^\s\"=\\\x00-\x1f]+")
_HIDDEN = "<hidden>"


class Log(Struct, frozen=True):
    """Where to write, and how. `bound` values stand on every line."""

    form: str = TEXT
    level: int = INFO
    stream: TextIO | None = None  # None: standard error, as it is then
    bound: Mapping[str, Any] = field(default_factory=dict)

    def debug(self, message: str, **values: Any) -> None:
        self._write(DEBUG, message, values)

    def info(self, message: str, **values: Any) -> None:
        self._write(INFO, message, values)

    def warning(self, message: str, **values: Any) -> None:
        self._write(WARNING, message, values)

    def error(self, message: str, **values: Any) -> None:
        self._write(ERROR, message, values)

    def bind(self, **values: Any) -> "Log":
        return Log(self.form, self.level, self.stream, {**self.bound, **values})

    def _write(self, level: int, message: str, values: Mapping[str, Any]) -> None:
        if level < self.level:
            return
        shown = {name: _shown(name, value) for name, value in {**self.bound, **values}.items()}
        line = (_json_line if self.form == JSON else _text_line)(level, _bounded(message), shown)
        with contextlib.suppress(OSError, ValueError):  # a log that cannot be written must not stop the server
            stream = self.stream or sys.stderr
            stream.write(line)
            stream.flush()


def configured(form: str, verbosity: int, stream: TextIO | None = None) -> Log:
    """As --logging-format and --v say; from 4 on there is detail."""
    return Log(form, DEBUG if verbosity >= 4 else INFO, stream)


def _now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _json_line(level: int, message: str, values: Mapping[str, Any]) -> str:
    record = {"ts": _now(), "level": _LEVELS[level], "msg": message, **values}
    try:
        return orjson.dumps(record, default=str).decode() + "\n"
    except TypeError:
        return json.dumps(record, default=str) + "\n"


def _text_line(level: int, message: str, values: Mapping[str, Any]) -> str:
    pairs = "".join(f" {name}={_quoted(value)}" for name, value in values.items())
    return f"{_now()} {_LEVELS[level].upper():7} {_escaped(message)}{pairs}\n"


def _quoted(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _escaped(text: str) -> str:
    return text if text.isprintable() else json.dumps(text, ensure_ascii=False)[1:-1]


def _shown(name: str, value: Any) -> Any:
    if _SECRET.search(name):
        return _HIDDEN
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    if isinstance(value, Mapping):
        return {str(key): _shown(str(key), item) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_shown("", item) for item in value]
    return _bounded(_SECRET_IN_QUERY.sub(rf"\1{_HIDDEN}", str(value)))


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}... ({len(text)} characters)"
