"""Lists and the options of reads and deletes."""

from typing import TYPE_CHECKING, Any

import orjson

from kadmit.api import errors, yaml
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import decoding, fulltext, schema
from kadmit.kinds.decoding import DecodeError
from kadmit.kinds.fulltext import SyntaxFault
from kadmit.matching.attributes import Json
from kadmit.presentation import continuation, media, queries
from kadmit.presentation.listing import ListOptions
from kadmit.resources import options as write_options
from kadmit.resources import protobufbodies
from kadmit.resources.context import Options, Target, metadata_of, with_metadata
from kadmit.resources.deleting import DeleteOptions
from kadmit.resources.state import place_of
from kadmit.server import shapes
from kadmit.server.cache import key_of
from kadmit.server.exchange import Exchange
from kadmit.store import base

_DELETE_OPTIONS = "apimachinery.pkg.apis.meta.v1.DeleteOptions"
_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"

if TYPE_CHECKING:
    from kadmit.server.handlers import Resources


def check_get(resources: "Resources", exchange: Exchange) -> None:
    """A resourceVersion that is no number, or of the future, is refused even of a get. Raises ApiError."""
    if queries.flag(exchange.query, "export"):
        raise errors.bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    version = exchange.asked("resourceVersion")
    if not version:
        return
    wanted, current = continuation.resource_version(version), resources.cache.state.revision
    if wanted > current:
        raise continuation.too_large(wanted, current)


def is_yaml(exchange: Exchange, target: Target, body_type: str = "") -> bool:
    """Whether the body is YAML; one in protobuf is made JSON. Raises ApiError."""
    found = body_type or media.body_type(exchange.content_type, custom=target.resource.custom)
    if found == media.PROTOBUF:
        exchange.body = protobufbodies.as_json(target, exchange.body)
    return found == media.YAML


def delete_options(exchange: Exchange, target: Target) -> tuple[Options, DeleteOptions]:
    """From the body if there is one, else from the query. Raises ApiError."""
    body: Json | None = None
    if exchange.body.strip():
        body = _read_body(exchange, target)
    return write_options.read_delete(exchange.query, body, user_agent=exchange.user_agent)


def _read_body(exchange: Exchange, target: Target) -> Json:
    in_yaml = is_yaml(exchange, target)
    try:
        value: Any = yaml.load(exchange.body).value if in_yaml else fulltext.loads(exchange.body)
    except SyntaxFault as e:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {e}") from None
    except ValueError as e:
        raise errors.bad_request(str(e)) from None
    try:
        return _decoded(value)
    except DecodeError as e:
        raise errors.bad_request(str(e)) from None


def _decoded(value: Any) -> Json:
    """Raises DecodeError."""
    group, version, kind = decoding.kind_of(value)
    if kind not in ("", "DeleteOptions"):
        shown = f"{group}/{version}" if group else version or "meta.k8s.io/v1"
        raise DecodeError(f'no kind "{kind}" is registered for version "{shown}" in scheme "{_SCHEME}"')
    return decoding.normalise(schema.definition(_DELETE_OPTIONS), value or {}).object


async def listed(resources: "Resources", target: Target, options: ListOptions) -> Json:
    """A list, or one page of it. Raises ApiError."""
    moment = options.moment()
    revision = await resources.cache.settled()
    if moment.not_before > revision:
        raise continuation.too_large(moment.not_before, revision)
    shown_at = moment.exact or revision
    objects = resources.objects(target) if shown_at == revision else await _at(resources, target, shown_at, revision)
    found = [o for o in objects if options.selection.matches(o) and _key(target, o) >= moment.start]
    size = options.page_size
    if size <= 0 or len(found) <= size:
        return shapes.list_of(target, found, shown_at)
    page = found[:size]
    made = shapes.list_of(target, page, shown_at)
    made["metadata"]["continue"] = continuation.after(_key(target, page[-1]), shown_at)
    if options.selection.everything:
        made["metadata"]["remainingItemCount"] = len(found) - size
    return made


async def _at(resources: "Resources", target: Target, revision: int, current: int) -> list[Json]:
    """Objects as they were at a revision. Raises ApiError (410 if nobody knows any more)."""
    if revision > current:
        raise continuation.too_large(revision, current, retry=0)
    place = place_of(target.resource)
    prefix = key_of(place, (target.namespace, "")) if target.namespace else key_of(place, ("x", "")).removesuffix("x/")
    try:
        page = await resources.cache.store.list(prefix, revision=revision)
    except base.Compacted:
        raise continuation.list_too_old() from None
    known, kind = resources.cache.state.known, GroupVersionKind(*target.resource.gvk)
    values = [with_metadata(orjson.loads(e.value), resourceVersion=str(e.revision)) for e in page.entries]
    return [known.read(v, kind) for v in values]


def _key(target: Target, value: Json) -> str:
    """Where an object stands in a list: by name, or by namespace and name."""
    metadata = metadata_of(value)
    across = target.resource.namespaced and not target.namespace
    return f"{metadata.get('namespace') or ''}/{metadata['name']}" if across else str(metadata["name"])
