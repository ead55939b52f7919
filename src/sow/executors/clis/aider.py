"""Runs aider, which has no sessions and no JSON output: its chat history file is the session."""

from __future__ import annotations

import os

from sow.executors.adapter import (
    FILE,
    LIMIT_STATUSES,
    OVERLOAD_STATUSES,
    Adapter,
    AgentCommand,
    Capabilities,
    Event,
    Outcome,
    ProcessEnd,
    Request,
    TurnSummary,
    first_line,
)

# Turns off the commands that a trusted repository's .aider.conf.yml could start; only yolo_mode allows them.
NO_COMMANDS = ("--no-auto-lint", "--no-auto-test", "--load", "/dev/null", "--no-notifications")
ERRORS = {
    "RateLimitError": 429,
    "ServiceUnavailableError": 503,
    "InternalServerError": 500,
    "BadGatewayError": 502,
    "Timeout": 504,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "BadRequestError": 400,
}
RETRY_STATUSES = (*LIMIT_STATUSES, *OVERLOAD_STATUSES)
TERMINAL_COLUMNS = "1000"  # it wraps lines at the terminal's width, or at 80 if there is no terminal
NOISE = (
    "Retrying in ", "Restored previous conversation history", "Update git ", "Aider v", "Model: ", "Main model: ",
    "Weak model: ", "Editor model: ", "Git repo: ", "Repo-map: ",
)  # fmt: skip


class Aider(Adapter):
    type = "aider"
    capabilities = Capabilities(
        binary="aider",
        install="python -m pip install aider-install && aider-install",
        session=FILE,
        structured=False,
        read_only=True,
        reports_cost=True,
        reports_tokens=True,
        runs_commands=False,
        obeys=(".aider.conf.yml", ".aider.model.settings.yml", ".env"),
        leaves=(".aider.tags.cache.v3", ".aider.tags.cache.v4"),  # it has no option to put them elsewhere
        variables=("AIDER_", "OPENAI_", "LITELLM_LOCAL_MODEL_COST_MAP"),
        required_flags=(
            "--message-file", "--chat-history-file", "--input-history-file", "--restore-chat-history",
            "--yes-always", "--no-pretty", "--no-stream", "--no-fancy-input", "--no-gitignore", "--no-dirty-commits",
            "--no-detect-urls", "--chat-mode", "--model", "--load",
        ),
    )  # fmt: skip
    exits_without_result = True

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        arguments = ["--message-file", "/dev/stdin", "--chat-history-file", history(request), "--restore-chat-history"]
        arguments += [
            "--input-history-file",
            f"{request.session_folder}/input",
            "--yes-always",
            "--no-pretty",
            "--no-stream",
        ]
        arguments += ["--no-fancy-input", "--no-gitignore", "--no-check-update", "--no-show-release-notes"]
        arguments += ["--no-show-model-warnings", "--no-detect-urls", "--disable-playwright"]
        arguments += ["--no-suggest-shell-commands"]
        arguments += ["--no-dirty-commits"]  # it must not commit the user's own changes
        arguments += ["--model", request.model] if request.model else []
        arguments += [] if request.yolo and not request.role.reads_only else NO_COMMANDS
        arguments += ["--chat-mode", "ask"] if request.role.reads_only else []
        return AgentCommand([*arguments, *request.custom_args], environment={"COLUMNS": TERMINAL_COLUMNS})

    def lost_session_reason(self, request: Request) -> str:
        return "" if os.path.isfile(history(request)) else "its chat history file is gone"

    def read(self, line: str) -> list[Event]:
        text = line.strip()
        if text.startswith("litellm."):
            status = ERRORS.get(text.removeprefix("litellm.").partition(":")[0], 0)
            return [Event("retry" if status in RETRY_STATUSES else "error", text, status=status)]
        if text.startswith("Tokens: "):
            return [usage(text)]
        if text.startswith("Applied edit to "):
            return [Event("tool", text)]
        return [] if not text or text.startswith(NOISE) else [Event("raw", line)]

    def outcome(self, ending: ProcessEnd, summary: TurnSummary) -> Outcome:
        """Its exit code is always 0, so an error that no answer follows is a failure."""
        if summary.error and not ending.stop_reason:
            return self.failure(ending, summary, first_line(summary.error))
        return super().outcome(ending, summary)


def history(request: Request) -> str:
    """Returns the path of the chat history file, which is the session."""
    return f"{request.session_folder}/{request.session}.md"


def usage(text: str) -> Event:
    """Parses `Tokens: 1.2k sent, 20 received. Cost: $0.0006 message, $0.0006 session.`"""
    tokens, _, cost = text.removeprefix("Tokens: ").partition(" Cost: ")
    counts = {name: count for count, name in (part.strip(" .").partition(" ")[::2] for part in tokens.split(","))}
    sent = [_count(counts[name]) for name in ("sent", "cache write", "cache hit") if name in counts]
    return Event(
        "usage",
        cost=_number(cost.partition(" message")[0]),
        input_tokens=None if None in sent or not sent else sum(count or 0 for count in sent),
        output_tokens=_count(counts.get("received", "")),
    )


def _count(text: str) -> int | None:
    """Parses `950`, `1.2k` or `12k`."""
    number = _number(text.removesuffix("k"))
    return None if number is None else round(number * (1000 if text.endswith("k") else 1))


def _number(text: str) -> float | None:
    digits = text.strip().removeprefix("$")
    return float(digits) if digits.replace(".", "", 1).isdigit() and digits.isascii() else None
