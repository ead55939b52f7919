"""YAML that sow writes reads the same everywhere, and no other text has two meanings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import FULL, Repo
from hypothesis import given, settings
from hypothesis import strategies as st
from support.quick_cases import all_of
from yaml12 import parse_yaml

from sow.errors import InvalidFile, MergeConflict
from sow.store.files.disk import Disk, read_text
from sow.store.formats import yaml_text

TRICKY = [
    *("", " ", "080", "0o17", "0x1f", "0b101", "1e3", "1_000"),
    *("-1", "+1", "1.5", ".5", ".inf", "-.INF", ".nan", "190:20:30"),
    *("12:30:45", "2026-01-01", "2026-01-31T09:00:00Z", "no", "No", "off", "on"),
    *("y", "N", "yes", "true", "False", "null"),
    *("Null", "~", "=", "<<", "-", "--", "---", "...", "- a", "? a"),
    *(": a", "a: b", "a:", "a #b", "# x", "#x", "|", ">", "%a"),
    *("@a", "`a", "{}", "[]", "{a: b}", "[a]", ",", "'a'", '"a"'),
    *("a'b", 'a"b', "\\", "a\\n", "&a", "*a", "!a", "!!str a"),
    *("a ", " a", "a  b", "\ta", "a\t", "a\nb", "a\n", "\n"),
    *("a\r\nb", "\r", "\x00", "\x07", "\x1b[31m", "\x7f", "\x85", "\x9b"),
    *("\xa0", "a\u2028b", "\u2029", "\ufeff", "\ufeffa", "\ufffd", "\ufffe"),
    *("\uffff", "\ufdd0", "é", "日本語", "🙂", "\U0010ffff"),
    *("\u202eabc", "<<<<<<< HEAD", "=======", ">>>>>>> theirs", "a" * 2000, "- - -", "[[[", "x" + " " * 90 + "y"),
]  # fmt: skip

TEXTS = st.one_of(st.sampled_from(TRICKY), st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
KEYS = st.one_of(
    st.sampled_from([item for item in TRICKY if len(item) < 100]), TEXTS.filter(lambda key: len(key) < 100)
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), TEXTS)


def mappings(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    inner = st.dictionaries(KEYS, values, max_size=4)
    return st.one_of(inner, st.lists(st.one_of(SCALARS, inner), max_size=4))


DOCUMENTS = st.dictionaries(KEYS, st.recursive(SCALARS, mappings, max_leaves=12), min_size=1, max_size=6)


def same_everywhere(document: dict[str, Any]) -> None:
    text = yaml_text.dump(document)
    # repr, since True == 1, and the order of the keys matters to a person who reads the file
    assert repr(yaml_text.load(text, "f.yaml")) == repr(document)
    assert repr(parse_yaml(text)) == repr(document)
    assert repr(yaml.safe_load(text)) == repr(document)


def refusal(text: str) -> str:
    with pytest.raises(InvalidFile) as refused:
        yaml_text.load(text, "f.yaml")
    assert refused.value.hint
    return refused.value.message


@pytest.mark.full
@given(DOCUMENTS)
@settings(max_examples=2000 if FULL else 60)
def test_written_yaml_reads_back(document):
    """Every document of the allowed shape is the same for sow's reader, for YAML 1.2 and for YAML 1.1."""
    same_everywhere(document)


@all_of("text", TRICKY)
def test_a_tricky_text_stays_that_text(text):
    """A text that YAML could read as something else is read back unchanged, as value, key, item and deep inside."""
    same_everywhere({"value": text})
    same_everywhere({"list": [text, {"in": text}, text]})
    if len(text) < 1000:  # YAML allows no longer key on one line
        same_everywhere({text: text, "a": {text: {text: 1}}})


def test_types_are_kept():
    """Numbers, truth values and null keep their types beside texts that look like them."""
    same_everywhere({"a": [1, "1", True, "true", None, "null", -5, "-5", {}, [], {"b": {}}, {"c": []}]})


@pytest.mark.parametrize("value", [1 << 63, b"a", ("a",), {1}, [["a"]], {"a": [[1]]}])
def test_unsupported_values_are_not_written(value):
    """A value outside of the allowed shape is refused by the writer."""
    with pytest.raises(TypeError, match="no place in a state file"):
        yaml_text.dump({"a": value})


def test_writer_and_reader_have_the_same_depth():
    """The deepest allowed nesting is written and read; one level more is neither."""
    deepest: dict[str, Any] = {}
    for _ in range(yaml_text.MAX_DEPTH):
        deepest = {"a": deepest}
    same_everywhere(deepest)
    with pytest.raises(TypeError, match="64 levels"):
        yaml_text.dump({"a": {"a": deepest}})


