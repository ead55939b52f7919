"""The setup of a checkout: commands, links, copies and the paths that they make, for the files of one tree."""

from __future__ import annotations

import hashlib
import json
import os
import shlex

from sow.config import FROM_FILE
from sow.engine import setup_detection
from sow.engine.place import EnvironmentProblem
from sow.store import consents
from sow.system import git
from sow.system.environment import VENVS, inside, own_venv, worker_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from sow.config import Config
    from sow.engine.setup_detection import Around, Proposal, Read
    from sow.store.home import Home

SETTINGS = ("link", "copy", "setup")
# Settings of package managers, which only setup commands get.
LET_THROUGH = ("PIP_", "UV_", "POETRY_", "npm_config_", "NPM_CONFIG_", "YARN_", "PNPM_HOME", "COREPACK_")
MOST = 64 << 20
REFUSED = "refused_setup"  # in a run's record of what the user accepted
UNDO = "to be asked again: sow consent forget --refused"
NO_SETUP = f"you refused the setup of checkouts, so what it installs is missing; {UNDO}"


class Setup:
    """How one tree is set up, and the environment of programs in a checkout of it."""

    __slots__ = (
        "around",
        "commands",
        "copies",
        "go_work",
        "key",
        "let_through",
        "links",
        "outputs",
        "sources",
        "traces",
    )

    def __init__(
        self,
        around: Around,
        *,
        commands: Sequence[Sequence[str]] = (),
        links: Sequence[str] = (),
        copies: Sequence[str] = (),
        outputs: Sequence[str] = (),
        traces: Sequence[str] = (),
        let_through: Sequence[str] = (),
        go_work: bool = False,
        sources: Sequence[str] | None = None,
        content: Mapping[str, bytes] | None = None,
    ) -> None:
        self.around = around
        self.commands = [list(each) for each in commands]
        self.links = list(links)
        self.copies = list(copies)
        self.outputs = list(outputs)  # paths below the folder that the commands make
        self.traces = list(traces)  # paths that they may make besides
        self.let_through = list(let_through)
        self.go_work = go_work
        self.sources = sources  # of the code, if the user accepted imports from their own checkout
        self.key = _digest([self.commands, self.links, self.copies], content or {})

    @property
    def texts(self) -> list[str]:
        """The commands as they are shown, agreed to and run."""
        return [shlex.join(each) for each in self.commands]

    def environment(self, folder: str, *, setting_up: bool = False) -> dict[str, str]:
        """The variables for checks in a checkout, or for its setup commands: none leads to the user's own checkout.

        A declared setup may make a virtual environment that only the folder shows, so ask after the setup.
        """
        made = [each for each in self.outputs if each in (*VENVS, os.path.basename(self.around.venv))]
        found = inside(
            self.around.environment,
            self.around.root,
            folder,
            venv="" if setting_up else next(iter(made), own_venv(folder)),
            go_work=self.go_work,
            sources=self.sources,
        )
        if setting_up:
            found.pop("VIRTUAL_ENV", None)  # poetry would set up that environment
        more = LET_THROUGH if setting_up else ()
        return worker_environment(found, own=(*self.let_through, *more), marks={})

    def furniture(self) -> dict[str, Any]:
        """The same as settings for `furnishing`."""
        made = {"outputs": [*self.outputs, *self.traces], "key": self.key}
        return {"link": self.links, "copy": self.copies, "setup": self.commands, **made}


