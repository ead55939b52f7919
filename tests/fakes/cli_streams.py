"""Fakes for the agent CLIs of `tests/real` without a download: one turn in the output format of each.

`cli_streams.py NAME ARGUMENTS…` takes the arguments of that CLI and the prompt on stdin. Like the real CLI, it refuses
a session that it did not make.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any

from conversation import Chat, directives, run

USAGE = {"input_tokens": 100, "output_tokens": 20}


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def after(words: list[str], flag: str) -> str:
    """Returns the word after a flag, or its value after a =."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return ""


class Speaker:
    """A CLI that prints JSON lines like Claude Code; subclasses have the differences."""

    shell = "Bash"
    unknown = "No conversation found with session ID: {}"
    new, old = "--session-id", "--resume"

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.resumed = after(words, self.old)
        self.session = self.resumed or after(words, self.new) or self.made_up()

    def made_up(self) -> str:
        """Returns the id of a session that the CLI chooses."""
        raise SystemExit("Error: no session id")

    def begin(self) -> None:
        say(type="system", subtype="init", session_id=self.session, tools=[self.shell], model="stand-in")

    def tool(self, command: str, output: str) -> None:
        call = {"type": "tool_use", "id": "t1", "name": self.shell, "input": {"command": command}}
        done = {"type": "tool_result", "tool_use_id": "t1", "content": output}
        say(type="assistant", message={"role": "assistant", "content": [call]}, session_id=self.session)
        say(type="user", message={"role": "user", "content": [done]}, session_id=self.session)

    def end(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        say(type="assistant", message={"role": "assistant", "content": content}, session_id=self.session)
        facts = {"subtype": "success", "is_error": False, "num_turns": 2, "permission_denials": [], **self.price()}
        say(type="result", result=text, session_id=self.session, **facts)

    def price(self) -> dict[str, Any]:
        cost = {"stand-in": {"costUSD": 0.0004}}
        return {"usage": USAGE, "total_cost_usd": 0.0012, "model_usage_since_last_result": cost}


class Qwen(Speaker):
    shell = "run_shell_command"
    unknown = "No saved session found with ID {}. Run `qwen --resume` without an ID to choose."

    def price(self) -> dict[str, Any]:
        return {"usage": {**USAGE, "total_tokens": 120}}


class Gemini(Speaker):
    unknown = 'Error resuming session: Invalid session identifier "{}".'

    def begin(self) -> None:
        say(type="init", session_id=self.session, model="stand-in")

    def tool(self, command: str, output: str) -> None:
        say(type="tool_use", tool_name="run_shell_command", tool_id="t1", parameters={"command": command})
        say(type="tool_result", tool_id="t1", status="success", output=output)

    def end(self, text: str) -> None:
        for part in (text[:5], text[5:]):
            say(type="message", role="assistant", content=part, delta=True)
        say(type="result", status="success", stats={**USAGE, "total_tokens": 120, "tool_calls": 1})


class Codex(Speaker):
    unknown = "Error: thread/resume: thread/resume failed: no rollout found for thread id {} (code -32600)"
    new, old = "--none", "resume"

    def made_up(self) -> str:
        return str(uuid.uuid4())

    def begin(self) -> None:
        say(type="thread.started", thread_id=self.session)
        say(type="turn.started")

    def tool(self, command: str, output: str) -> None:
        item = {"id": "item_1", "type": "command_execution", "command": command}
        say(type="item.started", item={**item, "exit_code": None, "status": "in_progress"})
        say(type="item.completed", item={**item, "aggregated_output": output, "exit_code": 0, "status": "completed"})

    def end(self, text: str) -> None:
        say(type="item.completed", item={"id": "item_2", "type": "agent_message", "text": text})
        say(type="turn.completed", usage=USAGE)


class OpenCode(Speaker):
    unknown = "Error: Session not found"
    new, old = "--none", "--session"

    def made_up(self) -> str:
        return f"ses_{uuid.uuid4().hex[:26]}"

    def part(self, kind: str, **part: Any) -> None:
        say(type=kind, sessionID=self.session, part=part)

    def begin(self) -> None:
        self.part("step_start", type="step-start")

    def tool(self, command: str, output: str) -> None:
        state = {"status": "completed", "input": {"command": command}, "output": output}
        self.part("tool_use", type="tool", tool="bash", state=state)
        self.step("tool-calls")

    def end(self, text: str) -> None:
        self.part("text", type="text", text=text)
        self.step("stop")

    def step(self, reason: str) -> None:
        tokens = {"input": 100, "output": 20, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        self.part("step_finish", type="step-finish", reason=reason, tokens=tokens, cost=0.0006)


class Copilot(Speaker):
    unknown = "Error: No session, task, or name matched '{}'."

    def begin(self) -> None:
        say(type="session.start", data={})

    def tool(self, command: str, output: str) -> None:
        say(type="tool.execution_start", data={"toolName": "bash", "arguments": {"command": command}})
        say(type="tool.execution_complete", data={"success": True, "result": {"content": output}})

    def end(self, text: str) -> None:
        say(type="assistant.message", data={"content": text, "toolRequests": []})
        usage = {"inputTokens": 100, "outputTokens": 20}
        metrics = {"modelMetrics": {"stand-in": {"usage": usage}}}
        Path(after(self.words, "--usage-output-file")).write_text(json.dumps(metrics))
        say(type="result", sessionId=self.session, exitCode=0, usage={"premiumRequests": 0})


SPEAKERS = {
    "claude": Speaker,
    "qwen": Qwen,
    "gemini": Gemini,
    "codex": Codex,
    "opencode": OpenCode,
    "copilot": Copilot,
}


def edit(words: list[str], prompt: str) -> int:
    """aider: no commands, but edits, which a file gives turn by turn as [path, old text, new text]; the rest is prose.

    It leaves a cache beside the code, which grows from turn to turn.
    """
    cache = Path(".aider.tags.cache.v4", "00", "cache.val")
    cache.parent.mkdir(parents=True, exist_ok=True)
    with cache.open("a") as file:
        file.write("x")
    history = Path(after(words, "--chat-history-file"))
    earlier = history.read_text() if history.exists() else ""
    history.write_text(f"{earlier}#### {prompt}\n")
    print("Aider v0.86.2\nModel: stand-in with diff edit format\n")
    turns = json.loads(Path(os.environ["AIDER_STAND_IN_EDITS"]).read_text())
    for path, old, new in turns[earlier.count("#### ")]:
        before = Path(path).read_text() if Path(path).exists() else ""
        Path(path).write_text(before.replace(old, new, 1) if old else before + new)
        print(f"Applied edit to {path}")
    print("Tokens: 100 sent, 20 received. Cost: $0.00060 message, $0.00060 session.")
    return 0


def main(name: str, words: list[str]) -> int:
    prompt = sys.stdin.read()
    if name == "aider":
        return edit(words, prompt)
    speaker = SPEAKERS[name](words)
    chat = Chat(name, speaker.session)
    if speaker.resumed and not chat.known:
        print(speaker.unknown.format(speaker.resumed), file=sys.stderr)
        return 1
    remembered = chat.add(prompt)
    speaker.begin()
    answer = ""
    for verb, rest in directives(prompt):
        answer = rest if verb == "say" else run(rest, ".")
        if verb != "say":
            speaker.tool(rest, answer)
    speaker.end(f"{answer.strip()} (earlier: {remembered})" if remembered else answer.strip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
