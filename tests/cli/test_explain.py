"""kadmit explain as users call it."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kadmit.authoring.story import screen, tree
from kadmit.authoring.visible import visible
from kadmit.cli import main

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
POLICIES = [f"--filename={EXAMPLES / 'sidecar-policy.yaml'}", f"--filename={EXAMPLES / 'replica-limit.yaml'}"]
POD, DEPLOYMENT = str(EXAMPLES / "pod.yaml"), str(EXAMPLES / "deployment.yaml")

# What an attacker may write into an object, and what must never come out of a terminal or a page as it is.
HOSTILE = "</script><script>alert(1)</script>\x1b]0;owned\x07\x9b2J\u202eevil"
POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: judge}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]
  validations: [{expression: "object.data.text == ''", messageExpression: "'got ' + object.data.text"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: judge}
spec: {policyName: judge, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks}
webhooks:
- name: hook.example.com
  clientConfig: {url: "https://127.0.0.1:1/hook"}
  admissionReviewVersions: [v1]
  sideEffects: None
  rules: [{apiGroups: ["apps"], apiVersions: [v1], operations: ["*"], resources: [deployments]}]
"""


def explain(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["explain", *arguments], input=stdin)


def told(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(explain(*arguments, "-o", "json").stdout)
    return found


def config_map(text: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"text": text}})


@pytest.fixture
def policy(tmp_path: Path) -> str:
    (tmp_path / "policy.yaml").write_text(POLICY)
    return str(tmp_path / "policy.yaml")


# ---------------------------------------------------------------- exit codes and input


def test_admitted_denied_and_bad_input_have_their_codes() -> None:
    assert explain(*POLICIES, POD).exit_code == 0
    assert explain(*POLICIES, DEPLOYMENT).exit_code == 1
    run = explain(*POLICIES, "nowhere.yaml")
    assert (run.exit_code, run.stderr) == (2, "kadmit explain: nowhere.yaml: No such file or directory\n")


def test_a_subresource_that_is_not_there_is_bad_input() -> None:
    run = explain("--subresource", "nothing", POD)
    assert (run.exit_code, run.stderr) == (2, f"kadmit explain: {POD}:1:1: pods have no subresource nothing\n")


def test_a_part_that_is_not_updated_is_bad_input() -> None:
    run = explain("--subresource", "status", POD)
    assert run.exit_code == 2
    assert run.stderr.endswith("only for an UPDATE: give the object before it with --old-object\n")


# ---------------------------------------------------------------- text


def test_the_text_tells_clause_values_and_place() -> None:
    lines = [line.strip() for line in explain(*POLICIES, DEPLOYMENT, "-o", "text").stdout.splitlines()]
    assert lines[0] == "CREATE deployment.apps/web in shop by admin: denied"
    skipped = 'skipped: matchConstraints.resourceRules[0]: apiGroups [""] lack "apps", resources [pods] lack deployments'
    assert f"· sidecar: {skipped}  ({EXAMPLES / 'sidecar-policy.yaml'}:2:1)" in lines
    assert "✗ params shop/limit: denied" in lines
    assert "object.spec.replicas → 5" in lines
    assert "params.maxReplicas → 3" in lines
    assert "validating webhooks: not reached" in lines


def test_without_a_terminal_a_tree_is_plain_text() -> None:
    assert explain(*POLICIES, POD).stdout == explain(*POLICIES, POD, "-o", "text").stdout


def test_a_tree_has_colours_when_asked() -> None:
    drawn = explain(*POLICIES, DEPLOYMENT, "--color", "always").stdout
    assert "\x1b[1;31m✗ replica-limit: denied" in drawn
    assert "├── " in drawn


def test_a_tree_says_what_the_text_says() -> None:
    """Colours and guides aside, and where lines are broken."""
    drawn = re.sub("\x1b\\[[0-9;]*m|[│├└─]", "", explain(*POLICIES, POD, "--color", "always").stdout)
    text = re.sub(r"[()]", "", explain(*POLICIES, POD, "-o", "text").stdout)
    assert re.sub(r"\s|[()]", "", drawn) == re.sub(r"\s", "", text)


