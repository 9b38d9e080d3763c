"""kadmit admit as users call it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from kadmit.cli import main
from kadmit.testing import Serve

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

MUTATING = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}}]
  reinvocationPolicy: Never
  mutations:
  - patchType: JSONPatch
    jsonPatch: {{expression: '{expression}'}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: {name}-binding}}
spec: {{policyName: {name}}}
---
"""
VALIDATING = """
apiVersion: admissionregistration.k8s.io/{version}
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  {spec}
  matchConstraints:
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}}]
  validations: [{{expression: "{expression}", message: {message}}}]
---
apiVersion: admissionregistration.k8s.io/{version}
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}-binding}}
spec: {{policyName: {name}, validationActions: {actions}{binding}}}
---
"""
WEBHOOK = """
apiVersion: admissionregistration.k8s.io/v1
kind: {kind}WebhookConfiguration
metadata: {{name: hooks}}
webhooks:
- name: hook.example.com
  clientConfig: {{url: "https://127.0.0.1:1/hook"}}
  admissionReviewVersions: [v1]
  sideEffects: None
  rules: [{{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}}]
---
"""
CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: prod}
data: {level: low}
"""


def mutating(expression: str, name: str = "change") -> str:
    return MUTATING.format(name=name, expression=expression)


def validating(expression: str, *, actions: str = "[Deny]", spec: str = "", binding: str = "", version: str = "v1") -> str:
    filled = {"name": "judge", "message": "no way", "spec": spec, "binding": binding, "version": version}
    return VALIDATING.format(expression=expression, actions=actions, **filled)


LABELLED = mutating('[JSONPatch{op: "add", path: "/metadata/labels", value: {"team": "a"}}]')


class Folder:
    """Files, and the command on them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> str:
        (self.path / name).write_text(text)
        return str(self.path / name)

    def admit(self, policies: str, resources: str, *arguments: str) -> Result:
        around = ["-f", self.write("policies.yaml", policies)] if policies else []
        return CliRunner().invoke(main, ["admit", *around, self.write("resources.yaml", resources), *arguments])

    def results(self, policies: str, resources: str, *arguments: str) -> list[dict[str, Any]]:
        answer = json.loads(self.admit(policies, resources, *arguments, "-o", "json").stdout)
        found: list[dict[str, Any]] = answer["results"]
        return found

    def result(self, policies: str, resources: str, *arguments: str) -> dict[str, Any]:
        (found,) = self.results(policies, resources, *arguments)
        return found


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def did(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(step["name"], step["did"], step.get("detail", "")) for step in result["steps"]]


# ---------------------------------------------------------------- what comes out


def test_an_admitted_object_comes_out_as_yaml_and_the_rest_beside_it(folder: Folder) -> None:
    run = folder.admit(LABELLED, CONFIG_MAP)
    assert run.exit_code == 0
    assert yaml.safe_load(run.stdout) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "prod", "labels": {"team": "a"}},
        "data": {"level": "low"},
    }
    assert run.stderr.splitlines() == [
        "configmap/settings in prod: CREATE admitted, changed",
        "  MutatingAdmissionPolicy change (binding change-binding): changed: added metadata.labels",
    ]


def test_several_objects_come_out_as_several_documents(folder: Folder) -> None:
    run = folder.admit("", CONFIG_MAP + "---" + CONFIG_MAP.replace("settings", "other"))
    assert [made["metadata"]["name"] for made in yaml.safe_load_all(run.stdout)] == ["settings", "other"]


def test_a_diff_shows_what_admission_changed_and_not_defaults(folder: Folder) -> None:
    run = folder.admit(LABELLED, CONFIG_MAP, "-o", "diff")
    assert run.stdout.splitlines() == [
        "--- configmap/settings as sent",
        "+++ configmap/settings as admitted",
        "@@ -3,5 +3,7 @@",
        "   level: low",
        " kind: ConfigMap",
        " metadata:",
        "+  labels:",
        "+    team: a",
        "   name: settings",
        "   namespace: prod",
    ]


