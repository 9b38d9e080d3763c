"""Who leads: candidates over one Lease, with a clock that is told."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from kadmit.webhook.election import Candidate, Times

Json: TypeAlias = dict[str, Any]

TIMES = Times(duration=15, deadline=10, retry=2)


@dataclass
class Lease:
    """A Lease that takes a write from whoever has read its newest version."""

    value: Json | None = None
    now: float = 0.0
    writes: list[str] = field(default_factory=list)

    def turn(self, candidate: Candidate) -> None:
        spec = candidate.wish(self.value, self.now, f"t{self.now}")
        if spec is not None:
            self.value = {"spec": spec}
            self.writes.append(spec["holderIdentity"])
            candidate.wrote(self.now)


def test_the_first_one_leads_and_goes_on() -> None:
    lease, a, b = Lease(), Candidate("a", TIMES), Candidate("b", TIMES)
    for second in range(0, 60, 2):
        lease.now = second
        lease.turn(a)
        lease.turn(b)
        assert (a.leads(second), b.leads(second)) == (True, False)
    assert lease.value is not None
    assert lease.value["spec"]["acquireTime"] == "t0"
    assert (lease.value["spec"]["leaseTransitions"], lease.value["spec"]["leaseDurationSeconds"]) == (0, 15)


def test_another_one_takes_over_when_the_holder_is_silent() -> None:
    lease, a, b = Lease(), Candidate("a", TIMES), Candidate("b", TIMES)
    lease.turn(a)
    lease.turn(b)
    lease.now = 14
    lease.turn(b)
    assert lease.writes == ["a"]
    lease.now = 15
    lease.turn(b)
    assert b.leads(15)
    assert lease.value is not None
    assert (lease.value["spec"]["holderIdentity"], lease.value["spec"]["leaseTransitions"]) == ("b", 1)


def test_a_holder_that_cannot_renew_stops_before_another_may_begin() -> None:
    lease, a = Lease(), Candidate("a", TIMES)
    lease.turn(a)
    assert a.leads(9.9)
    assert not a.leads(10)


def test_silence_is_counted_from_when_one_sees_the_lease() -> None:
    """Clocks need not agree: an old time in the Lease means nothing."""
    lease, a, late = Lease(), Candidate("a", TIMES), Candidate("late", TIMES)
    lease.turn(a)
    lease.now = 1000
    lease.turn(late)
    assert lease.writes == ["a"]
    lease.now = 1015
    lease.turn(late)
    assert lease.writes == ["a", "late"]


def test_a_lease_that_is_given_back_is_taken_at_once() -> None:
    lease, a, b = Lease(), Candidate("a", TIMES), Candidate("b", TIMES)
    lease.turn(a)
    lease.turn(b)
    assert b.farewell(lease.value) is None
    spec = a.farewell(lease.value)
    assert spec is not None
    lease.value = {"spec": spec}
    a.lost()
    lease.turn(b)
    assert (a.leads(0), b.leads(0)) == (False, True)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.0, 6.0)), max_size=60))
def test_there_is_never_more_than_one_leader(turns: list[tuple[str, float]]) -> None:
    lease = Lease()
    candidates = {name: Candidate(name, TIMES) for name in "abc"}
    for name, pause in turns:
        lease.now += pause
        lease.turn(candidates[name])
        assert sum(candidate.leads(lease.now) for candidate in candidates.values()) <= 1
