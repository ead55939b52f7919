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

PROSE = frozenset(
    {
        "abandoned_reason", "answer", "context", "criteria", "description", "escalation_reason", "evidence", "feedback",
        "missing_evidence", "pending_answer", "question", "reason", "resolution", "review_feedback", "text",
    }
)  # fmt: skip
MOST_REMEMBERED = 2 << 20  # characters of text


class Checked:
    """Documents that were checked lately, by their text itself, so that none is ever out of date."""

    __slots__ = ("documents", "most", "size")

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self.documents: dict[tuple[str, Validate], dict[str, Any]] = {}
        self.most = most  # characters of text; a document takes ten times as much
        self.size = 0

    def get(self, text: str, validate: Validate) -> dict[str, Any] | None:
        """A document of one's own, which may be changed."""
        known = self.documents.get((text, validate))
        return None if known is None else {key: _copy(each) for key, each in known.items()}

    def add(self, text: str, validate: Validate, data: dict[str, Any]) -> None:
        """Remember one more, and forget the oldest where that is too much."""
        if (text, validate) not in self.documents:
            self.size += len(text)
        self.documents[text, validate] = {key: _copy(each) for key, each in data.items()}
        while self.size > self.most:
            oldest = next(iter(self.documents))
            self.size -= len(oldest[0])
            del self.documents[oldest]


def _copy(value: Any) -> Any:
    """The same value, which may be changed without changing this one; most are texts, which is why they come first."""
    if isinstance(value, dict):
        return {key: each if type(each) is str else _copy(each) for key, each in value.items()}
    return [each if type(each) is str else _copy(each) for each in value] if isinstance(value, list) else value


CHECKED = Checked()


class OtherVersion(SowError):
    """A file of an older or a newer sow."""


def parse(text: str, path: str, validate: Validate) -> dict[str, Any]:
    """The state in a text, checked against the schema; one that was checked a moment ago is only copied."""
    known = CHECKED.get(text, validate)
    if known is None:
        known = _parse(text, path, validate)
        CHECKED.add(text, validate, known)
    return known


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


def read(home: Home, path: str, validate: Validate, copy: str = "") -> dict[str, Any]:
    """The state in a file; for a live run, of a state whose copy has this name, what its memory says instead."""
    text = home.read(path, yaml_text.MAX_BYTES)
    if copy and home.memory is not None:
        text = home.memory.true(copy, text)
    return parse(text, home.relative(path), validate)


def strike(home: Home, data: Any, *, prose: bool = False) -> None:
    """Strike the secrets out of all fields of the data that hold prose; names, paths and commands stay."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, each in list(pairs) if home.has_secrets else ():
        is_prose = key in PROSE if isinstance(data, dict) else prose
        if isinstance(each, (dict, list)):
            strike(home, each, prose=is_prose)
        elif is_prose and isinstance(each, str):
            data[key] = home.struck(each)


def render(home: Home, path: str, data: dict[str, Any], validate: Validate) -> str:
    """The text of the next revision, which must follow the schema."""
    data["revision"] = data.get("revision", 0) + 1
    strike(home, data)
    check(data, home.relative(path), validate)
    text = yaml_text.dump(data)
    CHECKED.add(text, validate, data)  # it is read back soon, if at all
    return text


def write(home: Home, path: str, data: dict[str, Any], validate: Validate) -> str:
    """Replace the file with the next revision; returns the text."""
    text = render(home, path, data, validate)
    home.replace(path, text)
    return text
