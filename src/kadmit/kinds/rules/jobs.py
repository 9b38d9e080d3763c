"""Jobs and CronJobs: pods that come to an end, how often they may fail, and when the next ones start."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import OMITTED, FieldError, Path
from kadmit.api.gojson import Named
from kadmit.cel.library import names
from kadmit.kinds import internals, labels
from kadmit.kinds.rules import enums, indexes, meta, naming, numbers, pods, schedules, selectors
from kadmit.kinds.rules.context import Context
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_AT = fields.path("spec")
_MOST_PARALLEL = 100_000
_MANY, _MOST_OF_MANY = 100_000, 10_000
_MAX_RULES, _MAX_CODES, _LONGEST_INDEXES = 20, 255, 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished", "backoffLimitPerIndex",
    "maxFailedIndexes",
)  # fmt: skip


# ---------------------------------------------------------------- jobs


def create_job(job: Object, context: Context) -> Iterator[FieldError]:
    spec = job.get("spec") or {}
    yield from meta.created(job)
    yield from _generated_selector(job)
    yield from _selecting(spec, context)
    yield from _hostname(job, spec)


def _hostname(job: Object, spec: Part) -> Iterator[FieldError]:
    """Pods of an indexed job are named after it and their index."""
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        name = meta.of(job).get("name") or ""
        longest = f"{name}-{completions - 1}"
        if names.dns1123_label(longest):
            text = f"will not able to create pod with invalid DNS label: {longest}"
            yield fields.invalid(fields.path("metadata", "name"), name, text)


def _generated_selector(job: Object) -> Iterator[FieldError]:
    spec = job.get("spec") or {}
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    uid, name = meta.of(job).get("uid") or "", meta.of(job).get("name") or ""
    if not uid:
        yield fields.required(fields.path("metadata", "uid"))
    expected = {UID_LABELS[0]: uid, NAME_LABELS[0]: name, UID_LABELS[1]: uid, NAME_LABELS[1]: name}
    of_template = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    for key, value in expected.items():
        yield from _has_label(of_template, key, value)
    if selectors.is_sound(selector) and not selectors.matches(selector, expected):
        yield fields.invalid(_AT.child("selector"), internals.shown("LabelSelector", selector), "`selector` not auto-generated")


def _has_label(held: Mapping[str, str], key: str, value: str) -> Iterator[FieldError]:
    at = _AT.child("template", "metadata", "labels").key(key)
    if key not in held:
        yield fields.required(_AT.child("template", "metadata", "labels").key(key), f"must be '{value}'")
    elif held[key] != value:
        yield fields.invalid(at, {name: held[name] for name in sorted(held)}, f"must be '{value}'")


def _selecting(spec: Part, context: Context) -> Iterator[FieldError]:
    selector = spec.get("selector")
    yield from _job(spec, _AT, context)
    if selector is None:
        yield fields.required(_AT.child("selector"))
    yield from labels.validate_selector(selector, _AT.child("selector"))
    of_template = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if selectors.is_sound(selector) and not selectors.matches(selector, of_template):
        shown = None if of_template is None else {key: of_template[key] for key in sorted(of_template)}
        yield fields.invalid(_AT.child("template", "metadata", "labels"), shown, selectors.MISMATCH)


def _job(spec: Part, at: Path, context: Context) -> Iterator[FieldError]:
    for member in _COUNTS:
        yield from numbers.not_negative(spec.get(member), at.child(member))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield fields.required(at.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified")
    yield from _managed(spec.get("managedBy"), at.child("managedBy"))
    yield from _completion(spec, at)
    if spec.get("podFailurePolicy") is not None:
        yield from _failures(spec, at.child("podFailurePolicy", "rules"))
    yield from _success(spec, at.child("successPolicy"))
    yield from _replacement(spec, at.child("podReplacementPolicy"))
    yield from pods.template(spec.get("template"), at.child("template"), context)
    yield from _restarting(spec, at.child("template", "spec", "restartPolicy"))


def _managed(manager: str | None, at: Path) -> Iterator[FieldError]:
    if manager is not None:
        yield from naming.domain_path(manager, at)
        if naming.size(manager) > 63:
            yield fields.too_long(at, 63)


def _completion(spec: Part, at: Path) -> Iterator[FieldError]:
    mode = spec.get("completionMode")
    yield from enums.one_of(mode, ("NonIndexed", "Indexed"), at.child("completionMode"))
    if mode == "Indexed":
        yield from _indexed(spec, at)
    elif mode in (None, "NonIndexed"):
        for member in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(member) is not None:
                yield fields.invalid(at.child(member), spec[member], "requires indexed completion mode")


def _indexed(spec: Part, at: Path) -> Iterator[FieldError]:
    completions, parallel = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        yield fields.required(at.child("completions"), "when completion mode is Indexed")
    if parallel > _MOST_PARALLEL:
        text = f"must be less than or equal to {_MOST_PARALLEL} when completion mode is Indexed"
        yield fields.invalid(at.child("parallelism"), parallel, text)
    if completions is not None and failed is not None and failed > completions:
        yield fields.invalid(at.child("maxFailedIndexes"), failed, "must be less than or equal to completions")
    if failed is not None and failed > _MOST_PARALLEL:
        yield fields.invalid(at.child("maxFailedIndexes"), failed, f"must be less than or equal to {_MOST_PARALLEL}")
    if (completions or 0) > _MANY and spec.get("backoffLimitPerIndex") is not None:
        yield from _many(failed, parallel, at)


def _many(failed: int | None, parallel: int, at: Path) -> Iterator[FieldError]:
    """Jobs with very many completions."""
    most = (
        f"must be less than or equal to {_MOST_OF_MANY} when completions are above {_MANY} and used with backoff limit per index"
    )
    if failed is None:
        yield fields.required(at.child("maxFailedIndexes"), f"must be specified when completions is above {_MANY}")
    if parallel > _MOST_OF_MANY:
        yield fields.invalid(at.child("parallelism"), parallel, most)
    if failed is not None and failed > _MOST_OF_MANY:
        yield fields.invalid(at.child("maxFailedIndexes"), failed, most)


def _replacement(spec: Part, at: Path) -> Iterator[FieldError]:
    supported = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    return enums.one_of(spec.get("podReplacementPolicy"), supported, at)


def _restarting(spec: Part, at: Path) -> Iterator[FieldError]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy") or ""
    if policy in ("", "Always"):
        yield fields.required(at, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield fields.not_supported(at, Named(policy), ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield fields.invalid(at, Named(policy), 'only "Never" is supported when podFailurePolicy is specified')


# ---------------------------------------------------------------- what failures and successes mean


def _failures(spec: Part, at: Path) -> Iterator[FieldError]:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _MAX_RULES:
        yield fields.too_many(at, len(rules), _MAX_RULES)
    of_pod = (spec.get("template") or {}).get("spec") or {}
    known = {one.get("name") or "" for member in ("containers", "initContainers") for one in of_pod.get(member) or ()}
    for index, rule in enumerate(rules):
        yield from _failure_rule(rule, spec, known, at.index(index))


def _failure_rule(rule: Part, spec: Part, containers: set[str], at: Path) -> Iterator[FieldError]:
    action = rule.get("action") or ""
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield fields.invalid(at.child("action"), Named(action), "requires the backoffLimitPerIndex to be set")
    yield from _listed(action, _ACTIONS, at.child("action"))
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        yield from _exit_codes(codes, containers, at.child("onExitCodes"))
    if conditions:
        yield from _conditions(conditions, at.child("onPodConditions"))
    if codes is not None and conditions:
        yield fields.invalid(at, OMITTED, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not conditions:
        yield fields.invalid(at, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required")


def _listed(value: str, supported: tuple[str, ...], at: Path) -> Iterator[FieldError]:
    if not value:
        shown = " ".join(f'"{one}"' for one in supported)
        yield fields.required(at, f"valid values: [{shown}]")
    else:
        yield from enums.one_of(value, supported, at)


def _conditions(patterns: list[Part], at: Path) -> Iterator[FieldError]:
    if len(patterns) > _MAX_RULES:
        yield fields.too_many(at, len(patterns), _MAX_RULES)
    for index, pattern in enumerate(patterns):
        yield from naming.qualified(pattern.get("type") or "", at.index(index).child("type"))
        yield from _listed(pattern.get("status") or "", ("False", "True", "Unknown"), at.index(index).child("status"))


def _exit_codes(codes: Part, containers: set[str], at: Path) -> Iterator[FieldError]:
    operator, values, place = codes.get("operator") or "", codes.get("values"), at.child("values")
    yield from _listed(operator, ("In", "NotIn"), at.child("operator"))
    container = codes.get("containerName")
    if container is not None and container not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        yield fields.invalid(at.child("containerName"), container, text)
    if not values:
        yield fields.invalid(place, values, "at least one value is required")
    elif len(values) > _MAX_CODES:
        yield fields.too_many(place, len(values), _MAX_CODES)
    seen: set[int] = set()
    for index, code in enumerate(values or ()):
        if operator == "In" and code == 0:
            yield fields.invalid(place.index(index), code, "must not be 0 for the In operator")
        if code in seen:
            yield fields.duplicate(place.index(index), code)
        seen.add(code)
    if values and values != sorted(values):
        yield fields.invalid(place, values, "must be ordered")


def _success(spec: Part, at: Path) -> Iterator[FieldError]:
    policy = spec.get("successPolicy")
    if policy is None:
        return
    if spec.get("completionMode") != "Indexed":
        yield fields.invalid(at, internals.shown("SuccessPolicy", policy), "requires indexed completion mode")
        return
    rules = policy.get("rules") or ()
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        yield fields.required(at.child("rules"), text)
    if len(rules) > _MAX_RULES:
        yield fields.too_many(at.child("rules"), len(rules), _MAX_RULES)
    for index, rule in enumerate(rules):
        yield from _success_rule(rule, spec.get("completions") or 0, at.child("rules").index(index))


def _success_rule(rule: Part, completions: int, at: Path) -> Iterator[FieldError]:
    count, listed = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and listed is None:
        yield fields.required(at, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if listed is not None:
        if naming.size(listed) > _LONGEST_INDEXES:
            yield fields.too_long(at.child("succeededIndexes"), _LONGEST_INDEXES)
        total, wrong = indexes.counted(listed, completions)
        if wrong:
            yield fields.invalid(at.child("succeededIndexes"), listed, f"error parsing succeededIndexes: {wrong}")
    place = at.child("succeededCount")
    yield from numbers.not_negative(count, place)
    most = "must be less than or equal to"
    if count is not None and count > completions:
        yield fields.invalid(place, count, f"{most} {completions} (the number of specified completions)")
    if count is not None and listed is not None and count > total:
        text = f"{most} {total} (the number of indexes in the specified succeededIndexes field)"
        yield fields.invalid(place, count, text)


# ---------------------------------------------------------------- changes


def update_job(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    """NB: a job is looked at twice, by itself and as a change; what is wrong with it is listed twice."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    yield from create_job(new, context)
    yield from meta.updated(new, old)
    yield from _selecting(after, context)
    yield from _completions(after, before)
    yield from _same("selector", "LabelSelector", after, before)
    yield from _template(new, old)
    yield from _same("completionMode", "", after, before)
    yield from _same("podFailurePolicy", "PodFailurePolicy", after, before)
    yield from _same("backoffLimitPerIndex", "", after, before)
    yield from _same("managedBy", "", after, before)
    yield from _same("successPolicy", "SuccessPolicy", after, before)


