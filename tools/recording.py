"""Records a command in a terminal and writes an animated SVG (`make recording`)."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import struct
import tempfile
import termios
import time
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 92, 24
CELL, LINE, MARGIN, SIZE = 8.4, 19, 16, 14
SPEED = 1.6  # times as fast as the recorded run
SHORTEST, LONGEST, LAST = 0.25, 1.5, 6.0  # seconds that a frame is shown
SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")
COLORS = {"31": "#f47067", "32": "#6bc46d", "33": "#daaa3f", "34": "#6cb6ff", "35": "#dcbdfb", "36": "#56d4dd"}


class Style(NamedTuple):
    """The look of one character."""

    color: str = "#d3dae3"
    bold: bool = False
    dim: bool = False


Cell = tuple[str, Style]


class Screen:
    """A terminal that knows the escape sequences that sow writes."""

    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        self.columns, self.rows = columns, rows
        self.lines: list[list[Cell]] = [[]]
        self.row = self.column = 0
        self.style = Style()
        self.wraps = True

    def write(self, text: str) -> None:
        """Draws text; an unknown sequence is an error, because the picture would be wrong."""
        end = 0
        for match in SEQUENCE.finditer(text):
            if match.start() != end:
                raise ValueError(f"unknown escape sequence: {text[end : match.start()]!r}")
            end = match.end()
            values, final, control, plain = match.groups()
            if plain:
                self._put(plain)
            elif control == "\n":
                self._move_down()
            elif control:
                self.column = 0
            else:
                self._control(values, final)
        if end != len(text):
            raise ValueError(f"unknown escape sequence: {text[end:]!r}")

    def _put(self, text: str) -> None:
        for character in text:
            if self.column == self.columns and self.wraps:
                self._move_down()
                self.column = 0
            line = self.lines[self.row]
            line.extend([(" ", Style())] * (self.column - len(line)))
            line[self.column : self.column + 1] = [(character, self.style)]
            self.column += 1

    def _move_down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    def _control(self, values: str, final: str) -> None:
        if final == "m":
            for value in values.split(";"):
                self._set_style(value)
        elif final == "A":
            self.row = max(0, self.row - int(values or 1))
        elif final == "K":
            del self.lines[self.row][self.column :]
        elif final == "J":
            del self.lines[self.row][self.column :]
            del self.lines[self.row + 1 :]
        elif values == "?7":
            self.wraps = final == "h"
        elif not values.startswith("?"):
            raise ValueError(f"unknown escape sequence: {values}{final}")

    def _set_style(self, value: str) -> None:
        if value in ("", "0"):
            self.style = Style()
        elif value == "1":
            self.style = self.style._replace(bold=True)
        elif value == "2":
            self.style = self.style._replace(dim=True)
        else:
            self.style = self.style._replace(color=COLORS.get(value, Style().color))

    def shown(self) -> tuple[tuple[Cell, ...], ...]:
        """Returns the rows that a terminal of this size shows, cut at its width."""
        return tuple(tuple(line[: self.columns]) for line in self.lines[-self.rows :])


class Frame(NamedTuple):
    """What the screen shows from a moment on, in seconds."""

    start: float
    lines: tuple[tuple[Cell, ...], ...]


def record(
    command: list[str],
    title: str,
    shorter: dict[str, str] | None = None,
    *,
    columns: int = COLUMNS,
    rows: int = ROWS,
) -> list[Frame]:
    """Runs a command in a terminal and returns its frames, with shorter names for paths of this machine.

    A command that fails is an error.
    """
    screen = Screen(columns, rows)
    screen.write(f"\x1b[32m$\x1b[0m {title}\r\n")
    frames = [Frame(0.0, screen.shown())]
    process, terminal = pty.fork()
    if not process:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)  # noqa: S606
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    begun, rest = time.monotonic(), b""
    while data := _read(terminal):
        text, rest = _split(rest + data)
        for path, name in (shorter or {}).items():
            text = text.replace(path, name)
        screen.write(text)
        frames.append(Frame(time.monotonic() - begun, screen.shown()))
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code:
        raise SystemExit(f"error: {command[0]} ended with exit code {code}")
    return frames


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux: the other end is closed
        return b""


def _split(data: bytes) -> tuple[str, bytes]:
    """Returns the text without an unfinished character or escape sequence, and that rest."""
    cut, last = len(data), data.rfind(b"\x1b")
    if last >= 0 and not re.match(rb"\x1b\[[?\d;]*[A-Za-z]", data[last:]):
        cut = last
    text = codecs.getincrementaldecoder("utf-8")().decode(data[:cut])
    return text, data[len(text.encode()) :]


def pace(frames: list[Frame]) -> list[tuple[float, Frame]]:
    """Returns the frames to show with their seconds: no flicker, and no long pause."""
    kept: list[Frame] = []
    for frame in frames:
        if kept and frame.lines == kept[-1].lines:
            continue
        if kept and (frame.start - kept[-1].start) / SPEED < SHORTEST:
            kept[-1] = Frame(kept[-1].start, frame.lines)
        else:
            kept.append(frame)
    ends = [frame.start for frame in kept[1:]]
    pauses = [min((end - frame.start) / SPEED, LONGEST) for frame, end in zip(kept, ends, strict=False)]
    return list(zip([*pauses, LAST], kept, strict=True))


def svg(frames: list[Frame], label: str, *, columns: int = COLUMNS, rows: int = ROWS) -> str:
    """Returns an SVG that plays the frames again and again; without motion it shows the last one."""
    paced = pace(frames)
    width, height = round(columns * CELL + 2 * MARGIN), rows * LINE + 2 * MARGIN
    total = sum(seconds for seconds, _ in paced)
    texts: dict[str, str] = {}
    body, steps, at = [], [], 0.0
    for number, (seconds, frame) in enumerate(paced):
        steps.append(f"{100 * at / total:.3f}%{{transform:translateY({-number * height}px)}}")
        at += seconds
        uses = []
        for row, line in enumerate(frame.lines):
            drawn = _draw(line)
            if drawn:
                name = texts.setdefault(drawn, f"t{len(texts)}")
                uses.append(f'<use href="#{name}" y="{row * LINE}"/>')
        body.append(f'<g transform="translate(0 {number * height})">{"".join(uses)}</g>\n')
    last = -(len(paced) - 1) * height
    lines = "".join(
        f'<text id="{name}" x="{MARGIN}" y="{MARGIN + SIZE}">{drawn}</text>\n' for drawn, name in texts.items()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>{escape(label)}</title>\n<style>\n"
        f"text{{font:{SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        f"fill:{Style().color};white-space:pre}}\n"
        f".film{{animation:film {total:.1f}s step-end infinite}}\n"
        f"@keyframes film{{{''.join(steps)}}}\n"
        f"@media(prefers-reduced-motion){{.film{{animation:none;transform:translateY({last}px)}}}}\n"
        f'</style>\n<defs>\n{lines}</defs>\n<rect width="{width}" height="{height}" rx="8" fill="#1c2128"/>\n'
        f'<g class="film">\n{"".join(body)}\n</g>\n</svg>\n'
    )


def _draw(line: tuple[Cell, ...]) -> str:
    """Returns the parts of one line, each with its look; every part starts at the column of its first character."""
    parts: list[str] = []
    start = 0
    while start < len(line):
        style, end = line[start][1], start
        while end < len(line) and line[end][1] == style:
            end += 1
        text = "".join(character for character, _ in line[start:end])
        if text.strip():
            looks = f' fill="{style.color}"' if style.color != Style().color else ""
            looks += ' font-weight="bold"' if style.bold else ""
            looks += ' opacity=".6"' if style.dim else ""
            width = f'textLength="{CELL * len(text):.1f}" lengthAdjust="spacingAndGlyphs"'
            parts.append(f'<tspan x="{MARGIN + CELL * start:.1f}" {width}{looks}>{escape(text)}</tspan>')
        start = end
    return "".join(parts)


def main() -> None:
    programs = f"{ROOT}/.venv/bin"
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        command = ["sow", "demo", "--no-ui", "--keep", f"{folder}/demo"]
        frames = record(command, "sow demo", {f"{programs}/": "", f"{folder}/": "~/"})
    label = (
        "A run of eight tasks: agents work in parallel, one answers a question, and every result is reviewed and merged"
    )
    (ROOT / "docs/images/demo.svg").write_text(svg(frames, label))
    print(f"wrote docs/images/demo.svg: {len(pace(frames))} frames")


if __name__ == "__main__":
    main()
