"""The words that put a user's files away in git's stash, and back again, with the project left where it is."""

from __future__ import annotations

import shlex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MOST = 8  # paths in one command
OURS = (".sow", "orchestration")  # a stash without these names would take an untracked project along
SPECIAL = frozenset("*?[\\")


def advice(paths: Sequence[str], *, changed: Collection[str], untracked: Collection[str]) -> str:
    """How to make room for a run where these paths are in the way, of which some are untracked or ignored."""
    ignored = any(path not in changed and path not in untracked for path in paths)
    named = len(paths) <= MOST or ignored or any(path.split("/")[0] in OURS for path in paths)
    which = _places(paths) if named else shlex.join([":/", *(f":/!{each}" for each in OURS)])
    stash = f"git stash push {'--all' if ignored else '--include-untracked'} -- {which}"
    return f"commit them, or put them away ({stash}), then 'sow integrate'{_back(paths, changed)}"


def _back(paths: Sequence[str], changed: Collection[str]) -> str:
    """How they come back: a pop writes nothing over a file of the run that was untracked here."""
    pop = ", then 'git stash pop'" if any(path in changed for path in paths) else ""
    new = [path for path in paths if path not in changed]
    if not new:
        return pop
    which = _places(new) if len(new) <= MOST else "PATH"
    return f"{pop}; yours comes back over a file of the run by: git restore --source='stash@{{0}}^3' -- {which}"


def _places(paths: Sequence[str]) -> str:
    """Paths as git understands them in every folder of the checkout, and a shell as one word each."""
    return shlex.join(f":(top,literal){each}" if SPECIAL & set(each) else f":/{each}" for each in paths)
