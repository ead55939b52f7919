"""Reads from .sow/config.yaml in which folders the repository keeps documents that outlive a project."""

from __future__ import annotations

from sow.domain import inputs
from sow.errors import InvalidFile, SowError
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.formats import yaml_text
from sow.store.layout import ARTIFACTS
from sow.store.validators.repo_config import validate


def folders(home: Home) -> dict[str, str]:
    """Returns the folder of each kind of document, relative to the root; a path that leaves the root is refused."""
    path = f"{home.sow}/config.yaml"
    shown_path = home.relative(path)
    try:
        data = yaml_text.load(home.read(path, yaml_text.MAX_BYTES), shown_path)
    except FileNotFoundError:
        return dict(ARTIFACTS)
    if data is None:
        return dict(ARTIFACTS)
    state_file.check(data, shown_path, validate)
    return {
        **ARTIFACTS,
        **{kind: _below(value, kind, shown_path) for kind, value in (data.get("artifacts") or {}).items()},
    }


def _below(value: str, kind: str, shown_path: str) -> str:
    try:
        path = inputs.checked_path(value, f"artifacts.{kind}")
    except SowError as error:
        raise InvalidFile(f"{shown_path}: {error.message}", error.hint) from None
    if path == "." or path.split("/")[0] == ".git" or path.startswith((".sow/project", ".sow/local")):
        raise InvalidFile(
            f"{shown_path}: artifacts.{kind}: {value!r:.80} is no place for documents", "such as docs/adrs"
        )
    return path
