"""The objects of a running cluster for `kadmit impact`: listed page by page, and only what policies can be about.

Nothing but get and list is asked of the cluster. What it does not let us list is told in the report, never left out silently.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionResource
from kadmit.authoring.manifests import File, Manifest
from kadmit.authoring.replaying.rest import Impact
from kadmit.cli import webhook_cluster
from kadmit.cli.replay_output import Progress
from kadmit.cli.webhook_cluster import NoCluster
from kadmit.kinds.catalog import Resource
from kadmit.resources.state import CRDS, NAMESPACES, RBAC
from kadmit.webhook.cluster import Cluster, Unreachable

Json: TypeAlias = dict[str, Any]

PAGE = 500

__all__ = ["NoCluster", "take"]


class Served(Struct, frozen=True):
    """A resource that the cluster lets be listed."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "") -> str:
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}{inside}/{self.plural}"

    def manifest(self, item: Json) -> Manifest:
        """NB: items of lists need not say what they are."""
        return Manifest(File("cluster", b""), 0, {**item, "apiVersion": self.api_version, "kind": self.kind})


def take(impact: Impact, kubeconfig: str, context: str, namespace: str, progress: Progress) -> None:
    """Raises NoCluster."""
    connection = webhook_cluster.connection(kubeconfig, context, wanted=True)
    assert connection is not None, "one is wanted"
    asyncio.run(_Listing(Cluster(connection), impact, namespace, progress).run())


class _Listing:
    def __init__(self, cluster: Cluster, impact: Impact, namespace: str, progress: Progress) -> None:
        self._cluster = cluster
        self._impact = impact
        self._namespace = namespace
        self._progress = progress

    async def run(self) -> None:
        try:
            served = await self._discovered()
            await self._surround([s for s in served if (s.group, s.plural) in (CRDS, NAMESPACES)])
            known = {s: found for s in served if (found := self._known(s)) is not None}
            params = self._impact.judge.params()
            await self._surround([s for s in known if s.group == RBAC or (s.group, s.kind) in params])
            for each, resource in known.items():
                if self._is_judged(resource):
                    await self._take(each)
            self._tell_unknown(served)
        except Unreachable as error:
            raise NoCluster(f"--kubeconfig: {self._cluster.connection.server}: {error}") from None
        except ApiError as error:
            raise NoCluster(f"--kubeconfig: {self._cluster.connection.server}: {error}") from None
        finally:
            self._progress.end()
            await self._cluster.close()

    # ------------------------------------------------------------ what there is

    async def _discovered(self) -> list[Served]:
        """Each resource once, in the version that the cluster prefers."""
        found: dict[tuple[str, str], Served] = {}
        for root in ["/api/v1", *await self._group_versions()]:
            try:
                listed = await self._cluster.get(root)
            except ApiError as error:
                self._impact.findings.miss(f"{root} could not be discovered ({error.status.code} {error.status.reason})".rstrip())
                continue
            for served in _served(listed):
                found.setdefault((served.group, served.plural), served)
        return list(found.values())

    async def _group_versions(self) -> list[str]:
        groups = (await self._cluster.get("/apis")).get("groups") or ()
        versions = [[g["preferredVersion"], *g["versions"]] for g in groups]
        return list(dict.fromkeys(f"/apis/{v['groupVersion']}" for of_group in versions for v in of_group))

    def _known(self, served: Served) -> Resource | None:
        known = self._impact.judge.workspace.cluster.known
        return known.resource(GroupVersionResource(served.group, served.version, served.plural))

    def _is_judged(self, resource: Resource) -> bool:
        return any(self._impact.judge.may_matter(resource, "", operation) for operation in self._impact.operations)

    def _tell_unknown(self, served: list[Served]) -> None:
        for each in served:
            if self._known(each) is None:
                self._impact.findings.miss(f"{each.plural} in version {each.api_version} are not known here, and were not listed")

    # ------------------------------------------------------------ objects

    async def _surround(self, wanted: list[Served]) -> None:
        for served in wanted:
            self._impact.surround([manifest async for manifest in self._listed(served)])

    async def _take(self, served: Served) -> None:
        if self._namespace and not served.namespaced:
            self._impact.findings.miss(f"{served.plural}: not in a namespace, and only one namespace is asked about")
            return
        async for manifest in self._listed(served, self._namespace):
            self._impact.take(manifest)
            self._progress.tell(self._impact.objects, self._impact.findings)

    async def _listed(self, served: Served, namespace: str = "") -> AsyncIterator[Manifest]:
        token = ""
        while True:
            query = {"limit": str(PAGE), **({"continue": token} if token else {})}
            try:
                page = await self._cluster.get(served.path(namespace), query)
            except ApiError as error:
                told = f"{served.plural}: the cluster does not let them be listed ({error.status.code} {error.status.reason})"
                self._impact.findings.miss(told, {"message": error.status.message})
                return
            for item in page.get("items") or ():
                yield served.manifest(item)
            token = str((page.get("metadata") or {}).get("continue") or "")
            if not token:
                return


def _served(listed: Json) -> Iterator[Served]:
    group, _, version = str(listed.get("groupVersion") or "").rpartition("/")
    for each in listed.get("resources") or ():
        if "/" not in each["name"] and "list" in (each.get("verbs") or ()):
            yield Served(group, version, each["name"], each["kind"], bool(each["namespaced"]))
