"""What came of one request, the same for a cluster in the process and for a server behind HTTPS."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """An object or a Status, and the words that go with it."""

    operation: str  # CREATE, UPDATE, DELETE
    resource: str  # pod, deployment.apps
    name: str
    namespace: str = ""
    object: Json | None = None  # as admitted; None where it was denied or deleted
    before: Json | None = None  # as it would be without admission; None where nobody can tell
    status: Json | None = None  # why it was refused
    warnings: Sequence[str] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)  # for the audit log
    teller: Callable[[], str] | None = None  # tells the story when it is wanted
    shape: Any = None  # which lists of the object have keys (kadmit.patch.shapes), where that is known

    @property
    def allowed(self) -> bool:
        return self.status is None

    @property
    def message(self) -> str:
        return str((self.status or {}).get("message") or "")

    @property
    def reason(self) -> str:
        return str((self.status or {}).get("reason") or "")

    @property
    def code(self) -> int | None:
        """The HTTP code of a refusal."""
        return None if self.status is None else self.status.get("code")

    @property
    def changed(self) -> bool:
        """Whether admission made another object of it."""
        return self.object is not None and self.before is not None and self.before != self.object

    @cached_property
    def patch(self) -> list[Json]:
        """What admission changed, as a JSON patch."""
        if self.before is None or self.object is None:
            return []
        from kadmit.patch import jsondiff

        return list(jsondiff.diff(self.before, self.object))

    @cached_property
    def story(self) -> str:
        """Every policy and webhook, and what it did."""
        return self.teller() if self.teller is not None else repr(self)

    @property
    def title(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.operation} {self.resource}/{self.name}{where}"

    def __repr__(self) -> str:
        if self.allowed:
            return f"<{self.title}: admitted{', changed' if self.changed else ''}>"
        return f"<{self.title}: denied ({self.code} {self.reason}): {self.message}>"


class Denied(AssertionError):
    """A request that had to be admitted was not. `result` tells more."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"{result.title}: denied ({result.code} {result.reason}): {result.message}\n\n{result.story}")
        self.result = result
