"""kubectl, unmodified, takes the server for the real one."""

import pytest
import yaml
from tests.clients.kubectl import Json, Kubectl


def configmap(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def deployment(name: str, *, replicas: int = 1) -> Json:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "nginx:1"}]}},
        },
    }


def pod(name: str, **metadata: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
    }


# ---------------------------------------------------------------- apply, diff, dry run


def test_apply_creates_then_leaves_alone_then_configures(kubectl: Kubectl) -> None:
    assert kubectl.apply(configmap("a", x="1"), deployment("web")) == "configmap/a created\ndeployment.apps/web created\n"
    assert kubectl.apply(configmap("a", x="1"), deployment("web")) == "configmap/a unchanged\ndeployment.apps/web unchanged\n"
    assert kubectl.apply(configmap("a", x="2"), deployment("web", replicas=2)) == (
        "configmap/a configured\ndeployment.apps/web configured\n"
    )
    assert kubectl.read("cm", "a")["data"] == {"x": "2"}


def test_apply_takes_away_what_was_applied_before_and_is_no_longer_there(kubectl: Kubectl) -> None:
    kubectl.apply(configmap("a", x="1", y="1"))
    kubectl.apply(configmap("a", x="1"))
    assert kubectl.read("cm", "a")["data"] == {"x": "1"}


def test_apply_on_the_server_side_tells_of_conflicts(kubectl: Kubectl) -> None:
    command = ("apply", "--server-side", "-f", "-")
    assert kubectl(*command, given=configmap("a", x="1")) == "configmap/a serverside-applied\n"
    refused = kubectl.fails(*command, "--field-manager=other", given=configmap("a", x="2"))
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .data.x' in refused
    assert kubectl(*command, "--field-manager=other", "--force-conflicts", given=configmap("a", x="2")) != ""
    assert kubectl.read("cm", "a")["data"] == {"x": "2"}


def test_a_dry_run_changes_nothing(kubectl: Kubectl) -> None:
    command = ("apply", "--dry-run=server", "-f", "-")
    assert kubectl(*command, given=configmap("a", x="1")) == "configmap/a created (server dry run)\n"
    assert 'configmaps "a" not found' in kubectl.fails("get", "cm", "a")
    kubectl.apply(configmap("a", x="1"))
    assert kubectl(*command, given=configmap("a", x="2")) == "configmap/a configured (server dry run)\n"
    assert kubectl.read("cm", "a")["data"] == {"x": "1"}