REPORT = """
import json, sys
from sow.store.formats import yaml_text
for number, text in enumerate(json.load(open(sys.argv[1]))):
    yaml_text.load(text, "f.yaml")
    if "yaml" in sys.modules:
        sys.exit(f"document {number} was scanned: {text[:500]}")
"""


def scanned(tmp_path: Path, texts: list[str]) -> str:
    """Returns the texts that made a fresh process load the careful parser."""
    file = tmp_path / "texts.json"
    file.write_text(json.dumps(texts))
    return subprocess.run([sys.executable, "-c", REPORT, str(file)], capture_output=True, text=True).stderr


def test_sows_own_files_are_read_by_the_fast_parser(tmp_path, task_repo: Repo):
    """A file that sow wrote needs only the fast parser, with any texts."""
    plain = [text for text in TRICKY if not set("&*!") & set(text) and "<<<<<<<" not in text]
    texts = [yaml_text.dump({"key": item, item[:100]: [item, {"a": item}]}) for item in plain]
    texts += [path.read_text() for path in task_repo.project.rglob("*.yaml")]
    texts.append((task_repo.root / ".sow" / "config.yaml").read_text())
    assert len(texts) > 60
    assert scanned(tmp_path, texts) == ""


@pytest.mark.parametrize(
    "text",
    [
        'a: "x!"\n',
        'a: "x&y"\n',
        'a: "*"\n',
        "a: 1",
        "a: 1 # b\n",
        "# b\na: 1\n",
        "a: 1\n\n",
        "a: '1'\n",
        "a:  1\n",
        "{a: 1}\n",
        "a: 1.5\n",
        "- a\n",
        "a: " + "-" * 600 + "\n",
    ],
)
def test_other_files_are_read_by_the_careful_parser(tmp_path, text):
    """A text that sow would not have written so, or that may hold an alias, is read with care."""
    assert "document 0 was scanned" in scanned(tmp_path, [text])


REPEATED = {
    "block": ("a: 1\nb: 2\na: 3\n", 3),
    "no line end": ("a: 1\na: 2", 2),
    "first and last": ("a: 1\n" + "".join(f"k{n}: 1\n" for n in range(400)) + "a: 2\n", 402),
    "flow": ("{a: 1, a: 2}\n", 1),
    "flow, as many lines as entries": ("{a: 1,\n a: 2, b: 3}\n", 2),
    "flow over lines": ("{\n  a: 1,\n  a: 2\n}\n", 3),
    "flow in block": ("a: {b: 1, b: 2}\n\n", 1),
    "flow beside an empty line": ("a: {b: 1, c: 1, c: 2}\n\n\n", 1),
    "nested": ("a:\n  b: 1\n  b: 2\n", 3),
    "in a list": ("a:\n  - b: 1\n    c: 2\n    b: 3\n", 4),
    "in a flow list": ("a: [{b: 1, b: 2}]\n", 1),
    "quoted and plain": ('a: 1\n"a": 2\n', 2),
    "two quotes": ("\"a\": 1\n'a': 2\n", 2),
    "escaped": ('a: 1\n"\\x61": 2\n', 2),
    "escaped wide": ('a: 1\n"\\U00000061": 2\n', 2),
    "explicit": ("? a\n: 1\n? a\n: 2\n", 3),
    "explicit and plain": ("a: 1\n? a\n: 2\n", 2),
    "windows lines": ("a: 1\r\na: 2\r\n", 2),
    "old mac lines": ("a: 1\ra: 2\n", 2),
    "beside a comment": ("a: 1\n# more\na: 2\n", 3),
    "beside a folded text": ("a: >\n  x\n  y\na: 2\n", 4),
    "beside a text of two lines": ('b: "x\n  y"\na: 1\na: 2', 4),
    "after a start": ("---\na: 1\na: 2\n", 3),
    "the first one large": ("a:\n  b: 1\n  c: 2\na: 3\n", 4),
    "null": ("a:\na:\n", 2),
    "indented": ("  a: 1\n  a: 2\n", 2),
    "merge key": ("<<: {a: 1}\n<<: {b: 1}\n", 2),
    "a number": ("1: a\n1: b\n", 2),
    "without a value": ("{a, b, a}\n", 1),
}


@all_of(("text", "line"), REPEATED.values())
def test_a_repeated_key_is_refused_with_its_line(text, line):
    """A repeated key is an error, in any spelling and at any place."""
    assert refusal(text).startswith(f"f.yaml:{line}: the key ")


