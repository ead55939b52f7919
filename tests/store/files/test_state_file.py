"""The cache of checked documents: fast, never out of date, and limited in number."""

from __future__ import annotations

from sow.store.files.state_file import MOST_REMEMBERED, DocumentCache
from sow.store.validators.task import validate


def test_a_remembered_document_is_its_readers_own() -> None:
    """What one reader does to a document is seen by nobody else, at any depth."""
    checked = DocumentCache()
    document = {"task": {"criteria": ["one"], "source": {"id": "1"}}}
    checked.add("text", validate, document)
    document["task"]["criteria"].append("two")
    first = checked.get("text", validate) or {}
    first["task"]["source"]["id"] = "2"
    assert checked.get("text", validate) == {"task": {"criteria": ["one"], "source": {"id": "1"}}}


def test_another_text_or_another_schema_is_another_document() -> None:
    """Only the very same text, checked by the same rules, is known."""
    checked = DocumentCache()
    checked.add("text", validate, {"task": {}})
    assert checked.get("text\n", validate) is None
    assert checked.get("text", lambda data, at: None) is None


def test_the_oldest_documents_are_forgotten_first() -> None:
    """However much is read, no more text than the limit is remembered, and the newest is."""
    checked = DocumentCache()
    texts = [str(number).ljust(MOST_REMEMBERED // 8) for number in range(20)]
    for text in texts:
        checked.add(text, validate, {"task": {"name": text[:4]}})
        checked.add(text, validate, {"task": {"name": text[:4]}})
    assert sum(len(text) for text, _ in checked.documents) == checked.size <= MOST_REMEMBERED
    assert checked.get(texts[-1], validate) and not checked.get(texts[0], validate)
