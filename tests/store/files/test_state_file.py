"""The cache of checked documents: fast, never out of date, and limited in number."""

from __future__ import annotations

from sow.store.files.state_file import MOST_REMEMBERED, DocumentCache
from sow.store.validators.task import validate


def test_a_cached_document_belongs_to_its_reader() -> None:
    """One reader's changes to a document are not visible to others, at any depth."""
    checked = DocumentCache()
    document = {"task": {"criteria": ["one"], "source": {"id": "1"}}}
    checked.add("text", validate, document)
    document["task"]["criteria"].append("two")
    first = checked.get("text", validate) or {}
    first["task"]["source"]["id"] = "2"
    assert checked.get("text", validate) == {"task": {"criteria": ["one"], "source": {"id": "1"}}}


def test_another_text_or_schema_is_another_document() -> None:
    """Only the same text, checked by the same schema, is cached."""
    checked = DocumentCache()
    checked.add("text", validate, {"task": {}})
    assert checked.get("text\n", validate) is None
    assert checked.get("text", lambda data, at: None) is None


def test_the_oldest_documents_are_dropped_first() -> None:
    """The cache holds no more text than the limit, and the newest is in it."""
    checked = DocumentCache()
    texts = [str(number).ljust(MOST_REMEMBERED // 8) for number in range(20)]
    for text in texts:
        checked.add(text, validate, {"task": {"name": text[:4]}})
        checked.add(text, validate, {"task": {"name": text[:4]}})
    assert sum(len(text) for text, _ in checked.documents) == checked.size <= MOST_REMEMBERED
    assert checked.get(texts[-1], validate) and not checked.get(texts[0], validate)