def _same(member: str, struct: str, after: Part, before: Part) -> Iterator[FieldError]:
    now, was = after.get(member), before.get(member)
    equal = internals.same(struct, was, now) if struct else was == now
    if not equal:
        yield fields.invalid(_AT.child(member), internals.shown(struct, now) if struct else now, meta.IMMUTABLE)


def _completions(after: Part, before: Part) -> Iterator[FieldError]:
    now, was = after.get("completions"), before.get("completions")
    if after.get("completionMode") != "Indexed":
        yield from _same("completions", "", after, before)
    elif now is not None and now != was and now != (after.get("parallelism") or 0):
        yield fields.invalid(_AT.child("completions"), now, "can only be modified in tandem with spec.parallelism")


def _template(new: Object, old: Object) -> Iterator[FieldError]:
    after, before = (new.get("spec") or {}).get("template") or {}, (old.get("spec") or {}).get("template") or {}
    suspended = bool((old.get("spec") or {}).get("suspend"))
    mutable = suspended and _is_idle(old.get("status") or {})
    if mutable:
        before = _with_directives(before, after)
        now, was = after.get("spec") or {}, _with_resources(before.get("spec") or {}, after.get("spec") or {})
        if not internals.same("PodSpec", was, now):
            yield fields.invalid(_AT.child("template.spec"), internals.shown("PodSpec", now), meta.IMMUTABLE)
    elif not internals.same("PodTemplateSpec", before, after):
        yield fields.invalid(_AT.child("template"), internals.shown("PodTemplateSpec", after), meta.IMMUTABLE)


