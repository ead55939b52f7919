"""Tests the installer and the stub model, without a CLI."""

from __future__ import annotations

import json
import os
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from real import install
from real.stub import DONE, Stub, normalize

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command", "why"]}
CHAT_TOOL = {"type": "function", "function": {"name": "bash", "parameters": SHELL}}
GEMINI_TOOL = {"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": SHELL}]}
PATHS = {
    "anthropic": "/v1/messages?beta=true",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/m:streamGenerateContent?alt=sse",
}


def body(api: str, *said: tuple[str, str]) -> dict[str, Any]:
    """Returns a request in one of the formats: texts of the user and of the model, and results of tools."""
    tools = {"anthropic": {"name": "Bash", "input_schema": SHELL}, "chat": CHAT_TOOL, "gemini": GEMINI_TOOL}
    tools["responses"] = {"type": "function", "name": "exec_command", "parameters": SHELL}
    texts = [_message(api, role, text) for role, text in said]
    key = {"responses": "input", "gemini": "contents"}.get(api, "messages")
    return {"model": "m", "stream": True, key: texts, "tools": [tools[api]]}


def _message(api: str, role: str, text: str) -> dict[str, Any]:
    if role == "tool":
        return {
            "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": text}]},
            "responses": {"type": "function_call_output", "call_id": "1", "output": text},
            "chat": {"role": "tool", "tool_call_id": "1", "content": text},
            "gemini": {"role": "user", "parts": [{"functionResponse": {"name": "x", "response": {"output": text}}}]},
        }[api]
    if api == "gemini":
        return {"role": "model" if role == "assistant" else "user", "parts": [{"text": text}]}
    return {"type": "message", "role": role, "content": text} if api == "responses" else {"role": role, "content": text}


def ask(stub: Stub, path: str, data: dict[str, Any]) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", stub.port, timeout=10)
    connection.request("POST", path, json.dumps(data))
    answer = connection.getresponse()
    output = answer.read().decode()
    connection.close()
    return answer.status, output


@pytest.mark.parametrize("api", PATHS)
def test_the_stub_calls_the_shell_and_returns_its_output(api: str, tmp_path: Path) -> None:
    """In each format the stub calls the offered shell tool, and then answers with the tool's output."""
    with Stub(tmp_path / "log") as stub:
        _, first = ask(stub, PATHS[api], body(api, ("user", "old [[text:no]]"), ("user", "go [[sh:ls -l]]")))
        output = (("user", "go [[sh:ls -l]]"), ("tool", "file one"))
        _, second = ask(stub, PATHS[api], body(api, *output))
        assert "ls -l" in first and "why" in first
        assert DONE in second and "file one" in second
        assert [request["decision"] for request in stub.requests()] == ["sh:ls -l", "end"]
        assert [kind for _, kind, _ in normalize(api, body(api, *output))] == ["text", "tool_result"]


@pytest.mark.parametrize("api", PATHS)
def test_the_stub_refuses_a_number_of_times(api: str, tmp_path: Path) -> None:
    """`529x2` fails twice and then answers; a play takes one step for each result of a tool."""
    with Stub(tmp_path / "log") as stub:
        answers = [ask(stub, PATHS[api], body(api, ("user", "[[status:529x2]]"))) for _ in range(3)]
        assert [status for status, _ in answers] == [529, 529, 200]
        assert "stub 529" in answers[0][1] and "recovered" in answers[2][1]
        stub.plays["two"] = ["text:one", "text:two"]
        output = (("user", "[[play:two]]"), ("tool", "x"))
        assert "two" in ask(stub, PATHS[api], body(api, *output))[1]


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in place of npm, and a cache of its own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder / "npm"


def write(npm: Path, *lines: str) -> None:
    npm.write_text("\n".join(["#!/bin/sh", f"echo called >> {npm}.calls", *lines, ""]))
    npm.chmod(0o755)


def installing(version: str) -> list[str]:
    """Does what an installer does for Gemini: a package with its version, and a program."""
    return [
        'for word; do case "$word" in --prefix=*) folder="${word#--prefix=}";; esac; done',
        'mkdir -p "$folder/node_modules/@google/gemini-cli" "$folder/node_modules/.bin"',
        f'echo \'{{"version": "{version}"}}\' > "$folder/node_modules/@google/gemini-cli/package.json"',
        'touch "$folder/node_modules/.bin/gemini"',
    ]


def test_a_failed_download_names_the_package(npm: Path) -> None:
    """A package that cannot be installed is an error that names it, and nothing counts as installed."""
    write(npm, "echo 'network is unreachable' >&2", "exit 1")
    for _ in range(2):
        with pytest.raises(install.InstallFailed, match=r"@google/gemini-cli 0\.61\.0.*network is unreachable"):
            install.binary("gemini")


def test_a_missing_package_is_named_once_before_the_tests(npm: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The step before the tests ends with one sentence that names the package, and skips the next one."""
    write(npm, "echo 'network is unreachable' >&2", "exit 1")
    assert install.main("gemini,codex") == 1
    errors = capfd.readouterr().err
    assert errors.startswith("missing download: cannot install @google/gemini-cli 0.61.0: npm says: network is unreach")
    assert Path(f"{npm}.calls").read_text() == "called\n"
    assert install.main("gemini, nobody") == 1 and "there is no nobody" in capfd.readouterr().err


def test_another_version_than_the_pinned_one_is_refused(npm: Path) -> None:
    """An installer that chooses an older version than requested is an error."""
    write(npm, *installing("0.1.0"))
    with pytest.raises(install.InstallFailed, match=r"npm chose 0\.1\.0"):
        install.binary("gemini")


def test_an_installed_cli_is_found_again(npm: Path, tmp_path: Path) -> None:
    """The second call finds the result of the first in the user's cache."""
    write(npm, *installing("0.61.0"))
    numbers = {install.binary("gemini") for _ in range(2)}
    assert numbers == {str(tmp_path / "cache/sow-real-clis/gemini-0.61.0/node_modules/.bin/gemini")}
    assert Path(f"{npm}.calls").read_text() == "called\n"
