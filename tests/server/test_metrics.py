"""Counting, and the text of a scrape."""

import ast
import re
from pathlib import Path

import pytest

from kadmit.access.attributes import query_values, request_info
from kadmit.admission.outcome import Increment, Record
from kadmit.server import metrics as counting
from kadmit.server import processinfo, requestlabels
from kadmit.server.exchange import Waited
from kadmit.server.metricnames import BY_NAME, DEFINITIONS, HISTOGRAM
from kadmit.server.metrics import Metrics
from kadmit.server.requestlabels import RequestLabels
from kadmit.webhook import metrics as webhook_metrics

ROOT = Path(__file__).parent.parent.parent
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"
WEBHOOK = "apiserver_admission_webhook_admission_duration_seconds"


def _lines(metrics: Metrics, name: str) -> list[str]:
    """What a scrape says of one metric."""
    text = metrics.snapshot().render().decode()
    return [line for line in text.splitlines() if re.match(rf"{name}(_bucket|_sum|_count)?[ {{]", line)]


# ---------------------------------------------------------------- counting


def test_what_admission_wants_counted_is_counted() -> None:
    record = Record()
    record.count(FAIL_OPEN, name="a.example.com", type="admit")
    record.count(FAIL_OPEN, name="a.example.com", type="admit")
    record.count(FAIL_OPEN, name="b.example.com", type="validating")
    metrics = Metrics()
    metrics.apply(record.increments)
    assert _lines(metrics, FAIL_OPEN) == [
        f'{FAIL_OPEN}{{name="a.example.com",type="admit"}} 2',
        f'{FAIL_OPEN}{{name="b.example.com",type="validating"}} 1',
    ]


def test_a_histogram_counts_all_that_is_no_longer_than_each_bound() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.005, 0.02, 3.0):
        metrics.observe(WEBHOOK, seconds, name="a", operation="CREATE", rejected="false", type="admit")
    labels = 'name="a",operation="CREATE",rejected="false",type="admit"'
    buckets = [("0.005", 2), ("0.025", 3), ("0.1", 3), ("0.5", 3), ("1", 3), ("2.5", 3), ("10", 4), ("25", 4), ("+Inf", 4)]
    assert _lines(metrics, WEBHOOK) == [
        *(f'{WEBHOOK}_bucket{{{labels},le="{bound}"}} {count}' for bound, count in buckets),
        f"{WEBHOOK}_sum{{{labels}}} 3.026",
        f"{WEBHOOK}_count{{{labels}}} 4",
    ]


@pytest.mark.parametrize("labels", [{"name": "a"}, {"name": "a", "kind": "b"}, {"name": "a", "type": "b", "more": "c"}])
def test_labels_that_a_metric_does_not_have_are_a_defect(labels: dict[str, str]) -> None:
    with pytest.raises((ValueError, KeyError)):
        Metrics().count(FAIL_OPEN, **labels)
    with pytest.raises(ValueError, match="has the labels name, type, not"):
        Metrics().apply([Increment(FAIL_OPEN, tuple(sorted(labels.items())))])


def test_names_that_users_make_up_cannot_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_SERIES", 3)
    metrics = Metrics()
    for number in range(5):
        metrics.count(FAIL_OPEN, name=f"hook-{number}", type="admit")
        metrics.observe(WEBHOOK, 1.0, name=f"hook-{number}", operation="CREATE", rejected="false", type="admit")
    metrics.count(FAIL_OPEN, name="hook-0", type="admit")
    assert len(metrics.values[FAIL_OPEN]) == len(metrics.histograms[WEBHOOK]) == 3
    assert metrics.values[FAIL_OPEN][("hook-0", "admit")] == 2
    assert _lines(metrics, "kadmit_metrics_dropped_total") == ["kadmit_metrics_dropped_total 4"]


def test_requests_in_flight_are_counted_up_and_down() -> None:
    metrics, gauge = Metrics(), "apiserver_current_inflight_requests"
    metrics.inflight(1, mutating=True)
    metrics.inflight(1, mutating=False)
    metrics.inflight(-1, mutating=True)
    assert _lines(metrics, gauge) == [f'{gauge}{{request_kind="mutating"}} 0', f'{gauge}{{request_kind="readOnly"}} 1']


