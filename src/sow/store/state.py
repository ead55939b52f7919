"""State files: read and written only as a whole, only when they follow the schema."""

from __future__ import annotations

from sow.errors import InvalidFile, SowError
from sow.store import yaml_text
from sow.store.complaint import Complaint
from sow.store.formats import is_version
from sow.store.schema import VERSION, parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sow.store.home import Home

    Validate = Callable[[Any, str], None]

MOST_CHECKED = 64
_CHECKED: dict[tuple[str, Validate], dict[str, Any]] = {}  # by the text itself: never out of date


class OtherVersion(SowError):
    """A file of an older or a newer sow."""


def parse(text: str, path: str, validate: Validate) -> dict[str, Any]:
    """The state in a text, checked against the schema; one that was checked a moment ago is only copied."""
    known = _CHECKED.get((text, validate))
    if known is None:
        known = _parse(text, path, validate)
        _remember(text, validate, known)
    copied: dict[str, Any] = _copy(known)
    return copied


def _remember(text: str, validate: Validate, data: dict[str, Any]) -> None:
    if len(_CHECKED) >= MOST_CHECKED:
        _CHECKED.clear()
    _CHECKED[text, validate] = data


def _copy(value: Any) -> Any:
    """The same document, which may be changed without changing this one."""
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list | tuple) else value


def _parse(text: str, path: str, validate: Validate) -> dict[str, Any]:
    data = yaml_text.load(text, path)
    if not isinstance(data, dict):
        raise InvalidFile(f"{path}: not a mapping of fields", "mend the file, or restore it from git")
    _check_version(data.get("schema_version"), path)
    check(data, path, validate)
    return data


def check(data: Any, path: str, validate: Validate) -> None:
    """Complain about the first field that does not follow the schema."""
    try:
        validate(data, "")
    except Complaint as complaint:
        raise InvalidFile(
            f"{path}: {complaint}",
            "mend that field, or restore the file from git; 'sow schema show' has the rules",
            place=complaint.place,
        ) from None


def _check_version(version: object, path: str) -> None:
    if version == VERSION:
        return
    if not isinstance(version, str) or not is_version(version):
        raise InvalidFile(
            f"{path}: schema_version: must be a version such as {VERSION}, not {version!r}", "restore the file from git"
        )
    if parts(version) > parts(VERSION):
        raise OtherVersion(
            f"schema version mismatch: project={version:.40} cli={VERSION} ({path})",
            "a newer sow wrote this: upgrade sow and try again",
        )
    raise OtherVersion(
        f"Project state schema v{version:.40} detected ({path})", f"CLI requires schema v{VERSION}\nRun: sow migrate"
    )


def read(home: Home, path: str, validate: Validate) -> dict[str, Any]:
    """The state in a file."""
    return parse(home.read(path, yaml_text.MAX_BYTES), home.relative(path), validate)


def write(home: Home, path: str, data: dict[str, Any], validate: Validate) -> str:
    """Replace the file with the next revision, which must follow the schema; returns the text."""
    data["revision"] = data.get("revision", 0) + 1
    check(data, home.relative(path), validate)
    text = yaml_text.dump(data)
    home.replace(path, text)
    _remember(text, validate, _copy(data))  # it is read back soon, if at all
    return text
