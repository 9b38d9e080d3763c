"""Cases that are run: requests of every kind, expectations that hold and do not, and what became of the rest."""

# ruff: noqa: E501  a case is one line of a table, however long

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.authoring import suites
from tests.authoring.suites import faults

from kadmit.authoring.suite import running
from kadmit.authoring.suite.expectation import Expected
from kadmit.authoring.suite.model import BadSuite
from kadmit.authoring.suite.outcome import Fault, Outcome
from kadmit.authoring.suite.running import ERROR, FAILED, NOT_RUN, PASSED, Judged, Wish

HEAD = """
policies: [mutating.yaml, validating.yaml, webhooks.yaml]
defaults: {object: settings.yaml}
cases:
"""


def of(*cases: str, head: str = HEAD) -> dict[str, list[str]]:
    return faults(head + "\n".join(f"- {{name: c{i}, {case}}}" for i, case in enumerate(cases)))


def one(case: str, head: str = HEAD) -> list[str]:
    return of(case, head=head)["c0"]


BAD = "patch: {data: {level: odd}}"
MESSAGE = (
    "configmaps \"settings\" is forbidden: ValidatingAdmissionPolicy 'levels' with binding 'levels' denied request: no such level"
)


@pytest.mark.parametrize(
    "case",
    [
        "expect: admitted",
        f"{BAD}, expect: denied",
        f"{BAD}, expect: {{denied: {{code: 422, reason: Invalid, by: levels, message: {{matches: 'no such level$'}}}}}}",
        "expect: {unchanged: true}",
        "patch: {data: {label: x}}, expect: {partial: {metadata: {labels: {label: x}}, data: {level: low}, binaryData: null}}",
        "patch: {data: {label: x}}, expect: {patch: [{op: add, path: /metadata/labels, value: {label: x}}]}",
        "expect: {object: settings.yaml}",
        "expect: {warnings: [], auditAnnotations: {levels/level: low}}",
        "expect: {auditAnnotations: {contains: {levels/level: {contains: lo}}}}",
        "expect: {webhooks: [change.example.com, {name: judge.example.com, sent: {operation: CREATE, object: {data: {level: low}}}}]}",
        f"operation: DELETE, {BAD}, expect: {{admitted: true, webhooks: [change.example.com, judge.example.com]}}",
        (
            "operation: UPDATE, oldObject: settings.yaml, expect: {webhooks: [change.example.com, {name: judge.example.com, sent: "
            "{oldObject: {data: {level: low}}, userInfo: {username: alice}}}]}, user: {name: alice}"
        ),
        "dryRun: true, expect: {webhooks: [change.example.com, {name: judge.example.com, sent: {dryRun: true}}]}",
    ],
)
def test_an_expectation_that_holds(case: str) -> None:
    assert one(case) == []


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (f"{BAD}, expect: admitted", [f"admitted: expected to be admitted, was denied (422 Invalid): {MESSAGE}"]),
        ("expect: denied", ["denied: expected to be denied, was admitted"]),
        (f"{BAD}, expect: {{denied: {{code: 403}}}}", [f"denied.code: expected 403, found 422: {MESSAGE}"]),
        (f"{BAD}, expect: {{denied: {{reason: Forbidden}}}}", [f"denied.reason: expected Forbidden, found Invalid: {MESSAGE}"]),
        (f"{BAD}, expect: {{denied: {{by: labels}}}}", ["denied.by: expected \"labels\", was refused by 'levels'"]),
        (f"{BAD}, expect: {{denied: {{message: nope}}}}", ["denied.message: is another text"]),
        ("patch: {metadata: {name: A_B}}, expect: {denied: true, webhooks: [change.example.com]}",
         [('denied: was refused by no policy or webhook, but as a bad request (422): ConfigMap "A_B" is invalid: metadata.name: '
          "Invalid value: \"A_B\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
          "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
          "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")]),
        ("patch: {dta: {}}, expect: admitted",
         [('admitted: expected to be admitted, was denied (400 BadRequest): ConfigMap in version "v1" cannot be handled as a ConfigMap: '
          'strict decoding error: unknown field "dta"')]),
        ("patch: {data: {label: x}}, expect: {unchanged: true}", ["unchanged: expected to stay as it was sent"]),
        ("patch: {data: {label: x}}, expect: {object: settings.yaml}", ["object: is not the object that was admitted"]),
        ("expect: {patch: [{op: add, path: /data/a, value: b}]}", ["patch: is not the object that was admitted"]),
        ("expect: {patch: [{op: remove, path: /none}]}",
         [("patch: cannot be applied to the object as sent: error in remove for path: '/none': Unable to remove nonexistent key: "
          "none: missing value")]),
        ("expect: {partial: {data: {level: high, other: x}, metadata: {namespace: null}}}",
         ['partial: data.level: expected "high", found "low"', 'partial: data.other: expected "x", found nothing',
          'partial: metadata.namespace: expected nothing, found "shop"']),
        ("expect: {warnings: [w]}", ["warnings: expected 1, found 0: none"]),
        ("expect: {warnings: {contains: w}}", ['warnings: expected one that is or contains "w", found none']),
        ("expect: {auditAnnotations: {}}", ['auditAnnotations: expected no others, found "levels/level"']),
        ("expect: {auditAnnotations: {contains: {levels/level: high, a/b: c}}}",
         ["auditAnnotations[levels/level]: is another text", 'auditAnnotations: expected a/b: "c", found nothing under this key']),
        ("expect: {webhooks: [judge.example.com]}",
         ['webhooks: expected "judge.example.com" to be called, found "change.example.com", "judge.example.com"']),
        ("expect: {webhooks: [{name: change.example.com, sent: {operation: UPDATE}}, judge.example.com]}",
         ['webhooks[0].sent: change.example.com: operation: expected "UPDATE", found "CREATE"']),
        ("expect: {golden: none.yaml}", ["golden: there is no suites/none.yaml: write it with --update"]),
    ],
)  # fmt: skip
def test_an_expectation_that_does_not_hold_says_why(case: str, told: list[str]) -> None:
    assert one(case) == told


