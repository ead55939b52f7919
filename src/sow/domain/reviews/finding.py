"""Reads findings of a review, and gives each an id by which later reviews can recognize it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from sow.domain.documents.state import Finding
from sow.domain.inputs import plain_path
from sow.domain.text.similar_text import without_changing_parts, words

SEVERITIES = ("error", "warning", "note")
MAX_FINDINGS = 50  # findings of one review; with the limits below, dozens of reviews fit into a state file
LIMITS = {"text": 1000, "evidence": 1000, "rule": 200, "file": 1000, "symbol": 200}
LINES = ("rule", "file", "symbol")


def read(item: object) -> Finding | None:
    """Returns a reviewer's finding in the form in which it is kept, or None if it has no text.

    An unknown severity counts as an error: a reviewer who says "critical" does not mean a note.
    """
    if not isinstance(item, dict):
        return None
    parts = {
        key: clean_text(item[key], limit, key in LINES)
        for key, limit in LIMITS.items()
        if isinstance(item.get(key), str)
    }
    if not parts.get("text"):
        return None
    severity = item.get("severity")
    finding: Any = {"id": "", "severity": severity if severity in SEVERITIES else "error"}
    finding |= {key: value for key, value in parts.items() if value}
    finding["id"] = identity(finding)
    return finding  # type: ignore[no-any-return]


def read_all(items: Iterable[object]) -> list[Finding]:
    """Returns the findings that have a text."""
    return [finding for item in items if (finding := read(item)) is not None]


def clean_text(text: str, limit: int, one_line: bool = False) -> str:
    """Returns a text without control characters and lone surrogates, cut to its limit."""
    text = text[: 2 * limit].encode("utf-8", "replace").decode()
    if one_line:
        text = " ".join(text.split())
    kept = (letter for letter in text if letter >= " " or letter in "\n\t")
    return "".join(letter for letter in kept if not "\x7f" <= letter <= "\x9f").strip()[:limit]


def identity(finding: Mapping[str, Any]) -> str:
    """Returns a short id of rule, file and symbol, or of the text if there is none. Line numbers do not count."""
    parts = [_rule(finding.get("rule") or ""), _file(finding.get("file") or ""), _symbol(finding.get("symbol") or "")]
    if not any(parts):
        parts = ["text", " ".join(_words_without_lines(finding["text"])) or finding["text"]]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]


def repeated_errors(before: Iterable[Finding], now: Iterable[Finding]) -> list[Finding]:
    """Returns the errors that the previous review found as well."""
    earlier_ids = {finding["id"] for finding in before}
    return [finding for finding in now if finding["severity"] == "error" and finding["id"] in earlier_ids]


def merge_findings(groups: Iterable[Iterable[Finding]]) -> list[Finding]:
    """Returns the findings of all reviewers, errors first. A duplicate is kept once, with the worst severity."""
    worst: dict[tuple[str, str], Finding] = {}
    for finding in (finding for group in groups for finding in group):
        key = (finding["id"], " ".join(words(finding["text"])))
        if key not in worst or _rank(finding) < _rank(worst[key]):
            worst[key] = finding
    return sorted(worst.values(), key=_rank)[:MAX_FINDINGS]


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding["severity"])


def _rule(rule: str) -> str:
    return "-".join(words(rule))


def _file(path: str) -> str:
    """Returns a path below the root, without a line number."""
    return plain_path(_without_line_number(path.strip().replace("\\", "/")))


def _symbol(symbol: str) -> str:
    return _without_line_number("".join(symbol.split())).removesuffix("()")


def _without_line_number(name: str) -> str:
    """Returns a name without its line number: `a.py:12:5` and `a.py#L12-L14` become `a.py`."""
    head, mark, tail = name.rpartition("#")
    if mark and tail[:1] in ("L", "l") and tail[1:2].isdigit():
        name = head
    while name.rpartition(":")[1] and name.rpartition(":")[2].replace("-", "").isdigit():
        name = name.rpartition(":")[0]
    return name


def _words_without_lines(text: str) -> list[str]:
    """The words of a steady text but for line numbers: `line 12`, `lines 3-7`, `a.py:12`, `L12`."""
    parts = without_changing_parts(text).split(":")
    marked = parts[0] + "".join(f" line {part}" if part[:1].isdigit() else f" {part}" for part in parts[1:])
    kept: list[str] = []
    for word in words(marked):
        if word.isdigit() and kept and kept[-1] in ("line", "lines"):
            continue
        if not (word[0] == "l" and word[1:].isdigit()):
            kept.append(word)
    return kept