def _is_idle(status: Part) -> bool:
    conditions = status.get("conditions") or ()
    paused = any(one.get("type") == "Suspended" and one.get("status") == "True" for one in conditions)
    return (status.get("startTime") is None or paused) and not status.get("active")


def _with_directives(before: Part, after: Part) -> dict[str, Json]:
    """The old template, with the new in all places that tell where pods may run."""
    was, now = before.get("spec") or {}, after.get("spec") or {}
    made = {**was, **{member: now.get(member) for member in ("nodeSelector", "tolerations", "schedulingGates")}}
    affinity = {key: value for key, value in (was.get("affinity") or {}).items() if key != "nodeAffinity"}
    if (now.get("affinity") or {}).get("nodeAffinity") is not None:
        affinity["nodeAffinity"] = now["affinity"]["nodeAffinity"]
    made["affinity"] = affinity if affinity or now.get("affinity") is not None else None
    return {**before, "metadata": after.get("metadata"), "spec": made}


def _with_resources(was: Part, now: Part) -> dict[str, Json]:
    """The old spec, with the resources of the new one's containers of the same names."""
    made = dict(was)
    for member in ("containers", "initContainers"):
        old, new = was.get(member) or [], now.get(member) or []
        if len(old) == len(new):
            made[member] = [
                {**a, "resources": b.get("resources")} if a.get("name") == b.get("name") else a
                for a, b in zip(old, new, strict=True)
            ]
    return made


