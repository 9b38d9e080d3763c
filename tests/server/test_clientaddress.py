"""Where requests come from."""

import pytest

from kadmit.server.clientaddress import source_ips

CASES: list[tuple[dict[str, str], str | None, tuple[str, ...]]] = [
    ({}, "127.0.0.1", ("127.0.0.1",)),
    ({}, None, ()),
    ({"X-Forwarded-For": "1.2.3.4, 10.0.0.1"}, "127.0.0.1", ("1.2.3.4", "10.0.0.1", "127.0.0.1")),
    ({"X-Forwarded-For": "1.2.3.4, nonsense,"}, "1.2.3.4", ("1.2.3.4",)),
    ({"X-Forwarded-For": "1.2.3.4", "X-Real-Ip": "1.2.3.4"}, "5.6.7.8", ("1.2.3.4", "5.6.7.8")),
    ({"X-Real-Ip": "9.9.9.9"}, "5.6.7.8", ("9.9.9.9", "5.6.7.8")),
    ({"X-Real-Ip": "010.001.000.1"}, "5.6.7.8", ("10.1.0.1", "5.6.7.8")),
    ({}, "::ffff:1.2.3.4", ("1.2.3.4",)),
    ({}, "2001:DB8::0:1", ("2001:db8::1",)),
    ({"X-Real-Ip": "fe80::1%eth0"}, "::1", ("::1",)),
]


@pytest.mark.parametrize(("headers", "remote", "ips"), CASES)
def test_proxies_are_named_before_the_peer(headers: dict[str, str], remote: str | None, ips: tuple[str, ...]) -> None:
    assert source_ips(headers, remote) == ips


def test_a_header_can_only_be_so_long() -> None:
    assert len(source_ips({"X-Forwarded-For": ",".join(f"10.0.{n // 256}.{n % 256}" for n in range(5000))}, "::1")) == 65
