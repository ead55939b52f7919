"""What a commit holds below a folder: every name, link and size is judged before anything of it is written."""

from __future__ import annotations

from sow.errors import SowError
from sow.system import git

LINK, MODULE = "120000", "160000"
FILES = ("100644", "100755", "100664")
MOST_TEXT = 16 << 20  # of the listing itself: a commit can be made to list more files than a disk has room for
LONGEST_PART = 255
DEEPEST = 40
BAD = "\\\u2028\u2029\ufffd"  # of another system's paths, ends of lines, and bytes that are no text
MOST_HOPS = 8


class Entry:
    """One name in a commit: what it is, its object, its size and its path below the folder."""

    __slots__ = ("mode", "name", "path", "size")

    def __init__(self, *, mode: str, name: str, size: int, path: str) -> None:
        self.mode = mode
        self.name = name
        self.size = size
        self.path = path


def listing(tree: str, options: list[str], folder: str) -> list[Entry]:
    """All that lies below a tree, at any depth, with good names only."""
    text, whole = git.read(
        ["ls-tree", "-r", "-l", "-z", "--full-tree", tree], cwd=folder, options=options, limit=MOST_TEXT
    )
    if not whole:
        raise SowError("the source has too many files", "name a folder in it that holds what you need")
    return [_entry(line) for line in text.split("\0") if line]


def _entry(line: str) -> Entry:
    head, _, path = line.partition("\t")
    mode, _, name, size = head.split()
    _check_path(path)
    return Entry(mode=mode, name=name, size=int(size) if size.isdigit() else 0, path=path)


def _check_path(path: str) -> None:
    parts = path.split("/")
    if not all(map(_is_good, parts)) or len(parts) > DEEPEST:
        raise SowError(f"the source has a file with a bad name: {path[:200]!r}", "ask its author to rename it")


def _is_good(part: str) -> bool:
    """Whether a name means nothing but itself, on whatever disk."""
    plain = not any(each < " " or "\x7f" <= each <= "\x9f" or each in BAD for each in part)
    bare = part.lower().rstrip(". ")
    return plain and 0 < len(part.encode()) <= LONGEST_PART and bare not in ("", ".git", "git~1")


def refuse_large(entries: list[Entry], *, megabytes: int, files: int) -> None:
    """Refuse more than the limits allow."""
    size = sum(each.size for each in entries)
    if size > megabytes << 20:
        raise SowError(
            f"the source has {size / (1 << 20):,.0f} MB, and the limit is {megabytes}",
            "name a smaller folder in it, or raise the limit under `knowledge` (sow config edit)",
        )
    if len(entries) > files:
        raise SowError(
            f"the source has {len(entries):,} files, and the limit is {files:,}", "name a smaller folder in it"
        )


def follow(start: Entry, targets: dict[str, str], known: dict[str, Entry]) -> Entry | None:
    """The file that a link leads to; nothing where it leads to a folder or to nothing, an error where it leads out."""
    entry = start
    for _ in range(MOST_HOPS):
        path = _target(entry.path, targets[entry.path])
        found = known.get(path)
        if found is None or found.mode in FILES:
            return found
        if found.mode != LINK:
            return None
        entry = found
    raise SowError(f"the link {start.path!r:.200} leads in a circle", "ask the author of the source to mend it")


def _target(path: str, target: str) -> str:
    """Where a link leads, below the same folder."""
    parts = path.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            if not parts:
                raise _leaving(path, target)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if target.startswith("/"):
        raise _leaving(path, target)
    return "/".join(parts)


def _leaving(path: str, target: str) -> SowError:
    return SowError(
        f"{path[:200]!r} is a link that leads out of the folder, to {target[:200]!r}",
        "nothing was installed; ask the author of the source to put the file itself there",
    )
