"""Reads the plan that the user named, and prints its findings."""

from __future__ import annotations

from collections.abc import Sequence

from sow.cli.context import Context
from sow.domain.plans.plan import Plan, PlanFinding
from sow.engine.launch import loaded_plan
from sow.engine.launch.loaded_plan import AgentNames, LoadedPlan
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.projects.plan_files import ListChoice
from sow.system.terminal import err, escape_line, notes

BAD_PLAN = 2  # exit code
MOST_SHOWN = 200  # findings printed per kind; a file with more usually has one cause


def read(context: Context, paths: list[str], **options: object) -> LoadedPlan:
    """Reads and checks a plan, and says which other tool wrote it; its findings say what is wrong with it."""
    feature = context.environment.get("SPECIFY_FEATURE_DIRECTORY", "")
    tag, parallel_stories = str(options.get("tag") or ""), bool(options.get("parallel_stories"))
    choice = ListChoice(tag, parallel_stories=parallel_stories, feature_directory=feature)
    reading = loaded_plan.read(paths, _home(context), context.environment, context.cwd, choice)
    tools = reading.plan.formats.values()
    for given, option, tool in ((tag, "--tag", "Task Master"), (parallel_stories, "--parallel-stories", "spec-kit")):
        if given and reading.plan.tasks and tool not in tools:
            raise SowError(f"{option}: this is no task list of {tool}", f"leave {option} out")
    for tool in dict.fromkeys(tools) if reading.plan.tasks else ():
        files = [file for file, of_tool in reading.plan.formats.items() if of_tool == tool]
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        err(f"note: read as tasks of {tool}: {escape_line(files[0])}{more}")
    return reading


def plan_or_issues(context: Context, command: str, paths: list[str], *, issue: str, label: str) -> list[str]:
    """Returns the given plan files, or the files that it writes for the given issues; says which issues it read."""
    if not (issue or label):
        if not paths:
            raise SowError(f"sow {command}: PLAN is missing", f"name a plan file or an issue: sow {command} --issue 12")
        return paths
    if paths:
        raise SowError("a plan file and issues cannot be given together", f"give {paths[0]!r:.60} in a call of its own")
    from sow.cli.progress import Progress  # few plans come from a forge
    from sow.engine.launch import issue_plans
    from sow.store.layout import create_missing

    home = context.checkout()
    with Progress("Reading issues"):
        issues = issue_plans.read_issues(home.root, context.environment, numbers=issue, label=label)
    if create_missing(home):
        err(escape_line(f"created {home.sow}"))
    written = issue_plans.write_plans(home, issues)
    notes(issue.note for issue in issues)
    return [issue_plans.shown_path(path, context.cwd) for path in written]


def known_agents(context: Context) -> AgentNames:
    """Returns the agents that a plan can name here."""
    home = _home(context)
    return AgentNames(home.root if home is not None else "", context.environment)


def _home(context: Context) -> Home | None:
    """Returns the current checkout, or None; a plan can be shown outside of a repository."""
    try:
        return context.checkout()
    except SowError:
        if context.root:
            raise
        return None


def load_valid(context: Context, paths: list[str], **options: object) -> LoadedPlan | None:
    """Returns a plan without errors, or None; prints its warnings and then its errors on stderr."""
    reading = read(context, paths, **options)
    print_warnings(reading.plan)
    _complain_all(reading.plan.errors)
    return None if reading.plan.errors else reading


def print_warnings(plan: Plan) -> None:
    """Prints the warnings of a plan on stderr."""
    _complain_all(plan.warnings)


def _complain_all(findings: Sequence[PlanFinding]) -> None:
    for finding in findings[:MOST_SHOWN]:
        print_finding(finding)
    if len(findings) > MOST_SHOWN:
        err(f"{_word(findings[0])}: and {len(findings) - MOST_SHOWN} more")


def print_finding(finding: PlanFinding) -> None:
    """Prints one finding with its file, line and hint."""
    more = f" ({finding.hint})" if finding.hint and not finding.error else ""
    err(f"{_word(finding)}: {escape_line(finding.location)}: {escape_line(f'{finding.message}{more}')}")
    if finding.hint and finding.error:
        err(f"hint: {escape_line(finding.hint)}")


def _word(finding: PlanFinding) -> str:
    return "error" if finding.error else "warning"
