"""Describes one call of `sow run`, and merges its settings: options of the call, then the plan, then the config."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sow import config as configs
from sow.agents.registry import AgentRegistry
from sow.config import Config
from sow.domain.documents.state import RunSettings
from sow.domain.network import ALL, is_wider
from sow.domain.task import Actor
from sow.engine.launch.loaded_plan import LoadedPlan
from sow.engine.runs.run_context import LocalTurns
from sow.engine.turns.turn import TurnSettings
from sow.errors import SowError
from sow.executors.settings import adapter
from sow.reports.next_steps import HintContext, as_arguments
from sow.store.files.checkout_home import Home
from sow.system.terminal import err

MOST_DIGITS = 4


@dataclass
class RunRequest:
    """The user's call: the plan, the options as they were typed, and the settings that follow from them."""

    home: Home
    config: Config
    environment: Mapping[str, str]
    actor: Actor
    reading: LoadedPlan
    settings: RunSettings
    agents: AgentRegistry
    reviewers: list[str]
    plan_paths: list[str]
    tasks: list[str]
    typed_options: dict[str, str]
    retry_failed: bool
    json: bool
    verbs: Callable[[list[str], Mapping[str, str]], int] | None  # runs the commands of sandboxed workers
    turns: LocalTurns = field(default_factory=LocalTurns)  # takes the turns of workers
    given_up: Sequence[str] = ()  # hosts whose turns count as lost

    @property
    def yes(self) -> bool:
        return "yes" in self.typed_options

    @property
    def is_isolated(self) -> bool:
        return self.settings["isolation"] != "none"

    def includes(self, *names: str) -> bool:
        """Returns whether the run includes a task with these ids; without --task it includes all."""
        return not self.tasks or not set(self.tasks).isdisjoint(names)

    def command(self, **changes: str | None) -> str:
        """Returns the same call with changed options, as a command to paste; None removes an option."""
        words = ["run", *self.plan_paths, *(word for task in self.tasks for word in ("--task", task))]
        options = {name: value for name, value in {**self.typed_options, **changes}.items() if value is not None}
        return pasteable_command(self.home, self.environment, self.reading.cwd, [*words, *as_arguments(options)])


def pasteable_command(home: Home, environment: Mapping[str, str], cwd: str, arguments: list[str]) -> str:
    """Returns a call of sow as a command that the user can paste in the current folder."""
    return shlex.join([*HintContext(environment, cwd).sow_command(home.root), *arguments])


def settings_of(config: Config, plan: Any, call: Mapping[str, str]) -> RunSettings:
    """Returns the settings of a run; `call` maps option names to values, empty if not given."""
    control = plan.quality_control
    reviews = _boolean(control.get("enabled"), default=bool(config.setting("review", "enabled")))
    settings: RunSettings = {
        "max_concurrency": _concurrency(call, plan.max_concurrency or config.setting("run", "max_concurrency")),
        "schedule": call["schedule"] or config.setting("run", "schedule"),
        "isolation": call["isolation"] or config.setting("run", "isolation"),
        "review": call["review"] or ("on" if reviews else "off"),
        "baseline": call["baseline"] or config.setting("run", "baseline"),
        "retries": _number(call, "retries", _count(control.get("retry_on_red"), config.setting("run", "retries"))),
        "max_wait": _time(call, "max_wait") if call["max_wait"] else configs.seconds(config.setting("run", "max_wait")),
        "final_checks": call["final_checks"] or config.setting("run", "final_checks"),
        "history": call["history"] or config.setting("run", "history"),
    }
    if call["agent"]:
        settings["agent"] = call["agent"]
    if call.get("on"):
        settings["on"] = call["on"]
    if call.get("cluster"):
        settings["cluster"] = call["cluster"]
    if plan.network:
        if is_wider(plan.network, config.sandbox_network()):
            raise SowError(
                f"the plan wants network: {plan.network}, which is wider than your sandbox.network "
                f"({config.sandbox_network()})",
                "take it out of the plan, or change your setting: sow config edit",
            )
        settings["network"] = plan.network
    if plan.sandbox:
        config.narrow_sandbox(plan.sandbox)
        settings["sandbox"] = plan.sandbox
    return _with_limits(settings, config, call)


def _concurrency(call: Mapping[str, str], usual: Any) -> int:
    concurrency = _number(call, "max_concurrency", usual)
    if not concurrency:
        raise SowError("--max-concurrency: nothing runs with 0 at once", "write: --max-concurrency 3")
    return concurrency


def _with_limits(settings: RunSettings, config: Config, call: Mapping[str, str]) -> RunSettings:
    """Adds the executor, the timeout and the cost limit of the call."""
    if call["executor"]:
        settings["executor"] = config.executor(call["executor"]).name
    if call["timeout"]:
        settings["timeout"] = _time(call, "timeout")
        if not settings["timeout"]:
            raise SowError("--timeout: a turn of no time does nothing", "write: --timeout 45m")
    if call["max_cost"]:
        settings["max_cost"] = _money(call["max_cost"])
    return settings


