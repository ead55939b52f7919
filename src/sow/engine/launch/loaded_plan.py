"""Reads the plan that the user named, estimates its times and prepares its import."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from sow import config as configs
from sow.agents.registry import STANDARD_AGENTS
from sow.domain.plans.graph import Estimate, Forecast
from sow.domain.plans.plan import Plan, PlanSource, agent_of
from sow.plans import reader
from sow.plans.reader import task_description
from sow.store.files.checkout_home import Home
from sow.store.projects import plan_files, plan_import
from sow.store.projects.past_tasks import finished_tasks
from sow.store.projects.plan_files import ListChoice
from sow.store.projects.plan_import import PlanImport

BUILT_IN = frozenset(agent.name for agent in STANDARD_AGENTS)


class AgentNames:
    """The names of all roles; role files are read only if a name is not built in."""

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._names: frozenset[str] | None = None

    def _all(self) -> frozenset[str]:
        if self._names is None:
            config = configs.load(self._environment)
            self._names = frozenset(config.agents(self._root, self._environment).names())
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
    """A plan with its source files, the folder that their names are relative to, and the checkout if there is one."""

    def __init__(self, plan: Plan, sources: list[PlanSource], cwd: str, home: Home | None, agents: AgentNames) -> None:
        self.plan = plan
        self.sources = sources
        self.cwd = cwd
        self.home = home
        self.agents = agents

    def path_of(self, name: str) -> str:
        """Returns the path of one of its files."""
        return os.path.join(self.cwd, name)

    def roles(self) -> dict[str, str]:
        """Returns the role that works on each task."""
        return {task.id: agent_of(task, self.plan, self.agents) for task in self.plan.tasks}

    def expected(self) -> dict[str, Estimate]:
        """Returns how long each task will take; completed and skipped tasks take no time."""
        forecast, roles = self.forecast(), self.roles()
        return {
            task.id: Estimate(0.0, task.status)
            if task.status in ("completed", "skipped")
            else forecast.expected(roles[task.id], task.estimated_minutes)
            for task in self.plan.tasks
        }

    def forecast(self) -> Forecast:
        """Returns a forecast from the finished tasks of this checkout."""
        return Forecast(finished_tasks(self.home) if self.home is not None else ())

    def expected_cost(self, roles: Mapping[str, str]) -> dict[str, float | int | None]:
        """Returns the expected cost of these tasks, and the number of tasks whose cost is unknown."""
        forecast = self.forecast()
        costs = [cost for cost in map(forecast.cost, roles.values()) if cost is not None]
        return {"cost_usd": round(sum(costs), 4) if costs else None, "cost_unknown": len(roles) - len(costs)}

    def intake(self, home: Home, phase: str = "") -> PlanImport:
        """Returns everything that the import of the plan needs."""
        return PlanImport(
            self.plan,
            paths={source.name: plan_import.state_path(home, self.path_of(source.name)) for source in self.sources},
            digests={source.name: plan_import.digest(source.text) for source in self.sources},
            descriptions={task.id: task_description(self.plan, task) for task in self.plan.tasks},
            agents=self.roles(),
            phase=phase,
        )


def read(
    paths: list[str], home: Home | None, environment: Mapping[str, str], cwd: str, choice: ListChoice | None = None
) -> LoadedPlan:
    """Reads and checks a plan; its findings say what is wrong with it."""
    agents = AgentNames(home.root if home is not None else "", environment)
    sources, findings = plan_files.load(paths, cwd, choice)
    return LoadedPlan(reader.read(sources, agents=agents, findings=findings), sources, cwd, home, agents)
