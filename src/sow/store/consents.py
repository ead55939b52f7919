"""The commands that the user agreed to or refused, by git folder and exact text; kept in the user's state folder."""

from __future__ import annotations

import os

from sow.domain.agreed import Agreed
from sow.errors import Failed, InvalidFile
from sow.store import user_file
from sow.store.disk import Disk, read_text
from sow.system import clock
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LARGEST = 32 << 20
GIVEN, REFUSED = "consents", "refusals"  # the kinds of files


def load(
    environment: Mapping[str, str], git_folder: str, *, allow: Sequence[str] = (), own: Iterable[str] = ()
) -> Agreed:
    """What the user agreed to in this repository, with the patterns and commands of the user's config."""
    return Agreed(read(path(environment, git_folder)), allow=allow, own=own)


def missing(
    environment: Mapping[str, str], git_folder: str, commands: Iterable[str], allow: Sequence[str] = ()
) -> list[str]:
    """The commands that still need the user's consent, each once, in the given order."""
    return load(environment, git_folder, allow=allow).missing(commands)


def is_refused(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> bool:
    """Whether the user refused one of these commands."""
    known = read(path(environment, git_folder, REFUSED))
    return any(each in known for each in commands)


def give(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> None:
    """Remember that the user agreed to these commands in this repository."""
    add(environment, git_folder, commands, kind=GIVEN)


def add(environment: Mapping[str, str], git_folder: str, commands: Iterable[str], *, kind: str) -> None:
    """Add commands to a file of one repository."""
    where = path(environment, git_folder, kind)
    write(where, git_folder, {**dict.fromkeys(commands, clock.now()), **read(where)})


def forget(environment: Mapping[str, str], git_folder: str, commands: Iterable[str], *, kind: str) -> None:
    """Remove commands from a file of one repository."""
    where, gone = path(environment, git_folder, kind), set(commands)
    known = read(where)
    if gone & set(known):
        write(where, git_folder, {each: at for each, at in known.items() if each not in gone})


def write(where: str, git_folder: str, commands: Mapping[str, str]) -> None:
    """Replace the commands of a file."""
    import json

    document = {"git_folder": os.path.realpath(git_folder), "commands": dict(commands)}
    user_file.write(where, f"{json.dumps(document, indent=2)}\n")


def path(environment: Mapping[str, str], git_folder: str, kind: str = GIVEN) -> str:
    """The file of one repository. Files without an ending are consents of older versions, by plan: they are unused."""
    import hashlib

    name = hashlib.sha256(os.fsencode(os.path.realpath(git_folder))).hexdigest()
    return f"{user_folder(environment, 'XDG_STATE_HOME', '.local/state')}/sow/{kind}/{name}.json"


def read(where: str) -> dict[str, str]:
    """The commands of a file with the time of each consent; an unreadable file has none, so the user is asked."""
    import json

    try:
        found = json.loads(read_text(Disk(), where, LARGEST)).get("commands", {})
        return {command: str(at) for command, at in found.items()}
    except (FileNotFoundError, Failed, InvalidFile, ValueError, AttributeError):
        return {}
