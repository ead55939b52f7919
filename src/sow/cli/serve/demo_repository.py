"""Creates the demo's scratch repository, home folder and settings."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass

from sow.cli.context import Context
from sow.engine.turns.allowed_commands import sow_path
from sow.errors import SowError, SystemFailure
from sow.store.files import checkout_home as homes
from sow.store.files import user_file
from sow.store.formats import yaml_text
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.system import git
from sow.system.environment import worker_environment
from sow.system.process import program
from sow.system.terminal import escape_line, out, paint

SHIPPED = os.path.normpath(os.path.join(os.path.abspath(__file__), *[os.pardir] * 3, "demo"))
INITIAL_FILES = {
    "README.md": "# A shop\n",
    ".gitignore": "__pycache__/\n",
    "shop/__init__.py": '"""A small shop."""\n',
    "tests/__init__.py": "",
}
PATIENCE = 30  # seconds for a command that answers


@dataclass(frozen=True)
class DemoRepository:
    """The scratch repository and the environment in which `sow` runs there."""

    root: str
    environment: dict[str, str]

    def call(self, *arguments: str, meanwhile: Callable[[], None] | None = None) -> int:
        """Prints a sow command and runs it."""
        out(paint(escape_line(f"$ {shlex.join(['sow', *arguments])}"), "cyan"))
        sys.stdout.flush()
        return program.run_in_front(
            [sow_path(), *arguments], cwd=self.root, environment=self.environment, meanwhile=meanwhile
        )

    def questions(self) -> list[int]:
        """Returns the numbers of the open questions."""
        home = homes.locate(option=self.root, environment={}, cwd=self.root)
        tasks = task_folder.load_readable(home, projects.load(home))[0] if projects.exists(home) else []
        return [task["question"]["number"] for _, task in tasks if task["status"] == "paused" and "question" in task]

    def answer(self, text: str) -> None:
        """Answers all open questions with `sow answer`."""
        for number in self.questions():
            command = [sow_path(), "--root", self.root, "answer", str(number), text]
            result = program.capture(command, environment=self.environment, timeout=PATIENCE)
            if result.code and number in self.questions():  # a person may have answered meanwhile
                raise SystemFailure(
                    f"the answer was not taken: {result.text.strip()}", f"see 'sow inbox' in {self.root}"
                )


def set_up(context: Context, keep: str) -> DemoRepository:
    """Creates the repository with its first commit, and a home folder that binds the roles to scripts."""
    folder = _folder(context, keep)
    stage = DemoRepository(f"{folder}/shop", _environment(context, f"{folder}/home"))
    for name in ("worker.yaml", "judge.yaml"):
        user_file.write(f"{folder}/scenarios/{name}", _shipped(name))
    user_file.write(f"{folder}/home/.config/sow/config.yaml", yaml_text.dump(_settings(folder)))
    for name, text in {**INITIAL_FILES, "plan.md": _shipped("plan.md")}.items():
        user_file.write(f"{stage.root}/{name}", text)
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "An empty shop, and a plan"]):
        git.run(arguments, cwd=stage.root, variables=stage.environment)
    return stage


def _folder(context: Context, keep: str) -> str:
    if not keep:
        parent = context.environment.get("TMPDIR") or "/tmp"  # noqa: S108 (a new folder of ours, for the user alone)
        folder = os.path.join(os.path.abspath(parent), f"sow-demo-{os.urandom(4).hex()}")
        os.mkdir(folder, 0o700)
        return folder
    folder = os.path.abspath(os.path.join(context.cwd, keep))
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise SowError(f"--keep: {folder} exists", "name a new or empty folder")
    os.makedirs(folder, exist_ok=True)
    return folder


def _environment(context: Context, home: str) -> dict[str, str]:
    """Returns the environment of the demo's commands: the user's PATH, and nothing personal."""
    variables = worker_environment(context.environment, own=("NO_COLOR", "COLUMNS"), marks={})
    variables = {name: value for name, value in variables.items() if not name.startswith("XDG_")}
    person = {"NAME": "Ada", "EMAIL": "ada@example.org"}
    identity = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in person.items()}
    path = f"{os.path.dirname(sys.executable)}:{variables.get('PATH', os.defpath)}"
    return {**variables, **identity, "HOME": home, "PATH": path, "USER": "ada", "PYTHONDONTWRITEBYTECODE": "1"}


def _settings(folder: str) -> dict[str, object]:
    executors = {
        name: {"type": "simulated", "settings": {"scenario": f"{folder}/scenarios/{name}.yaml"}}
        for name in ("worker", "judge")
    }
    bindings = {"implementer": "worker", "quality-control": "judge", "integrator": "worker"}
    return {"agents": {"executors": executors, "bindings": bindings}, "checks": {"allow": ["python3 *"]}}


def _shipped(name: str) -> str:
    with open(f"{SHIPPED}/{name}", encoding="utf-8") as file:
        return file.read()
