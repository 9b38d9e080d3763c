"""TokenRequests as policies see them."""

from typing import Any

import pytest

from kadmit.api.errors import ApiError
from kadmit.resources import tokenrequests

NOW = "2026-01-01T00:00:00Z"
ACCOUNT = {"metadata": {"name": "robot", "namespace": "n", "uid": "u"}}


def request(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": metadata or {}, "spec": {"expirationSeconds": 3600, **spec}}


def test_it_is_about_the_account_and_for_the_server_itself_unless_it_says_for_whom() -> None:
    made = tokenrequests.filled(request(), ACCOUNT, NOW)
    assert made["metadata"] == {"name": "robot", "namespace": "n", "uid": "u", "creationTimestamp": NOW}
    assert made["spec"]["audiences"] == list(tokenrequests.AUDIENCES)
    assert tokenrequests.filled(request(audiences=["x"]), ACCOUNT, NOW)["spec"]["audiences"] == ["x"]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (599, "may not specify a duration less than 10 minutes"),
        ((1 << 32) + 1, "may not specify a duration larger than 2^32 seconds"),
    ],
)
def test_its_time_has_bounds(seconds: int, told: str) -> None:
    with pytest.raises(ApiError, match=told.replace("^", r"\^")):
        tokenrequests.filled(request(expirationSeconds=seconds), ACCOUNT, NOW)


def test_another_account_is_refused() -> None:
    tokenrequests.check_name(request({"name": "robot"}), "robot")
    with pytest.raises(ApiError, match="must match the service account name if specified"):
        tokenrequests.check_name(request({"name": "other"}), "robot")
    with pytest.raises(ApiError, match="does not match the UID of the service account"):
        tokenrequests.filled(request({"uid": "other"}), ACCOUNT, NOW)
