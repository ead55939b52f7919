"""Finds the commit of a ref at a remote, and fetches the files of one commit without its history."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from sow.domain.inputs import is_branch_name
from sow.errors import SowError, SystemFailure
from sow.knowledge import source_rules as sources
from sow.knowledge import tree_listing
from sow.knowledge.tree_listing import LINK, MODULE, TreeEntry
from sow.store.knowledge import install_folder
from sow.store.knowledge.install_folder import ScratchFolder
from sow.system import git, remote_git
from sow.system.remote_git import GitCommand, RemoteResult

AUTH_ERRORS = (
    "could not read Username", "could not read Password", "terminal prompts disabled", "Authentication failed",
    "Permission denied", "Host key verification failed", "No user exists", "403",
)  # fmt: skip
MISSING_REPO_ERRORS = (
    "does not appear to be a git repository",
    "does not exist",
    "not found",
    "No such file or directory",
)
NO_FILTERS = "* -filter -ident -working-tree-encoding -text\n"  # runs no filter program on a file, and changes no file

MOST_REFS, LONGEST_REF = 1000, 100  # of the refs that are compared for a hint
NAMED = 6
# Lets a repository on this machine send single folders, too.
PARTIAL_UPLOAD_PACK = "git -c uploadpack.allowFilter=true upload-pack"


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchLimits:
    """Limits for the size and the duration of a fetch."""

    megabytes: int
    files: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ResolvedRef:
    """The commit of a ref at its remote, or the problem; `reached` is True if the remote answered."""

    commit: str = ""
    problem: SowError | None = None
    reached: bool = True


def resolve(url: str, ref: str, *, seconds: float) -> str:
    """Returns the commit of one ref."""
    result = resolve_all([(url, ref)], seconds=seconds)[0]
    if result.problem:
        raise result.problem
    return result.commit


def resolve_all(refs: Sequence[tuple[str, str]], *, seconds: float) -> list[ResolvedRef]:
    """Returns the commits of many refs, asked for in parallel; a full commit id needs no question."""
    asked = [(url, ref) for url, ref in dict.fromkeys(refs) if not sources.is_commit(ref)]
    answers = remote_git.run_all(
        [GitCommand(["ls-remote", "--", url, *_patterns(ref)]) for url, ref in asked], timeout=seconds
    )
    by_ref = {pair: _read_answer(*pair, answer, seconds) for pair, answer in zip(asked, answers, strict=True)}
    absent = [(url, ref) for (url, ref), result in by_ref.items() if result.reached and result.problem and ref]
    by_ref |= dict(zip(absent, _resolve_missing(absent, seconds), strict=True))
    return [ResolvedRef(ref) if sources.is_commit(ref) else by_ref[url, ref] for url, ref in refs]


def _patterns(ref: str) -> list[str]:
    return [f"refs/tags/{ref}^{{}}", f"refs/tags/{ref}", f"refs/heads/{ref}"] if ref else ["HEAD"]


def _read_answer(url: str, ref: str, answer: RemoteResult, seconds: float) -> ResolvedRef:
    if answer.code or answer.stopped:
        return ResolvedRef(problem=_fetch_error(url, answer, seconds), reached=False)
    refs = {name: commit for commit, _, name in (line.partition("\t") for line in answer.out.splitlines())}
    commit = next((refs[name] for name in _patterns(ref) if name in refs), "")
    if sources.is_commit(commit):
        return ResolvedRef(commit)
    return ResolvedRef(problem=_missing_ref_error(url, ref, ""))


def _missing_ref_error(url: str, ref: str, some: str) -> SowError:
    missing = f"no branch or tag {ref!r}" if ref else "no commit"
    return SowError(f"{url} has {missing}", f"{some or 'see what it has'}: git ls-remote {url}")


def _resolve_missing(absent: Sequence[tuple[str, str]], seconds: float) -> list[ResolvedRef]:
    """Builds the errors for refs that their remotes lack: each remote is asked for the refs that it has."""
    asks = [GitCommand(["ls-remote", "--heads", "--tags", "--refs", "--", url]) for url, _ in absent]
    answers = remote_git.run_all(asks, timeout=seconds)
    return [
        ResolvedRef(problem=_missing_ref_error(url, ref, _similar_refs(ref, answer)))
        for (url, ref), answer in zip(absent, answers, strict=True)
    ]


def _similar_refs(ref: str, answer: RemoteResult) -> str:
    """Names a few branches and tags of a remote, the most similar first; empty if it does not answer."""
    import difflib

    lines = () if answer.code or answer.stopped else answer.out.splitlines()[:MOST_REFS]
    names = [line.partition("\t")[2].removeprefix("refs/heads/").removeprefix("refs/tags/") for line in lines]
    names = list(dict.fromkeys(name for name in names if len(name) <= LONGEST_REF and is_branch_name(name)))
    near = difflib.get_close_matches(ref[:LONGEST_REF], names, n=NAMED, cutoff=0.0)
    return f"give one that it has, such as {', '.join(near)}; all of them" if near else ""


def _fetch_error(url: str, answer: RemoteResult, seconds: float) -> SowError:
    """Turns git's output into an error with the next step."""
    output = f"{answer.err}\n{answer.out}"
    if answer.stopped == "timeout":
        return SystemFailure(
            f"{url} did not answer within {seconds:.0f} seconds", "see whether you reach it, and try again"
        )
    if answer.stopped:
        return SystemFailure(
            f"{url} is larger than the limit of {answer.stopped}",
            "raise the limit under `knowledge` (sow config edit), or use a server that sends single folders",
        )
    if any(text in output for text in AUTH_ERRORS):
        return SystemFailure(
            f"{url} asks for a password or a key: {answer.message}",
            "set up git's credential helper or ssh-agent: 'git ls-remote' must work without a question",
        )
    if "not our ref" in output:
        return SowError(f"{url} has no such commit", "give a commit that is on one of its branches")
    if any(text in output for text in MISSING_REPO_ERRORS):
        return SystemFailure(f"there is no repository at {url}: {answer.message}", "check the address")
    return SystemFailure(
        f"cannot fetch from {url}: {answer.message}", f"see whether git reaches it: git ls-remote {url}"
    )


