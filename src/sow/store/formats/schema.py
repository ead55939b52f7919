"""Reads the schemas in the package: one frozen folder of JSON Schema documents per version."""

from __future__ import annotations

import json
import os
from typing import Any

from sow.errors import SowError
from sow.store.formats import VERSION
from sow.store.formats.validation import parts

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "schemas")


def versions() -> list[str]:
    """Returns every version that was ever shipped, oldest first."""
    return sorted((name[1:] for name in os.listdir(FOLDER)), key=parts)


def names(version: str = VERSION) -> list[str]:
    """Returns the kinds of files that have a schema in this version."""
    return sorted(name.removesuffix(".json") for name in os.listdir(os.path.join(FOLDER, f"v{version}")))


def check_version(text: str) -> str:
    """Returns the version that a person meant: `v1.0.0` is 1.0.0."""
    version = text.removeprefix("v")
    if version not in versions():
        raise SowError(f"there is no schema version {text!r}", "the versions are: " + ", ".join(versions()))
    return version


def document(name: str, version: str = VERSION) -> dict[str, Any]:
    """Returns one schema as a document."""
    if name not in names(version):
        raise SowError(f"there is no schema {name!r} in {version}", "the schemas are: " + ", ".join(names(version)))
    with open(os.path.join(FOLDER, f"v{version}", f"{name}.json"), encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded
