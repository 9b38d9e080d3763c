"""The one exception of this package: a patch that cannot be read or applied, and why.

The text is the one that Kubernetes' libraries give, without the prefix of a caller. The reason tells callers apart what
to do with it: each of them (PATCH requests, webhooks, policies) has its own prefix and its own HTTP code.
"""

import enum


class Reason(enum.Enum):
    """What kind of failure this is."""

    UNDECODABLE = "undecodable"
    """Not JSON, or JSON of another shape than a patch has. 400 in a PATCH request."""
    TOO_LARGE = "too large"
    """More operations than allowed. 413 in a PATCH request."""
    TEST_FAILED = "test failed"
    """A `test` of a JSON patch found another value. A policy takes this for success without change."""
    INAPPLICABLE = "inapplicable"
    """The patch does not fit the object. JSON patch: 422. Strategic merge: 500, for Kubernetes gives it no code."""
    MALFORMED = "malformed"
    """A directive of a strategic merge patch has the wrong form. 400 in a PATCH request."""
    UNSUPPORTED = "unsupported"
    """A strategic merge of lists of lists. 422 in a PATCH request."""


class PatchError(Exception):
    """message: Kubernetes' text; operation: the index of the operation of a JSON patch that failed, if one did."""

    def __init__(self, message: str, *, reason: Reason = Reason.INAPPLICABLE, operation: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.operation = operation

    @property
    def test_failed(self) -> bool:
        return self.reason is Reason.TEST_FAILED
