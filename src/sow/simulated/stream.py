"""Prints the output of the simulated agent in Claude Code's JSON lines."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

PRICE_IN, PRICE_OUT = 3e-6, 15e-6


class OutputWriter:
    """Prints events, and counts what they would have cost."""

    def __init__(self, session: str, model: str) -> None:
        self.session = session
        self.model = model
        self.input_tokens = 0
        self.output_tokens = 0
        self.turns = 0
        self.call: dict[str, Any] = {}  # the last tool call
        self.denials: list[dict[str, Any]] = []
        self.started = time.monotonic()

    def line(self, **data: Any) -> None:
        sys.stdout.write(json.dumps({**data, "session_id": self.session}) + "\n")
        sys.stdout.flush()

    def begin(self, history: list[str]) -> None:
        self.input_tokens = sum(len(prompt) for prompt in history) // 4 + 1
        self.line(
            type="system",
            subtype="init",
            model=self.model,
            tools=["Bash", "Edit", "Write"],
            turns_before=len(history) - 1,
        )

    def say(self, text: str) -> None:
        self.turns += 1
        self.output_tokens += len(text) // 4 + 1
        self.line(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": text}]})

    def tool(self, name: str, command: str) -> None:
        self.turns += 1
        self.output_tokens += 10
        self.call = {"type": "tool_use", "id": f"tool_{self.turns}", "name": name, "input": {"command": command}}
        self.line(type="assistant", message={"role": "assistant", "content": [self.call]})

    def tool_result(self, text: str, failed: bool) -> None:
        part = {"type": "tool_result", "tool_use_id": f"tool_{self.turns}", "content": text, "is_error": failed}
        self.line(type="user", message={"role": "user", "content": [part]})

    def refuse(self, reason: str) -> None:
        """Refuses the last tool call, as a CLI does that cannot ask a person."""
        self.tool_result(reason, failed=True)
        call = {"tool_use_id": self.call["id"], "tool_input": self.call["input"]} if self.call else {}
        self.denials.append({"tool_name": self.call.get("name", "Bash"), **call})

    def limit(self, reset_at: int) -> None:
        info = {"status": "rejected", "resetsAt": reset_at, "rateLimitType": "five_hour"}
        self.line(type="rate_limit_event", rate_limit_info=info)

    def retry(self, status: int, message: str) -> None:
        self.line(type="system", subtype="api_retry", attempt=1, max_retries=1, error_status=status, error=message)

    def result(self, text: str, *, failed: bool = False, status: int = 0) -> None:
        cost = self.input_tokens * PRICE_IN + self.output_tokens * PRICE_OUT
        self.line(
            type="result",
            subtype="success" if not failed or status else "error_during_execution",
            is_error=failed,
            api_error_status=status or None,
            result=text,
            num_turns=self.turns,
            duration_ms=int((time.monotonic() - self.started) * 1000),
            total_cost_usd=round(cost, 6),
            usage={"input_tokens": self.input_tokens, "output_tokens": self.output_tokens},
            permission_denials=self.denials,
        )
