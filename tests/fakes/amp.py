"""A stand-in for `amp`: execute mode with stream-json, threads by id, permission rules from a settings file."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from conversation import Chat, directives, run


def options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="amp")
    parser.add_argument("--version", action="version", version="0.0.1790142911-g7618fb")
    parser.add_argument("-x", "--execute", action="store_true")
    parser.add_argument("--stream-json", action="store_true")
    parser.add_argument("--settings-file")
    parser.add_argument("--dangerously-allow-all", action="store_true")
    for flag in ("--no-ide", "--no-notifications", "--no-archive-after-execute"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args(words)


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def allowed(command: str, given: argparse.Namespace) -> bool:
    """Tells whether the rules allow a command: the first match decides, and a question counts as a refusal."""
    if given.dangerously_allow_all:
        return True
    rules = json.loads(Path(given.settings_file).read_text())["amp.permissions"] if given.settings_file else []
    for rule in rules:
        patterns = rule.get("matches", {}).get("cmd", ["*"])
        if rule["tool"] == "Bash" and any(fnmatch.fnmatch(command, pattern) for pattern in patterns):
            return bool(rule["action"] == "allow")
    return False


def call_tool(command: str, given: argparse.Namespace, thread: str) -> str:
    content: list[dict[str, Any]] = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"cmd": command}}]
    say(type="assistant", message={"role": "assistant", "content": content}, session_id=thread)
    output = run(command, ".") if allowed(command, given) else "rejected by a permission rule"
    content = [{"type": "tool_result", "tool_use_id": "t", "content": output}]
    say(type="user", message={"role": "user", "content": content}, session_id=thread)
    return output


def main(words: list[str]) -> int:
    existing = words[2] if words[:2] == ["threads", "continue"] else ""
    given = options(words[3:] if existing else words)
    if not os.environ.get("AMP_API_KEY"):
        print("Paste your code here:", flush=True)
        time.sleep(600)  # as the real one does
    prompt = sys.stdin.read()
    chat = Chat("amp", existing or f"T-{uuid.uuid4()}")
    if existing and not chat.known:
        print(f"Error: thread {existing} is not there", file=sys.stderr)
        return 1
    remembered = chat.add(prompt)
    say(type="system", subtype="init", session_id=chat.name, cwd=".", tools=["Bash"])
    answer = ""
    for verb, rest in directives(prompt):
        if verb == "fail":
            say(type="result", subtype="error_during_execution", is_error=True, error=rest, session_id=chat.name)
            return 1
        answer = rest if verb == "say" else call_tool(rest, given, chat.name)
    answer = f"{answer.strip()} (earlier: {remembered})" if remembered else answer.strip()
    content = [{"type": "text", "text": answer}]
    say(type="assistant", message={"role": "assistant", "content": content}, session_id=chat.name)
    usage = {"input_tokens": 100, "output_tokens": 20}
    say(type="result", subtype="success", is_error=False, result=answer, num_turns=1, usage=usage, session_id=chat.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