@dataclass(frozen=True, slots=True)
class FetchRepository:
    """A temporary git folder with the objects of one commit."""

    scratch: ScratchFolder
    url: str
    commit: str
    limits: FetchLimits
    git: str

    @property
    def options(self) -> list[str]:
        return [f"--git-dir={self.git}"]

    def run_git(
        self, arguments: list[str], options: Sequence[str] = (), *, input: str = "", bounded: bool = False
    ) -> None:
        """Runs one git command in this folder; raises if it fails."""
        ask = GitCommand(arguments, folder=self.scratch.folder, options=[*self.options, *options], input=input)
        answer = remote_git.run(ask, timeout=self.limits.seconds, watch=self._exceeded_limit if bounded else None)
        if answer.code or answer.stopped:
            raise _fetch_error(self.url, answer, self.limits.seconds)

    def _exceeded_limit(self) -> str:
        """Returns the limit as text if the scratch folder is larger than it, else an empty text."""
        size = 0
        for folder, _, names in os.walk(self.scratch.folder):
            for name in names:
                try:
                    size += os.lstat(f"{folder}/{name}").st_size
                except OSError:  # a temporary file that git deleted in the meantime
                    continue
        return f"{self.limits.megabytes} MB" if size > self.limits.megabytes << 20 else ""

    def fetch(self, *arguments: str, input: str = "") -> None:
        """Fetches objects; the remote is configured for this one call, so that no other git command contacts it."""
        options = ["-c", f"remote.origin.url={self.url}", "-c", "remote.origin.promisor=true"]
        if sources.kind_of(self.url) in (sources.PATH, sources.FILE):
            options += ["-c", f"remote.origin.uploadpack={PARTIAL_UPLOAD_PACK}"]
        flags = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance"]
        self.run_git(["fetch", *flags, *arguments], options, input=input, bounded=True)


def fetch_folder(
    scratch: ScratchFolder, url: str, commit: str, path: str, limits: FetchLimits
) -> tuple[str, list[str]]:
    """Writes the files of one folder at one commit into a new folder; returns the folder and remarks."""
    store = FetchRepository(scratch, url, commit, limits, f"{scratch.folder}/objects.git")
    store.run_git(["init", "--quiet", "--bare", "--template=", store.git])
    store.fetch("--depth=1", "--filter=blob:none", "origin", commit)
    tree = _tree_id(store, path)
    _fetch_missing(store, tree)
    entries = tree_listing.listing(tree, store.options, scratch.folder)
    tree_listing.refuse_large(entries, megabytes=limits.megabytes, files=limits.files)
    target = f"{scratch.folder}/files"
    install_folder.make(scratch.home.disk, target)
    remarks = _write(store, entries, target)
    install_folder.make_durable(scratch.home.disk, target)
    return target, remarks


