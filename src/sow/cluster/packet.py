"""Packs files into a commit that another host reads, and reads such a commit within limits."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sow.errors import SowError
from sow.gitwork.repository import Repository
from sow.system import git, plain_file

MOST_FILES = 10_000
MOST_BYTES = 64 << 20  # of all files of a packet
MOST_FACTS = 4 << 20  # of the JSON document in it
FACTS = "packet.json"
PARENT = "parent "  # the beginning of such a line of a commit
PLAIN = ("100644", "100755")


class BadPacket(SowError):
    """A packet that is too large, or that does not have the form of one."""


def pack(
    repository: Repository,
    facts: Mapping[str, Any],
    files: Mapping[str, str],
    parents: Sequence[str],
    *,
    message: str,
    sign: str = "",
) -> str:
    """Makes a commit with a JSON document and copies of files (name in the packet: path), and returns its id.

    With `sign`, the path of an ssh key, the commit is signed.
    """
    with repository.locked():
        document = repository.temp_file(FACTS)
        plain_file.write(document, json.dumps(facts, ensure_ascii=False, sort_keys=True))
        names = [FACTS, *files]
        paths = [document, *files.values()]
        blobs = repository.git("hash-object", "-w", "--no-filters", "--stdin-paths", input="\n".join(paths) + "\n")
        entries = zip(blobs.split(), names, strict=True)
        index = repository.temp_file("packet")
        text = "".join(f"100644 {blob}\t{name}\0" for blob, name in entries)
        repository.git("update-index", "-z", "--add", "--index-info", index=index, input=text)
        tree = repository.git("write-tree", index=index).strip()
        if not sign:
            return repository.commit_tree(tree, parents, message)
        options = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={os.path.expanduser(sign)}"]
        arguments = ["commit-tree", "-S", *(word for parent in parents for word in ("-p", parent)), "-m", message, tree]
        done = repository.run_git(arguments, options=options, variables=repository.identity())
        if done.code:
            raise SowError(f"the request cannot be signed with {sign}: {done.message}", "check cluster.sign")
        return done.out.strip()


def files_below(folder: str, name: str) -> dict[str, str]:
    """Returns the plain files below a folder that a packet can hold, by their name in it; links are left out."""
    files = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(inner for inner in folders if not os.path.islink(f"{parent}/{inner}"))
        for entry in sorted(names):
            path = f"{parent}/{entry}"
            if "\n" not in path and stat.S_ISREG(os.lstat(path).st_mode):
                files[f"{name}{path.removeprefix(folder)}"] = path
    return files


def within_limits(files: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Returns the files that fit into one packet, and the names of the others."""
    kept: dict[str, str] = {}
    left_out, size = [], 0
    for name, path in files.items():
        size += os.path.getsize(path)
        if size > MOST_BYTES or len(kept) >= MOST_FILES:
            left_out.append(name)
            size -= os.path.getsize(path)
        else:
            kept[name] = path
    return kept, left_out


class Packet:
    """A commit from another host: its facts, its files and its parents; nothing in it is trusted."""

    def __init__(self, root: str, commit: str) -> None:
        self.root = root
        self.commit = commit
        self.size_of_facts = 0
        self.blobs = self._list()
        reader = git.ObjectReader(root)
        try:
            self.facts = self._facts(reader)
            head = reader.content(commit).partition(b"\n\n")[0].decode("utf-8", "replace")
        finally:
            reader.close()
        self.parents = [line.removeprefix(PARENT) for line in head.splitlines() if line.startswith(PARENT)]

    def _list(self) -> dict[str, str]:
        """Returns the blob of each file. Raises BadPacket for links, submodules, and too many or too large files."""
        listing, is_whole = git.read(
            ["ls-tree", "-r", "-z", "-l", "--full-tree", self.commit], cwd=self.root, limit=MOST_FILES * 1000
        )
        blobs: dict[str, str] = {}
        size = 0
        for entry in filter(None, listing.split("\0")):
            head, _, name = entry.partition("\t")
            mode, kind, blob, length = head.split()
            if mode not in PLAIN or kind != "blob":
                raise BadPacket(f"it has a link or a submodule: {name[:200]}", "")
            if not _is_inside(name):
                raise BadPacket(f"it has a file outside of its folders: {name[:200]}", "")
            size += int(length)
            blobs[name] = blob
            self.size_of_facts = int(length) if name == FACTS else self.size_of_facts
        if not is_whole or len(blobs) > MOST_FILES or size > 2 * MOST_BYTES:
            raise BadPacket(f"it has more than {MOST_FILES:,} files or {2 * MOST_BYTES >> 20} MB", "")
        return blobs

    def _facts(self, reader: git.ObjectReader) -> dict[str, Any]:
        if FACTS not in self.blobs:
            raise BadPacket(f"it has no {FACTS}", "")
        try:
            facts = json.loads(reader.content(self.blobs[FACTS])) if self.size_of_facts <= MOST_FACTS else None
        except (ValueError, RecursionError):
            facts = None
        if not isinstance(facts, dict):
            raise BadPacket(f"its {FACTS} is not a JSON object of at most {MOST_FACTS >> 20} MB", "")
        return facts

    def value(self, name: str, kind: type, default: Any = None) -> Any:
        """Returns one fact of a type; raises BadPacket if it is missing without a default, or of another type."""
        value = self.facts.get(name, default)
        if (value is None and default is None) or not isinstance(value, kind):
            raise BadPacket(f"{name} is missing, or not of the right type", "")
        return value

    def files(self, folder: str) -> Iterator[tuple[str, bytes]]:
        """Yields the files below a folder of the packet: their path there, and their content."""
        prefix = f"{folder}/"
        names = [name for name in self.blobs if name.startswith(prefix)]
        if not names:
            return
        contents = git.blobs([self.blobs[name] for name in names], cwd=self.root)
        for name, data in zip(names, contents, strict=True):
            yield name.removeprefix(prefix), data


def _is_inside(name: str) -> bool:
    return not name.startswith("/") and all(part not in ("", ".", "..", ".git") for part in name.split("/"))
