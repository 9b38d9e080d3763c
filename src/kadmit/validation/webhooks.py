"""MutatingWebhookConfiguration and ValidatingWebhookConfiguration: what may be registered.

Rules came in over the years. An update of a configuration that breaks one of the newer rules already may go on breaking it:
hence `Strictness`, taken from the old object.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel.environment import NEWEST
from kadmit.cel.library import names
from kadmit.kinds import labels
from kadmit.validation import clients, expressions, rules
from kadmit.validation.expressions import Versions

REVIEW_VERSIONS = ("v1", "v1beta1")
SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")

_SELECTORS = ("namespaceSelector", "objectSelector")


class Strictness(Struct, frozen=True):
    """Which rules hold; all of them for a new object."""

    versions: Versions = field(default_factory=Versions)
    no_side_effects: bool = True
    known_review_version: bool = True
    unique_names: bool = True
    valid_selector_values: bool = True
    match_conditions: bool = True


def validate(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None, minor: int = NEWEST) -> list[FieldError]:
    """The webhooks of a configuration of either kind; `old` is what it was before an update."""
    hooks: Sequence[Mapping[str, Any]] = obj.get("webhooks") or ()
    strict = Strictness(Versions(minor)) if old is None else _strictness(hooks, old.get("webhooks") or (), minor)
    found: list[FieldError] = []
    seen: set[str] = set()
    for i, hook in enumerate(hooks):
        at = fields.path("webhooks").index(i)
        found += _webhook(hook, strict, at, mutating=obj.get("kind") == "MutatingWebhookConfiguration")
        found += _review_versions(hook.get("admissionReviewVersions") or (), strict, at.child("admissionReviewVersions"))
        name = hook.get("name") or ""
        if strict.unique_names and name and name in seen:
            found.append(fields.duplicate(at.child("name"), name))
        seen.add(name)
    return found


def _webhook(hook: Mapping[str, Any], strict: Strictness, at: Path, *, mutating: bool) -> Iterator[FieldError]:
    yield from _name(hook.get("name") or "", at.child("name"))
    for i, rule in enumerate(hook.get("rules") or ()):
        yield from rules.validate_rule(rule, at.child("rules").index(i))
    yield from rules.one_of(hook.get("failurePolicy"), rules.FAILURE_POLICIES, at.child("failurePolicy"))
    yield from rules.one_of(hook.get("matchPolicy"), rules.MATCH_POLICIES, at.child("matchPolicy"))
    yield from _side_effects(hook.get("sideEffects"), strict, at.child("sideEffects"))
    yield from _timeout(hook.get("timeoutSeconds"), at.child("timeoutSeconds"))
    for selector in _SELECTORS:
        yield from labels.validate_selector(hook.get(selector), at.child(selector), any_value=not strict.valid_selector_values)
    if mutating:
        yield from rules.one_of(hook.get("reinvocationPolicy"), rules.REINVOCATION_POLICIES, at.child("reinvocationPolicy"))
    yield from clients.validate_client(hook.get("clientConfig") or {}, at.child("clientConfig"))
    if strict.match_conditions:
        conditions = hook.get("matchConditions") or ()
        yield from expressions.validate_match_conditions(conditions, at.child("matchConditions"), strict.versions, params=False)


def _name(name: str, at: Path) -> list[FieldError]:
    """A domain name of three parts or more."""
    if not name:
        return [fields.required(at)]
    wrong = names.dns1123_subdomain(name)
    if wrong:
        return [fields.invalid(at, name, ",".join(wrong))]
    if name.count(".") < 2:
        return [fields.invalid(at, name, "should be a domain with at least three segments separated by dots")]
    return []


def _side_effects(value: str | None, strict: Strictness, at: Path) -> list[FieldError]:
    allowed = NO_SIDE_EFFECTS if strict.no_side_effects else SIDE_EFFECTS
    if value is None:
        return [fields.required(at, f"must specify one of {', '.join(allowed)}")]
    return rules.one_of(value, allowed, at)


def _timeout(seconds: int | None, at: Path) -> list[FieldError]:
    if seconds is None or 1 <= seconds <= 30:
        return []
    return [fields.invalid(at, seconds, "the timeout value must be between 1 and 30 seconds")]


def _review_versions(versions: Sequence[str], strict: Strictness, at: Path) -> Iterator[FieldError]:
    if not versions:
        yield fields.required(at, f"must specify one of {', '.join(REVIEW_VERSIONS)}")
        return
    seen: set[str] = set()
    for i, version in enumerate(versions):
        wrong = ["duplicate version"] if version in seen else names.dns1035_label(version)
        yield from (fields.invalid(at.index(i), version, problem) for problem in wrong)
        seen.add(version)
    if strict.known_review_version and not _is_understood(versions):
        yield fields.invalid(at, list(versions), f"must include at least one of {', '.join(REVIEW_VERSIONS)}")


def _is_understood(versions: Sequence[str]) -> bool:
    return any(version in REVIEW_VERSIONS for version in versions)


# ---------------------------------------------------------------- updates


def _strictness(new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]], minor: int) -> Strictness:
    return Strictness(
        versions=Versions(minor, frozenset(known for hook in old for known in expressions.match_conditions_of(hook))),
        no_side_effects=all(hook.get("sideEffects") in NO_SIDE_EFFECTS for hook in old),
        known_review_version=all(_is_understood(versions) for versions in map(_versions_of, old) if versions),
        unique_names=len({hook.get("name") or "" for hook in old}) == len(old),
        valid_selector_values=not any(labels.validate_selector(hook.get(s), Path()) for hook in old for s in _SELECTORS),
        match_conditions=[_conditions_of(hook) for hook in new] != [_conditions_of(hook) for hook in old],
    )


def _versions_of(hook: Mapping[str, Any]) -> Sequence[str]:
    return hook.get("admissionReviewVersions") or ()


def _conditions_of(hook: Mapping[str, Any]) -> Sequence[Any]:
    return hook.get("matchConditions") or []
