"""The user's consent to setup commands and their refusal, per git folder and exact text; in the user's state folder.

`missing` and `give` use the same file, form and arguments as the consents to all other commands.
"""

from __future__ import annotations

import os

from sow.errors import InvalidFile
from sow.store import user_file
from sow.store.disk import Disk, read_text
from sow.system import clock
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LARGEST = 32 << 20
GIVEN, REFUSED = "consents", "refusals"


def missing(
    environment: Mapping[str, str], git_folder: str, commands: Iterable[str], allow: Sequence[str] = ()
) -> list[str]:
    """The commands that still need the user's consent, each once, in the given order."""
    from fnmatch import fnmatchcase

    known = _read(_path(environment, GIVEN, git_folder))
    allowed = {each for each in commands if any(fnmatchcase(each, pattern) for pattern in allow)}
    return [each for each in dict.fromkeys(commands) if each not in known and each not in allowed]


def give(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> None:
    """Remember that the user agreed to these commands in this repository."""
    _add(environment, GIVEN, git_folder, commands)


def is_refused(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> bool:
    """Whether the user refused one of these commands."""
    known = _read(_path(environment, REFUSED, git_folder))
    return any(each in known for each in commands)


def refuse(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> None:
    """Remember that the user refused these commands in this repository."""
    _add(environment, REFUSED, git_folder, commands)


def forget_refusal(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> None:
    """Forget that the user refused these commands."""
    where, gone = _path(environment, REFUSED, git_folder), set(commands)
    known = _read(where)
    if gone & set(known):
        _write(where, git_folder, {each: at for each, at in known.items() if each not in gone})


def _add(environment: Mapping[str, str], kind: str, git_folder: str, commands: Iterable[str]) -> None:
    where = _path(environment, kind, git_folder)
    _write(where, git_folder, {**dict.fromkeys(commands, clock.now()), **_read(where)})


def _write(where: str, git_folder: str, commands: Mapping[str, str]) -> None:
    import json

    document = {"git_folder": os.path.realpath(git_folder), "commands": dict(commands)}
    user_file.write(where, f"{json.dumps(document, indent=2)}\n")


def _path(environment: Mapping[str, str], kind: str, git_folder: str) -> str:
    import hashlib

    name = hashlib.sha256(os.fsencode(os.path.realpath(git_folder))).hexdigest()
    return f"{user_folder(environment, 'XDG_STATE_HOME', '.local/state')}/sow/{kind}/{name}.json"


def _read(where: str) -> dict[str, str]:
    """The commands of a file with the time of each; a damaged file counts as empty, and the user is asked again."""
    import json

    try:
        found = json.loads(read_text(Disk(), where, LARGEST)).get("commands", {})
        return {command: str(at) for command, at in found.items()}
    except (FileNotFoundError, InvalidFile, ValueError, AttributeError):
        return {}
