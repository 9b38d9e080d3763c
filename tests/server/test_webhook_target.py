"""From a client configuration to a URL, as Go writes it; and through which proxy it is called."""

from typing import Any

import pytest

from kadmit.server import webhook_target
from kadmit.server.proxies import Proxies


@pytest.mark.parametrize(
    ("client", "url", "authority"),
    [
        ({"url": "https://h/hook"}, "https://h/hook?timeout=5s", "h:443"),
        ({"url": "https://h:8443"}, "https://h:8443/?timeout=5s", "h:8443"),
        ({"url": "https://h//a//b/../c/"}, "https://h/a/c?timeout=5s", "h:443"),
        ({"url": "https://h/a%2Fb c;d=e,f/ü(!)"}, "https://h/a/b%20c;d=e,f/%C3%BC%28%21%29?timeout=5s", "h:443"),
        ({"url": "https://h/a?x=1"}, "https://h/a?timeout=5s", "h:443"),
        ({"service": {"namespace": "ns", "name": "s"}}, "https://s.ns.svc:443/?timeout=5s", "s.ns.svc:443"),
        (
            {"service": {"namespace": "ns", "name": "s", "path": "a//b", "port": 9}},
            "https://s.ns.svc:9/a/b?timeout=5s",
            "s.ns.svc:9",
        ),
    ],
)
def test_where_a_webhook_is(client: dict[str, Any], url: str, authority: str) -> None:
    target = webhook_target.of("hook", client)
    assert (target.within(5), target.authority) == (url, authority)


ENVIRONMENT = {
    "HTTPS_PROXY": "proxy:3128",
    "http_proxy": "http://plain:80",
    "NO_PROXY": "in.side, .sub.dom, 10.0.0.0/8, 192.168.0.1, p.q:9",
}


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://example.com/x", "http://proxy:3128"),
        ("http://example.com/x", "http://plain:80"),
        ("https://localhost/x", None),
        ("https://127.0.0.1/x", None),
        ("https://[::1]/x", None),
        ("https://in.side/x", None),
        ("https://far.in.side/x", None),
        ("https://notin.side/x", "http://proxy:3128"),
        ("https://sub.dom/x", "http://proxy:3128"),
        ("https://a.sub.dom/x", None),
        ("https://10.9.8.7/x", None),
        ("https://11.9.8.7/x", "http://proxy:3128"),
        ("https://192.168.0.1/x", None),
        ("https://p.q:9/x", None),
        ("https://p.q/x", "http://proxy:3128"),
    ],
)
def test_which_proxy_a_url_is_called_through(url: str, proxy: str | None) -> None:
    assert Proxies.from_environment(ENVIRONMENT).proxy_for(url) == proxy


def test_without_proxies_everything_is_called_straight() -> None:
    assert Proxies.from_environment({}).proxy_for("https://example.com") is None
    assert Proxies.from_environment({"HTTPS_PROXY": "p", "NO_PROXY": "*"}).proxy_for("https://example.com") is None
