"""kadmit test --watch: what a changed file touches is run again. Files are looked at several times a second."""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import click

from kadmit.authoring.manifests import Unreadable
from kadmit.authoring.suite.model import BadSuite, Suite
from kadmit.cli import test as testing
from kadmit.cli.suites import files
from kadmit.cli.suites.files import Disk, Stamp

_EVERY = 0.05  # seconds
_SEARCH_EVERY = 20  # looks: how often folders are searched for new suites


def watch(settings: "testing.Settings") -> None:
    """Until interrupted. Raises BadInput and Unreadable if there is nothing to watch at all."""
    watched = _Watched(settings)
    watched.search()
    try:
        while True:
            changed = watched.changed()
            if changed:
                _run(settings, watched, changed)
            time.sleep(_EVERY)
            watched.looked()
    except KeyboardInterrupt:
        click.echo("", err=True)


def _run(settings: "testing.Settings", watched: "_Watched", changed: Sequence[str]) -> None:
    suites, problems = watched.load(changed)
    for problem in problems:
        click.echo(problem, err=True)
    if suites:
        try:
            planned = testing.select(settings, suites)
        except testing.BadInput as e:
            click.echo(f"kadmit test: {e}", err=True)
        else:
            testing.show(settings, testing.run(settings, planned))
            watched.settle(suites)  # golden files may just have been written
    click.echo(f"watching {watched.number} file{'' if watched.number == 1 else 's'}", err=True)


class _Watched:
    """Files of suites, all that they were made from, and how all of these looked last time."""

    def __init__(self, settings: "testing.Settings") -> None:
        self._settings = settings
        self._disk = Disk()
        self._depends: dict[str, tuple[str, ...]] = {}
        self._seen: dict[str, Mapping[str, Stamp | None] | None] = {}
        self._looks = 0

    @property
    def number(self) -> int:
        return len({path for depends in self._depends.values() for path in depends})

    def search(self) -> None:
        """Find suites, new ones too. Raises BadInput and Unreadable."""
        for path in testing.paths_of(self._settings):
            if path not in self._depends:
                self._depends[path] = (path,)
                self._seen[path] = None

    def looked(self) -> None:
        self._looks += 1
        if self._looks % _SEARCH_EVERY == 0:
            with suppress(testing.BadInput, Unreadable):  # all suites are gone for now
                self.search()

    def changed(self) -> list[str]:
        """Files of suites that a change touches."""
        return [path for path, before in self._seen.items() if before != self._stamps(path)]

    def _stamps(self, path: str) -> Mapping[str, Stamp | None]:
        """NB: for a folder and a glob, it also counts which files there are."""
        made: dict[str, Stamp | None] = {}
        for name in self._depends[path]:
            made[name] = files.stamp(name)
            if made[name] is None or not files.is_file(name):
                made |= {found: files.stamp(found) for found in self._disk.found(name)}
        return made

    def load(self, paths: Iterable[str]) -> tuple[list[Suite], list[str]]:
        """The suites of these files, and what is wrong with them."""
        suites: list[Suite] = []
        problems: list[str] = []
        for path in paths:
            try:
                found = files.suite(path, self._disk)
            except BadSuite as e:
                problems.append(str(e))
                self._depends[path] = (path, *e.depends)
            except Unreadable as e:
                problems.append(str(e))
            else:
                suites += found
                self._depends[path] = tuple(dict.fromkeys(d for suite in found for d in (path, *suite.depends)))
            self._seen[path] = self._stamps(path)
        return suites, problems

    def settle(self, suites: Iterable[Suite]) -> None:
        for suite in suites:
            self._seen[suite.file.name] = self._stamps(suite.file.name)
