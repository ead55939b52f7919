"""Ends the runs of a workflow that is archived."""

from __future__ import annotations

from sow.domain.workflow_agent import DONE
from sow.store import runs
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.shapes import Workflow
    from sow.store.home import Home
    from sow.store.runs import RunFolder

SETTLED = (*DONE, "failed")
LEFT: dict[str, Any] = {"status": "abandoned", "result": None, "reason": "its workflow was archived"}


def end(home: Home, workflow: Workflow) -> None:
    """Ends all runs of a workflow and abandons their unfinished agents; can be repeated after a crash."""
    for folder in runs.listed(home):
        run = folder.run
        if run["project_id"] != workflow["id"] or (run["status"], run.get("exit")) == ("ended", 0):
            continue
        _let_go(folder, workflow)
        if run["status"] != "ended":
            run["status"] = "ended"
            run.setdefault("ended_at", clock.now())
            folder.save()


def _let_go(folder: RunFolder, workflow: Workflow) -> None:
    """Records once in the journal that the unfinished agents are abandoned.

    The entries get the time of the last one before them, because nobody worked since.
    """
    status_by_task: dict[str, str] = dict.fromkeys(folder.run["tasks"], "")
    moment: dict[str, Any] = {}
    for entry in folder.journal():
        moment = {"t": entry["t"]} if "t" in entry else moment
        if entry.get("event") == "task_ended":
            status_by_task[str(entry.get("task"))] = str(entry.get("status"))
    for name, member in workflow["members"].items():
        if member["status"] not in SETTLED and status_by_task.get(name, LEFT["status"]) != LEFT["status"]:
            folder.write("task_ended", **moment, task=name, **LEFT)
