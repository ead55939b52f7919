"""Shows, checks, simulates, imports and updates plan files (`sow plan`)."""

from __future__ import annotations

from sow.cli.command import LIST_OPTIONS, Argument, Command, Option

PLAN = Argument("plan", "A plan file, a folder of them, or a task list of another tool", repeat=True, completes="files")

COMMANDS = (
    Command(
        "plan show",
        "plans.show:show",
        "Show a plan: waves, tasks, dependencies, estimates, the critical path and what was not understood",
        PLAN,
        *LIST_OPTIONS,
        Option("--graph", "FORMAT", "Print the graph instead", choices=("mermaid", "dot")),
        json=True,
    ),
    Command(
        "plan validate",
        "plans.show:validate",
        "Check a plan and say everything that is wrong with it (exit 0 or 2)",
        PLAN,
        *LIST_OPTIONS,
        json=True,
    ),
    Command(
        "plan waves",
        "plans.show:waves",
        "Show which tasks of a plan can run side by side",
        PLAN,
        *LIST_OPTIONS,
        json=True,
    ),
    Command(
        "plan simulate",
        "plans.simulate:simulate",
        "Show how long a plan takes with so many tasks at once, from its estimates and from history",
        PLAN,
        *LIST_OPTIONS,
        Option("--max-concurrency", "N", "Draw the timeline for N at once; without: the plan's own, or 3"),
        Option(
            "--schedule",
            "HOW",
            "Start a task when its own dependencies are done, or wave by wave",
            choices=("ready", "waves"),
            default="ready",
        ),
        json=True,
    ),
    Command(
        "plan import",
        "plans.import_plan:import_plan",
        "Make the tasks of a plan tasks of the project; again: show what changed, and apply it with your consent",
        PLAN,
        *LIST_OPTIONS,
        Option(
            "--phase",
            "PHASE",
            "Which phase they belong to; without: implementation, or the current one",
            completes="phases",
        ),
        Option("--yes", help="Apply changes to tasks that are here already without asking"),
        Option("--dry-run", help="Show what would happen and do nothing"),
        json=True,
        details="New tasks need no consent. Finished tasks are never touched. Without a project one is made.",
    ),
    Command(
        "plan update",
        "plans.write_back:update",
        "Write the status of each task back into the plan file, and keep every other byte of it",
        Argument("plan", "Which plan; without: all that were imported", repeat=True, optional=True, completes="files"),
        Option("--dry-run", help="Show what would be written and write nothing"),
        json=True,
    ),
)
