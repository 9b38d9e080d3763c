"""One request through the whole chain, told: for terminals, programs and pages, and for the messages of failed assertions."""

from collections.abc import Iterator

from kadmit.authoring.admitting import Admission


def text(admission: Admission) -> str:
    """The story of one request as plain lines."""
    return "\n".join(_lines(admission))


def _lines(admission: Admission) -> Iterator[str]:
    said = "admitted" if admission.status is None else f"denied ({admission.status.code} {admission.status.reason})".rstrip()
    yield f"{admission.title}: {admission.operation} {said}"
    if admission.status is not None:
        yield f"  {admission.status.message}"
    yield from (f"  {step}" for step in admission.steps)
    yield from (f"  warning: {text}" for text in admission.warnings)
    yield from (f"  audit annotation {key}: {value}" for key, value in admission.annotations.items())
