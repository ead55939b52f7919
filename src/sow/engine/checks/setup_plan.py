"""Plans the setup of a checkout: its commands, links, copies and the paths that they make.

It also finds code of this repository that checks would import from the user's checkout instead of their own. For that
it reads records of editable installs, .pth files and links in node_modules, and starts no program.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sow.config import FROM_FILE, Config
from sow.domain.checks.task_checks import NO_SETUP
from sow.domain.documents.state import ProjectState
from sow.engine.checks import setup_detection
from sow.engine.checks.setup_detection import NODE_MODULES, MachineFacts, Proposal, Read, interpreter_of, site_folders
from sow.executors.settings import find_binary
from sow.gitwork.worktree import EnvironmentProblem
from sow.store.files.checkout_home import Home
from sow.store.projects import task_updates
from sow.store.projects.task_folder import TaskFolder
from sow.store.user import consents
from sow.system import git
from sow.system.environment import VENVS, checkout_environment, own_venv, relative_to, worker_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.runs.run_context import RunContext

SETTINGS = ("link", "copy", "setup")
# Settings of package managers. Only setup commands get them.
LET_THROUGH = ("PIP_", "UV_", "POETRY_", "npm_config_", "NPM_CONFIG_", "YARN_", "PNPM_HOME", "COREPACK_")
MOST = 64 << 20


@dataclass
class Setup:
    """The setup of one tree, and the environment of programs in a checkout of it."""

    machine: MachineFacts
    commands: list[list[str]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)  # paths below the folder that the commands make
    side_outputs: list[str] = field(default_factory=list)  # other paths that the commands may make
    passed_variables: list[str] = field(default_factory=list)
    go_work: bool = False
    sources: Sequence[str] | None = None  # folders of the code, if the user accepted imports from their checkout
    content: Mapping[str, bytes] = field(default_factory=dict)  # of the files that the commands read

    @property
    def key(self) -> str:
        """The identity of the setup: a checkout with another one is set up again."""
        return _digest([self.commands, self.links, self.copies], self.content)

    @property
    def texts(self) -> list[str]:
        """The commands as they are shown, agreed to and run."""
        return [shlex.join(command) for command in self.commands]

    def environment(self, folder: str, *, setting_up: bool = False) -> dict[str, str]:
        """Returns the variables for checks in a checkout or for its setup commands. None leads to the user's checkout.

        A declared setup may make a virtual environment that only shows in the folder, so call this after the setup.
        """
        venvs = [path for path in self.outputs if path in (*VENVS, os.path.basename(self.machine.venv))]
        environment = checkout_environment(
            self.machine.environment,
            self.machine.root,
            folder,
            venv="" if setting_up else next(iter(venvs), own_venv(folder)),
            go_work=self.go_work,
            sources=self.sources,
        )
        if setting_up:
            environment.pop("VIRTUAL_ENV", None)  # poetry would set up that environment
        extra = LET_THROUGH if setting_up else ()
        return worker_environment(environment, own=(*self.passed_variables, *extra), marks={})

    def as_settings(self) -> dict[str, Any]:
        """Returns the setup as settings for `install_setup_files`."""
        outputs = {"outputs": [*self.outputs, *self.side_outputs], "key": self.key}
        return {"link": self.links, "copy": self.copies, "setup": self.commands, **outputs}


@dataclass(frozen=True)
class Setups:
    """The setups of one repository: from the user's config, or detected and agreed to."""

    home: Home
    config: Config
    environment: Mapping[str, str]
    accepted: Sequence[str] = ()  # doubts that the user accepted for this run

    @cached_property
    def machine(self) -> MachineFacts:
        """Facts about the user's checkout, read once."""
        return MachineFacts(self.home.root, self.environment)

    @property
    def is_declared(self) -> bool:
        """Returns whether the user's config defines the setup, so that nothing is detected."""
        return any(self.config.sections["worktree"][name][1] == FROM_FILE for name in SETTINGS)

    @property
    def sources(self) -> list[str] | None:
        """The folders of the code, if the user accepted imports from their checkout."""
        if "outside_imports" not in self.accepted:
            return None
        return list(dict.fromkeys(record.source for record in self.machine.own_records if _leads_to_code(record.file)))

    def setup_for(self, read: Read) -> Setup:
        """Returns the setup of a tree; commands that the user has not agreed to are a question."""
        setup = self.wanted(read)
        missing = self.missing(setup)
        if missing:
            raise EnvironmentProblem(
                f"this work needs a setup that you have not agreed to: {'; '.join(missing)}",
                "run the plan again on a terminal, or with --yes, or write your own: sow config edit (worktree.setup)",
            )
        return setup

    def wanted(self, read: Read) -> Setup:
        """Returns the setup that a tree has, or would have with the user's consent; a refused one is not used."""
        setup = self.proposed(read)
        return self._setup(None, read) if self.is_refused(setup) else setup

    def proposed(self, read: Read) -> Setup:
        """Returns the setup as it would be with the user's consent."""
        return self._declared(read) if self.is_declared else self._setup(self.proposal(read), read)

    def proposal(self, read: Read) -> Proposal:
        """Detects the setup of a tree."""
        return setup_detection.detect(read, self.machine)

    def missing(self, setup: Setup) -> list[str]:
        """Lists the commands of a setup that the user has not agreed to."""
        if self.is_declared:
            return []
        allow = self.config.setting("checks", "allow")
        return consents.missing(self.environment, self.home.checkout.common, setup.texts, allow)

    def missing_at(self, reads: Iterable[Read]) -> list[str]:
        """Returns the setup commands of some trees that the user has neither agreed to nor refused."""
        return list(dict.fromkeys(text for read in reads for text in self.missing(self.wanted(read))))

    def agree(self, texts: Sequence[str]) -> None:
        """Saves the user's consent."""
        consents.record(self.environment, self.home.checkout.common, texts)
        consents.forget(self.environment, self.home.checkout.common, texts, kind=consents.REFUSED)

    def refuse(self, texts: Sequence[str]) -> None:
        """Remembers the user's refusal."""
        consents.add(self.environment, self.home.checkout.common, texts, kind=consents.REFUSED)

    def is_refused(self, setup: Setup) -> bool:
        """Returns whether the user does not want this setup."""
        if self.is_declared:
            return False
        return consents.is_refused(self.environment, self.home.checkout.common, setup.texts)

    def refusal(self, read: Read) -> str:
        """Returns the text about a tree whose setup the user refused; empty if it was not refused."""
        return NO_SETUP if self.is_refused(self.proposed(read)) else ""

    def local_files(self) -> list[str]:
        """Lists well-known files with local settings that the checkout has and git ignores."""
        if self.is_declared:
            return []
        existing = [path for path in setup_detection.LOCAL_FILES if os.path.isfile(f"{self.home.root}/{path}")]
        if not existing:
            return []
        ignored = git.run_unchecked(["check-ignore", "-z", "--stdin"], cwd=self.home.root, input="\0".join(existing))
        return [path for path in existing if path in ignored.out.split("\0")]

    def copies(self, *, agreed: bool = True) -> list[str]:
        """Lists the local files that the user wants in each checkout, or those not yet asked about."""
        texts = {copy_consent_text(path): path for path in self.local_files()}
        repository = (self.environment, self.home.checkout.common)
        missing = consents.missing(*repository, texts)
        if agreed:
            return [path for text, path in texts.items() if text not in missing]
        return [texts[text] for text in missing if not consents.is_refused(*repository, [text])]

    def _declared(self, read: Read) -> Setup:
        links, copies, commands = (self.config.setting("worktree", name) for name in SETTINGS)
        return Setup(
            self.machine,
            commands=commands,
            links=links,
            copies=copies,
            side_outputs=_usual_outputs(read, self.machine, commands),
            content=setup_detection.manifests(read) if commands else {},
            **self._common(read),
        )

    def _common(self, read: Read) -> dict[str, Any]:
        let_through = self.config.check_variables()
        return {"passed_variables": let_through, "go_work": read("go.work") is not None, "sources": self.sources}

    def _setup(self, proposal: Proposal | None, read: Read) -> Setup:
        copies = self.copies()
        if proposal is None or not proposal.commands:
            return Setup(self.machine, copies=copies, **self._common(read))
        return Setup(
            self.machine,
            commands=proposal.commands,
            copies=copies,
            outputs=proposal.outputs,
            side_outputs=proposal.side_outputs,
            content=setup_detection.manifests(read),
            **self._common(read),
        )


