"""JSON that sow writes reads the same everywhere, and sow reads only strict JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, NoReturn

import pytest
from conftest import FULL
from hypothesis import given, settings
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.errors import InvalidFile
from sow.store.formats import json_text

TRICKY = [
    *("", " ", "080", "no", "null", "~", "- a", "a: b", "# x", "{"),
    *("}", "[]", ",", "\\", "\\u0061", '"', "'", "a\nb", "\t"),
    *("\r", "\x00", "\x1b[31m", "\x7f", "\x85", "\x9b", "\u2028"),
    *("\u2029", "\ufeff", "\ufffe", "\uffff", "🙂", "\U0010ffff"),
    *("&a", "*a", "!a", "<<", "?", "é" * 50),
]  # fmt: skip
TEXTS = st.one_of(st.sampled_from(TRICKY), st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(1 << 70), 1 << 70), TEXTS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4))
)


def strict(text: str) -> Any:
    """Returns what the standard library reads, without its three extensions."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("repeated")
        return dict(pairs)

    data = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    json.dumps(data, ensure_ascii=False).encode()
    return data


def refusal(text: str) -> str:
    with pytest.raises(InvalidFile) as refused:
        json_text.load(text, "f.json")
    assert refused.value.hint
    return refused.value.message


@given(VALUES)
@settings(max_examples=3000 if FULL else 50)
def test_written_json_reads_back(document):
    """Every document that sow writes is the same for sow's reader and for the standard library."""
    text = json_text.dump(document)
    assert repr(json_text.load(text, "f.json")) == repr(document)
    assert repr(json.loads(text)) == repr(document)


@all_of("text", TRICKY)
def test_a_tricky_text_stays_that_text(text):
    """A text that YAML could read as something else is read back unchanged."""
    document = {"a": text, "b": {text: [text, {"c": text}]}}
    assert json_text.load(json_text.dump(document), "f.json") == document


@pytest.mark.parametrize("value", [1.5, b"a", ("a",), {1}, {1: "a"}, {None: "a"}, {"a": {True: 1}}])
def test_unsupported_values_are_not_written(value):
    """A value of an unsupported type is refused by the writer, also a key that is no text."""
    with pytest.raises(TypeError):
        json_text.dump(value)


