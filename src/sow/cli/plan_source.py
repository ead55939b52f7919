"""The plan that a person named: its files read and checked, its agents known, its times foretold."""

from __future__ import annotations

import os

from sow.agents.built_in import STANDARD_AGENTS
from sow.domain.plan import Plan
from sow.errors import SowError
from sow.plans import reader
from sow.store import plan_files
from sow.system.terminal import err, harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sow.cli.context import Context
    from sow.domain.forecast import Expected, Forecast
    from sow.domain.plan import Finding, Source
    from sow.store.home import Home

BUILT_IN = frozenset(agent.name for agent in STANDARD_AGENTS)
MOST_SHOWN = 200  # findings of one kind; a file with more has one cause


class KnownAgents:
    """The names of all roles; files are looked for only when a name is not one of ours."""

    __slots__ = ("_context", "_names", "_root")

    def __init__(self, context: Context, root: str) -> None:
        self._context = context
        self._root = root
        self._names: frozenset[str] | None = None

    def _all(self) -> frozenset[str]:
        if self._names is None:
            from sow.agents.registry import AgentRegistry

            user_home = self._context.environment.get("HOME", "")
            self._names = frozenset(AgentRegistry(root=self._root, user_home=user_home).names())
        return self._names

    def __contains__(self, name: object) -> bool:
        return name in BUILT_IN or name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))

    def __len__(self) -> int:
        return len(self._all())

    def __bool__(self) -> bool:
        return True


class Reading:
    """A plan with the texts that it came from, and the checkout around us, if there is one."""

    __slots__ = ("agents", "home", "plan", "sources")

    def __init__(self, plan: Plan, sources: list[Source], home: Home | None, agents: KnownAgents) -> None:
        self.plan = plan
        self.sources = sources
        self.home = home
        self.agents = agents

    def expected(self) -> dict[str, Expected]:
        """How long each task will take; what is done or left out takes no time any more."""
        from sow.domain.forecast import Expected
        from sow.domain.intake import agent_of

        forecast = self.forecast()
        return {
            task.id: Expected(0.0, task.status)
            if task.status in ("completed", "skipped")
            else forecast.expected(agent_of(task, self.plan, self.agents), task.estimated_minutes)
            for task in self.plan.tasks
        }

    def forecast(self) -> Forecast:
        """What the past of this checkout tells."""
        from sow.domain.forecast import Forecast
        from sow.store import past

        return Forecast(past.finished(self.home) if self.home is not None else ())


def read(context: Context, paths: list[str]) -> Reading:
    """Read and check a plan; what is wrong with it is among its findings."""
    home, agents = _home(context), known_agents(context)
    sources, findings = plan_files.load(paths, context.cwd)
    return Reading(reader.read(sources, agents=agents, findings=findings), sources, home, agents)


def known_agents(context: Context) -> KnownAgents:
    """The agents that a plan can name here."""
    home = _home(context)
    return KnownAgents(context, home.root if home is not None else "")


def _home(context: Context) -> Home | None:
    """The checkout around us; a plan can be looked at anywhere."""
    try:
        return context.place()
    except SowError:
        if context.root:
            raise
        return None


def sound(context: Context, paths: list[str]) -> Reading | None:
    """A plan without errors, or None. Its warnings are printed on stderr, then its errors, which they may explain."""
    reading = read(context, paths)
    warn(reading.plan)
    _complain_all(reading.plan.errors)
    return None if reading.plan.errors else reading


def warn(plan: Plan) -> None:
    """Print the warnings of a plan on stderr."""
    _complain_all(plan.warnings)


def _complain_all(findings: Sequence[Finding]) -> None:
    for each in findings[:MOST_SHOWN]:
        complain(each)
    if len(findings) > MOST_SHOWN:
        err(f"{_word(findings[0])}: and {len(findings) - MOST_SHOWN} more like these")


def complain(finding: Finding) -> None:
    """Print one finding, with its place and what to do about it."""
    more = f" ({finding.hint})" if finding.hint and not finding.error else ""
    err(f"{_word(finding)}: {harmless_line(finding.place)}: {harmless_line(f'{finding.message}{more}')}")
    if finding.hint and finding.error:
        err(f"hint: {harmless_line(finding.hint)}")


def _word(finding: Finding) -> str:
    return "error" if finding.error else "warning"


def path_of(context: Context, name: str) -> str:
    """Where a file of the plan is."""
    return os.path.join(context.cwd, name)
