"""Loads executor types that other packages register under the entry point group `sow.executors`.

The user installs such a package. A repository must not add one, so nothing inside a repository is loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint

from sow.errors import SowError, SystemFailure, suggestion
from sow.executors.adapter import Adapter

GROUP = "sow.executors"


@dataclass(frozen=True, slots=True)
class Plugin:
    """An executor type of another package; `inside` says that the package is inside a repository."""

    entry: EntryPoint
    package: str
    inside: bool

    @property
    def type(self) -> str:
        return self.entry.name

    def load(self) -> Adapter:
        """Returns its adapter, or raises SowError that names the package."""
        from importlib.util import find_spec

        from sow.executors.adapter import Adapter, Capabilities

        paths = sys.path[:]
        sys.path[:] = [path for path in paths if os.path.isabs(path) and not in_repository(path)]
        try:
            spec = None if self.inside else find_spec(self.entry.module.partition(".")[0])
            places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
            if self.inside or any(in_repository(place) for place in places if place):
                raise SowError("it is inside a repository, and sow loads no code from there", "")
            adapter = self.entry.load()()
            if not isinstance(adapter, Adapter) or not isinstance(getattr(adapter, "capabilities", None), Capabilities):
                raise SowError(f"{self.entry.value} is no subclass of sow.executors.Adapter with capabilities", "")
            if adapter.type != self.type:
                raise SowError(f"its adapter has the type {adapter.type!r}", "")
        except (Exception, SystemExit) as error:  # the code of another package can raise anything
            reason = error.message if isinstance(error, SowError) else f"{type(error).__name__}: {error}"
            raise SowError(
                f"executor type {self.type}: {self.package} cannot be loaded: {reason}",
                f"install {self.package} again, outside of a repository, or use another type: sow config edit",
            ) from None
        finally:
            sys.path[:] = paths
        for name, method in vars(Adapter).items():
            if callable(method) and not name.startswith("_"):
                setattr(adapter, name, self._guarded(getattr(adapter, name)))
        return adapter

    def _guarded(self, method: Callable[..., object]) -> Callable[..., object]:
        """Returns the method with errors that name the package, so that a mistake in it fails one turn only."""

        def call(*values: object, **options: object) -> object:
            try:
                return method(*values, **options)
            except SowError:
                raise
            except Exception as error:  # the code of another package can raise anything
                raise SystemFailure(
                    f"executor type {self.type}: {method.__name__}() of {self.package} failed: "
                    f"{type(error).__name__}: {error}",
                    f"report it to the authors of {self.package}, or use another executor",
                ) from error

        return call


def find_plugins() -> list[Plugin]:
    """Returns the registered types, those inside a repository last. Reading all metadata takes 50 ms."""
    from importlib.metadata import distributions

    plugins = []
    for path in dict.fromkeys(os.path.abspath(path) for path in sys.path):
        inside = in_repository(path)
        for distribution in distributions(path=[path]):
            package = f"{distribution.metadata['Name']} {distribution.version}"
            plugins += [Plugin(entry, package, inside) for entry in distribution.entry_points if entry.group == GROUP]
    return sorted(plugins, key=lambda plugin: plugin.inside)


def load_plugin(kind: str, built_in: Iterable[str]) -> Adapter:
    """Returns the adapter of a type that is not built in."""
    plugins = {plugin.type: plugin for plugin in reversed(find_plugins())}
    if kind not in plugins:
        types = [*built_in, *plugins]
        raise SowError(
            f"unknown executor type: {kind}", suggestion(kind, types) or f"the types are: {', '.join(sorted(types))}"
        )
    return plugins[kind].load()


def in_repository(path: str) -> bool:
    """Returns whether a path is in the checkout of the current folder, or in one that sow works on."""
    folder, below = os.path.realpath(path), False
    nearest = os.path.realpath(os.curdir)
    while nearest != os.path.dirname(nearest) and not os.path.lexists(f"{nearest}/.git"):
        nearest = os.path.dirname(nearest)
    while folder != os.path.dirname(folder) and not below:
        below = os.path.lexists(f"{folder}/.git") and (folder == nearest or os.path.lexists(f"{folder}/.sow"))
        folder = os.path.dirname(folder)
    return below