def test_a_diff_has_colours_when_asked(folder: Folder) -> None:
    lines = folder.admit(LABELLED, CONFIG_MAP, "-o", "diff", "--color", "always").stdout.splitlines()
    assert lines[0] == "\x1b[1m--- configmap/settings as sent\x1b[0m"
    assert lines[2] == "\x1b[36m@@ -3,5 +3,7 @@\x1b[0m"
    assert lines[6] == "\x1b[32m+  labels:\x1b[0m"
    assert lines[5] == " metadata:"


def test_nothing_changed_is_an_empty_diff(folder: Folder) -> None:
    assert folder.admit("", CONFIG_MAP, "-o", "diff").stdout == ""


def test_the_sidecar_example_gets_its_container() -> None:
    files = [str(EXAMPLES / "sidecar-policy.yaml"), str(EXAMPLES / "pod.yaml")]
    run = CliRunner().invoke(main, ["admit", "-f", *files])
    assert [c["name"] for c in yaml.safe_load(run.stdout)["spec"]["initContainers"]] == ["mesh-proxy"]


# ---------------------------------------------------------------- denials


def test_a_denied_object_does_not_come_out(folder: Folder) -> None:
    run = folder.admit(validating("object.data.level == 'high'"), CONFIG_MAP)
    assert (run.exit_code, run.stdout) == (1, "")
    told = "ValidatingAdmissionPolicy 'judge' with binding 'judge-binding' denied request: no way"
    assert run.stderr.splitlines() == [
        "configmap/settings in prod: CREATE denied (422 Invalid)",
        f'  configmaps "settings" is forbidden: {told}',
        "  ValidatingAdmissionPolicy judge (binding judge-binding): denied: no way",
    ]


def test_one_denial_among_many_is_a_denial(folder: Folder) -> None:
    other = CONFIG_MAP.replace("settings", "other").replace("low", "high")
    run = folder.admit(validating("object.data.level == 'high'"), CONFIG_MAP + "---" + other)
    assert run.exit_code == 1
    assert yaml.safe_load(run.stdout)["metadata"]["name"] == "other"


def test_an_object_that_its_kind_does_not_allow_is_denied(folder: Folder) -> None:
    result = folder.result("", CONFIG_MAP.replace("level", "'a/b'"))
    assert not result["allowed"]
    assert result["status"]["reason"] == "Invalid"


def test_a_pod_may_be_privileged_unless_a_policy_says_no(folder: Folder) -> None:
    """As in the clusters that people have, whose server is started so."""
    container = "{name: c, image: i, securityContext: {privileged: true}}"
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{container}]}}\n"
    assert folder.admit("", pod).exit_code == 0


def test_warnings_and_audit_annotations_are_told(folder: Folder) -> None:
    policies = validating(
        "object.data.level == 'high'",
        actions="[Warn]",
        spec="auditAnnotations: [{key: level, valueExpression: string(object.data.level)}]",
    )
    result = folder.result(policies, CONFIG_MAP)
    warning = "Validation failed for ValidatingAdmissionPolicy 'judge' with binding 'judge-binding': no way"
    assert (result["allowed"], result["warnings"]) == (True, [warning])
    assert result["auditAnnotations"] == {"judge/level": "low"}
    assert did(result) == [("judge", "warned", "no way")]
    stderr = folder.admit(policies, CONFIG_MAP).stderr
    assert f"  warning: {warning}\n" in stderr
    assert "  audit annotation judge/level: low\n" in stderr


def test_unknown_and_repeated_fields_are_warned_of(folder: Folder) -> None:
    result = folder.result("", CONFIG_MAP + "dota: {}\ndata: {}\n")
    assert result["warnings"] == ['line 7: key "data" already set in map', 'unknown field "dota"']


def test_fields_that_json_repeats_are_warned_of(folder: Folder) -> None:
    result = folder.result("", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"settings"}}')
    assert result["object"]["metadata"]["name"] == "settings"
    assert result["warnings"] == ['duplicate field "metadata.name"']


