"""Reads and checks the plan that the user named, and estimates its times."""

from __future__ import annotations

import os

from sow.agents.built_in import STANDARD_AGENTS
from sow.domain.plans.plan import Plan
from sow.errors import SowError
from sow.plans import reader
from sow.store.projects import plan_files
from sow.system.terminal import err, escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sow.cli.context import Context
    from sow.domain.plans.plan import PlanFinding, PlanSource
    from sow.domain.runs.forecast import Estimate, Forecast
    from sow.store.files.checkout_home import Home

BAD_PLAN = 2  # exit code
BUILT_IN = frozenset(agent.name for agent in STANDARD_AGENTS)
MOST_SHOWN = 200  # findings printed per kind; a file with more usually has one cause


class AgentNames:
    """The names of all roles; role files are read only if a name is not built in."""

    __slots__ = ("_context", "_names", "_root")

    def __init__(self, context: Context, root: str) -> None:
        self._context = context
        self._root = root
        self._names: frozenset[str] | None = None

    def _all(self) -> frozenset[str]:
        if self._names is None:
            self._names = frozenset(self._context.agents(self._root).names())
        return self._names

    def __contains__(self, name: object) -> bool:
        return name in BUILT_IN or name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))

    def __len__(self) -> int:
        return len(self._all())

    def __bool__(self) -> bool:
        return True


class LoadedPlan:
    """A plan with its source files, and the current checkout if there is one."""

    __slots__ = ("agents", "home", "plan", "sources")

    def __init__(self, plan: Plan, sources: list[PlanSource], home: Home | None, agents: AgentNames) -> None:
        self.plan = plan
        self.sources = sources
        self.home = home
        self.agents = agents

    def expected(self) -> dict[str, Estimate]:
        """Returns how long each task will take; completed and skipped tasks take no time."""
        from sow.domain.plans.plan_import import agent_of
        from sow.domain.runs.forecast import Estimate

        forecast = self.forecast()
        return {
            task.id: Estimate(0.0, task.status)
            if task.status in ("completed", "skipped")
            else forecast.expected(agent_of(task, self.plan, self.agents), task.estimated_minutes)
            for task in self.plan.tasks
        }

    def forecast(self) -> Forecast:
        """Returns a forecast from the finished tasks of this checkout."""
        from sow.domain.runs.forecast import Forecast
        from sow.store.projects import past_tasks

        return Forecast(past_tasks.finished_tasks(self.home) if self.home is not None else ())


def read(context: Context, paths: list[str]) -> LoadedPlan:
    """Reads and checks a plan; its findings say what is wrong with it."""
    home, agents = _home(context), known_agents(context)
    sources, findings = plan_files.load(paths, context.cwd)
    return LoadedPlan(reader.read(sources, agents=agents, findings=findings), sources, home, agents)


def known_agents(context: Context) -> AgentNames:
    """Returns the agents that a plan can name here."""
    home = _home(context)
    return AgentNames(context, home.root if home is not None else "")


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


def path_of(context: Context, name: str) -> str:
    """Returns the path of a plan's file."""
    return os.path.join(context.cwd, name)
