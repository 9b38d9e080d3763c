"""One request through the whole chain, told: for terminals, programs and pages, and for the messages of failed assertions.

The chain records what happened, and `telling` works the rest out of that afterwards; `tree` lays it out for people.
"""

from collections.abc import Sequence

from kadmit.authoring.admission import Admission
from kadmit.authoring.manifests import Manifest
from kadmit.authoring.story import telling, tree
from kadmit.authoring.story.shape import Story


def tell(admission: Admission, manifests: Sequence[Manifest] = ()) -> Story:
    """The story of a request; with the manifests of policies, it says where in them things stand."""
    return telling.tell(admission, manifests)


def text(admission: Admission, manifests: Sequence[Manifest] = ()) -> str:
    """The story of one request as plain lines."""
    return tree.text(tree.tree(tell(admission, manifests)))
