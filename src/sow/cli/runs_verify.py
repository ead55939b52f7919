"""Repeats the checks of a run and compares the results (`sow runs verify`)."""

from __future__ import annotations

from sow.cli import command_consent
from sow.cli.aboard import aboard, same_call
from sow.cli.context import Context
from sow.errors import Failed, SowError
from sow.store import runs
from sow.system.terminal import harmless_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.agreed import Agreed
    from sow.engine.ship import Ship
    from sow.engine.verifying import Repeated

COLOURS = {"holds": "green", "differs": "red", "left out": "dim"}


def verify(context: Context, *, run: str, task: list[str], yes: bool, json: bool) -> int:
    from sow.engine import final_checks, verifying
    from sow.engine.steps import drive

    context.judge("repeat the evidence of a run")
    folder = runs.find(context.home(), run)
    with aboard(context, folder, "sow runs verify") as (ship, integration):
        entries = verifying.recorded(ship, _chosen(ship, task))
        if not entries:
            raise Failed(f"run {folder.id} has no evidence to repeat", "only completed tasks with commands have some")
        repeatable = [entry for entry in entries if not verifying.unrepeatable(integration, entry)]
        ship.agreed = _agree(context, ship, repeatable, task, yes=yes)
        drive(verifying.repeat(ship, integration, entries, _quiet if json else _tell))
        final = drive(final_checks.repeat(ship, _chosen(ship, task)))
    verdicts = [entry.verdict for entry in entries]
    failed = [(owners, evidence) for owners, done in final for evidence in done.evidence if not evidence["passed"]]
    holds = verifying.DIFFERS not in verdicts and verifying.HOLDS in verdicts and not failed
    if json:
        from sow.cli.output import emit

        lists = [
            {
                "tasks": owners,
                "passed": done.passed,
                "failed": [evidence["command"] for evidence in done.evidence if not evidence["passed"]],
            }
            for owners, done in final
        ]
        emit({"run": folder.id, "holds": holds, "evidence": [_document(entry) for entry in entries], "final": lists})
    else:
        counts = ", ".join(f"{verdict}: {verdicts.count(verdict)}" for verdict in COLOURS if verdict in verdicts)
        out(f"evidence of run {folder.id}: {counts}")
        for owners, evidence in failed:
            line = f"final tree, task {', '.join(owners)}: {evidence['command']} (exit {evidence['exit']})"
            out(f"{paint('fails'.ljust(8), 'red')}  {harmless_line(line)}")
        if final and not failed:
            count = sum(len(owners) for owners, _ in final)
            out(
                f"final tree: the check lists of {count} tasks pass"
                if count > 1
                else "final tree: the check list of 1 task passes"
            )
    return 0 if holds else 1


def _chosen(ship: Ship, names: list[str]) -> list[str]:
    """Returns the project's ids of the named tasks, which may be named by their id in the plan."""
    from sow.store import desk as desks
    from sow.store import project as projects

    mine = desks.load_some(ship.home, projects.load(ship.home), ship.folder.run["tasks"])
    task_ids = {task["source"]["id"]: task["id"] for task in mine if "source" in task}
    task_ids |= {task["id"]: task["id"] for task in mine}
    for ident in names:
        if ident not in task_ids:
            shown = ", ".join(ship.folder.run["tasks"][:12])
            raise SowError(f"run {ship.folder.id} has no task {ident!r:.40}", f"its tasks are: {shown}")
    return [task_ids[ident] for ident in names]


def _agree(context: Context, ship: Ship, entries: list[Repeated], tasks: list[str], *, yes: bool) -> Agreed:
    """Asks for consent to all commands, because they come from stored state."""
    from sow.domain import check_list
    from sow.engine.final_checks import merged_tasks

    arguments = ["runs", "verify", ship.folder.id, *(word for ident in tasks for word in ("--task", ident)), "--yes"]
    commands = [entry.evidence["command"] for entry in entries]
    chosen = _chosen(ship, tasks)
    merged = [task for task in merged_tasks(ship) if not chosen or task["id"] in chosen]
    commands += [check["command"] for task in merged for check in check_list.of_task(task)]
    again = same_call(context, ship.home, arguments)
    return command_consent.agree(ship.home, context.environment, ship.agreed, commands, yes=yes, again=again)


def _quiet(repeated: Repeated) -> None:
    """Prints nothing, because JSON output comes at the end."""


def _tell(repeated: Repeated) -> None:
    was, verdict = repeated.evidence, repeated.verdict
    if repeated.reason:
        more = f" ({repeated.reason})"
    else:
        more = f" (exit {repeated.exit}, was {was['exit']})" if verdict == "differs" else f" (exit {was['exit']})"
    where = f"task {repeated.task['id']}, iteration {was['iteration']}, {was['kind']}"
    about = f"{where}: {was['command']}{more}"
    out(f"{paint(verdict.ljust(8), COLOURS[verdict])}  {harmless_line(about)}")


def _document(repeated: Repeated) -> dict[str, Any]:
    was = repeated.evidence
    facts = {key: was.get(key) for key in ("kind", "command", "iteration", "tree", "exit", "passed")}
    now = {"exit_now": repeated.exit, "passed_now": repeated.passed, "verdict": repeated.verdict}
    return {"task": repeated.task["id"], **facts, **now, "reason": repeated.reason}
