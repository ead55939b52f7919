"""Fast-forwards the user's checkout to what a run has integrated, without losing any of the user's files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sow.domain.text.path_pattern import folders_above
from sow.domain.text.units import listed
from sow.gitwork.diffs import changed_paths
from sow.gitwork.repository import STATE_PATHS, DeliveryRefused, Repository, is_below, path_of
from sow.gitwork.worktree import remove_file
from sow.system import git

AGAIN = "then 'sow integrate'"
MERGE = [
    "merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash", "--no-overwrite-ignore",
    "--no-verify-signatures",
]  # fmt: skip
STATUS = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=no"]
STATUS += ["--ignore-submodules=dirty"]  # git would use the submodules' settings, which a worker can write
UNTRACKED = "??"


@dataclass(frozen=True)
class Delivered:
    """The commit on which the user's branch is now, and the paths that changed."""

    commit: str
    paths: list[str]


def fast_forward(
    repository: Repository, branch: str, target: str, *, rehearse: bool = False
) -> Delivered | DeliveryRefused:
    """Fast-forwards the home's checkout of a branch to the target, or returns the reason why not and changes nothing.

    With `rehearse`, only test whether it would work.
    """
    refused = _refuse_other_branch(repository, branch)
    if refused:
        return refused
    old = repository.commit_of("HEAD")
    if repository.is_ancestor(target, old):
        return Delivered(old, [])
    if not repository.is_ancestor(old, target):
        return DeliveryRefused(
            f"{branch} has commits that the run has not", "'sow integrate' brings them in and checks them"
        )
    paths = [path for path in changed_paths(repository, old, target) if not is_below(path, STATE_PATHS)]
    refused = _refuse_dirty(repository, old, paths) or _rehearse(repository, old, target)
    if refused or rehearse:
        return refused or Delivered(target, paths)
    return _move(repository, branch, old, target, paths)


def _refuse_other_branch(repository: Repository, branch: str) -> DeliveryRefused | None:
    """Refuses if the branch is not checked out or another git operation is under way."""
    checkout = repository.home.checkout
    current = checkout.branch()
    if current != branch:
        position = f"on {current}" if current else "on no branch"
        return DeliveryRefused(
            f"{checkout.root} is {position}, and the run belongs to {branch}", f"git switch {branch}, {AGAIN}"
        )
    for command in git.unfinished_operations(checkout.git).values():
        hint = f"end it (git {command} --continue, or --abort), {AGAIN}"
        return DeliveryRefused(f"a {command} is under way in {checkout.root}", hint)
    if os.path.lexists(f"{checkout.git}/index.lock"):
        return DeliveryRefused(f"another git command is at work in {checkout.root}", f"wait for its end, {AGAIN}")
    return None


def _refuse_dirty(repository: Repository, old: str, paths: Sequence[str]) -> DeliveryRefused | None:
    """Refuses if a file that would change is modified, staged or untracked, so that no user file is overwritten."""
    entries = [entry for entry in repository.git(*STATUS).split("\0") if entry and not is_below(entry[3:], STATE_PATHS)]
    dirty = {entry[3:].rstrip("/"): entry[:2] for entry in entries}
    touched = list(dict.fromkeys(_overlapping(list(dirty), paths) + _blocking_files(repository, old, paths)))
    if not touched:
        return None
    untracked = {path for path, code in dirty.items() if code == UNTRACKED}
    return DeliveryRefused(
        f"the run changes files that you have changed or not committed: {listed(touched, 4)}",
        stash_hint(touched, changed=dirty.keys() - untracked, untracked=untracked),
    )


def _overlapping(paths: Sequence[str], changed: Sequence[str]) -> list[str]:
    """Returns the paths that are changed, or lie above or below a changed one."""
    exact = set(changed)
    above = {folder for path in changed for folder in folders_above(path)}
    return [path for path in paths if path in exact or path in above or exact & set(folders_above(path))]


def _blocking_files(repository: Repository, old: str, paths: Sequence[str]) -> list[str]:
    """Lists files, even ignored ones, at paths where the branch has no file yet. Git would overwrite ignored files."""
    root = repository.home.root
    committed = {path_of(entry) for entry in repository.tree_entries(old)}
    obstacles = []
    for path in paths:
        for part in (*folders_above(path), path):
            absolute = f"{root}/{part}"
            is_folder = os.path.isdir(absolute) and not os.path.islink(absolute)
            if part in committed or not os.path.lexists(absolute) or (is_folder and part != path):
                continue
            if not is_folder or _has_uncommitted(absolute, root, committed):
                obstacles.append(part)
            break
    return obstacles


def _has_uncommitted(folder: str, root: str, committed: set[str]) -> bool:
    for directory, _, names in os.walk(folder):
        if any(f"{directory}/{name}".removeprefix(f"{root}/") not in committed for name in names):
            return True
    return False


