"""Keeps what a machine stores for the turns of others: a repository for packets, and one home per task."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from sow.cluster.turn_request import CHECKS, PROTOCOL, REFS, TurnRequest, is_token
from sow.config import Config
from sow.errors import SowError
from sow.executors.settings import adapter as find_adapter
from sow.store.files import checkout_home
from sow.store.files.checkout_home import Home
from sow.store.files.disk import list_folder, remove_tree_quietly
from sow.store.formats.validation import is_account
from sow.system import checkout, clock, git
from sow.system.environment import user_folder
from sow.system.sandbox import sandbox_state

DAY = 86400
KEPT_OBJECTS = "90.days.ago"  # the homes borrow objects of the repository, also those that no ref needs any more


class HostFolder:
    """The folder of one machine, below the user's folder for state."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.folder = f"{user_folder(environment, 'XDG_STATE_HOME', '.local/state')}/sow/hosting"

    @property
    def repository(self) -> str:
        """The bare repository with the requests and results of this machine."""
        return f"{self.folder}/transfer.git"

    def open(self) -> None:
        """Makes the repository if it is missing."""
        if not os.path.isdir(f"{self.repository}/refs"):
            clock.crash_point(f"make {self.repository}")
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            git.run(["init", "--quiet", "--bare", "--", self.repository], cwd="/")
            git.run(["config", "receive.fsckObjects", "true"], cwd=self.repository)
            git.run(["config", "gc.pruneExpire", KEPT_OBJECTS], cwd=self.repository)

    def turn_folder(self, token: str) -> str:
        """Returns the folder with the files of one turn."""
        if not is_token(token):
            raise SowError(f"{token!r:.80} does not name a turn", "sow starts these commands itself")
        folder = f"{self.folder}/turns/{token}"
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder

    def find(self, ref: str) -> str:
        """Returns the commit of a ref in the repository, or "" if there is none."""
        return git.run(["rev-parse", "--verify", "--quiet", ref], cwd=self.repository, check=False).strip()

    def home_of(self, request: TurnRequest) -> Home:
        """Returns the home in which the turns of one task are taken; sessions belong to their folder, so it is kept."""
        root = f"{self.folder}/homes/{request.project_id}-{request.task}"
        if checkout.at(root) is None:
            clock.crash_point(f"make {root}")
            os.makedirs(root, mode=0o700, exist_ok=True)
            git.run(["init", "--quiet", "--", root], cwd="/")
            git.run(["config", "gc.auto", "0"], cwd=root)
        os.utime(root)  # it is in use, and not old
        with open(f"{root}/.git/objects/info/alternates", "w", encoding="utf-8") as file:
            file.write(f"{self.repository}/objects\n")
        return Home(checkout_home.enclosing(root), environment=self.environment)

    def remove_old(self, seconds: float) -> list[str]:
        """Removes the homes and packets that nobody used for so long; returns what was removed."""
        removed, oldest = [], time.time() - seconds
        for kind in ("homes", "turns"):
            for name in list_folder(f"{self.folder}/{kind}"):
                path = f"{self.folder}/{kind}/{name}"
                if os.stat(path).st_mtime < oldest:
                    remove_tree_quietly(path)
                    removed.append(name)
                    if kind == "turns":
                        self.drop(name)
        return removed

    def drop(self, token: str) -> None:
        """Removes the request and the result of a turn."""
        for kind in ("request", "checkpoint", "result"):
            git.run(["update-ref", "-d", f"{REFS}/{token}/{kind}"], cwd=self.repository, check=False)


def machine_name(config: Config) -> str:
    """Returns the name of this machine: that of the settings, else its host name."""
    name = str(config.setting("host", "name") or socket.gethostname().partition(".")[0]).lower()
    return "".join(letter if (letter.isascii() and letter.isalnum()) or letter in "-_" else "-" for letter in name)[:64]


def offers(config: Config, environment: Mapping[str, str]) -> dict[str, int]:
    """Returns the executors that this machine offers, with the number of turns at once (0 is no limit of its own).

    Check lists of others are offered like one more executor.
    """
    wanted: Mapping[str, int | str] = config.setting("host", "capacity") or {}
    names = wanted or config.executors
    lists = config.setting("host", "checks")
    programs = {
        name: read_capacity(wanted.get(name, 0))[0] for name in names if config.executor(name).find_program(environment)
    }
    return {**programs, CHECKS: lists} if lists else programs


def read_capacity(text: int | str) -> tuple[int, str]:
    """Returns the number of turns at once and the account in a text such as 2@team."""
    number, _, account = str(text).partition("@")
    return int(number), account


def account_of(name: str, offer: Mapping[str, Any]) -> str:
    """Returns the account with which a host offers an executor: the host's own, if it names none."""
    account = offer.get("account", "")
    return account if isinstance(account, str) and is_account(account) else name


def describe(host: HostFolder, config: Config) -> dict[str, object]:
    """Returns what other hosts must know about this one."""
    from sow import __version__

    wanted: Mapping[str, int | str] = config.setting("host", "capacity") or {}
    sandbox = sandbox_state(str(config.setting("sandbox", "mode")), host.environment)
    return {
        "name": machine_name(config),
        "protocol": PROTOCOL,
        "version": __version__,
        "repository": host.repository,
        "sandbox": sandbox.is_on,
        "executors": {
            name: {
                "most": most,
                "account": read_capacity(wanted.get(name, 0))[1],
                "type": _type(config, name),
                "resumes": name != CHECKS and _resumes(config, name),
            }
            for name, most in offers(config, host.environment).items()
        },
    }


def _type(config: Config, name: str) -> str:
    return config.executors[name].type if name != CHECKS else "checks"


def _resumes(config: Config, name: str) -> bool:
    return find_adapter(config.executors[name].type).capabilities.resumes