@pytest.mark.parametrize("text", ["1: a\n0x1: b\n", "null: a\n~: b\n", "true: a\nTrue: b\n", "10: a\n010: b\n"])
def test_two_spellings_of_one_key_are_refused(text):
    """Two keys that differ as texts and are equal for the parser are refused."""
    assert refusal(text) == "f.yaml: two keys are the same"


REFUSED = {
    "an anchor": ("a: &x 1\n", 1, "anchors and aliases"),
    "an alias": ("a: 1\nb: *x\n", 2, "anchors and aliases"),
    "an anchor on a key": ("&x a: 1\n", 1, "anchors and aliases"),
    "an anchor on a list": ("a: &x [1]\nb: *x\n", 1, "anchors and aliases"),
    "a merge of an alias": ("a: &x {b: 1}\nc:\n  <<: *x\n", 1, "anchors and aliases"),
    "a tag": ("a: !t 1\n", 1, "the tag !t"),
    "a core tag": ("a: 1\nb: !!int '1'\n", 2, "the tag tag:yaml.org,2002:int"),
    "a Python tag": ("a: !!python/object/apply:os.system ['id']\n", 1, "the tag tag:yaml.org,2002:python"),
    "a verbatim tag": ("a: !<x> 1\n", 1, "the tag x"),
    "a tag on a list": ("a: !t [1]\n", 1, "the tag !t"),
    "a directive for tags": ("%TAG ! tag:x,2000:\n---\na: !y 1\n", 3, "the tag tag:x,2000:y"),
    "two documents": ("a: 1\n---\nb: 2\n", 2, "a second document"),
    "two documents, the first ended": ("a: 1\n...\n---\nb: 2\n", 3, "a second document"),
    "text after the end": ("a: 1\n...\nb: 2\n", 3, "document start"),
    "a list as a key": ("? [a, b]\n: c\n", 1, "a key must be a text"),
    "a mapping as a key": ("a: 1\n? {a: b}\n: c\n", 2, "a key must be a text"),
    "a tab as indentation": ("a:\n\tb: 1\n", 2, ""),
    "a tab behind a colon": ("a:\tb\n", 1, "whitespace"),
    "an open bracket": ("a: [1, 2\nb: 3\n", 2, ""),
    "an open quote": ('a: "b\nc: d\n', 3, "end of stream"),
    "a bad escape": ('a: 1\nb: "\\q"\n', 2, "escape"),
    "half a character": ('a: "\\ud800"\n', 1, "Unicode"),
    "wrong indentation": ("a: 1\n b: 2\n", 2, "mapping values"),
    "a colon too many": ("a: b: c\n", 1, "mapping values"),
    "NUL": ("a: b\0\nc: 1\n", 1, "control characters"),
    "a control character": ("a: \x01\n", 1, "control characters"),
    "a control character in quotes": ('a: "\x1b[31m"\n', 1, "control characters"),
    "two directives": ("%YAML 1.2\n%YAML 1.2\n---\na: 1\n", 2, "directive"),
    "deep indentation": ("".join(" " * n + "a:\n" for n in range(70)), 65, "deeper than 64"),
    "deep flow": ("a: " + "[" * 70 + "]" * 70 + "\n", 1, "deeper than 64"),
    "deep dashes": ("- " * 70 + "a\n", 1, "deeper than 64"),
}  # fmt: skip


@all_of(("text", "line", "words"), REFUSED.values())
def test_unsupported_yaml_is_refused_with_its_line(text, line, words):
    """Anchors, aliases, tags, second documents and mistakes are errors with the file and the line."""
    message = refusal(text)
    assert message.startswith(f"f.yaml:{line}: ")
    assert words in message


CONFLICTS = {
    "a whole one": ("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> theirs\n", 2),
    "the upper half": ("<<<<<<< HEAD\na: 1\n", 1),
    "the lower half": ("a: 1\n=======\nb: 2\n>>>>>>> theirs\n", 4),
    "with the base": ("a: 1\n<<<<<<< a\nb: 1\n||||||| base\nb: 0\n=======\nb: 2\n>>>>>>> b\n", 2),
}


@pytest.mark.parametrize(("text", "line"), CONFLICTS.values(), ids=CONFLICTS)
def test_a_merge_conflict_is_recognised(text, line):
    """Conflict marks of git get an error of their own."""
    with pytest.raises(MergeConflict, match=f"^f.yaml:{line}: git left a merge conflict here$"):
        yaml_text.load(text, "f.yaml")


