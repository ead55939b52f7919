"""Lists the commands about runs: `sow run`, `sow runs`, `sow watch`, `sow integrate`, `sow revert`, `sow salvage`."""

from __future__ import annotations

from sow.cli.command import ISSUE_OPTIONS, JSON_EVENTS, LIST_OPTIONS, PLAN_OR_ISSUES, Argument, Command, Option

RUN = Argument("run", "The run's id, its beginning, or last (default: last)", optional=True, completes="runs")

MERGE = Option(
    "--merge",
    "METHOD",
    "Merge the request when all checks passed (without METHOD: merge)",
    choices=("merge", "squash", "rebase"),
    implied="merge",
)
MAX_WATCH = Option("--max-wait", "TIME", "Stop watching after this time, such as 2h")

COMMANDS = (
    Command(
        "run",
        "runs.run:run",
        "Run a plan: agents work, sow checks, reviews and merges",
        PLAN_OR_ISSUES,
        *LIST_OPTIONS,
        *ISSUE_OPTIONS,
        Option("--max-concurrency", "N", "Run at most N tasks at once"),
        Option("--executor", "NAME", "Use this executor for all roles", completes="executors"),
        Option("--agent", "ROLE", "Use this role for all tasks", completes="agents"),
        Option("--task", "ID", "Run only this task", repeat=True, completes="tasks"),
        Option("--retry-failed", help="Run failed tasks again"),
        Option("--schedule", "HOW", "Start each task when it is ready, or wave by wave", choices=("ready", "waves")),
        Option("--isolation", "HOW", "Use a worktree for each task, or one folder", choices=("worktree", "none")),
        Option("--review", "HOW", "Review the work of each task", choices=("on", "off")),
        Option("--baseline", "HOW", "Run the checks on the base commit first", choices=("on", "off")),
        Option("--retries", "N", "How often work is sent back before sow asks you"),
        Option("--timeout", "DURATION", "The time limit of one turn, such as 45m"),
        Option("--max-cost", "USD", "Start no more turns above this cost"),
        Option("--max-wait", "DURATION", "How long to wait for a usage limit to end"),
        Option("--on", "HOSTS", "Take the turns of workers on these hosts over ssh, such as box-a:2,box-b:1"),
        Option(
            "--cluster",
            "ADDRESS",
            "Take the turns of workers on the hosts of a cluster (without ADDRESS: SOW_CLUSTER or cluster.address)",
            implied="configured",
        ),
        Option("--give-up", "HOST", "Count turns that are out on this host as lost; all: on every host", repeat=True),
        Option("--take-over", help="With --cluster: run the project, although a machine that is gone runs it"),
        Option(
            "--accept",
            "WHAT",
            "Accept checks that import code of your checkout",
            choices=("outside-imports",),
        ),
        Option(
            "--final-checks",
            "HOW",
            "Run the checks of all merged tasks on the final tree",
            choices=("on", "off"),
        ),
        Option("--history", "HOW", "Deliver one commit for each task, or every commit", choices=("squash", "full")),
        Option("--update-plan", help="Write the statuses into the plan file"),
        Option(
            "--dry-run",
            help="Show agents, commands, time and cost, and start nothing",
        ),
        Option("--yes", help="Agree to commands, changed tasks and plan warnings"),
        JSON_EVENTS,
        details="The defaults of the options are in your settings: sow config show.\n"
        "Commands of plans, tasks and setup run only with your consent. sow remembers it for this repository\n"
        "and the exact command, not for scripts that it runs. checks.allow in your settings has patterns.\n"
        "If a run is interrupted, run the same command to resume it.\n"
        "Exit codes: 0 all done, 1 something failed, 4 something needs you or waits for a limit, 130 interrupted.",
    ),
    Command("runs list", "runs.live:list_runs", "List the runs of this checkout, oldest first", json=True),
    Command(
        "runs show",
        "runs.live:show_run",
        "Show the result of a run, and the next step",
        RUN,
        Option("--format", "FORMAT", "The format (default: text)", choices=("text", "md", "json")),
        json=True,
    ),
    Command(
        "runs report",
        "runs.live:report_run",
        "Print or write the full report of a run",
        RUN,
        Option("--format", "FORMAT", "The format", choices=("md", "html", "json"), default="md"),
        Option("--out", "FILE", "Write the report to this file, even if it exists"),
    ),
    Command(
        "runs verify",
        "runs.recheck:verify",
        "Run the checks of a run again, on the same trees",
        RUN,
        Option("--task", "ID", "Only the checks of this task", repeat=True, completes="tasks"),
        Option("--yes", help="Agree to the commands, and to the setup of checkouts"),
        json=True,
        details="Evidence of earlier iterations, or with another setup or environment, is not repeated.\n"
        "The commands run in the run's own worktree, and no task changes.\n"
        "Exit codes: 0 all results are the same, 1 a result differs or nothing can be repeated.",
    ),
    Command(
        "runs stop",
        "runs.stop:stop",
        "Stop the active run, as Ctrl-C in its terminal does",
        RUN,
        Option("--wait", "TIME", "How long to wait for its end, such as 90s", default="30s"),
        details="The next 'sow run' continues from there. Without an active run, leftover agents are stopped,\n"
        "also on other hosts. Exit codes: 0 it has stopped, 4 it is still stopping, or a host cannot be reached.",
    ),
    Command(
        "watch",
        "runs.watch:watch",
        "Follow a run or a worker, and see its result",
        Argument(
            "run",
            "A run's id, its beginning, last, or the task of a worker (default: the active run or the last)",
            optional=True,
            completes="runs",
        ),
        JSON_EVENTS,
        details="On a terminal you see the view of 'sow run'. A pipe gets one line per event.\n"
        "Ctrl-C ends the watch, not the run.\n"
        "On a terminal the keys a, y and s answer a question, accept work and stop the run. Each asks first.\n"
        "Exit codes: 0 the run has ended, 1 its folder was removed, 130 Ctrl-C.",
    ),
    Command(
        "revert",
        "runs.integrate:revert",
        "Undo a completed task with a revert commit, and reopen it",
        Argument("task", "The task's id", completes="tasks"),
        Option("--reason", "TEXT", "The reason, which the worker reads", required=True),
        json=True,
        details="The commit goes on your branch, unless your uncommitted changes are in the way.\n"
        "The next 'sow run' works on it again. Exit codes: 0 done, 4 commit or stash your changes first.",
    ),
    Command(
        "integrate",
        "runs.integrate:integrate",
        "Move your branch to the result of a run, if it has not yet",
        RUN,
        Option("--dry-run", help="Show what would happen, and change nothing"),
        Option("--yes", help="Agree to the commands that check the result"),
        json=True,
        details="Use it if a run could not deliver its result. sow merges your new commits and runs the checks.\n"
        "Then it moves your branch, unless your uncommitted changes are in the way.\n"
        "Exit codes: 0 done, 1 a check failed with your commits, 4 you must act or consent first.",
    ),
    Command(
        "deliver",
        "runs.deliver:deliver",
        "Push the branch, and open or update its pull request",
        RUN,
        Option("--base", "BRANCH", "The branch to change (default: the default branch of the repository)"),
        Option("--remote", "NAME", "The remote of the request's repository (default: as before, at first origin)"),
        Option("--title", "TEXT", "The title (default: the name of the plan)"),
        Option("--draft", help="Open it as a draft, as sow does while something waits for you"),
        Option("--watch", help="Follow the request until it is merged or closed, or needs you"),
        MERGE,
        MAX_WATCH,
        json=True,
        details="sow pushes without force, and leaves its state files out of the pushed branch.\n"
        "With --watch, failed checks and comments of people with write access become follow-up tasks.\n"
        "Their result is checked, reviewed and pushed.\n"
        "sow merges only with --merge, and only the commit whose checks all passed.\n"
        "It talks to GitHub with your gh, and to GitLab with your glab.\n"
        "If it is interrupted, run the same command to continue.\n"
        "Exit codes: 0 done, 1 a remote or a forge failed, 4 something needs you, 130 interrupted.",
    ),
    Command(
        "deliver watch",
        "runs.deliver:watch",
        "Follow the pull request that sow deliver opened",
        RUN,
        MERGE,
        MAX_WATCH,
        json=True,
        details="Exit codes: 0 it is merged, 1 a remote or a forge failed, 4 it needs you, 130 interrupted.",
    ),
    Command("salvage", "runs.salvage:list_kept", "List the work that runs kept, newest first", json=True),
    Command(
        "salvage list",
        "runs.salvage:list_kept",
        "Alias of sow salvage",
        json=True,
    ),
    Command(
        "salvage restore",
        "runs.salvage:restore_kept",
        "Create a branch from work that a run kept",
        Argument("what", "The name in the list, or seven digits of the commit"),
        Option("--branch", "NAME", "The branch (default: salvaged/ and the name)"),
    ),
    Command(
        "salvage prune",
        "runs.salvage:prune_kept",
        "Delete old refs and worktrees that your branches contain",
        Option("--older-than", "TIME", "Only work that is older, such as 30d", required=True),
        Option("--unmerged", help="Also delete work that no branch contains"),
        Option("--yes", help="Do not ask for confirmation"),
        json=True,
        details="This deletes worktrees of ended tasks, pins (refs/sow/keep) and branches (sow/task, sow/int).\n"
        "Without --unmerged, their commits stay reachable from your branches and tags.",
    ),
)
