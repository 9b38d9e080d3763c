"""Lists, and the forms in which objects are shown: as they are, as Tables, as metadata alone."""

import time

from kadmit.kinds.known import Known
from kadmit.matching.attributes import Json
from kadmit.presentation import tables
from kadmit.presentation.media import Representation
from kadmit.presentation.tables import Printer
from kadmit.resources.context import Target
from kadmit.server.exchange import Exchange


def list_of(target: Target, items: list[Json], revision: int) -> Json:
    """A list object. NB: items of built-in kinds carry neither kind nor apiVersion; lists of custom ones tell that they end."""
    resource = target.resource
    shown = items if resource.custom else [{k: v for k, v in o.items() if k not in ("kind", "apiVersion")} for o in items]
    return {
        "kind": resource.list_kind or f"{resource.kind}List",
        "apiVersion": resource.api_version,
        "metadata": {**({"continue": ""} if resource.custom else {}), "resourceVersion": str(revision)},
        "items": shown,
    }


def printer(target: Target, known: Known) -> Printer:
    custom = known.custom.get(target.resource.gvk)
    columns = custom.printer_columns if custom is not None else None
    kind = target.resource.kind_of(target.subresource) if target.subresource else None
    return tables.printer(target.resource, kind=kind, custom_columns=columns)


def represent(value: Json, how: Representation, target: Target, exchange: Exchange, known: Known) -> Json:
    """The value in the form that the client asked for. Raises ApiError."""
    if how.target is None:
        return value
    options = tables.options(exchange.query)
    made: Json = tables.transformed(value, how.target, printer(target, known), options, now=time.time())
    return made
