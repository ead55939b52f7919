"""Repeats the checks of a run and compares the results (`sow runs verify`)."""

from __future__ import annotations

from typing import Any

from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.progress import Progress
from sow.cli.tasks.show import PLACES
from sow.domain.checks import task_checks
from sow.domain.checks.task_checks import Consent
from sow.domain.text.units import counted
from sow.engine import consent
from sow.engine.checks import final_checks
from sow.engine.checks.check_list import CheckListResult
from sow.engine.checks.setup_plan import commit_reader
from sow.engine.launch.reopened_run import reopened_run
from sow.engine.launch.run_request import pasteable_command
from sow.engine.runs import recheck
from sow.engine.runs.recheck import RepeatedCheck
from sow.engine.runs.run_context import RunContext
from sow.errors import SowError, SystemFailure
from sow.gitwork.integration_branch import Integration
from sow.reports.report_text import task_label
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.runs import run_folder
from sow.system.process.child_process import run_to_end
from sow.system.process.exit_code import exit_text
from sow.system.terminal import escape_line, fold, out, paint

WORDS = {"holds": "same", "differs": "differs", "left out": "skipped"}  # for a verdict
COLOURS = {"holds": "green", "differs": "red", "left out": "dim"}


def verify(context: Context, *, run: str, task: list[str], yes: bool, json: bool) -> int:
    context.require_non_worker("repeat the checks of a run")
    folder = run_folder.find(context.project_home(), run)
    with reopened_run(folder, context.environment, "sow runs verify", context.verbs) as (run_context, integration):
        entries = recheck.evidence_to_repeat(run_context, integration, _selected_task_ids(run_context, task))
        if not entries:
            raise SystemFailure(
                f"run {folder.id} has no evidence to repeat", "only completed tasks with checks have evidence"
            )
        repeatable = [entry for entry in entries if not entry.reason]
        run_context.agreed = _ask_consent(context, run_context, integration, repeatable, task, yes=yes)
        with Progress("Running the checks again") as progress:

            def tell(repeated: RepeatedCheck) -> None:
                if not json:  # JSON output comes at the end
                    progress.clear()
                    _tell(repeated)

            run_to_end(recheck.repeat(run_context, integration, entries, tell))
            final = run_to_end(final_checks.repeat(run_context, _selected_task_ids(run_context, task)))
        red = final_checks.failed_before(run_context)
    verdicts = [entry.verdict for entry in entries]
    failed = [(owners, evidence) for owners, done in final for evidence in done.evidence if not evidence["passed"]]
    older = sum(entry.reason == recheck.OLDER for entry in entries)
    excused = all(entry.reason in (recheck.OLDER, recheck.RED_BEFORE) for entry in entries)
    proven = recheck.HOLDS in verdicts or (bool(final) and excused)  # else nothing could be repeated
    holds = proven and recheck.DIFFERS not in verdicts and all(evidence["list"] in red for _, evidence in failed)
    if json:
        lists = [_final_document(owners, done, red) for owners, done in final]
        emit({"run": folder.id, "holds": holds, "evidence": [_document(entry) for entry in entries], "final": lists})
    else:
        out(f"run {folder.id}: {_counts(verdicts)}")
        if older:
            were = "1 older result was" if older == 1 else f"{older} older results were"
            out(f"{were} made with another setup or environment and {'is' if older == 1 else 'are'} not repeated")
        for owners, check in failed:
            before = ", as before the run" if check["list"] in red else ""
            line = f"final tree, task {', '.join(owners)}: {check['command']} ({exit_text(check['exit'])}){before}"
            _say("fails", "yellow" if before else "red", line)
        count = sum(len(owners) for owners, done in final if done.passed)
        if count:
            many = count > 1
            out(f"final tree: the check list{'s' * many} of {count} task{'s pass' if many else ' passes'}")
    return 0 if holds else 1


