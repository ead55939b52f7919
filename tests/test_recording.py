"""The recording of the demo: turns the output of a real terminal into an animated picture."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import pytest
from support.paths import ROOT

from tools.recording import LAST, Frame, Screen, pace, record, svg

SVG = "{http://www.w3.org/2000/svg}"


def rows(screen: Screen) -> list[str]:
    return ["".join(character for character, _ in line) for line in screen.shown()]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("one\r\ntwo", ["one", "two"]),
        ("three\rTH", ["THree"]),
        ("one\r\ntwo\x1b[A\r\x1b[Knew", ["new", "two"]),
        ("one\r\ntwo\x1b[1A\r\x1b[Jx", ["x"]),
        ("abcdefghijkl", ["abcdefgh", "ijkl"]),
        ("\x1b[?7labcdefghijkl\x1b[?7h", ["abcdefgh"]),
        ("a\r\nb\r\nc\r\nd", ["b", "c", "d"]),
    ],
)
def test_the_screen_behaves_like_a_terminal(written: str, expected: list[str]) -> None:
    """Text, line ends, movements, erasing, the width and the height do what a terminal does."""
    screen = Screen(columns=8, rows=3)
    screen.write(written)
    assert rows(screen) == expected


@pytest.mark.parametrize("written", ["\x1b[3B", "\x1b]0;title\x07", "\x1bc"])
def test_an_unknown_sequence_is_an_error(written: str) -> None:
    """A sequence that the screen does not know is not drawn wrong in silence."""
    with pytest.raises(ValueError, match="unknown escape sequence"):
        Screen().write(written)


def test_frames_are_paced() -> None:
    """Equal frames are one, quick frames are joined, and a long pause is cut."""

    def frame(start: float, text: str) -> Frame:
        screen = Screen()
        screen.write(text)
        return Frame(start, screen.shown())

    paced = pace([frame(0, "a"), frame(1, "a"), frame(2, "b"), frame(2.01, "c"), frame(90, "d")])
    assert [seconds for seconds, _ in paced] == [1.25, 1.5, LAST]
    assert paced[1][1].lines == frame(0, "c").lines


def test_a_command_becomes_a_picture() -> None:
    """A program that paints in a terminal gives an SVG with its text, its colours and one step for each frame."""
    program = "import time; print('\\x1b[32mgreen\\x1b[0m <&> /secret/x', flush=True); time.sleep(1); print('end')"
    frames = record([sys.executable, "-c", program], "show", {"/secret/": ""})
    picture = svg(frames, "A picture")
    root = ElementTree.fromstring(picture)  # noqa: S314  (our own text)
    texts = ["".join(item.itertext()) for item in root.iter(f"{SVG}text")]
    assert texts == ["$ show", "green <&> x", "end"]
    assert picture.count("translateY(") == len(pace(frames)) + 1
    assert 'fill="#6bc46d">green<' in picture
    with pytest.raises(SystemExit, match="exit code 3"):
        record([sys.executable, "-c", "raise SystemExit(3)"], "fail")


def test_the_recording_in_the_docs() -> None:
    """The recorded demo loads nothing, names no folder of a machine, and shows a whole run."""
    picture = (ROOT / "docs/images/demo.svg").read_text()
    root = ElementTree.fromstring(picture)  # noqa: S314  (our own text)
    texts = "\n".join("".join(item.itertext()) for item in root.iter(f"{SVG}text"))
    assert "sow run plan.md" in texts and "completed" in texts and "sow runs verify" in texts
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
    assert not any(place in texts for place in ("/root", "/home", ".venv", str(ROOT)))
