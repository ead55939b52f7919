"""Merges the settings of a run: options of the call, then the plan, then the user's config."""

from __future__ import annotations

from sow import config as configs
from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from sow.agents.registry import AgentRegistry
    from sow.cli.context import Context
    from sow.config import Config
    from sow.domain.documents.state import RunSettings

MOST_DIGITS = 4


def settings_of(config: Config, plan: Any, call: Mapping[str, str]) -> RunSettings:
    """Returns the settings of a run; `call` maps option names to values, empty if not given."""
    control = plan.quality_control
    reviews = _boolean(control.get("enabled"), default=bool(config.setting("review", "enabled")))
    concurrency = _number(call, "max_concurrency", plan.max_concurrency or config.setting("run", "max_concurrency"))
    if not concurrency:
        raise SowError("--max-concurrency: nothing runs with 0 at once", "write: --max-concurrency 3")
    settings: RunSettings = {
        "max_concurrency": concurrency,
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
    return _with_limits(settings, config, call)


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
    concurrency = _number(call, "max_concurrency", config.setting("run", "max_concurrency"))
    if not concurrency:
        raise SowError("--max-concurrency: nothing runs with 0 at once", "write: --max-concurrency 3")
    settings: RunSettings = {
        "max_concurrency": concurrency,
        "schedule": "ready",
        "isolation": "none",
        "review": "off",
        "retries": 0,
        "max_wait": configs.seconds(call["max_wait"] or str(config.setting("run", "max_wait"))),
    }
    return _with_limits(settings, config, call)


def check_executors(
    context: Context, config: Config, agents: AgentRegistry, settings: RunSettings, roles: Iterable[str]
) -> None:
    """Checks that every role and every program of a run exists before any state is written."""
    from sow.executors.executor import find_binary, missing_binary
    from sow.executors.registry import adapter
    from sow.executors.settings import program

    for role in sorted(roles):
        agents.get(role)
        bound = [config.binding(role)[0], *config.fallbacks.get(role, [])]
        for name in [settings["executor"]] if "executor" in settings else bound:
            chosen = config.executor(name)
            binary = program(chosen.type, chosen.settings)
            if not find_binary(binary, context.environment):
                raise missing_binary(name, binary, adapter(chosen.type).capabilities.install)


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
