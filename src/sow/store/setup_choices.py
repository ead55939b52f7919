"""The setup commands that the user refused, per git folder and exact text; kept in the user's state folder only."""

from __future__ import annotations

from sow.store import consents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REFUSED = "refusals"


def is_refused(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> bool:
    """Whether the user refused one of these commands."""
    known = consents.read(consents.path(environment, git_folder, REFUSED))
    return any(each in known for each in commands)


def refuse(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> None:
    """Remember that the user refused these commands in this repository."""
    consents.add(environment, git_folder, commands, kind=REFUSED)


def forget_refusal(environment: Mapping[str, str], git_folder: str, commands: Iterable[str]) -> None:
    """Forget that the user refused these commands."""
    consents.forget(environment, git_folder, commands, kind=REFUSED)
