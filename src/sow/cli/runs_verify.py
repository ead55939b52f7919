"""Repeats the checks of a run and compares the results (`sow runs verify`)."""

from __future__ import annotations

from sow.cli import command_consent
from sow.cli.aboard import aboard, same_call
from sow.cli.context import Context
from sow.domain import check_list
from sow.engine import final_checks, verifying
from sow.engine.setup_plan import reader_at
from sow.engine.steps import drive
from sow.errors import Failed, SowError
from sow.store import runs
from sow.system.terminal import harmless_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.agreed import Agreed
    from sow.engine.check_list import ListRun
    from sow.engine.merging import Integration
    from sow.engine.ship import Ship
    from sow.engine.verifying import Repeated

COLOURS = {"holds": "green", "differs": "red", "left out": "dim"}


def verify(context: Context, *, run: str, task: list[str], yes: bool, json: bool) -> int:
    context.judge("repeat the evidence of a run")
    folder = runs.find(context.home(), run)
    with aboard(context, folder, "sow runs verify") as (ship, integration):
        entries = verifying.recorded(ship, integration, _chosen(ship, task))
        if not entries:
            raise Failed(f"run {folder.id} has no evidence to repeat", "only completed tasks with commands have some")
        repeatable = [each for each in entries if not each.reason]
        ship.agreed = _agree(context, ship, integration, repeatable, task, yes=yes)
        drive(verifying.repeat(ship, integration, entries, _quiet if json else _tell))
        final = drive(final_checks.repeat(ship, _chosen(ship, task)))
        red = final_checks.failed_before(ship)
    verdicts = [each.verdict for each in entries]
    failed = [(owners, each) for owners, done in final for each in done.evidence if not each["passed"]]
    older = sum(each.reason == verifying.OLDER for each in entries)
    excused = all(each.reason in (verifying.OLDER, verifying.RED_BEFORE) for each in entries)
    proven = verifying.HOLDS in verdicts or (bool(final) and excused)  # else nothing could be repeated
    holds = proven and verifying.DIFFERS not in verdicts and all(each["list"] in red for _, each in failed)
    if json:
        from sow.cli.output import emit

        lists = [_final_document(owners, done, red) for owners, done in final]
        emit({"run": folder.id, "holds": holds, "evidence": [_document(each) for each in entries], "final": lists})
    else:
        counts = ", ".join(f"{verdict}: {verdicts.count(verdict)}" for verdict in COLOURS if verdict in verdicts)
        out(f"evidence of run {folder.id}: {counts}")
        if older:
            were = "1 older result was" if older == 1 else f"{older} older results were"
            out(f"{were} made with another setup or environment and {'is' if older == 1 else 'are'} not repeated")
        for owners, each in failed:
            before = ", as before the run" if each["list"] in red else ""
            said = f"final tree, task {', '.join(owners)}: {each['command']} (exit {each['exit']}){before}"
            out(f"{paint('fails'.ljust(8), 'yellow' if before else 'red')}  {harmless_line(said)}")
        count = sum(len(owners) for owners, done in final if done.passed)
        if count:
            many = count > 1
            out(f"final tree: the check list{'s' * many} of {count} task{'s pass' if many else ' passes'}")
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


def _agree(
    context: Context, ship: Ship, integration: Integration, entries: list[Repeated], tasks: list[str], *, yes: bool
) -> Agreed:
    """Ask for consent to the commands that are repeated, to those for the final tree, and to the setup of all trees."""
    words = ["runs", "verify", ship.folder.id, *(word for each in tasks for word in ("--task", each)), "--yes"]
    commands = [each.evidence["command"] for each in entries]
    chosen = _chosen(ship, tasks)
    merged = [each for each in final_checks.merged_tasks(ship) if not chosen or each["id"] in chosen]
    commands += [check["command"] for each in merged for check in check_list.of_task(each)]
    trees = dict.fromkeys([*(each.evidence["tree"] for each in entries), integration.head])
    commands += ship.setups.missing_at(reader_at(ship.home.root, each) for each in trees)
    again = same_call(context, ship.home, words)
    return command_consent.agree(ship.home, context.environment, ship.agreed, commands, yes=yes, again=again)


def _quiet(repeated: Repeated) -> None:
    """Prints nothing, because JSON output comes at the end."""


def _tell(repeated: Repeated) -> None:
    if repeated.reason == verifying.OLDER:  # these are counted at the end
        return
    was, verdict = repeated.evidence, repeated.verdict
    if repeated.reason:
        more = f" ({repeated.reason})"
    else:
        more = f" (exit {repeated.exit}, was {was['exit']})" if verdict == "differs" else f" (exit {was['exit']})"
    where = f"task {repeated.task['id']}, iteration {was['iteration']}, {was['kind']}"
    about = f"{where}: {was['command']}{more}"
    out(f"{paint(verdict.ljust(8), COLOURS[verdict])}  {harmless_line(about)}")


def _final_document(owners: list[str], done: ListRun, red: set[str]) -> dict[str, Any]:
    failed = [each for each in done.evidence if not each["passed"]]
    facts = {"passed": done.passed, "failed": [each["command"] for each in failed]}
    return {"tasks": owners, **facts, "failed_before": any(each["list"] in red for each in failed)}


def _document(repeated: Repeated) -> dict[str, Any]:
    was = repeated.evidence
    facts = {key: was.get(key) for key in ("kind", "command", "iteration", "tree", "exit", "passed")}
    now = {"exit_now": repeated.exit, "passed_now": repeated.passed, "verdict": repeated.verdict}
    return {"task": repeated.task["id"], **facts, **now, "reason": repeated.reason}