# ---------------------------------------------------------------- explanations


def test_a_summary_says_what_every_policy_did(folder: Folder) -> None:
    unbound = LABELLED.split("---")[0].replace("name: change", "name: unbound") + "---\n"
    elsewhere = mutating("[JSONPatch{}]", "elsewhere").replace("configmaps", "pods")
    run = folder.admit(LABELLED + unbound + elsewhere + validating("true"), CONFIG_MAP, "-o", "summary")
    assert run.stdout.splitlines() == [
        "configmap/settings in prod: CREATE admitted, changed",
        "  MutatingAdmissionPolicy change (binding change-binding): changed: added metadata.labels",
        "  ValidatingAdmissionPolicy judge (binding judge-binding): allowed",
        "  MutatingAdmissionPolicy elsewhere: skipped: the request does not match",
        "  MutatingAdmissionPolicy unbound: skipped: no binding names it",
    ]


def test_a_match_condition_that_is_false_is_named(folder: Folder) -> None:
    conditions = "matchConditions: [{name: never, expression: 'false'}]\n  reinvocationPolicy"
    result = folder.result(LABELLED.replace("reinvocationPolicy", conditions), CONFIG_MAP)
    assert did(result) == [("change", "skipped", 'match condition "never" is false')]


def test_a_change_comes_with_its_patch(folder: Folder) -> None:
    (step,) = folder.result(LABELLED, CONFIG_MAP)["steps"]
    assert step["patch"] == [{"op": "add", "path": "/metadata/labels", "value": {"team": "a"}}]


def test_a_failed_mutation_is_explained_even_if_it_is_ignored(folder: Folder) -> None:
    policies = mutating('[JSONPatch{op: "remove", path: "/nothing"}]').replace("reinv", "failurePolicy: Ignore\n  reinv")
    result = folder.result(policies, CONFIG_MAP)
    assert result["allowed"]
    assert [(name, what) for name, what, _ in did(result)] == [("change", "failed")]


# ---------------------------------------------------------------- requests

SAME_LEVEL = "oldObject == null || object == null || oldObject.data.level == object.data.level"


def test_an_old_object_makes_an_update(folder: Folder) -> None:
    old = folder.write("old.yaml", CONFIG_MAP.replace("low", "high"))
    result = folder.result(validating(SAME_LEVEL), CONFIG_MAP, "--old-object", old)
    assert (result["operation"], result["allowed"]) == ("UPDATE", False)


def test_an_old_object_of_another_name_does_not_count(folder: Folder) -> None:
    old = folder.write("old.yaml", CONFIG_MAP.replace("settings", "other"))
    assert folder.result("", CONFIG_MAP, "--old-object", old)["operation"] == "CREATE"


def test_an_update_without_an_old_object_is_bad_input(folder: Folder) -> None:
    run = folder.admit("", CONFIG_MAP, "--operation", "UPDATE")
    assert run.exit_code == 2
    assert (
        run.stderr
        == f"kadmit admit: {folder.path}/resources.yaml:2:1: there is no old object to UPDATE: give it with --old-object\n"
    )


def test_a_delete_shows_policies_the_object_that_goes(folder: Folder) -> None:
    policies = validating("request.operation != 'DELETE' || oldObject.data.level != 'low'")
    result = folder.result(policies, CONFIG_MAP, "--operation", "DELETE")
    assert (result["operation"], result["allowed"]) == ("DELETE", False)
    assert folder.admit("", CONFIG_MAP, "--operation", "DELETE").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "groups"),
    [
        ((), ["system:masters", "system:authenticated"]),
        (("--as", "alice"), ["system:authenticated"]),
        (("--as", "alice", "--as-group", "a", "--as-group", "b"), ["a", "b", "system:authenticated"]),
        (
            ("--as", "system:serviceaccount:ci:bot"),
            ["system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"],
        ),
    ],
)
def test_policies_see_who_asks(folder: Folder, arguments: tuple[str, ...], groups: list[str]) -> None:
    policies = mutating('[JSONPatch{op: "add", path: "/data/groups", value: request.userInfo.groups.join(",")}]')
    assert folder.result(policies, CONFIG_MAP, *arguments)["object"]["data"]["groups"] == ",".join(groups)


