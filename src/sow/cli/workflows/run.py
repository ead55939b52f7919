"""Runs a workflow's crew with the live view (`sow workflow run`)."""

from __future__ import annotations

import time
from contextlib import suppress

from sow import config as configs
from sow.cli.runs import git_changes
from sow.cli.runs.live import Live
from sow.cli.runs.settings import check_executors, typed_options, workflow_settings
from sow.engine.runs.notify import Notifier, combine_ticks
from sow.engine.workflows import finish, start
from sow.engine.workflows.crew_run import CrewLoop
from sow.store import git_watch
from sow.store.workflows.folder import WorkflowFolder
from sow.system.terminal import err, escape_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.agents.registry import AgentRegistry
    from sow.cli.context import Context
    from sow.config import Config
    from sow.domain.documents.state import RunSettings
    from sow.store.files.checkout_home import Home
    from sow.store.files.locks import Claim

ROLES = ("workflow-architect", "solution-architect", "verifier", "design-verifier")


def run(context: Context, *, yes: bool, json: bool, **call: str) -> int:
    context.require_non_worker("run a workflow")
    home = context.project_home()
    config = configs.load(context.environment)
    settings = workflow_settings(config, call)
    agents = context.agents(home.root, config)
    with home.claim("run", purpose="sow workflow run") as claim:
        for remark in start.recover_workflow(home, context.environment):
            err(f"note: {escape_line(remark)}")
        workflow = WorkflowFolder(home).workflow()
        if workflow["status"] == "completed":
            return _print_complete(workflow["name"], json=json)
        members = {member["agent"] for member in workflow["members"].values()}
        check_executors(context, config, agents, settings, {*ROLES, *(members & agents.agents.keys())})
        asked = typed_options(call, yes=yes)
        code = _execute(context, claim, home, config, agents, settings, asked, yes=yes, json=json)
    if not json:
        from sow.cli.workflows import show

        with suppress(BrokenPipeError):  # a closed pipe does not change the result of the run
            out("")
            show.status(context, json=False)
    return code


def _print_complete(name: str, *, json: bool) -> int:
    if not json:
        out(escape_line(f"workflow {name} is complete; put it away: sow workflow archive"))
    return 0


def _execute(
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
    with git_watch.sealed_repository(home), Live(json=json) as live:
        crew, goes_on = start.open_crew(
            home,
            config,
            context.environment,
            claim=claim,
            agents=agents,
            settings=settings,
            listeners=[live.tell],
            yes=yes,
        )
        run_context = crew.context
        if goes_on:
            live.load_past(run_context.folder.journal())
        with Notifier(run_context, bell=live.ring_bell) as notifier:
            run_context.journal("run_started", **start.start_fields(crew), asked=[*asked], recovered=goes_on)
            loop = CrewLoop(crew, tick=combine_ticks(live.tick, notifier.tick))
            remarks = finish.close(crew, loop.run())
            seconds = round(time.monotonic() - run_context.started_at, 3)
            run = run_context.folder.run
            run_context.journal("run_ended", status=run["status"], exit=run["exit"], seconds=seconds, **loop.counts())
            remarks += notifier.close()
    for note in remarks:
        err(f"note: {escape_line(note)}")
    git_changes.offer_undo(home, yes=yes or json)
    return run["exit"]
