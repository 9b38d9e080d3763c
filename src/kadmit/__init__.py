"""Kubernetes dynamic admission control as software of its own: policies, webhooks and CEL.

Webhooks are written with what this module has; it is loaded when it is first asked for, so that `import kadmit` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kadmit.webhook.sdk.app import App as App
    from kadmit.webhook.sdk.app import default as app
    from kadmit.webhook.sdk.app import mutating as mutating
    from kadmit.webhook.sdk.app import validating as validating
    from kadmit.webhook.sdk.request import Deny as Deny
    from kadmit.webhook.sdk.request import Object as Object
    from kadmit.webhook.sdk.request import Request as Request
    from kadmit.webhook.sdk.request import User as User

__version__ = "0.1.0"
__all__ = ["App", "Deny", "Object", "Request", "User", "__version__", "app", "mutating", "validating"]

_LAZY = {
    "App": ("app", "App"),
    "Deny": ("request", "Deny"),
    "Object": ("request", "Object"),
    "Request": ("request", "Request"),
    "User": ("request", "User"),
    "app": ("app", "default"),
    "mutating": ("app", "mutating"),
    "validating": ("app", "validating"),
}


if not TYPE_CHECKING:  # or else a type checker would take any name

    def __getattr__(name: str) -> object:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _LAZY[name]
        return globals().setdefault(name, getattr(importlib.import_module(f"kadmit.webhook.sdk.{module}"), attribute))
