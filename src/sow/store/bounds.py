"""The bounds of a desk: which files of sow's own its worker has no business to write, as patterns for a CLI's rules."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.store.desk import Desk

SPECIAL = frozenset("\\*?[]{}()!")
DIGITS = "0123456789"
LOCAL = ("sessions", "runs", "removed", "litter")  # a task's worktree lies beside these, and is its working folder


def closed(desk: Desk, phases: Iterable[str]) -> tuple[str, ...]:
    """Settings, sessions, runs, the project's own state, others' desks and worktrees, and the copies in the git folder.

    What a worker has to say about these goes through `sow`. Knowledge stays open: it is a part of the work. Other desks
    are told by their ids rather than listed, so that one that is made during the turn is closed too.
    """
    home = desk.home
    sow, project = literal(home.sow), literal(home.project)
    files = [f"{sow}/config.yaml", f"{sow}/.gitignore", f"{project}/state.yaml", f"{project}/log.md"]
    folders = [f"{sow}/sinks", f"{sow}/repos", f"{project}/context", *(f"{sow}/local/{each}" for each in LOCAL)]
    folders += [f"{sow}/local/worktrees/{each}" for each in (*other_ids(desk.id), "integration-*")]
    folders += [f"{project}/phases/{each}" for each in phases if each != desk.phase]
    folders += [f"{project}/phases/{desk.phase}/tasks/{each}" for each in other_ids(desk.id)]
    folders += [f"{literal(each)}/sow" for each in dict.fromkeys((home.checkout.git, home.checkout.common))]
    return (*files, *(f"{each}/**" for each in folders))


def other_ids(task: str) -> list[str]:
    """Patterns that fit every task's id but this one: they differ in a digit, or go on after the last."""
    differing = [f"{task[:place]}[{DIGITS.replace(digit, '')}]*" for place, digit in enumerate(task)]
    return [*differing, f"{task}?*"]


def literal(path: str) -> str:
    """A path as a pattern that fits nothing but this path."""
    return "".join(f"\\{each}" if each in SPECIAL else each for each in path)
