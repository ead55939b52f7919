"""The place of a line of one tree in a later one."""

from __future__ import annotations

from conftest import Repo
from support.journals import home_of

from sow.gitwork.line_map import map_lines
from sow.gitwork.repository import Repository

LINES = [f"line {number}" for number in range(1, 41)]


def commit(repo: Repo, **files: str | None) -> str:
    """Commits these files; None removes one. Returns the tree."""
    for name, text in files.items():
        path = repo.root / name.replace("_", ".")
        path.unlink() if text is None else path.write_text(text)
    repo.git("add", "-A", ".")
    repo.git("commit", "-q", "-m", "files")
    return repo.git("rev-parse", "HEAD^{tree}").strip()


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_a_line_is_found_again(repo: Repo):
    """A moved line is found; one that was changed or removed, or whose file is gone, has no place."""
    old = commit(repo, a_py=text(LINES), b_py=text(LINES), c_py="only\n")
    changed = ["new", "newer", *LINES[:9], "line 10, changed", *LINES[10:19], *LINES[24:]]
    repo.git("mv", "b.py", "d.py")
    new = commit(repo, a_py=text(changed), c_py=None)
    repository = Repository(home_of(repo))
    for line in range(1, 41):
        (place,) = map_lines(repository, old, new, [("a.py", line)]).values()
        kept = changed.index(f"line {line}") + 1 if f"line {line}" in changed else None
        assert place == (None if kept is None else ("a.py", kept)), line
    places = [("b.py", 7), ("c.py", 1), ("never.py", 1)]
    assert map_lines(repository, old, new, places) == {
        places[0]: ("d.py", 7), places[1]: None, places[2]: None,
    }  # fmt: skip
    assert map_lines(repository, old, old, places[:1]) == {places[0]: places[0]}


def test_a_missing_tree_has_no_lines(repo: Repo):
    """In a clone without the old tree, a comment has no place instead of an error."""
    new = commit(repo, a_py="x\n")
    assert map_lines(Repository(home_of(repo)), "1" * 40, new, [("a.py", 1)]) == {("a.py", 1): None}
