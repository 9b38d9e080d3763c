"""Answers of an authorizer, kept for one request: stories evaluate expressions again, when roles may have changed."""

from kadmit.cel.library.authorizer import Attributes, Authorizer, Decision


class Remembering:
    """An authorizer whose answers stay what they were: who looks at a request again sees what its policies saw."""

    def __init__(self, real: Authorizer) -> None:
        self._real = real
        self._known: list[tuple[Attributes, Decision]] = []

    def check(self, attributes: Attributes) -> Decision:
        for asked, said in self._known:
            if asked == attributes:
                return said
        said = self._real.check(attributes)
        self._known.append((attributes, said))
        return said
