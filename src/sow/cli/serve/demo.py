"""Shows a complete run in a scratch repository with simulated agents (`sow demo`)."""

from __future__ import annotations

import os
import sys

from sow.cli.command import Command, Option
from sow.cli.context import Context
from sow.errors import SystemFailure
from sow.system.terminal import escape_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.cli.serve.demo_page import DemoPage
    from sow.cli.serve.demo_stage import DemoRepository

ANSWER = "Up: half a cent is the shop's"
WAITS, INTERRUPTED = 4, 130
MOST_CALLS = 3  # of `sow run`: the next call handles a question that was answered after the previous one ended


def demo(context: Context, *, keep: str, no_ui: bool) -> int:
    from sow.cli.serve.demo_page import DemoPage
    from sow.cli.serve.demo_stage import set_up

    context.require_non_worker("show the demo")
    stage = set_up(context, keep)
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    with DemoPage(stage, wanted=not no_ui, terminal=terminal) as page:
        _title("A scratch repository, and a plan of eight tasks")
        out(escape_line(f"made {stage.root}; it stays there, and nothing else of yours is touched"))
        stage.call("plan", "waves", "plan.md")
        _title("The run: three at once, each in a worktree of its own, checked, reviewed and merged")
        page.show()
        _print_answer_hint(page)
        page.wait_to_open()
        code = _run(stage, page)
        if not code:
            _title("Every piece of evidence, repeated on the very tree that it was shown on")
            code = stage.call("runs", "verify")
        if code:
            raise SystemFailure(
                f"the demo ended with exit code {code}", f"see what is in {stage.root}, with 'sow runs show'"
            )
        _where_to_look(stage)
        page.wait_for_enter(_enter)
    return 0


def _print_answer_hint(page: DemoPage) -> None:
    command = f'sow answer 1 "{ANSWER}"'
    if page.server:
        out(
            "A worker asks something. Where the page is open, you have two minutes to answer there; else the demo does:"
        )
    else:
        out("A worker asks something. While the run goes on, the demo answers, as you would in another terminal:")
    out(f"  {paint(command, 'cyan')}\n")


def _enter() -> None:
    sys.stdin.readline()


def _run(stage: DemoRepository, page: DemoPage) -> int:
    code = WAITS
    for _ in range(MOST_CALLS):
        code = stage.call("run", "plan.md", meanwhile=lambda: _answer_question(page))
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code != WAITS:
            break
        page.wait_for_answer(ANSWER)
    return code


def _answer_question(page: DemoPage) -> None:
    page.answer(ANSWER)


def _title(text: str) -> None:
    out(paint(f"\n# {text}", "bold"))


def _where_to_look(stage: DemoRepository) -> None:
    _title("Where to look")
    out(escape_line(f"cd {stage.root}"))
    commands = {
        "git log --graph --oneline": "what was merged, task by task",
        "sow runs show": "the report; with 'sow runs report --format html' as a file to send to somebody",
        "sow ui": "the page again: board, graph, timeline and replay of the run",
        "sow task show 040": "a task that was sent back: its review, its feedback, its evidence",
        "sow task show 050": "the one that asked",
        "sow salvage": "everything that any worker ever made",
        "python3 -m unittest": "the tests of all eight",
    }
    for command, explanation in commands.items():
        out(f"  {paint(command.ljust(27), 'cyan')} {explanation}")
    out(escape_line(f"The workers' and the reviewer's scripts are in {os.path.dirname(stage.root)}/scenarios."))


COMMANDS = (
    Command(
        "demo",
        demo,
        "Show a run of eight tasks in a scratch repository, with simulated agents",
        options=(
            Option("--keep", "DIR", "Make it in this folder, which is new or empty; without: a temporary one"),
            Option("--no-ui", help="Show no page in the browser"),
        ),
        details="No account, no network, nothing to install: the agents are scripts, and all the rest is real (files,\n"
        "tests, worktrees, reviews, merges). One task is sent back by its reviewer, one asks a question, and two\n"
        "change the same line. It takes half a minute; the repository stays for you to look at. Its page in the\n"
        "browser is there meanwhile: open the address, and answer the question there. On a terminal the page stays\n"
        "until you press Enter.",
    ),
)
