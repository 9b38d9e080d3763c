"""Content types as Go reads them."""

import pytest

from kadmit.api.mediatype import MediaTypeError, media_type


@pytest.mark.parametrize(
    ("header", "media"),
    [
        ("application/json", "application/json"),
        (" Application/JSON ; charset=utf-8", "application/json"),
        ("json", "json"),
        ("text/plain;", "text/plain"),
        ("text/plain ; ", "text/plain"),
        ('text/plain; a="b \\" c"; d=e', "text/plain"),
        ("text/plain; a=b; A=b", "text/plain"),
        ("{a}/b", "{a}/b"),
    ],
)
def test_a_media_type_is_read_without_its_parameters(header: str, media: str) -> None:
    assert media_type(header) == media


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (" ", "no media type"),
        ("/json", "no media type"),
        (";a=b", "no media type"),
        ("a b", "expected slash after first token"),
        ("a@b/c", "expected slash after first token"),
        ("a/", "expected token after slash"),
        ("a//b", "expected token after slash"),
        ("a/b c", "unexpected content after media subtype"),
        ("a/b, c/d", "unexpected content after media subtype"),
        ("a/b; c", "invalid media parameter"),
        ("a/b; =c", "invalid media parameter"),
        ('a/b; c="d', "invalid media parameter"),
        ('a/b; c="d"e', "invalid media parameter"),
        ("a/b; c=d; C=e", "duplicate parameter name"),
    ],
)
def test_what_is_wrong_with_a_content_type(header: str, reason: str) -> None:
    with pytest.raises(MediaTypeError, match=f"^mime: {reason}$"):
        media_type(header)
