"""Reads git's facts about a folder from its files, because a hot verb cannot afford to start git."""

from __future__ import annotations

import os

from sow.errors import SowError, SystemFailure

PATIENCE = 10  # seconds for one call of git


class Checkout:
    """One working tree: its root, its own git folder, and the folder that all worktrees share."""

    __slots__ = ("common", "git", "root")

    def __init__(self, *, root: str, git: str, common: str) -> None:
        self.root = root
        self.git = git
        self.common = common

    def branch(self) -> str:
        """Returns the branch that is checked out, or nothing if HEAD is detached."""
        head = _link(f"{self.git}/HEAD") or _first_line(f"{self.git}/HEAD")
        if head == "ref: refs/heads/.invalid":  # the reftable format keeps HEAD elsewhere
            from sow.system.process.program import capture

            command = ["git", "-C", self.root, "symbolic-ref", "--quiet", "--short", "HEAD"]
            return capture(command, environment=os.environ, timeout=PATIENCE).text.strip()
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def at(root: str) -> Checkout | None:
    """Returns the checkout whose root is this folder, if it is one."""
    dot_git = f"{root}/.git"
    if os.path.isdir(dot_git):
        return Checkout(root=root, git=dot_git, common=dot_git)
    if not os.path.isfile(dot_git):
        return None
    pointer = _first_line(dot_git)
    if not pointer.startswith("gitdir: "):
        raise SowError(f"{dot_git} is not a pointer to a git folder", "repair the worktree: git worktree repair")
    git = os.path.normpath(os.path.join(root, pointer.removeprefix("gitdir: ")))
    common = f"{git}/commondir"
    shared = os.path.normpath(os.path.join(git, _first_line(common))) if os.path.exists(common) else git
    return Checkout(root=root, git=git, common=shared)


def is_repository(folder: str) -> bool:
    """Returns whether a folder is the root of a checkout, or a bare repository."""
    bare = (f"{folder}/HEAD", f"{folder}/objects", f"{folder}/refs")
    return os.path.lexists(f"{folder}/.git") or all(map(os.path.exists, bare))


def _link(path: str) -> str:
    """Returns the target of a HEAD that is a symbolic link, as old versions of git made it, in the form of a file."""
    try:
        target = os.readlink(path)
    except OSError:
        return ""
    return f"ref: {target}" if target.startswith("refs/") else ""


def _first_line(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.read(descriptor, 4096)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SystemFailure(f"cannot read {path}: {error.strerror}", "repair the repository: git fsck") from None
    return data.partition(b"\n")[0].decode("utf-8", "surrogateescape")
