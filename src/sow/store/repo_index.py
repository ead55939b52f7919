"""The index of linked repositories: .sow/repos/index.json of a checkout, and the same among the user's settings."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store.catalog import Catalog
from sow.store.validators.repo_index import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.domain.index_shapes import Repo
    from sow.store.home import Home

CATALOG = Catalog("repos", "repository", validate)


def load(home: Home) -> list[Repo]:
    """The repositories that are linked in this checkout, by name."""
    return CATALOG.load(home)


def folder(home: Home, name: str) -> str:
    """Where the files of a repository are; for a link, the link itself."""
    return f"{home.sow}/repos/{name}"


def targets(environment: Mapping[str, str]) -> frozenset[str]:
    """Where the user's own links lead to: one that somebody else put into a checkout is followed nowhere."""
    try:
        known: list[Repo] = CATALOG.load_user(environment)
    except SowError:  # `sow repos list` says what is wrong with it
        return frozenset()
    return frozenset(os.path.realpath(each["source"]["url"]) for each in known if each["mode"] == "symlink")
