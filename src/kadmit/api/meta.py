"""Names of kinds and resources, as every part passes them around."""

from typing import NamedTuple


class GroupVersion(NamedTuple):
    group: str
    version: str

    def __str__(self) -> str:
        """As apiVersion has it."""
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupKind(NamedTuple):
    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupResource(NamedTuple):
    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupVersionKind(NamedTuple):
    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        """As Go prints it into texts: apps/v1, Kind=Deployment."""
        return f"{self.group}/{self.version}, Kind={self.kind}"


class GroupVersionResource(NamedTuple):
    group: str
    version: str
    resource: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Resource={self.resource}"


def parse_api_version(text: str) -> GroupVersion:
    """apps/v1 or v1; ValueError with Kubernetes' text for anything else."""
    if text.count("/") > 1:
        raise ValueError(f"unexpected GroupVersion string: {text}")
    group, _, version = text.rpartition("/")
    return GroupVersion(group, version)
