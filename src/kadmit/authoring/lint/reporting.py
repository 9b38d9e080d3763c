"""Findings in words: for people, for programs, for code scanners (SARIF) and for GitHub's annotations."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote

from kadmit.authoring.checking import Checked
from kadmit.authoring.lint.rule import Finding, Rule, Severity

Json: TypeAlias = dict[str, Any]

SCHEMA_VERSION = 1
_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def report(checked: Checked, output: str) -> str:
    """Everything on standard output, in one of FORMATS; "" if there is nothing."""
    return FORMATS[output](checked)


def summary(checked: Checked) -> str:
    """How much was looked at, and what came of it, in one line."""
    counts = Counter(found.severity for found in checked.findings)
    told = ", ".join(_counted(counts[s], s.value) for s in (Severity.ERROR, Severity.WARNING, Severity.INFO) if counts[s])
    beside = f", {_counted(checked.others, 'object')} of other kinds" if checked.others else ""
    silenced = f" ({checked.silenced} silenced)" if checked.silenced else ""
    return f"{_counted(checked.objects, 'object')} checked{beside}: {told or 'no findings'}{silenced}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 or noun == "info" else f"{number} {noun}s"


# ---------------------------------------------------------------- text


def _text(checked: Checked) -> str:
    return "".join(f"{line}\n" for found in checked.findings for line in _lines(found))


def _lines(found: Finding) -> Iterator[str]:
    line, column = found.place
    kind, name = found.manifest.kind.kind, found.manifest.name
    yield f'{found.manifest.file.name}:{line}:{column}: {found.severity.value} {found.code}: {kind} "{name}": {found.message}'
    if found.fix:
        first, *more = found.fix.splitlines()
        yield f"    fix: {first}"
        yield from (f"      {text}" for text in more)


# ---------------------------------------------------------------- JSON


def _json(checked: Checked) -> str:
    made = {
        "schemaVersion": SCHEMA_VERSION,
        "checked": checked.objects,
        "notChecked": checked.others,
        "silenced": checked.silenced,
        "findings": [as_json(found) for found in checked.findings],
    }
    return f"{json.dumps(made, ensure_ascii=False, indent=2)}\n"


def as_json(found: Finding) -> Json:
    line, column = found.place
    kind = found.manifest.kind
    made: Json = {"code": found.code, "title": found.rule.title, "severity": found.severity.value}
    made |= {"file": found.manifest.file.name, "line": line, "column": column}
    made |= {"apiVersion": str(kind.group_version), "kind": kind.kind, "name": found.manifest.name}
    return made | {"field": found.field, "message": found.message, "fix": found.fix}


# ---------------------------------------------------------------- SARIF


def _sarif(checked: Checked) -> str:
    rules = list(dict.fromkeys(found.rule for found in checked.findings))
    driver = {"name": "kadmit", "rules": [_sarif_rule(rule) for rule in rules]}
    results = [_sarif_result(found, rules) for found in checked.findings]
    log = {"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return f"{json.dumps(log, ensure_ascii=False, indent=2)}\n"


def _sarif_rule(rule: Rule) -> Json:
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _sarif_result(found: Finding, rules: Sequence[Rule]) -> Json:
    line, column = found.place
    region = {"startLine": line, "startColumn": column}
    place = {"artifactLocation": {"uri": quote(found.manifest.file.name)}, "region": region}
    return {
        "ruleId": found.code,
        "ruleIndex": rules.index(found.rule),
        "level": _LEVELS[found.severity],
        "message": {"text": _told(found)},
        "locations": [{"physicalLocation": place}],
    }


def _told(found: Finding) -> str:
    fix = f"\nfix: {found.fix}" if found.fix else ""
    return f'{found.manifest.kind.kind} "{found.manifest.name}": {found.message}{fix}'


# ---------------------------------------------------------------- GitHub


def _github(checked: Checked) -> str:
    return "".join(f"{_command(found)}\n" for found in checked.findings)


def _command(found: Finding) -> str:
    line, column = found.place
    at = f"file={_property(found.manifest.file.name)},line={line},col={column}"
    title = _property(f"{found.code} {found.rule.title}")
    return f"::{_COMMANDS[found.severity]} {at},title={title}::{_data(_told(found))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMATS: Mapping[str, Callable[[Checked], str]] = {"text": _text, "json": _json, "sarif": _sarif, "github": _github}


# ---------------------------------------------------------------- rules


def listing(rules: Sequence[Rule]) -> str:
    """One line a rule."""
    return "".join(f"{rule.code}  {rule.severity.value:<7}  {rule.title}\n" for rule in rules)


def explained(rule: Rule) -> str:
    """All that is known of a rule."""
    parts = [f"{rule.code}: {rule.title} ({rule.severity.value})", "", rule.explanation, "", f"Fix: {rule.fix}", ""]
    parts += ["Bad:", "", _indented(rule.bad), "Good:", "", _indented(rule.good)]
    return "\n".join(parts)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())