# ---------------------------------------------------------------- cron jobs


def create_cron_job(value: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.created(value)
    yield from _cron_job(value.get("spec") or {}, None, context)
    name = meta.of(value).get("name") or ""
    if naming.size(name) > 52:
        yield fields.invalid(fields.path("metadata", "name"), name, "must be no more than 52 characters")


def update_cron_job(new: Object, old: Object, context: Context) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _cron_job(new.get("spec") or {}, old.get("spec") or {}, context)


def _cron_job(spec: Part, old: Part | None, context: Context) -> Iterator[FieldError]:
    schedule, zone = spec.get("schedule") or "", spec.get("timeZone")
    if not schedule:
        yield fields.required(_AT.child("schedule"))
    else:
        yield from _schedule(schedule, zone, _AT.child("schedule"), had_zone="TZ" in ((old or {}).get("schedule") or ""))
    yield from numbers.not_negative(spec.get("startingDeadlineSeconds"), _AT.child("startingDeadlineSeconds"))
    if zone is not None and (old is None or old.get("timeZone") != zone):
        wrong = schedules.zone_problem(zone)
        if wrong:
            yield fields.invalid(_AT.child("timeZone"), zone, wrong)
    policies = ("Allow", "Forbid", "Replace")
    yield from enums.required_one_of(spec.get("concurrencyPolicy"), policies, _AT.child("concurrencyPolicy"))
    yield from _job_template(spec.get("jobTemplate") or {}, _AT.child("jobTemplate", "spec"), context)
    for member in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from numbers.not_negative(spec.get(member), _AT.child(member))


def _schedule(schedule: str, zone: str | None, at: Path, *, had_zone: bool) -> Iterator[FieldError]:
    wrong = schedules.problem(schedule)
    if wrong:
        yield fields.invalid(at, schedule, wrong)
    if "TZ" not in schedule:
        return
    if not had_zone:
        yield fields.invalid(at, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif zone is not None:
        yield fields.invalid(at, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")


def _job_template(template: Part, at: Path, context: Context) -> Iterator[FieldError]:
    spec = template.get("spec") or {}
    yield from _job(spec, at, context)
    if spec.get("selector") is not None:
        shown = internals.shown("LabelSelector", spec["selector"])
        yield fields.invalid(at.child("selector"), shown, "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        yield fields.not_supported(at.child("manualSelector"), True, ("nil", "false"))
