"""What came of one request, as it is told: with everything that somebody said, and without what a server makes up."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kadmit.admission.outcome import Record
from kadmit.api.errors import Status
from kadmit.authoring.manifests import Json, Manifest
from kadmit.resources.context import with_metadata

if TYPE_CHECKING:
    from kadmit.authoring.explanation import Step

# What the server leaves in the audit log about every mutating webhook.
OF_CALLS = ("mutation.webhook.admission.k8s.io/", "patch.webhook.admission.k8s.io/")
_NEVER = ("managedFields", "resourceVersion")  # what was sent of these says nothing here
_MADE_UP = ("creationTimestamp", "managedFields", "resourceVersion", "uid")


class Admission(Struct, frozen=True):
    """What came of one request: an object or a Status, and the words that go with it."""

    manifest: Manifest
    operation: str
    resource: str  # pod, deployment.apps
    name: str
    namespace: str
    before: Json | None = None  # as it would be without admission
    object: Json | None = None
    status: Status | None = None
    warnings: Sequence[str] = ()
    annotations: dict[str, str] = field(default_factory=dict)
    steps: "Sequence[Step]" = ()
    record: Record = field(default_factory=Record)

    @property
    def allowed(self) -> bool:
        return self.status is None

    @property
    def changed(self) -> bool:
        return self.object is not None and self.before != self.object

    @property
    def title(self) -> str:
        return f"{self.resource}/{self.name}"

    def as_json(self) -> Json:
        made: dict[str, Any] = {"file": self.manifest.file.name, "line": self.manifest.line(), "operation": self.operation}
        made |= {"resource": self.resource, "name": self.name}
        if self.namespace:
            made["namespace"] = self.namespace
        made |= {"allowed": self.allowed, "changed": self.changed}
        if self.status is not None:
            made["status"] = self.status.as_json()
        made |= {"warnings": list(self.warnings), "auditAnnotations": self.annotations}
        made["steps"] = [step.as_json() for step in self.steps]
        return made | ({"object": self.object} if self.object is not None else {})


def shown(value: Json, sent: Json) -> Json:
    """An object without what a server makes up, unless it was sent; `sent` is the metadata that was."""
    return with_metadata(value, **{key: None for key in _MADE_UP if key not in sent or key in _NEVER})
