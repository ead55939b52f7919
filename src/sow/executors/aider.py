"""aider: no sessions, no structured output, no commands. A session is a chat history file, and prose tells the rest."""

from __future__ import annotations

import os

from sow.executors.adapter import (
    FILE,
    LIMITED,
    OVERLOADED,
    Adapter,
    Call,
    Capabilities,
    Ending,
    Outcome,
    Request,
    first_line,
)
from sow.executors.story import Event, Story

# What a trusted repository's .aider.conf.yml could switch on, and a worker without yolo_mode may not: commands.
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
BUSY = (*LIMITED, *OVERLOADED)
WIDE = "1000"  # it breaks lines at the terminal's width, or at 80 where there is none
NOISE = (
    "Retrying in ",
    "Restored previous conversation history",
    "Update git ",
    "Aider v",
    "Model: ",
    "Main model: ",
    "Weak model: ",
    "Editor model: ",
    "Git repo: ",
    "Repo-map: ",
)


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
        leaves=(".aider.tags.cache.v3", ".aider.tags.cache.v4"),  # it has no option that puts them elsewhere
        variables=("AIDER_", "OPENAI_", "LITELLM_LOCAL_MODEL_COST_MAP"),
        known_flags=(
            "--message-file",
            "--chat-history-file",
            "--input-history-file",
            "--restore-chat-history",
            "--yes-always",
            "--no-pretty",
            "--no-stream",
            "--no-fancy-input",
            "--no-gitignore",
            "--no-dirty-commits",
            "--no-detect-urls",
            "--chat-mode",
            "--model",
            "--load",
        ),
    )
    exits_without_result = True

    def spawn_command(self, request: Request) -> Call:
        return self._call(request)

    def resume_command(self, request: Request) -> Call:
        return self._call(request)

    def _call(self, request: Request) -> Call:
        words = ["--message-file", "/dev/stdin", "--chat-history-file", history(request), "--restore-chat-history"]
        words += ["--input-history-file", f"{request.folder}/input", "--yes-always", "--no-pretty", "--no-stream"]
        words += ["--no-fancy-input", "--no-gitignore", "--no-check-update", "--no-show-release-notes"]
        words += ["--no-show-model-warnings", "--no-detect-urls", "--disable-playwright", "--no-suggest-shell-commands"]
        words += ["--no-dirty-commits"]  # the user's own changes are not its to commit
        words += ["--model", request.model] if request.model else []
        words += [] if request.yolo and not request.role.reads_only else NO_COMMANDS
        words += ["--chat-mode", "ask"] if request.role.reads_only else []
        return Call([*words, *request.custom_args], environment={"COLUMNS": WIDE})

    def lost(self, request: Request) -> str:
        return "" if os.path.isfile(history(request)) else "its chat history file is gone"

    def read(self, line: str) -> list[Event]:
        words = line.strip()
        if words.startswith("litellm."):
            status = ERRORS.get(words.removeprefix("litellm.").partition(":")[0], 0)
            return [Event("retry" if status in BUSY else "error", words, status=status)]
        if words.startswith("Tokens: "):
            return [usage(words)]
        if words.startswith("Applied edit to "):
            return [Event("tool", words)]
        return [] if not words or words.startswith(NOISE) else [Event("raw", line)]

    def outcome(self, ending: Ending, story: Story) -> Outcome:
        """It ends with exit code 0 whatever happened, so an error that no answer followed is a failure."""
        if story.error and not ending.stopped:
            return self.failure(ending, story, first_line(story.error))
        return super().outcome(ending, story)


def history(request: Request) -> str:
    """The file that is the session."""
    return f"{request.folder}/{request.session}.md"


def usage(words: str) -> Event:
    """`Tokens: 1.2k sent, 20 received. Cost: $0.0006 message, $0.0006 session.`"""
    tokens, _, cost = words.removeprefix("Tokens: ").partition(" Cost: ")
    counts = {name: count for count, name in (each.strip(" .").partition(" ")[::2] for each in tokens.split(","))}
    sent = [_count(counts[name]) for name in ("sent", "cache write", "cache hit") if name in counts]
    return Event(
        "usage",
        cost=_dollars(cost.partition(" message")[0]),
        input_tokens=None if None in sent or not sent else sum(each or 0 for each in sent),
        output_tokens=_count(counts.get("received", "")),
    )


def _count(text: str) -> int | None:
    """`950`, `1.2k`, `12k`."""
    number = _dollars(text.removesuffix("k"))
    return None if number is None else round(number * (1000 if text.endswith("k") else 1))


def _dollars(text: str) -> float | None:
    digits = text.strip().removeprefix("$")
    return float(digits) if digits.replace(".", "", 1).isdigit() and digits.isascii() else None
