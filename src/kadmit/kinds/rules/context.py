"""What rules depend on beside the object: how the server was started, and which part of the object is written."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from kadmit.api.fields import FieldError, Path

ClientCheck: TypeAlias = Callable[[Mapping[str, Any], Path], list[FieldError]]


class Context(Struct, frozen=True):
    """allow_privileged: --allow-privileged. subresource: "status" and the like, "" for the object itself.

    check_client: what is asked of the URL or service of a webhook; conversion webhooks are not looked at without it.
    """

    allow_privileged: bool = False
    subresource: str = ""
    check_client: ClientCheck | None = None


DEFAULT = Context()
