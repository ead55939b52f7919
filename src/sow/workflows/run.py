"""Runs a workflow: puts its agents on the board in the order of the plan."""

from __future__ import annotations

import os

from sow.domain import graph
from sow.domain.decide import Board, Job
from sow.domain.member import is_dropped
from sow.domain.workflow_agent import DONE
from sow.engine.loop import Loop
from sow.store import restoring, workflow_acts, workflow_design, workflow_questions
from sow.workflows import advising, checking, opening, outputs, replanning
from sow.workflows.member_job import MemberJob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sow.config import ExecutorConfig
    from sow.engine.ended import Ended
    from sow.engine.steps import Steps
    from sow.errors import SowError
    from sow.workflows.deck import Deck

# A stage as the board shows it; at every other stage the job waits to be started.
BOARD = {"done": "completed", "failed": "failed", "ask": "waiting"}
SETTLED = {"verified": "completed", "session_complete": "completed", "failed": "failed", "blocked": "paused"}

LEFT = {"status": "abandoned", "result": None, "retry_count": 0}  # end of an agent that is no longer in the crew


class CrewLoop(Loop):
    """One call of `sow workflow run`."""

    is_workflow = True
    __slots__ = ("deck", "seen")

    def __init__(self, deck: Deck, *, tick: Callable[[float], None]) -> None:
        self.deck = deck
        self.seen: dict[str, tuple[int, int]] = {}
        workflow_acts.set_progress(deck.home, "in_progress")
        if deck.yes and deck.workflow().get("approval", {}).get("digest") != deck.plan.digest:
            replanning.approve(deck, deck.plan)
        super().__init__(deck.ship, opening.desks(deck.home), tick=tick)

    def make_board(self) -> Board:
        deck, needs = self.deck, self.deck.needs()
        names = deck.doers()
        inner = {name: [needed for needed in needs.get(name, []) if needed in names] for name in names}
        rest = graph.lengths(inner, dict.fromkeys(names, 1.0))
        for position, name in enumerate(reversed(deck.queue()), len(names) + 1):
            rest[name] = float(position)  # blocked agents go before all others, longest blocked first
        leaving = [Job(name, status="running") for name in self.running if name not in names]
        jobs = [
            Job(
                name,
                needs=needs.get(name, []),
                rest=rest[name],
                pool=self.executors_for(name)[0].name,
                status=self._stand(name),
            )
            for name in names
        ]
        slots, guards = self.ship.settings["max_concurrency"], (self.budget, self.breaker)
        return Board([*jobs, *leaving], slots=slots, pool_slots=self.ship.pool_slots(), guards=guards)

    def _stand(self, name: str) -> str:
        """Return an agent's status for the board."""
        if name in self.running:
            return "running"
        stage, _ = self.deck.stage(name)
        if stage == "blocked" and not advising.can_go_on(MemberJob(self.deck, name)):
            return "failed" if self._architect_failed() else "asking"
        if stage == "wait":
            return "asking" if self._waits_for_person(name) else "waiting"
        return BOARD.get(stage, "waiting")

    def _architect_failed(self) -> bool:
        member = self.deck.workflow()["members"].get(self.deck.solution_architect())
        return member is not None and member["status"] == "failed"

    def _waits_for_person(self, name: str) -> bool:
        return "question" in self.deck.member(name) or not self.deck.approved(name)

    def job(self, ident: str) -> Steps[Ended]:
        return MemberJob(self.deck, ident).steps()

    def iteration(self, ident: str) -> int:
        return self.deck.member(ident)["iteration"]

    def executors_for(self, ident: str) -> list[ExecutorConfig]:
        return self.deck.executors_of(self.deck.role(ident).name)

    def watch_home(self) -> list[str]:
        """Restore state that is gone or was edited by hand before anything is decided from it."""
        folder = self.deck.folder
        restoring.refuse_elsewhere(self.ship.home, self.ship.folder.run["branch"])
        if not self._changed(folder.state_path) and not self._changed(folder.view_path):
            return []
        is_restored = workflow_design.bring_back(self.ship.home)
        for remark in workflow_acts.mend(self.ship.home):
            self.ship.tell("set_aside", task="", text=remark[:500])
        for path in (folder.state_path, folder.view_path):
            self._changed(path)
        return ["workflow"] if is_restored else []

    def _changed(self, path: str) -> bool:
        """Tell whether a file is gone or has changed since the last check."""
        try:
            status = os.stat(path)
        except OSError:
            return True
        before = self.seen.get(path)
        self.seen[path] = (status.st_ino, status.st_mtime_ns)
        return before != self.seen[path]

    def watch_plan(self) -> None:
        """Hold up the agents concerned if somebody edits the plan or the instructions."""
        deck = self.deck
        paths = [deck.desk(name).instructions_path for name in checking.roster(deck.plan)]
        if any(self._changed(path) for path in (deck.folder.plan_path, *paths)):
            replanning.notice(self.deck)

    def _is_over(self) -> bool:
        if not self.running:
            outputs.reopen_changed(self.deck, self.deck.doers())
        self._renew_board()
        if not self.running:  # the work of others may let an agent continue
            for ident, status in self.board.statuses().items():
                if status == "asking":
                    self.look_at(ident)
        return super()._is_over()

    def _renew_board(self) -> None:
        """Add new agents to the board after a change of the plan, and let those that were sent back work again."""
        statuses, members = self.board.statuses(), self.deck.workflow()["members"]
        done = [name for name, status in statuses.items() if status == "completed" and name in members]
        if set(self.deck.doers()) == set(statuses) and all(members[name]["status"] in DONE for name in done):
            return
        self.board = self.make_board()
        self.tell_answers()
        for pool in self.ship.folder.run.get("pools", ()):
            self._rest(pool["executor"], pool["until"])

    def look_at(self, ident: str) -> None:
        status = self._stand(ident)
        if status == "waiting":
            self.tell_answers()
            self.board.answered(ident)
        elif status == "completed" or status != self.board.status(ident):
            self.board.ended(ident, status)

    def who_answered(self, ident: str, number: int | str) -> str | None:
        answers = self.deck.workflow().get("answers", [])
        names = (
            answer["answered_by"]
            for answer in answers
            if f"w{answer['number']}" == number and answer["member"] == ident
        )
        return next(names, None)

    def tell_answers(self) -> None:
        """Journal withdrawn questions, too, with the end of an agent that the design dropped."""
        for ident, number in list(self.asked):
            if self.who_answered(ident, number) == workflow_questions.EXECUTOR:
                self.ship.tell(
                    "answered", task=ident, number=number, origin=workflow_questions.EXECUTOR, withdrawn=True
                )
                workflow = self.deck.workflow()
                if ident not in workflow["members"] or is_dropped(ident, workflow):
                    self.ship.tell("task_ended", task=ident, **LEFT, reason=workflow_questions.DROPPED)
        super().tell_answers()

    def end_facts(self, ident: str) -> dict[str, Any]:
        state = self.deck.workflow()["members"].get(ident)
        if state is None or ident not in self.deck.doers():
            return dict(LEFT)
        status = "paused" if "question" in state and state["status"] != "failed" else state["status"]
        result = state.get("result", {}).get("result")
        return {"status": SETTLED.get(status, status), "result": result, "retry_count": state["rounds"]}

    def ask(self, ident: str, problem: SowError) -> str:
        text = f"{problem.message} ({problem.hint})"
        state = workflow_questions.ask_person(self.ship.home, ident, text, kind="approval").member
        return f"w{state['question']['number']}"
