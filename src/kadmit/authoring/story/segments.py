"""The events of a request, split where policies or webhooks begin a round."""

from collections.abc import Iterator

from msgspec import Struct, field

from kadmit.admission import events
from kadmit.admission.events import Event
from kadmit.admission.outcome import Record


class Segment(Struct):
    """What happened while policies or webhooks had their round."""

    entered: events.Entered
    began: events.Began
    happened: list[Event] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.began.half} {self.began.who}"


def segments(record: Record) -> Iterator[Segment]:
    """The events, split by stages."""
    entered: events.Entered | None = None
    segment: Segment | None = None
    for event in record.events or ():
        if isinstance(event, events.Entered):
            entered = event
        elif isinstance(event, events.Began):
            if segment is not None:
                yield segment
            assert entered is not None
            segment = Segment(entered, event)
        elif segment is not None and not isinstance(event, events.Left):
            segment.happened.append(event)
    if segment is not None:
        yield segment
