"""One request and its answer, free of the HTTP library: what handlers take and give."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from kadmit.access.attributes import RequestInfo
from kadmit.admission.outcome import Record
from kadmit.cel.library.authorizer import User
from kadmit.matching.attributes import Json


@dataclass(slots=True)
class Exchange:
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
    request_object: Json | None = None

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
        return next(iter(self.query.get(name, ())), "")


@dataclass(slots=True)
class Reply:
    """What goes back: bytes, or a stream of them."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    stream: AsyncIterator[bytes] | None = None
    object: Json | None = None  # for the audit log
