"""One request and its answer, free of the HTTP library: what handlers take and give."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from kadmit.access.attributes import RequestInfo
from kadmit.admission.outcome import Record
from kadmit.cel.library.authorizer import User
from kadmit.kinds.fulltext import UNREAD
from kadmit.matching.attributes import Json
from kadmit.server.routes import Memory


class Waited(NamedTuple):
    """How long a webhook took."""

    name: str
    mutating: bool
    seconds: float


class Exchange(Struct):
    """A request on its way; `record` gathers warnings, annotations and counts for whoever writes the answer."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    body: bytes
    info: RequestInfo
    user: User
    deadline: float | None = None
    record: Record = field(default_factory=Record)
    waited: list[Waited] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)  # of what follows from the URL and some headers
    value: Any = UNREAD  # what a body of JSON reads as, once somebody has read it

    @property
    def user_agent(self) -> str:
        return self.headers.get("User-Agent", "")

    @property
    def accept(self) -> str:
        return self.headers.get("Accept", "")

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")

    def asked(self, name: str) -> str:
        return next(iter(self.query[name]), "") if name in self.query else ""


class Reply(Struct):
    """What goes back: bytes, or a stream of them."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    stream: AsyncIterator[bytes] | None = None
    object: Json | None = None  # for the audit log
