"""The text index follows the files, can be deleted, and never makes a call fail."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from knowledge.choice_case import library_of, put
from knowledge.labelled_set import home_at
from sow.knowledge.text_index import NAME, TextIndex, outline, quoted

WORDS = "# Token rotation\nRefresh tokens rotate.\n"


def having(root: Path, word: str) -> list[str]:
    """Returns the documents that an index over this folder finds by a word."""
    index = TextIndex(home_at(root), library_of(root).documents)
    try:
        return sorted(
            index.documents_by_id[document].path.rpartition("/")[2] for document in index.documents_with(word)
        )
    finally:
        index.close()


def kept(root: Path) -> Path:
    return root / ".git/sow" / NAME


def test_the_index_follows_the_files(tmp_path: Path) -> None:
    """New, changed and deleted documents are noticed by the next call, which uses the stored index again."""
    put(tmp_path)
    assert having(tmp_path, "token") == []
    put(tmp_path, designs__it=WORDS)
    assert having(tmp_path, "tokens") == ["it.md"]
    before = kept(tmp_path).stat().st_ino
    put(tmp_path, designs__it="# Keys\nNothing else here.\n")
    assert having(tmp_path, "tokens") == []
    assert having(tmp_path, "key") == ["it.md"]
    (tmp_path / ".sow/knowledge/designs/it.md").unlink()
    assert having(tmp_path, "key") == []
    assert kept(tmp_path).stat().st_ino == before


def test_unchanged_documents_are_not_read_again(tmp_path: Path) -> None:
    """A document with its old size and time is taken from the index."""
    put(tmp_path, designs__tokens=WORDS)
    having(tmp_path, "token")
    path = tmp_path / ".sow/knowledge/designs/tokens.md"
    facts = path.stat()
    path.write_text(WORDS.replace("oken", "oaks"))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert having(tmp_path, "token") == ["tokens.md"]


def test_a_copy_in_another_worktree_is_recognised(tmp_path: Path) -> None:
    """The same text with another time keeps its entry; another text of the same size does not."""
    put(tmp_path, designs__it=WORDS)
    having(tmp_path, "token")
    before = ids(tmp_path)
    path = tmp_path / ".sow/knowledge/designs/it.md"
    os.utime(path, ns=(1, 1))
    assert having(tmp_path, "token") == ["it.md"]
    assert ids(tmp_path) == before
    path.write_text(WORDS.replace("oken", "oaks"))
    assert having(tmp_path, "token") == []
    assert having(tmp_path, "toaks") == ["it.md"]
    assert ids(tmp_path) != before


def ids(root: Path) -> list[tuple[int, str]]:
    """Returns the number of each document in the stored index."""
    connection = sqlite3.connect(kept(root))
    try:
        return connection.execute("SELECT id, path FROM files ORDER BY id").fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"not a database at all, but long enough to be looked at as one" * 100,
        b"SQLite format 3\0" + bytes(range(256)) * 40,
    ],
    ids=["empty", "text", "torn"],
)
def test_a_broken_file_is_replaced(tmp_path: Path, damage: bytes) -> None:
    """With any file in place of the index the search works, and the next call has a good one."""
    put(tmp_path, designs__tokens=WORDS)
    having(tmp_path, "token")
    kept(tmp_path).write_bytes(damage)
    assert having(tmp_path, "token") == ["tokens.md"]
    with sqlite3.connect(kept(tmp_path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_cut_file_is_replaced(tmp_path: Path) -> None:
    """Half of an index is no index."""
    put(tmp_path, designs__tokens=WORDS)
    having(tmp_path, "token")
    data = kept(tmp_path).read_bytes()
    kept(tmp_path).write_bytes(data[: len(data) // 2])
    assert having(tmp_path, "token") == ["tokens.md"]


def test_an_index_of_another_layout_is_replaced(tmp_path: Path) -> None:
    """The index of another version is not used."""
    put(tmp_path, designs__tokens=WORDS)
    having(tmp_path, "token")
    connection = sqlite3.connect(kept(tmp_path))
    connection.execute("PRAGMA user_version = 99")
    connection.execute("DELETE FROM words")
    connection.commit()
    connection.close()
    assert having(tmp_path, "token") == ["tokens.md"]


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    """A link in place of the index is removed, and its target stays as it was."""
    root, outside = tmp_path / "repo", tmp_path / "outside"
    put(root, designs__tokens=WORDS)
    outside.write_text("mine")
    kept(root).parent.mkdir(parents=True)
    kept(root).symlink_to(outside)
    assert having(root, "token") == ["tokens.md"]
    assert outside.read_text() == "mine"
    assert not kept(root).is_symlink()


def test_a_linked_folder_is_not_written_through(tmp_path: Path) -> None:
    """If the folder leads elsewhere, the index stays in memory."""
    root, outside = tmp_path / "repo", tmp_path / "outside"
    put(root, designs__tokens=WORDS)
    outside.mkdir()
    kept(root).parent.parent.mkdir(parents=True, exist_ok=True)
    kept(root).parent.symlink_to(outside)
    assert having(root, "token") == ["tokens.md"]
    assert list(outside.iterdir()) == []


def test_a_folder_in_its_place_does_not_matter(tmp_path: Path) -> None:
    """If the file cannot be opened, the index stays in memory."""
    put(tmp_path, designs__tokens=WORDS)
    kept(tmp_path).mkdir(parents=True)
    assert having(tmp_path, "token") == ["tokens.md"]


def test_another_writer_does_not_block(tmp_path: Path) -> None:
    """While another process holds the file, a call continues with an index in memory."""
    put(tmp_path, designs__tokens=WORDS)
    having(tmp_path, "token")
    other = sqlite3.connect(kept(tmp_path), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert having(tmp_path, "token") == ["tokens.md"]
    finally:
        other.close()


def test_an_index_of_the_repository_is_not_used(tmp_path: Path) -> None:
    """A database in the checkout is not opened."""
    put(tmp_path, designs__tokens=WORDS)
    planted = tmp_path / ".sow/local" / NAME
    planted.parent.mkdir()
    planted.write_bytes(b"SQLite format 3\0 and worse")
    before = planted.stat()
    assert having(tmp_path, "token") == ["tokens.md"]
    after = planted.stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)


@pytest.mark.parametrize("word", ['"', "a OR b", "*", "NEAR(", "^x", "-", "", "name:", "'; DROP TABLE words"])
def test_no_word_is_an_operator(tmp_path: Path, word: str) -> None:
    """An operator of FTS5 is searched for as text."""
    put(tmp_path, designs__tokens=WORDS)
    assert having(tmp_path, word) == []
    assert quoted(word)[0] == quoted(word)[-1] == '"'


def test_an_outline_is_front_matter_and_headings() -> None:
    """A document says what it is about in its front matter and its headings."""
    text = "---\ntitle: Keys\ntags: [a]\n---\n# One\ntext\n## Two\n"
    assert outline(text).split("\n") == ["title: Keys", "tags: [a]", "One", "Two"]
    assert outline("---\nno end") == ""
