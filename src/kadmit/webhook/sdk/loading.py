"""An App by its name, `module:app` or `path/to/file.py:app`, and again when its source has changed.

Loading again happens in the same process: modules that lie beside the named one are forgotten and imported anew. If that fails,
the old ones stay. What else a process has loaded is left alone.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from kadmit.webhook.sdk.app import App, default

_FOREIGN = ("site-packages", "dist-packages", ".venv", "node_modules")


class LoadError(Exception):
    """There is no App of this name; the cause is what its module raised, if it did."""


class Source:
    """Where an App comes from. `folder` is where modules are looked for."""

    def __init__(self, name: str, folder: Path) -> None:
        target, _, self._attribute = name.partition(":")
        path = Path(target)
        self._is_file = path.suffix == ".py"
        self._module = path.stem if self._is_file else target
        self._folder = (folder / path).parent.resolve() if self._is_file else folder.resolve()
        self._stamps: dict[Path, float] = {}

    def load(self) -> App:
        """Raises LoadError."""
        if not all(part.isidentifier() for part in self._module.split(".")):
            raise LoadError(f"{self._module!r} is no name of a module: give module:app or file.py:app")
        if str(self._folder) not in sys.path:
            sys.path.insert(0, str(self._folder))
        try:
            module = importlib.import_module(self._module)
        except ModuleNotFoundError as error:
            if error.name == self._module:
                raise LoadError(f"there is no module {self._module!r} in {self._folder}") from None
            raise LoadError(f"module {self._module!r} cannot be loaded: {error}") from error
        except (Exception, SystemExit) as error:  # NB: a script that ends itself would end us, as if all were well
            raise LoadError(f"module {self._module!r} cannot be loaded: {type(error).__name__}: {error}") from error
        finally:
            self._stamps = dict(self._found())
        return self._app(module)

    def _app(self, module: ModuleType) -> App:
        if not self._attribute:
            app = getattr(module, "app", default)
        else:
            app = getattr(module, self._attribute, None)
        if not isinstance(app, App):
            raise LoadError(f"{self._module}:{self._attribute or 'app'} is no kadmit.App")
        if not app.handlers:
            raise LoadError(f"{self._module}:{self._attribute or 'app'} has no handlers")
        return app

    def changed(self) -> list[Path]:
        """Files that are not what they were when they were loaded."""
        now = dict(self._found())
        return sorted(path for path in now.keys() | self._stamps.keys() if now.get(path) != self._stamps.get(path))

    def reload(self) -> App:
        """Raises LoadError, and then the modules are those of before."""
        before = {name: module for name, module in sys.modules.items() if self._is_ours(module)}
        handlers = dict(default.handlers)
        for name in before:
            del sys.modules[name]
        default.handlers.clear()
        importlib.invalidate_caches()
        try:
            return self.load()
        except LoadError:
            sys.modules.update(before)
            default.handlers.update(handlers)
            raise

    def _found(self) -> Iterator[tuple[Path, float]]:
        for module in list(sys.modules.values()):
            if self._is_ours(module) and module.__file__ is not None:
                path = Path(module.__file__)
                if path.exists():
                    yield path, path.stat().st_mtime_ns

    def _is_ours(self, module: ModuleType) -> bool:
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or module.__name__.partition(".")[0] in ("kadmit", "__main__"):
            return False
        path = Path(file)
        return path.is_relative_to(self._folder) and not set(path.parts) & set(_FOREIGN)