def test_an_open_watch_is_counted_while_it_lasts() -> None:
    metrics, gauge = Metrics(), "apiserver_longrunning_requests"
    watch = RequestLabels(verb="WATCH", scope="namespace", version="v1", resource="configmaps")
    shown = 'component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"'
    metrics.longrunning(watch, 1)
    assert _lines(metrics, gauge) == [f"{gauge}{{{shown}}} 1"]
    metrics.longrunning(watch, -1)
    assert _lines(metrics, gauge) == [f"{gauge}{{{shown}}} 0"]


def test_events_of_watches_are_counted_by_resource() -> None:
    metrics, counter = Metrics(), "apiserver_watch_events_total"
    for events in (2, 1):
        metrics.watched(RequestLabels(verb="WATCH", group="apps", version="v1", resource="deployments"), events)
    assert _lines(metrics, counter) == [f'{counter}{{group="apps",resource="deployments",version="v1"}} 3']


def test_the_time_of_a_webhook_is_counted_with_what_became_of_its_call() -> None:
    record, metrics = Record(), Metrics()
    calls = [("a", "admit", "false"), ("a", "admit", "true"), ("a", "validating", "false"), ("b", "admit", "false")]
    for name, kind, rejected in calls:
        record.count(
            "apiserver_admission_webhook_request_total", code="200", name=name, operation="CREATE", rejected=rejected, type=kind
        )
    waited = [Waited("a", True, 1.0), Waited("a", False, 2.0), Waited("a", True, 3.0)]
    metrics.webhooks(record.increments, waited)
    sums = [line for line in _lines(metrics, WEBHOOK) if "_sum" in line]
    assert sums == [
        f'{WEBHOOK}_sum{{name="a",operation="CREATE",rejected="false",type="admit"}} 1',
        f'{WEBHOOK}_sum{{name="a",operation="CREATE",rejected="false",type="validating"}} 2',
        f'{WEBHOOK}_sum{{name="a",operation="CREATE",rejected="true",type="admit"}} 3',
    ]


# ---------------------------------------------------------------- text


def test_an_answered_request_reads_as_kube_apiserver_writes_it() -> None:
    metrics = Metrics()
    asked = requestlabels.of_resource(request_info("POST", "/api/v1/namespaces/default/configmaps"), "POST", {})
    metrics.request(asked, 201, 0.01)
    labels = (
        'code="201",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",'
        'subresource="",verb="POST",version="v1"'
    )
    assert _lines(metrics, "apiserver_request_total") == [f"apiserver_request_total{{{labels}}} 1"]
    assert _lines(metrics, "apiserver_request_duration_seconds")[-1].endswith(" 1")
    assert len(_lines(metrics, "apiserver_request_duration_seconds")) == 26


def test_values_are_escaped() -> None:
    metrics = Metrics()
    metrics.count(FAIL_OPEN, name='a"b\\c\nd', type="admit")
    assert _lines(metrics, FAIL_OPEN) == [f'{FAIL_OPEN}{{name="a\\"b\\\\c\\nd",type="admit"}} 1']


NUMBERS = [(0, "0"), (5, "5"), (999_999, "999999"), (1_000_000, "1e+06"), (1_195_628_975, "1.195628975e+09"), (0.5, "0.5")]


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_numbers_are_written_as_go_writes_them(value: float, text: str) -> None:
    metrics = Metrics()
    metrics.count("apiserver_audit_event_total", value)
    assert _lines(metrics, "apiserver_audit_event_total") == [f"apiserver_audit_event_total {text}"]


def test_a_metric_is_introduced_once_and_only_if_it_has_a_value() -> None:
    metrics = Metrics()
    assert b"rejection_count" not in metrics.snapshot().render()
    metrics.count(FAIL_OPEN, name="a", type="admit")
    metrics.count(FAIL_OPEN, name="b", type="admit")
    text = metrics.snapshot().render().decode()
    assert text.count(f"# HELP {FAIL_OPEN} [ALPHA] ") == text.count(f"# TYPE {FAIL_OPEN} counter\n") == 1


def test_every_line_is_in_prometheus_format() -> None:
    metrics = Metrics()
    metrics.observe(WEBHOOK, 1.0, name="a", operation="CREATE", rejected="false", type="admit")
    sample = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-z_]+="[^"]*",?)*\})? (\+Inf|[0-9.e+-]+)')
    for line in metrics.snapshot().render().decode().splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or sample.fullmatch(line), line


def test_a_snapshot_does_not_change() -> None:
    metrics = Metrics()
    taken = metrics.snapshot()
    before = taken.render()
    metrics.count(FAIL_OPEN, name="a", type="admit")
    assert taken.render() == before


