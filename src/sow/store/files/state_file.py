"""Reads and writes state files, only as a whole and only if they follow the schema, and keeps a backup of each.

The backups are in the git folder, where stash, switch, clean and workers do not change them. A backup replaces a state
file that cannot be read.
"""

from __future__ import annotations

import os

from sow.errors import InvalidFile, SowError
from sow.store.files.disk import read_text, remove_quietly, replace_file
from sow.store.formats import VERSION, yaml_text
from sow.store.formats.validation import SchemaError, is_version, parts
from sow.store.formats.yaml_text import scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.files.checkout_home import Home

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sow.store.files.checkout_home import Home

    Validate = Callable[[Any], None]

PROSE = frozenset(
    {
        "abandoned_reason", "answer", "context", "criteria", "description", "escalation_reason", "evidence",
        "failed_reason", "feedback", "missing_evidence", "pending_answer", "question", "reason", "resolution",
        "review_feedback", "text",
    }
)  # fmt: skip
REVISION = "\nrevision: "  # begins the line of a revision in a text that sow wrote
MOST_REMEMBERED = 2 << 20  # characters of text
MOST_READ_ONCE = 100_000


class DocumentCache:
    """A cache of checked documents by their exact text, so that an entry is never out of date."""

    __slots__ = ("documents", "most", "read_once", "size")

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self.documents: dict[tuple[str, Validate], dict[str, Any]] = {}
        self.most = most  # characters of text; a document takes ten times as much memory
        self.size = 0
        self.read_once: set[int] = set()  # texts, by their hashes; most commands read each file once, and need no copy

    def get(self, text: str, validate: Validate) -> dict[str, Any] | None:
        """Returns a copy of the document that the caller may change."""
        document = self.documents.get((text, validate))
        return None if document is None else {key: _copy(value) for key, value in document.items()}

    def add_if_read_again(self, text: str, validate: Validate, data: dict[str, Any]) -> None:
        """Adds a document when its text is read for the second time."""
        key = hash(text)
        if key in self.read_once:
            self.add(text, validate, data)
        else:
            self.read_once.add(key)
            if len(self.read_once) > MOST_READ_ONCE:
                self.read_once.clear()

    def add(self, text: str, validate: Validate, data: dict[str, Any]) -> None:
        """Adds a document, and drops the oldest if the cache is too large."""
        if (text, validate) not in self.documents:
            self.size += len(text)
        self.documents[text, validate] = {key: _copy(value) for key, value in data.items()}
        while self.size > self.most:
            oldest = next(iter(self.documents))
            self.size -= len(oldest[0])
            del self.documents[oldest]


def _copy(value: Any) -> Any:
    """Returns a deep copy; most values are text, so the loops test for text first."""
    if isinstance(value, dict):
        return {key: item if type(item) is str else _copy(item) for key, item in value.items()}
    return [item if type(item) is str else _copy(item) for item in value] if isinstance(value, list) else value


CACHE = DocumentCache()


class OtherVersion(SowError):
    """Raised for a file of an older or newer version of sow."""


def parse(text: str, path: str, validate: Validate) -> dict[str, Any]:
    """Returns the state in a text, checked against the schema; a cached document is only copied."""
    document = CACHE.get(text, validate)
    if document is None:
        document = _parse(text, path, validate)
        CACHE.add_if_read_again(text, validate, document)
    return document


def _parse(text: str, path: str, validate: Validate) -> dict[str, Any]:
    data = yaml_text.load(text, path)
    if not isinstance(data, dict):
        raise InvalidFile(f"{path}: not a mapping of fields", "fix the file, or restore it from git")
    _check_version(data.get("schema_version"), path)
    check(data, path, validate)
    return data


