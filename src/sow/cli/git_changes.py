"""The changes that appeared in the git folder while workers ran: shown, and undone with the user's consent."""

from __future__ import annotations

from sow.errors import Failed, Waiting
from sow.store import git_watch
from sow.system.terminal import confirm, err, harmless_line, is_interactive, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home

QUESTION = "Undo these changes?"


def settle(home: Home, *, yes: bool) -> None:
    """After a run: list the changes, and offer to undo them on a terminal. `--yes` is no consent to that."""
    changes = git_watch.pending(home)
    if not changes:
        return
    _list(changes)
    if not yes and is_interactive() and confirm(QUESTION):
        _undo(home)
    else:
        err(f"sow does not use them. Undo them: {git_watch.UNDO}. Keep and use them: {git_watch.KEEP}")


def undo(home: Home, *, yes: bool) -> int:
    """Undo all changes, after a question."""
    changes = git_watch.pending(home)
    if changes:
        _list(changes)
        _agree(QUESTION, git_watch.UNDO, yes=yes)
    _undo(home)
    return 0


def keep(home: Home, *, yes: bool) -> int:
    """Keep all changes, after a question: from now on sow uses them."""
    changes = git_watch.pending(home)
    if changes:
        _list(changes)
        _agree("Keep these changes, and let sow use them?", git_watch.KEEP, yes=yes)
    git_watch.keep(home)
    out(f"kept {len(changes)} change{'' if len(changes) == 1 else 's'}")
    return 0


def _undo(home: Home) -> None:
    count = len(git_watch.pending(home))
    failures = git_watch.undo(home)
    if failures:
        raise Failed(f"cannot undo: {harmless_line(failures[0])}", f"undo it by hand, then: {git_watch.KEEP}")
    out(f"undid {count} change{'' if count == 1 else 's'}; removed files are in .git/sow/removed")


def _list(changes: list[str]) -> None:
    err("These changes appeared in the git folder while workers ran:")
    for change in changes:
        err(f"  {harmless_line(change)}")


def _agree(question: str, command: str, *, yes: bool) -> None:
    if yes:
        return
    if not is_interactive():
        raise Waiting("changes in the git folder need your consent", f"look at them, then: {command} --yes")
    if not confirm(question):
        raise Waiting("nothing was changed", f"decide later: {command}")
