"""Changes of single values in a YAML text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of
from yaml12 import parse_yaml

from sow.cli.setup.config_file import template
from sow.store.formats.yaml_edit import remove, set_value

# The text, a path, and the text after the value there became 7.
CHANGED = {
    "a value with a comment": ("a: 1   # one\nb: 2\n", "a", "a: 7   # one\nb: 2\n"),
    "a quoted value": ('a: "x # y" # one\n', "a", "a: 7 # one\n"),
    "a value of two lines": ("a: x\n  y\nb: 2\n", "a", "a: 7\nb: 2\n"),
    "a text block": ("a: |\n  x\n  y\n\nb: 2\n", "a", "a: 7\n\nb: 2\n"),
    "no value": ("a:   # one\nb: 2\n", "a", "a: 7   # one\nb: 2\n"),
    "a list below its key": ("a:   # one\n  - x\n  - y # two\n# three\nb: 2\n", "a", "a: 7   # one\n# three\nb: 2\n"),
    "a list on its own column": ("a:\n- x\n- y\nb: 2\n", "a", "a: 7\nb: 2\n"),
    "a list in brackets": ("a: [x,\n  y] # one\nb: 2\n", "a", "a: 7 # one\nb: 2\n"),
    "a value in a section": ("é:\n    a: 1 # one\n    b: 2\n", "é.b", "é:\n    a: 1 # one\n    b: 7\n"),
    "a value in braces": ("s: {a: 1, b: 2} # one\n", "s.a", "s: {a: 7, b: 2} # one\n"),
    "a new value": ("a: 1 # one\n# end\n", "b", "a: 1 # one\nb: 7\n# end\n"),
    "a new value in a section": ("s:\n    a: 1 # one\nt: 2\n", "s.b", "s:\n    a: 1 # one\n    b: 7\nt: 2\n"),
    "a new value in braces": ("s: {a: 1}\n", "s.b", "s: {a: 1, b: 7}\n"),
    "a new value in an empty section": (
        "s:\n  t: # one\n    # two\n  u: 1\n",
        "s.t.a",
        "s:\n  t: # one\n    a: 7\n    # two\n  u: 1\n",
    ),
    "a new value in empty braces": ("s: {} # one\n", "s.a.b", "s: {a: {b: 7}} # one\n"),
    "empty braces": ("{} # one\n", "a", "{a: 7} # one\n"),
    "a name that is no plain text": ("s:\n", "s.010", 's:\n  "010": 7\n'),
    "a new value in null": ("s: null # one\n", "s.a", "s: {a: 7} # one\n"),
    "a new value in braces in braces": ("s: {t: }\n", "s.t.a", "s: {t: {a: 7} }\n"),
    "a new section": ("s:\n  a: 1\n", "t.b", "s:\n  a: 1\nt:\n  b: 7\n"),
    "a new section, after comments of the last one": (
        "s:\n  a: 1\n  # b: 2\n\n  # c: 3\n\n# t:\n",
        "t.b",
        "s:\n  a: 1\n  # b: 2\n\n  # c: 3\nt:\n  b: 7\n\n# t:\n",
    ),
    "a new section after a list": ("s:\n  - x\n  - y\n# end\n", "t.b", "s:\n  - x\n  - y\nt:\n  b: 7\n# end\n"),
    "a last line without an end": ("a: 1", "b", "a: 1\nb: 7\n"),
    "lines with carriage returns": ("a: 1\r\nb: 2\r\n", "c.d", "a: 1\r\nb: 2\r\nc:\r\n  d: 7\r\n"),
    "comments only": ("# one\n", "a.b", "# one\na:\n  b: 7\n"),
    "nothing": ("", "a.b", "a:\n  b: 7\n"),
    "a document with a mark": ("---\na: 1\n...\n", "b", "---\na: 1\nb: 7\n...\n"),
}


@all_of("case", CHANGED)
def test_a_value_is_set(case: str):
    """Only the value changes: comments, blank lines, quotes and the layout stay (A19)."""
    text, path, expected = CHANGED[case]
    assert set_value(text, path.split("."), "7") == expected
    assert _at(parse_yaml(expected), path) == 7


# The text, a path, and the text after the entry there was removed.
REMOVED = {
    "a value": ("# one\na: 1 # gone\nb: 2\n", "a", "# one\nb: 2\n"),
    "the last value": ("a: 1\nb: 2", "b", "a: 1\n"),
    "the only value of a section": ("s: # one\n  a: 1\n  # two\n", "s.a", "s: # one\n  # two\n"),
    "a section": ("s:\n  a: 1\n  b:\n    - x\nt: 2\n", "s", "t: 2\n"),
    "an empty section": ("s:\nt: 2\n", "s", "t: 2\n"),
    "a text block": ("a: |\n  x\n\nb: 2\n", "a", "\nb: 2\n"),
    "the first of several in braces": ("s: {a: 1, b: 2}\n", "s.a", "s: {b: 2}\n"),
    "the last of several in braces": ("s: {a: 1, b: [2, 3]}\n", "s.b", "s: {a: 1}\n"),
    "the only one in braces": ("s: {a: 1}\n", "s.a", "s: {}\n"),
}


@all_of("case", REMOVED)
def test_an_entry_is_removed(case: str):
    """The lines of the entry are removed, and everything else stays."""
    text, path, expected = REMOVED[case]
    assert remove(text, path.split(".")) == expected
    assert _at(parse_yaml(expected), path) is None


def _at(data, path: str):
    for name in path.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    return data


KEYS = ["agents.bindings.planner", "agents.bindings.poet", "agents.fallbacks.poet", "limits.stop_grace", "trust"]
KEYS += [f"agents.executors.{name}.{key}" for name in ("cursor", "mine") for key in ("type", "settings.model")]


@given(st.lists(st.sampled_from(KEYS), min_size=1))
def test_the_template_keeps_its_comments(keys: list[str]):
    """After any changes and their removal, each comment of the template is there, in its order."""
    text = template("here")
    comments = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    for key in keys:
        text = set_value(text, key.split("."), "7")
        assert _at(parse_yaml(text), key) == 7
    for key in dict.fromkeys(keys):
        text = remove(text, key.split("."))
        assert _at(parse_yaml(text), key) is None
    assert [line for line in text.splitlines() if line.lstrip().startswith("#")] == comments
