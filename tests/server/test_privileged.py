"""--allow-privileged decides about containers that are to be privileged, as it does in kube-apiserver."""

from pathlib import Path

import orjson
import pytest
from tests.server.process import running

_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]},
}


@pytest.mark.parametrize(("flags", "code"), [((), 422), (("--allow-privileged=true",), 201)])
async def test_a_privileged_pod_needs_the_flag(tmp_path: Path, flags: tuple[str, ...], code: int) -> None:
    with running(tmp_path, *flags) as server:
        answer = await server.ask("POST", "/api/v1/namespaces/default/pods", orjson.dumps(_POD))
    assert answer.status == code
    if code == 422:
        told = 'Pod "p" is invalid: spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy'
        assert answer.told == (422, "Invalid", told)