ROLES = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: prod}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: r, namespace: prod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
---
"""


@pytest.mark.parametrize(("user", "allowed"), [("alice", True), ("bob", False)])
def test_the_authorizer_knows_the_roles_of_the_files(folder: Folder, user: str, allowed: bool) -> None:
    policies = ROLES + validating("authorizer.group('').resource('pods').namespace('prod').check('get').allowed()")
    assert folder.result(policies, CONFIG_MAP, "--as", user)["allowed"] is allowed


# ---------------------------------------------------------------- surroundings


def test_params_of_a_custom_kind_come_from_the_files(folder: Folder) -> None:
    definition = """
apiVersion: example.com/v1
kind: Rule
metadata: {name: rule, namespace: prod}
wanted: low
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rules.example.com}
spec:
  group: example.com
  names: {kind: Rule, plural: rules}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {wanted: {type: string}}}}
---
"""
    kind, ref = "paramKind: {apiVersion: example.com/v1, kind: Rule}", ", paramRef: {name: rule, parameterNotFoundAction: Deny}"
    policies = definition + validating("object.data.level == params.wanted", spec=kind, binding=ref)
    assert folder.result(policies, CONFIG_MAP)["allowed"]
    assert not folder.result(policies, CONFIG_MAP.replace("low", "high"))["allowed"]


def test_a_namespace_comes_from_the_files_or_is_made_up(folder: Folder) -> None:
    policies = validating("'tier' in namespaceObject.metadata.labels")
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {tier: one}}\n---\n"
    assert not folder.result(policies, CONFIG_MAP)["allowed"]
    assert folder.result(policies + namespace, CONFIG_MAP)["allowed"]


def test_what_is_admitted_is_there_for_those_after_it(folder: Folder) -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {tier: one}}\n"
    results = folder.results(validating("'tier' in namespaceObject.metadata.labels"), CONFIG_MAP + "---\n" + namespace)
    assert [(r["resource"], r["allowed"]) for r in results] == [("namespace", True), ("configmap", True)]


def test_a_list_is_all_its_items(folder: Folder) -> None:
    items = [yaml.safe_load(CONFIG_MAP), yaml.safe_load(CONFIG_MAP.replace("settings", "other"))]
    results = folder.results("", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert [r["name"] for r in results] == ["settings", "other"]


def test_policies_of_versions_that_are_no_longer_served_count_too(folder: Folder) -> None:
    assert not folder.result(validating("false", version="v1beta1"), CONFIG_MAP)["allowed"]


def test_an_object_as_a_server_gave_it_can_be_sent_again(folder: Folder) -> None:
    dumped = CONFIG_MAP.replace("namespace: prod", 'namespace: prod, resourceVersion: "7", uid: abc')
    result = folder.result("", dumped)
    assert (result["allowed"], result["changed"]) == (True, False)
    assert folder.result("", dumped, "--old-object", folder.write("old.yaml", dumped))["allowed"]


# ---------------------------------------------------------------- webhooks


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
def test_webhooks_are_named_as_not_called(folder: Folder, kind: str) -> None:
    result = folder.result(WEBHOOK.format(kind=kind), CONFIG_MAP)
    assert (result["allowed"], result["auditAnnotations"]) == (True, {})
    assert did(result) == [("hook.example.com", "not called", "taken to allow the request")]
    assert result["steps"][0]["kind"] == f"{kind}WebhookConfiguration"
    assert "hook.example.com: not called" in folder.admit(WEBHOOK.format(kind=kind), CONFIG_MAP).stderr


def test_webhooks_are_called_when_asked(folder: Folder) -> None:
    """Nobody listens there: that is the answer of a call that was made."""
    result = folder.result(WEBHOOK.format(kind="Mutating"), CONFIG_MAP, "--call-webhooks")
    assert not result["allowed"]
    assert result["status"]["message"].startswith('Internal error occurred: failed calling webhook "hook.example.com": failed to')


def _labelling(request: dict[str, Any]) -> dict[str, Any]:
    """A webhook that labels what it sees, and says whether it was a dry run."""
    patch = [{"op": "add", "path": "/metadata/labels", "value": {"hooked": str(request["dryRun"])}}]
    return {"patch": patch, "warnings": ["seen"]}


@pytest.fixture
def webhook(kadmit_webhook: Serve) -> str:
    """The registration of a webhook that is there."""
    hook = kadmit_webhook({"/hook": _labelling})
    return WEBHOOK.format(kind="Mutating").replace('{url: "https://127.0.0.1:1/hook"}', json.dumps(hook.client_config("/hook")))


def test_a_webhook_that_is_called_changes_the_object_in_a_dry_run(folder: Folder, webhook: str) -> None:
    results = folder.results(webhook, CONFIG_MAP + "---" + CONFIG_MAP.replace("settings", "other"), "--call-webhooks")
    assert [r["object"]["metadata"]["labels"] for r in results] == [{"hooked": "True"}] * 2
    assert did(results[0]) == [("hook.example.com", "allowed", ""), ("hook.example.com", "changed", "added metadata.labels")]
    assert results[0]["warnings"] == ["seen"]
    assert "mutation.webhook.admission.k8s.io/round_0_index_0" in results[0]["auditAnnotations"]


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("policies", "resources", "told"),
    [
        ("", "a: [", "resources.yaml:1:5: yaml: line 1: did not find expected node content"),
        ("", "- a", "resources.yaml:1:1: must be an object, is a list"),
        ("", "kind: Pod", 'resources.yaml:1:1: no matches for kind "Pod" in version ""'),
        ("", "apiVersion: v1", 'resources.yaml:1:1: no matches for kind "" in version "v1"'),
        ("", "\n\napiVersion: v1\nkind: Pot", 'resources.yaml:3:1: no matches for kind "Pot" in version "v1"'),
        ("", CONFIG_MAP.replace("low", "[1]"), "resources.yaml:5:1: json: cannot unmarshal array into Go struct field"),
        (validating("objct"), CONFIG_MAP, "policies.yaml:9:31: ValidatingAdmissionPolicy.admissionregistration.k8s.io"),
    ],
)
def test_bad_input_is_told_with_its_file(folder: Folder, policies: str, resources: str, told: str) -> None:
    run = folder.admit(policies, resources)
    assert run.exit_code == 2
    assert run.stderr.startswith(f"kadmit admit: {folder.path}/{told}")
    assert run.stdout == ""


def test_a_file_that_is_not_there_is_bad_input() -> None:
    run = CliRunner().invoke(main, ["admit", "nowhere.yaml"])
    assert (run.exit_code, run.stderr) == (2, "kadmit admit: nowhere.yaml: No such file or directory\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give at least one file with RESOURCES"),
        (["-f", "-", "-"], "standard input can be read once: give all but one as files"),
        (["--as-group", "a", "x.yaml"], "--as-group: needs --as"),
    ],
)
def test_arguments_that_make_no_sense_are_bad_input(arguments: list[str], told: str) -> None:
    run = CliRunner().invoke(main, ["admit", *arguments])
    assert (run.exit_code, run.stderr) == (2, f"kadmit admit: {told}\n")


def test_a_folder_is_all_its_yaml_and_json(folder: Folder) -> None:
    folder.write("a.yaml", LABELLED)
    folder.write("notes.txt", "not: [yaml")
    run = CliRunner().invoke(main, ["admit", "-f", str(folder.path), "-"], input=CONFIG_MAP)
    assert run.exit_code == 0
    assert yaml.safe_load(run.stdout)["metadata"]["labels"] == {"team": "a"}
