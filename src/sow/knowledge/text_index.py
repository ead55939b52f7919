"""Keeps the words of all documents in a SQLite file; if the file is damaged, it is built again."""

from __future__ import annotations

import math
import os
import sqlite3

from sow.errors import SowError
from sow.knowledge.document import ADR, UPSTREAM
from sow.store.files.disk import Disk, crash_counted, make_folders, read_text, remove_quietly
from sow.store.knowledge import adrs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sow.knowledge.document import Document
    from sow.store.files.checkout_home import Home

NAME = "context.sqlite"
LAYOUT = 2  # goes up when the tables change
BUSY_SECONDS = 2.0
MOST_TEXT = 1 << 20
TABLES = """
CREATE TABLE files (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE, size INTEGER, mtime INTEGER, about TEXT);
CREATE VIRTUAL TABLE words USING fts5 (name, outline, owner, body, tokenize = 'porter unicode61');
"""
# A word in a document's name or headings weighs more than one in its text. What is said about a whole sink or
# repository is true of its other documents too, so it weighs no more than text.
BY_WORD = "SELECT rowid, -bm25(words, 6.0, 4.0, 1.0, 1.0) FROM words WHERE words MATCH ?"
OWN, HEAD = "name outline body", "name outline"
LEAST_IDF = 1e-6  # SQLite's value for a word that more than half of the documents have


