"""The commands that the user agreed to or refused, by git folder and exact text; kept in the user's state folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence

from sow.domain.checks.task_checks import Consent
from sow.errors import InvalidFile, SystemFailure
from sow.store.files import user_file
from sow.store.files.disk import Disk, read_text
from sow.system import clock
from sow.system.environment import user_folder

LARGEST = 32 << 20
CONSENTS, REFUSED = "consents", "refusals"  # the kinds of files


def load(
    environment: Mapping[str, str], git_folder: str, *, allow: Sequence[str] = (), own: Iterable[str] = ()
) -> Consent:
    """Returns the user's consents for this repository, with the patterns and commands of the user's config."""
    return Consent(read(path(environment, git_folder)), allow=allow, own=own)


def missing(
    environment: Mapping[str, str], git_folder: str, commands: Iterable[str], allow: Sequence[str] = ()
) -> list[str]:
    """Returns the commands that still need the user's consent, each once, in the given order."""
    return load(environment, git_folder, allow=allow).missing(commands)


def is_refused(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> bool:
    """Returns whether the user refused one of these commands."""
    refused = read(path(environment, git_folder, REFUSED))
    return any(command in refused for command in commands)


def record(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> None:
    """Records that the user agreed to these commands in this repository."""
    add(environment, git_folder, commands, kind=CONSENTS)


def add(environment: Mapping[str, str], git_folder: str, commands: Iterable[str], *, kind: str) -> None:
    """Adds commands to a file of one repository."""
    file_path = path(environment, git_folder, kind)
    write(file_path, git_folder, {**dict.fromkeys(commands, clock.now()), **read(file_path)})


def forget(environment: Mapping[str, str], git_folder: str, commands: Iterable[str], *, kind: str) -> None:
    """Removes commands from a file of one repository."""
    file_path, removed = path(environment, git_folder, kind), set(commands)
    recorded = read(file_path)
    if removed & set(recorded):
        write(file_path, git_folder, {command: at for command, at in recorded.items() if command not in removed})


def write(file_path: str, git_folder: str, commands: Mapping[str, str]) -> None:
    """Replaces the commands of a file."""
    document = {"git_folder": os.path.realpath(git_folder), "commands": dict(commands)}
    user_file.write(file_path, f"{json.dumps(document, indent=2)}\n")


def path(environment: Mapping[str, str], git_folder: str, kind: str = CONSENTS) -> str:
    """Returns the file of one repository. Files without an ending are consents of older versions, and unused."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(git_folder))).hexdigest()
    return f"{user_folder(environment, 'XDG_STATE_HOME', '.local/state')}/sow/{kind}/{name}.json"


def read(file_path: str) -> dict[str, str]:
    """Returns the commands of a file with the time of each consent. If it is unreadable, it has none."""
    try:
        times = json.loads(read_text(Disk(), file_path, LARGEST)).get("commands", {})
        return {command: str(at) for command, at in times.items()}
    except (FileNotFoundError, SystemFailure, InvalidFile, ValueError, AttributeError):
        return {}