class Setups:
    """The setups of one repository: the user's own settings, or those that are detected and agreed to."""

    __slots__ = ("accepted", "config", "environment", "home", "known")

    def __init__(
        self, home: Home, config: Config, environment: Mapping[str, str], *, accepted: Sequence[str] = ()
    ) -> None:
        self.home = home
        self.config = config
        self.environment = environment
        self.accepted = accepted  # doubts that the user accepted for this run
        self.known: Around | None = None

    @property
    def around(self) -> Around:
        """Facts about the user's checkout, read once."""
        if self.known is None:
            self.known = setup_detection.Around(self.home.root, self.environment)
        return self.known

    @property
    def is_declared(self) -> bool:
        """Whether the user's config says how a checkout is set up, so that nothing is detected."""
        return any(self.config.sections["worktree"][name][1] == FROM_FILE for name in SETTINGS)

    @property
    def sources(self) -> list[str] | None:
        """The folders of the code, if the user accepted imports from their checkout."""
        if "outside_imports" not in self.accepted:
            return None
        return list(dict.fromkeys(each.source for each in self.around.editable if _leads_to_code(each.file)))

    def of(self, read: Read) -> Setup:
        """The setup of a tree; commands that the user has not agreed to are a question."""
        setup = self.wanted(read)
        missing = self.missing(setup)
        if missing:
            raise EnvironmentProblem(
                f"this work needs a setup that you have not agreed to: {'; '.join(missing)}",
                "run the plan again on a terminal, or with --yes, or write your own: sow config edit (worktree.setup)",
            )
        return setup

    def wanted(self, read: Read) -> Setup:
        """The setup that a tree has, or would have with the user's consent; one that the user refused is not used."""
        setup = self.proposed(read)
        return self._setup(None, read) if self.is_refused(setup) else setup

    def proposed(self, read: Read) -> Setup:
        """The setup as it would be with the user's consent."""
        return self._declared(read) if self.is_declared else self._setup(self.proposal(read), read)

    def proposal(self, read: Read) -> Proposal:
        """The detected setup of a tree."""
        return setup_detection.detect(read, self.around)

    def missing(self, setup: Setup) -> list[str]:
        """The commands of a setup that the user has not agreed to."""
        if self.is_declared:
            return []
        allow = self.config.setting("checks", "allow")
        return consents.missing(self.environment, self.home.checkout.common, setup.texts, allow)

    def missing_at(self, reads: Iterable[Read]) -> list[str]:
        """The setup commands of some trees that the user has neither agreed to nor refused."""
        return list(dict.fromkeys(text for read in reads for text in self.missing(self.wanted(read))))

    def agree(self, texts: Sequence[str]) -> None:
        """Remember the user's consent."""
        consents.give(self.environment, self.home.checkout.common, texts)
        consents.forget(self.environment, self.home.checkout.common, texts, kind=consents.REFUSED)

    def refuse(self, texts: Sequence[str]) -> None:
        """Remember the user's refusal."""
        consents.add(self.environment, self.home.checkout.common, texts, kind=consents.REFUSED)

    def is_refused(self, setup: Setup) -> bool:
        """Whether the user does not want this setup."""
        if self.is_declared:
            return False
        return consents.is_refused(self.environment, self.home.checkout.common, setup.texts)

    def refusal(self, read: Read) -> str:
        """The words about a tree whose setup the user refused; empty if it was not refused."""
        return NO_SETUP if self.is_refused(self.proposed(read)) else ""

    def local_files(self) -> list[str]:
        """The well-known files with local settings that the checkout has and git ignores."""
        if self.is_declared:
            return []
        there = [each for each in setup_detection.LOCAL_FILES if os.path.isfile(f"{self.home.root}/{each}")]
        if not there:
            return []
        told = git.attempt(["check-ignore", "-z", "--stdin"], cwd=self.home.root, input="\0".join(there))
        return [each for each in there if each in told.out.split("\0")]

    def copies(self, *, agreed: bool = True) -> list[str]:
        """The local files that the user wants in each checkout, or those that nobody asked about yet."""
        texts = {copy_text(each): each for each in self.local_files()}
        where = (self.environment, self.home.checkout.common)
        missing = consents.missing(*where, texts)
        if agreed:
            return [each for text, each in texts.items() if text not in missing]
        return [texts[text] for text in missing if not consents.is_refused(*where, [text])]

    def _declared(self, read: Read) -> Setup:
        links, copies, commands = (self.config.setting("worktree", name) for name in SETTINGS)
        return Setup(
            self.around,
            commands=commands,
            links=links,
            copies=copies,
            traces=_usual_outputs(read, self.around, commands),
            content=setup_detection.manifests(read) if commands else None,
            **self._common(read),
        )

    def _common(self, read: Read) -> dict[str, Any]:
        """The part that every setup of this repository has."""
        let_through = self.config.setting("checks", "env")
        return {"let_through": let_through, "go_work": read("go.work") is not None, "sources": self.sources}

    def _setup(self, proposal: Proposal | None, read: Read) -> Setup:
        copies = self.copies()
        if proposal is None or not proposal.commands:
            return Setup(self.around, copies=copies, **self._common(read))
        return Setup(
            self.around,
            commands=proposal.commands,
            copies=copies,
            outputs=proposal.outputs,
            traces=proposal.traces,
            content=setup_detection.manifests(read),
            **self._common(read),
        )


def reader_of(folder: str) -> Read:
    """Reads files of a checkout."""

    def read(path: str) -> bytes | None:
        where = f"{folder}/{path}"
        try:
            if os.path.islink(where) or not os.path.isfile(where):
                return None
            with open(where, "rb") as file:
                return file.read(MOST)
        except OSError:
            return None

    return read


def reader_at(root: str, commit: str) -> Read:
    """Reads files of a commit."""
    listed = set(git.attempt(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit], cwd=root).out.split("\0"))
    known: dict[str, bytes | None] = {}

    def read(path: str) -> bytes | None:
        if path in listed and path not in known:
            done = git.attempt(["cat-file", "blob", f"{commit}:{path}"], cwd=root)
            known[path] = None if done.code else done.out.encode("utf-8", "surrogateescape")
        return known.get(path)

    return read


def copy_text(path: str) -> str:
    """The text under which the consent to a copy is remembered; no shell runs it as a command."""
    return f"(copy) {path}"


def _usual_outputs(read: Read, around: Around, commands: Sequence[Sequence[str]]) -> list[str]:
    """The paths that the user's own setup commands are known to make."""
    if not commands:
        return []
    names = [".venv", *([os.path.basename(around.venv)] if around.venv else []), setup_detection.NODE_MODULES]
    names += [f"{each}/{setup_detection.NODE_MODULES}" for each in setup_detection.workspaces(read)]
    return list(dict.fromkeys(names))


def _leads_to_code(file: str) -> bool:
    return not file.endswith("direct_url.json")


def _digest(words: object, content: Mapping[str, bytes]) -> str:
    told = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
    for path in sorted(content):
        told.update(f"\0{path}\0{len(content[path])}\0".encode() + content[path])
    return told.hexdigest()
