"""Keeps the words of all documents in a SQLite file; if the file is damaged, it is built again."""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import zlib
from collections.abc import Sequence
from typing import Any

from sow.domain.text.keywords import COMMON, words
from sow.domain.text.markdown_lines import frontmatter
from sow.errors import SowError
from sow.knowledge import subjects
from sow.knowledge.document import ADR, UPSTREAM, Document
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Disk, crash_counted, make_folders, read_text, remove_quietly
from sow.store.knowledge import adrs

NAME = "context.sqlite"
LAYOUT = 4  # goes up when the tables change
BUSY_SECONDS = 2.0
MOST_TEXT = 1 << 20
BEGINNING = 2000  # characters of each field in which subjects are looked for; a long text mentions many
TABLES = """
CREATE TABLE files (id INTEGER PRIMARY KEY AUTOINCREMENT, path UNIQUE, size INTEGER, mtime INTEGER, about, subjects);
CREATE VIRTUAL TABLE words USING fts5 (title, outline, owner, body, tokenize = 'porter unicode61');
"""
# A word in a document's name or headings weighs more than one in its text. A description of a whole sink or
# repository is true of its other documents too, so it weighs less than text.
BY_WORD = "SELECT rowid, -bm25(words, 6.0, 4.0, 0.4, 1.0) FROM words WHERE words MATCH ?"
OWN, HEAD = "title outline body", "title outline"
USUAL_HEADINGS = (
    "acceptance criteria", "alternatives", "background", "checklist", "consequences", "context", "decision",
    "definition of done", "example", "examples", "further reading", "goals", "introduction", "motivation", "non-goals",
    "notes", "open questions", "overview", "purpose", "rationale", "references", "scope", "see also", "status",
    "summary", "todo", "when to use",
)  # headings that any document may have; their words say nothing about its subject  # fmt: skip
LONGEST_LINE = 300  # of code in which definitions are looked for; generated code has longer lines
DEFINITION = re.compile(
    r"^[ \t]*(?:(?:export|default|public|private|protected|static|async|abstract|final|pub|open|inline)[ \t]+)*"
    r"(?:def|class|func|function|fn|struct|enum|interface|type|trait|module|record|protocol|object|fun)[ \t]+"
    r"(?:\([^)\n]*\)[ \t]*)?([A-Za-z_]\w*)"
    r"|^[A-Za-z_][\w:<>,&* \t]*[ \t*&]([A-Za-z_]\w*)[ \t]*\([^;\n]*$",
    re.MULTILINE,
)  # definitions of the usual languages; the second form is a function of C, C++, Java or C#
LEAST_IDF = 1e-6  # SQLite's value for a word that more than half of the documents have


