"""Lists, shows, verifies and stops runs (`sow runs`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.errors import Waiting
from sow.reports.hint_context import HintContext
from sow.store.runs import run_folder
from sow.system import terminal
from sow.system.terminal import escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.files.checkout_home import Home

RUN = Argument("run", "Its id, the beginning of it, or last; without: the last one", optional=True, completes="runs")


def stop(context: Context, *, run: str, wait: str) -> int:
    from sow import config as configs
    from sow.engine.runs import stop

    context.require_non_worker("stop a run")
    home = context.project_home()
    seconds = configs.seconds(wait)
    is_named = run not in ("", "last")
    if (
        not is_named and not run_folder.listed(home) and _report_leftover_turns(context, home)
    ):  # turns can be left over without any run
        return 0
    chosen = (None if is_named else run_folder.live_run(home)) or run_folder.find(home, run)
    if is_named and not run_folder.is_live(chosen):
        return _end_leftover_turns(context, chosen, f"run {chosen.id} does not run: it is {_status(chosen)}")
    process, ended = stop.stop(home, seconds)
    if process is None:
        return _end_leftover_turns(
            context, chosen, f"nothing runs here; the last run, {chosen.id}, is {_status(chosen)}"
        )
    if not ended:
        raise Waiting(
            f"process {process.pid} was asked to stop and still ends its turns", "look again in a while: sow runs show"
        )
    folder = run_folder.find(home, chosen.id)
    terminal.out(escape_line(f"process {process.pid} has ended; run {folder.id} is {_status(folder)}"))
    _print_continue_command(context, folder)
    return 0


def _end_leftover_turns(context: Context, folder: run_folder.RunFolder, message: str) -> int:
    """Ends turns that dead runs left running, then prints the message."""
    stopped = _report_leftover_turns(context, folder.home)
    terminal.out(message)
    if stopped:
        _print_continue_command(context, folder)
    return 0


def _report_leftover_turns(context: Context, home: Home) -> bool:
    """Ends turns that were left running, prints each, and returns whether there were any."""
    from sow.engine.runs import stop

    messages = stop.end_left_processes(home, context.environment)
    for message in messages:
        terminal.out(escape_line(message))
    return bool(messages)


def _print_continue_command(context: Context, folder: run_folder.RunFolder) -> None:
    """Prints the command that continues a run that has not ended."""
    if folder.run["status"] != "ended":
        from sow.reports import resume_command

        command = resume_command.resume_command(folder, HintContext(context.environment, context.cwd))
        terminal.out(escape_line(f"go on with: {command}"))


def _status(folder: run_folder.RunFolder) -> str:
    from sow.reports import run_report

    return run_report.status_of(folder, live=run_folder.is_live(folder))


COMMANDS = (
    Command("runs list", "runs.show:list_runs", "Show the runs of this checkout, oldest first", json=True),
    Command(
        "runs show",
        "runs.show:show_run",
        "Show what came of a run: its tasks by outcome, time, cost, and what to do next",
        arguments=(RUN,),
        options=(Option("--format", "FORMAT", "In which form; without: text", choices=("text", "md", "json")),),
        json=True,
    ),
    Command(
        "runs report",
        "runs.show:report_run",
        "Print the whole report of a run, or write it into a file",
        arguments=(RUN,),
        options=(
            Option("--format", "FORMAT", "In which form", choices=("md", "html", "json"), default="md"),
            Option("--out", "FILE", "Write it into this file, and replace one that is there"),
        ),
    ),
    Command(
        "runs verify",
        "runs.recheck:verify",
        "Repeat the evidence of accepted results: each command again, on the tree that it was run on",
        arguments=(RUN,),
        options=(
            Option("--task", "ID", "Only of this task", repeat=True, completes="tasks"),
            Option("--yes", help="Agree to the commands that are repeated, and to the setup of their checkouts"),
        ),
        json=True,
        details="Evidence of earlier iterations, and of another setup or environment than today's, is not repeated.\n"
        "Exit 0 when all of it holds, 1 when an exit code is another one now, or nothing can be repeated.\n"
        "Nothing of yours is touched: the commands run in the run's own worktree, and no task changes.",
    ),
    Command(
        "runs stop",
        stop,
        "Ask the run that goes on to stop, as Ctrl-C in its terminal does",
        arguments=(RUN,),
        options=(Option("--wait", "TIME", "How long to wait for its end, such as 90s", default="30s"),),
        details="Its workers end their turns or are ended; the next 'sow run' goes on from there.\n"
        "Where no run goes on, agents and checks that a killed one left running are ended.\n"
        "Exit 0 when it has stopped, 4 when it still ends its turns.",
    ),
)