def check(data: Any, path: str, validate: Validate) -> None:
    """Raises for the first field that does not follow the schema."""
    try:
        validate(data)
    except SchemaError as complaint:
        kind = validate.__module__.rpartition(".")[2].replace("_", "-")
        raise InvalidFile(
            f"{path}: {complaint}",
            f"fix it, or restore the file from git; the rules: sow schema show {kind}",
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


def revision(text: str) -> int:
    """Returns the revision in a text that sow wrote, or zero if there is none."""
    number = text.partition(REVISION)[2].partition("\n")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 20 else 0


def read(home: Home, path: str, validate: Validate, copy: str = "") -> dict[str, Any]:
    """Reads the state in a file; in a live run, the run's memory of the copy with this name replaces the text."""
    text = home.read(path, yaml_text.MAX_BYTES)
    if copy and home.memory is not None:
        text = home.memory.trusted_text(copy, text)
    return parse(text, home.relative(path), validate)


def redact(home: Home, data: Any, *, prose: bool = False) -> None:
    """Removes secrets from all prose fields of the data; names, paths and commands stay."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in list(pairs) if home.has_secrets else ():
        is_prose = key in PROSE if isinstance(data, dict) else prose
        if isinstance(value, (dict, list)):
            redact(home, value, prose=is_prose)
        elif is_prose and isinstance(value, str):
            data[key] = home.redact(value)


def render(home: Home, path: str, data: dict[str, Any], validate: Validate) -> str:
    """Returns the text of the next revision, which must follow the schema."""
    data["revision"] = data.get("revision", 0) + 1
    redact(home, data)
    check(data, home.relative(path), validate)
    text = yaml_text.dump(data)
    CACHE.add(text, validate, data)  # it is probably read back soon
    return text


def write(home: Home, path: str, data: dict[str, Any], validate: Validate) -> str:
    """Replaces the file with the next revision; returns the text."""
    text = render(home, path, data, validate)
    home.replace(path, text)
    return text


def save_backup(home: Home, project_id: str, name: str, text: str) -> None:
    """Saves a backup. If that fails, the change still counts, because the state file itself is already written."""
    path = _backup_path(home, project_id, name)
    if home.memory is not None:
        home.memory.remember(name, text)
    else:
        home.announce(name, text)
    try:
        replace_file(home.disk, f"{home.backup_folder(project_id)}/{backup_name(name)}", text, durable=False)
        home.stale_backups.discard(path)
    except SowError:
        home.stale_backups.add(path)


def is_stale_backup(home: Home, project_id: str, name: str) -> bool:
    """Returns True if the last write of a backup failed, so that it is older than its file."""
    return _backup_path(home, project_id, name) in home.stale_backups


def notes_key(task: str) -> str:
    """Returns the backup name of a task's notes."""
    return f"{task}-notes"


def description_key(task: str) -> str:
    """Returns the backup name of a task's description."""
    return f"{task}-description"


def project_backup_path(home: Home, branch: str) -> str:
    """Returns the path of the backup of this branch's project; empty if there is none."""
    owner = newest_owner(home, branch, "project")
    return _backup_path(home, owner, "project") if owner else ""


def newest_owner(home: Home, branch: str, name: str) -> str:
    """Returns the id of this branch's project or workflow with the newest backup of that name; empty if none."""
    folder = f"{home.checkout.common}/sow"
    owners = []
    for owner in os.listdir(folder) if os.path.isdir(folder) else ():
        copy = _backup_path(home, owner, name)
        try:
            if f"branch: {scalar(branch)}\n" in read_text(home.disk, copy):
                owners.append((os.path.getmtime(copy), owner))
        except (OSError, SowError):
            continue
    return max(owners)[1] if owners else ""


def delete_backups(home: Home, project_id: str, name: str) -> None:
    """Deletes a backup after its file was archived or removed."""
    remove_quietly(_backup_path(home, project_id, name))


def load_backup(home: Home, project_id: str, name: str) -> str | None:
    """Returns the text of a backup; None if it is missing or cannot be read."""
    try:
        return read_text(home.disk, _backup_path(home, project_id, name))
    except (FileNotFoundError, SowError):
        return None


def last_good(home: Home, owner: str, name: str, validate: Validate) -> str | None:
    """Returns the backup copy, if this version of sow can read it."""
    try:
        text = load_backup(home, owner, name)
        if text is not None:
            parse(text, f"the last good copy of {name}", validate)
    except SowError:  # torn, or of another version: the caller reports the broken file itself
        return None
    return text


def restore_last_good(home: Home, owner: str, name: str, path: str, validate: Validate, problem: InvalidFile) -> str:
    """Replaces a broken state file by its last good copy and moves it aside; raises the problem if there is no copy."""
    text = last_good(home, owner, name, validate) if owner else None
    if text is None:
        raise problem
    from sow.store.files import set_aside

    aside = set_aside.move_broken(home, path)
    home.replace(path, text)
    return f"{problem.message}; the last good state is back" + (f", the broken file is {aside}" if aside else "")


def backup_version(home: Home, project_id: str, name: str) -> tuple[int, int]:
    """Returns the inode and the time of a backup. They change with each write, because a write makes a new file."""
    try:
        info = os.stat(_backup_path(home, project_id, name))
    except OSError:
        return (0, 0)
    return (info.st_ino, info.st_mtime_ns)


def backup_folder(home: Home, project_id: str) -> str:
    """Returns the folder with the backups of a project."""
    return f"{home.checkout.common}/sow/{project_id}"


def backup_names(home: Home, project_id: str) -> set[str]:
    """Returns the file names of all backups of a project."""
    try:
        return set(os.listdir(backup_folder(home, project_id)))
    except FileNotFoundError:
        return set()


def backup_name(name: str) -> str:
    """Returns the file name of a backup."""
    return f"{name}.yaml"


def _backup_path(home: Home, project_id: str, name: str) -> str:
    return f"{backup_folder(home, project_id)}/{backup_name(name)}"