def typed_options(call: Mapping[str, str], **flags: bool) -> dict[str, str]:
    """Returns the options of a call as they were typed; a flag has an empty value."""
    return {name: value for name, value in call.items() if value} | {name: "" for name, on in flags.items() if on}


def workflow_settings(config: Config, call: Mapping[str, str]) -> RunSettings:
    """Returns the settings of a workflow's run; its agents share one folder, and its plan names the verifiers."""
    settings: RunSettings = {
        "max_concurrency": _concurrency(call, config.setting("run", "max_concurrency")),
        "schedule": "ready",
        "isolation": "none",
        "review": "off",
        "retries": 0,
        "max_wait": configs.seconds(call["max_wait"] or str(config.setting("run", "max_wait"))),
    }
    return _with_limits(settings, config, call)


def check_roles(request: RunRequest) -> None:
    """Checks that every role and every program of the run exists before any state is written."""
    settings = request.settings
    if "agent" in settings:
        request.agents.get(settings["agent"])
    workers = {settings.get("agent") or role for role in request.reading.roles().values()}
    reviewers = set(request.reviewers) if settings["review"] == "on" else set()
    roles = workers | reviewers
    if request.turns.is_remote:
        first = {role: settings.get("executor") or request.config.binding(role)[0] for role in roles}
        for role in sorted(workers):
            request.agents.get(role)
            request.turns.require(request.config.executor(first[role]))
        roles = {role for role in reviewers if not request.turns.offers(request.config.executor(first[role]))}
    check_executors(request.config, request.environment, request.agents, settings, roles)
    network = settings.get("network", ALL)
    turns = TurnSettings(
        request.home,
        request.config,
        request.environment,
        on_event=lambda event: None,
        verbs=request.verbs,
        network_limit=network,
    )
    for role in roles:
        for executor in request.config.executors_of(role, request.environment, settings.get("executor", ""))[0]:
            turns.has_sandbox(role, executor.name, adapter(executor.type))


def check_executors(
    config: Config,
    environment: Mapping[str, str],
    agents: AgentRegistry,
    settings: RunSettings,
    roles: Iterable[str],
) -> None:
    """Checks that every role and every program of a run exists before any state is written."""
    notes: list[str] = []
    for role in sorted(roles):
        is_judge = agents.get(role).is_judge
        chosen, missing = config.executors_of(role, environment, settings.get("executor", ""))
        config.require_program(chosen[0], role, environment)
        notes += missing
        notes += [warning for executor in chosen if not is_judge and (warning := configs.yolo_warning(executor))]
    for note in dict.fromkeys(notes):
        err(f"note: {note} (sow config edit)")


def reviewers_of(config: Config, plan: Any, agents: AgentRegistry) -> tuple[list[str], list[str]]:
    """Returns the reviewers, and a note for each name in the plan that is not a judging role."""

    defaults = [str(name) for name in config.setting("review", "agents")]
    replacements, additions, blocked = _named_reviewers(plan.quality_control)
    unfit = [
        name for name in (*replacements, *additions) if name not in agents.agents or not agents.agents[name].is_judge
    ]
    candidates = [name for name in replacements if name not in unfit] or defaults
    candidates += [name for name in additions if name not in unfit]
    # If the plan blocks all reviewers, the user's own reviewers stay, so that a plan cannot disable reviews.
    chosen = list(dict.fromkeys(name for name in candidates if name not in blocked)) or defaults
    note = f"{', '.join(chosen)} review{'s' if len(chosen) == 1 else ''}"
    return chosen, [
        f"quality_control of the plan names {name!r:.60}, which is no judging role: {note}" for name in unfit
    ]


def _named_reviewers(control: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Returns the reviewers that a plan names as replacements, as additions and as blocked."""
    agents = control.get("agents")
    lists = agents if isinstance(agents, dict) else {"explicit_list": agents if isinstance(agents, list) else []}
    replacements, additions, blocked = (
        [str(name).strip() for name in lists.get(key) or []] for key in ("explicit_list", "additional", "blocked")
    )
    single = control.get("review_agent")
    return replacements or ([str(single).strip()] if single else []), additions, blocked


def _boolean(value: object, *, default: bool) -> bool:
    word = str(value).lower()
    return word == "true" if word in ("true", "false") else default


def _count(value: object, default: int) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else default


def _number(call: Mapping[str, str], name: str, default: int) -> int:
    text = call[name]
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        flag = "--" + name.replace("_", "-")
        raise SowError(f"{flag}: {text!r:.40} is not a whole number", f"write: {flag} 3")
    return int(text)


def _time(call: Mapping[str, str], name: str) -> float:
    try:
        return configs.seconds(call[name])
    except SowError as problem:
        raise SowError(f"--{name.replace('_', '-')}: {problem.message}", problem.hint) from None


def _money(text: str) -> float:
    try:
        value = float(text.removeprefix("$"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise SowError(f"--max-cost: {text!r:.40} is not an amount", "write: --max-cost 2.50")
    return value