def _rehearse(repository: Repository, old: str, target: str) -> DeliveryRefused | None:
    """Tries the move with a copy of the user's index, without writing a file."""
    index = repository.temp_file("rehearsal")
    source = f"{repository.home.checkout.git}/index"
    if os.path.exists(source):
        git.copy_file(source, index)
    repository.run_git(["update-index", "-q", "--refresh"], index=index)
    _copy_state_entries(repository, target, index)
    done = repository.run_git(["read-tree", "-n", "-m", "-u", old, target], index=index)
    return (
        DeliveryRefused(f"git would not do it: {done.message}", f"look at 'git status', {AGAIN}") if done.code else None
    )


def _copy_state_entries(repository: Repository, target: str, index: str = "") -> None:
    """Gives an index the target's state entries, so that git leaves the state files alone."""
    entries = repository.tree_entries(target, *STATE_PATHS)
    repository.set_index_entries(entries, index=index, where=lambda path: is_below(path, STATE_PATHS))


def _move(repository: Repository, branch: str, old: str, target: str, paths: list[str]) -> Delivered | DeliveryRefused:
    """Fast-forwards. If git fails in the middle, every file is restored."""
    state_entries = [entry for entry in repository.git("ls-files", "-s", "-z", "--", *STATE_PATHS).split("\0") if entry]
    _copy_state_entries(repository, target)
    # The user's settings may ask for --squash or --no-ff on this branch. That must not apply here.
    options = [] if "=" in branch else ["-c", f"branch.{branch}.mergeoptions="]
    done = repository.run_git([*MERGE, target], options=[*options, "-c", "merge.autoStash=false"])
    if not done.code and repository.find_commit("HEAD") == target:
        _restore_state_files(repository)
        return Delivered(target, paths)
    repository.set_index_entries(state_entries, index="", where=lambda path: is_below(path, STATE_PATHS))
    _restore_files(repository, old, paths)
    return DeliveryRefused(f"git did not do it: {done.message}", f"fix that, {AGAIN}")


def _restore_state_files(repository: Repository) -> None:
    """Writes the state files again. If the user's sparse checkout leaves them out, the merge has removed them."""
    entries = repository.git("ls-files", "-t", "-z", "--", *STATE_PATHS).split("\0")
    hidden = "".join(f"{entry[2:]}\0" for entry in entries if entry.startswith("S "))
    if hidden:
        repository.git("update-index", "-z", "--no-skip-worktree", "--stdin", input=hidden)
        repository.run_git(["checkout-index", "--index", "--quiet", "-z", "--stdin"], input=hidden)


def _restore_files(repository: Repository, old: str, paths: Sequence[str]) -> None:
    """Restores the changed paths from the branch. They were clean before."""
    committed = {path_of(entry) for entry in repository.tree_entries(old)}
    for path in paths:
        if path not in committed:
            remove_file(repository.home.root, path)
    existing = "".join(f"{path}\0" for path in paths if path in committed)
    repository.run_git(["checkout-index", "--force", "--index", "--quiet", "-z", "--stdin"], input=existing)


MOST = 8  # paths in one command
OURS = (".sow", "orchestration")  # without these exclusions, a stash would include an untracked project
SPECIAL = frozenset("*?[\\")


def stash_hint(paths: Sequence[str], *, changed: Collection[str], untracked: Collection[str]) -> str:
    """Returns how to move these paths out of a run's way. Some of them may be untracked or ignored."""
    ignored = any(path not in changed and path not in untracked for path in paths)
    by_path = len(paths) <= MOST or ignored or any(path.split("/")[0] in OURS for path in paths)
    pathspecs = _pathspecs(paths) if by_path else shlex.join([":/", *(f":/!{folder}" for folder in OURS)])
    stash = f"git stash push {'--all' if ignored else '--include-untracked'} -- {pathspecs}"
    return f"commit them, or put them away ({stash}), then 'sow integrate'{_restore_hint(paths, changed)}"


def _restore_hint(paths: Sequence[str], changed: Collection[str]) -> str:
    """Returns how to restore them. A pop does not overwrite a file of the run that was untracked before."""
    pop = ", then 'git stash pop'" if any(path in changed for path in paths) else ""
    untracked = [path for path in paths if path not in changed]
    if not untracked:
        return pop
    pathspecs = _pathspecs(untracked) if len(untracked) <= MOST else "PATH"
    return f"{pop}; yours comes back over a file of the run by: git restore --source='stash@{{0}}^3' -- {pathspecs}"


def _pathspecs(paths: Sequence[str]) -> str:
    """Returns pathspecs that work in every folder of the checkout, quoted for a shell."""
    return shlex.join(f":(top,literal){path}" if SPECIAL & set(path) else f":/{path}" for path in paths)
