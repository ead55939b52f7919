"""Texts of any size that are slow, deep or large for a reader."""

from __future__ import annotations

from collections.abc import Callable

Make = Callable[[int], str]


def laughs(count: int) -> str:
    """Returns lines that each hold ten times the one before."""
    lines = ["a0: &a0 x"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, min(count, 60))]
    return "\n".join(lines) + "\n"


def pattern(unit: str, *, before: str = "", after: str = "") -> Make:
    """Returns the unit many times."""
    return lambda count: before + unit * count + after


def numbered(unit: str, *, before: str = "", after: str = "") -> Make:
    """Returns the unit with a number, so that no two are equal."""
    return lambda count: before + "".join(unit.replace("#", str(n)) for n in range(count)) + after


def steps(unit: str) -> Make:
    """Returns lines that are each one level deeper."""
    return lambda count: "".join(" " * n + unit for n in range(min(count, 1400)))


YAML: dict[str, Make] = {
    "laughs": laughs,
    "open brackets": pattern("["),
    "open braces": pattern("{"),
    "brackets over lines": pattern("[\n"),
    "braces with keys": pattern("{a: "),
    "brackets and braces": pattern("[{"),
    "questions in brackets": pattern("[? "),
    "dashes": pattern("- "),
    "dashes with tabs": pattern("-\t"),
    "dashes behind a key": pattern("- ", before="a:\n  "),
    "question marks": pattern("? "),
    "question marks with tabs": pattern("?\t"),
    "colons": pattern(": "),
    "colons with tabs": pattern(":\t"),
    "colons and dashes": pattern("- : "),
    "colons behind a dash": pattern(": ", before="- "),
    "question marks and dashes": pattern("? - "),
    "question marks and colons": pattern("? : "),
    "steps of keys": steps("a:\n"),
    "steps of dashes": steps("-\n"),
    "steps of question marks": steps("?\n"),
    "steps of colons": steps(":\n"),
    "keys": numbered("k#: 1\n"),
    "keys in flow": numbered("k#: 1, ", before="{", after="}"),
    "keys without values": numbered("k#, ", before="{", after="}"),
    "equal keys": pattern("a: 1\n"),
    "items": pattern("- a\n"),
    "items in flow": pattern("a,", before="[", after="]"),
    "pairs in flow": pattern("a: b, ", before="[", after="]"),
    "anchors": numbered("k#: &a# 1\n"),
    "aliases": pattern("- *a\n", before="- &a x\n"),
    "tags": pattern("!a "),
    "exclamation marks": pattern("!"),
    "a long text": pattern("x", before="a: "),
    "a long quoted text": pattern("x", before='a: "', after='"'),
    "a long key": pattern("x", after=": 1\n"),
    "escapes": pattern("\\n", before='a: "', after='"'),
    "quotes": pattern("'"),
    "double quotes": pattern('"'),
    "open texts": pattern('a: "\n'),
    "literal texts": pattern("  x\n", before="a: |\n"),
    "folded texts": pattern("  x\n\n", before="a: >\n"),
    "empty lines in a text": pattern("\n", before="a: b", after=" c"),
    "comments": pattern("# x\n"),
    "comment marks": pattern("#"),
    "documents": pattern("---\n"),
    "document ends": pattern("...\n"),
    "directives": pattern("%YAML 1.2\n"),
    "percent signs": pattern("%"),
    "spaces": pattern(" "),
    "tabs": pattern("\t"),
    "line breaks": pattern("\n"),
    "returns": pattern("\r"),
    "commas": pattern(","),
    "a long number": pattern("9", before="a: "),
    "a long fraction": pattern("9", before="a: 0."),
    "a large exponent": pattern("9", before="a: 1e"),
    "a long version": pattern("9", before='schema_version: "', after='.0.0"\ntask: {}\n'),
    "bytes of zero": pattern("\0"),
    "byte order marks": pattern("\ufeff"),
    "other line breaks": pattern("\u2028"),
    "conflict marks": pattern("<<<<<<< a\n"),
    "emoji": pattern("🙂", before="a: "),
}
JSON: dict[str, Make] = {
    "open brackets": pattern("["),
    "closed brackets": lambda count: "[" * count + "]" * count,
    "open braces": pattern('{"a":'),
    "brackets in our layout": pattern("[", before='{\n  "a": '),
    "items": pattern("1,", before="[", after="1]"),
    "items in our layout": pattern("1,", before='{\n  "a": [', after="1]}"),
    "objects": pattern("{},", before="[", after="{}]"),
    "keys": numbered('"k#": 1, ', before="{", after='"a": 1}'),
    "equal keys": pattern('"a": 1, ', before="{", after='"a": 1}'),
    "a long number": pattern("9"),
    "a large exponent": pattern("9", before="1e"),
    "a long text": pattern("x", before='"', after='"'),
    "escapes": pattern("\\u0041", before='"', after='"'),
    "half characters": pattern("\\ud800", before='"', after='"'),
    "backslashes": pattern("\\", before='"'),
    "quotes": pattern('"'),
    "dashes behind it": pattern("- ", before='{\n  "a": 1\n}\n'),
    "spaces": pattern(" "),
}
