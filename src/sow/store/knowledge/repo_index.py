"""Reads the index of linked repositories: .sow/repos/index.json of a checkout, and the same in the user's settings."""

from __future__ import annotations

import os
from collections.abc import Mapping

from sow.domain.documents.index import Repo
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.knowledge.index import SourceIndex
from sow.store.validators.repo_index import validate

CATALOG = SourceIndex("repos", "repository", validate)


def load(home: Home) -> list[Repo]:
    """Returns the repositories that are linked in this checkout, by name."""
    return CATALOG.load(home)


def targets(environment: Mapping[str, str]) -> frozenset[str]:
    """Returns the targets of the user's own links; a link from anybody else is not followed."""
    try:
        repos: list[Repo] = CATALOG.load_user(environment)
    except SowError:  # `sow repos list` reports the problem
        return frozenset()
    return frozenset(os.path.realpath(repo["source"]["url"]) for repo in repos if repo["mode"] == "symlink")
