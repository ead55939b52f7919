"""Runs the workflow architect, with the user or alone (`sow workflow design`)."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sow import config as configs
from sow.agents.registry import AgentRegistry
from sow.cli.agents.new import write_required
from sow.cli.agents.turn_output import TurnOutput
from sow.cli.context import Context
from sow.cli.open_cli import InteractiveCli, require_terminal
from sow.cli.workflows.create import form
from sow.cli.workflows.verify import tell_missing
from sow.config import Config
from sow.domain.text.units import counted
from sow.domain.workflows.crew_plan import WorkflowPlan
from sow.domain.workflows.design_checks import MISSING_AGENT
from sow.engine.turns.turn import TurnSettings
from sow.engine.workflows import design, design_check
from sow.engine.workflows.conversation import RoleConversations
from sow.engine.workflows.design_check import Design
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.workflows.folder import WorkflowFolder
from sow.system.process.child_process import run_to_end
from sow.system.terminal import confirm, err, escape_line, is_interactive, out


@dataclass(frozen=True)
class DesignOptions:
    """The user's options for a design."""

    delegate: bool
    executor: str
    timeout: float
    yes: bool


class DesignContext:
    """The checkout, the settings, the roles and the workflow of one design."""

    def __init__(self, context: Context) -> None:
        self.home: Home = context.project_home()
        self.config: Config = context.config()
        self.agents: AgentRegistry = self.config.agents(self.home.root, context.environment)
        workflow = WorkflowFolder(self.home).workflow()
        self.name = workflow["name"]
        self.workflow_id = workflow["id"]

    def prompt(self, options: DesignOptions, *, alone: bool) -> str:
        return design.prompt(self.home, self.agents, name=self.name, delegate=options.delegate, alone=alone)


def run_design(
    context: Context, *, headless: bool, delegate: bool, print: bool, executor: str, timeout: str, yes: bool
) -> int:
    options = DesignOptions(delegate, executor, configs.seconds(timeout) if timeout else 0, yes)
    if print:
        return _show(context, options)
    return _run_alone(context, options) if headless else _run_with_person(context, options)


def _show(context: Context, options: DesignOptions) -> int:
    """Prints the architect's prompt and starts nothing."""
    out(DesignContext(context).prompt(options, alone=False))
    return 0


def _run_alone(context: Context, options: DesignOptions) -> int:
    """Runs the architect alone; a design with errors is sent back to it."""
    context.require_non_worker("design a workflow")
    design_context = DesignContext(context)
    home = design_context.home
    _refuse_running(home, options)
    _warn_empty_summary(design_context)
    settings = TurnSettings(
        home,
        design_context.config,
        context.environment,
        on_event=TurnOutput(quiet=False).show,
        timeout=options.timeout,
        verbs=context.verbs,
    )
    conversations = RoleConversations(
        settings, design_context.agents, design_context.workflow_id, executor=options.executor
    )
    with home.claim("run", purpose="sow workflow design"):
        before = design_check.plan_on_disk(home)
        draft = run_to_end(
            design.design_alone(conversations, name=design_context.name, delegate=options.delegate, tell=_say)
        )
        design_check.update_crew(home, draft, design_context.agents)
    return _done(design_context, draft, before, options.executor)


def _warn_empty_summary(design_context: DesignContext) -> None:
    """Prints a note if the summary is empty, because the architect knows nothing else."""
    path = WorkflowFolder(design_context.home).summary_path(design_context.name)
    if os.path.isfile(path) and design_context.home.read(path).strip() == form(design_context.name).strip():
        err(f"note: {design_context.home.relative(path)} is still the empty form, so the architect knows no goal")


def _say(text: str) -> None:
    err(f"# {escape_line(text)}")


def _run_with_person(context: Context, options: DesignOptions) -> int:
    """Opens the architect's CLI in this terminal and checks the design when it ends."""
    context.require_person("design a workflow at the terminal")
    design_context = DesignContext(context)
    _refuse_running(design_context.home, options)
    require_terminal(
        "the architect",
        "let it work alone: sow workflow design --headless\nor print its prompt: sow workflow design --print",
    )
    opening = _opening(context, design_context, options)
    with design_context.home.claim("run", purpose="sow workflow design"):
        before = design_check.plan_on_disk(design_context.home)
        opening.run(cwd=design_context.home.root, environment=_architect_environment(context, design_context.home))
        draft = _read_design(design_context)
        design_check.write_contracts(design_context.home, draft)
        if not draft.errors:
            design_check.update_crew(design_context.home, draft, design_context.agents)
    return _done(design_context, draft, before, options.executor)


def _architect_environment(context: Context, home: Home) -> dict[str, str]:
    """Returns the environment of the architect's CLI; its calls of sow count as the architect's."""
    name = design.ARCHITECT.replace("-", "_")
    folder = WorkflowFolder(home).agent_folder(name).folder
    marks = {"SOW_TASK": name, "SOW_AGENT": design.ARCHITECT, "SOW_ROOT": home.root, "SOW_DESK": folder}
    return {**context.environment, **marks}


def _opening(context: Context, design_context: DesignContext, options: DesignOptions) -> InteractiveCli:
    """Returns the command that opens the architect's CLI with its prompt."""
    return InteractiveCli(
        design_context.config,
        context.environment,
        role=design.ARCHITECT,
        executor=options.executor,
        call="workflow design --print" + (" --delegate" if options.delegate else ""),
        instead="print the prompt: sow workflow design --print\nor use --executor NAME or --headless",
    )


def _read_design(design_context: DesignContext) -> Design:
    try:
        return design_check.read(design_context.home, design_context.agents.names())
    except FileNotFoundError:
        path = design_context.home.relative(WorkflowFolder(design_context.home).plan_path)
        raise SowError(f"the architect wrote no {path}", "continue with: sow workflow design") from None


def _refuse_running(home: Home, options: DesignOptions) -> None:
    """Refuses to redesign a completed workflow, and an approved one without --yes."""
    workflow = WorkflowFolder(home).workflow()
    if workflow["status"] == "completed":
        raise SowError(f"workflow {workflow['name']} is complete", "archive it: sow workflow archive")
    if "approval" in workflow and not options.yes:
        raise SowError(f"the design of {workflow['name']} is approved", "to replace it, add --yes")


def _done(design_context: DesignContext, draft: Design, before: WorkflowPlan | None, executor: str) -> int:
    for complaint in draft.complaints:
        if complaint.rule != MISSING_AGENT:
            err(f"{'error' if complaint.error else 'warning'}: {escape_line(design.line(complaint))}")
    tell_missing(draft, design_context.agents)
    write_first = _missing_types(design_context, draft)
    plan = draft.plan
    changed = "the architect changed nothing in" if before and before.digest == plan.digest else "designed"
    agents, verifiers = counted(len(plan.members), "agent"), counted(len(plan.verifiers), "verifier")
    out(f"{changed} {escape_line(design_context.name)}: {agents}, {verifiers}")
    for group in plan.order:
        out(f"  {' + '.join(group)}")
    out(f"Next: {write_first}sow workflow verify" + (f" --executor {executor}" if executor else ""))
    return 2 if design.complaints(design_context.home, draft) else 0


def _missing_types(design_context: DesignContext, draft: Design) -> str:
    """Offers to write the agent types that do not exist; returns the command that writes those that are left."""
    missing = design.missing(draft, design_context.agents.names())
    if missing and is_interactive() and confirm("Write the files of these agent types now?"):
        write_required(design_context.home, missing)
        return ""
    return "sow agent new --from-workflow && " if missing else ""
