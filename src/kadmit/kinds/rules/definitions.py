"""CustomResourceDefinitions: names, versions, conversion. Schemas are looked at in `schemas`.

Inside kube-apiserver, what all versions have in common (schema, subresources, columns) belongs to the definition and not to its
versions, also if there is but one; so errors tell of `spec.validation`, of which no client has ever heard.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel.library import names
from kadmit.kinds import fieldpaths, internals, metadata
from kadmit.kinds.fieldpaths import FieldPathError
from kadmit.kinds.rules import meta, schemas
from kadmit.kinds.rules.context import Context
from kadmit.kinds.rules.meta import Object
from kadmit.patch import equality

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_SPEC = fields.path("spec")
_APPROVED = "api-approved.kubernetes.io"
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES = ("string", "boolean", "integer")
_MOST_SELECTABLE = 8
_LONGEST_WARNING = 256
_SHARED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def create(value: Object, context: Context) -> Iterator[FieldError]:
    spec = value.get("spec") or {}

    def name_rule(name: str, is_prefix: bool) -> list[str]:
        found = metadata.dns_subdomain(name, is_prefix)
        wanted = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"
        return found if name == wanted else [*found, 'must be spec.names.plural+"."+spec.group']

    yield from metadata.validate(meta.of(value), namespaced=False, name_rule=name_rule)
    yield from _spec(_Inside.of(spec), None, context)
    yield from _rest(value, None)


def update(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    yield from metadata.changes(meta.of(new), meta.of(old), metadata.AT)
    yield from _spec(_Inside.of(after), _Inside.of(before), context)
    called, was_called = after.get("names") or {}, before.get("names") or {}
    if is_established(old):
        yield from meta.immutable(after.get("scope"), before.get("scope"), _SPEC.child("scope"))
        yield from meta.immutable(called.get("kind"), was_called.get("kind"), _SPEC.child("names", "kind"))
    yield from meta.immutable(after.get("group"), before.get("group"), _SPEC.child("group"))
    yield from meta.immutable(called.get("plural"), was_called.get("plural"), _SPEC.child("names", "plural"))
    yield from _rest(new, old)


def status(new: Object, old: Object) -> Iterator[FieldError]:
    yield from metadata.changes(meta.of(new), meta.of(old), metadata.AT)
    yield from _names((new.get("status") or {}).get("acceptedNames") or {}, fields.path("status", "acceptedNames"))


def is_established(value: Object) -> bool:
    conditions = (value.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


def _rest(value: Object, old: Object | None) -> Iterator[FieldError]:
    state, spec = value.get("status") or {}, value.get("spec") or {}
    yield from _names(state.get("acceptedNames") or {}, fields.path("status", "acceptedNames"))
    yield from _stored(state.get("storedVersions"), spec.get("versions") or (), fields.path("status", "storedVersions"))
    yield from _approval(value, old)
    if spec.get("preserveUnknownFields") and not ((old or {}).get("spec") or {}).get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield fields.invalid(_SPEC.child("preserveUnknownFields"), True, text)


# ---------------------------------------------------------------- inside


class _Inside(Struct, frozen=True):
    """A definition with what its versions share."""

    spec: Part
    versions: list[Part]
    shared: Part

    @staticmethod
    def of(spec: Part) -> "_Inside":
        versions: list[Part] = spec.get("versions") or []
        first = versions[0] if versions else {}
        common = [key for key in _SHARED if all(_same_part(one.get(key), first.get(key)) for one in versions)]
        apart: list[Part] = [{key: part for key, part in one.items() if key not in common} for one in versions]
        return _Inside(spec, apart, {key: first[key] for key in common if first.get(key) is not None})

    def schema_of(self, version: str) -> Json:
        own = next((one.get("schema") for one in self.versions if one.get("name") == version), None)
        return self.shared.get("schema") or own

    def has_status(self, version: Part) -> bool:
        per_version = any(one.get("subresources") is not None for one in self.versions)
        found = version.get("subresources") if per_version else self.shared.get("subresources")
        return (found or {}).get("status") is not None

    @property
    def has_any_status(self) -> bool:
        return any((one.get("subresources") or {}).get("status") is not None for one in (self.shared, *self.versions))


def _same_part(a: Json, b: Json) -> bool:
    return (a is None) == (b is None) and equality.same(a, b)


def _spec(inside: _Inside, old: "_Inside | None", context: Context) -> Iterator[FieldError]:
    spec, shared = inside.spec, inside.shared
    yield from _group(spec.get("group") or "", _SPEC.child("group"))
    yield from _one_of(spec.get("scope") or "", ("Cluster", "Namespaced"), _SPEC.child("scope"))
    yield from _schemas(inside)
    for index, version in enumerate(inside.versions):
        at = _SPEC.child("versions").index(index)
        yield from _label(version.get("name") or "", at.child("name"))
        yield from _version(version, at, inside, _is_unchanged(version.get("name") or "", inside, old))
    yield from _versions(inside)
    called = spec.get("names") or {}
    for key in ("plural", "singular", "kind", "listKind"):
        if not called.get(key):
            yield fields.required(_SPEC.child("names", key))
    yield from _names(called, _SPEC.child("names"))
    yield from _shared(shared, inside, old)
    yield from _conversion(spec, _SPEC.child("conversion"), context)


def _group(group: str, at: Path) -> Iterator[FieldError]:
    problems = names.dns1123_subdomain(group)
    if not group:
        yield fields.required(at)
    elif problems:
        yield fields.invalid(at, group, ",".join(problems))
    elif "." not in group:
        yield fields.invalid(at, group, "should be a domain with at least one dot")


def _one_of(value: str, allowed: tuple[str, ...], at: Path) -> Iterator[FieldError]:
    if not value:
        yield fields.required(at)
    elif value not in allowed:
        yield fields.not_supported(at, value, allowed)


def _label(value: str, at: Path, prefix: str = "") -> Iterator[FieldError]:
    problems = names.dns1035_label(value.lower() if prefix else value)
    if problems:
        yield fields.invalid(at, value, prefix + ",".join(problems))


def _schemas(inside: _Inside) -> Iterator[FieldError]:
    if (inside.shared.get("schema") or {}).get("openAPIV3Schema") is None:
        for index, version in enumerate(inside.versions):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                yield fields.required(_SPEC.child("versions").index(index).child("schema", "openAPIV3Schema"))
    preserves = bool(inside.spec.get("preserveUnknownFields"))
    if preserves and any(
        _has_default((one.get("schema") or {}).get("openAPIV3Schema")) for one in (inside.shared, *inside.versions)
    ):
        text = "must be false in order to use defaults in the schema"
        yield fields.invalid(_SPEC.child("preserveUnknownFields"), True, text)


def _has_default(raw: Json) -> bool:
    if isinstance(raw, Mapping):
        return raw.get("default") is not None or any(_has_default(part) for part in raw.values())
    return isinstance(raw, list) and any(_has_default(part) for part in raw)


def _is_unchanged(version: str, inside: _Inside, old: "_Inside | None") -> bool:
    if old is None or version not in [one.get("name") for one in old.versions]:
        return False
    return equality.same(inside.schema_of(version), old.schema_of(version))


# ---------------------------------------------------------------- versions


def _version(version: Part, at: Path, inside: _Inside, unchanged: bool) -> Iterator[FieldError]:
    yield from _deprecation(version, at.child("deprecationWarning"))
    has_status = inside.has_status(version)
    yield from schemas.validate(version.get("schema"), at.child("schema"), has_status=has_status, unchanged=unchanged)
    yield from _subresources(version.get("subresources"), at.child("subresources"))
    yield from _columns(version.get("additionalPrinterColumns"), at.child("additionalPrinterColumns"))
    if version.get("selectableFields"):
        raw = (version.get("schema") or {}).get("openAPIV3Schema")
        place = at.child("selectableFields")
        if raw is None:
            yield fields.invalid(place, "", "may only be set when `version.schema.openAPIV3Schema` is not included")
        else:
            yield from _selectable(version["selectableFields"], raw, place)


def _versions(inside: _Inside) -> Iterator[FieldError]:
    at, called = _SPEC.child("versions"), [one.get("name") or "" for one in inside.versions]
    listed = inside.spec.get("versions") is not None
    shown = [internals.shown("CustomResourceDefinitionVersion", one) for one in inside.versions] if listed else None
    if len(set(called)) < len(called):
        yield fields.invalid(at, shown, "must contain unique version names")
    if sum(bool(one.get("storage")) for one in inside.versions) != 1:
        yield fields.invalid(at, shown, "must have exactly one version marked as storage version")
    if called and called[0]:
        yield from _label(called[0], _SPEC.child("version"))


def _shared(shared: Part, inside: _Inside, old: "_Inside | None") -> Iterator[FieldError]:
    first = inside.versions[0].get("name") or "" if inside.versions else ""
    at = _SPEC.child("validation")
    unchanged = _is_unchanged(first, inside, old)
    yield from schemas.validate(shared.get("schema"), at, has_status=inside.has_any_status, unchanged=unchanged)
    yield from _subresources(shared.get("subresources"), _SPEC.child("subresources"))
    yield from _columns(shared.get("additionalPrinterColumns"), _SPEC.child("additionalPrinterColumns"))
    if shared.get("selectableFields"):
        place = _SPEC.child("selectableFields")
        if shared.get("schema") is None:
            yield fields.invalid(place, "", "may only be set when validations.schema is included")
        else:
            yield from _selectable(shared["selectableFields"], shared["schema"].get("openAPIV3Schema") or {}, place)


def _deprecation(version: Part, at: Path) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    for problem in _warning_problems(warning) if version.get("deprecated") else ["can only be set for deprecated versions"]:
        yield fields.invalid(at, warning, problem)


def _warning_problems(warning: str) -> Iterator[str]:
    if len(warning.encode("utf-8", "surrogatepass")) > _LONGEST_WARNING:
        yield f"must be <= {_LONGEST_WARNING} characters long"
    if not warning:
        yield "must not be an empty string"
    at = 0
    for character in warning:
        if unicodedata.category(character)[0] not in "LMNPS" and character != " ":
            yield f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
            return
        at += len(character.encode("utf-8", "surrogatepass"))


def _names(called: Part, at: Path) -> Iterator[FieldError]:
    mixed = "may have mixed case, but should otherwise match: "
    for key, prefix in (("plural", ""), ("singular", ""), ("kind", mixed), ("listKind", mixed)):
        if called.get(key):
            yield from _label(called[key], at.child(key), prefix)
    for index, name in enumerate(called.get("shortNames") or ()):
        yield from _label(name, at.child("shortNames").index(index))
    if called.get("kind") and called["kind"] == called.get("listKind"):
        yield fields.invalid(at.child("listKind"), called["listKind"], "kind and listKind may not be the same")
    for index, name in enumerate(called.get("categories") or ()):
        yield from _label(name, at.child("categories").index(index))


def _columns(columns: Json, at: Path) -> Iterator[FieldError]:
    for index, column in enumerate(columns or ()):
        place = at.index(index)
        kind, form, path = column.get("type") or "", column.get("format") or "", column.get("jsonPath") or ""
        if not column.get("name"):
            yield fields.required(place.child("name"))
        allowed = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not kind:
            yield fields.required(place.child("type"), allowed)
        elif kind not in _COLUMN_TYPES:
            yield fields.invalid(place.child("type"), kind, allowed)
        if form and form not in _COLUMN_FORMATS:
            yield fields.invalid(place.child("format"), form, f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not path:
            yield fields.required(place.child("JSONPath"))
        else:
            yield from _json_path(path, place.child("JSONPath"))


def _json_path(path: str, at: Path) -> Iterator[FieldError]:
    if not path.startswith("."):
        yield fields.invalid(at, path, "must be a simple json path starting with .")


def _subresources(part: Json, at: Path) -> Iterator[FieldError]:
    scale = (part or {}).get("scale")
    if scale is None:
        return
    for key, prefix in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        path, place = scale.get(key) or "", at.child(f"scale.{key}")
        if not path:
            yield fields.required(place)
        elif not path.startswith("."):
            yield from _json_path(path, place)
        elif not path.startswith(prefix):
            yield fields.invalid(place, path, f"should be a json path under {prefix[:-1]}")
    path, place = scale.get("labelSelectorPath") or "", at.child("scale.labelSelectorPath")
    if path and not path.startswith("."):
        yield from _json_path(path, place)
    elif path and not path.startswith((".spec.", ".status.")):
        yield fields.invalid(place, path, "should be a json path under either .spec or .status")


def _selectable(listed: list[Part], raw: Part, at: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, one in enumerate(listed):
        text, place = one.get("jsonPath") or "", at.index(index).child("jsonPath")
        if not text:
            yield fields.required(place)
            continue
        try:
            path, found = fieldpaths.follow(text, raw, brackets=False)
        except FieldPathError as error:
            yield fields.invalid(place, text, f"is an invalid path: {error}")
            continue
        if path.text.split(".")[0] == "metadata":
            yield fields.invalid(place, text, "must not point to fields in metadata")
        if (found or {}).get("type") not in _SELECTABLE_TYPES:
            allowed = "must point to a field of type string, boolean or integer."
            yield fields.invalid(place, text, f"{allowed} Enum string fields and strings with formats are allowed.")
        if path.text in seen:
            yield fields.duplicate(place, text)
        seen.add(path.text)
    if len(seen) > _MOST_SELECTABLE:
        yield fields.too_many(at, len(seen), _MOST_SELECTABLE)


# ---------------------------------------------------------------- conversion, storage, approval


def _conversion(spec: Part, at: Path, context: Context) -> Iterator[FieldError]:
    """NB: inside, the webhook's parts belong to the conversion itself."""
    conversion = spec.get("conversion")
    if conversion is None:
        return
    chosen, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    if chosen != "None" and spec.get("preserveUnknownFields"):
        yield fields.invalid(at.child("strategy"), chosen, "must be None if spec.preserveUnknownFields is true")
    yield from _one_of(chosen, ("None", "Webhook"), at.child("strategy"))
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if chosen == "Webhook":
        if client is None:
            yield fields.required(at.child("webhookClientConfig"), "required when strategy is set to Webhook")
        else:
            yield from _client(client, at.child("webhookClientConfig"), context.check_client)
        yield from _review_versions(versions, at.child("conversionReviewVersions"))
        return
    text = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield fields.forbidden(at.child("webhookClientConfig"), text)
    if versions:
        yield fields.forbidden(at.child("conversionReviewVersions"), text)