# ---------------------------------------------------------------- webhooks


@pytest.mark.parametrize(
    ("script", "expect"),
    [
        ("change.example.com: {deny: {code: 403, message: never}}",
         "denied: {code: 403, by: change.example.com, message: 'admission webhook \"change.example.com\" denied the request: never'}"),
        ("change.example.com: {patch: [{op: add, path: /data/new, value: x}], warnings: [careful], auditAnnotations: {why: so}}",
         "partial: {data: {new: x}}, warnings: [careful], auditAnnotations: {contains: {change.example.com/why: so}}"),
        ("change.example.com: timeout",
         ("denied: {code: 500, by: change.example.com, message: {contains: 'failed calling webhook \"change.example.com\": "
         'failed to call webhook: Post "https://hooks.example/change?timeout=3s": context deadline exceeded\'}}')),
        ("change.example.com: {fail: no route}", "denied: {message: {contains: 'failed to call webhook: no route'}}"),
        ("judge.example.com: timeout", "admitted: true"),
        ("judge.example.com: {deny: because}", "denied: {code: 400, message: {contains: 'denied the request: because'}}"),
        ("change.example.com: {response: {allowed: true, uid: another}}",
         "denied: {message: {contains: 'expected response.uid=\"00000000-0000-4000-8000-000000000000\", got \"another\"'}}"),
    ],
)  # fmt: skip
def test_webhooks_answer_from_their_script(script: str, expect: str) -> None:
    assert one(f"webhooks: {{{script}}}, expect: {{{expect}}}") == []


def test_replies_are_given_in_turn_and_the_last_one_stays() -> None:
    configuration, hook = suites.WEBHOOKS.split("---")[0].split("webhooks:\n")
    again = hook.replace("sideEffects: None", "sideEffects: None\n  reinvocationPolicy: IfNeeded")
    files = {**suites.FILES, "suites/hooks.yaml": f"{configuration}webhooks:\n{again}{hook.replace('change', 'other')}"}
    head = HEAD.replace("webhooks.yaml]", "hooks.yaml]")
    other = "other.example.com: {patch: [{op: add, path: /data/new, value: x}]}"
    script = f"webhooks: {{change.example.com: [{{warnings: [first]}}, {{warnings: [second]}}], {other}}}"
    expect = "expect: {warnings: [first, second], webhooks: [change.example.com, other.example.com, change.example.com]}"
    assert faults(f"{head}- {{name: a, {script}, {expect}}}", files) == {"a": []}
    single = f"webhooks: {{change.example.com: {{warnings: [always]}}, {other}}}, expect: {{warnings: [always]}}"
    assert faults(f"{head}- {{name: a, {single}}}", files) == {"a": []}


# ---------------------------------------------------------------- requests

