"""The words of all documents, kept in a SQLite file: it is made anew where it is broken, and no call fails for it."""

from __future__ import annotations

import math
import os
import sqlite3

from sow.errors import SowError
from sow.knowledge.document import ADR, UPSTREAM
from sow.store import adrs
from sow.store.disk import Disk, counted, make_folders, read_text, remove_quietly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sow.knowledge.document import Document
    from sow.store.home import Home

NAME = "context.sqlite"
LAYOUT = 2  # counts up when the tables change
BUSY_SECONDS = 2.0
MOST_TEXT = 1 << 20
TABLES = """
CREATE TABLE files (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE, size INTEGER, mtime INTEGER, about TEXT);
CREATE VIRTUAL TABLE words USING fts5 (name, outline, owner, body, tokenize = 'porter unicode61');
"""
# A word in a document's name or in its headings says more than one in its text; what is said about a whole sink or
# repository holds for its other documents too.
BY_WORD = "SELECT rowid, -bm25(words, 6.0, 4.0, 1.0, 1.0) FROM words WHERE words MATCH ?"
OWN, HEAD = "name outline body", "name outline"
LEAST_IDF = 1e-6  # what SQLite takes for a word that more than half of the documents have


class TextIndex:
    """Scores documents by the words of a task."""

    __slots__ = ("connection", "count", "ids", "unreadable")

    def __init__(self, home: Home, documents: Sequence[Document]) -> None:
        self.ids: dict[int, Document] = {}
        self.unreadable: set[str] = set()
        searched = [each for each in documents if each.kind != UPSTREAM]
        self.connection = self._opened(home, searched)
        self.count: int = self.connection.execute("SELECT count(*) FROM words").fetchone()[0]

    def _opened(self, home: Home, documents: list[Document]) -> sqlite3.Connection:
        """The kept file; a new one in its place where it cannot be read; one in memory where it cannot be written."""
        try:
            path = f"{place_of(home)}/{NAME}"
        except SowError:
            return self._filled(":memory:", documents)
        for _ in range(2):
            try:
                return self._filled(path, documents)
            except sqlite3.OperationalError as error:
                if "malformed" not in str(error):  # busy, full or read-only: another try changes nothing
                    break
                remove_quietly(path)
            except sqlite3.DatabaseError:
                remove_quietly(path)
        return self._filled(":memory:", documents)

    def _filled(self, place: str, documents: list[Document]) -> sqlite3.Connection:
        if os.path.islink(place):
            raise sqlite3.DatabaseError("it is a link, and would be written elsewhere")
        counted(f"write {place}")
        connection = sqlite3.connect(place, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA synchronous = OFF")  # what a power cut breaks is made anew
            connection.execute("BEGIN IMMEDIATE")
            self._lay_out(connection)
            self._refresh(connection, documents)
            connection.execute("COMMIT")
        except BaseException:  # whatever it is, it goes on; the file is let go
            connection.close()
            raise
        return connection

    def _lay_out(self, connection: sqlite3.Connection) -> None:
        """The tables, in a new file or in one of another layout."""
        if connection.execute("PRAGMA user_version").fetchone()[0] == LAYOUT:
            return
        for table in ("words", "files"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in TABLES.strip().splitlines():
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {LAYOUT}")

    def _refresh(self, connection: sqlite3.Connection, documents: list[Document]) -> None:
        """Read what is new or has changed, forget what is gone."""
        self.ids.clear()
        known = {row[1]: row for row in connection.execute("SELECT id, path, size, mtime, about FROM files")}
        wanted = {each.path: each for each in documents}
        for path, each in wanted.items():
            row = known.get(path)
            if row is not None and row[2:] == (each.size, each.mtime, each.about):
                self.ids[row[0]] = each
            else:
                self._read(connection, each, row)
        for path in known.keys() - wanted.keys():
            self._forget(connection, known[path][0])

    def _read(self, connection: sqlite3.Connection, document: Document, row: tuple[Any, ...] | None) -> None:
        """Take a document's words in; of one that only lies in another worktree now, nothing but its time is new."""
        try:
            text = read_text(Disk(), os.path.realpath(document.place), 4 * MOST_TEXT)[:MOST_TEXT]
        except (OSError, SowError):  # gone meanwhile, or no text: it is no document
            self.unreadable.add(document.path)
            text = ""
        if row is not None and row[4] == document.about and self._body(connection, row[0]) == text:
            connection.execute("UPDATE files SET size = ?, mtime = ? WHERE id = ?", (*facts(document), row[0]))
            self.ids[row[0]] = document
            return
        if row is not None:
            self._forget(connection, row[0])
        if document.path not in self.unreadable:
            self._take_in(connection, document, text)

    def _body(self, connection: sqlite3.Connection, number: int) -> str | None:
        found = connection.execute("SELECT body FROM words WHERE rowid = ?", (number,)).fetchone()
        return str(found[0]) if found else None

    def _take_in(self, connection: sqlite3.Connection, document: Document, text: str) -> None:
        insert = "INSERT INTO files (path, size, mtime, about) VALUES (?, ?, ?, ?)"
        made = connection.execute(insert, (document.path, *facts(document), document.about))
        number = int(made.lastrowid or 0)
        self.ids[number] = document
        if document.kind == ADR and adrs.status_of(text) in adrs.RETIRED:
            return  # it is there for who names it, but nobody is pointed to what is not in force
        words = (number, document.title, outline(text), document.about, text)
        connection.execute("INSERT INTO words (rowid, name, outline, owner, body) VALUES (?, ?, ?, ?, ?)", words)

    def _forget(self, connection: sqlite3.Connection, number: int) -> None:
        connection.execute("DELETE FROM files WHERE id = ?", (number,))
        connection.execute("DELETE FROM words WHERE rowid = ?", (number,))

    def having(self, words: str, *, in_head: bool = False) -> set[int]:
        """The documents that have a word, or several in a row, in what is their own, or in their name and outline."""
        wanted = f"{{{HEAD if in_head else OWN}}} : {quoted(words)}"
        rows = self.connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (wanted,))
        return {row[0] for row in rows if row[0] in self.ids}  # another call may have read a document since

    def frequencies(self, word: str) -> dict[int, float]:
        """How much of a word is in each document that has it, by BM25, whatever the other documents are.

        BM25's own weight of a word is taken out again: it is nothing where half of the documents have the word, as is
        usual in a small library that is all about one thing.
        """
        found = dict(self.connection.execute(BY_WORD, (quoted(word),)).fetchall())
        idf = max(math.log((self.count - len(found) + 0.5) / (len(found) + 0.5)), LEAST_IDF)
        return {number: score / idf for number, score in found.items() if number in self.ids}

    def close(self) -> None:
        self.connection.close()


def facts(document: Document) -> tuple[int, int]:
    """By what a file is told to have changed."""
    return document.size, document.mtime


def place_of(home: Home) -> str:
    """The folder of the file: in git's own, since a repository could bring one along anywhere else."""
    return make_folders(home.disk, home.checkout.git, ("sow",))


def quoted(word: str) -> str:
    """A word as FTS5 takes it, whatever is in it."""
    return '"' + word.replace('"', '""') + '"'


def outline(text: str) -> str:
    """What a document says about itself: its front matter and its headings."""
    head, _, rest = text.partition("\n")
    front, closed, _ = rest.partition("\n---") if head.strip() == "---" else ("", "", "")
    headings = [line.lstrip("# ") for line in text.split("\n") if line.startswith("#")]
    return "\n".join([front if closed else "", *headings])
