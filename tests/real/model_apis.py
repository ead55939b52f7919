"""Four model APIs: how requests are read and answers are written."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

ANTHROPIC, RESPONSES, CHAT, GEMINI = "anthropic", "responses", "chat", "gemini"
SHELL_TOOLS = ("Bash", "exec_command", "shell_command", "shell", "run_shell_command", "bash", "local_shell")
TOKENS_IN, TOKENS_OUT = 100, 20

Said = tuple[str, str, str]  # role, kind (text, tool_call or tool_result), text


def api_of(path: str) -> str:
    """Returns which of the four APIs a path belongs to, or None."""
    plain = path.partition("?")[0]
    endings = {"/messages": ANTHROPIC, "/responses": RESPONSES, "/chat/completions": CHAT}
    endings |= {":generateContent": GEMINI, ":streamGenerateContent": GEMINI}
    return next((api for ending, api in endings.items() if plain.endswith(ending)), "")


def normalize(api: str, body: dict[str, Any]) -> list[Said]:
    """Returns a conversation in any of the formats as (role, kind, text), without the system prompt."""
    reader = {ANTHROPIC: _anthropic, RESPONSES: _responses, CHAT: _chat, GEMINI: _gemini}[api]
    return list(reader(body))


def _anthropic(body: dict[str, Any]) -> Iterator[Said]:
    for message in body.get("messages", []):
        role, content = message["role"], message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "tool_use":
                yield role, "tool_call", json.dumps(part["input"])
            elif part["type"] == "tool_result":
                yield role, "tool_result", _plain(part.get("content"))
            elif "text" in part:
                yield role, "text", part["text"]


def _responses(body: dict[str, Any]) -> Iterator[Said]:
    given = body.get("input", [])
    for item in [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given:
        kind = item.get("type", "message")
        if kind == "message" and item["role"] in ("user", "assistant"):
            yield item["role"], "text", _plain(item["content"])
        elif kind.endswith("_call_output"):
            yield "user", "tool_result", _plain(item.get("output"))
        elif kind.endswith("_call"):
            yield "assistant", "tool_call", str(item.get("arguments") or item.get("input") or item.get("action"))


def _chat(body: dict[str, Any]) -> Iterator[Said]:
    for message in body.get("messages", []):
        role = message["role"]
        if role == "tool":
            yield "user", "tool_result", _plain(message.get("content"))
        elif role in ("user", "assistant"):
            if message.get("content"):
                yield role, "text", _plain(message["content"])
            for call in message.get("tool_calls") or []:
                yield role, "tool_call", call["function"]["arguments"]


def _gemini(body: dict[str, Any]) -> Iterator[Said]:
    for message in body.get("contents", []):
        role = "assistant" if message.get("role") == "model" else "user"
        for part in message.get("parts", []):
            if "functionCall" in part:
                yield role, "tool_call", json.dumps(part["functionCall"].get("args"))
            elif "functionResponse" in part:
                yield role, "tool_result", json.dumps(part["functionResponse"].get("response"))
            elif "text" in part:
                yield role, "text", part["text"]


def _plain(content: Any) -> str:
    """Returns content that is a text, or parts with texts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in content)
    return content if isinstance(content, str) else json.dumps(content)


def tools(api: str, body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the tools of a request by name, with the schema of their arguments."""
    result = {}
    for entry in body.get("tools") or []:
        if api == ANTHROPIC:
            result[entry.get("name", "")] = entry.get("input_schema") or {}
        elif api == CHAT:
            result[entry["function"]["name"]] = entry["function"].get("parameters") or {}
        elif api == GEMINI:
            for tool in entry.get("functionDeclarations") or []:
                result[tool["name"]] = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
        else:
            result[entry.get("name") or entry.get("type", "")] = entry.get("parameters") or {}
    return result


def shell_call(offered: dict[str, dict[str, Any]], command: str) -> tuple[str, dict[str, Any]] | None:
    """Returns a call of the offered shell tool, with all arguments that its schema requires."""
    name = next((shell_tool for shell_tool in SHELL_TOOLS if shell_tool in offered), "")
    if not name:
        return None
    schema = offered[name]
    properties = schema.get("properties") or {"command": {"type": "string"}}
    key = next(name for name in ("command", "cmd", "script") if name in properties)
    arguments: dict[str, Any] = {item: _filler(properties.get(item, {})) for item in schema.get("required", [])}
    listed = str(properties[key].get("type", "")).lower() == "array"
    return name, {**arguments, key: ["bash", "-lc", command] if listed else command}


def _filler(schema: dict[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    kind = str(schema.get("type", "string")).lower()
    return {"boolean": False, "number": 1, "integer": 1, "array": [], "object": {}}.get(kind, "stub")


class Answer:
    """The stub's answer: a text, or one call of a tool."""

    def __init__(self, text: str = "", *, tool: str = "", arguments: dict[str, Any] | None = None) -> None:
        self.text = text
        self.tool = tool
        self.arguments = json.dumps(arguments or {})
        self.id = uuid.uuid4().hex[:24]


def error_body(api: str, status: int) -> dict[str, Any]:
    """Returns a refusal in each vendor's format."""
    message = f"stub {status}"
    kind = {429: "rate_limit_error", 529: "overloaded_error", 503: "overloaded_error"}.get(status, "api_error")
    if api == ANTHROPIC:
        return {"type": "error", "error": {"type": kind, "message": message}}
    if api == GEMINI:
        name = {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}.get(status, "UNKNOWN")
        return {"error": {"code": status, "message": message, "status": name}}
    return {"error": {"message": message, "type": kind, "code": str(status)}}


def whole(api: str, answer: Answer, model: str) -> dict[str, Any]:
    """Returns the answer as one document, for a request without streaming."""
    if api == ANTHROPIC:
        content = [_block(answer)]
        stop = "tool_use" if answer.tool else "end_turn"
        return {**_message(answer, model), "content": content, "stop_reason": stop, "usage": _anthropic_usage()}
    if api == RESPONSES:
        return _response(answer, model, "completed", [_item(answer)])
    if api == CHAT:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        message |= {"tool_calls": [_chat_call(answer)]} if answer.tool else {}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if answer.tool else "stop"}
        return {**_completion(answer, model, "chat.completion"), "choices": [choice], "usage": _chat_usage()}
    return _candidate(answer)


