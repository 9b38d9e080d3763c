"""What `admit` and `explain` take: a cluster out of files, requests to it, and who makes them."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import click

from kadmit.authoring.admitting import Admission, Admitting, Asked, allowing
from kadmit.authoring.cluster import ADMIN, Ask
from kadmit.authoring.manifests import Manifest, Unreadable
from kadmit.authoring.workspace import Unusable
from kadmit.cel.library.authorizer import Attributes, User
from kadmit.cli import files
from kadmit.matching.attributes import CREATE, DELETE, UPDATE

DENIED, BAD_INPUT = 1, 2

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("resources", nargs=-1, metavar="RESOURCES..."),
    click.option(
        "-f",
        "--filename",
        "policies",
        metavar="POLICIES",
        multiple=True,
        help="File or folder with policies, bindings, webhooks, params, Namespaces, CRDs, roles; repeatable; "
        "- is standard input.",
    ),
    click.option(
        "--old-object",
        "old_objects",
        metavar="FILE",
        multiple=True,
        help="Objects before the requests: a resource of the same kind and name is an UPDATE of it; repeatable.",
    ),
    click.option(
        "--operation",
        type=click.Choice([CREATE, UPDATE, DELETE]),
        help="What is done with the resources. Without it: UPDATE where there is an old object, else CREATE.",
    ),
    click.option("--subresource", metavar="NAME", default="", help="The part that is updated, such as status."),
    click.option("--as", "user", metavar="USER", help="Who makes the requests; without it an administrator."),
    click.option("--as-group", "groups", metavar="GROUP", multiple=True, help="A group of that user; repeatable."),
)
_CALLING = click.option(
    "--call-webhooks", is_flag=True, help="Really call webhooks, in dry runs; without it each is taken to allow."
)


def requests(command: F) -> F:
    """Options before those of the command's own."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def calling(command: F) -> F:
    """The option that comes last."""
    return _CALLING(command)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was given, as it was given; `command` is who complains about it."""

    command: str
    resources: Sequence[str]
    policies: Sequence[str]
    old_objects: Sequence[str]
    operation: str | None
    subresource: str
    user: str | None
    groups: Sequence[str]
    call_webhooks: bool

    def admitted(self) -> tuple[list[Admission], list[Manifest]]:
        """What came of all requests, and what the cluster was made of. Ends the program where the input is no good."""
        if not self.resources:
            self.refuse("give at least one file with RESOURCES")
        if [*self.policies, *self.old_objects, *self.resources].count("-") > 1:
            self.refuse("standard input can be read once: give all but one as files")
        asked = Asked(self._user(), self.operation, self.call_webhooks, self.subresource)
        try:
            with self._asking() as ask:
                surroundings = files.read_all(self.policies)
                admitting = Admitting(surroundings, files.read_all(self.old_objects), asked=asked, ask=ask)
                return admitting.admit_all(files.read_all(self.resources)), surroundings
        except (Unreadable, Unusable) as e:
            self.refuse(str(e))

    def refuse(self, message: str) -> NoReturn:
        click.echo(f"kadmit {self.command}: {message}", err=True)
        sys.exit(BAD_INPUT)

    def _user(self) -> User:
        """The user with the groups that the server adds, as if an administrator impersonated them."""
        if self.user is None:
            if self.groups:
                self.refuse("--as-group: needs --as")
            return ADMIN
        from kadmit.access import impersonation
        from kadmit.access.rbac import Rbac

        wanted = User(self.user, groups=tuple(self.groups))
        found = impersonation.impersonate(Rbac.build(()), Attributes(ADMIN, "create"), wanted)
        assert isinstance(found, impersonation.Impersonated), "an administrator may be anybody"
        return found.user

    @contextmanager
    def _asking(self) -> Iterator[Ask]:
        if not self.call_webhooks:
            yield allowing
            return
        from kadmit.cli import calling

        with calling.webhooks() as ask:
            yield ask


def exit_code(admitted: Sequence[Admission]) -> int:
    return 0 if all(a.allowed for a in admitted) else DENIED


def is_coloured(color: str) -> bool:
    return color == "always" or (color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
