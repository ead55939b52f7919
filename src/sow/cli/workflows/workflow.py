"""Creates, designs, verifies, runs and archives workflows (`sow workflow`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.domain import ids
from sow.errors import SowError
from sow.store.workflows import members
from sow.system.terminal import escape_line, out

STATUSES = ("working", "completion_drive_review", "ready_for_verification", "blocked")
EXECUTOR = Option("--executor", "NAME", "One executor for every role", completes="executors")
TIMEOUT = Option("--timeout", "DURATION", "How long one turn may take, such as 45m")


def set_status(context: Context, *, field: str, value: str, agent: str) -> int:
    home, actor = context.project_home(), context.actor()
    if actor.is_worker:
        if agent and agent != actor.task:
            raise SowError(
                f"{actor.task or 'a worker'} may not set the status of {agent}", "set your own: leave --agent out"
            )
        if not ids.is_member(actor.task):
            raise SowError(
                f"a worker on task {actor.task or '?'} is no agent of a workflow",
                f"sow task set --id {actor.task or 'ID'} status needs_review",
            )
        members.set_status(home, actor.task, value, actor=actor)
        out(f"{actor.task}: status is {value}")
        return 0
    if not agent:
        raise SowError("which agent?", "name it: --agent NAME (agents themselves are known by SOW_TASK)")
    if value != "working":
        raise SowError(
            f"a person does not set {agent} to {value}: its agent does",
            f"send a failed agent back: sow workflow set status working --agent {agent}",
        )
    from sow.cli.workflows.show import run_command  # a worker's call goes without it

    context.require_person("send a failed agent back")
    members.set_status(home, agent, value, actor=actor)
    out(escape_line(f"{agent}: status is working; resume it with: {run_command(context, home)}"))
    return 0


COMMANDS = (
    Command(
        "workflow new",
        "workflows.create:new",
        "Begin a workflow: its folder, and the summary of what is wanted",
        Argument("name", "Its name, such as user_management"),
        Option("--summary", "FILE", "A summary that is written already; without: a form to fill in (- for stdin)"),
        json=True,
        details="Fill in orchestration/conversation_summary_NAME.md, then go on with 'sow workflow design'.",
    ),
    Command(
        "workflow design",
        "workflows.design:run_design",
        "Have the Workflow Architect design the crew: with you at the terminal, or by itself",
        Option("--headless", help="The architect works by itself, and its files are checked"),
        Option("--delegate", help="Sub-roles work out instructions, files and checkpoints; of itself from 5 agents"),
        Option("--print", help="Print what the architect is told, for an agent CLI of your choice; start nothing"),
        EXECUTOR,
        TIMEOUT,
        Option("--yes", help="Design again although there is a plan that was approved"),
        details="What the architect writes is checked; findings go back to it, up to three times. Agent types that do\n"
        "not exist are listed with their specification: 'sow agent new --from-workflow' writes them.",
    ),
    Command(
        "workflow verify",
        "workflows.verify:verify",
        "Check the design: everything that code can check, then the Design Verifier; on a terminal you may approve it",
        Option("--no-agent", help="Only what code can check; this passes no design"),
        EXECUTOR,
        TIMEOUT,
        Option("--yes", help="Approve the design if it passes"),
        json=True,
        details="The report is orchestration/verification_report.md. Exit 0: it passed; 1: the Design Verifier found\n"
        "gaps; 2: the plan or instructions have errors; 4: it waits for a limit.",
    ),
    Command("workflow approve", "workflows.verify:approve", "Approve the design that was verified, as it stands now"),
    Command(
        "workflow run",
        "workflows.run:run",
        "Run the workflow: each agent when its dependencies are verified, with notes, verification and escalation",
        Option("--max-concurrency", "N", "How many agents at once; the plan's groups say which may"),
        EXECUTOR,
        TIMEOUT,
        Option("--max-cost", "USD", "Start nothing new above this cost"),
        Option("--max-wait", "DURATION", "How long to wait for a limit to end"),
        Option("--yes", help="Approve the design as it stands, and changes of it during this run"),
        json=True,
        details="Stopped or killed at any point, the same command goes on. Exit 0: the workflow is complete; 1: an\n"
        "agent failed; 4: a question waits for you ('sow inbox').",
    ),
    Command("workflow status", "workflows.show:status", "Show where every agent of the workflow stands", json=True),
    Command(
        "workflow set",
        set_status,
        "Set your own status; a person may send a failed agent back to working",
        Argument("field", "What to set", choices=("status",)),
        Argument("value", "The new status", choices=STATUSES),
        Option("--agent", "NAME", "The agent (default: SOW_TASK)", completes="members"),
        details="ready_for_verification is refused while a note is open or escalated; blocked needs an escalated note.",
        forwarded=True,
    ),
    Command(
        "workflow archive",
        "workflows.create:archive",
        "Put the whole workflow away, into orchestration/archive/NAME",
        Argument("name", "The workflow's name, to be sure; without: the one that is here", optional=True),
        Option("--yes", help="Also one that has not ended"),
        details="Nothing there is ever written over: a second one of the same name gets -2.",
    ),
    Command(
        "workflow list",
        "workflows.show:list_workflows",
        "List the workflow that is here and those in the archive",
        json=True,
    ),
)