def test_diff_shows_what_an_apply_would_change(kubectl: Kubectl) -> None:
    kubectl.apply(configmap("a", x="1"))
    assert kubectl("diff", "-f", "-", given=configmap("a", x="1")) == ""
    changed = kubectl.ended("diff", "-f", "-", given=configmap("a", x="2"))
    assert changed.code == 1
    told = [line for line in changed.out.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert told == ['-  x: "1"', '+  x: "2"']


def test_a_list_of_many_kinds_is_applied_and_checked_by_kubectl(kubectl: Kubectl) -> None:
    """NB: kubectl checks the items of a list itself, against /openapi/v2 in protobuf."""
    many = {"apiVersion": "v1", "kind": "List", "items": [configmap("a", x="1"), deployment("web")]}
    assert kubectl("apply", "-f", "-", given=many) == "configmap/a created\ndeployment.apps/web created\n"
    many["items"][1]["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    refused = kubectl.fails("apply", "-f", "-", given=many)
    assert (
        'ValidationError(Deployment.spec.template.spec.containers[0]): unknown field "imagee" in io.k8s.api.core.v1.C' in refused
    )


def test_an_unknown_field_is_refused_by_its_path(kubectl: Kubectl) -> None:
    wrong = deployment("web")
    wrong["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    refused = kubectl.fails("apply", "-f", "-", given=wrong)
    assert 'strict decoding error: unknown field "spec.template.spec.containers[0].imagee"' in refused


def test_an_invalid_object_is_refused_with_all_its_faults(kubectl: Kubectl) -> None:
    wrong = deployment("web", replicas=-1)
    wrong["spec"]["template"]["spec"]["containers"][0]["name"] = "No"
    refused = kubectl.fails("apply", "-f", "-", given=wrong)
    assert 'The Deployment "web" is invalid:' in refused
    assert "* spec.replicas: Invalid value: -1: must be greater than or equal to 0" in refused
    assert '* spec.template.spec.containers[0].name: Invalid value: "No"' in refused


# ---------------------------------------------------------------- get, describe, explain


def test_get_wide_shows_the_columns_of_the_kind(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web"))
    header, row = kubectl("get", "deploy", "-o", "wide").splitlines()
    assert header.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    cells = row.split()
    assert cells[:4] == ["web", "0/1", "0", "0"]
    assert cells[5:] == ["main", "nginx:1", "app=web"]


def test_get_yaml_shows_the_object_with_its_defaults(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web"))
    shown = yaml.safe_load(kubectl("get", "deploy", "web", "-o", "yaml"))
    assert (shown["apiVersion"], shown["kind"], shown["metadata"]["generation"]) == ("apps/v1", "Deployment", 1)
    assert shown["spec"]["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    assert "managedFields" not in shown["metadata"]


def test_get_selects_by_label_and_by_field(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a", labels={"tier": "x"}), pod("b"))
    assert kubectl("get", "pod", "-l", "tier=x", "-o", "name") == "pod/a\n"
    assert kubectl("get", "pod", "-l", "tier!=x", "-o", "name") == "pod/b\n"
    assert kubectl("get", "pod", "--field-selector=metadata.name=b", "-o", "name") == "pod/b\n"


def test_get_reads_long_lists_in_pages(kubectl: Kubectl) -> None:
    names = [f"c-{number}" for number in range(5)]
    kubectl.apply(*(configmap(name) for name in names))
    assert kubectl("get", "cm", "--chunk-size=2", "-o", "name").split() == [f"configmap/{name}" for name in names]


def test_get_follows_changes(kubectl: Kubectl) -> None:
    kubectl.apply(configmap("a"))
    with kubectl.following("get", "cm", "-w", "--output-watch-events", "--no-headers") as lines:
        assert lines.next().split()[:3] == ["ADDED", "a", "0"]
        kubectl.apply(configmap("b", x="1"))
        assert lines.next().split()[:3] == ["ADDED", "b", "1"]
        kubectl("patch", "cm", "b", "--type=merge", "-p", '{"data":{"y":"1"}}')
        assert lines.next().split()[:3] == ["MODIFIED", "b", "2"]
        kubectl("delete", "cm", "a")
        assert lines.next().split()[:3] == ["DELETED", "a", "0"]


def test_describe_tells_of_an_object(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", replicas=2))
    told = dict(line.split(":", 1) for line in kubectl("describe", "deploy", "web").splitlines() if ":" in line)
    assert told["Name"].strip() == "web"
    assert told["Selector"].strip() == "app=web"
    assert told["Replicas"].strip() == "2 desired | 0 updated | 0 total | 0 available | 0 unavailable"
    assert told["Events"].strip() == "<none>"


@pytest.mark.parametrize(("kind", "name"), [("namespace", "default"), ("clusterrole", "cluster-admin")])
def test_describe_knows_objects_that_every_server_has(admin: Kubectl, kind: str, name: str) -> None:
    assert admin("describe", kind, name).split()[:2] == ["Name:", name]


def test_explain_names_fields_and_types(kubectl: Kubectl) -> None:
    told = kubectl("explain", "deployment.spec.template.spec.containers")
    assert told.startswith("GROUP:      apps\nKIND:       Deployment\nVERSION:    v1\n\nFIELD: containers <[]Container>")
    assert "  image\t<string>" in told
    assert "  resources\t<ResourceRequirements>" in told


def test_explain_reads_the_old_documents_too(kubectl: Kubectl) -> None:
    told = kubectl("explain", "deployment.spec.template.spec.containers", "--output=plaintext-openapiv2")
    assert "RESOURCE: containers <[]Object>" in told
    assert "   image\t<string>" in told


def test_api_resources_lists_what_is_served(kubectl: Kubectl) -> None:
    rows = {tuple(row.split()) for row in kubectl("api-resources", "--no-headers").splitlines()}
    assert ("configmaps", "cm", "v1", "true", "ConfigMap") in rows
    assert ("deployments", "deploy", "apps/v1", "true", "Deployment") in rows
    admission = {row[0] for row in rows if "admissionregistration.k8s.io/v1" in row}
    assert admission == {
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    }


# ---------------------------------------------------------------- patch, scale, label, delete


@pytest.mark.parametrize(
    ("how", "patch", "images"),
    [
        ("json", '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:2"}]', ["nginx:2"]),
        ("merge", '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:3"}]}}}}', ["nginx:3"]),
        ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}', ["s", "nginx:1"]),
    ],
)
def test_patch_of_each_type(kubectl: Kubectl, how: str, patch: str, images: list[str]) -> None:
    kubectl.apply(deployment("web"))
    assert kubectl("patch", "deploy", "web", f"--type={how}", "-p", patch) == "deployment.apps/web patched\n"
    live = kubectl.read("deploy", "web")
    assert [each["image"] for each in live["spec"]["template"]["spec"]["containers"]] == images


def test_scale(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web"))
    assert kubectl("scale", "deploy/web", "--replicas=3") == "deployment.apps/web scaled\n"
    assert kubectl.read("deploy", "web")["spec"]["replicas"] == 3
    refused = kubectl.fails("scale", "deploy/web", "--current-replicas=7", "--replicas=1")
    assert "Expected replicas to be 7, was 3" in refused


def test_label_and_annotate(kubectl: Kubectl) -> None:
    kubectl.apply(configmap("a"))
    assert kubectl("label", "cm", "a", "tier=x") == "configmap/a labeled\n"
    assert kubectl("annotate", "cm", "a", "note=y") == "configmap/a annotated\n"
    metadata = kubectl.read("cm", "a")["metadata"]
    assert (metadata["labels"], metadata["annotations"]["note"]) == ({"tier": "x"}, "y")
    assert kubectl("label", "cm", "a", "tier-") == "configmap/a unlabeled\n"
    assert "labels" not in kubectl.read("cm", "a")["metadata"]


def test_set_image_and_replace(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web"))
    assert kubectl("set", "image", "deploy/web", "main=nginx:9") == "deployment.apps/web image updated\n"
    assert kubectl("replace", "-f", "-", given=deployment("web", replicas=4)) == "deployment.apps/web replaced\n"
    assert kubectl.read("deploy", "web")["spec"]["replicas"] == 4


def test_delete_and_wait_until_it_is_gone(kubectl: Kubectl) -> None:
    kubectl.apply(configmap("a"), configmap("b"))
    with kubectl.following("wait", "--for=delete", "cm/a", "--timeout=20s") as lines:
        assert kubectl("delete", "cm", "a") == f'configmap "a" deleted from {kubectl.namespace} namespace\n'
        lines.end()
    assert kubectl("delete", "cm", "--all").splitlines()[0].startswith('configmap "b" deleted')
    assert 'configmaps "b" not found' in kubectl.fails("delete", "cm", "b")


# ---------------------------------------------------------------- what typed clients send


def test_create_of_many_kinds(kubectl: Kubectl) -> None:
    """NB: these commands build their objects in Go and send them as protobuf."""
    for command, made in [
        ("configmap a --from-literal=x=1", "configmap/a created\n"),
        ("secret generic s --from-literal=x=1", "secret/s created\n"),
        ("serviceaccount robot", "serviceaccount/robot created\n"),
        ("deployment web --image=nginx:1 --replicas=2", "deployment.apps/web created\n"),
        ("service clusterip web --tcp=80:http", "service/web created\n"),
        ("job once --image=nginx:1", "job.batch/once created\n"),
        ("cronjob often --image=nginx:1 --schedule=@hourly", "cronjob.batch/often created\n"),
        ("quota q --hard=pods=2,cpu=500m", "resourcequota/q created\n"),
        ("role reader --verb=get,list --resource=pods", "role.rbac.authorization.k8s.io/reader created\n"),
        ("rolebinding readers --role=reader --user=ann", "rolebinding.rbac.authorization.k8s.io/readers created\n"),
        ("ingress in --rule=a.test/*=web:80", "ingress.networking.k8s.io/in created\n"),
        ("poddisruptionbudget p --selector=a=b --min-available=1", "poddisruptionbudget.policy/p created\n"),
    ]:
        assert kubectl("create", *command.split()) == made
    assert kubectl.read("cm", "a")["data"] == {"x": "1"}
    assert kubectl.read("secret", "s")["data"] == {"x": "MQ=="}
    assert kubectl.read("quota", "q")["spec"] == {"hard": {"cpu": "500m", "pods": "2"}}
    assert kubectl.read("service", "web")["spec"]["ports"] == [
        {"name": "80-http", "port": 80, "protocol": "TCP", "targetPort": "http"}
    ]
    assert kubectl.read("pdb", "p")["spec"] == {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    assert kubectl.read("deploy", "web")["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1"


def test_create_namespace(kubectl: Kubectl) -> None:
    name = f"{kubectl.namespace}-more"
    assert kubectl("create", "namespace", name) == f"namespace/{name} created\n"
    assert f'namespaces "{name}" already exists' in kubectl.fails("create", "namespace", name)
    assert kubectl.read("namespace", name)["status"] == {"phase": "Active"}


def test_auth_can_i(kubectl: Kubectl) -> None:
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
    kubectl("create", "rolebinding", "readers", "--role=reader", "--user=ann")
    assert kubectl("auth", "can-i", "delete", "pods") == "yes\n"
    assert kubectl("auth", "can-i", "list", "pods", "--as=ann") == "yes\n"
    assert kubectl.ended("auth", "can-i", "delete", "pods", "--as=ann").out == "no\n"
    assert 'pods "a" is forbidden: User "ann" cannot delete' in kubectl.fails("delete", "pod", "a", "--as=ann")


def test_auth_whoami_and_the_list_of_what_one_may_do(kubectl: Kubectl) -> None:
    assert kubectl.ended("auth", "whoami", "-o", "jsonpath={.status.userInfo.groups}").out.startswith('["')
    assert "*.*" in kubectl("auth", "can-i", "--list", "--no-headers")


# ---------------------------------------------------------------- admission


def bound(policy: Json, **binding: Json) -> tuple[Json, Json]:
    """A policy with a binding of its own."""
    name = policy["metadata"]["name"]
    spec = {"policyName": name, **binding}
    return policy, {
        "apiVersion": policy["apiVersion"],
        "kind": f"{policy['kind']}Binding",
        "metadata": {"name": name},
        "spec": spec,
    }


def configmaps_of(namespace: str) -> Json:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    return {"resourceRules": [rule], "namespaceSelector": selector}


def validating(kubectl: Kubectl, expression: str, message: str) -> Json:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": kubectl.namespace},
        "spec": {
            "matchConstraints": configmaps_of(kubectl.namespace),
            "validations": [{"expression": expression, "message": message}],
        },
    }


def test_a_policy_denies_and_kubectl_says_why(kubectl: Kubectl) -> None:
    name = kubectl.namespace
    kubectl.apply(*bound(validating(kubectl, "'owner' in object.data", "who owns it?"), validationActions=["Deny"]))
    refused = kubectl.fails("apply", "-f", "-", given=configmap("a", x="1"))
    reason = f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: who owns it?"
    assert refused == f'The configmaps "a" is invalid: : {reason}\n'
    assert reason in kubectl.fails("apply", "--dry-run=server", "-f", "-", given=configmap("a", x="1"))
    assert kubectl.apply(configmap("a", owner="ann")) == "configmap/a created\n"


def test_a_policy_warns_and_kubectl_passes_it_on(kubectl: Kubectl) -> None:
    name = kubectl.namespace
    kubectl.apply(*bound(validating(kubectl, "'owner' in object.data", "who owns it?"), validationActions=["Warn"]))
    ended = kubectl.ended("apply", "-f", "-", given=configmap("a", x="1"))
    assert (ended.code, ended.out) == (0, "configmap/a created\n")
    assert ended.err == (
        f"Warning: Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': who owns it?\n"
    )


def test_a_policy_mutates_what_kubectl_creates(kubectl: Kubectl) -> None:
    expression = "Object{metadata: Object.metadata{labels: {'team': 'blue'}}}"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": kubectl.namespace},
        "spec": {
            "matchConstraints": configmaps_of(kubectl.namespace),
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
        },
    }
    kubectl.apply(*bound(policy))
    kubectl.apply(configmap("a", x="1"))
    assert kubectl.read("cm", "a")["metadata"]["labels"] == {"team": "blue"}
    told = kubectl.ended("diff", "-f", "-", given=configmap("b")).out
    assert "+    team: blue" in told


def test_a_custom_kind_is_served_once_it_is_defined(kubectl: Kubectl, widgets: str) -> None:
    group = widgets
    widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 2}}
    assert kubectl.apply(widget) == f"widget.{group}/w created\n"
    assert [cell.split() for cell in kubectl("get", f"widgets.{group}").splitlines()][1][:2] == ["w", "2"]
    refused = kubectl.fails("apply", "-f", "-", given={**widget, "spec": {"size": 0}})
    assert "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1" in refused
    assert "  size\t<integer>" in kubectl("explain", "widgets.spec", f"--api-version={group}/v1")
