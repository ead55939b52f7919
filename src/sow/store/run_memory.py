"""The memory of a live run: the state that it wrote or accepted, against which files and their copies are judged.

An agent can edit a state file together with its copy in the git folder. While a run lives, it believes its own memory.
A change by another process counts if it is one that an agent may make itself, or if a process that is not an agent's
vouches for it (`store.vouching`).
"""

from __future__ import annotations

import threading
import time
import weakref
from contextlib import suppress

from sow.domain import member as member_rules
from sow.domain import task as task_rules
from sow.domain.actor import WORKER, Actor
from sow.domain.ids import is_task_id
from sow.errors import SowError
from sow.store import aside, kept, state, vouching
from sow.store.validators.task import validate as validate_task
from sow.store.validators.workflow import validate as validate_workflow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Task, Workflow
    from sow.store.home import Home

WORKFLOW = "workflow"  # the name of the copy of a workflow's state
LISTEN_EVERY = 0.05  # seconds
HEARING = threading.Lock()
OF_A_WORKER = frozenset({"status", "question", "updated_at"})  # the fields of its task that a worker's calls change
OF_AN_AGENT = frozenset({"status", "last_update", "inferred"})


class RunMemory:
    """The text of each state file as it counts for this run, by the name of its copy."""

    __slots__ = ("__weakref__", "doubted", "forged", "home", "owner", "texts")

    def __init__(self, home: Home, owner: str, *, workflow: bool) -> None:
        self.home = home
        self.owner = owner  # the project or the workflow that is run
        self.texts: dict[str, str] = {}
        self.doubted = False  # whether the last text that was asked about did not count
        self.forged: list[tuple[str, str]] = []  # states that were edited with their copies: name, where the edit is
        vouching.begin(home)
        if workflow:
            self.texts[WORKFLOW] = ""
        # Beside the loop: a run that waits for its terminal or for git must not keep a person's command waiting.
        threading.Thread(target=_listen, args=(weakref.ref(self),), name="vouchers", daemon=True).start()

    def remembers(self, name: str) -> bool:
        """Whether this run answers for a state: its tasks, or its workflow."""
        return name == WORKFLOW if WORKFLOW in self.texts else is_task_id(name)

    def wrote(self, name: str, text: str) -> None:
        """Remember what this process has written."""
        if self.remembers(name):
            self.texts[name] = text

    def hear(self) -> None:
        """Take notice of every process that vouches for what it wrote."""
        with HEARING:
            found = vouching.heard(self.home)
            for name, text in sorted(found, key=lambda each: revision(each[1])):
                if self.remembers(name) and revision(text) > revision(self.texts.get(name, "")):
                    self.texts[name] = text

    def true(self, name: str, text: str) -> str:
        """The text that counts: this one, if it is ours, is the first, or may come from another process."""
        self.doubted = False
        if text != self.texts.get(name):
            self.hear()
        known = self.texts.get(name, "")
        if not self.remembers(name) or text == known or "\n<<<<<<< " in f"\n{text}":
            return text
        if not known or self._is_accepted(name, known, text):
            self.texts[name] = text
            return text
        self.doubted = True
        return known

    def _is_accepted(self, name: str, known: str, text: str) -> bool:
        """Whether sow wrote it, which leaves an equal copy, for an agent that may do this."""
        lawful = _agents_may if name == WORKFLOW else _worker_may
        return text == kept.recall(self.home, self.owner, name) and lawful(known, text)

    def put_back(self, name: str, path: str) -> str:
        """Make a state file and its copy what they should be, under the lock; returns where an edit was set aside."""
        try:
            text = self.home.read(path)
        except (FileNotFoundError, SowError):  # missing or no text: others bring it back, and it is judged then
            return ""
        good = self.true(name, text)
        if good == text:
            return ""
        where = aside.keep(self.home, name, text)
        if text == kept.recall(self.home, self.owner, name):
            self.forged.append((name, where))
        self.home.replace(path, good)
        kept.keep(self.home, self.owner, name, good)
        return where


def _listen(memory: weakref.ref[RunMemory]) -> None:
    """Hear who vouches for as long as the run lives."""
    while (found := memory()) is not None:
        with suppress(OSError, SowError):  # such as a folder that somebody removed: nobody can vouch there
            found.hear()
        del found
        time.sleep(LISTEN_EVERY)


def revision(text: str) -> int:
    """The revision in a text of our writing; zero where none can be read."""
    number = text.partition("\nrevision: ")[2].partition("\n")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 20 else 0


def _worker_may(known: str, text: str) -> bool:
    """Whether a worker on a task could have made of its state what it is now."""
    try:
        before: Task = state.parse(known, "the last state", validate_task)["task"]
        now: Task = state.parse(text, "the state", validate_task)["task"]
        changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
        if not changed <= OF_A_WORKER:
            return False
        if "status" in changed:
            worker = Actor(kind=WORKER, name="worker", task=before["id"])
            task_rules.move(before, now["status"], actor=worker, now=now["updated_at"], reason="x")
    except SowError:
        return False
    return True


def _agents_may(known: str, text: str) -> bool:
    """Whether agents of a workflow at work could have made of its state what it is now."""
    try:
        before: Workflow = state.parse(known, "the last state", validate_workflow)["workflow"]
        now: Workflow = state.parse(text, "the state", validate_workflow)["workflow"]
    except SowError:
        return False
    apart = ("members", "escalations", "updated_at")
    if any(before.get(key) != now.get(key) for key in before.keys() | now.keys() if key not in apart):
        return False
    old, new = before["escalations"], now["escalations"]
    if new[: len(old)] != old or any("resolution" in each or "route" in each for each in new[len(old) :]):
        return False
    return before["members"].keys() == now["members"].keys() and all(
        _agent_may(dict(before["members"][name]), dict(now["members"][name])) for name in before["members"]
    )


def _agent_may(before: dict[str, object], now: dict[str, object]) -> bool:
    """Whether an agent at work could have moved itself so."""
    changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    steps = (*member_rules.AT_WORK, "ready_for_verification", "blocked")
    return not changed or (
        changed <= OF_AN_AGENT and before["status"] in member_rules.AT_WORK and now["status"] in steps
    )
