"""Runs the command line: parses arguments, prints errors and returns the exit code."""

from __future__ import annotations

import gc
import os
import sys

from sow.errors import INTERRUPTED, SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TextIO

    from sow.cli.command import Command

CHANNEL = "SOW_CHANNEL"  # the socket of the supervising sow, in a sandbox
USUAL_VERBS = ("task set", "note add", "log")
HELP = ("help", "--help", "-h")
LEADING = ("--root", "--debug", "--quiet", "-q", "--verbose", "-v")  # options that may come before the command
INTERNAL_ERROR = 3
GC_THRESHOLD = 20_000  # objects: most calls create fewer and end before a garbage collection would pay off


def main(arguments: list[str] | None = None) -> int:
    """Runs one command."""
    arguments = sys.argv[1:] if arguments is None else arguments
    gc.set_threshold(GC_THRESHOLD)
    return _guard(_dispatch, arguments)


def run_forwarded(arguments: list[str], environment: Mapping[str, str]) -> int:
    """Runs a command that a worker in a sandbox sent to the sow that supervises it.

    Without arguments it loads the modules of the usual commands, so that each of them starts at once.
    """
    if not arguments:
        from sow.cli import context  # noqa: F401
        from sow.cli.command import find

        for name in USUAL_VERBS:
            find(name.split())[0].function()
        return 0

    def run(arguments: list[str]) -> int:
        return _run_forwarded(arguments, environment)

    return _guard(run, arguments)


def _guard(run: Callable[[list[str]], int], arguments: list[str]) -> int:
    """Runs a command; prints an error and returns its exit code if it fails."""
    debug = "--debug" in arguments
    try:
        _tolerant_streams()
        code = run(arguments)
        _flush_output()
        return code
    except SowError as error:
        return _print_error(error.message, error.hint, error.exit_code, debug=debug)
    except KeyboardInterrupt:
        return _print_error("interrupted", "", INTERRUPTED)
    except BrokenPipeError:
        _write_or_discard(sys.stdout)  # the reader closed the pipe, as in `sow status | head`
        return 0
    except OSError as error:
        prefix = f"{error.filename}: " if error.filename else ""
        return _print_error(
            f"{prefix}{error.strerror or error}", "fix the cause, then run the command again", 1, debug=debug
        )
    except Exception as error:  # anything else is a bug in sow, or a system function that Windows does not have
        if sys.platform == "win32":
            return _print_error("sow does not run on native Windows", "run it in WSL", 1, debug=debug)
        return _print_error(
            f"internal error: {type(error).__name__}: {error}",
            "report this with the output of --debug",
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
    if arguments in (["--version"], ["-V"]):
        from sow import version_text

        sys.stdout.write(f"sow {version_text()}\n")
        return 0
    if not arguments or arguments[0] in HELP:
        return _help(arguments, leading)
    if arguments[0] in ("--version", "-V"):
        raise SowError("--version takes no other arguments", "usage: sow --version")
    if arguments[0].startswith("-"):
        raise SowError(f"unknown option {arguments[0]}", "see the options: sow help")
    return _run(arguments, leading)


def _split_global_options(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Splits off global options before the command."""
    leading: list[str] = []
    while arguments and arguments[0].partition("=")[0] in LEADING:
        if arguments == ["--root"]:
            raise SowError("--root needs a value", "usage: sow --root DIR COMMAND …")
        count = 2 if arguments[0] == "--root" else 1
        leading += arguments[:count]
        arguments = arguments[count:]
    return arguments, leading


def _run(arguments: list[str], leading: list[str]) -> int:
    from sow.cli.command import GROUPS, HelpWanted, find, parse

    if arguments[0] in GROUPS and arguments[1:] in (["--help"], ["-h"]):
        return _help(arguments, leading)
    command, rest = find(arguments)
    try:
        values, options = parse(command, leading + rest)
    except HelpWanted:
        return _help(["help", *command.name.split()], leading)
    if command.forwarded and CHANNEL in os.environ:
        return _forward(command, values, options["root"])
    from sow.cli.context import Context  # not for a command that is only sent

    context = Context(root=options["root"], environment=os.environ, verbs=run_forwarded)
    if options["quiet"] or options["verbose"]:
        context.set_detail(quiet=options["quiet"])  # with both, it is quiet
    return command.function()(context, **values)


def _forward(command: Command, values: dict[str, Any], root: str) -> int:
    """Lets the sow that supervises this worker run a command. Files that it names are read here, in the sandbox."""
    from sow.cli.command import FILE, command_line
    from sow.system.channel import forward

    texts = {option.name: option.flag for option in command.options if FILE in option.help}
    texts |= {argument.name: "the text" for argument in command.arguments if FILE in argument.help}
    for name, label in texts.items():
        if values[name].startswith(("@", "-")):
            from sow.cli.context import Context

            values[name] = Context(root=root, environment=os.environ).text(values[name], label)
    _check_root(root, os.environ)
    return forward(os.environ[CHANNEL], command_line(command, values))


def _check_root(root: str, environment: Mapping[str, str]) -> None:
    own = environment.get("SOW_ROOT", "")
    if root and os.path.realpath(root) != os.path.realpath(own):
        raise SowError(f"--root is {root!r:.200}, but a worker in a sandbox writes only in {own}", "remove --root")


def _run_forwarded(arguments: list[str], environment: Mapping[str, str]) -> int:
    from sow.cli.command import HelpWanted, find, parse
    from sow.cli.context import Context

    arguments, leading = _split_global_options(arguments)
    command, rest = find(arguments or [""])
    if not command.forwarded:
        raise SowError(f"sow {command.name} cannot be forwarded from a sandbox", "run it in the sandbox itself")
    try:
        values, options = parse(command, leading + rest)
    except HelpWanted:
        raise SowError(
            f"sow {command.name}: --help cannot be forwarded from a sandbox", "run it in the sandbox itself"
        ) from None
    _check_root(options["root"], environment)
    context = Context(root="", environment=environment, is_forwarded=True)
    return command.function()(context, **values)


def _help(arguments: list[str], leading: list[str]) -> int:
    """Prints help for the words after `help`; without any words, the first screen."""
    from sow.cli import help
    from sow.cli.command import Command, parse
    from sow.cli.context import Context

    if arguments:
        return help.show_help([word for word in arguments if word not in HELP], dict(os.environ))
    options = parse(Command("", "", ""), leading)[1]
    return help.first_screen(Context(root=options["root"], environment=os.environ))


def _print_error(message: str, hint: str, code: int, *, debug: bool = False) -> int:
    """Prints an `error:` line and a `hint:` line; more lines of the hint are indented."""
    from sow.system.terminal import escape_control, escape_line, paint

    first, *more = escape_control(hint).split("\n")
    lines = [f"{paint('error:', 'red', sys.stderr)} {escape_line(message)}"]
    lines += [f"{paint('hint:', 'cyan', sys.stderr)} {first}"] if first else []
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