def _tree_id(store: FetchRepository, path: str) -> str:
    revision = f"{store.commit}:{path}"
    kind = git.run(["cat-file", "-t", revision], cwd=store.scratch.folder, options=store.options, check=False).strip()
    if kind != "tree":
        arguments = ["ls-tree", "--full-tree", store.commit, "--", path]  # the file itself may not have been sent
        fields = git.run(arguments, cwd=store.scratch.folder, options=store.options, check=False).split()
        state = "is a file there" if fields[1:2] == ["blob"] else "is not there"
        tops = git.run(["ls-tree", "-d", "--name-only", store.commit], cwd=store.scratch.folder, options=store.options)
        names = tops.split("\n")[:-1]
        hint = f"its folders are: {', '.join(names[:NAMED])}{', …' if names[NAMED:] else ''}" if names else ""
        raise SowError(
            f"{store.url} at {store.commit[:12]}: the folder {path!r} {state}",
            hint or "it has no folders: leave the folder out to install all of it",
        )
    return git.run(["rev-parse", "--verify", revision], cwd=store.scratch.folder, options=store.options).strip()


def _fetch_missing(store: FetchRepository, tree: str) -> None:
    """Fetches the contents of all files at once; a remote that cannot send parts has sent them already."""
    arguments = ["rev-list", "--objects", "--no-object-names", "--missing=print", "--no-walk", tree]
    listed = git.run(arguments, cwd=store.scratch.folder, options=store.options)
    missing = [line[1:] for line in listed.splitlines() if line.startswith("?")]
    if len(missing) > store.limits.files:
        raise SowError(
            f"the source has {len(missing):,} files, and the limit is {store.limits.files:,}",
            "name a smaller folder in it",
        )
    if missing:
        store.fetch("--filter=blob:none", "--stdin", "origin", input="\n".join([*missing, ""]))


def _write(store: FetchRepository, entries: list[TreeEntry], target: str) -> list[str]:
    """Writes the files as they are stored; a link becomes a copy of its target."""
    contents = [entry for entry in entries if entry.mode != MODULE]
    by_path = {entry.path: entry for entry in contents}
    links = [entry for entry in contents if entry.mode == LINK]
    targets = dict(zip((link.path for link in links), _link_targets(store, links), strict=True))
    chosen = {
        entry.path: tree_listing.link_target(entry, targets, by_path) if entry.mode == LINK else entry
        for entry in contents
    }
    remarks = [f"{path}: a link to no file, left out" for path, entry in chosen.items() if entry is None]
    remarks += [f"{entry.path}: another repository, left out" for entry in entries if entry.mode == MODULE]
    written = {path: entry for path, entry in chosen.items() if entry is not None}
    tree_listing.refuse_large(list(written.values()), megabytes=store.limits.megabytes, files=store.limits.files)
    disk = store.scratch.home.disk
    for folder in sorted({os.path.dirname(path)[:at] for path in written for at in _part_ends(os.path.dirname(path))}):
        install_folder.make(disk, f"{target}/{folder}")
    names = [entry.object_id for entry in written.values()]
    blobs = git.blobs(names, cwd=store.scratch.folder, options=store.options)
    for path, data in zip(written, blobs, strict=True):
        install_folder.write(disk, f"{target}/{path}", data)
    return remarks


def _part_ends(folder: str) -> list[int]:
    return [at for at in range(1, len(folder) + 1) if at == len(folder) or folder[at] == "/"]


def _link_targets(store: FetchRepository, links: list[TreeEntry]) -> list[str]:
    if any(link.size > 4096 for link in links):
        raise SowError("the source has a link that is longer than a path", "ask its author to fix it")
    blobs = git.blobs([link.object_id for link in links], cwd=store.scratch.folder, options=store.options)
    return [os.fsdecode(data) for data in blobs]


def fetch_repository(scratch: ScratchFolder, url: str, commit: str, limits: FetchLimits) -> tuple[str, list[str]]:
    """Checks out one commit in a new folder; its git folder holds that commit only."""
    target = f"{scratch.folder}/files"
    install_folder.make(scratch.home.disk, target)
    store = FetchRepository(scratch, url, commit, limits, f"{target}/.git")
    store.run_git(["init", "--quiet", "--template=", target])
    store.fetch("--depth=1", "origin", commit)
    entries = tree_listing.listing(commit, store.options, scratch.folder)
    tree_listing.refuse_large(entries, megabytes=limits.megabytes, files=limits.files)
    install_folder.make(scratch.home.disk, f"{store.git}/info")
    install_folder.write(scratch.home.disk, f"{store.git}/info/attributes", NO_FILTERS.encode())
    for key, value in (("core.symlinks", "false"), ("remote.origin.url", url)):
        store.run_git(["config", key, value])
    store.run_git(["checkout", "--quiet", "--detach", commit], [f"--work-tree={target}"])
    return target, [f"{entry.path}: another repository, left out" for entry in entries if entry.mode == MODULE]
