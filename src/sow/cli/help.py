"""Prints the first screen, the groups of commands, and the help of each command with its examples."""

from __future__ import annotations

import os
import re
import sys
import textwrap

from sow.cli.command import (
    GLOBAL,
    GROUPS,
    SHORT,
    Argument,
    Command,
    Option,
    commands,
    find,
    nearest,
    option_usage,
    usage_line,
)
from sow.cli.context import Context
from sow.domain.text import units
from sow.errors import SowError
from sow.system.terminal import columns, escape_control, escape_line, paint

Row = tuple[str, str]

PARAGRAPH_END = re.compile(r'(?<=[.:")])\n')  # other line ends are only those of the source

EXAMPLES = os.path.join(os.path.dirname(__file__), "examples.txt")
USUAL_CONFIG = "~/.config/sow/config.yaml"  # in the help texts, replaced by the user's real path
WIDEST = 100
LONGEST_STEP = 150  # columns of the next step on the first screen
EVERYDAY = {
    'start "GOAL"': "Talk about a goal with an agent, the orchestrator",
    "run PLAN": "Run a plan: agents work, checks and reviews follow",
    "watch": "Follow the active run",
    "status": "Show what is done and what comes next",
    "inbox": "Show what needs your answer",
    "ui": "Show everything in the browser",
}
# Topics of `sow help` with their groups. A group without a text is a single command, which has its own summary.
TOPICS: dict[str, dict[str, str]] = {
    "Everyday": dict.fromkeys(
        ("start", "continue", "run", "watch", "status", "inbox", "answer", "approve", "ui", "demo"), ""
    ),
    "Project": {
        "init": "",
        "project": "Create, show, save and delete the project of a branch",
        "phase": "Add, move and complete phases",
        "task": "Create, list, show and change tasks",
        "note": "Add, resolve and escalate notes",
        "log": "",
        "feedback": "Add and list feedback on tasks",
        "context": "",
        "adr": "Create and list decision records",
        "check": "",
        "cleanup": "",
        "migrate": "",
    },
    "Run": {
        "plan": "Check, show, import and update plan files",
        "runs": "List, show, verify and stop runs",
        "host": "Take turns for others, and list the hosts of a cluster",
        "cluster": "Start, show and clean a cluster",
        "workflow": "Design, verify and run a crew of agents",
        "integrate": "",
        "deliver": "Open a pull request for your branch, and follow it",
        "revert": "",
        "salvage": "List, restore and delete the work that runs kept",
    },
    "Agent": {
        "agent": "Start workers, and manage roles",
        "answers": "List and delete saved answers",
        "consent": "List and delete your consents",
        "sinks": "Install sinks: guides for your agents to read",
        "repos": "Link other repositories for your agents to read",
    },
    "Setup": {
        "doctor": "",
        "config": "Show and change your settings",
        "install": "",
        "uninstall": "",
        "mcp": "",
        "completion": "",
        "validate": "",
        "version": "",
    },
    "Plumbing": {
        "hook": "",
        "prompt": "",
        "turn": "Take turns for other machines; sow starts these",
        "schema": "List, show and compare the schemas of state files",
    },
}
EXIT_CODES = "Exit codes: 0 done, 1 failed, 2 bad input, 3 internal error,\n            4 needs input, 130 interrupted"


def show_help(words: list[str], environment: dict[str, str]) -> int:
    """Prints the help of a command, a group or a topic; without words, the groups."""
    text = _text(words)
    if USUAL_CONFIG in text:
        from sow import config

        text = text.replace(USUAL_CONFIG, config.abbreviated_path(config.path(environment)))
    sys.stdout.write(text)
    return 0


def _text(words: list[str]) -> str:
    topics = {name.lower(): groups for name, groups in TOPICS.items()}
    if not words:
        return _overview()
    if words == ["all"]:
        every = [command for group in GROUPS for command in commands(group)]
        return "Every command of sow\n\n" + _rows([(command.name, command.summary) for command in every])
    if len(words) > 1:
        return command_help(find(words)[0])
    name = words[0]
    if name in GROUPS:
        return group_help(name)
    if name in topics:
        return f"{name.capitalize()} commands\n{_rows(_topic_rows(topics[name]))}\nMore: sow help COMMAND\n"
    raise SowError(f"unknown command: {name}", nearest(name, [*GROUPS, *topics]) or "see all commands: sow help")


def _overview() -> str:
    parts = ["sow: a system of work for AI coding agents\n\nUsage: sow COMMAND [OPTIONS]\n"]
    for topic, groups in TOPICS.items():
        parts.append(f"\n{paint(f'{topic} commands', 'bold')}\n{_rows(_topic_rows(groups), 12)}")
    parts.append(f"\n{paint('Options of every command', 'bold')}\n{_global_rows()}")
    last = "sow help COMMAND, such as sow help task; sow help all"
    return "".join([*parts, f"  -V, --version  Print the version\n\n{EXIT_CODES}\nMore: {last}\n"])


def _topic_rows(groups: dict[str, str]) -> list[Row]:
    return [(group, summary or commands(group)[0].summary) for group, summary in groups.items()]


