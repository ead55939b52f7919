"""Output to the terminal cannot move the cursor, reorder text or break a line."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.system import terminal
from sow.system.terminal import escape_control, escape_line

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SEQUENCES = {
    "colour": "\x1b[31m",
    "clear": "\x1b[2J\x1b[H",
    "title": "\x1b]0;owned\x07",
    "clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "link": "\x1b]8;;https://example.org\x1b\\text\x1b]8;;\x1b\\",
    "device control": "\x1bP$q\x1b\\",
    "C1 introducer": "\x9b31m",
    "C1 string": "\x9d52;c;AA==\x9c",
    "backspaces": "rm -rf /\x08\x08\x08\x08",
    "carriage return": "bad\rgood",
    "delete": "a\x7fb",
    "next line": "a\x85b",
    "bell": "\x07",
    "shift": "\x0e\x0f",
    "NUL": "a\x00b",
    "turned around": "\u202etxt.exe",
    "byte order mark": "\ufeffa",
}


class Screen(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def is_harmful(letter: str) -> bool:
    return (unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") and letter not in "\t\n") or letter in BIDI


@all_of("text", SEQUENCES.values())
def test_a_known_sequence_is_removed(text):
    """No control character of a known sequence is left, and its visible part is."""
    shown = escape_control(text)
    assert not any(is_harmful(letter) for letter in shown)
    assert {letter for letter in text if letter.isalnum()} <= set(shown)


@given(st.text(st.characters()))
def test_any_text_is_harmless(text):
    """Any text, with half characters, is shown harmless, can be encoded, and is stable."""
    shown = escape_control(text)
    assert not any(is_harmful(letter) for letter in shown)
    assert escape_control(shown) == shown
    shown.encode("utf-8")


@given(st.text(st.characters()))
def test_a_line_has_no_break(text):
    """A text for one line has no line break of any terminal."""
    assert len(escape_line(text).splitlines()) <= 1
    assert "\t" not in escape_line(text)


@pytest.mark.parametrize("text", ["plain", "é 🙂 日本語 עברית", "a\tb\nc", "\u200d👩‍💻", "\u00a0"])
def test_ordinary_text_stays(text):
    """Letters of any script, line ends and tabs are shown unchanged."""
    assert escape_control(text) == text


def test_every_control_character_has_its_picture():
    """The first 32 control characters are shown as pictures, not removed."""
    assert escape_control("\x1b\x00\r\x7f") == "␛␀␍␡"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_when_colours_are_used(monkeypatch, name, value):
    """Colour is only for a terminal, and never against NO_COLOR or on a dumb one."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.paint("a", "red", Screen()) == "\x1b[31ma\x1b[0m"
    assert terminal.paint("a", "red", io.StringIO()) == "a"
    monkeypatch.setenv(name, value)
    assert terminal.paint("a", "red", Screen()) == "a"
