"""Remembers the state that a live run wrote or accepted, and judges files and their copies by it.

An agent can edit a state file together with its copy in the git folder, so a live run trusts only its own memory. A
change by another process counts if an agent may make it, or if a process outside the agents announces it
(`write_notices`).
"""

from __future__ import annotations

import threading
import time
import weakref
from contextlib import suppress

from sow.domain import task as task_rules
from sow.domain.documents.state import Task, Workflow
from sow.domain.inputs import is_task_id
from sow.domain.task import WORKER, Actor
from sow.domain.workflows import member as member_rules
from sow.errors import SowError
from sow.store.files import checkout_home, set_aside, state_file
from sow.store.files.checkout_home import Home
from sow.store.files.state_file import revision
from sow.store.formats.yaml_text import has_conflict
from sow.store.validators.task import validate as validate_task
from sow.store.validators.workflow import validate as validate_workflow

WORKFLOW = "workflow"  # the name of the copy of a workflow's state
LISTEN_EVERY = 0.05  # seconds
NOTICE_LOCK = threading.Lock()
# The fields that a worker's calls change in its task.
OF_A_WORKER = frozenset({"status", "question", "failed_reason", "updated_at"})
OF_AN_AGENT = frozenset({"status", "last_update", "inferred"})


class TrustedState:
    """The text of each state file that counts for this run, by the name of its copy."""

    def __init__(self, home: Home, owner: str, *, workflow: bool) -> None:
        self.home = home
        self.owner = owner  # the project or workflow of the run
        self.texts: dict[str, str] = {}
        self.was_rejected = False  # whether the last text given to `trusted_text` did not count
        self.forged: list[tuple[str, str]] = []  # states that were edited with their copies: name, path of the edit
        checkout_home.begin_notice(home)
        if workflow:
            self.texts[WORKFLOW] = ""
        # In its own thread: a run that waits for its terminal or for git must not keep a person's command waiting.
        threading.Thread(target=_listen, args=(weakref.ref(self),), name="notices", daemon=True).start()

    def is_responsible_for(self, name: str) -> bool:
        """Returns whether this run is responsible for a state: its tasks, or its workflow."""
        return name == WORKFLOW if WORKFLOW in self.texts else is_task_id(name)

    def remember(self, name: str, text: str) -> None:
        """Remembers a text that this process wrote."""
        if self.is_responsible_for(name):
            self.texts[name] = text

    def read_notices(self) -> None:
        """Reads the texts that other processes announced."""
        with NOTICE_LOCK:
            for name, text in sorted(checkout_home.read_notices(self.home), key=lambda item: revision(item[1])):
                if self.is_responsible_for(name) and revision(text) > revision(self.texts.get(name, "")):
                    self.texts[name] = text

    def trusted_text(self, name: str, text: str) -> str:
        """Returns the text that counts: this one, if it is ours, the first, or may come from another process."""
        self.was_rejected = False
        if text != self.texts.get(name):
            self.read_notices()
        remembered = self.texts.get(name, "")
        if not self.is_responsible_for(name) or text == remembered or has_conflict(text):
            return text
        if not remembered or self._is_accepted(name, remembered, text):
            self.texts[name] = text
            return text
        self.was_rejected = True
        return remembered

    def _is_accepted(self, name: str, remembered: str, text: str) -> bool:
        """Returns whether sow wrote the text, which leaves an equal copy, and an agent may make the change."""
        is_allowed = is_crew_change if name == WORKFLOW else is_worker_change
        return text == state_file.load_backup(self.home, self.owner, name) and is_allowed(remembered, text)

    def restore(self, name: str, path: str) -> str:
        """Restores a state file and its copy, under the lock; returns the path of an edit that was set aside."""
        try:
            text = self.home.read(path)
        except (FileNotFoundError, SowError):  # missing or unreadable: other code restores it, and then it is judged
            return ""
        expected = self.trusted_text(name, text)
        if expected == text:
            return ""
        aside_path = set_aside.save_copy(self.home, name, text)
        if text == state_file.load_backup(self.home, self.owner, name):
            self.forged.append((name, aside_path))
        self.home.replace(path, expected)
        state_file.save_backup(self.home, self.owner, name, expected)
        return aside_path


def _listen(memory: weakref.ref[TrustedState]) -> None:
    """Reads announced texts for as long as the run lives."""
    while (run_memory := memory()) is not None:
        with suppress(OSError, SowError):  # for example a removed folder: nobody can announce a write there
            run_memory.read_notices()
        del run_memory
        time.sleep(LISTEN_EVERY)


def is_worker_change(remembered: str, text: str) -> bool:
    """Returns whether a worker could have changed its task's state like this."""
    try:
        before: Task = state_file.parse(remembered, "the last state", validate_task)["task"]
        now: Task = state_file.parse(text, "the state", validate_task)["task"]
        changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
        if not changed <= OF_A_WORKER:
            return False
        if "status" in changed:
            worker = Actor(kind=WORKER, name="worker", task=before["id"])
            task_rules.move(before, now["status"], actor=worker, now=now["updated_at"], reason="x")
    except SowError:
        return False
    return True


def is_crew_change(remembered: str, text: str) -> bool:
    """Returns whether working agents of a workflow could have changed its state like this."""
    try:
        before: Workflow = state_file.parse(remembered, "the last state", validate_workflow)["workflow"]
        now: Workflow = state_file.parse(text, "the state", validate_workflow)["workflow"]
    except SowError:
        return False
    checked_below = ("members", "escalations", "updated_at")
    if any(before.get(key) != now.get(key) for key in before.keys() | now.keys() if key not in checked_below):
        return False
    old, new = before["escalations"], now["escalations"]
    if new[: len(old)] != old or any("resolution" in entry or "route" in entry for entry in new[len(old) :]):
        return False
    return before["members"].keys() == now["members"].keys() and all(
        is_member_change(dict(before["members"][name]), dict(now["members"][name])) for name in before["members"]
    )


def is_member_change(before: dict[str, object], now: dict[str, object]) -> bool:
    """Returns whether a working agent could have moved itself like this."""
    changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
    statuses = (*member_rules.AT_WORK, "ready_for_verification", "blocked")
    return not changed or (
        changed <= OF_AN_AGENT and before["status"] in member_rules.AT_WORK and now["status"] in statuses
    )
