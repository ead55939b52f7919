"""Shows, checks, simulates, imports and updates plan files (`sow plan`)."""

from __future__ import annotations

from sow.cli.command import ISSUE_OPTIONS, LIST_OPTIONS, PLAN, PLAN_OR_ISSUES, Argument, Command, Option

COMMANDS = (
    Command(
        "plan new",
        "plans.new_plan:new_plan",
        "Have the planner write a plan for a goal or an issue",
        Argument("goal", "What you want (TEXT, @FILE or -)", optional=True),
        Option("--from", "FILE", "Read the goal from this file", completes="files"),
        Option("--issue", "N", "Plan this issue of GitHub or GitLab"),
        Option("--output", "FILE", "Write the plan to this new file (default: plans/NAME.md)", completes="files"),
        Option("--executor", "NAME", "Use this executor for the planner", completes="executors"),
        Option("--timeout", "DURATION", "The time limit of one turn, such as 45m"),
        Option("--headless", help="Ask nothing; print the path of the plan and the next command"),
        json=True,
        details="The planner only reads: its checkout is removed afterwards. A plan with mistakes goes back to it\n"
        "up to three times. If the planner asks, answer with 'sow answer' and run the same command again.\n"
        "Exit codes: 0 the plan is valid, 1 it is not, 4 a question or an approval waits for you, 130 interrupted.",
    ),
    Command(
        "plan show",
        "plans.show:show",
        "Show the tasks, waves and critical path of a plan",
        PLAN,
        *LIST_OPTIONS,
        Option("--graph", "FORMAT", "Print the graph of the tasks", choices=("mermaid", "dot")),
        json=True,
    ),
    Command(
        "plan validate",
        "plans.show:validate",
        "Check a plan, and list all its mistakes",
        PLAN,
        *LIST_OPTIONS,
        json=True,
    ),
    Command(
        "plan waves",
        "plans.show:waves",
        "Show which tasks of a plan can run at the same time",
        PLAN,
        *LIST_OPTIONS,
        json=True,
    ),
    Command(
        "plan simulate",
        "plans.simulate:simulate",
        "Estimate how long a plan takes with N tasks at once",
        PLAN,
        *LIST_OPTIONS,
        Option("--max-concurrency", "N", "Draw the timeline for N tasks at once (default: the plan's, or 3)"),
        Option(
            "--schedule",
            "HOW",
            "Start each task when it is ready, or wave by wave",
            choices=("ready", "waves"),
            default="ready",
        ),
        json=True,
    ),
    Command(
        "plan import",
        "plans.import_plan:import_plan",
        "Import the tasks of a plan, or changes of them",
        PLAN_OR_ISSUES,
        *LIST_OPTIONS,
        *ISSUE_OPTIONS,
        Option(
            "--phase",
            "PHASE",
            "The phase of the tasks (default: the active one)",
            completes="phases",
        ),
        Option("--yes", help="Apply changes to existing tasks without asking"),
        Option("--dry-run", help="Show the changes without making them"),
        json=True,
        details="Changes to existing tasks need your confirmation. Ended tasks are never changed.\n"
        "If the branch has no project, sow creates one.",
    ),
    Command(
        "plan update",
        "plans.write_back:update",
        "Write the status of each task into the plan file",
        Argument("plan", "A plan file; without it, all imported plans", repeat=True, optional=True, completes="files"),
        Option("--dry-run", help="Show the changes without writing them"),
        json=True,
    ),
)
