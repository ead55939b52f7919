"""Reads from and writes to the terminal; escapes everything by which an agent's text could control it."""

from __future__ import annotations

import os
import sys

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import BinaryIO, TextIO

MAX_INPUT = 4 << 20
YES, NO = ("y", "yes"), ("n", "no")

# Control characters become their pictures (␛). Characters that reverse text or break lines are dropped.
HARMLESS: dict[int, int | str | None] = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)}
HARMLESS |= {0x7F: 0x2421}
HARMLESS |= dict.fromkeys(range(0x80, 0xA0), "\ufffd")
HARMLESS |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C, 0xFEFF), None)
HARMLESS |= dict.fromkeys((0x2028, 0x2029), "\n")
HARMLESS |= dict.fromkeys(range(0xD800, 0xE000), "\ufffd")

detail = 0  # -1: quiet, 1: verbose

COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36, "bold": 1, "dim": 2}


def escape_control(text: str) -> str:
    """Returns the text with every control character made visible or removed; line ends and tabs stay."""
    return text if text.isascii() and text.isprintable() else text.translate(HARMLESS)


def escape_line(text: str) -> str:
    """Returns the text without control characters, on one line."""
    return " ".join(escape_control(text).split())


def use_colour(stream: TextIO) -> bool:
    """Returns whether to use colours: only on a terminal, and never against NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    """Returns the text in a colour, if the stream shows colours."""
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if use_colour(stream or sys.stdout) else text


def columns(stream: TextIO | None = None) -> int:
    """Returns the width of the terminal, or 80 if there is none."""
    try:
        return os.get_terminal_size((stream or sys.stdout).fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def fold(text: str, indent: int = 0, stream: TextIO | None = None) -> str:
    """Returns a text without colours, broken between words if the stream is a terminal. Later lines are indented."""
    shown_on = stream or sys.stdout
    if not shown_on.isatty():
        return text
    from sow.domain.text.units import wrap  # here, because workers have no terminal

    return "\n".join(part for line in text.split("\n") for part in wrap(line, columns(shown_on), indent))


def out(text: str) -> None:
    """Prints to standard output."""
    sys.stdout.write(f"{text}\n")


def err(text: str) -> None:
    """Prints to standard error; a quiet call prints no notes."""
    is_note = text.startswith("note: ")
    if detail >= 0 or not is_note:
        sys.stderr.write(f"{fold(text, len('note: '), sys.stderr) if is_note else text}\n")


def set_detail(level: int) -> None:
    """Sets how much this process prints: -1 without notes and progress, 1 with details."""
    global detail
    detail = level


def notes(texts: Iterable[str], kind: str = "note") -> None:
    """Prints notes or warnings to standard error."""
    for text in texts:
        err(f"{kind}: {escape_line(text)}")


def is_interactive() -> bool:
    """Returns whether a person can see a question and answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str) -> bool:
    """Asks for a yes on the terminal; everything else is no."""
    return ask(f"{question} [y/N]") in YES


def require_yes(question: str, unattended: SowError, refused: SowError) -> None:
    """Asks for a yes; raises the first error if nobody can be asked, and the second for any other answer."""
    if not is_interactive():
        raise unattended
    if not confirm(question):
        raise refused


def ask(question: str) -> str:
    """Returns the answer to a question in lower case; a line end for an empty line, nothing at end of file."""
    line = read_line(question).lower()
    return line.strip() or line[-1:]


def read_line(question: str, is_open: Callable[[], bool] | None = None) -> str:
    """Asks a question and returns the typed line with its line end; nothing at end of file or if it is not open now."""
    sys.stderr.write(f"{fold(question, stream=sys.stderr)} ")
    sys.stderr.flush()
    if is_open is not None:
        import select

        while not select.select([sys.stdin], [], [], 1.0)[0]:
            if not is_open():
                sys.stderr.write("\n")
                return ""
    return sys.stdin.readline()


def read_input() -> str:
    """Returns all of standard input, as the text of an argument given as `-`."""
    if sys.stdin is None:
        raise SowError("standard input is closed: there is no text to read for -", "give the text itself, or @FILE")
    return read_stream(sys.stdin.buffer, "standard input")


def read_stream(stream: BinaryIO, label: str) -> str:
    """Returns all of a stream as text, up to a limit."""
    data = stream.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise SowError(
            f"{label} is larger than {MAX_INPUT >> 20} MiB", "give a shorter text, and put the rest into a file"
        )
    return data.decode("utf-8", "surrogateescape")
