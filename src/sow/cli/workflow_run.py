"""Runs a workflow's crew with the live view (`sow workflow run`)."""

from __future__ import annotations

import time
from contextlib import suppress

from sow import config as configs
from sow.cli import git_changes
from sow.cli.agent_run import registry_of
from sow.cli.live import Live
from sow.cli.run_settings import options_asked, workflow_settings
from sow.engine.notifying import Notifier, in_turn
from sow.store import git_watch
from sow.store.workflow import WorkflowFolder
from sow.system.terminal import err, harmless_line, out
from sow.workflows import closing, opening
from sow.workflows.run import CrewLoop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.agents.registry import AgentRegistry
    from sow.cli.context import Context
    from sow.config import Config
    from sow.domain.shapes import RunSettings
    from sow.store.claim import Claim
    from sow.store.home import Home

ROLES = ("workflow-architect", "solution-architect", "verifier", "design-verifier")


def run(context: Context, call: Mapping[str, str], *, yes: bool, json: bool) -> int:
    context.judge("run a workflow")
    home = context.home()
    config = configs.load(context.environment)
    settings = workflow_settings(config, call)
    agents = registry_of(context, home, config)
    with home.claim("run", purpose="sow workflow run") as claim:
        for remark in opening.put_in_order(home, context.environment):
            err(f"note: {harmless_line(remark)}")
        workflow = WorkflowFolder(home).workflow()
        if workflow["status"] == "completed":
            return _say_complete(workflow["name"], json=json)
        _check_crew(context, config, agents, settings, home)
        asked = options_asked(call, yes=yes)
        code = _sail(context, claim, home, config, agents, settings, asked, yes=yes, json=json)
    if not json:
        from sow.cli import workflow_view

        with suppress(BrokenPipeError):  # a closed pipe does not change the result of the run
            out("")
            workflow_view.status(context, json=False)
    return code


def _say_complete(name: str, *, json: bool) -> int:
    if not json:
        out(harmless_line(f"workflow {name} is complete; put it away: sow workflow archive"))
    return 0


def _check_crew(context: Context, config: Config, agents: AgentRegistry, settings: RunSettings, home: Home) -> None:
    """Checks that every program of the run exists before any state is written."""
    from sow.executors.executor import find_binary, missing_binary
    from sow.executors.registry import adapter
    from sow.executors.settings import program

    members = WorkflowFolder(home).workflow()["members"]
    roles = sorted({*ROLES, *(member["agent"] for member in members.values() if member["agent"] in agents.agents)})
    for role in roles:
        bound = [config.binding(role)[0], *config.fallbacks.get(role, [])]
        for name in [settings["executor"]] if "executor" in settings else bound:
            chosen = config.executor(name)
            binary = program(chosen.type, chosen.settings)
            if not find_binary(binary, context.environment):
                raise missing_binary(name, binary, adapter(chosen.type).capabilities.install)


def _sail(
    context: Context,
    claim: Claim,
    home: Home,
    config: Config,
    agents: AgentRegistry,
    settings: RunSettings,
    asked: dict[str, str],
    *,
    yes: bool,
    json: bool,
) -> int:
    """Executes the run, from its first journal entry to its last."""
    with git_watch.guarded(home), Live(json=json) as live:
        deck, goes_on = opening.open_deck(
            home,
            config,
            context.environment,
            claim=claim,
            agents=agents,
            settings=settings,
            listeners=[live.tell],
            yes=yes,
        )
        ship = deck.ship
        if goes_on:
            live.recall(ship.folder.journal())
        with Notifier(ship, bell=live.ring) as notifier:
            ship.tell("run_started", **opening.facts(deck), asked=[*asked], recovered=goes_on)
            loop = CrewLoop(deck, tick=in_turn(live.tick, notifier.tick))
            remarks = closing.close(deck, loop.sail())
            seconds = round(time.monotonic() - ship.begun, 3)
            run = ship.folder.run
            ship.tell("run_ended", status=run["status"], exit=run["exit"], seconds=seconds, **loop.counts())
            remarks += notifier.close()
    for note in remarks:
        err(f"note: {harmless_line(note)}")
    git_changes.settle(home, yes=yes or json)
    return run["exit"]
