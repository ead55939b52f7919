"""Defines commands, arguments and options; parsing, help, completion and the reference use these tables."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Option:
    """An option `--name VALUE`, or a flag if it has no metavar."""

    __slots__ = ("choices", "completes", "default", "flag", "help", "metavar", "name", "repeat", "required")

    def __init__(
        self,
        flag: str,
        metavar: str = "",
        help: str = "",
        *,
        required: bool = False,
        repeat: bool = False,
        choices: tuple[str, ...] = (),
        default: str = "",
        completes: str = "",
    ) -> None:
        self.flag = flag
        self.name = flag.lstrip("-").replace("-", "_")
        self.metavar = metavar
        self.help = help
        self.required = required
        self.repeat = repeat
        self.choices = choices
        self.default = default
        self.completes = completes


class Argument:
    """A positional argument."""

    __slots__ = ("choices", "completes", "help", "metavar", "name", "optional", "repeat")

    def __init__(
        self,
        name: str,
        help: str = "",
        *,
        optional: bool = False,
        repeat: bool = False,
        choices: tuple[str, ...] = (),
        completes: str = "",
    ) -> None:
        self.name = name
        self.metavar = name.upper()
        self.help = help
        self.optional = optional
        self.repeat = repeat
        self.choices = choices
        self.completes = completes


class Command:
    """A command: its name, its arguments and the function that runs it."""

    __slots__ = ("arguments", "details", "name", "options", "run", "summary")

    def __init__(
        self,
        name: str,
        run: Callable[..., int],
        summary: str,
        *,
        arguments: tuple[Argument, ...] = (),
        options: tuple[Option, ...] = (),
        json: bool = False,
        details: str = "",
    ) -> None:
        self.name = name
        self.run = run
        self.summary = summary
        self.arguments = arguments
        self.options = (*options, JSON) if json else options
        self.details = details


JSON = Option("--json", help="Print a JSON document and nothing else")
GLOBAL = (
    Option("--root", "DIR", "Work in the checkout at DIR instead of the one around the current folder"),
    Option("--debug", help="Show a traceback when something goes wrong"),
)
