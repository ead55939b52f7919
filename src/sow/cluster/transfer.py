"""Sends and fetches packets with git, step by step, so that a slow network holds up nothing else."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from sow.cluster.turn_request import REFS
from sow.errors import SowError
from sow.gitwork.repository import Repository
from sow.store.files.disk import remove_tree_quietly
from sow.system import clock, git, remote_git
from sow.system.process.program import SteppedProgram
from sow.system.process.steps import Steps

MOST_AT_ONCE = 200  # refs that one push removes
PARTS = ("fatal: ", "error: ")


class TransferFailed(SowError):
    """git could not send or fetch a packet."""


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

    def __init__(self, root: str, url: str, environment: Mapping[str, str]) -> None:
        self.root = root
        self.url = url
        self.environment = environment

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
        """Fetches a ref into this repository under the same name, and returns its commit."""
        arguments = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
        yield from self._git([*arguments, "--", self.url, f"+{ref}:{ref}"])
        return git.run(["rev-parse", "--verify", ref], cwd=self.root).strip()

    def try_fetch(self, ref: str) -> Steps[str]:
        """Fetches a ref that is only useful; returns "" if that fails."""
        try:
            return (yield from self.fetch(ref))
        except TransferFailed:
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

    def _git(self, arguments: list[str]) -> Steps[str]:
        settings = (*git.SETTINGS, *remote_git.SETTINGS)
        command = ["git", *settings, "-C", self.root, *arguments]
        code, output, errors = yield from run_program(command, self.environment)
        if code:
            lines = [line for line in errors.splitlines() if line.startswith(PARTS)] or errors.splitlines() or [""]
            reason = lines[0].partition(": ")[2] or lines[0] or f"exit code {code}"
            raise TransferFailed(
                f"git {arguments[0]} failed for {self.url}: {reason[:300]}", "see docs/how-to/cluster.md"
            )
        return output


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
