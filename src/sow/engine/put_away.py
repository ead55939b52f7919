"""Writes the commands that stash a user's files and restore them, without stashing the project's state."""

from __future__ import annotations

import shlex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MOST = 8  # paths in one command
OURS = (".sow", "orchestration")  # without these exclusions, a stash would include an untracked project
SPECIAL = frozenset("*?[\\")


def advice(paths: Sequence[str], *, changed: Collection[str], untracked: Collection[str]) -> str:
    """Return how to move these paths out of a run's way. Some of them may be untracked or ignored."""
    ignored = any(path not in changed and path not in untracked for path in paths)
    by_path = len(paths) <= MOST or ignored or any(path.split("/")[0] in OURS for path in paths)
    pathspecs = _places(paths) if by_path else shlex.join([":/", *(f":/!{folder}" for folder in OURS)])
    stash = f"git stash push {'--all' if ignored else '--include-untracked'} -- {pathspecs}"
    return f"commit them, or put them away ({stash}), then 'sow integrate'{_back(paths, changed)}"


def _back(paths: Sequence[str], changed: Collection[str]) -> str:
    """Return how to restore them. A pop does not overwrite a file of the run that was untracked before."""
    pop = ", then 'git stash pop'" if any(path in changed for path in paths) else ""
    untracked = [path for path in paths if path not in changed]
    if not untracked:
        return pop
    pathspecs = _places(untracked) if len(untracked) <= MOST else "PATH"
    return f"{pop}; yours comes back over a file of the run by: git restore --source='stash@{{0}}^3' -- {pathspecs}"


def _places(paths: Sequence[str]) -> str:
    """Return pathspecs that work in every folder of the checkout, quoted for a shell."""
    return shlex.join(f":(top,literal){path}" if SPECIAL & set(path) else f":/{path}" for path in paths)
