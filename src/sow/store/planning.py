"""Keeps what `sow plan new` has begun and not finished: the goal, and the planner's questions with their answers."""

from __future__ import annotations

import os

from sow.domain import inputs, task
from sow.domain.documents.state import Note
from sow.domain.inbox import Item, item
from sow.domain.task import Actor
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.files.disk import list_folder, make_folders, remove_tree_quietly
from sow.store.projects import notes
from sow.store.projects.task_folder import WorkerFolder, literal
from sow.store.workflows.folder import AgentFolder
from sow.system import clock

FOLDER = ("local", "planning")
PREFIX = "plan-new-"  # of the id under which a planner's sessions are kept
NUMBER = "p"  # before the number of a question
OWNER = "00000000-0000-4000-8000-000000000000"  # a planner belongs to no project


class PlannerFolder(AgentFolder):
    """The folder of one goal and its planner, which writes nothing."""

    noun = "planner"

    def __init__(self, home: Home, number: int) -> None:
        WorkerFolder.__init__(self, home, f"{home.sow}/{'/'.join(FOLDER)}/{number}", f"{PREFIX}{number}")
        self.number = number
        self.owner = OWNER

    @property
    def goal_path(self) -> str:
        return f"{self.folder}/goal.md"

    @property
    def iteration(self) -> int:
        """Returns 1, because a planner has no iterations."""
        return 1

    def make_folder(self, *parts: str) -> str:
        """Returns a folder of this planner, and makes it if it is missing."""
        return make_folders(self.home.disk, self.home.root, (".sow", *FOLDER, str(self.number), *parts))

    def make_folders(self) -> None:
        """Makes the folder of its questions."""
        self.make_folder("completion_drive")

    def write_protected(self) -> tuple[str, ...]:
        """Returns a pattern for all files of sow."""
        return (f"{literal(self.home.sow)}/**",)

    def worker_environment(self) -> dict[str, str]:
        """Returns no environment variables in addition to its name and its role."""
        return {}


def _folders(home: Home) -> list[PlannerFolder]:
    names = list_folder(f"{home.sow}/{'/'.join(FOLDER)}")
    return [PlannerFolder(home, int(name)) for name in sorted(names, key=len) if name.isdigit()]


def begin(home: Home, goal: str) -> PlannerFolder:
    """Returns the folder of this goal: the one that was begun earlier, or a new one."""
    with home.lock():
        for folder in _folders(home):
            if home.read_or("", folder.goal_path) == goal:
                return folder
        sessions = list_folder(f"{home.sow}/local/sessions")
        used = [folder.number for folder in _folders(home)]
        used += [
            int(name[len(PREFIX) :]) for name in sessions if name.startswith(PREFIX) and name[len(PREFIX) :].isdigit()
        ]
        folder = PlannerFolder(home, max(used, default=0) + 1)
        folder.make_folders()
        home.replace(folder.goal_path, goal)
    return folder


def finish(folder: PlannerFolder) -> None:
    """Removes the folder of a goal whose plan is written; the sessions of its planner stay."""
    with folder.home.lock():
        remove_tree_quietly(folder.folder)


def ask(folder: PlannerFolder, question: str, command: str) -> None:
    """Puts a question into the inbox; the command continues the planning once it is answered."""
    with folder.home.lock():
        epoch = clock.epoch()
        session = notes.load(folder) or notes.new_session(inputs.note_session_id("plan", epoch), epoch)
        asked = notes.add(folder, session, description=question, context=command, category="requirements", epoch=epoch)
        notes.replace(folder, [task.escalate_note(asked, "the planner asks the user")])


def open_question(folder: PlannerFolder) -> Note | None:
    """Returns the question that waits for an answer."""
    return next((entry for entry in notes.load_notes(folder) if entry["status"] == "escalated"), None)


def answered(folder: PlannerFolder) -> list[Note]:
    """Returns the answered questions, oldest first."""
    return [entry for entry in notes.load_notes(folder) if entry["status"] == "resolved"]


def answer(home: Home, number: str, words: str, *, actor: Actor) -> str:
    """Answers the question with this number, such as p1; returns the command that continues the planning."""
    with home.lock():
        for folder in _folders(home):
            asked = open_question(folder) if f"{NUMBER}{folder.number}" == number else None
            if asked is not None:
                notes.replace(folder, [task.resolve_note(asked, words, actor=actor, epoch=clock.epoch())])
                return asked["context"]
    raise SowError(f"question {number} is answered already", "see what is open: sow inbox")


def items(home: Home) -> list[Item]:
    """Returns the open questions of planners as items of the inbox."""
    if not os.path.lexists(f"{home.sow}/{'/'.join(FOLDER)}"):
        return []
    waiting = []
    for folder in _folders(home):
        try:
            asked = open_question(folder)
        except SowError as error:
            waiting.append(item("broken", text=error.message, do=f"rm -r {home.relative(folder.folder)}"))
            continue
        if asked is not None:
            number = f"{NUMBER}{folder.number}"
            since, do = clock.format_time(asked["timestamp"]), f'sow answer {number} "…"'
            entry = item("question", text=asked["description"], number=number, since=since, do=do)
            waiting.append({**entry, "remark": f"the planner asks; after the answer: {asked['context']}"})
    return waiting
