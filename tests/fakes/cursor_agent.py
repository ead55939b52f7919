"""A stand-in for `cursor-agent`: print mode with stream-json, chats by id, changes only with --force."""

from __future__ import annotations

import argparse
import json
import sys
import uuid
from typing import Any

from conversation import Chat, directives, run


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cursor-agent")
    parser.add_argument("-v", "--version", action="version", version="2026.02.13-41ac335")
    parser.add_argument("-p", "--print", action="store_true", help="Print responses (for scripts)")
    parser.add_argument("--output-format", choices=("text", "json", "stream-json"), default="text")
    parser.add_argument("--resume", metavar="chatId")
    parser.add_argument("--model")
    parser.add_argument("-f", "--force", "--yolo", action="store_true")
    parser.add_argument("--trust", action="store_true", help="Trust the current workspace (headless only)")
    parser.add_argument("--workspace", default=".")
    parser.add_argument("--mode", choices=("plan", "ask"))
    return parser.parse_args()


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def call_tool(command: str, given: argparse.Namespace, session: str) -> str:
    """Makes one call of the shell tool: reported at its start and at its end."""
    call: dict[str, Any] = {"args": {"command": command}}
    facts = {"type": "tool_call", "call_id": "call_1", "session_id": session}
    say(**facts, subtype="started", tool_call={"shellToolCall": call})
    allowed = given.force and not given.mode
    output = run(command, given.workspace) if allowed else "the user rejected this"
    result = {"success": {"exitCode": 0, "stdout": output}} if allowed else {"rejected": {"reason": output}}
    say(**facts, subtype="completed", tool_call={"shellToolCall": {**call, "result": result}})
    return output


def main() -> int:
    given = options()
    prompt = sys.stdin.read()
    if not (given.print and given.trust and prompt.strip()):
        print("Error: workspace not trusted, or no prompt", file=sys.stderr)
        return 1
    chat = Chat("cursor", given.resume or str(uuid.uuid4()))
    if given.resume and not chat.known:
        chat = Chat("cursor", str(uuid.uuid4()))
    remembered = chat.add(prompt)
    mode = "force" if given.force else "default"
    say(type="system", subtype="init", session_id=chat.name, model=given.model or "Auto", permissionMode=mode)
    say(type="user", message={"role": "user", "content": [{"type": "text", "text": prompt}]}, session_id=chat.name)
    answer = ""
    for verb, rest in directives(prompt):
        if verb == "fail":
            print(rest, file=sys.stderr)
            return 1
        answer = rest if verb == "say" else call_tool(rest, given, chat.name)
    answer = f"{answer.strip()} (earlier: {remembered})" if remembered else answer.strip()
    content = [{"type": "text", "text": answer}]
    say(type="assistant", message={"role": "assistant", "content": content}, session_id=chat.name)
    numbers = {"duration_ms": 1234, "duration_api_ms": 1200, "request_id": "r"}
    say(type="result", subtype="success", is_error=False, result=answer, session_id=chat.name, **numbers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
