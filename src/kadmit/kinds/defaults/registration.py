"""What extends the API: webhooks, admission policies, custom resources, aggregated APIs."""

from collections.abc import Mapping

from kadmit.kinds.defaults.rules import Json, Object, Rule, each, struct

_PORT = {"port": 443}
_MATCHING: dict[str, Json] = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_HOOK: dict[str, Json] = {"failurePolicy": "Fail", "timeoutSeconds": 10, **_MATCHING}

_rules: Rule = each(struct({"scope": "*"}))
_match: Rule = struct(_MATCHING, parts={"resourceRules": _rules, "excludeResourceRules": _rules})


def _hooks(absent: Mapping[str, Json]) -> Rule:
    hook = struct(absent, parts={"clientConfig": struct(parts={"service": struct(_PORT)}), "rules": _rules})
    return struct(parts={"webhooks": each(hook)})


mutating_webhooks: Rule = _hooks({**_HOOK, "reinvocationPolicy": "Never"})
validating_webhooks: Rule = _hooks(_HOOK)
policy: Rule = struct(parts={"spec": struct({"failurePolicy": "Fail"}, parts={"matchConstraints": _match})})
binding: Rule = struct(parts={"spec": struct(parts={"matchResources": _match})})
binding_v1alpha1: Rule = struct(
    parts={"spec": struct(parts={"paramRef": struct({"parameterNotFoundAction": "Deny"}), "matchResources": _match})}
)


def _named(names: Object) -> Object:
    kind = names.get("kind") or ""
    made: Object = {}
    if kind and not names.get("singular"):
        made["singular"] = kind.lower()
    if kind and not names.get("listKind"):
        made["listKind"] = f"{kind}List"
    return {**names, **made} if made else names


def _stored(crd: Object) -> Object:
    """What is stored, is stored in the storage version."""
    status = crd.get("status") or {}
    if status.get("storedVersions"):
        return crd
    versions = (crd.get("spec") or {}).get("versions") or ()
    stored = next(([version["name"]] for version in versions if version.get("storage")), None)
    return {**crd, "status": {**status, "storedVersions": stored}} if stored else crd


custom_resource_definition: Rule = struct(
    first=(_stored,),
    parts={
        "spec": struct(
            {"conversion": {"strategy": "None"}},
            parts={
                "names": struct(first=(_named,)),
                "conversion": struct(
                    parts={"webhook": struct(parts={"clientConfig": struct(parts={"service": struct(_PORT)})})},
                ),
            },
        )
    },
)
api_service: Rule = struct(parts={"spec": struct(parts={"service": struct(_PORT)})})
