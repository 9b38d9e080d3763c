"""Discovery, compared with what kube-apiserver v1.36.4 answered."""

from typing import Any

import pytest
from tests.presentation import recorded

from kadmit.kinds import catalog
from kadmit.presentation import media, runtimeconfig
from kadmit.presentation.discovery import Discovery

CASES = [
    "kinds-discovery/aggregated",
    "kinds-discovery/api-versions",
    "kinds-discovery/custom-group",
    "registration-versions/discovery-aggregated",
    "registration-versions/discovery-group",
    "registration-versions/discovery-resources",
]
UNRECORDED = frozenset({"storageVersionHash"})


def answer(discovery: Discovery, path: str, accept: str) -> Any:
    parts = path.strip("/").split("/")
    if len(parts) == 1 and media.wants_aggregated_discovery(accept):
        return (discovery.aggregated_core if parts == ["api"] else discovery.aggregated).document
    match parts:
        case ["api"]:
            return discovery.versions()
        case ["api", version]:
            return discovery.resources("", version)
        case ["apis"]:
            return discovery.groups()
        case ["apis", group]:
            return discovery.group(group)
        case ["apis", group, version]:
            return discovery.resources(group, version)
    raise AssertionError(path)


@pytest.mark.parametrize("case", CASES)
def test_documents_are_those_that_were_recorded(case: str) -> None:
    discovery = Discovery(catalog.builtin().with_crds(recorded.given(case)))
    for step, expected in recorded.steps(case):
        if expected["status"] != 200:
            continue
        made = answer(discovery, step["send"]["path"], step.get("accept", ""))
        found = recorded.picked(made, step["pick"]) if "pick" in step else made
        assert recorded.without(found, UNRECORDED) == expected["body"], step


def test_what_is_not_served_has_no_document() -> None:
    discovery = Discovery(catalog.builtin().with_crds(recorded.given("kinds-discovery/custom-group")))
    assert discovery.resources("kinds-u.example.com", "v3") is None
    assert discovery.group("nosuch.example.com") is None
    assert discovery.group("") is None


def test_documents_of_the_core_group_have_no_api_version() -> None:
    discovery = Discovery(catalog.builtin())
    assert "apiVersion" not in (discovery.resources("", "v1") or {})
    assert (discovery.resources("apps", "v1") or {})["apiVersion"] == "v1"


def test_the_etag_is_that_of_kubernetes() -> None:
    assert Discovery(catalog.builtin()).aggregated_core.etag == (
        '"4D7E1BED90B364BC86049DD9E636494980AEF65B7F8CFAA267616FA062B514A8'
        'A3CC2C2851CC9337B8D28B4C80960E2353DE5E0B152E87CC223E02EA3C5C37AC"'
    )


@pytest.mark.parametrize(
    ("group", "plural", "expected"),
    [
        ("", "configmaps", "qFsyl6wFWjQ="),
        ("", "bindings", None),
        ("presentation.example.com", "presents", "DbvjsKSyLvs="),
    ],
)
def test_storage_versions_are_hashed(group: str, plural: str, expected: str | None) -> None:
    presents = {
        "group": "presentation.example.com",
        "names": {"plural": "presents", "kind": "Present"},
        "versions": [{"name": "v1", "served": True}],
    }
    served = catalog.builtin().with_crds([{"spec": presents}])
    discovery = Discovery(served, storage_versions={("presentation.example.com", "presents"): "v1"})
    row = recorded.picked(discovery.resources(group, "v1"), f"resources[name={plural}]")
    assert row.get("storageVersionHash") == expected


def test_custom_groups_come_last_and_by_name() -> None:
    definitions = [
        {"spec": {"group": group, "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": True}]}}
        for group in ("z.example.com", "a.example.com")
    ]
    groups = [group["name"] for group in Discovery(catalog.builtin().with_crds(definitions)).groups()["groups"]]
    assert groups[0] == "apiregistration.k8s.io"
    assert groups[-2:] == ["a.example.com", "z.example.com"]


REGISTRATION = "admissionregistration.k8s.io"


@pytest.mark.parametrize(
    ("flag", "versions"),
    [
        ("", ["v1"]),
        (f"{REGISTRATION}/v1beta1=true", ["v1", "v1beta1"]),
        ("api/beta=true", ["v1", "v1beta1"]),
        ("api/all=true", ["v1", "v1beta1", "v1alpha1"]),
        (f"api/all=true,{REGISTRATION}/v1alpha1=false", ["v1", "v1beta1"]),
        (f"api/all=false,{REGISTRATION}/v1", ["v1"]),
    ],
)
def test_runtime_config_tells_which_versions_are_served(flag: str, versions: list[str]) -> None:
    config = runtimeconfig.parse(flag, catalog.builtin())
    group = Discovery(config.applied(catalog.builtin())).group(REGISTRATION) or {}
    assert [version["version"] for version in group["versions"]] == versions


@pytest.mark.parametrize(
    ("flag", "message"),
    [("nosuch.io/v1=true", "unknown api groups nosuch.io"), ("api/all=maybe", "invalid value of runtime-config api/all=maybe")],
)
def test_runtime_config_that_makes_no_sense_is_refused(flag: str, message: str) -> None:
    with pytest.raises(runtimeconfig.RuntimeConfigError, match=message):
        runtimeconfig.parse(flag, catalog.builtin())
