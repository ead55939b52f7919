"""Completes command lines in bash, zsh and fish (`sow completion`)."""

from __future__ import annotations

from sow.cli.command import GLOBAL, GROUPS, NAMING, Argument, Command, Option, commands
from sow.cli.context import Context
from sow.domain.inputs import is_task_id
from sow.domain.task import TASK
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.system.terminal import out

SCRIPTS = {
    "bash": """# Load it with: eval "$(sow completion bash)"
_sow() {
    local IFS=$'\\n'
    COMPREPLY=($(sow completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _sow sow
""",
    "zsh": """#compdef sow
# Load it with: eval "$(sow completion zsh)"
_sow() {
    local -a words_found
    words_found=("${(@f)$(sow completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${words_found[1]}" ]]; then compadd -- "${words_found[@]}"; else _files; fi
}
compdef _sow sow
""",
    "fish": """# Load it with: sow completion fish | source
function __sow_words
    set -l tokens (commandline --tokenize --cut-at-cursor --current-process)
    sow completion words -- $tokens[2..-1] (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command sow --no-files --condition 'string length -q -- (__sow_words)' --arguments '(__sow_words)'
""",
}


def script(context: Context, *, shell: str, words: list[str]) -> int:
    if shell == "words":
        out("\n".join(candidates(context, words or [""])))
        return 0
    if words:
        raise SowError(f"sow completion {shell} takes no other arguments", f"usage: sow completion {shell}")
    out(SCRIPTS[shell].rstrip("\n"))
    return 0


def candidates(context: Context, typed_words: list[str]) -> list[str]:
    """Returns the completions of the last word."""
    *before, current = typed_words
    before = before[1:] if before[:1] == ["help"] else before
    if not before:
        return [group for group in GROUPS if group.startswith(current)]
    if before[0] not in GROUPS:
        return []
    table = commands(before[0])
    command = next((entry for entry in table if entry.name.split() == before[: len(entry.name.split())]), None)
    if command is None:
        return [
            entry.name.split()[1] for entry in table if len(before) == 1 and entry.name.split()[1].startswith(current)
        ]
    values = _values(context, command, before[len(command.name.split()) :], current)
    return [value for value in values if value.startswith(current)]


def _values(context: Context, command: Command, previous: list[str], current: str) -> list[str]:
    options = {option.flag: option for option in (*command.options, *GLOBAL)}
    last = options.get(previous[-1]) if previous else None
    if last is not None and last.metavar and not last.implied:
        return _completions_of(context, last)
    if current.startswith("-"):
        return [flag for flag, option in options.items() if option.repeat or flag not in previous]
    positional: list[str] = []
    skip = False
    for word in previous:
        if skip:
            skip = False
        elif word in options:
            skip = bool(options[word].metavar and not options[word].implied)
        else:
            positional.append(word)
    position = len(positional)
    if positional and NAMING in options and is_task_id(positional[0]):  # `sow task set 010 status`
        position -= 1
    return _completions_of(context, command.arguments[position]) if position < len(command.arguments) else []


def _completions_of(context: Context, entry: Option | Argument) -> list[str]:
    if entry.choices:
        return list(entry.choices)
    try:
        return _names(context, entry.completes)
    except SowError:  # completion must not print errors
        return []


def _names(context: Context, kind: str) -> list[str]:
    """Returns the names of one kind that exist here."""
    match kind:
        case "statuses":
            return list(TASK.statuses)
        case "fields":
            from sow.domain.task import FIELDS

            return list(FIELDS)
        case "prompts":
            from sow.agents import briefing

            return briefing.template_names()
        case "runs":
            from sow.store.runs import run_folder

            return [*(run.id for run in run_folder.all_folders(context.project_home())), "last"]
        case "members":
            from sow.store.workflows.folder import WorkflowFolder

            return list(WorkflowFolder(context.project_home()).workflow()["members"])
        case "sinks" | "repos":
            from sow.store.knowledge import index

            catalog = index.SINKS if kind == "sinks" else index.REPOS
            return [entry["name"] for entry in catalog.load(context.project_home())]
        case "agents" | "executors" | "settings":
            return _from_config(context, kind)
        case "tasks" | "phases" | "questions":
            return _from_project(context.project_home(), kind)
    return []


def _from_project(home: Home, kind: str) -> list[str]:
    from sow.store.inbox import waiting
    from sow.store.projects import project as projects
    from sow.store.projects import task_folder

    if kind == "questions":
        return [str(item["number"]) for item in waiting(home) if item["number"]]
    project = projects.load(home)
    if kind == "phases":
        return [phase["name"] for phase in project["phases"]]
    return [folder.id for folder in task_folder.all_folders(home, project)]


def _from_config(context: Context, kind: str) -> list[str]:
    from sow.cli.agents.show import roles

    config = context.config()
    if kind == "settings":
        from sow.cli.setup.config_values import Keys

        return Keys(context).candidates()
    return sorted(config.executors) if kind == "executors" else roles(context, config).names()


COMMANDS = (
    Command(
        "completion",
        script,
        "Print the completion script for a shell",
        Argument("shell", "The shell", choices=("bash", "zsh", "fish", "words")),
        Argument("words", "The words typed so far, for the scripts", repeat=True, optional=True),
        details='In bash and zsh: eval "$(sow completion bash)"\nIn fish: sow completion fish | source',
    ),
)
