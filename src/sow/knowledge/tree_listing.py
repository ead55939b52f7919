"""Lists what a commit holds below a folder, and checks every name, link and size before a file is written."""

from __future__ import annotations

from dataclasses import dataclass

from sow.errors import SowError
from sow.system import git

LINK, MODULE = "120000", "160000"
FILES = ("100644", "100755", "100664")
MOST_TEXT = 16 << 20  # limit of the listing itself: a hostile commit can list more files than a disk can hold
LONGEST_PART = 255
DEEPEST = 40
BAD = "\\\u2028\u2029\ufffd"  # separators of other systems, line ends, and bytes that are not text
MOST_HOPS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeEntry:
    """One file in a commit: its mode, object id, size and path below the folder."""

    mode: str
    object_id: str
    size: int
    path: str


def listing(tree: str, options: list[str], folder: str) -> list[TreeEntry]:
    """Lists all files below a tree; refuses a bad name."""
    text, complete = git.read(
        ["ls-tree", "-r", "-l", "-z", "--full-tree", tree], cwd=folder, options=options, limit=MOST_TEXT
    )
    if not complete:
        raise SowError("the source has too many files", "name a folder in it that holds what you need")
    return [_entry(line) for line in text.split("\0") if line]


def _entry(line: str) -> TreeEntry:
    head, _, path = line.partition("\t")
    mode, _, name, size = head.split()
    _check_path(path)
    return TreeEntry(mode=mode, object_id=name, size=int(size) if size.isdigit() else 0, path=path)


def _check_path(path: str) -> None:
    parts = path.split("/")
    if not all(map(_is_good, parts)) or len(parts) > DEEPEST:
        raise SowError(f"the source has a file with a bad name: {path[:200]!r}", "ask its author to rename it")


def _is_good(part: str) -> bool:
    """Returns whether a name is safe on every file system."""
    plain = not any(letter < " " or "\x7f" <= letter <= "\x9f" or letter in BAD for letter in part)
    bare = part.lower().rstrip(". ")
    return plain and 0 < len(part.encode()) <= LONGEST_PART and bare not in ("", ".git", "git~1")


def refuse_large(entries: list[TreeEntry], *, megabytes: int, files: int) -> None:
    """Refuses more data or files than the limits allow."""
    size = sum(entry.size for entry in entries)
    if size > megabytes << 20:
        raise SowError(
            f"the source has {size / (1 << 20):,.0f} MB, and the limit is {megabytes}",
            "name a smaller folder in it, or raise the limit under `knowledge` (sow config edit)",
        )
    if len(entries) > files:
        raise SowError(
            f"the source has {len(entries):,} files, and the limit is {files:,}", "name a smaller folder in it"
        )


def link_target(start: TreeEntry, targets: dict[str, str], by_path: dict[str, TreeEntry]) -> TreeEntry | None:
    """Returns the file that a link leads to; None if it is a folder or missing; raises if it is outside."""
    entry = start
    for _ in range(MOST_HOPS):
        path = _target(entry.path, targets[entry.path])
        target = by_path.get(path)
        if target is None or target.mode in FILES:
            return target
        if target.mode != LINK:
            return None
        entry = target
    raise SowError(f"the link {start.path!r:.200} leads in a circle", "ask the author of the source to fix it")


def _target(path: str, target: str) -> str:
    """Returns the path that a link leads to; raises if it is outside of the folder."""
    parts = path.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            if not parts:
                raise _outside_error(path, target)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if target.startswith("/"):
        raise _outside_error(path, target)
    return "/".join(parts)


def _outside_error(path: str, target: str) -> SowError:
    return SowError(
        f"{path[:200]!r} is a link that leads out of the folder, to {target[:200]!r}",
        "nothing was installed; ask the author of the source to put the file itself there",
    )
