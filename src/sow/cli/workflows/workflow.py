"""Creates, designs, verifies, runs and archives workflows (`sow workflow`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option

STATUSES = ("working", "completion_drive_review", "ready_for_verification", "blocked")
EXECUTOR = Option("--executor", "NAME", "One executor for every role", completes="executors")
TIMEOUT = Option("--timeout", "DURATION", "How long one turn may take, such as 45m")

COMMANDS = (
    Command(
        "workflow new",
        "workflows.create:new",
        "Begin a workflow: its folder, and the summary of what is wanted",
        arguments=(Argument("name", "Its name, such as user_management"),),
        options=(
            Option("--summary", "FILE", "A summary that is written already; without: a form to fill in (- for stdin)"),
        ),
        json=True,
        details="Fill in orchestration/conversation_summary_NAME.md, then go on with 'sow workflow design'.",
    ),
    Command(
        "workflow design",
        "workflows.design:run_design",
        "Have the Workflow Architect design the crew: with you at the terminal, or by itself",
        options=(
            Option("--headless", help="The architect works by itself, and its files are checked"),
            Option(
                "--delegate", help="Sub-roles work out instructions, files and checkpoints; of itself from 5 agents"
            ),
            Option("--print", help="Print what the architect is told, for an agent CLI of your choice; start nothing"),
            EXECUTOR,
            TIMEOUT,
            Option("--yes", help="Design again although there is a plan that was approved"),
        ),
        details="What the architect writes is checked; findings go back to it, up to three times. Agent types that do\n"
        "not exist are listed with their specification: 'sow agent new --from-workflow' writes them.",
    ),
    Command(
        "workflow verify",
        "workflows.verify:verify",
        "Check the design: everything that code can check, then the Design Verifier; on a terminal you may approve it",
        options=(
            Option("--no-agent", help="Only what code can check"),
            EXECUTOR,
            TIMEOUT,
            Option("--yes", help="Approve the design if it passes"),
        ),
        json=True,
        details="The report is orchestration/verification_report.md. Exit 0: it passed; 1: the Design Verifier found\n"
        "gaps; 2: the plan or instructions have errors; 4: it waits for a limit.",
    ),
    Command("workflow approve", "workflows.verify:approve", "Approve the design that was verified, as it stands now"),
    Command(
        "workflow run",
        "workflows.run:run",
        "Run the workflow: each agent when its dependencies are verified, with notes, verification and escalation",
        options=(
            Option("--max-concurrency", "N", "How many agents at once; the plan's groups say which may"),
            EXECUTOR,
            TIMEOUT,
            Option("--max-cost", "USD", "Start nothing new above this cost"),
            Option("--max-wait", "DURATION", "How long to wait for a limit to end"),
            Option("--yes", help="Approve the design as it stands, and changes of it during this run"),
        ),
        json=True,
        details="Stopped or killed at any point, the same command goes on. Exit 0: the workflow is complete; 1: an\n"
        "agent failed; 4: a question waits for you ('sow inbox').",
    ),
    Command("workflow status", "workflows.show:status", "Show where every agent of the workflow stands", json=True),
    Command(
        "workflow set",
        "workflows.set_status:set_status",
        "Set the status of your own desk; a person may send a failed agent back to working",
        arguments=(
            Argument("field", "What to set", choices=("status",)),
            Argument("value", "The new status", choices=STATUSES),
        ),
        options=(Option("--agent", "NAME", "Whose desk; without: SOW_TASK", completes="members"),),
        details="ready_for_verification is refused while a note is open or escalated; blocked needs an escalated note.",
    ),
    Command(
        "workflow archive",
        "workflows.create:archive",
        "Put the whole workflow away, into orchestration/archive/NAME",
        arguments=(Argument("name", "The workflow's name, to be sure; without: the one that is here", optional=True),),
        options=(Option("--yes", help="Also one that has not ended"),),
        details="Nothing there is ever written over: a second one of the same name gets -2.",
    ),
    Command(
        "workflow list",
        "workflows.show:list_workflows",
        "List the workflow that is here and those in the archive",
        json=True,
    ),
)
