"""Runs the command line: parses arguments, prints errors and returns the exit code."""

from __future__ import annotations

import gc
import os
import sys

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

INTERNAL_ERROR = 3
INTERRUPTED = 130
GC_THRESHOLD = 20_000  # objects: most calls create fewer and end before a garbage collection would pay off


def main(arguments: list[str] | None = None) -> int:
    """Runs one command."""
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    gc.set_threshold(GC_THRESHOLD)
    try:
        _tolerant_streams()
        code = _dispatch(arguments)
        _flush_output()
        return code
    except SowError as error:
        return _print_error(error.message, error.hint, error.exit_code, debug=debug)
    except KeyboardInterrupt:
        return _print_error("interrupted", "the change was made whole or not at all: see 'sow status'", INTERRUPTED)
    except BrokenPipeError:
        _write_or_discard(sys.stdout)  # the reader closed the pipe, as in `sow status | head`
        return 0
    except OSError as error:
        prefix = f"{error.filename}: " if error.filename else ""
        return _print_error(f"{prefix}{error.strerror or error}", "fix that and run the command again", 1, debug=debug)
    except Exception as error:  # anything else is a bug in sow
        return _print_error(
            f"sow itself failed: {type(error).__name__}: {error}",
            "please report this with the output of --debug",
            INTERNAL_ERROR,
            debug=debug,
        )


def _flush_output() -> None:
    """Flushes stdout; a closed pipe does not change the exit code."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _write_or_discard(sys.stdout)


def _dispatch(arguments: list[str]) -> int:
    arguments, leading = _split_global_options(arguments)
    if arguments == ["--version"]:
        from sow import __version__

        sys.stdout.write(f"sow {__version__}\n")
        return 0
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        return _help(arguments[1:])
    if arguments[0] == "--version":
        raise SowError("--version takes no more words", "usage: sow --version")
    if arguments[0].startswith("-"):
        raise SowError(f"unknown option {arguments[0]}", "see 'sow --help'")
    return _run(arguments, leading)


def _split_global_options(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Splits off global options that stand before the command."""
    leading: list[str] = []
    while arguments and arguments[0].partition("=")[0] in ("--root", "--debug"):
        if arguments == ["--root"]:
            raise SowError("--root needs a value", "usage: sow --root DIR COMMAND …")
        count = 2 if arguments[0] == "--root" else 1
        leading += arguments[:count]
        arguments = arguments[count:]
    return arguments, leading


def _run(arguments: list[str], leading: list[str]) -> int:
    from sow.cli.command import GROUPS, HelpWanted, find, parse
    from sow.cli.context import Context

    if arguments[0] in GROUPS and arguments[1:] in (["--help"], ["-h"]):
        return _help(arguments[:1])
    command, rest = find(arguments)
    try:
        values, options = parse(command, leading + rest)
    except HelpWanted:
        return _help(command.name.split())
    context = Context(root=options["root"], environment=os.environ)
    return command.function()(context, **values)


def _help(arguments: list[str]) -> int:
    from sow.cli import command as texts
    from sow.cli.command import GROUPS, find

    if not arguments:
        text = texts.full_help()
    elif len(arguments) == 1:
        text = texts.group_help(arguments[0]) if arguments[0] in GROUPS else texts.command_help(find(arguments)[0])
    else:
        text = texts.command_help(find(arguments)[0])
    if texts.USUAL_CONFIG in text:
        from sow import config

        text = text.replace(texts.USUAL_CONFIG, config.abbreviated_path(config.path(os.environ)))
    sys.stdout.write(text)
    return 0


def _print_error(message: str, hint: str, code: int, *, debug: bool = False) -> int:
    """Prints an `error:` line and a `hint:` line; more lines of the hint are indented."""
    from sow.system.terminal import escape_control, escape_line, paint

    first, *more = escape_control(hint).split("\n")
    lines = [
        f"{paint('error:', 'red', sys.stderr)} {escape_line(message)}",
        f"{paint('hint:', 'cyan', sys.stderr)} {first}",
    ]
    if debug:
        import traceback

        lines.insert(0, escape_control(traceback.format_exc().rstrip()))
    _write_or_discard(sys.stdout)
    _write_or_discard(sys.stderr, "\n".join([*lines, *(f"      {line}" for line in more)]) + "\n")
    return code


def _write_or_discard(stream: TextIO, text: str = "") -> None:
    """Writes and flushes; if the pipe is closed, redirects the stream to /dev/null so that Python can exit cleanly."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _tolerant_streams() -> None:
    """Makes output escape characters that the terminal cannot show, and discards output to a closed stream."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif stream.errors != "backslashreplace":
            stream.reconfigure(errors="backslashreplace")