def folder_reader(folder: str) -> Read:
    """Returns a function that reads files of a checkout."""

    def read(path: str) -> bytes | None:
        absolute = f"{folder}/{path}"
        try:
            if os.path.islink(absolute) or not os.path.isfile(absolute):
                return None
            with open(absolute, "rb") as file:
                return file.read(MOST)
        except OSError:
            return None

    return read


def commit_reader(root: str, commit: str) -> Read:
    """Returns a function that reads files of a commit."""
    listing = git.run_unchecked(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit], cwd=root)
    paths = set(listing.out.split("\0"))
    contents: dict[str, bytes | None] = {}

    def read(path: str) -> bytes | None:
        if path in paths and path not in contents:
            done = git.run_unchecked(["cat-file", "blob", f"{commit}:{path}"], cwd=root)
            contents[path] = None if done.code else done.out.encode("utf-8", "surrogateescape")
        return contents.get(path)

    return read


def copy_consent_text(path: str) -> str:
    """Returns the text under which the consent to a copy is saved. It is never run as a command."""
    return f"(copy) {path}"


def _usual_outputs(read: Read, machine: MachineFacts, commands: Sequence[Sequence[str]]) -> list[str]:
    if not commands:
        return []
    names = [".venv", *([os.path.basename(machine.venv)] if machine.venv else []), setup_detection.NODE_MODULES]
    names += [f"{folder}/{setup_detection.NODE_MODULES}" for folder in setup_detection.workspaces(read)]
    return list(dict.fromkeys(names))


