"""Prints and lists the packaged prompts, which workers load themselves (`sow prompt`)."""

from __future__ import annotations

from sow.agents import briefing
from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit, print_list
from sow.domain import inputs
from sow.errors import SowError
from sow.system.terminal import out


def prompt(context: Context, *, name: str, list: bool, json: bool) -> int:
    if list:
        return _list(name, json=json)
    if not name:
        raise SowError(
            "sow prompt: NAME is missing", "name one, such as guidance/implementer/base; list them: sow prompt --list"
        )
    text = _fill_in(context, briefing.load_template(name))
    if json:
        return emit({"name": name, "title": briefing.title(text), "text": text})
    out(text.rstrip("\n"))
    return 0


def _fill_in(context: Context, text: str) -> str:
    """Fills in the task and the path of sow for a worker; a person gets the text as it is."""
    task = context.environment.get("SOW_TASK", "")
    if not task:
        return text
    from sow.engine.turns.allowed_commands import sow_command

    return briefing.render(text, sow=sow_command(), task=task if inputs.is_member(task) else inputs.task_id(task))


def _list(top: str, *, json: bool) -> int:
    """Lists all prompts, or those below a folder."""
    names = [
        name for name in briefing.template_names() if not top or name == top or name.startswith(f"{top.rstrip('/')}/")
    ]
    if not names:
        briefing.load_template(top)
    rows = [(name, briefing.title(briefing.load_template(name))) for name in names]
    document = {"prompts": [{"name": name, "title": title} for name, title in rows]}
    return print_list(document, [("PROMPT", "WHAT IT IS"), *rows], "no prompts", json=json)


COMMANDS = (
    Command(
        "prompt",
        prompt,
        "Print a prompt of a role, or guidance for its worker",
        Argument("name", "The prompt, such as guidance/implementer/base", optional=True, completes="prompts"),
        Option("--list", help="List all prompts, or those below NAME"),
        json=True,
        details="For a worker (SOW_TASK is set), the commands name its task and the full path of sow.",
    ),
)
