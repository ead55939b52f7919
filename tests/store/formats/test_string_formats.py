"""The code of each format and its pattern in the schemas agree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from conftest import FULL
from hypothesis import given, settings
from hypothesis import strategies as st
from support.quick_cases import all_of, few_of

from sow.store.formats import schema
from sow.store.formats.validation import FORMATS

EDGES = [
    *("", "0", "00", "000", "010", "0010", "1000", "123456789"),
    *("1234567890", "٠١٠", "²²²", "-10", "+10", "1e3", " 010", "010\n"),
    *("2026-01-31T09:00:00Z", "2026-01-31t09:00:00z", "2026-01-31T09:00:00"),
    *("2026-1-31T09:00:00Z0", "٢٠٢٦-01-31T09:00:00Z"),
    *("1.0.0", "1.0", "1.0.0.0", "1..0", ".0.0", "1.0.", "01.0.0", "1.0.0\n", "a.b.c", "9" * 5000 + ".0.0"),
    *("8f14e45f-ceea-467f-9b1c-3f2a1b7c9d10", "8F14e45f-ceea-467f-9b1c-3f2a1b7c9d10"),
    *("8f14e45f-ceea-567f-9b1c-3f2a1b7c9d10"),
    *("8f14e45f-ceea-467f-7b1c-3f2a1b7c9d10", "8f14e45f-ceea-467f-9b1c-3f2a1b7c9d1"),
    *("8f14e45fceea467f9b1c3f2a1b7c9d10"),
    *("a", "a" * 40, "a" * 41, "a" * 64, "a" * 65, "A", "_a", "-a", "a-"),
    *("a_", "a.b", "a:b", ".a", ":a", "é", "a b", "a\n"),
    *("note_001", "note_01", "note_1234567", "note_٠٠١", "Note_001"),
    *("note_", "x_123456", "_123456", "__123456", "x_12345"),
    *("x_1234567890123", "x-y_123456", "x_123456_", "0" * 39, "0" * 40, "0" * 64, "0" * 65, "F" * 40, "g" * 40),
    *("\x00", "\x1f", "\t", "\n", "\r", "\x7f", "\x80", "\x85"),
    *("\x9f", "\xa0", "\u2028", "\u2029", "\ufeff", "\u202e", "🙂", "\x1b[0m"),
]  # fmt: skip


def patterns() -> dict[str, set[str]]:
    """Returns every pattern of a format, in every version of every schema."""
    result: dict[str, set[str]] = {}

    def walk(rule: Any) -> Iterator[dict[str, Any]]:
        if isinstance(rule, dict):
            yield rule
        for item in rule.values() if isinstance(rule, dict) else rule if isinstance(rule, list) else ():
            yield from walk(item)

    for version in schema.versions():
        for name in schema.names(version):
            for rule in walk(schema.document(name, version)):
                if isinstance(rule.get("format"), str):
                    result.setdefault(rule["format"], set()).add(rule["pattern"])
    return result


PATTERNS = patterns()


def agrees(name: str, text: str) -> None:
    (pattern,) = PATTERNS[name]
    assert pattern.endswith("$")
    meant = re.search(pattern[:-1] + r"\Z", text) is not None
    assert FORMATS[name][0](text) is meant, f"{name}: {text!r}"


def test_every_format_has_one_pattern():
    """No format is without a pattern, none has two, and each has code."""
    assert set(PATTERNS) == set(FORMATS)
    assert all(len(pattern) == 1 for pattern in PATTERNS.values())


@all_of("name", FORMATS)
def test_code_and_pattern_agree_on_edge_cases(name):
    """Code and pattern agree on texts at the edge of every format."""
    for text in EDGES:
        agrees(name, text)


@few_of("name", FORMATS, 2)
@given(data=st.data())
@settings(max_examples=2000 if FULL else 100)
def test_code_and_pattern_agree(name, data):
    """Code and pattern agree on texts that fit, on those with one character changed, and on any others."""
    (pattern,) = PATTERNS[name]
    fitting = data.draw(st.from_regex(pattern, fullmatch=True))
    agrees(name, fitting)
    place = data.draw(st.integers(0, len(fitting)))
    piece = data.draw(st.one_of(st.sampled_from(["", *"aZ0-_.: \n٣é", "\x1b", "\u2028"]), st.characters()))
    agrees(name, fitting[:place] + piece + fitting[place + 1 :])
    agrees(name, fitting[:place] + piece + fitting[place:])
    agrees(name, data.draw(st.text(max_size=45)))
