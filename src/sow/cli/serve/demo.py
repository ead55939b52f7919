"""Shows a complete run in a scratch repository with simulated agents (`sow demo`)."""

from __future__ import annotations

import os
import shlex
import sys

from sow.cli.context import Context
from sow.cli.serve.demo_page import DemoPage
from sow.cli.serve.demo_repository import DemoRepository, set_up
from sow.engine.turns.allowed_commands import sow_path
from sow.errors import INTERRUPTED, WAITS, SystemFailure
from sow.system.process.exit_code import ending_text
from sow.system.terminal import escape_line, out, paint

ANSWER = "Up: half a cent is the shop's"
MOST_CALLS = 3  # of `sow run`: the next call handles a question that was answered after the previous one ended


def demo(context: Context, *, keep: str, no_ui: bool) -> int:
    context.require_non_worker("show the demo")
    stage = set_up(context, keep)
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    with DemoPage(stage, wanted=not no_ui, terminal=terminal) as page:
        _title("A scratch repository, and a plan of eight tasks")
        out(escape_line(f"created {stage.root}; it stays there"))
        stage.call("plan", "waves", "plan.md")
        _title("The run: three tasks at once, each in its own worktree")
        page.show()
        _print_answer_hint(stage, page)
        page.wait_to_open()
        code = _run(stage, page)
        if not code:
            _title("The checks again, each on the same tree")
            code = stage.call("runs", "verify")
        if code:
            raise SystemFailure(f"the demo {ending_text(code)}", f"see what is in {stage.root}, with 'sow runs show'")
        _where_to_look(stage)
        page.wait_for_enter(sys.stdin.readline)
    return 0


def _print_answer_hint(stage: DemoRepository, page: DemoPage) -> None:
    if page.server:
        out("A worker asks a question. If you open the page, you have two minutes to answer; then the demo answers.")
        out("Without an open page, the demo answers after a few seconds. In a terminal you answer like this:")
    else:
        out("A worker asks a question. The demo answers it as you would, in another terminal:")
    for command in (*_shell_setup(stage), f'sow answer 1 "{ANSWER}"'):
        out(f"  {paint(escape_line(command), 'cyan')}")
    out("")


def _shell_setup(stage: DemoRepository) -> list[str]:
    """Returns the commands after which a shell of the user finds the repository and this `sow`."""
    folder = os.path.dirname(sow_path())
    path = [] if folder in os.get_exec_path() else [f'export PATH={shlex.quote(folder)}:"$PATH"']
    return [f"cd {shlex.quote(stage.root)}", *path]


def _run(stage: DemoRepository, page: DemoPage) -> int:
    def answer() -> None:
        page.answer(ANSWER)

    code = WAITS
    for _ in range(MOST_CALLS):
        code = stage.call("run", "plan.md", meanwhile=answer)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code != WAITS:
            break
        page.wait_for_answer(ANSWER)
    return code


def _title(text: str) -> None:
    out(paint(f"\n# {text}", "bold"))


def _where_to_look(stage: DemoRepository) -> None:
    _title("Where to look")
    for command in _shell_setup(stage):
        out(f"  {paint(escape_line(command), 'cyan')}")
    commands = {
        "git log --graph --oneline": "one commit per task",
        "sow runs show": "the report",
        "sow runs report --format html --out run.html": "the report as a file",
        "sow ui": "the run in the browser",
        "sow task show 040": "a task that the reviewer sent back",
        "sow task show 050": "a task with a question",
        "sow salvage": "the work of every worker",
        "python3 -m unittest": "the tests of all eight tasks",
    }
    for command, explanation in commands.items():
        out(f"  {paint(command.ljust(45), 'cyan')} {explanation}")
    out(escape_line(f"The workers' and the reviewer's scripts are in {os.path.dirname(stage.root)}/scenarios."))
