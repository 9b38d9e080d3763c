"""URLs: what Go's net/url accepts as a request target, its words for the rest, and the parts it finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.cel.library import url as urls
from kadmit.cel.library.url import URL
from kadmit.cel.values import CelError, Value


def read(text: str) -> URL:
    parsed = urls.parse(text)
    assert isinstance(parsed, URL), parsed
    return parsed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty url"),
        ("example.com", "invalid URI for request"),
        ("../up", "invalid URI for request"),
        ("?a", "invalid URI for request"),
        ("*?a", "invalid URI for request"),
        (":foo", "missing protocol scheme"),
        ("/a\x7f", "net/url: invalid control character in URL"),
        ("https://a:b:c/", 'invalid port ":b:c" after host'),
        ("http://a:1:2/", 'invalid port ":1:2" after host'),
        ("http://a:é/", 'invalid port ":é" after host'),
        ("https://example.com/%zz", 'invalid URL escape "%zz"'),
        ("https://example.com/%", 'invalid URL escape "%"'),
        ("https://example.com/%中", 'invalid URL escape "%\\xe4\\xb8"'),
        ("http://[::1", "missing ']' in host"),
        ("http://a[::1]", "invalid IP-literal"),
        ("http://[1.2.3.4]", "invalid IP-literal"),
        ("http://[::1]x", 'invalid port "x" after host'),
        ("http://[::g]", 'invalid host: ParseAddr("::g"): each colon-separated field must have at least one digit (at "g")'),
        ("http://[fe80::1%25%ff]", 'invalid URL escape "%ff"'),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://a%41/", 'invalid URL escape "%41"'),
        ("http://a^/", 'invalid character "^" in host name'),
        ("http://u ser@a/", "net/url: invalid userinfo"),
        ("http://u%zz@a/", 'invalid URL escape "%zz"'),
        ("/a#%zz", 'invalid URL escape "%zz"'),
    ],
)
def test_a_text_that_is_no_url_is_refused_in_gos_words(text: str, problem: str) -> None:
    shown = text.replace("\x7f", "\\x7f")
    error = urls.url(text)
    assert isinstance(error, CelError)
    assert error.message == f'URL parse error during conversion from string: parse "{shown}": {problem}'
    assert urls.is_url(text) is False
    assert urls.problem(text) == f'parse "{shown}": {problem}'


def test_two_slashes_are_a_path_to_isurl_and_a_host_to_url() -> None:
    assert urls.is_url("//a:b") is True
    error = urls.url("//a:b")
    assert isinstance(error, CelError)
    assert error.message == 'URL parse error during conversion from string: parse "//a:b": invalid port ":b" after host'
    assert urls.host(read("//host/p")) == "host"


PARTS = {"scheme": urls.scheme, "host": urls.host, "hostname": urls.hostname, "port": urls.port, "path": urls.escaped_path}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "https://example.com:8080/path?q=1#frag",
            {"scheme": "https", "host": "example.com:8080", "hostname": "example.com", "port": "8080", "path": "/path"},
        ),
        ("https://example.com", {"port": "", "path": ""}),
        ("/only/path", {"scheme": "", "host": "", "path": "/only/path"}),
        ("https://[::1]:80/", {"host": "[::1]:80", "hostname": "::1", "port": "80"}),
        ("https://[fe80::1%25en0]", {"host": "[fe80::1%en0]", "hostname": "fe80::1%en0"}),
        ("https://user:pw@example.com/", {"host": "example.com"}),
        ("http://u:p@ss@host/", {"host": "host"}),
        ("HTTPS://Example.COM/", {"scheme": "https", "host": "Example.COM"}),
        ("mailto:a@example.com", {"scheme": "mailto", "host": "", "path": ""}),
        ("x://a:1:2/", {"host": "a:1:2", "hostname": "a:1", "port": "2"}),
        ("http://a:/", {"host": "a:", "hostname": "a", "port": ""}),
        ("https://example.com/a b", {"path": "/a%20b"}),
        ("https://example.com/a%20b", {"path": "/a%20b"}),
        ("https://example.com/a%2Fb", {"path": "/a%2Fb"}),
        ("https://example.com/a%2Fb c", {"path": "/a/b%20c"}),
        ("https://example.com/(x)", {"path": "/(x)"}),
        ("https://example.com/é", {"path": "/%C3%A9"}),
        ("https://é%C3%A9/", {"host": "éé"}),
        ("https://a%ff/", {"host": "a\ufffd"}),
        ("*", {"path": "*"}),
        ("file:///etc", {"scheme": "file", "host": "", "path": "/etc"}),
    ],
)
def test_the_parts_are_those_that_go_finds(text: str, parts: dict[str, str]) -> None:
    assert {name: PARTS[name](read(text)) for name in parts} == parts


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("", {}),
        ("?", {}),
        ("?a=1&a=2&b=", {"a": ["1", "2"], "b": [""]}),
        ("?k%20x=v+y", {"k x": ["v y"]}),
        ("?novalue", {"novalue": [""]}),
        ("?=x", {"": ["x"]}),
        ("?a=b=c", {"a": ["b=c"]}),
        ("?a=%zz", {}),
        ("?%zz=1&b=2", {"b": ["2"]}),
        ("?a=1;b=2&c=3", {"c": ["3"]}),
        ("?a&&b", {"a": [""], "b": [""]}),
        ("?a=%C3%A9&b=%ff%fe", {"a": ["é"], "b": ["\ufffd\ufffd"]}),
        ("?a=b#c=d", {"a": ["b"]}),
    ],
)
def test_the_query_is_decoded_and_its_malformed_parts_left_out(query: str, values: dict[str, list[str]]) -> None:
    assert urls.query(read("https://example.com/" + query)) == values


def test_a_query_of_too_many_parameters_is_empty() -> None:
    assert len(urls.query(read("/?" + "&".join(f"k{i}" for i in range(10_000))))) == 10_000
    assert urls.query(read("/?" + "&".join(f"k{i}" for i in range(10_001)))) == {}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("https://example.com", "https://example.com"),
        ("HTTP://u%20v:p%40w@H/a b?#f g", "http://u%20v:p%40w@H/a%20b?#f%20g"),
        ("http:///a", "http:///a"),
        ("http:/a", "http:/a"),
        ("http:", "http:"),
        ("mailto:x?y", "mailto:x?y"),
        ("/a:b", "/a:b"),
        ("x://é/", "x://%C3%A9/"),
        ("/#", "/"),
    ],
)
def test_a_url_is_written_anew(text: str, written: str) -> None:
    assert str(read(text)) == written


def test_urls_are_equal_if_they_are_written_alike() -> None:
    assert read("https://example.com/é").equals(read("HTTPS://example.com/%C3%A9")) is True
    assert read("https://example.com").equals(read("https://example.com/")) is False
    assert isinstance(read("/").equals("/"), CelError)


def test_reading_costs_a_tenth_of_the_length_except_where_the_price_list_forgot_it() -> None:
    prices = {f.name: f.cost for f in urls.FUNCTIONS}

    def cost(name: str, *args: Value) -> int | None:
        charge = prices[name]
        return None if charge is None else charge("", args, None)

    assert cost("url", "/" * 31) == 4
    assert cost("isURL", "/" * 31) is None
    assert cost("getQuery", read("/")) == 1


@given(st.text("ab:/?#[]@!$&'()*+,;=%20é\\\"", max_size=30))
def test_any_text_gives_a_url_or_an_error_and_a_url_reads_back_as_itself(text: str) -> None:
    parsed = urls.parse(text)
    if isinstance(parsed, URL):
        assert urls.parse(str(parsed)).__class__ in (URL, str)
        assert parsed.equals(read(text)) is True
