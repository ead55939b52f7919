"""What a review found: each finding has an identity, by which the next review is seen to find it again."""

from __future__ import annotations

from sow.domain.wording import steady, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from sow.domain.shapes import Finding

SEVERITIES = ("error", "warning", "note")
MOST = 50  # of one review: with the limits below, dozens of reviews fit into a state file
LIMITS = {"text": 1000, "evidence": 1000, "rule": 200, "file": 1000, "symbol": 200}
LINES = ("rule", "file", "symbol")


def read(said: object) -> Finding | None:
    """A finding as a reviewer wrote it, fit to be kept; None if it says nothing.

    A severity that we do not know counts as an error: a reviewer who says "critical" does not mean a note.
    """
    if not isinstance(said, dict):
        return None
    parts = {
        key: tidy(said[key], limit, key in LINES) for key, limit in LIMITS.items() if isinstance(said.get(key), str)
    }
    if not parts.get("text"):
        return None
    severity = said.get("severity")
    found: Any = {"id": "", "severity": severity if severity in SEVERITIES else "error"}
    found |= {key: value for key, value in parts.items() if value}
    found["id"] = identity(found)
    return found  # type: ignore[no-any-return]


def tidy(text: str, limit: int, one_line: bool = False) -> str:
    """A text without control characters and halves of characters, cut to its limit."""
    text = text[: 2 * limit].encode("utf-8", "replace").decode()
    if one_line:
        text = " ".join(text.split())
    kept = (letter for letter in text if letter >= " " or letter in "\n\t")
    return "".join(letter for letter in kept if not "\x7f" <= letter <= "\x9f").strip()[:limit]


def identity(finding: Mapping[str, Any]) -> str:
    """A short id made of rule, file and symbol, or of the words where there is none; a line number never counts."""
    import hashlib

    parts = [_rule(finding.get("rule") or ""), _file(finding.get("file") or ""), _symbol(finding.get("symbol") or "")]
    if not any(parts):
        parts = ["text", " ".join(_words_without_lines(finding["text"])) or finding["text"]]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]


def same_again(before: Iterable[Finding], now: Iterable[Finding]) -> list[Finding]:
    """The errors that the review before had found as well."""
    known = {each["id"] for each in before}
    return [each for each in now if each["severity"] == "error" and each["id"] in known]


def joined(groups: Iterable[Iterable[Finding]]) -> list[Finding]:
    """The findings of one or several reviewers, errors first; what two say alike is there once, at its worst."""
    worst: dict[tuple[str, str], Finding] = {}
    for each in (each for group in groups for each in group):
        key = (each["id"], " ".join(words(each["text"])))
        if key not in worst or _rank(each) < _rank(worst[key]):
            worst[key] = each
    return sorted(worst.values(), key=_rank)[:MOST]


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding["severity"])


def _rule(rule: str) -> str:
    return "-".join(words(rule))


def _file(path: str) -> str:
    """A path below the root, without the place in the file."""
    path = _without_place(path.strip().replace("\\", "/"))
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _symbol(symbol: str) -> str:
    return _without_place("".join(symbol.split())).removesuffix("()")


def _without_place(name: str) -> str:
    """`a.py:12:5`, `a.py#L12-L14` and `a.py` are the same."""
    head, mark, tail = name.rpartition("#")
    if mark and tail[:1] in ("L", "l") and tail[1:2].isdigit():
        name = head
    while name.rpartition(":")[1] and name.rpartition(":")[2].replace("-", "").isdigit():
        name = name.rpartition(":")[0]
    return name


def _words_without_lines(text: str) -> list[str]:
    """The words of a steady text but for line numbers: `line 12`, `lines 3-7`, `a.py:12`, `L12`."""
    parts = steady(text).split(":")
    marked = parts[0] + "".join(f" line {part}" if part[:1].isdigit() else f" {part}" for part in parts[1:])
    found: list[str] = []
    for word in words(marked):
        if word.isdigit() and found and found[-1] in ("line", "lines"):
            continue
        if not (word[0] == "l" and word[1:].isdigit()):
            found.append(word)
    return found
