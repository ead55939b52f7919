"""The git repository behind a home: its commits and refs, and the lock under which one sow at a time changes them."""

from __future__ import annotations

import os
from contextlib import contextmanager

from sow.errors import Failed, SowError
from sow.store.disk import remove_quietly
from sow.store.lock import Lock
from sow.system import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sow.store.home import Home
    from sow.system.git import Done

# Calls of `git worktree` side by side fail now and then, and a checkout may take minutes: others wait that long.
PATIENCE = 1800.0
OURS = ("refs/sow/", "refs/heads/sow/")
NO_REPOSITORY = "not a git repository"
NOBODY = {"NAME": "sow", "EMAIL": "sow@localhost"}
# What lives once, in the home, and is never a task's work: .sow/project and the desks of a workflow.
STATE = (".sow/project", "orchestration")


class Repository:
    """Git in one home. Whoever changes something holds it: `with repository.held():`."""

    __slots__ = ("depth", "folder", "home", "known_identity", "lock")

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folder = ""
        self.depth = 0
        self.known_identity: dict[str, str] | None = None
        self.lock: Lock | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Only this process changes worktrees and refs of ours; a git of ours that outlived its sow is waited for."""
        if not self.depth:
            self.folder = self.home.kept("git")
            self.lock = Lock(self.folder, patience=PATIENCE)
            self.lock.__enter__()
            self._sweep()
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            if not self.depth and self.lock:
                self.lock.__exit__(None, None, None)
                self.lock = None

    def _sweep(self) -> None:
        """Remove what a killed one left: nobody else has the lock."""
        for name in os.listdir(self.folder):
            remove_quietly(f"{self.folder}/{name}")

    def scratch(self, name: str) -> str:
        """A file for one act, such as an index that is nobody's; it goes with the lock's next holder."""
        path = f"{self.folder}/{name}"
        remove_quietly(path)
        remove_quietly(f"{path}.lock")
        return path

    def attempt(
        self,
        arguments: Sequence[str],
        *,
        cwd: str = "",
        options: Sequence[str] = (),
        input: str = "",
        index: str = "",
        variables: Mapping[str, str] | None = None,
        timeout: float = git.LONG,
    ) -> Done:
        """One git command in the home, or elsewhere; while we hold the repository, git holds it as well."""
        return git.attempt(
            arguments,
            cwd=cwd or self.home.root,
            options=[*options, *(("-c", "core.splitIndex=false") if index else ())],
            input=input,
            index=index,
            variables=variables,
            timeout=timeout,
            hold=self.lock.descriptor if self.lock else -1,
        )

    def git(
        self,
        *arguments: str,
        cwd: str = "",
        options: Sequence[str] = (),
        input: str = "",
        index: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> str:
        """The output of one git command that must not fail."""
        done = self.attempt(arguments, cwd=cwd, options=options, input=input, index=index, variables=variables)
        if done.code:
            raise git.failure(arguments, done)
        return done.out

    def commit_of(self, name: str) -> str:
        """The full id of a commit that somebody names."""
        found = self.find(name)
        if found:
            return found
        if not self.find("HEAD"):
            raise SowError(
                f"{self.home.root} has no commit yet", "make the first one: git commit --allow-empty -m start"
            )
        raise SowError(f"there is no commit {name!r} in {self.home.root}", "see 'git log --all' for what there is")

    def find(self, name: str) -> str:
        """The id of a commit, or nothing."""
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        done = self.attempt(words)
        if NO_REPOSITORY in done.err:
            raise git.failure(words, done)
        return done.out.strip()

    def tree_of(self, commit: str) -> str:
        """The id of a commit's tree."""
        return self.git("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").strip()

    def parents(self, commit: str) -> list[str]:
        """The ids of a commit's parents, the first one first."""
        return self.git("rev-list", "--no-walk", "--parents", "--end-of-options", commit).split()[1:]

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether the newer commit contains the older one."""
        return older == newer or self.attempt(["merge-base", "--is-ancestor", older, newer]).code == 0

    def are_related(self, one: str, other: str) -> bool:
        """Whether two commits have an ancestor in common."""
        return self.attempt(["merge-base", one, other]).code == 0

    def only_commits(self, objects: Iterable[str]) -> list[str]:
        """Those of some objects that are there and are commits."""
        asked = "".join(f"{each}\n" for each in objects)
        lines = self.git("cat-file", "--batch-check=%(objectname) %(objecttype)", input=asked).splitlines()
        return [line.split()[0] for line in lines if line.endswith(" commit")]

    def heads_of(self, commits: Iterable[str], *, apart: Iterable[str]) -> list[str]:
        """Those of some commits that none of the others contains, nor any of those apart."""
        asked = "".join(f"{each}\n" for each in commits)
        if not asked:
            return []
        asked += "".join(f"^{each}\n" for each in apart)
        lines = [line.split() for line in self.git("rev-list", "--parents", "--stdin", input=asked).splitlines()]
        inner = {parent for _, *parents in lines for parent in parents}
        return [commit for commit, *_ in lines if commit not in inner]

    def outside(self, commits: Iterable[str], refs: Iterable[str]) -> set[str]:
        """Those of some commits that none of these refs contains."""
        asked = set(commits)
        text = "".join(f"{each}\n" for each in asked) + "".join(f"^{each}\n" for each in refs)
        return asked & set(self.git("rev-list", "--stdin", input=text).split()) if asked else set()

    def refs(self, *prefixes: str) -> dict[str, str]:
        """Every ref below these names, and its object."""
        lines = self.git("for-each-ref", "--format=%(refname)%00%(objectname)", *prefixes).splitlines()
        return dict(line.split("\0") for line in lines)

    def set_ref(self, name: str, new: str, old: str | None = None, *, why: str) -> None:
        """Move a ref of ours, or make it; with `old`, only if it is still there ('' is: not there at all)."""
        if not name.startswith(OURS):
            raise AssertionError(f"{name} is not ours")
        expected = [] if old is None else [old or "0" * len(new)]
        words = ["update-ref", "-m", f"sow: {why}", name, new, *expected]
        done = self.attempt(words)
        if done.code and self._remove_stale_lock(name):
            done = self.attempt(words)
        if done.code:
            self._refuse_branch_above(name)
            raise Failed(f"cannot move {name}: {done.words}", "look at it with 'git show-ref', and run again")

    def _refuse_branch_above(self, name: str) -> None:
        """Git cannot make the branch a/b while there is a branch a."""
        parts = name.split("/")
        for depth in range(3, len(parts)):
            above = "/".join(parts[:depth])
            if self.find(above):
                raise branch_above(above.removeprefix("refs/heads/"))

    def drop_ref(self, name: str, old: str) -> None:
        """Remove a ref of ours that still has this value."""
        if not name.startswith(OURS):
            raise AssertionError(f"{name} is not ours")
        self.git("update-ref", "-d", name, old)

    def _remove_stale_lock(self, name: str) -> bool:
        """Remove the lock of a ref that only holders of this repository move: its git was killed in the middle."""
        path = f"{self.home.checkout.common}/{name}.lock"
        there = os.path.lexists(path)
        remove_quietly(path)
        return there and bool(self.lock)

    def commit_tree(self, tree: str, parents: Sequence[str], message: str) -> str:
        """A new commit, on no branch yet."""
        words = [word for parent in parents for word in ("-p", parent)]
        text = message.replace("\0", "").strip() + "\n"
        return self.git("commit-tree", tree, *words, "-F", "-", input=text, variables=self.identity()).strip()

    def identity(self) -> dict[str, str]:
        """Variables with a name of our own for a user who has told git none."""
        if self.known_identity is None:
            self.known_identity = {}
            for who in ("AUTHOR", "COMMITTER"):
                known = self.attempt(["var", f"GIT_{who}_IDENT"], options=["-c", "user.useConfigOnly=true"])
                if known.code:
                    self.known_identity |= {f"GIT_{who}_{field}": value for field, value in NOBODY.items()}
        return self.known_identity

    def entries(self, commit: str, *paths: str) -> list[str]:
        """What a commit has at some paths, or everywhere, as `git update-index --index-info` takes it."""
        listed = self.git("ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths)
        return [entry for entry in listed.split("\0") if entry]

    def put_entries(self, entries: Sequence[str], *, index: str, where: Callable[[str], bool]) -> list[str]:
        """Let an index have exactly these entries at the paths of which `where` says so; the paths that changed."""
        listed = self.git("ls-files", "-s", "-z", index=index).split("\0")
        present = {path_of(entry): _kind(entry) for entry in listed if entry and where(path_of(entry))}
        wanted = {path_of(entry): _kind(entry) for entry in entries}
        lines = {path: f"0 {'0' * len(oid)}\t{path}" for path, (_, oid) in present.items() if path not in wanted}
        for path, (mode, oid) in wanted.items():
            if present.get(path) != (mode, oid):
                lines[path] = f"{mode} {oid}\t{path}"
        if lines:
            self.git(
                "update-index", "-z", "--index-info", input="".join(f"{each}\0" for each in lines.values()), index=index
            )
        return list(lines)


def branch_above(name: str) -> SowError:
    """The error for a branch of the user in whose place sow needs a folder of branches."""
    return SowError(
        f"your branch {name} is in the way: git cannot make a branch {name}/… beside it",
        f"rename it: git branch -m {name} {name}-old",
    )


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of these, or lies in one of them."""
    return any(path == each or path.startswith(f"{each}/") for each in folders)


def path_of(entry: str) -> str:
    """The path in a line of ls-tree or ls-files."""
    return entry.partition("\t")[2]


def _kind(entry: str) -> tuple[str, str]:
    """Mode and object of a line of ls-tree (mode type object) or of ls-files (mode object stage)."""
    words = entry.partition("\t")[0].split()
    return (words[0], words[2] if words[1] in ("blob", "commit") else words[1])
