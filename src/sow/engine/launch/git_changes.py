"""Shows the changes that appeared in the git folder while workers ran, and undoes or keeps them."""

from __future__ import annotations

from sow.domain.text.units import counted
from sow.errors import SystemFailure, Waiting
from sow.store import git_watch
from sow.store.files.checkout_home import Home
from sow.system.terminal import confirm, err, escape_line, is_interactive, out, require_yes

QUESTION = "Undo these changes?"


def offer_undo(home: Home, *, yes: bool) -> None:
    """Lists the changes after a run and offers to undo them on a terminal; `--yes` does not cover this."""
    changes = git_watch.open_changes(home)
    if not changes:
        return
    _list(changes)
    if not yes and is_interactive() and confirm(QUESTION):
        _undo(home)
    else:
        err(f"sow does not use them. Undo them: {git_watch.UNDO}. Keep and use them: {git_watch.KEEP}")


def undo(home: Home, *, yes: bool) -> int:
    """Asks the user, then undoes all changes."""
    changes = git_watch.open_changes(home)
    if changes:
        _list(changes)
        _agree(QUESTION, git_watch.UNDO, yes=yes)
    _undo(home)
    return 0


def keep(home: Home, *, yes: bool) -> int:
    """Asks the user, then keeps all changes; sow uses them from now on."""
    changes = git_watch.open_changes(home)
    if changes:
        _list(changes)
        _agree("Keep these changes, and let sow use them?", git_watch.KEEP, yes=yes)
    git_watch.accept_changes(home)
    out(f"kept {counted(len(changes), 'change')}")
    return 0


def _undo(home: Home) -> None:
    count = len(git_watch.open_changes(home))
    failures = git_watch.undo(home)
    if failures:
        raise SystemFailure(f"cannot undo: {escape_line(failures[0])}", f"undo it by hand, then: {git_watch.KEEP}")
    out(f"undid {counted(count, 'change')}; removed files are in .git/sow/removed")


def _list(changes: list[str]) -> None:
    err("These changes appeared in the git folder while workers ran:")
    for change in changes:
        err(f"  {escape_line(change)}")


def _agree(question: str, command: str, *, yes: bool) -> None:
    if not yes:
        require_yes(
            question,
            Waiting("changes in the git folder need your consent", f"look at them, then: {command} --yes"),
            Waiting("nothing was changed", f"decide later: {command}"),
        )
