"""Defines the context that every command receives."""

from __future__ import annotations

import os

from sow.domain import inputs
from sow.errors import SowError, SystemFailure
from sow.store.files import checkout_home as homes
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Disk, list_folder, read_text
from sow.system import caller, terminal
from sow.system.terminal import err, escape_line, notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sow.config import Config
    from sow.domain.task import Actor
    from sow.reports.next_steps import HintContext

    Verbs = Callable[[list[str], Mapping[str, str]], int]


class Context:
    """The current folder, the environment and the global options of one call."""

    __slots__ = ("environment", "is_forwarded", "root", "verbs")

    def __init__(
        self, *, root: str, environment: Mapping[str, str], is_forwarded: bool = False, verbs: Verbs | None = None
    ) -> None:
        self.root = root
        self.environment = environment
        self.verbs = verbs  # runs the commands that the workers of this call send from their sandbox
        self.is_forwarded = is_forwarded  # whether a worker in a sandbox sent the command

    @property
    def cwd(self) -> str:
        try:
            return os.getcwd()
        except FileNotFoundError:
            raise SystemFailure(
                "the current folder does not exist any more", "change to another folder, then run the command again"
            ) from None

    def set_detail(self, *, quiet: bool) -> None:
        """Makes this call quiet or verbose; a verbose call begins with the paths that it uses."""
        terminal.set_detail(-1 if quiet else 1)
        if not quiet:
            from contextlib import suppress

            from sow import config

            with suppress(SowError):  # the command itself raises it, if it needs a repository
                err(f"Checkout: {escape_line(self.checkout().root)}")
            path = config.path(self.environment)
            state = "exists" if os.path.exists(path) else "not found, using defaults"
            err(f"Config file: {escape_line(path)} ({state})")

    def checkout(self) -> Home:
        """Returns the checkout of this call, with or without a .sow folder."""
        return homes.locate(option=self.root, environment=self.environment, cwd=self.cwd)

    def project_home(self) -> Home:
        """Returns the checkout of this call; raises an error if it has no .sow folder."""
        return homes.find(option=self.root, environment=self.environment, cwd=self.cwd)

    def actor(self) -> Actor:
        """Returns the caller: a person, the orchestrator or a worker."""
        return caller.actor(self.environment)

    def require_non_worker(self, act: str) -> Actor:
        """Returns the caller; raises an error if it is a worker."""
        return caller.require_non_worker(self.environment, act)

    def require_person(self, act: str, *, asked: bool = False) -> Actor:
        """Returns the caller; raises if it is not a person. `asked`: the layer makes Claude Code ask the person."""
        return caller.require_person(self.environment, act, asked=asked)

    def config(self) -> Config:
        """Returns the user's settings."""
        from sow import config as configs

        return configs.load(self.environment)

    def hints(self) -> HintContext:
        """Returns where this call was typed, for the commands in hints."""
        from sow.reports.next_steps import HintContext

        return HintContext(self.environment, self.cwd)

    def task(self, task: str) -> str:
        """Returns the id of the given task, or of the worker's own."""
        ident = task or self.environment.get("SOW_TASK", "")
        if not ident:
            raise SowError("no task is named", "give its id, such as 010 or --task 010, or set SOW_TASK")
        return inputs.task_id(ident)

    def task_or_agent(self, name: str) -> str:
        """Returns the id of the given task or workflow agent, or of the worker's own."""
        ident = name or self.environment.get("SOW_TASK", "")
        return ident if inputs.is_member(ident) else self.task(ident)

    def text(self, value: str, label: str) -> str:
        """Reads a text argument: the text itself, - for standard input, or @FILE.

        Only @ and one word is a file: "@ada approved" is a text, and so is "@@ada", without its first @. In a forwarded
        command every value is the text itself: the sender read the files, which this process may not do for it.
        """
        if self.is_forwarded:
            return value
        if value == "-":
            from sow.system.terminal import read_input

            return read_input()
        if value.startswith("@@"):
            return value[1:]
        is_file = value.startswith("@") and len(value.split()) == 1
        return self._file(value[1:], label) if is_file else value

    def checked_text(self, value: str, label: str, limit: int = inputs.MAX_TEXT) -> str:
        """Reads a text argument; raises an error if it is empty or too long."""
        return inputs.checked_text(self.text(value, label), label, limit)

    def _file(self, path: str, label: str) -> str:

        try:
            # The file may be a symbolic link; its target is read.
            return read_text(Disk(), os.path.realpath(os.path.join(self.cwd, path)))
        except FileNotFoundError:
            raise SowError(
                f"{label}: there is no file {path!r}",
                f"to give the text itself, double the first @: @@{path}",
            ) from None

    def recover_tasks(self, home: Home, *tasks: str) -> None:
        """Ends turns that a crash left on these tasks, or on all, before their status changes."""
        folder = f"{home.sow}/local/sessions"
        task_ids = [name for name in list_folder(folder) if inputs.is_task_id(name)]
        for task in task_ids:
            if not tasks or task in tasks:
                from sow.engine.turns.settle import recover_task

                notes(recover_task(home, task, self.environment))
