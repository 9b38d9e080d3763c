"""Every metric there is: its name, type, labels, buckets, and what it tells. Names, labels and buckets are Kubernetes'."""

from collections.abc import Callable, Iterable

from msgspec import Struct

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"


class Definition(Struct, frozen=True):
    """One metric. `labels` in the order of the alphabet; `joined` makes one number of those of several workers."""

    name: str
    type: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    stability: str = "ALPHA"
    joined: Callable[[Iterable[float]], float] = sum


_WEBHOOK = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
_REQUEST = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
)  # fmt: skip
_CONDITION_LABELS = ("kind", "name", "operation", "type")
_LONGRUNNING_LABELS = ("component", "group", "resource", "scope", "subresource", "verb", "version")
_REQUEST_LABELS = ("component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version")
_MUTATING, _VALIDATING = "apiserver_mutating_admission_policy_check", "apiserver_validating_admission_policy_check"

DEFINITIONS: tuple[Definition, ...] = (
    # Admission
    Definition(
        "apiserver_admission_webhook_admission_duration_seconds", HISTOGRAM,
        "Time that a webhook took, by its name.", ("name", "operation", "rejected", "type"), _WEBHOOK, "STABLE",
    ),
    Definition(
        "apiserver_admission_webhook_request_total", COUNTER,
        "Webhook calls, with the HTTP code of the answer and whether it refused. Codes above 600 count as 600.",
        ("code", "name", "operation", "rejected", "type"),
    ),
    Definition(
        "apiserver_admission_webhook_rejection_count", COUNTER,
        "Requests refused because of a webhook: what it said (no_error), or what failed.",
        ("error_type", "name", "operation", "rejection_code", "type"),
    ),
    Definition(
        "apiserver_admission_webhook_fail_open_count", COUNTER,
        "Failed webhook calls that failurePolicy Ignore let pass.", ("name", "type"),
    ),
    Definition(
        "apiserver_admission_match_condition_evaluation_errors_total", COUNTER,
        "Match conditions that could not be evaluated, of webhooks and policies.", _CONDITION_LABELS,
    ),
    Definition(
        "apiserver_admission_match_condition_exclusions_total", COUNTER,
        "Webhooks and policies left out because a match condition was false.", _CONDITION_LABELS,
    ),
    Definition(
        f"{_MUTATING}_total", COUNTER,
        "Mutations evaluated, by policy and binding.", ("error_type", "policy", "policy_binding"),
    ),
    Definition(
        f"{_VALIDATING}_total", COUNTER,
        "Validations that failed or could not be evaluated, by policy, binding and what came of it.",
        ("enforcement_action", "error_type", "policy", "policy_binding"), stability="BETA",
    ),
    # Requests
    Definition(
        "apiserver_request_total", COUNTER, "Requests answered, by what they were about and the code of the answer.",
        ("code", *_REQUEST_LABELS), stability="STABLE",
    ),
    Definition(
        "apiserver_request_duration_seconds", HISTOGRAM, "Time to answer, by what the request was about.",
        _REQUEST_LABELS, _REQUEST, "STABLE",
    ),
    Definition(
        "apiserver_current_inflight_requests", GAUGE, "Requests being worked on now, watches aside.",
        ("request_kind",), stability="STABLE",
    ),
    Definition(
        "apiserver_longrunning_requests", GAUGE, "Watches that are open now.", _LONGRUNNING_LABELS, stability="STABLE",
    ),
    Definition(
        "apiserver_watch_events_total", COUNTER, "Events sent to those who watch.", ("group", "resource", "version"),
    ),
    # Audit
    Definition("apiserver_audit_event_total", COUNTER, "Audit events made and handed to the log."),
    Definition("apiserver_audit_error_total", COUNTER, "Audit events that could not be written.", ("plugin",)),
    Definition("apiserver_audit_level_total", COUNTER, "Requests by the level of the audit policy.", ("level",)),
    Definition("apiserver_audit_requests_rejected_total", COUNTER, "Requests refused because their event could not be written."),
    # The process
    Definition("process_cpu_seconds_total", COUNTER, "Processor time used, of user and system.", stability=""),
    Definition("process_open_fds", GAUGE, "Open file descriptors.", stability=""),
    Definition("process_max_fds", GAUGE, "File descriptors that may be open at most.", stability="", joined=min),
    Definition("process_resident_memory_bytes", GAUGE, "Memory that is held.", stability=""),
    Definition("process_virtual_memory_bytes", GAUGE, "Memory that is mapped.", stability=""),
    Definition("process_start_time_seconds", GAUGE, "When the process started, since 1970.", stability="", joined=min),
    # Our own
    Definition("kadmit_metrics_dropped_total", COUNTER, "Observations dropped because their metric has too many series already."),
    Definition("kadmit_build_info", GAUGE, "Always 1; the version is in the label.", ("version",), joined=max),
)  # fmt: skip

BY_NAME = {definition.name: definition for definition in DEFINITIONS}
