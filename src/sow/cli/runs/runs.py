"""Lists the commands about runs: `sow run`, `sow runs`, `sow watch`, `sow integrate`, `sow revert`, `sow salvage`."""

from __future__ import annotations

from sow.cli.command import LIST_OPTIONS, Argument, Command, Option

RUN = Argument("run", "Its id, the beginning of it, or last; without: the last one", optional=True, completes="runs")

COMMANDS = (
    Command(
        "run",
        "runs.run:run",
        "Run a plan: each task by the agent of its role, checked, reviewed and merged",
        Argument(
            "plan", "A plan file, a folder of them, or a task list of another tool", repeat=True, completes="files"
        ),
        *LIST_OPTIONS,
        Option("--max-concurrency", "N", "How many tasks at once"),
        Option("--executor", "NAME", "One executor for every role", completes="executors"),
        Option("--agent", "ROLE", "One role for every task"),
        Option("--task", "ID", "Only this task of the plan", repeat=True),
        Option("--retry-failed", help="Try all failed tasks of the plan again"),
        Option("--schedule", "HOW", "Start what is ready, or wave by wave", choices=("ready", "waves")),
        Option("--isolation", "HOW", "A worktree for each task, or one folder", choices=("worktree", "none")),
        Option("--review", "HOW", "Whether finished work is reviewed", choices=("on", "off")),
        Option("--baseline", "HOW", "Whether each check list runs on the base commit first", choices=("on", "off")),
        Option("--retries", "N", "How often work is sent back before it becomes a question"),
        Option("--timeout", "DURATION", "How long one turn may take, such as 45m"),
        Option("--max-cost", "USD", "Start nothing new above this cost"),
        Option("--max-wait", "DURATION", "How long to wait for a limit to end"),
        Option(
            "--accept",
            "WHAT",
            "Accept checks that import your checkout's code (results are YELLOW at best)",
            choices=("outside-imports",),
        ),
        Option(
            "--final-checks",
            "HOW",
            "Whether the checks of all merged tasks run on the final tree",
            choices=("on", "off"),
        ),
        Option("--history", "HOW", "One commit for each task, or every commit", choices=("squash", "full")),
        Option("--update-plan", help="Write the statuses back into the plan file"),
        Option(
            "--dry-run",
            help="Show who would do what, every command, how long it takes and what it costs; start nothing",
        ),
        Option("--yes", help="Agree to all commands, to changed tasks, and to warnings about the plan"),
        json=True,
        details="Commands of the plan, of stored tasks and of setup run only with your consent. It is remembered for\n"
        "this repository and the exact text of a command, also with --yes; checks.allow in your config has patterns.\n"
        "It covers the command, not the scripts that the command runs.\n"
        "Killed at any point, the same command goes on from there. Exit: 0 all done, 1 something failed,\n"
        "4 something waits for a person or a limit, 130 interrupted.",
    ),
    Command("runs list", "runs.show:list_runs", "Show the runs of this checkout, oldest first", json=True),
    Command(
        "runs show",
        "runs.show:show_run",
        "Show what came of a run: its tasks by outcome, time, cost, and what to do next",
        RUN,
        Option("--format", "FORMAT", "In which form; without: text", choices=("text", "md", "json")),
        json=True,
    ),
    Command(
        "runs report",
        "runs.show:report_run",
        "Print the whole report of a run, or write it into a file",
        RUN,
        Option("--format", "FORMAT", "In which form", choices=("md", "html", "json"), default="md"),
        Option("--out", "FILE", "Write it into this file, and replace one that is there"),
    ),
    Command(
        "runs verify",
        "runs.recheck:verify",
        "Repeat the evidence of accepted results: each command again, on the tree that it was run on",
        RUN,
        Option("--task", "ID", "Only of this task", repeat=True, completes="tasks"),
        Option("--yes", help="Agree to the commands that are repeated, and to the setup of their checkouts"),
        json=True,
        details="Evidence of earlier iterations, and of another setup or environment than today's, is not repeated.\n"
        "Exit 0 when all of it holds, 1 when an exit code is another one now, or nothing can be repeated.\n"
        "Nothing of yours is touched: the commands run in the run's own worktree, and no task changes.",
    ),
    Command(
        "runs stop",
        "runs.stop:stop",
        "Ask the run that goes on to stop, as Ctrl-C in its terminal does",
        RUN,
        Option("--wait", "TIME", "How long to wait for its end, such as 90s", default="30s"),
        details="Its workers end their turns or are ended; the next 'sow run' goes on from there.\n"
        "Where no run goes on, agents and checks that a killed one left running are ended.\n"
        "Exit 0 when it has stopped, 4 when it still ends its turns.",
    ),
    Command(
        "watch",
        "runs.watch:watch",
        "Follow a run or a spawned worker in another terminal, and see the result of a run that has ended",
        Argument(
            "run",
            "Its id, the beginning of it, last, or the task of a spawned worker; without: what is in progress, "
            "else the last run",
            optional=True,
            completes="runs",
        ),
        json=True,
        details="On a terminal the picture of 'sow run' itself, elsewhere one line for each event; with --json every\n"
        "entry of the journal, one on each line, from the first to the last. Ctrl-C ends the watch, never the run.\n"
        "On a terminal the keys a, y and s answer a question, accept work and stop the run; each asks first.\n"
        "Exit: 0 when the run has ended, well or not, or does not run any more; 1 when its folder was removed;\n"
        "130 after Ctrl-C.",
    ),
    Command(
        "revert",
        "runs.integrate:revert",
        "Undo the merge of a completed task with a revert commit, and reopen the task",
        Argument("task", "The task's id", completes="tasks"),
        Option("--reason", "TEXT", "Why; the worker reads it", required=True),
        json=True,
        details="The commit goes on your branch, where nothing that you have changed or not committed is in the way.\n"
        "The next 'sow run' works on the task again. After a crash the same command does the rest.\n"
        "Exit: 0 done, 4 something of yours must be done first.",
    ),
    Command(
        "integrate",
        "runs.integrate:integrate",
        "Bring what a run has merged to your branch, where that was not possible at its end",
        RUN,
        Option("--dry-run", help="Say what would happen, and change nothing of yours"),
        Option("--yes", help="Agree to the commands that check the result"),
        json=True,
        details="Your new commits are merged in and checked on the run's own branch; then your checkout moves forward\n"
        "to it, only where nothing that you have changed or not committed is in the way. Exit: 0 done, 1 a check\n"
        "failed with your commits, 4 something of yours must be done first, or commands need your consent.",
    ),
    Command("salvage", "runs.salvage:list_kept", "List everything that runs ever produced, newest first", json=True),
    Command(
        "salvage list",
        "runs.salvage:list_kept",
        "The same as sow salvage: everything that runs ever produced",
        json=True,
    ),
    Command(
        "salvage restore",
        "runs.salvage:restore_kept",
        "Make a branch of something that a run left",
        Argument("what", "Its name in the list, or at least seven digits of its commit"),
        Option("--branch", "NAME", "The branch; without: salvaged/ and the name"),
    ),
    Command(
        "salvage prune",
        "runs.salvage:prune_kept",
        "Delete old refs and worktrees that are already merged into your branches",
        Option("--older-than", "TIME", "Only what is older, such as 30d", required=True),
        Option("--unmerged", help="Also what is contained nowhere else: it is lost then"),
        Option("--yes", help="Do so without a question"),
        json=True,
        details="Worktrees of ended tasks, pins (refs/sow/keep) and branches (sow/task, sow/int): each goes only\n"
        "where its commits stay reachable from a branch or tag of yours. Only this command deletes pins.",
    ),
)