def _leads_to_code(file: str) -> bool:
    return not file.endswith("direct_url.json")


def _digest(plan: object, content: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256(json.dumps(plan, sort_keys=True).encode())
    for path in sorted(content):
        digest.update(f"\0{path}\0{len(content[path])}\0".encode() + content[path])
    return digest.hexdigest()


ACCEPTED = "outside_imports"
# Programs that start other programs. If the repository has Python code, they may start Python.
RUNNERS = frozenset({"make", "gmake", "just", "task", "invoke", "sh", "bash", "dash", "zsh", "env", "nice", "timeout"})
NOT_NODE = frozenset({"pytest", "py.test", "ruff", "mypy", "cargo", "go", "pip"})
MAKES_PYTHON = ("venv", "virtualenv", "uv ", "poetry ", "pdm ", "hatch ", "conda ", "pipenv ")
MAKES_NODE = ("npm ", "pnpm ", "yarn ", "bun ")
MOST_SHOWN = 3
WHY = (
    "A check could then pass although the task broke the code, or fail although the task is right, because it would "
    "test the code of your checkout."
)


@dataclass(frozen=True)
class OutsideImport:
    """One way in which code of this repository is imported from outside the checkout."""

    file: str
    target: str
    command: str  # the command or its program
    is_copy: bool = False

    def __str__(self) -> str:
        origin = "a copy made when it was installed from" if self.is_copy else "code in"
        return f"`{self.command}` would import {origin} {self.target} (see {self.file})"


def find_outside_imports(
    setups: Setups, setup: Setup, commands: Iterable[str], *, folder: str = ""
) -> list[OutsideImport]:
    """Finds the outside imports of some commands. `folder` is a checkout in which the setup has run already."""
    unique = list(dict.fromkeys(commands))
    by_target = {item.target: item for item in _python_imports(setups, setup, unique, folder)}
    for item in _node_imports(setups, setup, unique, folder):
        by_target.setdefault(item.target, item)
    return list(by_target.values())


def _python_imports(setups: Setups, setup: Setup, commands: list[str], folder: str) -> Iterator[OutsideImport]:
    root = setups.home.root
    has_own = bool(own_venv(folder)) if folder else _creates_environment(setup, MAKES_PYTHON)
    for command in commands:
        for program in _programs(setups, setup, command, has_own=has_own):
            python = interpreter_of(program, setups.environment, root)
            for site in site_folders(python, setups.environment) if python else []:
                for record in setups.machine.records_in(site):
                    yield OutsideImport(record.file, record.target, command, is_copy=record.is_copy)


def _creates_environment(setup: Setup, patterns: tuple[str, ...]) -> bool:
    return any(pattern in f"{text} " for text in setup.texts for pattern in patterns)


def _programs(setups: Setups, setup: Setup, command: str, *, has_own: bool) -> Iterator[str]:
    """Yields the programs of a command that come from outside the checkout in which it runs."""
    for number, word in enumerate(_words(command)):
        name = os.path.basename(word)
        if os.path.isabs(word):
            yield from [word] if os.access(word, os.X_OK) and os.path.isfile(word) else []
        elif "/" in word:
            linked = any(relative_to(os.path.normpath(word), link) is not None for link in setup.links)
            yield from [f"{setups.home.root}/{word}"] if linked else []
        elif not has_own and (number == 0 or name.startswith("python") or name in ("pytest", "py.test")):
            names = ["python3", "python"] if name in RUNNERS else [name]
            yield from filter(None, (find_binary(program, setups.environment) for program in names))


def _words(command: str) -> list[str]:
    """Splits a command into words, even a shell command."""
    try:
        return shlex.split(command.replace(";", " ; ").replace("&&", " && "))
    except ValueError:
        return command.split()


def _node_imports(setups: Setups, setup: Setup, commands: list[str], folder: str) -> Iterator[OutsideImport]:
    """Yields links in node_modules of the user's checkout. Node looks there if the checkout of a check has none."""
    has_own = os.path.isdir(f"{folder}/{NODE_MODULES}") if folder else _creates_environment(setup, MAKES_NODE)
    node_commands = [command for command in commands if os.path.basename((_words(command) or [""])[0]) not in NOT_NODE]
    if (has_own and NODE_MODULES not in setup.links) or not node_commands:
        return
    root = setups.home.root
    for link in _links(f"{root}/{NODE_MODULES}"):
        target = os.path.realpath(link)
        part = relative_to(target, root)
        if part is not None and NODE_MODULES not in part.split("/"):
            yield OutsideImport(link, target, node_commands[0])


def _links(folder: str) -> Iterator[str]:
    """Yields the packages in node_modules that are links."""
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = f"{folder}/{name}"
        if os.path.islink(path):
            yield path
        elif name.startswith("@"):
            yield from _links(path)


def import_lines(imports: list[OutsideImport]) -> list[str]:
    """Returns the first imports as lines, and the number of further ones."""
    lines = [str(item) for item in imports[:MOST_SHOWN]]
    return lines + ([f"and {len(imports) - MOST_SHOWN} more"] if len(imports) > MOST_SHOWN else [])


def are_imports_accepted(context: RunContext, setup: Setup, commands: Iterable[str], folder: str) -> bool:
    """Tells whether checks would import code from outside of their checkout; raises if the user did not accept that."""
    imports = find_outside_imports(context.setups, setup, commands, folder=folder)
    if imports and ACCEPTED not in context.setups.accepted:
        raise EnvironmentProblem(
            f"checks would import this repository's code from outside of their checkout: {imports[0]}",
            "set up each checkout (sow config edit: worktree.setup), "
            "or accept results that are YELLOW at best: add --accept outside-imports to 'sow run'",
        )
    return bool(imports)


def record_import_concern(folder: TaskFolder, project: ProjectState) -> None:
    """Records on a task that its checks may have imported the user's checkout, which the user accepted."""
    text = "its checks may have imported this repository's code from your checkout, which you accepted for this run"
    task_updates.add_concern(folder, project, "environment", text)
