"""What tells policies, bindings and webhooks of the same name apart, as far as coverage goes: expressions, rules, selectors.

A test may change a policy of a file before it uses it, and two files may each have one of the same name. What is said of one must
not count for the other. A manifest's signature is read from its text, for to compile it would take a hundred times as long.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.admission.webhooks import Webhook
from kadmit.authoring import registering
from kadmit.authoring.manifests import Manifest
from kadmit.matching.criteria import Criteria, compile_policy_criteria, compile_webhook_criteria
from kadmit.policy.model import Binding, Policy

Signature: TypeAlias = tuple[Hashable, ...]
Raw: TypeAlias = Mapping[str, Any]


def of_compiled(of: Policy | Binding | Webhook) -> Signature:
    match of:
        case Policy():
            return (tuple(_texts(of)), *_of_criteria(of.criteria))
        case Binding():
            return () if of.criteria is None else _of_criteria(of.criteria)
        case Webhook():
            return (of.name, tuple(c.expression.text for c in of.conditions), *_of_criteria(of.criteria))


def _texts(policy: Policy) -> Iterator[str]:
    yield from (c.expression.text for c in policy.conditions)
    yield from (m.expression.text for m in policy.mutations)
    yield from (v.expression.text for v in policy.validations)
    yield from ("" if v.message_expression is None else v.message_expression.text for v in policy.validations)
    yield from (a.expression.text for a in policy.audit_annotations)
    yield from (f"{name}: {getattr(program, 'text', '')}" for name, program in policy.composition.programs.items())


def _of_criteria(criteria: Criteria) -> Signature:
    selectors = criteria.namespace_selector.texts, criteria.object_selector.texts
    return criteria.rules, criteria.exclude, *selectors, criteria.equivalent


def of_manifest(manifest: Manifest) -> Sequence[Signature]:
    """One, or of a webhook configuration one for each webhook."""
    raw = registering.current(manifest.value, manifest.kind)
    kind = manifest.kind.kind
    if kind.endswith("WebhookConfiguration"):
        return [_of_webhook(hook) for hook in raw.get("webhooks") or ()]
    spec = raw.get("spec") or {}
    if kind.endswith("Binding"):
        resources = spec.get("matchResources")
        return [() if resources is None else _of_criteria(compile_policy_criteria(resources))]
    return [(tuple(_raw_texts(spec)), *_of_criteria(compile_policy_criteria(spec.get("matchConstraints") or {})))]


def _of_webhook(raw: Raw) -> Signature:
    conditions = tuple(c.get("expression", "") for c in raw.get("matchConditions") or ())
    return (raw.get("name", ""), conditions, *_of_criteria(compile_webhook_criteria(raw)))


def _raw_texts(spec: Raw) -> Iterator[str]:
    """In the order of `_texts`."""
    validations = spec.get("validations") or ()
    yield from (c.get("expression", "") for c in spec.get("matchConditions") or ())
    yield from map(_mutation, spec.get("mutations") or ())
    yield from (v.get("expression", "") for v in validations)
    yield from (v.get("messageExpression") or "" for v in validations)
    yield from (a.get("valueExpression", "") for a in spec.get("auditAnnotations") or ())
    named = {v.get("name", ""): v.get("expression", "") for v in spec.get("variables") or ()}
    yield from (f"{name}: {text}" for name, text in named.items())


def _mutation(raw: Raw) -> str:
    way = "applyConfiguration" if raw.get("patchType") == "ApplyConfiguration" else "jsonPatch"
    return str((raw.get(way) or {}).get("expression", ""))
