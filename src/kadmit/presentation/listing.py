"""The options of a list or a watch, read from a query and checked, with Kubernetes' texts.

    options = listing.parse(query, fieldselectors.of(resource))
    options.selection.matches(value)

NB: a flag is true unless it is 0 or false: `watch=maybe` and `watch=` watch. Of values given twice the first counts.
A watch from nowhere (or from "0") begins with what is there: `send_initial_events` is set here when the client said nothing.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.api import errors, fields
from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupKind
from kadmit.cel.library.selectors import FieldRequirement
from kadmit.presentation import continuation, queries, selection
from kadmit.presentation.continuation import Moment
from kadmit.presentation.fieldselectors import NAME, SelectableFields
from kadmit.presentation.queries import Query
from kadmit.presentation.selection import Selection

NOT_OLDER_THAN, EXACT = "NotOlderThan", "Exact"
_KIND = GroupKind("meta.k8s.io", "ListOptions")
_MATCH = fields.path("resourceVersionMatch")


class ListOptions(Struct, frozen=True):
    selection: Selection = field(default_factory=Selection)
    watch: bool = False
    allow_watch_bookmarks: bool = False
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    limit: int = 0
    continue_token: str = ""
    send_initial_events: bool | None = None

    def moment(self) -> Moment:
        """Of which moment a list is to tell, and where it goes on. Raises ApiError (400)."""
        return continuation.moment(
            resource_version=self.resource_version,
            match=self.resource_version_match,
            limit=self.limit,
            token=self.continue_token,
        )

    @property
    def page_size(self) -> int:
        """How many items are shown at once; 0 is all. NB: to whom any version will do, a limit means nothing."""
        return 0 if self.resource_version == "0" and not self.continue_token else self.limit

    def watch_from(self) -> int:
        """The revision after which events are asked for; 0 if none is given. Raises ApiError (500)."""
        return continuation.resource_version(self.resource_version)

    @property
    def ends_initial_events(self) -> bool:
        """Whether a bookmark is to tell that all there was has been sent."""
        return bool(self.send_initial_events) and self.allow_watch_bookmarks


def parse(query: Query, fields_of: SelectableFields, *, name: str | None = None) -> ListOptions:
    """Raises ApiError (400, 422). `name`: of the one object that a path /watch/…/NAME is about."""
    options = _read(query)
    options = _with_defaults(options)
    problems = [*(_watch_problems(options) if options.watch else _list_problems(options))]
    if problems:
        raise errors.invalid(_KIND, "", problems)
    selection.check_fields(options.selection.fields, fields_of)
    chosen = replace(options.selection, fields_of=fields_of)
    return replace(options, selection=chosen if name is None else _of_one(chosen, name))


def _read(query: Query) -> ListOptions:
    """NB: numbers are read before selectors, so their errors come first."""
    timeout, limit = queries.integer(query, "timeoutSeconds"), queries.integer(query, "limit")
    labels = selection.parse_labels(queries.text(query, "labelSelector"))
    wanted = selection.parse_fields(queries.text(query, "fieldSelector"))
    return ListOptions(
        selection=Selection(labels, wanted),
        watch=bool(queries.flag(query, "watch")),
        allow_watch_bookmarks=bool(queries.flag(query, "allowWatchBookmarks")),
        resource_version=queries.text(query, "resourceVersion"),
        resource_version_match=queries.text(query, "resourceVersionMatch"),
        timeout_seconds=timeout,
        limit=limit or 0,
        continue_token=queries.text(query, "continue"),
        send_initial_events=queries.flag(query, "sendInitialEvents"),
    )


def _with_defaults(options: ListOptions) -> ListOptions:
    asked = options.send_initial_events is not None or bool(options.resource_version_match)
    if options.watch and not asked and options.resource_version in ("", "0"):
        return replace(options, send_initial_events=True, resource_version_match=NOT_OLDER_THAN)
    return options


def _list_problems(options: ListOptions) -> list[FieldError]:
    found = []
    match = options.resource_version_match
    if match and not options.resource_version:
        found.append(fields.forbidden(_MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if match and options.continue_token:
        found.append(fields.forbidden(_MATCH, "resourceVersionMatch is forbidden when continue is provided"))
    if match not in ("", EXACT, NOT_OLDER_THAN):
        found.append(fields.not_supported(_MATCH, match, [EXACT, NOT_OLDER_THAN, ""]))
    if match == EXACT and options.resource_version == "0":
        found.append(fields.forbidden(_MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        found.append(fields.forbidden(fields.path("sendInitialEvents"), "sendInitialEvents is forbidden for list"))
    return found


def _watch_problems(options: ListOptions) -> list[FieldError]:
    found = []
    match = options.resource_version_match
    if options.send_initial_events is not None and match != NOT_OLDER_THAN:
        found.append(fields.forbidden(_MATCH, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match and options.send_initial_events is None:
        found.append(fields.forbidden(_MATCH, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
    if match not in ("", NOT_OLDER_THAN):
        found.append(fields.not_supported(_MATCH, match, [NOT_OLDER_THAN]))
    if match and options.continue_token:
        found.append(fields.forbidden(_MATCH, "resourceVersionMatch is forbidden when continue is provided"))
    return found


def _of_one(chosen: Selection, name: str) -> Selection:
    if not chosen.fields:
        return replace(chosen, fields=(FieldRequirement(NAME, "=", name),))
    if chosen.exact_name != name:
        raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
    return chosen
