"""Creates, designs, verifies, runs and archives workflows (`sow workflow`)."""

from __future__ import annotations

from sow.cli.command import JSON_EVENTS, Argument, Command, Option
from sow.cli.context import Context
from sow.domain import inputs
from sow.errors import SowError
from sow.store.workflows import members
from sow.system.terminal import escape_line, out

STATUSES = ("working", "completion_drive_review", "ready_for_verification", "blocked")
EXECUTOR = Option("--executor", "NAME", "Use this executor for all roles", completes="executors")
TIMEOUT = Option("--timeout", "DURATION", "The time limit of one turn, such as 45m")


def set_status(context: Context, *, field: str, value: str, agent: str) -> int:
    home, actor = context.project_home(), context.actor()
    if actor.is_worker:
        if agent and agent != actor.task:
            raise SowError(
                f"{actor.task or 'a worker'} may not set the status of {agent}", "remove --agent to set your own status"
            )
        if not inputs.is_member(actor.task):
            raise SowError(
                f"the worker of task {actor.task or '?'} is not an agent of a workflow",
                f"sow task set --id {actor.task or 'ID'} status needs_review",
            )
        members.set_status(home, actor.task, value, actor=actor)
        out(f"{actor.task}: status is {value}")
        return 0
    if not agent:
        raise SowError("no agent is named", "name one: --agent NAME, or set SOW_TASK")
    if value != "working":
        raise SowError(
            f"only the agent {agent} itself can set the status {value}",
            f"send a failed agent back: sow workflow set status working --agent {agent}",
        )
    from sow.cli.workflows.show import run_command  # a worker's call goes without it

    context.require_person("send a failed agent back")
    members.set_status(home, agent, value, actor=actor)
    out(escape_line(f"{agent}: status is working; resume it: {run_command(context, home)}"))
    return 0


COMMANDS = (
    Command(
        "workflow new",
        "workflows.create:new",
        "Create a workflow with a summary of the goal",
        Argument("name", "The name, such as user_management"),
        Option("--summary", "FILE", "A file with the summary, or -; without it, a form to fill in"),
        json=True,
        details="Fill in orchestration/conversation_summary_NAME.md, then run: sow workflow design",
    ),
    Command(
        "workflow design",
        "workflows.design:run_design",
        "Design the crew, with you or by the architect alone",
        Option("--headless", help="Let the architect work alone"),
        Option("--delegate", help="Use sub-roles for instructions (default from 5 agents)"),
        Option("--print", help="Print the architect's prompt, and start nothing"),
        EXECUTOR,
        TIMEOUT,
        Option("--yes", help="Replace an approved design"),
        details="sow checks the design, and sends findings back to the architect up to three times.\n"
        "Create missing agent types with: sow agent new --from-workflow",
    ),
    Command(
        "workflow verify",
        "workflows.verify:verify",
        "Check the design, first by code and then by a verifier",
        Option("--no-agent", help="Check by code only; the design is not verified by that"),
        EXECUTOR,
        TIMEOUT,
        Option("--yes", help="Approve the design if it passes"),
        json=True,
        details="The report is orchestration/verification_report.md. On a terminal, sow asks for approval.\n"
        "Exit codes: 0 passed, 1 the Design Verifier found gaps, 2 errors in the design, 4 a usage limit.",
    ),
    Command("workflow approve", "workflows.verify:approve", "Approve the verified design"),
    Command(
        "workflow run",
        "workflows.run:run",
        "Run the agents of the workflow, each with a verifier",
        Option("--max-concurrency", "N", "The most agents at once"),
        EXECUTOR,
        TIMEOUT,
        Option("--max-cost", "USD", "Start no more turns above this cost"),
        Option("--max-wait", "DURATION", "How long to wait for a usage limit to end"),
        Option("--cluster", "ADDRESS", "Refused: the agents of a workflow share one checkout", implied="configured"),
        Option("--yes", help="Approve the design, and changes of it during this run"),
        JSON_EVENTS,
        details="If it is interrupted, run the same command to resume it.\n"
        "Exit codes: 0 complete, 1 an agent failed, 4 a question needs you (sow inbox).",
    ),
    Command("workflow status", "workflows.show:status", "Show the status of each agent of the workflow", json=True),
    Command(
        "workflow set",
        set_status,
        "Set your own status, or send a failed agent back",
        Argument("field", "The field", choices=("status",)),
        Argument("value", "The new status", choices=STATUSES),
        Option("--agent", "NAME", "The agent (default: SOW_TASK)", completes="members"),
        details="ready_for_verification is refused while a note is open. blocked needs an escalated note.\n"
        "Only a person can send a failed agent back to working.",
        forwarded=True,
    ),
    Command(
        "workflow archive",
        "workflows.create:archive",
        "Move the workflow to orchestration/archive/NAME",
        Argument("name", "The workflow's name, as a safety check", optional=True),
        Option("--yes", help="Archive it even if it has not ended"),
        details="An existing archive is never overwritten: the next one gets the suffix -2.",
    ),
    Command(
        "workflow list",
        "workflows.show:list_workflows",
        "List the current workflow and archived ones",
        json=True,
    ),
)
