"""CustomResourceDefinitions of policies, for clusters whose API has none: the same kinds and fields, in a group of our own.

The schemas are those of the built-in kinds. What a definition cannot say (that an expression compiles, that a policy has rules)
is checked by the webhook, which does not obey what the API would have refused. Defaults are filled in there, too.
"""

from collections.abc import Iterable
from typing import Any

from kadmit.api import registration
from kadmit.kinds import table
from kadmit.matching.attributes import Json
from kadmit.webhook.view import GROUP

VERSION = "v1"
_KINDS = {
    registration.MUTATING_POLICY: ("map",),
    registration.MUTATING_BINDING: ("mapb",),
    registration.VALIDATING_POLICY: ("vap",),
    registration.VALIDATING_BINDING: ("vapb",),
}
_NOT_STRUCTURAL = ("x-go", "x-kubernetes-patch-")


def definitions() -> list[Json]:
    return [_definition(kind, short) for kind, short in _KINDS.items()]


def _definition(kind: str, short: Iterable[str]) -> Json:
    plural = registration.KINDS[kind].plural
    spec = table.definition(table.schema_names()[f"{registration.GROUP}/{registration.V1}/{kind}"])["properties"]["spec"]
    described = f"{kind} of {registration.GROUP}, obeyed by kadmit webhook."
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List", "shortNames": [*short]}
    columns = [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    if kind in registration.POLICY_OF:
        columns.insert(0, {"name": "Policy", "type": "string", "jsonPath": ".spec.policyName"})
    schema = {"type": "object", "description": described, "required": ["spec"], "properties": {"spec": structural(spec)}}
    version = {"name": VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": names,
            "versions": [{**version, "additionalPrinterColumns": columns}],
        },
    }


def structural(raw: Json) -> Json:
    """A schema of the table as definitions may have it: references put in place, nothing that only Go and merges know."""
    if "$ref" in raw:
        raw = {**table.definition(raw["$ref"]), **{key: value for key, value in raw.items() if key != "$ref"}}
    made: dict[str, Any] = {k: v for k, v in raw.items() if k != "default" and not k.startswith(_NOT_STRUCTURAL)}
    if "properties" in raw:
        made["properties"] = {name: structural(part) for name, part in raw["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(raw.get(key), dict):
            made[key] = structural(raw[key])
    keys = raw.get("x-kubernetes-list-map-keys")
    if keys:
        made["items"]["required"] = sorted({*made["items"].get("required", ()), *keys})
    return made
