"""Stores the setup commands that the user refused, per git folder and exact text, in the user's state folder."""

from __future__ import annotations

from sow.store import consents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REFUSED = "refusals"


def is_refused(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> bool:
    """Returns whether the user refused one of these commands."""
    refused = consents.read(consents.path(environment, git_folder, REFUSED))
    return any(command in refused for command in commands)


def refuse(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> None:
    """Stores that the user refused these commands in this repository."""
    consents.add(environment, git_folder, commands, kind=REFUSED)


def forget_refusal(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> None:
    """Deletes the refusals of these commands."""
    path, allowed = consents.path(environment, git_folder, REFUSED), set(commands)
    refused = consents.read(path)
    if allowed & set(refused):
        consents.write(path, git_folder, {command: at for command, at in refused.items() if command not in allowed})