POD = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {containers: [{name: c, image: i}]}}"
DEPLOYMENT = (
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shop}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, "
    "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}"
)
SCALE = "{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: d, namespace: shop}, spec: {replicas: 3}}"
EVICTION = "{apiVersion: policy/v1, kind: Eviction, metadata: {name: p, namespace: shop}}"
ANY = """
policies:
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicy
  metadata: {name: tells}
  spec:
    matchConstraints: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"]}]}
    validations:
    - expression: "false"
      messageExpression: >-
        request.operation + ' ' + request.kind.kind + ' ' + request.resource.resource + '/' + request.?subResource.orValue('')
        + ' ' + request.namespace + ' ' + request.userInfo.username + ' ' + request.userInfo.groups.join(',')
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicyBinding
  metadata: {name: tells}
  spec: {policyName: tells, validationActions: [Deny]}
cases:
"""


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (f"object: {POD}", "CREATE Pod pods/ shop admin system:masters,system:authenticated"),
        (f"object: {POD}, oldObject: {POD}", "UPDATE Pod pods/ shop admin system:masters,system:authenticated"),
        (f"oldObject: {POD}, operation: DELETE, user: {{name: alice, groups: [dev]}}", "DELETE Pod pods/ shop alice dev,system:authenticated"),
        (f"oldObject: {POD}, subresource: exec, options: {{command: [sh]}}", "CONNECT PodExecOptions pods/exec shop"),
        (f"object: {EVICTION}, oldObject: {POD}, subresource: eviction", "CREATE Eviction pods/eviction shop"),
        (f"object: {POD}, oldObject: {POD}, subresource: status", "UPDATE Pod pods/status shop"),
        (f"object: {SCALE}, oldObject: {DEPLOYMENT}, subresource: scale", "UPDATE Scale deployments/scale shop"),
        ("object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, namespace: there", "CREATE ConfigMap configmaps/ there"),
        ("object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", "CREATE ConfigMap configmaps/ default"),
        (f"object: {POD}, user: 'system:serviceaccount:shop:robot'",
         "system:serviceaccount:shop:robot system:serviceaccounts,system:serviceaccounts:shop,system:authenticated"),
    ],
)  # fmt: skip
def test_a_request_is_what_its_case_says(case: str, told: str) -> None:
    assert one(f"{case}, expect: {{denied: {{message: {{contains: '{told}'}}}}}}", ANY) == []


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("operation: UPDATE", "suites/settings.yaml:2:1: there is no configmap settings to UPDATE: give it as oldObject or as a fixture"),
        (f"object: {POD}, oldObject: {POD}, subresource: sclae", 'pods have no subresource "sclae": there is '),
        ("object: {apiVersion: example.com/v1, kind: Thing, metadata: {name: t}}", 'no matches for kind "Thing" in version "example.com/v1"'),
        ("object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: [b]}}", "metadata.namespace of type string"),
        (f"oldObject: {POD.replace('namespace: shop', 'namespace: {a: b}')}, operation: DELETE", "metadata.namespace of type string"),
        ("object: {apiVersion: v1, kind: ConfigMap, metadata: {name: [a]}}, operation: DELETE", "metadata.name of type string"),
        ("fixtures: [{apiVersion: v1, kind: Secret, metadata: {}}]", '"Secret": must have a name'),
        (f"oldObject: {POD}, operation: CONNECT", "nobody connects to pods: subresources to CONNECT to are pods/exec"),
    ],
)  # fmt: skip
def test_a_case_that_cannot_be_run_is_an_error(case: str, why: str) -> None:
    found = suites.judged(suites.read(f"{HEAD}- {{name: a, {case}, expect: admitted}}"))["a"]
    assert found.verdict == ERROR
    assert why in found.detail


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("x", "illegal base64 data at input byte 0"),
        ("{a: b}", "json: cannot unmarshal object into Go struct field AdmissionResponse.response.patch of type []uint8"),
        ("5", "json: cannot unmarshal number into Go struct field AdmissionResponse.response.patch of type []uint8"),
    ],
)
def test_a_response_that_is_none_fails_as_it_would_at_a_server(patch: str, why: str) -> None:
    script = f"webhooks: {{change.example.com: {{response: {{allowed: true, patchType: JSONPatch, patch: {patch}}}}}}}"
    told = f'failed calling webhook "change.example.com": failed to call webhook: {why}'
    assert one(f"{script}, expect: {{denied: {{by: change.example.com, message: {{contains: '{told}'}}}}}}") == []


def test_a_policy_that_cannot_be_registered_is_an_error_of_every_case_and_says_where() -> None:
    files = {
        **suites.FILES,
        "suites/mutating.yaml": suites.MUTATING.replace("reinvocationPolicy: Never", "reinvocationPolicy: Ever"),
    }
    found = suites.judged(suites.read(f"{HEAD}- {{name: a, expect: admitted}}\n- {{name: b, expect: denied}}", files))
    assert {j.verdict for j in found.values()} == {ERROR}
    assert found["a"].detail.startswith("suites/mutating.yaml:")
    assert "spec.reinvocationPolicy" in found["a"].detail