# ---------------------------------------------------------------- names of requests

REQUESTS: list[tuple[str, str, str, str, tuple[str, str, str]]] = [
    ("GET", "/api/v1/namespaces/d/pods/a", "", "", ("GET", "resource", "")),
    ("HEAD", "/api/v1/namespaces/d/pods/a", "", "", ("GET", "resource", "")),
    ("GET", "/api/v1/namespaces/d/pods", "", "", ("LIST", "namespace", "")),
    ("GET", "/api/v1/pods", "", "", ("LIST", "cluster", "")),
    ("GET", "/api/v1/pods", "watch=1", "", ("WATCH", "cluster", "")),
    ("GET", "/api/v1/pods", "watch=false", "", ("LIST", "cluster", "")),
    ("GET", "/api/v1/namespaces/d/pods/a", "watch=true", "", ("WATCH", "resource", "")),
    ("POST", "/api/v1/namespaces/d/pods", "dryRun=All", "", ("POST", "resource", "All")),
    ("POST", "/api/v1/namespaces/d/pods", "dryRun=All&dryRun=All", "", ("POST", "resource", "All")),
    ("POST", "/api/v1/namespaces/d/pods", "dryRun=Some", "", ("POST", "resource", "invalid")),
    ("PUT", "/api/v1/namespaces/d/pods/a", "", "", ("PUT", "resource", "")),
    ("PATCH", "/api/v1/namespaces/d/pods/a", "", "application/json-patch+json", ("PATCH", "resource", "")),
    ("PATCH", "/api/v1/namespaces/d/pods/a", "", "application/apply-patch+yaml", ("APPLY", "resource", "")),
    ("DELETE", "/api/v1/namespaces/d/pods", "", "", ("DELETE", "namespace", "")),
    ("GET", "/api/v1/namespaces/d/pods/a/log", "", "", ("CONNECT", "resource", "")),
    ("POST", "/api/v1/namespaces/d/pods/a/exec", "", "", ("CONNECT", "resource", "")),
    ("BREW", "/api/v1/namespaces/d/pods/a", "", "", ("other", "resource", "")),
]


@pytest.mark.parametrize(("method", "path", "query", "content_type", "called"), REQUESTS)
def test_requests_are_called_as_kubernetes_calls_them(
    method: str, path: str, query: str, content_type: str, called: tuple[str, str, str]
) -> None:
    found = requestlabels.of_resource(request_info(method, path, query), method, query_values(query), content_type)
    assert (found.verb, found.scope, found.dry_run) == called
    assert (found.group, found.version, found.resource) == ("", "v1", "pods")


@pytest.mark.parametrize(("method", "verb"), [("GET", "GET"), ("HEAD", "GET"), ("POST", "POST"), ("BREW", "other")])
def test_the_servers_own_paths_have_no_component(method: str, verb: str) -> None:
    found = requestlabels.of_path("/readyz", method)
    assert (found.verb, found.subresource, found.component, found.scope) == (verb, "/readyz", "", "")


# ---------------------------------------------------------------- the process


def test_the_process_is_measured() -> None:
    found = processinfo.read()
    assert found["process_cpu_seconds_total"] > 0
    assert found["process_resident_memory_bytes"] > 2**20
    assert 0 < found["process_open_fds"] < found["process_max_fds"]
    assert found["process_start_time_seconds"] > 1.6e9


# ---------------------------------------------------------------- definitions


def test_labels_are_in_order() -> None:
    assert [d.name for d in DEFINITIONS if tuple(sorted(d.labels)) != d.labels] == []
    assert [d.name for d in DEFINITIONS if bool(d.buckets) != (d.type == HISTOGRAM)] == []


def test_every_metric_that_is_named_in_the_source_is_defined() -> None:
    named = set()
    for path in (ROOT / "src" / "kadmit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= set(re.findall(r"^(?:apiserver|kadmit|process)_[a-z_]+_(?:total|count|seconds|requests)$", node.value))
    assert named <= set(BY_NAME) | {metric.name for metric in webhook_metrics.DEFINITIONS}
    assert FAIL_OPEN in named


def test_every_metric_stands_in_the_documentation() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text()
    rows = re.findall(r"^\| `([a-z_]+)` \| ([a-z]+) \| (.*) \| (.*) \|$", text, re.MULTILINE)
    assert rows == [(d.name, d.type, ", ".join(f"`{label}`" for label in d.labels), d.help) for d in DEFINITIONS]
