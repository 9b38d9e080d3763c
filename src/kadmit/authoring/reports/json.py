"""The whole run as one JSON object; docs/test.md has its schema."""

import json

from kadmit.authoring.suite.running import Run


def write(run: Run) -> str:
    return json.dumps(run.as_json(), ensure_ascii=False, indent=2) + "\n"
