"""What a Python function may answer as a webhook, and the AdmissionReview that it means.

None and True allow; False denies, and a text denies with that message; a list is a JSON patch; a dict is the response itself, or
a whole review. Anything with an attribute `allowed` is taken field by field. A coroutine is run to its end.
"""

import asyncio
import inspect
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import orjson

from kadmit.testing.result import Json

Function: TypeAlias = Callable[[Json], Any]


def review(function: Function, asked: Json) -> Json:
    """The AdmissionReview with which a function answers one. The function is given a request of its own to change as it likes."""
    request = orjson.loads(orjson.dumps(asked["request"]))
    answer = function(request)
    if inspect.iscoroutine(answer):
        answer = _finished(answer)
    if isinstance(answer, Mapping) and "response" in answer:
        return dict(answer)
    response = {"uid": asked["request"]["uid"], **_response(answer)}
    return {"apiVersion": asked["apiVersion"], "kind": "AdmissionReview", "response": response}


def _response(answer: Any) -> Json:
    if answer is None or isinstance(answer, bool):
        return {"allowed": answer is not False}
    if isinstance(answer, str):
        return {"allowed": False, "status": {"message": answer, "code": 403}}
    if isinstance(answer, list):
        return {"allowed": True, **_patch(answer)}
    if isinstance(answer, Mapping):
        response = {"allowed": True, **answer}
        return {**response, **_patch(response["patch"])} if isinstance(response.get("patch"), list) else response
    if hasattr(answer, "allowed"):
        return _of_attributes(answer)
    raise TypeError(f"a webhook function must answer None, bool, str, list or dict, not {type(answer).__name__}")


def _of_attributes(answer: Any) -> Json:
    response: Json = {"allowed": bool(answer.allowed), **_patch(list(getattr(answer, "patch", None) or ()))}
    for name, field in (("status", "status"), ("warnings", "warnings"), ("annotations", "auditAnnotations")):
        value = getattr(answer, name, None)
        if value:
            response[field] = dict(value) if isinstance(value, Mapping) else list(value)
    return response


def _patch(operations: list[Any]) -> Json:
    """NB: a patch that changes nothing is none."""
    if not operations:
        return {}
    return {"patchType": "JSONPatch", "patch": b64encode(orjson.dumps(operations)).decode()}


def _finished(coroutine: Any) -> Any:
    """NB: in a thread of its own, for the test may have a loop that runs."""
    done: list[Any] = []

    def run() -> None:
        try:
            done.append((True, asyncio.run(coroutine)))
        except BaseException as e:  # handed to whoever waits
            done.append((False, e))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    well, value = done[0]
    if not well:
        raise value
    return value
