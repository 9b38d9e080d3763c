"""What a URL says is read once, remembered within bounds, and the same whether it was remembered or not."""

import pytest

from kadmit.access.attributes import UnreadablePath, query_values, request_info
from kadmit.server import routes
from kadmit.server.routes import BadEscape, Memory, Route, Routes

URLS = [
    ("GET", "/api/v1/namespaces/default/pods", "watch=1&fieldSelector=metadata.name%3Da"),
    ("POST", "/apis/apps/v1/namespaces/n/deployments", "dryRun=All"),
    ("PATCH", "/apis/apps/v1/namespaces/n/deployments/d/scale", ""),
    ("GET", "/api/v1/namespaces/a%2Fb", "x=%zz&y=1"),
    ("GET", "/healthz", ""),
]


def asked(known: Routes, method: str, path: str, query: str) -> Route:
    url = f"{path}?{query}" if query else path
    return known.find(method, url) or known.read(method, url, path, query)


@pytest.mark.parametrize(("method", "path", "query"), URLS)
def test_a_route_says_what_the_url_says(method: str, path: str, query: str) -> None:
    found = asked(Routes(), method, path, query)
    unescaped = path.replace("%2F", "/")
    assert (found.path, found.query) == (unescaped, query_values(query))
    assert found.info == request_info(method, unescaped, query)


def test_the_same_url_with_the_same_method_is_the_same_route() -> None:
    known = Routes()
    first = asked(known, "GET", "/api/v1/pods", "limit=1")
    assert asked(known, "GET", "/api/v1/pods", "limit=1") is first
    assert asked(known, "GET", "/api/v1/pods", "limit=2") is not first
    assert asked(known, "DELETE", "/api/v1/pods", "limit=1") is not first


def test_urls_that_cannot_be_read_are_refused_every_time() -> None:
    known = Routes()
    for _ in range(2):
        with pytest.raises(BadEscape):
            asked(known, "GET", "/api/v1/pods/%zz", "")
        with pytest.raises(UnreadablePath):
            asked(known, "GET", "/api/v1/watch", "")


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MOST_ROUTES", 3)
    known = Routes()
    for number in range(10):
        asked(known, "GET", f"/api/v1/namespaces/{number}", "")
    long = "/api/v1/namespaces/" + "x" * routes.LONGEST
    asked(known, "GET", long, "")
    assert len(known._known) <= 3
    assert known.find("GET", long) is None


def test_a_memory_forgets_before_it_grows_and_takes_no_long_headers() -> None:
    memory = Memory()
    for number in range(100):
        memory.add(("accept", str(number)), number)
        assert memory.held[("accept", str(number))] == number
        assert len(memory.held) <= routes.MOST_REMEMBERED
    memory.add(("accept", "x" * (routes.LONGEST + 1)), 1)
    assert all(len(str(key)) < routes.LONGEST for key in memory.held)
