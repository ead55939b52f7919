"""Runs a workflow's crew with the live view (`sow workflow run`)."""

from __future__ import annotations

from contextlib import suppress

from sow.agents.registry import AgentRegistry
from sow.cli.context import Context
from sow.cli.runs.live import Live
from sow.cli.workflows import show
from sow.config import Config
from sow.domain.documents.state import RunSettings
from sow.engine.launch import preflight
from sow.engine.launch.run_request import check_executors, typed_options, workflow_settings
from sow.engine.runs.loop import execute
from sow.engine.runs.run_context import require_sandbox
from sow.engine.workflows import start
from sow.engine.workflows.crew_run import CrewLoop
from sow.errors import SowError
from sow.store import git_watch
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Claim
from sow.store.workflows.folder import WorkflowFolder
from sow.system.terminal import escape_line, notes, out

ROLES = ("workflow-architect", "solution-architect", "verifier", "design-verifier")


def run(context: Context, *, cluster: str, yes: bool, json: bool, **call: str) -> int:
    context.require_non_worker("run a workflow")
    if cluster:
        raise SowError(
            "the agents of a workflow share one checkout, which stays on this machine",
            "to use other hosts, write the work as a plan: sow run PLAN --cluster",
        )
    home = context.project_home()
    config = context.config()
    settings = workflow_settings(config, call)
    require_sandbox(config, context.environment)
    agents = config.agents(home.root, context.environment)
    with home.claim("run", purpose="sow workflow run") as claim:
        notes(start.recover_workflow(home, context.environment))
        workflow = WorkflowFolder(home).workflow()
        if workflow["status"] == "completed":
            return _print_complete(workflow["name"], json=json)
        members = {member["agent"] for member in workflow["members"].values()}
        check_executors(config, context.environment, agents, settings, {*ROLES, *(members & agents.agents.keys())})
        asked = typed_options(call, yes=yes)
        code = _execute(context, claim, home, config, agents, settings, asked, yes=yes, json=json)
        from sow.cli.tasks.questions import ask_after_run

        # Under the claim: a second terminal may answer a question that waits here, but not continue the run.
        code, is_answered = ask_after_run(context, WorkflowFolder(home).workflow()["members"], code, json=json)
    if is_answered:
        return run(context, cluster="", yes=yes, json=json, **call)
    if not json:
        with suppress(BrokenPipeError):  # a closed pipe does not change the result of the run
            out("")
            show.status(context, json=False)
    return code


def _print_complete(name: str, *, json: bool) -> int:
    if not json:
        out(escape_line(f"workflow {name} is complete; archive it: sow workflow archive"))
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
        crew, is_continued = start.open_crew(
            home,
            config,
            context.environment,
            claim=claim,
            agents=agents,
            settings=settings,
            listeners=[live.tell],
            yes=yes,
            verbs=context.verbs,
        )
        if is_continued:
            live.load_past(crew.folder.journal())
        sandbox = crew.sandbox_text()
        started = {**start.crew_fields(crew), "asked": [*asked], "recovered": is_continued, "sandbox": sandbox}
        remarks = execute(crew, CrewLoop, started=started, tick=live.tick, bell=live.ring_bell)
    notes(remarks)
    preflight.offer_undo(home, yes=yes or json)
    return crew.folder.run["exit"]
