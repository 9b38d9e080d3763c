"""Every new Pod carries the name of whoever made it."""

import kadmit


@kadmit.mutating("pods", operations="CREATE")
def label_owner(request: kadmit.Request, pod: kadmit.Object) -> None:
    pod["metadata"].setdefault("annotations", {})["example.com/made-by"] = request.user.username
    pod["metadata"].setdefault("labels", {})["team"] = request.namespace
