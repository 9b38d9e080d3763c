"""An App's configurations in a cluster, for as long as it is served from a desk.

What carries our label is ours to replace and to remove. A configuration that somebody else made is never touched.
"""

from kadmit.api.errors import ApiError
from kadmit.webhook.cluster import Cluster, Unreachable
from kadmit.webhook.review import Json
from kadmit.webhook.sdk.registration import API_VERSION, PLURALS

MANAGER = "kadmit-webhook-run"
LABEL = "app.kubernetes.io/managed-by"


class RegistrationError(Exception):
    """The cluster refused, or could not be asked."""


class Registration:
    """What of ours stands in a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._paths: set[str] = set()

    async def put(self, configurations: list[Json]) -> None:
        """These, and no others of the same name. Raises RegistrationError."""
        wanted = {_path(each["kind"], each["metadata"]["name"]): each for each in configurations}
        try:
            for path, value in wanted.items():
                await self._check(path)
                await self._cluster.apply(path, value, MANAGER)
                self._paths.add(path)
            await self._leftovers(configurations[0]["metadata"]["name"], set(wanted))
        except (ApiError, *Unreachable) as error:
            raise RegistrationError(_text(error)) from None

    async def remove(self) -> None:
        """Raises RegistrationError for what is left."""
        for path in sorted(self._paths):
            await self._delete(path)

    async def _check(self, path: str) -> None:
        known = await self._known(path)
        if known is not None and (known["metadata"].get("labels") or {}).get(LABEL) != MANAGER:
            kind, name = known.get("kind", "configuration"), known["metadata"]["name"]
            raise RegistrationError(f"there is a {kind} {name!r} that is not ours; give the App another name, or remove it")

    async def _leftovers(self, name: str, wanted: set[str]) -> None:
        """Of our name and kind, from before: a kind that no handler has any more, or a run that could not clean up."""
        for kind in PLURALS:
            path = _path(kind, name)
            known = await self._known(path) if path not in wanted else None
            if known is not None and (known["metadata"].get("labels") or {}).get(LABEL) == MANAGER:
                await self._delete(path)

    async def _known(self, path: str) -> Json | None:
        try:
            return await self._cluster.get(path)
        except ApiError as error:
            if error.status.code == 404:
                return None
            raise

    async def _delete(self, path: str) -> None:
        try:
            await self._cluster.send("DELETE", path)
        except (ApiError, *Unreachable) as error:
            if not isinstance(error, ApiError) or error.status.code != 404:
                raise RegistrationError(f"{path} is still there: {_text(error)}") from None
        self._paths.discard(path)


def _path(kind: str, name: str) -> str:
    return f"/apis/{API_VERSION}/{PLURALS[kind]}/{name}"


def _text(error: BaseException) -> str:
    return error.status.message if isinstance(error, ApiError) else str(error) or type(error).__name__
