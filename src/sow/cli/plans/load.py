"""Reads the plan that the user named, and prints its findings."""

from __future__ import annotations

from collections.abc import Sequence

from sow.cli.context import Context
from sow.domain.plans.plan import Plan, PlanFinding
from sow.engine.launch import loaded_plan
from sow.engine.launch.loaded_plan import AgentNames, LoadedPlan
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.system.terminal import err, escape_line

BAD_PLAN = 2  # exit code
MOST_SHOWN = 200  # findings printed per kind; a file with more usually has one cause


def read(context: Context, paths: list[str]) -> LoadedPlan:
    """Reads and checks a plan; its findings say what is wrong with it."""
    return loaded_plan.read(paths, _home(context), context.environment, context.cwd)


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


def load_valid(context: Context, paths: list[str]) -> LoadedPlan | None:
    """Returns a plan without errors, or None; prints its warnings and then its errors on stderr."""
    reading = read(context, paths)
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
        err(f"{_word(findings[0])}: and {len(findings) - MOST_SHOWN} more like these")


def print_finding(finding: PlanFinding) -> None:
    """Prints one finding with its file, line and hint."""
    more = f" ({finding.hint})" if finding.hint and not finding.error else ""
    err(f"{_word(finding)}: {escape_line(finding.location)}: {escape_line(f'{finding.message}{more}')}")
    if finding.hint and finding.error:
        err(f"hint: {escape_line(finding.hint)}")


def _word(finding: PlanFinding) -> str:
    return "error" if finding.error else "warning"
