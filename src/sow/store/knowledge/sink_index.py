"""Reads the index of sinks: .sow/sinks/index.json of a checkout, and sinks/index.json in the user's settings."""

from __future__ import annotations

from sow.domain.documents.index import Sink
from sow.store.files.checkout_home import Home
from sow.store.knowledge.index import SourceIndex
from sow.store.validators.sink_index import validate

CATALOG = SourceIndex("sinks", "sink", validate)


def load(home: Home) -> list[Sink]:
    """Returns the sinks that are installed in this checkout, by name."""
    return CATALOG.load(home)
