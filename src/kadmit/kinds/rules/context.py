"""What rules depend on beside the object: how the server was started, and which part of the object is written."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Context:
    """allow_privileged: --allow-privileged. subresource: "status" and the like, "" for the object itself."""

    allow_privileged: bool = False
    subresource: str = ""


DEFAULT = Context()
