"""Runs Qwen Code: prompt on stdin, JSON lines in Claude's format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sow.executors.adapter import (
    GIVEN,
    Adapter,
    AgentCommand,
    Capabilities,
    Event,
    PrivateHome,
    Request,
    as_integer,
    as_mapping,
    http_status,
    parse_json_line,
)
from sow.executors.clis.claude import claude_format_events
from sow.store.projects.task_folder import literal

ENVIRONMENT = {"QWEN_CODE_NO_RELAUNCH": "true", "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}
SHELL = "run_shell_command"
WRITERS = ("write_file", "edit", "notebook_edit")
# Names of tools in an agent's `tools`, and Qwen's tools for each.
TOOLS = {
    "Read": ("read_file",),
    "Write": ("write_file",),
    "Edit": ("edit",),
    "MultiEdit": ("edit",),
    "NotebookEdit": ("notebook_edit",),
    "Bash": (SHELL, "monitor"),
    "Grep": ("grep_search",),
    "Glob": ("glob",),
    "LS": ("list_directory",),
    "Task": ("agent", "send_message"),
    "Skill": ("skill",),
    "WebFetch": ("web_fetch",),
    "Worktree": ("enter_worktree", "exit_worktree"),
    "Cron": ("cron_create", "cron_delete", "loop_wakeup"),
}


class Qwen(Adapter):
    type = "qwen"
    interactive_args: tuple[str, ...] | None = ("--prompt-interactive",)
    capabilities = Capabilities(
        binary="qwen",
        install="npm install -g @qwen-code/qwen-code",
        session=GIVEN,
        read_only=True,
        closes=True,
        reports_tokens=True,
        cumulative_tokens=True,
        obeys=(".qwen", ".env"),
        stops_group=True,
        variables=("OPENAI_", "DASHSCOPE_", "BAILIAN_", "QWEN_HOME", "QWEN_RUNTIME_DIR"),
        required_flags=(
            "--session-id", "--resume", "--model", "--yolo", "--approval-mode", "--allowed-tools", "--exclude-tools",
            "--add-dir", "--safe-mode", "--output-format", "stream-json",
        ),
        private_home=PrivateHome(
            ".qwen",
            variable="QWEN_HOME",
            files=(
                "oauth_creds.json", "settings.json", "installation_id", "QWEN.md", ".env", "trustedFolders.json",
                "commands", "agents", "skills",
            ),
            logins=("oauth_creds.json",),
        ),
        model_hosts=("chat.qwen.ai", "portal.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
        url_variables=("OPENAI_BASE_URL",),
    )  # fmt: skip
    not_found = ("No saved session found with ID",)
    in_use = ("already exists (active or archived)",)
    logged_out = ("No auth type is selected",)

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        session = ["--resume" if resumes else "--session-id", request.session]
        arguments = [*session, "--output-format", "stream-json"]
        arguments += ["--model", request.model] if request.model else []
        return AgentCommand([*arguments, *permissions(request), *request.custom_args], environment=ENVIRONMENT)

    def events(self, data: dict[str, Any]) -> list[Event]:
        events = claude_format_events(data)
        if data.get("type") == "result":
            repair_settings(events[-1], data)
        return events

    def log_path(self, request: Request, environment: Mapping[str, str]) -> str:
        """Returns the path of its session log, the only place that reports failed requests in the first minutes."""
        base = environment.get("QWEN_RUNTIME_DIR") or environment.get("QWEN_HOME") or ""
        base = base or f"{environment.get('HOME', '')}/.qwen"
        project = "".join(character if character.isalnum() else "-" for character in request.cwd)
        return f"{base}/projects/{project}/chats/{request.session}.jsonl"

    def read_log(self, line: str) -> list[Event]:
        event = as_mapping(as_mapping((parse_json_line(line) or {}).get("systemPayload")).get("uiEvent"))
        if event.get("event.name") != "qwen-code.api_error":
            return []
        status = as_integer(event.get("status_code")) or 0
        return [Event("retry", str(event.get("error_message") or event.get("error") or ""), status=status)]


def repair_settings(event: Event, data: dict[str, Any]) -> None:
    """Completes the final event with the error's message, and with the status in that message."""
    message = str(as_mapping(data.get("error")).get("message") or "")
    if event.failed and message:
        event.text, event.status = message, http_status(message)


def permissions(request: Request) -> list[str]:
    """Returns the flags for what a worker may do; a tool needs a rule with the CLI's own name for it."""
    granted = {name for tool in request.role.tools for name in TOOLS.get(tool, (tool,))}
    all_names = dict.fromkeys(name for names in TOOLS.values() for name in names)
    hidden = [name for name in all_names if granted and name not in granted]
    if request.role.judges:
        hidden = list(dict.fromkeys([*WRITERS, *hidden]))
    if not request.yolo and not request.role.judges:
        hidden += [f"{tool}(/{pattern})" for pattern in request.write_protected for tool in WRITERS]
    excluded = ["--exclude-tools", *hidden] if hidden else []
    if request.yolo and not request.role.judges:
        return ["--yolo", *excluded]
    commands = request.granted_commands
    allowed = [f"{SHELL}({command} *)" for command in commands]
    if request.role.judges:
        return ["--approval-mode", "default", "--safe-mode", "--allowed-tools", *allowed, *excluded]
    allowed += [
        f"{tool}(/{literal(folder)}/**)" for folder in (request.cwd, *request.writable_outside) for tool in WRITERS
    ]
    folders = (*request.writable_outside, *request.readable_outside, *request.external_readable)
    flags = [argument for folder in folders for argument in ("--add-dir", folder)]
    return ["--approval-mode", "default", *flags, "--allowed-tools", *allowed, *excluded]