class TextIndex:
    """Finds documents by the words of a task."""

    def __init__(self, home: Home, documents: Sequence[Document]) -> None:
        self.documents_by_id: dict[int, Document] = {}
        self.unreadable: set[str] = set()
        self.connection = self._open(home, [document for document in documents if document.kind != UPSTREAM])
        self.count: int = self.connection.execute("SELECT count(*) FROM words").fetchone()[0]

    def _open(self, home: Home, documents: list[Document]) -> sqlite3.Connection:
        """Opens the file; builds it again if it is damaged; uses memory if it cannot be written."""
        try:
            # inside of git's folder, because a repository can contain files anywhere else
            path = f"{make_folders(home.disk, home.checkout.git, ('sow',))}/{NAME}"
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
        layout = LAYOUT ^ zlib.crc32(subjects.table_text().encode()) >> 1  # it holds subjects of the table
        if connection.execute("PRAGMA user_version").fetchone()[0] == layout:
            return
        for table in ("words", "files"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in TABLES.strip().splitlines():
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {layout}")

    def _refresh(self, connection: sqlite3.Connection, documents: list[Document]) -> None:
        """Reads new and changed documents, and deletes the rows of missing ones."""
        self.documents_by_id.clear()
        rows = {row[1]: row for row in connection.execute("SELECT id, path, size, mtime, about FROM files")}
        by_path = {document.path: document for document in documents}
        for path, document in by_path.items():
            row = rows.get(path)
            if row is not None and row[2:] == (*size_and_time(document), described(document)):
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
        retired = document.kind == ADR and adrs.status_of(text) in adrs.RETIRED
        columns = indexed_texts(document, text)
        if row is not None and row[4] == described(document) and self._columns(connection, row[0]) == columns:
            connection.execute("UPDATE files SET size = ?, mtime = ? WHERE id = ?", (*size_and_time(document), row[0]))
            self.documents_by_id[row[0]] = document
            return
        if row is not None:
            self._delete(connection, row[0])
        if document.path not in self.unreadable:
            self._insert(connection, document, None if retired else columns)

    def _columns(self, connection: sqlite3.Connection, number: int) -> tuple[str, ...] | None:
        row = connection.execute("SELECT title, outline, body FROM words WHERE rowid = ?", (number,)).fetchone()
        return tuple(row) if row else None

    def _insert(self, connection: sqlite3.Connection, document: Document, columns: tuple[str, ...] | None) -> None:
        """Adds a document; one without columns, a retired decision, can be named but is never suggested."""
        insert = "INSERT INTO files (path, size, mtime, about, subjects) VALUES (?, ?, ?, ?, ?)"
        subjects = json.dumps(subjects_by_field(document, columns)) if columns is not None else ""
        cursor = connection.execute(insert, (document.path, *size_and_time(document), described(document), subjects))
        number = int(cursor.lastrowid or 0)
        self.documents_by_id[number] = document
        if columns is not None:
            values = (number, document.about, *columns)
            connection.execute("INSERT INTO words (rowid, owner, title, outline, body) VALUES (?, ?, ?, ?, ?)", values)

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

    def subjects(self) -> dict[int, dict[int, dict[str, tuple[int, bool]]]]:
        """Returns the subjects of every document that can be suggested."""
        rows = self.connection.execute("SELECT id, subjects FROM files WHERE subjects != ''").fetchall()
        return {
            number: {int(subject): terms for subject, terms in json.loads(text).items()}
            for number, text in rows
            if number in self.documents_by_id
        }

    def titles(self, number: int, document: Document) -> list[str]:
        """Returns the first heading of a document, or the names of a source file that have two words or more."""
        row = self.connection.execute("SELECT title, outline FROM words WHERE rowid = ?", (number,)).fetchone()
        if document.is_code:
            return [name for name in row[1].split("\n") if len(COMMON.symmetric_difference(name.split()) - COMMON) > 1]
        return [row[0].rpartition("\n")[2]]

    def headings(self) -> list[tuple[Document, str]]:
        """Returns every document that can be suggested, with its first heading."""
        rows = self.connection.execute("SELECT rowid, title FROM words").fetchall()
        documents = self.documents_by_id
        return [(documents[number], title.rpartition("\n")[2]) for number, title in rows if number in documents]

    def close(self) -> None:
        self.connection.close()


def size_and_time(document: Document) -> tuple[int, int]:
    """Returns the values by which a changed file is recognised."""
    return document.size, document.mtime


def described(document: Document) -> str:
    """Returns what the owner's index says about a document."""
    return f"{document.about}\n{document.when}"


def quoted(word: str) -> str:
    """Quotes a word for FTS5."""
    return '"' + word.replace('"', '""') + '"'


def indexed_texts(document: Document, text: str) -> tuple[str, str, str]:
    """Returns the title, the outline and the body of a document as they are searched; of code only names."""
    if document.is_code:
        return document.title, symbols(text), ""
    headings = [line for line in text.split("\n") if line.startswith("#")]
    first = headings[0].lstrip("# ") if headings else ""
    body = "\n".join(line for line in text.split("\n") if not _is_usual(line))
    return f"{document.title}\n{first}", f"{document.when}\n{outline(text)}", body


def subjects_by_field(document: Document, columns: tuple[str, ...]) -> dict[int, dict[str, tuple[int, bool]]]:
    """Returns the subjects of a document: their terms, each with its first field and whether it names the subject.

    The fields are the title, the outline, the beginning of the body and the owner's description.
    """
    fields_by_subject: dict[int, dict[str, tuple[int, bool]]] = {}
    for field, text in enumerate((*columns, document.about)):
        for subject, terms in subjects.find(text[:BEGINNING]).items():
            for term, is_name in terms.items():
                fields_by_subject.setdefault(subject, {}).setdefault(term, (field, is_name))
    return fields_by_subject


def outline(text: str) -> str:
    """Returns a document's front matter and headings, without headings that say nothing about its subject."""
    front, _, _ = frontmatter(text)
    headings = [line for line in text.split("\n") if line.startswith("#") and not _is_usual(line)]
    return "\n".join([front, *(line.lstrip("# ") for line in headings)])


def _is_usual(line: str) -> bool:
    """Returns True for a heading that any document may have, and for the status of a decision."""
    text = line.strip("#-* :").lower()
    return (line.startswith("#") and text in USUAL_HEADINGS) or text.startswith("status:")


def symbols(text: str) -> str:
    """Returns the names that a source file defines, with their parts."""
    lines = "\n".join(line for line in text.split("\n") if len(line) <= LONGEST_LINE)
    names = dict.fromkeys(first or second for first, second in DEFINITION.findall(lines))
    return "\n".join(" ".join(words(name)) for name in names)
