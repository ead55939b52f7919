"""Stops a run, and ends what a killed run left running (`sow runs stop`)."""

from __future__ import annotations

from sow import config as configs
from sow.cli.context import Context
from sow.engine.runs import stop as stopping
from sow.errors import Waiting
from sow.reports import next_steps, run_report
from sow.store.files.checkout_home import Home
from sow.store.runs import run_folder
from sow.system.terminal import escape_line, out


def stop(context: Context, *, run: str, wait: str) -> int:
    context.require_non_worker("stop a run")
    home = context.project_home()
    seconds = configs.seconds(wait)
    is_named = run not in ("", "last")
    if (
        not is_named and not run_folder.all_folders(home) and _report_leftover_turns(context, home, seconds)
    ):  # turns can be left over without any run
        return 0
    chosen = (None if is_named else run_folder.live_run(home)) or run_folder.find(home, run)
    if is_named and not run_folder.is_live(chosen):
        return _end_leftover_turns(context, chosen, seconds, f"run {chosen.id} is not running: it is {_status(chosen)}")
    process, ended = stopping.stop(home, seconds)
    if process is None:
        return _end_leftover_turns(
            context, chosen, seconds, f"no run is active; the last run, {chosen.id}, is {_status(chosen)}"
        )
    if not ended:
        raise Waiting(f"process {process.pid} is still stopping", "check again later: sow runs show")
    folder = run_folder.find(home, chosen.id)
    out(escape_line(f"process {process.pid} has stopped; run {folder.id} is {_status(folder)}"))
    _print_continue_command(context, folder)
    return 0


def _end_leftover_turns(context: Context, folder: run_folder.RunFolder, patience: float, message: str) -> int:
    """Ends turns that dead runs left running, then prints the message."""
    stopped = _report_leftover_turns(context, folder.home, patience)
    out(message)
    if stopped:
        _print_continue_command(context, folder)
    return 0


def _report_leftover_turns(context: Context, home: Home, patience: float) -> bool:
    """Ends turns that were left running here and on other hosts, prints each, and returns whether there were any."""
    elsewhere = stopping.turns_elsewhere(home)
    messages = stopping.end_left_processes(home, context.environment)
    for message in messages:
        out(escape_line(message))
    if elsewhere:
        from sow.cluster.left_turns import stop_turns

        lines, errors = stop_turns(elsewhere, context.config(), context.environment, patience)
        for line in lines:
            out(escape_line(line))
        if errors:
            hints = dict.fromkeys(error.hint for error in errors)
            raise Waiting("; ".join(error.message for error in errors), "\n".join(hints))
    return bool(messages or elsewhere)


def _print_continue_command(context: Context, folder: run_folder.RunFolder) -> None:
    """Prints the command that continues a run that has not ended."""
    if folder.run["status"] != "ended":
        command = next_steps.resume_command(folder, context.hints())
        out(escape_line(f"continue with: {command}"))


def _status(folder: run_folder.RunFolder) -> str:
    return run_report.status_of(folder, live=run_folder.is_live(folder))
