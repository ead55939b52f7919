"""Sends and fetches packets with git, step by step, so that a slow network holds up nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from sow.cluster.turn_request import REFS
from sow.errors import SowError
from sow.gitwork.repository import Repository
from sow.store.files.disk import list_folder, remove_quietly, remove_tree_quietly
from sow.system import clock, git, remote_git
from sow.system.process.program import SteppedProgram
from sow.system.process.steps import Steps

MOST_AT_ONCE = 200  # refs that one push removes
PARTS = ("fatal: ", "error: ")
FULL = ("No space left on device", "Disk quota exceeded")
BEYOND_LIMIT = "File too large"
BLOCK = 512  # bytes; the unit of `ulimit -f`
LIMITED = 'trap "" XFSZ; ulimit -S -f "$0" || :; exec "$@"'  # a program that is told when a file gets too large


class TransferFailed(SowError):
    """git could not send or fetch a packet; the same can work later."""


class TooLarge(SowError):
    """A packet brings more than the limit; nothing of it is kept."""


class NoSpace(SowError):
    """The disk is full, on this machine or on the other one."""


def run_program(arguments: list[str], environment: Mapping[str, str]) -> Steps[tuple[int, str, str]]:
    """Runs a program; returns its exit code, its output and its errors."""
    program = SteppedProgram(arguments, environment=environment)
    output: list[str] = []
    try:
        while (lines := program.lines()) is not None:
            output += lines
            yield
        return program.code, "\n".join(output), program.errors()
    finally:
        program.end()


class Transfer:
    """Moves packets between a repository of this machine and one that both sides reach."""

    def __init__(self, root: str, url: str, environment: Mapping[str, str], *, fetch_mb: int = 0) -> None:
        """`fetch_mb` limits what one fetch brings; 0 is no limit."""
        self.root = root
        self.url = url
        self.environment = environment
        self.fetch_mb = fetch_mb

    def push(self, commits: Mapping[str, str]) -> Steps[None]:
        """Sends commits under the given refs."""
        specs = [f"{commit}:{ref}" for ref, commit in commits.items()]
        yield from self._git(["push", "--quiet", "--force", "--no-verify", "--", self.url, *specs])

    def try_push(self, commits: Mapping[str, str]) -> Steps[bool]:
        """Sends commits that are only useful; returns whether that worked."""
        try:
            yield from self.push(commits)
        except TransferFailed:
            return False
        return True

    def fetch(self, ref: str) -> Steps[str]:
        """Fetches a ref into this repository under the same name, and returns its commit.

        git writes what it fetches into one file, whose size is limited. Raises TooLarge beyond that.
        """
        arguments = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
        yield from self._git([*arguments, "--", self.url, f"+{ref}:{ref}"], self.fetch_mb)
        return git.run(["rev-parse", "--verify", ref], cwd=self.root).strip()

    def try_fetch(self, ref: str) -> Steps[str]:
        """Fetches a ref that is only useful; returns "" if that fails."""
        try:
            return (yield from self.fetch(ref))
        except (TransferFailed, TooLarge):
            return ""

    def fetch_commits(self, pattern: str) -> Steps[None]:
        """Fetches the commits of all refs that match, without their files if the other side can leave them out."""
        arguments = ["fetch", "--quiet", "--depth=1", "--filter=tree:0", "--no-tags", "--no-write-fetch-head"]
        yield from self._git([*arguments, "--", self.url, f"+{pattern}:{pattern}"])

    def find(self, ref: str) -> Steps[str]:
        """Returns the name of a ref there, or "" if there is none."""
        return "".join((yield from self.names(ref)))

    def commit_of(self, ref: str) -> Steps[str]:
        """Returns the commit of a ref there, or "" if there is none."""
        output = yield from self._git(["ls-remote", "--quiet", "--", self.url, ref])
        return output.partition("\t")[0]

    def replace(self, ref: str, new: str, old: str) -> Steps[None]:
        """Moves a ref there from one commit to another, if it still has the old one; "" is no commit."""
        lease = f"--force-with-lease={ref}:{old}"
        yield from self._git(["push", "--quiet", "--no-verify", lease, "--", self.url, f"{new}:{ref}"])

    def names(self, *patterns: str) -> Steps[list[str]]:
        """Returns the names of the refs there that match."""
        output = yield from self._git(["ls-remote", "--quiet", "--", self.url, *patterns])
        return [line.partition("\t")[2] for line in output.splitlines()]

    def remove(self, refs: Sequence[str]) -> Steps[None]:
        """Removes refs there; those that are gone already do not matter."""
        try:
            yield from self._git(["push", "--quiet", "--no-verify", "--", self.url, *(f":{ref}" for ref in refs)])
        except TransferFailed:
            return

    def _git(self, arguments: list[str], limit_mb: int = 0) -> Steps[str]:
        settings = (*git.SETTINGS, *remote_git.SETTINGS)
        command = ["git", *settings, "-C", self.root, *arguments]
        if limit_mb:
            command = ["sh", "-c", LIMITED, str((limit_mb << 20) // BLOCK), *command]
        code, output, errors = yield from run_program(command, self.environment)
        if not code:
            return output
        if limit_mb and BEYOND_LIMIT in errors:
            self._remove_cut_packs(limit_mb << 20)
            reason = f"it brings more than {limit_mb} MB (cluster.fetch_mb)"
            raise TooLarge(reason, f"allow more: sow config set cluster.fetch_mb {2 * limit_mb}")
        for line in errors.splitlines():
            if any(word in line for word in FULL):
                machine = "there" if line.startswith("remote: ") else "on this machine"
                raise NoSpace(f"no space left on device: the disk {machine} is full", "make space, and run again")
        lines = [line for line in errors.splitlines() if line.startswith(PARTS)] or errors.splitlines() or [""]
        reason = lines[0].partition(": ")[2] or lines[0] or f"exit code {code}"
        raise TransferFailed(
            f"git {arguments[0]} failed for {self.url}: {reason[:300]}",
            "check cluster.transfer, and whether git can reach it",
        )

    def _remove_cut_packs(self, limit: int) -> None:
        """Removes the files of fetches that reached the limit, which git leaves."""
        folder = git.run(["rev-parse", "--path-format=absolute", "--git-path", "objects/pack"], cwd=self.root).strip()
        for name in list_folder(folder):
            path = f"{folder}/{name}"
            if name.startswith("tmp_pack_") and os.path.getsize(path) >= limit:
                remove_quietly(path)


def drop_refs(repository: Repository, refs: Sequence[str]) -> None:
    """Removes refs of packets from the user's repository."""
    with repository.locked():
        repository.git("update-ref", "--stdin", "-z", input="".join(f"delete {ref}\0\0" for ref in refs))


def prune(url: str, folder: str, environment: Mapping[str, str], seconds: float) -> Steps[int]:
    """Removes the refs of turns whose commits are older; returns their number.

    Only the commits are fetched, into a repository in `folder` that is removed afterwards.
    """
    root = f"{folder}/prune-{clock.uuid4()}.git"
    git.run(["init", "--quiet", "--bare", "--", root], cwd="/")
    try:
        transfer = Transfer(root, url, environment)
        if not (yield from transfer.names(f"{REFS}/*")):  # a fetch that matches nothing would fail
            return 0
        yield from transfer.fetch_commits(f"{REFS}/*")
        listing = git.run(["for-each-ref", "--format=%(committerdate:unix) %(refname)", REFS], cwd=root)
        entries = [line.split(" ", 1) for line in listing.splitlines()]
        oldest = time.time() - seconds
        old = [ref for date, ref in entries if int(date) < oldest]
        for start in range(0, len(old), MOST_AT_ONCE):
            yield from transfer.remove(old[start : start + MOST_AT_ONCE])
        return len(old)
    finally:
        remove_tree_quietly(root)
