"""What came of one request, and what of it is not as expected."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kadmit.admission.outcome import Record
from kadmit.api.errors import Status
from kadmit.authoring.manifests import Json
from kadmit.patch.shapes import Shape

# Who refuses a request says so, in Kubernetes' words.
_REFUSALS = (
    r"ValidatingAdmissionPolicy '([^']*)'(?: with binding '[^']*')? denied request: ",
    r"\Apolicy '([^']*)' with binding '[^']*' denied request: ",
    r'\Apolicy "([^"]*)" denied request: ',
    r'admission webhook "([^"]*)" ',
    r'failed calling webhook "([^"]*)": ',
)
# What the server leaves in the audit log about every mutating webhook; nobody expects it unless they name it.
OF_CALLS = ("mutation.webhook.admission.k8s.io/", "patch.webhook.admission.k8s.io/")


@dataclass(frozen=True, slots=True)
class Called:
    """A webhook that was called, and the AdmissionRequest that it was sent."""

    name: str
    request: Json


@dataclass(frozen=True, slots=True)
class Outcome:
    """An object or a Status, and the words that go with it."""

    operation: str
    resource: str  # pod, deployment.apps
    name: str
    namespace: str
    object: Json | None = None
    status: Status | None = None
    warnings: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    called: tuple[Called, ...] = ()
    before: Json | None = None  # as it would be without admission; only where somebody compares
    shape: Shape | None = None  # of the object: where its lists have keys
    record: Record = field(default_factory=Record)
    settle: Callable[[Json], Json | None] | None = None  # see `settled`
    unfit: Callable[[], str] = str  # why the server itself refuses the object, where only policies were asked

    def settled(self, value: Json) -> Json:
        """Another object as it would be had it been sent, without admission; as it is where it would be refused."""
        made = self.settle(value) if self.settle is not None else None
        return value if made is None else made

    @property
    def refused_by(self) -> str:
        """The policy or webhook that refused it; nobody, where the request was refused for another reason."""
        message = self.status.message if self.status is not None else ""
        found = (re.search(pattern, message) for pattern in _REFUSALS)
        return next((m[1] for m in found if m is not None), "")

    def told(self) -> Json:
        """All of it, as golden files have it."""
        made: dict[str, Any] = {"admitted": self.status is None}
        if self.status is not None:
            status = self.status
            made["denied"] = {"code": status.code, "reason": status.reason, "message": status.message}
        if self.object is not None:
            made["object"] = self.object
        annotations = {k: v for k, v in sorted(self.annotations.items()) if not k.startswith(OF_CALLS)}
        rest = {"warnings": list(self.warnings), "auditAnnotations": annotations, "webhooks": [c.name for c in self.called]}
        return made | {k: v for k, v in rest.items() if v}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is not as expected. `what` is the expectation's key; `diff` compares longer things line by line."""

    what: str
    message: str
    diff: Sequence[str] = ()

    def as_json(self) -> Json:
        made: Json = {"expectation": self.what, "message": self.message}
        return made | ({"diff": list(self.diff)} if self.diff else {})
