"""What came of a case, and what of it is not as expected."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from kadmit.authoring.admission import OF_CALLS, Admission
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


class Called(Struct, frozen=True):
    """A webhook that was called, and the AdmissionRequest that it was sent."""

    name: str
    request: Json


class Outcome(Struct, frozen=True):
    """The admission of its request, and what else expectations want to know."""

    admission: Admission  # NB: what it would be without admission, and events, only where somebody asked for them
    called: tuple[Called, ...] = ()
    shape: Shape | None = None  # of the object: where its lists have keys
    settle: Callable[[Json], Json | None] | None = None  # see `settled`
    unfit: Callable[[], str] = str  # why the server itself refuses the object, where only policies were asked

    def settled(self, value: Json) -> Json:
        """Another object as it would be had it been sent, without admission; as it is where it would be refused."""
        made = self.settle(value) if self.settle is not None else None
        return value if made is None else made

    @property
    def refused_by(self) -> str:
        """The policy or webhook that refused it; nobody, where the request was refused for another reason."""
        status = self.admission.status
        message = status.message if status is not None else ""
        found = (re.search(pattern, message) for pattern in _REFUSALS)
        return next((m[1] for m in found if m is not None), "")

    def told(self) -> Json:
        """All of it, as golden files have it."""
        admission, status = self.admission, self.admission.status
        made: dict[str, Any] = {"admitted": status is None}
        if status is not None:
            made["denied"] = {"code": status.code, "reason": status.reason, "message": status.message}
        if admission.object is not None:
            made["object"] = admission.object
        annotations = {k: v for k, v in sorted(admission.annotations.items()) if not k.startswith(OF_CALLS)}
        rest = {"warnings": list(admission.warnings), "auditAnnotations": annotations, "webhooks": [c.name for c in self.called]}
        return made | {k: v for k, v in rest.items() if v}


class Fault(Struct, frozen=True):
    """One thing that is not as expected. `what` is the expectation's key; `diff` compares longer things line by line."""

    what: str
    message: str
    diff: Sequence[str] = ()

    def as_json(self) -> Json:
        made: Json = {"expectation": self.what, "message": self.message}
        return made | ({"diff": list(self.diff)} if self.diff else {})