class TextIndex:
    """Finds documents by the words of a task."""

    __slots__ = ("connection", "count", "documents_by_id", "unreadable")

    def __init__(self, home: Home, documents: Sequence[Document]) -> None:
        self.documents_by_id: dict[int, Document] = {}
        self.unreadable: set[str] = set()
        self.connection = self._open(home, [document for document in documents if document.kind != UPSTREAM])
        self.count: int = self.connection.execute("SELECT count(*) FROM words").fetchone()[0]

    def _open(self, home: Home, documents: list[Document]) -> sqlite3.Connection:
        """Opens the file; builds it again if it is damaged; uses memory if it cannot be written."""
        try:
            path = f"{index_folder(home)}/{NAME}"
        except SowError:
            return self._open_and_refresh(":memory:", documents)
        for _ in range(2):
            try:
                return self._open_and_refresh(path, documents)
            except sqlite3.OperationalError as error:
                if "malformed" not in str(error):  # busy, full or read-only: a second try would fail too
                    break
                remove_quietly(path)
            except sqlite3.DatabaseError:
                remove_quietly(path)
        return self._open_and_refresh(":memory:", documents)

    def _open_and_refresh(self, path: str, documents: list[Document]) -> sqlite3.Connection:
        if os.path.islink(path):
            raise sqlite3.DatabaseError("it is a link, and would be written elsewhere")
        crash_counted(f"write {path}")
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA synchronous = OFF")  # a power cut may damage the file; then it is built again
            connection.execute("BEGIN IMMEDIATE")
            self._create_tables(connection)
            self._refresh(connection, documents)
            connection.execute("COMMIT")
        except BaseException:  # close the file whatever the error is
            connection.close()
            raise
        return connection

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        """Creates the tables in a new file, or in one with another layout."""
        if connection.execute("PRAGMA user_version").fetchone()[0] == LAYOUT:
            return
        for table in ("words", "files"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in TABLES.strip().splitlines():
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {LAYOUT}")

    def _refresh(self, connection: sqlite3.Connection, documents: list[Document]) -> None:
        """Reads new and changed documents, and deletes the rows of missing ones."""
        self.documents_by_id.clear()
        rows = {row[1]: row for row in connection.execute("SELECT id, path, size, mtime, about FROM files")}
        by_path = {document.path: document for document in documents}
        for path, document in by_path.items():
            row = rows.get(path)
            if row is not None and row[2:] == (document.size, document.mtime, document.about):
                self.documents_by_id[row[0]] = document
            else:
                self._read(connection, document, row)
        for path in rows.keys() - by_path.keys():
            self._delete(connection, rows[path][0])

    def _read(self, connection: sqlite3.Connection, document: Document, row: tuple[Any, ...] | None) -> None:
        """Indexes one document; if only its worktree changed and not its text, updates size and time."""
        try:
            text = read_text(Disk(), os.path.realpath(document.absolute_path), 4 * MOST_TEXT)[:MOST_TEXT]
        except (OSError, SowError):  # deleted in the meantime, or not text
            self.unreadable.add(document.path)
            text = ""
        if row is not None and row[4] == document.about and self._body(connection, row[0]) == text:
            connection.execute("UPDATE files SET size = ?, mtime = ? WHERE id = ?", (*size_and_time(document), row[0]))
            self.documents_by_id[row[0]] = document
            return
        if row is not None:
            self._delete(connection, row[0])
        if document.path not in self.unreadable:
            self._insert(connection, document, text)

    def _body(self, connection: sqlite3.Connection, number: int) -> str | None:
        row = connection.execute("SELECT body FROM words WHERE rowid = ?", (number,)).fetchone()
        return str(row[0]) if row else None

    def _insert(self, connection: sqlite3.Connection, document: Document, text: str) -> None:
        insert = "INSERT INTO files (path, size, mtime, about) VALUES (?, ?, ?, ?)"
        cursor = connection.execute(insert, (document.path, *size_and_time(document), document.about))
        number = int(cursor.lastrowid or 0)
        self.documents_by_id[number] = document
        if document.kind == ADR and adrs.status_of(text) in adrs.RETIRED:
            return  # a retired decision can be named, but is never suggested
        values = (number, document.title, outline(text), document.about, text)
        connection.execute("INSERT INTO words (rowid, name, outline, owner, body) VALUES (?, ?, ?, ?, ?)", values)

    def _delete(self, connection: sqlite3.Connection, number: int) -> None:
        connection.execute("DELETE FROM files WHERE id = ?", (number,))
        connection.execute("DELETE FROM words WHERE rowid = ?", (number,))

    def documents_with(self, phrase: str, *, in_head: bool = False) -> set[int]:
        """Returns the documents that contain a word or a phrase in their own text, or in their name and outline."""
        query = f"{{{HEAD if in_head else OWN}}} : {quoted(phrase)}"
        rows = self.connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (query,))
        return {row[0] for row in rows if row[0] in self.documents_by_id}  # another process may have added a document

    def frequencies(self, word: str) -> dict[int, float]:
        """Returns how often each document has a word, by BM25, whatever the other documents are.

        BM25's own weight of a word is divided out: it is zero where half of the documents have the word, as is usual
        in a small library about one subject.
        """
        scores = dict(self.connection.execute(BY_WORD, (quoted(word),)).fetchall())
        idf = max(math.log((self.count - len(scores) + 0.5) / (len(scores) + 0.5)), LEAST_IDF)
        return {number: score / idf for number, score in scores.items() if number in self.documents_by_id}

    def close(self) -> None:
        self.connection.close()


def size_and_time(document: Document) -> tuple[int, int]:
    """Returns the values by which a changed file is recognised."""
    return document.size, document.mtime


def index_folder(home: Home) -> str:
    """Returns the folder of the file: inside of git's, because a repository can contain files anywhere else."""
    return make_folders(home.disk, home.checkout.git, ("sow",))


def quoted(word: str) -> str:
    """Quotes a word for FTS5."""
    return '"' + word.replace('"', '""') + '"'


def outline(text: str) -> str:
    """Returns a document's front matter and headings."""
    head, _, rest = text.partition("\n")
    front, closed, _ = rest.partition("\n---") if head.strip() == "---" else ("", "", "")
    headings = [line.lstrip("# ") for line in text.split("\n") if line.startswith("#")]
    return "\n".join([front if closed else "", *headings])