READ = {
    "comments": "# first\na: 1 # one\n\n# last\nb:\n  # inside\n  - x\n",
    "another layout": "a:    1\nb: [ x ]\n",
    "flow": "{a: 1, b: [x]}",
    "quotes": "'a': 1\n\"b\": ['x']\n",
    "windows lines": "a: 1\r\nb:\r\n  - x\r\n",
    "no line end": "a: 1\nb:\n  - x",
    "start and end": "---\na: 1\nb: [x]\n...\n",
    "a directive": "%YAML 1.2\n---\na: 1\nb: [x]\n",
    "explicit keys": "? a\n: 1\n? b\n: - x\n",
    "texts of several lines": "a: 1\nb:\n  - >-\n    x\n",
    "empty lines": "\n\na: 1\n\n\nb:\n\n  - x\n\n",
    "a list without indentation": "a: 1\nb:\n- x\n",
}


@all_of("text", READ.values())
def test_an_edited_file_is_read(text):
    """Comments, other quotes, flow style, empty lines and other line ends are accepted."""
    assert yaml_text.load(text, "f.yaml") == {"a": 1, "b": ["x"]}


def test_a_byte_order_mark_is_ignored(tmp_path):
    """A file with the mark that some editors put first is read as without it."""
    (tmp_path / "f.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert yaml_text.load(read_text(Disk(), str(tmp_path / "f.yaml")), "f.yaml") == {"a": 1}


def test_a_merge_key_is_a_key_like_others():
    """YAML 1.2 has no merge: the value of << is not merged into the mapping."""
    assert yaml_text.load("<<: {a: 1}\nb: 2\n", "f.yaml") == {"<<": {"a": 1}, "b": 2}


def test_a_large_text_is_refused_unread():
    """A state file has at most a mebibyte."""
    assert refusal("a: " + "x" * yaml_text.MAX_BYTES) == "f.yaml: larger than 1024 KiB"


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "null\n", "~"])
def test_an_empty_text_is_null(text):
    """A text without a document is null, which no schema accepts."""
    assert yaml_text.load(text, "f.yaml") is None


FRAGMENTS = [
    *("a: 1\n", "a: 2\n", "a:", "b:", "  a: 1\n", "  b: 2\n", "\n", "\r\n"),
    *("\r", " ", "  ", "\t", "# c\n", '"a": 3\n', "'a': 4\n"),
    *("? a\n", ": 1\n", "- ", "- a: 1\n", "  - ", "{", "}", "[", "]"),
    *(",", "{a: 1, a: 2}", "{a: 1}", "[a]", "a", "x y", '"', "'"),
    *("&x ", "*x", "!t ", "<<: ", "---\n", "...\n", "|\n", ">\n", "1"),
    *("0x1: ", "1: ", "~: ", "null: ", "\\", "\x85", "\u2028", "\ufeff"),
    *("<<<<<<< a\n", "é", "%YAML 1.2\n", ": ", "? ", "-\n"),
]  # fmt: skip


def facts(node: Any) -> tuple[int, bool]:
    """Returns how many keys PyYAML sees below a node, and whether one of them is repeated."""
    if isinstance(node, yaml.MappingNode):
        keys = [key.value if isinstance(key, yaml.ScalarNode) else "" for key, _ in node.value]
        below = [facts(value) for _, value in node.value]
        return len(keys) + sum(count for count, _ in below), len(set(keys)) < len(keys) or any(bad for _, bad in below)
    below = [facts(item) for item in node.value] if isinstance(node, yaml.SequenceNode) else []
    return sum(count for count, _ in below), any(bad for _, bad in below)


def keys_in(data: Any) -> int:
    if isinstance(data, dict):
        return len(data) + sum(keys_in(value) for value in data.values())
    return sum(keys_in(item) for item in data) if isinstance(data, list) else 0


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
@settings(max_examples=50_000 if FULL else 150)
def test_no_text_has_a_second_meaning(text):
    """A text of any pieces is refused, or it is read with every key that another parser sees."""
    try:
        data = yaml_text.load(text, "f.yaml")
    except InvalidFile:
        return
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    count, repeated = facts(node) if node else (0, False)
    assert not repeated
    assert keys_in(data) == count


@given(DOCUMENTS, st.data())
@settings(max_examples=5000 if FULL else 80)
def test_a_repeated_line_is_never_lost(document, data):
    """If a line of a written file is repeated somewhere, the file is refused, or nothing of it is lost."""
    lines = yaml_text.dump(document).split("\n")[:-1]
    line = data.draw(st.sampled_from(lines))
    lines.insert(data.draw(st.integers(0, len(lines))), line)
    text = "\n".join(lines) + data.draw(st.sampled_from(["\n", "", "\n\n"]))
    try:
        loaded = yaml_text.load(text, "f.yaml")
    except InvalidFile:
        return
    count, repeated = facts(yaml.compose(text, Loader=yaml.CSafeLoader))
    assert not repeated
    assert keys_in(loaded) == count
