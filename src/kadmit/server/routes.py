"""What follows from the method and the URL of a request alone: worked out once for all requests that have the same.

Clients write to a few URLs over and over, and reading one takes as long as finding the object that it is about. So what the last
ones said is remembered, and handlers may add what else follows from them (which resource, which options). How much is bounded: a
URL that is long, or one too many, costs the reading again and nothing else.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field

from kadmit.access import attributes as access
from kadmit.access.attributes import RequestInfo

MOST_ROUTES = 1024
MOST_REMEMBERED = 16  # of one route: headers make a difference, too
LONGEST = 512  # characters of a URL, and of the headers that count


class BadEscape(ValueError):
    """A path with a percent sign that stands for nothing."""


class Memory(Struct):
    """What handlers have worked out, for as long as the route lasts."""

    held: dict[tuple[Hashable, ...], Any] = field(default_factory=dict)

    def add(self, key: tuple[Hashable, ...], value: Any) -> None:
        """Keys hold headers, which may be long."""
        if sum(len(part) for part in key if isinstance(part, str)) > LONGEST:
            return
        if len(self.held) >= MOST_REMEMBERED:
            self.held.clear()
        self.held[key] = value


class Route(Struct):
    """NB: shared by requests, so nobody may change what it holds, but for adding to its memory."""

    path: str  # unescaped
    query: Mapping[str, Sequence[str]]
    info: RequestInfo
    memory: Memory = field(default_factory=Memory)


class Routes(Struct):
    """By method and URL as they were sent."""

    _known: dict[tuple[str, str], Route] = field(default_factory=dict)

    def find(self, method: str, url: str) -> Route | None:
        return self._known.get((method, url))

    def read(self, method: str, url: str, path: str, query: str) -> Route:
        """The route of a URL of these parts. Raises BadEscape or UnreadablePath."""
        if "%" in path:
            if access.has_bad_escape(path):
                raise BadEscape(path)
            path = unquote(path)
        made = Route(path, access.query_values(query), access.request_info(method, path, query))
        if len(url) <= LONGEST:
            if len(self._known) >= MOST_ROUTES:
                self._known.clear()
            self._known[method, url] = made
        return made