def test_sows_own_files_need_no_slow_parser():
    """A file that sow wrote is read without loading the json module."""
    program = (
        "import sys; from sow.store.formats import json_text as t\n"
        "d = {'a': [1, None, True, 'é\\x1b', {'b': {}}], 'c': []}\n"
        "assert t.load(t.dump(d), 'f') == d; sys.exit('json' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


REFUSED = {
    "repeated": ('{"a": 1, "a": 2}', "the key 'a' is there twice"),
    "repeated in our layout": ('{\n  "a": 1,\n  "a": 2\n}\n', "the key 'a' is there twice"),
    "repeated inside": ('{"b": [{"a": 1, "a": 1}]}', "the key 'a' is there twice"),
    "repeated with an escape": ('{"a": 1, "\\u0061": 2}', "the key 'a' is there twice"),
    "NaN": ('{"a": NaN}', "NaN is not JSON"),
    "infinity": ("[Infinity]", "Infinity is not JSON"),
    "minus infinity": ("[-Infinity]", "-Infinity is not JSON"),
    "a number that becomes infinity": ("[1e999]", "without an end"),
    "a huge number": (f"[{'9' * 5000}]", "5000 digits"),
    "half a character": ('{"a": "\\ud800"}', "half a character"),
    "the other half": ('["\\udc00x"]', "half a character"),
    "half a character in a key": ('{"\\ud83d": 1}', "half a character"),
    "the halves in the wrong order": ('["\\ude00\\ud83d"]', "half a character"),
    "half a character in our layout": ('{\n  "a": "\\ud800"\n}\n', "half a character"),
    "too deep": ("[" * 70 + "]" * 70, "nested deeper than 64 levels"),
    "100,000 brackets": ("[" * 100_000, "nested too deeply"),
    "100,000 closed brackets": ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    "100,000 braces": ('{"a":' * 100_000, "nested too deeply"),
    "100,000 brackets in our layout": ('{\n  "a": ' + "[" * 100_000, "nested too deeply"),
    "too large": (f'"{"x" * json_text.MAX_BYTES}"', "larger than 4 MiB"),
}


@all_of(("text", "words"), REFUSED.values())
def test_dangerous_json_is_refused(text, words):
    """Repeated keys, endless numbers, half characters and bombs are errors with a hint, never a crash."""
    message = refusal(text)
    assert message.startswith("f.json:")
    assert words in message


WRONG = {
    "empty": ("", 1),
    "a control character": ('{\n"a": "x\x01"}', 2),
    "a line break in a text": ('{"a": "x\ny"}', 1),
    "a tab in a text": ('["\t"]', 1),
    "a comma too many": ('{\n  "a": 1,\n}\n', 3),
    "no quotes": ("{\n  a: 1\n}\n", 2),
    "single quotes": ("{\n  'a': 1\n}\n", 2),
    "a number as a key": ("{\n  1: 2\n}\n", 2),
    "null as a key": ("{\n  null: 2\n}\n", 2),
    "truth as a key": ("{\n  true: 2\n}\n", 2),
    "a comment": ('{\n  "a": 1 # one\n}\n', 2),
    "a plain text": ('{\n  "a": b\n}\n', 2),
    "a YAML null": ('{\n  "a": ~\n}\n', 2),
    "an empty value": ('{\n  "a":\n}\n', 3),
    "octal": ('{\n  "a": 010\n}\n', 2),
    "plus": ('{\n  "a": +1\n}\n', 2),
    "hexadecimal": ('{\n  "a": 0x1f\n}\n', 2),
    "a YAML escape": ('{\n  "a": "\\x41"\n}\n', 2),
    "an alias": ('{\n  "a": &x 1,\n  "b": *x\n}\n', 2),
    "a tag": ('{\n  "a": !!str 1\n}\n', 2),
    "a second document": ('{\n  "a": 1\n}\n---\n{}\n', 4),
    "more behind it": ('{\n  "a": 1\n}\n{', 4),
    "dashes behind it": ('{\n  "a": 1\n}\n' + "- " * 50_000, 4),
    "colons behind it": ('{\n  "a": 1\n}\n' + ": " * 50_000, 4),
    "a merge conflict": ('{\n<<<<<<< HEAD\n  "a": 1\n=======\n  "a": 2\n>>>>>>> b\n}\n', 2),
    "a byte order mark": ("\ufeff{}", 1),
}


@all_of(("text", "line"), WRONG.values())
def test_invalid_json_is_refused_with_its_line(text, line):
    """Text that YAML would read and JSON would not is refused, with the file and the line."""
    assert refusal(text).startswith(f"f.json:{line}: ")


@all_of(
    "text",
    ["{}", "[]", " {} ", "1", '"a"', "null", '{"a":1}', '{\r\n"a": [1.5, -0, 1E2]\r\n}', '"\\ud83d\\ude42"', "-0.0"],
)
def test_other_json_is_read(text):
    """Another layout, other line ends, fractions and escaped pairs are accepted."""
    assert repr(json_text.load(text, "f.json")) == repr(json.loads(text))


PIECES = [
    *('{\n  "a": 1\n}\n', "{", "}", "[", "]", ",", ":", ": ", '"a"'),
    *('"b"', "1", "-0", "1.5", "1e3", "1e999", "null", "true", "\n"),
    *(" ", "  ", "\t", "\r", "\\", '"', "'", "\\u0061", "\\ud83d"),
    *("\\ude42", "\\n", "\\x41", "# c", "- ", "? ", "&x ", "*x", "!t "),
    *("NaN", "Infinity", "~", "é", "\x7f", "\x85", "\u2028"),
    *("\ufeff", "\x00", "010", "0x1", "99999999999999999999", "---\n", "{\n"),
]  # fmt: skip


def read_like_the_library(text: str) -> None:
    try:
        data = json_text.load(text, "f.json")
    except InvalidFile:
        return
    assert repr(data) == repr(strict(text))


@pytest.mark.full
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@settings(max_examples=50_000 if FULL else 400)
def test_any_text_is_read_as_strict_json_or_refused(text):
    """A text of any pieces is refused, or has the meaning that the standard library gives it."""
    read_like_the_library(text)


@pytest.mark.full
@given(VALUES, st.data())
@settings(max_examples=10_000 if FULL else 200)
def test_a_damaged_file_is_read_as_strict_json_or_refused(document, data):
    """A file of sow with a piece removed, changed, repeated or added has no other meaning than in JSON."""
    text = json_text.dump({"a": document})
    start = data.draw(st.integers(0, len(text)))
    end = min(len(text), start + data.draw(st.integers(0, 4)))
    piece = data.draw(st.one_of(st.just(""), st.sampled_from(PIECES), st.just(text[start:end] * 2)))
    read_like_the_library(text[:start] + piece + text[end:])
