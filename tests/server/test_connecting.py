"""CONNECT: what the query and the path of a request become, before anybody is asked."""

from typing import Any

import pytest

from kadmit.access.attributes import request_info
from kadmit.api.errors import ApiError
from kadmit.cel.library.authorizer import User
from kadmit.server import connecting
from kadmit.server.exchange import Exchange


def exchange(url: str, **query: list[str]) -> Exchange:
    return Exchange("GET", url, query, {}, b"", request_info("GET", url, query), User("u"))


def options(kind: str, url: str = "/api/v1/namespaces/n/pods/p/exec", **query: list[str]) -> dict[str, Any]:
    made = connecting._options(kind, exchange(url, **query))
    assert made.pop("kind") == kind
    assert made.pop("apiVersion") == "v1"
    return made


def test_options_leave_out_what_is_empty_or_off() -> None:
    made = options("PodExecOptions", stdin=["false"], stdout=[""], stderr=["0"], tty=["x"], container=[""], command=["ls", "-l"])
    assert made == {"stdout": True, "tty": True, "command": ["ls", "-l"]}


def test_options_take_only_what_their_kind_has() -> None:
    assert options("PodAttachOptions", command=["ls"], container=["c"]) == {"container": "c"}


@pytest.mark.parametrize(
    ("path", "rest"),
    [
        ("/api/v1/namespaces/n/services/s/proxy", ""),
        ("/api/v1/namespaces/n/services/s/proxy/", "/"),
        ("/api/v1/namespaces/n/services/s/proxy/a/b", "/a/b"),
        ("/api/v1/namespaces/n/services/s/proxy/a/", "/a/"),
        ("/api/v1/nodes/n/proxy/stats", "/stats"),
    ],
)
def test_a_proxy_is_asked_for_the_rest_of_the_path(path: str, rest: str) -> None:
    assert options("ServiceProxyOptions", path, path=["ignored"]) == ({"path": rest} if rest else {})


def test_ports_are_listed_or_repeated() -> None:
    assert options("PodPortForwardOptions", ports=["80,443", "8080"]) == {"ports": [80, 443, 8080]}


@pytest.mark.parametrize(("text", "fault"), [("x", "invalid syntax"), ("-1", "invalid syntax"), ("70000", "value out of range")])
def test_what_is_no_port_is_refused(text: str, fault: str) -> None:
    expected = f'cannot convert to \\[\\]int32: strconv.ParseUint: parsing "{text}": {fault}'
    with pytest.raises(ApiError, match=expected):
        options("PodPortForwardOptions", ports=[text])
