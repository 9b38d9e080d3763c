"""For tests of policies and webhooks with pytest: fixtures (see `plugin`), results, and assertions that tell the whole story.

NB: pytest loads this in every run, also where nobody asks for a cluster: nothing here may import the engine before it is needed.
"""

from typing import TYPE_CHECKING, Any

from kadmit.testing.assertions import assert_admitted, assert_denied, assert_patched, assert_unchanged
from kadmit.testing.result import Denied, Result

if TYPE_CHECKING:
    from kadmit.testing.cluster import Cluster
    from kadmit.testing.hooking import Serve
    from kadmit.testing.server import Server
    from kadmit.testing.webhook import Certificate, Webhook
    from kadmit.webhook.review import NoVerdict

__all__ = [
    "Certificate",
    "Cluster",
    "Denied",
    "NoVerdict",
    "Result",
    "Serve",
    "Server",
    "Webhook",
    "assert_admitted",
    "assert_denied",
    "assert_patched",
    "assert_unchanged",
]

_LATE = {
    "Certificate": "kadmit.testing.webhook",
    "Cluster": "kadmit.testing.cluster",
    "NoVerdict": "kadmit.webhook.review",
    "Serve": "kadmit.testing.hooking",
    "Server": "kadmit.testing.server",
    "Webhook": "kadmit.testing.webhook",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LATE[name]), name)