def test_a_mistake_of_ours_is_an_error_of_its_case_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Expected, outcome: Outcome) -> list[Fault]:
        raise LookupError("oops")

    text = f"{HEAD}- {{name: a, expect: admitted}}\n- {{name: b, operation: UPDATE, expect: admitted}}"
    monkeypatch.setattr(Expected, "faults", broken)
    found = suites.judged(suites.read(text))
    assert (found["a"].verdict, found["a"].detail) == (ERROR, "internal error: LookupError: oops")
    assert found["b"].detail.endswith("give it as oldObject or as a fixture")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab/.", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["data", "metadata", "name", "labels", "x"]), inner, max_size=3)
    ),
    max_leaves=10,
)
OBJECT = st.dictionaries(st.sampled_from(["data", "metadata", "spec", "binaryData", "apiVersion", "kind"]), JSON, max_size=3)
OPERATION = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "test", "x"]), "path": st.sampled_from(["/data/a", "", "x"])},
    optional={"value": JSON},
)
REQUEST = st.fixed_dictionaries(
    {
        "patch": OBJECT | st.lists(OPERATION, max_size=2),
        "expect": st.fixed_dictionaries(
            {"partial": OBJECT}, optional={"object": OBJECT, "patch": st.lists(OPERATION, max_size=2)}
        ),
    },
    optional={"oldObject": st.just("settings.yaml"), "fixtures": st.lists(OBJECT, max_size=1), "user": st.text("a:", max_size=4)},
)


@given(REQUEST)
def test_no_request_and_no_expectation_is_too_odd_to_be_judged(request_: dict[str, Any]) -> None:
    suite = {
        "policies": ["mutating.yaml", "validating.yaml"],
        "defaults": {"object": "settings.yaml"},
        "cases": [{"name": "a", **request_}],
    }
    try:
        read = suites.read(json.dumps(suite))
    except BadSuite:
        return
    assert "internal error" not in suites.judged(read)["a"].detail


# ---------------------------------------------------------------- each case alone


def test_no_case_sees_what_another_one_did() -> None:
    cases = ["expect: admitted", "expect: admitted", "oldObject: settings.yaml, expect: admitted", "expect: {unchanged: true}"]
    assert of(*cases) == {f"c{i}": [] for i in range(4)}


def test_fixtures_of_a_case_are_there_for_it_alone() -> None:
    policy = suites.VALIDATING.replace("levels", "others").replace("low", "extreme")
    files = {**suites.FILES, "suites/more.yaml": policy}
    text = f"""{HEAD}
- {{name: with, fixtures: [more.yaml], expect: {{denied: {{by: others}}}}}}
- {{name: without, expect: admitted}}
- {{name: again, fixtures: [more.yaml], expect: denied}}
"""
    assert faults(text, files) == {"with": [], "without": [], "again": []}


# ---------------------------------------------------------------- golden files


def test_a_golden_file_holds_the_whole_outcome_and_is_updated_on_request() -> None:
    text = f"{HEAD}- {{name: a, expect: {{golden: a.yaml}}}}"
    written = suites.judged(suites.read(text), Wish(update=True))["a"]
    assert (written.verdict, written.faults) == (PASSED, ())
    assert written.golden is not None
    assert "admitted: true\n" in written.golden
    same = {**suites.FILES, "suites/a.yaml": written.golden}
    assert suites.judged(suites.read(text, same))["a"] == Judged(PASSED)
    other = {**suites.FILES, "suites/a.yaml": written.golden.replace("level: low", "level: high")}
    failed = suites.judged(suites.read(text, other))["a"]
    assert (failed.verdict, failed.golden) == (FAILED, written.golden)
    assert "-    level: high" in failed.faults[0].diff
    assert "+    level: low" in failed.faults[0].diff


# ---------------------------------------------------------------- a whole run


def test_what_was_selected_and_not_run_is_told_and_spoils_the_run() -> None:
    planned = suites.planned(f"{HEAD}- {{name: a, expect: admitted}}\n- {{name: b, expect: admitted}}")
    run = running.Run(running.finished(planned, [Judged(PASSED), None], "stopped"))
    assert [r.verdict for r in run.results] == [PASSED, NOT_RUN]
    assert run.results[1].messages == ["stopped"]
    assert not run.good


def test_a_run_is_good_if_everything_passed_and_enough_is_covered() -> None:
    planned = suites.planned(f"{HEAD}- {{name: a, expect: admitted}}")
    results = running.finished(planned, [Judged(PASSED)], "")
    assert running.Run(results).good


def test_the_story_of_a_failure_is_told_on_request() -> None:
    suite = suites.read(f"{HEAD}- {{name: a, {BAD}, expect: admitted}}")
    assert suites.judged(suite)["a"].story == ""
    assert "levels" in suites.judged(suite, Wish(stories=True))["a"].story
