"""What every command is given: the surroundings of the call, resolved once."""

from __future__ import annotations

import os

from sow.domain import ids
from sow.errors import Failed, SowError
from sow.store import home as homes
from sow.store.disk import list_folder
from sow.store.home import Home
from sow.system import caller
from sow.system.terminal import err, harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.domain.actor import Actor


class Context:
    """The folder, the environment and the global options of one call."""

    __slots__ = ("environment", "root")

    def __init__(self, *, root: str, environment: Mapping[str, str]) -> None:
        self.root = root
        self.environment = environment

    @property
    def cwd(self) -> str:
        try:
            return os.getcwd()
        except FileNotFoundError:
            raise Failed("the current folder does not exist any more", "go to another folder and try again") from None

    def place(self) -> Home:
        """The checkout that this call is about, whether it has a .sow folder or not."""
        return homes.locate(option=self.root, environment=self.environment, cwd=self.cwd)

    def home(self) -> Home:
        """The checkout that this call is about, with its .sow folder."""
        return homes.find(option=self.root, environment=self.environment, cwd=self.cwd)

    def actor(self) -> Actor:
        """Who calls."""
        return caller.actor(self.environment)

    def judge(self, act: str) -> Actor:
        """Who calls, for an act that no worker may do."""
        return caller.judge(self.environment, act)

    def person(self, act: str) -> Actor:
        """Who calls, for an act that only a person may do."""
        return caller.person(self.environment, act)

    def task(self, given: str) -> str:
        """The task that is meant: the given one, or the worker's own."""
        ident = given or self.environment.get("SOW_TASK", "")
        if not ident:
            raise SowError("which task?", "name it (--task 010, or --id 010), or set SOW_TASK")
        return ids.task_id(ident)

    def workplace(self, given: str) -> str:
        """The task or the agent of a workflow that is meant: the given one, or the worker's own."""
        ident = given or self.environment.get("SOW_TASK", "")
        return ident if ids.is_member(ident) else self.task(ident)

    def text(self, value: str, label: str) -> str:
        """A text as it was given: in words, as @FILE, or as - for standard input; @@ begins a text with one @."""
        if value == "-":
            from sow.system.terminal import read_input

            return read_input()
        if value.startswith("@@"):
            return value[1:]
        return self._file(value[1:], label) if value.startswith("@") else value

    def _file(self, path: str, label: str) -> str:
        from sow.store.disk import Disk, read_text

        try:
            # The user's own file may be a link: what it leads to is read.
            return read_text(Disk(), os.path.realpath(os.path.join(self.cwd, path)))
        except FileNotFoundError:
            raise SowError(
                f"{label}: there is no file {path!r}",
                "give @ and the path of an existing file, or the text itself; @@ begins a text with one @",
            ) from None

    def put_in_order(self, home: Home, *tasks: str) -> None:
        """End what a crash left of earlier turns on these tasks, or on all, before somebody decides on them."""
        folder = f"{home.sow}/local/sessions"
        task_ids = [name for name in list_folder(folder) if ids.is_task_id(name)]
        for task in task_ids:
            if not tasks or task in tasks:
                from sow.engine.recovery import put_in_order

                for remark in put_in_order(home, task, self.environment):
                    err(f"note: {harmless_line(remark)}")