def _client(client: Part, at: Path, check: Callable[[Part, Path], list[FieldError]] | None) -> Iterator[FieldError]:
    if (client.get("url") is None) == (client.get("service") is None):
        yield fields.required(at, "exactly one of url or service is required")
    elif check is not None:
        yield from check(client, at)


def _review_versions(versions: list[str], at: Path) -> Iterator[FieldError]:
    if not versions:
        yield fields.required(at)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield fields.invalid(at.index(index), version, "duplicate version")
        else:
            yield from (fields.invalid(at.index(index), version, text) for text in names.dns1035_label(version))
    if not {"v1", "v1beta1"} & set(versions):
        yield fields.invalid(at, versions, "must include at least one of v1, v1beta1")


def _stored(stored: Json, versions: Json, at: Path) -> Iterator[FieldError]:
    """NB: a version that is listed twice is looked for twice, and found once."""
    if not stored:
        yield fields.invalid(at, stored, "must have at least one stored version")
        return
    left = {version: index for index, version in enumerate(stored)}
    for version in versions:
        if left.pop(version.get("name") or "", None) is None and version.get("storage"):
            yield fields.invalid(at, stored, f"must have the storage version {version.get('name') or ''}")
    for name, index in left.items():
        text = f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a "
        text += f"storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        yield fields.invalid(at.index(index), name, text)


def _approval(value: Object, old: Object | None) -> Iterator[FieldError]:
    """Groups of the Kubernetes community need a reference to their review, or an excuse."""
    group = (value.get("spec") or {}).get("group") or ""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    given = _annotation(value)
    state = _approval_state(given)
    if old is not None and _approval_state(_annotation(old)) == state:
        return
    at, see = metadata.AT.child("annotations").key(_APPROVED), "see https://github.com/kubernetes/enhancements/pull/1111"
    needed = f'protected groups must have approval annotation "{_APPROVED}"'
    if state == "missing":
        yield fields.required(at, f"{needed}, {see}")
    elif state == "invalid":
        yield fields.invalid(at, given, f'{needed} with either a URL or a reason starting with "unapproved", {see}')


def _annotation(value: Object) -> str:
    return (meta.of(value).get("annotations") or {}).get(_APPROVED) or ""


def _approval_state(text: str) -> str:
    if not text:
        return "missing"
    if text.startswith("unapproved"):
        return "bypassed"
    try:
        parsed = urlsplit(text)
    except ValueError:
        return "invalid"
    return "approved" if parsed.scheme and parsed.netloc else "invalid"
