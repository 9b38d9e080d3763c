"""What `admit` and `explain` take: a cluster out of files, requests to it, and who makes them."""

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import click
from msgspec import Struct

from kadmit.authoring.admission import Admission
from kadmit.authoring.admitting import Admitting, Asked
from kadmit.authoring.cluster import ADMIN, Ask, allowing
from kadmit.authoring.manifests import Manifest, Unreadable
from kadmit.authoring.workspace import Unusable
from kadmit.cel.library.authorizer import User
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


def requests(command: Callable[..., None]) -> Callable[..., None]:
    """Options before those of the command's own. The command is called with Inputs first, then with its own."""

    @functools.wraps(command)
    def called(**values: Any) -> None:
        given = {name: values.pop(name) for name in Inputs.__struct_fields__ if name in values}
        command(Inputs(str(click.get_current_context().command.name), **given), **values)

    for option in reversed(_OPTIONS):
        called = option(called)
    return called


def shown(*forms: str, meaning: str, coloured: str) -> Callable[[F], F]:
    """In which of these forms to show what came of it, by default the first, and whether in colours."""
    output = click.option("-o", "--output", type=click.Choice(forms), default=forms[0], show_default=True, help=meaning)
    color = click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help=f"Colours in a {coloured}; auto: on a terminal.",
    )
    return lambda command: output(color(command))


def calling(command: F) -> F:
    """The option that comes last."""
    return _CALLING(command)


class Inputs(Struct, frozen=True):
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
                surroundings = files.read_some(self.policies)
                admitting = Admitting(surroundings, files.read_some(self.old_objects), asked=asked, ask=ask)
                return admitting.admit_all(files.read_some(self.resources)), surroundings
        except (Unreadable, Unusable) as e:
            self.refuse(str(e))

    def refuse(self, message: str) -> NoReturn:
        click.echo(f"kadmit {self.command}: {message}", err=True)
        sys.exit(BAD_INPUT)

    def _user(self) -> User:
        if self.user is None:
            if self.groups:
                self.refuse("--as-group: needs --as")
            return ADMIN
        from kadmit.authoring.person import person

        return person(self.user, tuple(self.groups))

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