def _counts(verdicts: list[str]) -> str:
    """Compares the results with those of the run: `18 checks have the same result, 1 differs`."""
    same, differs, skipped = (verdicts.count(verdict) for verdict in WORDS)
    parts = [f"{counted(same, 'check')} {'has' if same == 1 else 'have'} the same result"] if same else []
    parts += [f"{counted(differs, 'check')} differ{'s' if differs == 1 else ''}"] if differs else []
    return ", ".join([*parts, *([f"{counted(skipped, 'check')} skipped"] if skipped else [])])


def _selected_task_ids(context: RunContext, names: list[str]) -> list[str]:
    """Returns the project's ids of the named tasks, which may be named by their id in the plan."""
    mine = task_folder.load_readable_or_raise(context.home, projects.load(context.home), context.folder.run["tasks"])
    task_ids = {task["source"]["id"]: task["id"] for task in mine if "source" in task}
    task_ids |= {task["id"]: task["id"] for task in mine}
    for ident in names:
        if ident not in task_ids:
            shown = ", ".join(context.folder.run["tasks"][:12])
            raise SowError(f"run {context.folder.id} has no task {ident!r:.40}", f"its tasks are: {shown}")
    return [task_ids[ident] for ident in names]


def _ask_consent(
    context: Context,
    run_context: RunContext,
    integration: Integration,
    entries: list[RepeatedCheck],
    tasks: list[str],
    *,
    yes: bool,
) -> Consent:
    """Asks for consent to the commands that are repeated, to those for the final tree, and to all setups."""
    words = ["runs", "verify", run_context.folder.id, *(word for task in tasks for word in ("--task", task)), "--yes"]
    commands = [entry.evidence["command"] for entry in entries]
    chosen = _selected_task_ids(run_context, tasks)
    merged = [task for task in final_checks.merged_tasks(run_context) if not chosen or task["id"] in chosen]
    commands += [check["command"] for task in merged for check in task_checks.checks_of(task)]
    trees = dict.fromkeys([*(entry.evidence["tree"] for entry in entries), integration.head])
    commands += run_context.setups.missing_at(commit_reader(run_context.home.root, tree) for tree in trees)
    again = pasteable_command(run_context.home, context.environment, context.cwd, words)
    return consent.ask_consent(
        run_context.home,
        run_context.config,
        context.environment,
        run_context.agreed,
        commands,
        yes=yes,
        again=again,
        settings=run_context.settings,
    )


def _tell(repeated: RepeatedCheck) -> None:
    if repeated.reason == recheck.OLDER:  # these are counted at the end
        return
    was, verdict = repeated.evidence, repeated.verdict
    if repeated.reason:
        more = f" ({repeated.reason})"
    else:
        now = f"{exit_text(repeated.exit)}, was " if verdict == "differs" else ""
        more = f" ({now}{exit_text(was['exit'])})"
    label = task_label({"id": repeated.task["id"], "plan_id": repeated.task.get("source", {}).get("id")})
    about = f"task {label}, {PLACES.get(was['kind'], 'its work')}: {was['command']}{more}"
    _say(WORDS[verdict], COLOURS[verdict], about)


def _say(word: str, colour: str, about: str) -> None:
    """Prints a result and what it is about; on a terminal the text breaks between words, below its beginning."""
    line = fold(f"{word.ljust(8)}  {escape_line(about)}", 10)
    out(f"{paint(word.ljust(8), colour)}{line[8:]}")


def _final_document(owners: list[str], done: CheckListResult, red: set[str]) -> dict[str, Any]:
    failed = [evidence for evidence in done.evidence if not evidence["passed"]]
    facts = {"passed": done.passed, "failed": [evidence["command"] for evidence in failed]}
    return {"tasks": owners, **facts, "failed_before": any(evidence["list"] in red for evidence in failed)}


def _document(repeated: RepeatedCheck) -> dict[str, Any]:
    was = repeated.evidence
    facts = {key: was.get(key) for key in ("kind", "command", "iteration", "tree", "exit", "passed")}
    now = {"exit_now": repeated.exit, "passed_now": repeated.passed, "verdict": repeated.verdict}
    return {"task": repeated.task["id"], **facts, **now, "reason": repeated.reason}