def test_what_is_in_an_object_cannot_steer_a_terminal(policy: str) -> None:
    for arguments in (("-o", "text"), ("--color", "always")):
        drawn = explain("-f", policy, "-", *arguments, stdin=config_map(HOSTILE)).stdout
        plain = re.sub("\x1b\\[[0-9;]*m", "", drawn)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", plain)
        assert "owned" in plain


def test_rich_takes_nothing_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    screen.draw([tree.Line("[bold]x[/bold] :smile: [link=file:///etc/passwd]y[/link]")], coloured=False)
    assert capsys.readouterr().out.rstrip() == "[bold]x[/bold] :smile: [link=file:///etc/passwd]y[/link]"


# ---------------------------------------------------------------- json


def test_json_has_every_stage_and_the_object() -> None:
    (story,) = told(*POLICIES, POD)["stories"]
    assert [(s["stage"], s["round"]) for s in story["stages"]] == [
        ("mutating policies", 0),
        ("mutating webhooks", 0),
        ("mutating policies", 1),
        ("mutating webhooks", 1),
        ("the kind's own rules", 0),
        ("validating policies", 0),
        ("validating webhooks", 0),
    ]
    assert (story["allowed"], story["changed"]) == (True, True)
    assert [c["name"] for c in story["object"]["spec"]["initContainers"]] == ["mesh-proxy"]


def test_json_has_the_status_of_a_denial() -> None:
    (story,) = told(*POLICIES, DEPLOYMENT)["stories"]
    assert (story["allowed"], story["status"]["code"]) == (False, 422)
    (run,) = story["stages"][-2]["entries"][0]["bindings"][0]["runs"]
    assert (run["did"], run["params"]["name"]) == ("denied", "limit")
    assert [(s["expression"], s["value"]) for s in run["outcomes"][0]["steps"]] == [
        ("object.spec.replicas", 5),
        ("params.maxReplicas", 3),
    ]


def test_reviews_are_shown_when_asked(policy: str) -> None:
    arguments = ("-f", policy, DEPLOYMENT, "-o", "text")
    assert '"apiVersion": "admission.k8s.io/v1"' in explain(*arguments, "--reviews").stdout
    assert '"apiVersion": "admission.k8s.io/v1"' not in explain(*arguments).stdout


# ---------------------------------------------------------------- html


class _Page(HTMLParser):
    """All tags with their attributes, and all text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def page(html: str) -> _Page:
    made = _Page()
    made.feed(html)
    return made


def test_a_page_stands_alone(policy: str) -> None:
    html = explain("-f", policy, "-", "-o", "html", stdin=config_map("x")).stdout
    made = page(html)
    assert html.startswith("<!doctype html>")
    assert {"script", "link", "img", "iframe", "object", "a"}.isdisjoint(made.tags)
    assert {"src", "href", "onclick"}.isdisjoint(made.attributes)
    assert "default-src 'none'" in html
    assert "url(" not in html


@pytest.mark.parametrize("text", [HOSTILE, '" onmouseover="alert(1)', "<img src=x onerror=alert(1)>", "&lt;b&gt;"])
def test_what_is_in_an_object_stays_text_in_a_page(policy: str, text: str) -> None:
    harmless = page(explain("-f", policy, "-", "-o", "html", stdin=config_map("x")).stdout)
    made = page(explain("-f", policy, "-", "-o", "html", stdin=config_map(text)).stdout)
    assert (made.tags, made.attributes) == (harmless.tags, harmless.attributes)
    assert visible(text)[:20] in made.text.replace('\\"', '"')


def test_several_requests_are_one_page(policy: str) -> None:
    html = explain("-f", policy, "-", "-o", "html", stdin=f"{config_map('x')}\n---\n{config_map('')}").stdout
    assert page(html).tags.count("section") == 2
    assert "<title>2 requests</title>" in html