def group_help(group: str) -> str:
    """Returns the help of a group of commands."""
    table = commands(group)
    own = [command for command in table if command.name == group]
    others = [command for command in table if command.name != group]
    if own and not others:
        return command_help(own[0])
    summary = next(groups[group] for groups in TOPICS.values() if group in groups)
    head = f"{command_help(own[0])}\nMore commands:\n" if own else f"Usage: sow {group} COMMAND\n\n{summary}\n\n"
    first = "" if own else _examples([next(iter(examples(command)), "") for command in others])
    rows = _rows([(command.name, command.summary) for command in others])
    return f"{head}{rows}{first}\nMore: sow help {group} COMMAND\n"


def command_help(command: Command, *, for_docs: bool = False) -> str:
    """Returns the full help of a command; the page of the docs has its details and the common options elsewhere."""
    room = WIDEST if for_docs else _width()
    rows = [(argument.metavar, _note(argument)) for argument in command.arguments]
    rows += [(_with_short(option), _note(option)) for option in command.options]
    parts = [f"Usage: {usage_line(command)}\n\n{command.summary}\n"]
    parts += [f"\n{_rows(rows, room=room)}"] if rows else []
    if command.details and not for_docs:
        paragraphs = PARAGRAPH_END.split(command.details)
        parts.append("\n" + "".join(f"{textwrap.fill(paragraph, room)}\n" for paragraph in paragraphs))
    parts.append(_examples(examples(command)))
    parts += [] if for_docs else [f"\nOptions of every command:\n{_global_rows()}"]
    return "".join(parts)


def examples(command: Command) -> list[str]:
    """Returns the example command lines of a command."""
    two_words = {other.name for other in commands(command.name.split()[0])}
    with open(EXAMPLES, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    matching = []
    for line in lines:
        name = " ".join(line.split()[1:3])
        if (name if name in two_words else line.split()[1]) == command.name:
            matching.append(line)
    return matching


def _examples(lines: list[str]) -> str:
    title = "Example" if len(lines) == 1 else "Examples"
    return f"\n{title}:\n" + "".join(f"  {line}\n" for line in lines if line)


def _global_rows() -> str:
    return _rows([("-h, --help", "Show this help"), *((_with_short(option), option.help) for option in GLOBAL)])


def _with_short(option: Option) -> str:
    short = next((short for short, flag in SHORT.items() if flag == option.flag), "")
    return f"{short}, {option_usage(option)}" if short else option_usage(option)


def _note(entry: Option | Argument) -> str:
    notes = [f"one of: {', '.join(entry.choices)}"] if entry.choices else []
    if isinstance(entry, Option):
        notes += ["may be repeated"] if entry.repeat else []
        notes += [f"default: {entry.default}"] if entry.default else []
    return f"{entry.help} ({'; '.join(notes)})" if notes else entry.help


def _rows(rows: list[Row], least: int = 0, room: int = 0) -> str:
    """Returns rows of two columns; the second one is wrapped."""
    left = max(least, *(len(name) for name, _ in rows))
    indent = " " * (left + 4)
    return "".join(
        textwrap.fill(text, room or _width(), initial_indent=f"  {name:<{left}}  ", subsequent_indent=indent) + "\n"
        for name, text in rows
    )


def _width() -> int:
    return min(columns(), WIDEST)


def first_screen(context: Context) -> int:
    """Prints the next step in this folder, and the everyday commands."""
    text, command = _next_step(context)
    lines = [paint("Next", "bold"), f"  {units.cut(escape_line(text), LONGEST_STEP)}"]
    lines += [f"    {paint(escape_control(line), 'cyan')}" for line in command.split("\n") if line]
    sys.stdout.write("\n".join(lines) + f"\n\n{paint('Everyday commands', 'bold')}\n")
    sys.stdout.write(_rows([(f"sow {words}", summary) for words, summary in EVERYDAY.items()]))
    sys.stdout.write("\nAll commands: sow help\n")
    return 0


def _next_step(context: Context) -> Row:
    """Returns the next step in this folder: a sentence, and a command or several lines of them."""
    from sow.cli.project.status import document
    from sow.store import planning
    from sow.store.files.checkout_home import start_command
    from sow.store.projects import project as projects
    from sow.store.workflows.summary import summary

    try:
        home = context.checkout()
    except SowError as error:
        return f"{error.message}. Go to your repository, or see a run in a new one.", "sow demo"
    try:
        if projects.exists(home):
            step = document(home, context.hints())["next"]
            return step["text"], step["command"]
        asked = planning.items(home)
        if asked:
            return f"answer the planner: {asked[0]['text']}", asked[0]["do"]
        workflow = summary(home)
        if workflow and workflow["name"]:
            return f"workflow {workflow['name']} is {workflow['status']}", workflow["next"]
    except SowError as error:
        return error.message, error.hint
    ways = {
        'sow start "GOAL"': "talk about the goal with an agent, which plans it",
        'sow plan new "GOAL"': "let an agent write a plan, which you read and run",
        "sow run PLAN": "run a plan that you have",
        start_command(home): "make the tasks yourself, without a plan",
    }
    width = max(map(len, ways))
    lines = [f"{way:<{width}}  # {what}" for way, what in ways.items()]
    return "This branch has no project. Choose one way to begin:", "\n".join(lines)
