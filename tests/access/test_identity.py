"""Who sends a request."""

import pytest
from tests.access import recording

from kadmit.access import identity, tokenfile
from kadmit.access.identity import ANONYMOUS, Identities
from kadmit.cel.library.authorizer import User

ALICE = User("alice", "alice-uid", ("developers",))
KNOWN = Identities({"alice-token": ALICE}, anonymous=False)
OPEN = Identities({"alice-token": ALICE}, anonymous=True)


@pytest.mark.parametrize(
    "header", ["Bearer alice-token", "bearer alice-token", "  BEARER alice-token  ", "Bearer alice-token more"]
)
def test_a_known_token_is_its_user(header: str) -> None:
    assert KNOWN.identify(header).user == recording.ALICE


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer  alice-token", "Basic YTpi", "alice-token"])
def test_without_a_token_one_is_nobody_or_anonymous(header: str) -> None:
    assert KNOWN.identify(header).user is None
    assert OPEN.identify(header).user == ANONYMOUS


def test_a_wrong_token_is_refused_even_where_nobody_needs_one() -> None:
    found = OPEN.identify("Bearer wrong")
    assert (found.user, found.error) == (None, "invalid bearer token")
    refusal = found.refusal()
    assert refusal is not None
    assert (refusal.status.code, str(refusal)) == (401, "Unauthorized")


def test_a_space_too_many_is_warned_of() -> None:
    expected = "the provided Authorization header contains extra space before the bearer token, and is ignored"
    assert KNOWN.identify("Bearer  alice-token").warning == expected
    assert KNOWN.identify("Bearer alice-token").warning == ""


@pytest.mark.parametrize("group", ["system:authenticated", "system:unauthenticated"])
def test_who_is_said_to_be_authenticated_or_not_stays_so(group: str) -> None:
    user = User("x", groups=(group,))
    assert identity.authenticated(user) == user


# ---------------------------------------------------------------- certificates


def test_a_certificate_names_a_user_and_groups() -> None:
    subject = ((("organizationName", "a"),), (("organizationName", "b"),), (("commonName", "old"),), (("commonName", "carol"),))
    user = identity.certificate_user(subject, b"der")
    assert user is not None
    assert (user.name, user.uid, user.groups) == ("carol", "", ("a", "b"))
    digest = "5050d80d22ecd471ea55df7034042c1e041341ff4066e7f6ff38e20b720df8ea"
    assert user.extra == {"authentication.kubernetes.io/credential-id": (f"X509SHA256={digest}",)}


def test_a_certificate_goes_before_a_token() -> None:
    assert KNOWN.identify("Bearer alice-token", certificate=User("carol")).user == User("carol", groups=("system:authenticated",))


UID = "1.3.6.1.4.1.57683.2"


@pytest.mark.parametrize(
    ("pairs", "uid"),
    [
        ([("organizationName", "a")], None),
        ([("commonName", "")], None),
        ([("commonName", "x"), (UID, "u")], "u"),
        ([("commonName", "x"), (UID, "u"), (UID, "v")], None),
        ([("commonName", "x"), (UID, "")], None),
    ],
)
def test_a_certificate_that_is_unclear_names_nobody(pairs: list[tuple[str, str]], uid: str | None) -> None:
    user = identity.certificate_user([pairs], b"")
    assert (None if user is None else user.uid) == uid


# ---------------------------------------------------------------- the token file


def test_a_token_file() -> None:
    text = 'a-token,alice,1,"g1,g2"\n\nb-token,bob,2\r\nc,"with ""quotes""",3,\n'
    assert tokenfile.parse(text, "f").users == {
        "a-token": User("alice", "1", ("g1", "g2")),
        "b-token": User("bob", "2"),
        "c": User('with "quotes"', "3", ("",)),
    }


def test_the_last_of_two_equal_tokens_counts_and_an_empty_one_never() -> None:
    found = tokenfile.parse("a,x,1\n,y,2\na,z,3", "f")
    assert found.users == {"a": User("z", "3")}
    assert found.warnings == (
        "empty token has been found in token file 'f', record number '2'",
        "duplicate token has been found in token file 'f', record number '3'",
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a,b", "token file 'f' must have at least 3 columns (token, user name, user uid), found 2"),
        ('a,b"c,d', 'parse error on line 1, column 4: bare " in non-quoted-field'),
        ('\n"a"b,c,d', 'parse error on line 2, column 3: extraneous or missing " in quoted-field'),
        ('"a\nb,c,d', 'record on line 1; parse error on line 2, column 6: extraneous or missing " in quoted-field'),
        ('é,é"', 'parse error on line 1, column 6: bare " in non-quoted-field'),
    ],
)
def test_what_is_wrong_with_a_token_file(text: str, error: str) -> None:
    with pytest.raises(tokenfile.TokenFileError) as raised:
        tokenfile.parse(text, "f")
    assert str(raised.value) == error
