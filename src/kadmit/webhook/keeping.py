"""Where a server's certificate comes from while it runs: a Secret that the leader renews, or files that somebody else renews.

Each tells `changed` of new material; whoever serves hands it to the server, and whoever registers takes the bundle.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from kadmit.api.errors import ApiError
from kadmit.matching.attributes import Json
from kadmit.pki.pem import Pair
from kadmit.webhook import certificates
from kadmit.webhook.certificates import Lives, Material
from kadmit.webhook.cluster import Cluster, Unreachable
from kadmit.webhook.following import Collection, Follower

PERIOD = 60.0
FILE_PERIOD = 1.0


class Served(Struct, frozen=True):
    """What to serve with, and whom callers must trust for it; nobody knows (empty) for files."""

    pair: Pair
    bundle: bytes = b""


Changed = Callable[[Served], None]


class SecretKeeper:
    """Follows the Secret, and renews what is in it while this replica leads.

    NB: `trusted` tells the bundle that the configurations have, and None if we do not write them. A new authority must not sign
    before they have it.
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        name: str,
        names: Sequence[str],
        changed: Changed,
        told: Callable[[str], None],
        *,
        leads: Callable[[], bool],
        trusted: Callable[[], bytes | None],
        lives: Lives | None = None,
        period: float = PERIOD,
    ) -> None:
        self._cluster = cluster
        self._namespace, self._name, self._names = namespace, name, names
        self._changed, self._told = changed, told
        self._leads, self._trusted = leads, trusted
        self._lives = lives or Lives()
        self._period = period
        self._secret: Json | None = None
        self._material: Material | None = None
        self._due = asyncio.Event()
        collection = Collection("", "v1", "secrets", namespace, f"metadata.name={name}")
        self._follower = Follower(cluster, collection, self, told)

    # ------------------------------------------------------------ seeing

    def replace(self, values: list[Json]) -> None:
        self._take(values[0] if values else None)

    def put(self, value: Json) -> None:
        self._take(value)

    def remove(self, value: Json) -> None:
        """NB: what is served stays; the leader writes the Secret anew."""
        self._secret = None
        self._due.set()

    def _take(self, value: Json | None) -> None:
        self._secret = value
        found = certificates.of_secret(value)
        if found is not None and found != self._material:
            self._material = found
            self._changed(Served(found.serving, found.bundle))

    # ------------------------------------------------------------ renewing

    def reconsider(self) -> None:
        self._due.set()

    async def run(self) -> None:
        following = asyncio.ensure_future(self._follower.run())
        try:
            await self._follower.synced.wait()
            while True:
                self._due.clear()
                try:
                    await self.turn()
                except (ApiError, *Unreachable) as error:
                    self._told(f"cannot keep certificates in Secret {self._name!r}: {str(error) or type(error).__name__}")
                await self._until_due()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _until_due(self) -> None:
        try:
            async with asyncio.timeout(self._period):
                await self._due.wait()
        except TimeoutError:
            pass

    async def turn(self) -> None:
        """Renew what is due. Raises ApiError and those of Unreachable."""
        if not self._leads():
            return
        known = certificates.of_secret(self._secret)
        if known is not None and known.coming is not None and not self._is_trusted(known.coming):
            return
        made = certificates.renewed(known, self._names, datetime.now(UTC), self._lives)
        if made == known:
            return
        version = ((self._secret or {}).get("metadata") or {}).get("resourceVersion") or ""
        path = f"/api/v1/namespaces/{self._namespace}/secrets"
        value = certificates.secret(made, self._namespace, self._name, version)
        try:
            if self._secret is None:
                written = await self._cluster.send("POST", path, value)
            else:
                written = await self._cluster.send("PUT", f"{path}/{self._name}", value)
        except ApiError as error:
            if error.status.code != 409:
                raise
            return  # somebody else wrote it; what it holds comes by the watch
        self._take(written)

    def _is_trusted(self, authority: Pair) -> bool:
        trusted = self._trusted()
        return trusted is None or authority.certificate in trusted


class FileKeeper:
    """A certificate and its key in files, such as a mounted Secret of cert-manager; read again when they change."""

    def __init__(self, certificate: Path, key: Path, changed: Changed, told: Callable[[str], None]) -> None:
        self._paths = (certificate, key)
        self._changed, self._told = changed, told
        self._seen: tuple[bytes, bytes] = (b"", b"")

    def load(self) -> None:
        """Raises OSError, and what `changed` raises for a pair that cannot be used."""
        found = (self._paths[0].read_bytes(), self._paths[1].read_bytes())
        if found != self._seen:
            self._seen = found
            self._changed(Served(Pair(*found)))

    async def run(self) -> None:
        while True:
            await asyncio.sleep(FILE_PERIOD)
            try:
                self.load()
            except (OSError, ValueError) as error:
                self._told(f"certificate files cannot be used, the old ones stay: {error}")
