"""The edge: words in, exit code out, and the one place where errors are caught."""

from __future__ import annotations

import gc
import os
import sys

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

OUR_FAULT = 3
INTERRUPTED = 130
MOST_UNCOLLECTED = 20_000  # objects: most calls make fewer, and end before a look for garbage could be of use to them


def main(words: list[str] | None = None) -> int:
    """Run one command."""
    words = sys.argv[1:] if words is None else words
    debug = "--debug" in words
    gc.set_threshold(MOST_UNCOLLECTED)
    try:
        _tolerant_streams()
        code = _dispatch(words)
        _deliver()
        return code
    except SowError as error:
        return _complain(error.message, error.hint, error.exit_code, debug=debug)
    except KeyboardInterrupt:
        return _complain("interrupted", "the change was made whole or not at all: see 'sow status'", INTERRUPTED)
    except BrokenPipeError:
        _send(sys.stdout)  # the reader went away (`sow status | head`): that is its right
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _complain(f"{place}{error.strerror or error}", "mend that and run the command again", 1, debug=debug)
    except Exception as error:  # the edge: whatever is left is a bug of ours, and says so
        return _complain(
            f"sow itself failed: {type(error).__name__}: {error}",
            "please report this with the output of --debug",
            OUR_FAULT,
            debug=debug,
        )


def _deliver() -> None:
    """Send what was said; a reader that went away does not change how the command ended."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _send(sys.stdout)


def _dispatch(words: list[str]) -> int:
    words, leading = _leading(words)
    if words == ["--version"]:
        from sow import __version__

        sys.stdout.write(f"sow {__version__}\n")
        return 0
    if not words or words[0] in ("--help", "-h", "help"):
        return _help(words[1:])
    if words[0] == "--version":
        raise SowError("--version takes no more words", "usage: sow --version")
    if words[0].startswith("-"):
        raise SowError(f"unknown option {words[0]}", "see 'sow --help'")
    return _run(words, leading)


def _leading(words: list[str]) -> tuple[list[str], list[str]]:
    """Global options may stand before the command too: they are moved behind it."""
    leading: list[str] = []
    while words and words[0].partition("=")[0] in ("--root", "--debug"):
        if words == ["--root"]:
            raise SowError("--root needs a value", "usage: sow --root DIR COMMAND …")
        count = 2 if words[0] == "--root" else 1
        leading += words[:count]
        words = words[count:]
    return words, leading


def _run(words: list[str], leading: list[str]) -> int:
    from sow.cli.context import Context
    from sow.cli.parse import HelpWanted, parse
    from sow.cli.registry import GROUPS, find

    if words[0] in GROUPS and words[1:] in (["--help"], ["-h"]):
        return _help(words[:1])
    command, rest = find(words)
    try:
        values, options = parse(command, leading + rest)
    except HelpWanted:
        return _help(command.name.split())
    context = Context(root=options["root"], environment=os.environ)
    return command.run(context, **values)


def _help(words: list[str]) -> int:
    from sow.cli import help as texts
    from sow.cli.registry import GROUPS, find

    if not words:
        text = texts.full_help()
    elif len(words) == 1:
        text = texts.group_help(words[0]) if words[0] in GROUPS else texts.command_help(find(words)[0])
    else:
        text = texts.command_help(find(words)[0])
    if texts.USUAL_CONFIG in text:
        from sow import config

        text = text.replace(texts.USUAL_CONFIG, config.shown(config.path(os.environ)))
    sys.stdout.write(text)
    return 0


def _complain(message: str, hint: str, code: int, *, debug: bool = False) -> int:
    """`error:` one line with the place, `hint:` one line with the next step; more lines of a hint are indented."""
    from sow.system.terminal import harmless, harmless_line, paint

    first, *more = harmless(hint).split("\n")
    lines = [
        f"{paint('error:', 'red', sys.stderr)} {harmless_line(message)}",
        f"{paint('hint:', 'cyan', sys.stderr)} {first}",
    ]
    if debug:
        import traceback

        lines.insert(0, harmless(traceback.format_exc().rstrip()))
    _send(sys.stdout)
    _send(sys.stderr, "\n".join([*lines, *(f"      {line}" for line in more)]) + "\n")
    return code


def _send(stream: TextIO, text: str = "") -> None:
    """Write and flush; where nobody takes it, what is left goes nowhere, so that Python does not stumble at its end."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _tolerant_streams() -> None:
    """A terminal that cannot show a character shows an escape; a closed one swallows what we say."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif stream.errors != "backslashreplace":
            stream.reconfigure(errors="backslashreplace")
