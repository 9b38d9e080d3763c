"""Who of several replicas writes: the one that holds a Lease. Answering reviews needs no leader; writing does.

The rules are those that Kubernetes' own controllers keep to. A Lease counts for as long as its holder renews it. Whether it did
is judged by one's own clock, from the moment that the Lease was last seen to change, so that clocks need not agree. A holder that
could not renew in time stops before anybody else may begin.
"""

import asyncio
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct, field

from kadmit.api.errors import ApiError
from kadmit.matching.attributes import Json
from kadmit.webhook.cluster import Cluster, Unreachable

GROUP_VERSION = "coordination.k8s.io/v1"


class Times(Struct, frozen=True):
    """Seconds. A Lease is good for `duration`; its holder tries every `retry`, and gives up after `deadline`."""

    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0


class Candidate(Struct):
    """One replica's view of the Lease; pure, for the time is told. `now` is monotonic, `moment` what is written down."""

    identity: str
    times: Times = field(default_factory=Times)
    _seen: object = None
    _seen_at: float = 0.0
    _renewed_at: float | None = None

    def leads(self, now: float) -> bool:
        return self._renewed_at is not None and now - self._renewed_at < self.times.deadline

    def wish(self, lease: Json | None, now: float, moment: str) -> Json | None:
        """The spec that the Lease should have for us to hold it; None if somebody else does."""
        spec = (lease or {}).get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        written = (holder, spec.get("renewTime"), spec.get("leaseTransitions"))
        if written != self._seen:
            self._seen, self._seen_at = written, now
        if holder == self.identity:
            return {**spec, "leaseDurationSeconds": self._seconds, "renewTime": moment}
        if holder and now - self._seen_at < float(spec.get("leaseDurationSeconds") or self._seconds):
            self._renewed_at = None
            return None
        transitions = int(spec.get("leaseTransitions") or 0) + (lease is not None)
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._seconds,
            "acquireTime": moment,
            "renewTime": moment,
            "leaseTransitions": transitions,
        }

    @property
    def _seconds(self) -> int:
        return max(1, int(self.times.duration))

    def wrote(self, now: float) -> None:
        """The Lease is as we wished."""
        self._renewed_at = now

    def lost(self) -> None:
        self._renewed_at = None

    def farewell(self, lease: Json | None) -> Json | None:
        """The spec of a Lease that anybody may take at once; None if it is not ours."""
        spec = (lease or {}).get("spec") or {}
        if spec.get("holderIdentity") != self.identity:
            return None
        return {**spec, "holderIdentity": "", "leaseDurationSeconds": 1}


class Election:
    """Keeps trying. `changed` is told when this replica begins or ends to lead, `told` hears of what goes wrong."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        name: str,
        candidate: Candidate,
        *,
        changed: Callable[[bool], None] = lambda _: None,
        told: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._cluster = cluster
        self._path = f"/apis/{GROUP_VERSION}/namespaces/{namespace}/leases"
        self._metadata = {"namespace": namespace, "name": name}
        self._candidate = candidate
        self._changed = changed
        self._told = told
        self._led = False

    @property
    def leads(self) -> bool:
        return self._candidate.leads(time.monotonic())

    async def run(self) -> None:
        """Until cancelled; then the Lease is given back."""
        try:
            while True:
                await self._try()
                self._tell()
                await asyncio.sleep(self._candidate.times.retry * (1 + 0.2 * random.random()))  # noqa: S311 - no secret
        finally:
            await self._give_back()

    async def _try(self) -> None:
        """NB: the deadline ends a leadership that cannot be renewed."""
        try:
            await self.turn()
        except (ApiError, *Unreachable) as error:
            self._told(f"cannot hold Lease {self._metadata['name']!r}: {str(error) or type(error).__name__}")

    async def turn(self) -> None:
        """Look, and take or renew the Lease if it is to be had. Raises ApiError and those of Unreachable."""
        lease = await self._found()
        spec = self._candidate.wish(lease, time.monotonic(), _now())
        if spec is None:
            return
        began = time.monotonic()
        try:
            await self._write(lease, spec)
        except ApiError as error:
            if error.status.code != 409:
                raise
            self._candidate.lost()  # somebody was quicker
            return
        self._candidate.wrote(began)

    def _tell(self) -> None:
        if self.leads != self._led:
            self._led = not self._led
            self._changed(self._led)

    async def _found(self) -> Json | None:
        try:
            return await self._cluster.get(f"{self._path}/{self._metadata['name']}")
        except ApiError as error:
            if error.status.code != 404:
                raise
            return None

    async def _write(self, lease: Json | None, spec: Json) -> None:
        if lease is None:
            made = {"apiVersion": GROUP_VERSION, "kind": "Lease", "metadata": self._metadata, "spec": spec}
            await self._cluster.send("POST", self._path, made)
        else:
            await self._cluster.send("PUT", f"{self._path}/{self._metadata['name']}", {**lease, "spec": spec})

    async def _give_back(self) -> None:
        try:
            async with asyncio.timeout(2):
                lease = await self._found()
                spec = self._candidate.farewell(lease)
                if spec is not None:
                    await self._write(lease, spec)
        except (ApiError, *Unreachable):
            pass  # it ends by itself
        self._candidate.lost()
        self._tell()


def _now() -> str:
    """A MicroTime."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