def events(api: str, answer: Answer, model: str) -> Iterator[tuple[str, Any]]:
    """Returns the answer as a stream: the name of each event (if the format has names) and its data."""
    return {ANTHROPIC: _anthropic_events, RESPONSES: _response_events, CHAT: _chat_events, GEMINI: _gemini_events}[api](
        answer, model
    )


def _message(answer: Answer, model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": TOKENS_IN, "output_tokens": 0},
    }


def _anthropic_usage() -> dict[str, int]:
    return {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT}


def _block(answer: Answer, *, empty: bool = False) -> dict[str, Any]:
    if answer.tool:
        given = {} if empty else json.loads(answer.arguments)
        return {"type": "tool_use", "id": f"toolu_{answer.id}", "name": answer.tool, "input": given}
    return {"type": "text", "text": "" if empty else answer.text}


def _anthropic_events(answer: Answer, model: str) -> Iterator[tuple[str, Any]]:
    delta = (
        {"type": "input_json_delta", "partial_json": answer.arguments}
        if answer.tool
        else {"type": "text_delta", "text": answer.text}
    )
    stop = {"stop_reason": "tool_use" if answer.tool else "end_turn", "stop_sequence": None}
    for data in (
        {"type": "message_start", "message": _message(answer, model)},
        {"type": "content_block_start", "index": 0, "content_block": _block(answer, empty=True)},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": _anthropic_usage()},
        {"type": "message_stop"},
    ):
        yield str(data["type"]), data


def _response(answer: Answer, model: str, status: str, output: list[Any]) -> dict[str, Any]:
    usage = {
        "input_tokens": TOKENS_IN,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": TOKENS_OUT,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": TOKENS_IN + TOKENS_OUT,
    }
    base = {"id": f"resp_{answer.id}", "object": "response", "created_at": 0, "model": model}
    return {**base, "status": status, "output": output, "usage": usage if output else None}


def _item(answer: Answer, *, empty: bool = False) -> dict[str, Any]:
    status = "in_progress" if empty else "completed"
    if answer.tool:
        given = "" if empty else answer.arguments
        call = {"type": "function_call", "id": f"fc_{answer.id}", "call_id": f"call_{answer.id}"}
        return {**call, "name": answer.tool, "arguments": given, "status": status}
    content = [] if empty else [{"type": "output_text", "text": answer.text, "annotations": []}]
    message = {"type": "message", "id": f"msg_{answer.id}", "role": "assistant"}
    return {**message, "status": status, "content": content}


def _response_events(answer: Answer, model: str) -> Iterator[tuple[str, Any]]:
    item = _item(answer)
    where = {"item_id": item["id"], "output_index": 0}
    yield "response.created", {"response": _response(answer, model, "in_progress", [])}
    yield "response.output_item.added", {"output_index": 0, "item": _item(answer, empty=True)}
    if answer.tool:
        yield "response.function_call_arguments.delta", {**where, "delta": answer.arguments}
        yield "response.function_call_arguments.done", {**where, "arguments": answer.arguments}
    else:
        part = {"type": "output_text", "text": "", "annotations": []}
        yield "response.content_part.added", {**where, "content_index": 0, "part": part}
        yield "response.output_text.delta", {**where, "content_index": 0, "delta": answer.text}
        yield "response.output_text.done", {**where, "content_index": 0, "text": answer.text}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": _response(answer, model, "completed", [item])}


def _completion(answer: Answer, model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{answer.id}", "object": kind, "created": 0, "model": model}


def _chat_call(answer: Answer) -> dict[str, Any]:
    function = {"name": answer.tool, "arguments": answer.arguments}
    return {"index": 0, "id": f"call_{answer.id}", "type": "function", "function": function}


def _chat_usage() -> dict[str, int]:
    return {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT}


def _chat_events(answer: Answer, model: str) -> Iterator[tuple[str, Any]]:
    base = _completion(answer, model, "chat.completion.chunk")
    output = {"tool_calls": [_chat_call(answer)]} if answer.tool else {"content": answer.text}
    deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None), (output, None)]
    for delta, finish in [*deltas, ({}, "tool_calls" if answer.tool else "stop")]:
        yield "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    yield "", {**base, "choices": [], "usage": _chat_usage()}
    yield "", "[DONE]"


def _candidate(answer: Answer) -> dict[str, Any]:
    call = {"functionCall": {"name": answer.tool, "args": json.loads(answer.arguments)}}
    part = call if answer.tool else {"text": answer.text}
    usage = {"promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT}
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {**usage, "totalTokenCount": TOKENS_IN + TOKENS_OUT},
    }


def _gemini_events(answer: Answer, model: str) -> Iterator[tuple[str, Any]]:
    yield "", _candidate(answer)
