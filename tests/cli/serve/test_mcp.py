"""sow mcp: the commands as tools, called by the SDK's own client over stdio."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from conftest import SOW, Repo
from support.quick_cases import few_of
from support.simulated_workers import processes

from sow.cli.command import parse
from sow.cli.serve.mcp_tools import VERBS, command_arguments, tools
from sow.errors import SowError

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp_types import CallToolResult

PATIENCE = 300
WORKER = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}
Talk = Callable[["ClientSession"], Awaitable[Any]]


def converse(repo: Repo, talk: Talk, *arguments: str, cwd: Path | None = None, **environment: str) -> Any:
    """Starts the server, talks to it as a client, and ends it."""
    from mcp import ClientSession, StdioServerParameters, stdio_client  # a second, for those who run these tests

    server = StdioServerParameters(
        command=SOW, args=["mcp", *arguments], cwd=str(cwd or repo.root), env={**repo.environment, **environment}
    )

    async def main() -> Any:
        with anyio.fail_after(PATIENCE):
            async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
                await session.initialize()
                return await talk(session)

    return anyio.run(main)


def call(repo: Repo, *calls: tuple[str, dict[str, Any]], **options: Any) -> list[CallToolResult]:
    """Returns the results of tool calls, one after the other."""

    async def talk(session: ClientSession) -> list[Any]:
        return [await session.call_tool(name, given) for name, given in calls]

    result: list[CallToolResult] = converse(repo, talk, **options)
    return result


def text(result: CallToolResult) -> str:
    content = result.content[0]
    assert content.type == "text"
    return content.text


@pytest.mark.full
def test_every_command_is_a_tool(repo: Repo) -> None:
    """Every command is offered with its help and a schema of its arguments."""

    async def talk(session: ClientSession) -> Any:
        return (await session.list_tools()).tools

    offered = {tool.name: tool for tool in converse(repo, talk)}
    assert set(offered) == set(tools())
    assert {"status", "task_show", "task_set", "log", "note_add", "inbox", "answer", "run"} <= set(offered)
    assert {"feedback_add", "phase_add", "phase_advance", "agent_spawn", "agent_resume", "approve"} <= set(offered)
    assert "phase_approve" not in offered  # a person's decision (B17)
    shown = offered["task_set"]
    assert shown.description and shown.description.startswith("Set a field of a task")
    assert shown.input_schema["required"] == ["field", "value"]
    assert offered["run"].input_schema["properties"]["plan"]["type"] == "array"


@pytest.mark.full
def test_an_orchestrator_works_through_tools(repo: Repo) -> None:
    """A task is made, started, logged, noted, asked about and answered; documents are returned as JSON."""
    made, _, logged, noted, _, _, asked, _, shown = call(
        repo,
        ("task_create", {"name": "Add login", "agent": "implementer", "criterion": ["a", "b"]}),
        ("task_set", {"id": "010", "field": "status", "value": "in_progress"}),
        ("log", {"log_text": "Looked at it", "task": "010"}),
        ("note_add", {"task": "010", "description": "Unique?", "context": "Store"}),
        ("note_escalate", {"number": 1, "task": "010", "reason": "theirs"}),
        ("task_set", {"id": "010", "field": "status", "value": "paused"}),
        ("inbox", {}),
        ("answer", {"question": 1, "answer_text": "Yes, unique"}),
        ("task_show", {"task": "010"}),
        SOW_AGENT="orchestrator",
    )
    assert made.structured_content and made.structured_content["criteria"] == ["a", "b"]
    assert not logged.is_error and not noted.is_error
    assert asked.structured_content and asked.structured_content["items"][0]["number"] == 1
    assert json.loads(text(shown)) == shown.structured_content
    assert shown.structured_content["questions"][0]["answer"] == "Yes, unique"
    assert repo.task("010")["iteration"] == 2


@pytest.mark.full
def test_a_text_that_begins_with_an_at_sign_names_no_file(task_repo: Repo, tmp_path: Path) -> None:
    """No tool copies a file of this machine into the project's state, and the text arrives as it was given (B21)."""
    secret = tmp_path / "secret.txt"
    secret.write_text("do not copy me\n")
    at = f"@{secret}"
    results = call(
        task_repo,
        ("log", {"log_text": at}),
        ("log", {"log_text": "@alice approved"}),
        ("feedback_add", {"task": "010", "feedback_text": at}),
        ("task_create", {"name": "More", "description": at}),
        ("note_add", {"task": "010", "description": at, "context": at}),
        ("note_resolve", {"task": "010", "number": 1, "resolution": at}),
        ("agent_resume", {"task": "010", "prompt": at, "dry_run": True}),
    )
    assert [text(result) for result in results[:6] if result.is_error] == []
    written = [path for path in task_repo.project.rglob("*") if path.is_file()]
    assert [path for path in written if b"do not copy me" in path.read_bytes()] == []
    assert "do not copy me" not in text(results[6])
    entries = [entry["text"] for entry in task_repo.ok("log", "--list", "--json").json["entries"]]
    assert {at, "@alice approved"} <= set(entries)


@pytest.mark.full
def test_a_client_is_the_orchestrator(repo: Repo) -> None:
    """A call through a tool is never a person's, so it adds no phase without approval (B2, B17)."""
    proposed, refused = call(
        repo,
        ("phase_add", {"name": "docs", "reason": "r"}),
        ("phase_add", {"name": "qa", "reason": "r", "yes": True}),
        CLAUDECODE="1",
        SOW_ASKS="1",
    )
    assert not proposed.is_error and "proposed" in text(proposed)
    assert refused.is_error and "the orchestrator may not add a phase at once" in text(refused)


def test_a_workers_marks_limit_it_as_in_the_shell(task_repo: Repo) -> None:
    """A worker's restrictions hold for tools, with the same errors."""
    given: list[tuple[str, dict[str, Any]]] = [
        ("task_set", {"field": "status", "value": "completed"}),
        ("answer", {"question": "010", "answer_text": "yes"}),
        ("run", {"plan": ["plan.md"]}),
        ("task_create", {"name": "More"}),
        ("log", {"log_text": "x", "task": "020"}),
    ]
    results = call(task_repo, *given, **WORKER)
    for (name, arguments), result in zip(given, results, strict=True):
        shell = task_repo.sow(*command_arguments(tools()[name], arguments), **WORKER)
        assert result.is_error == bool(shell.code), (name, shell)
        assert not shell.code or text(result).startswith(shell.err.strip()), (name, shell)
    assert [result.is_error for result in results[:3]] == [True, True, True]
    assert task_repo.task("010")["status"] == "in_progress"
    (handed,) = call(task_repo, ("task_set", {"field": "status", "value": "needs_review"}), **WORKER)
    assert not handed.is_error and task_repo.task("010")["status"] == "needs_review"


@pytest.mark.full
def test_an_error_has_its_hint_and_exit_code(repo: Repo) -> None:
    """A refused call is an error of the tool, with the error and the hint of the shell."""
    missing, unknown, odd, wrong, list_of = call(
        repo,
        ("task_show", {"task": "999"}),
        ("fly", {}),
        ("status", {"colour": "red"}),
        ("task_create", {"name": {"a": 1}}),
        ("log", {"list": "yes"}),
    )
    assert all(item.is_error for item in (missing, unknown, odd, wrong, list_of))
    assert text(missing).startswith("error: there is no task 999") and text(missing).endswith("exit code 2")
    assert "unknown tool 'fly'" in text(unknown) and "task_show" in text(unknown)
    assert "no argument 'colour'" in text(odd) and "must be a text" in text(wrong) and "true or false" in text(list_of)


@pytest.mark.parametrize("value", ["--yes", "-x", "--name=other", "--", "a\nb", "'; touch x; '", "--root=/"])
def test_a_value_never_becomes_an_option(repo: Repo, value: str) -> None:
    """A value of a field is parsed as that field's value, whatever it looks like."""
    command = tools()["task_create"]
    given = {"name": value, "description": value}
    values, options = parse(command, command_arguments(command, given)[2:])
    assert (values["name"], values["description"], options["root"]) == (value, value, "")
    shown = tools()["note_resolve"]
    values, _ = parse(shown, command_arguments(shown, {"number": value, "resolution": "r"})[2:])
    assert values["number"] == value


def test_bad_values_are_refused_before_a_process_starts() -> None:
    """A NUL, a nested list and a truth value for a text are refused."""
    command = tools()["task_create"]
    for bad in ("a\0b", [["x"]], True, [None]):
        with pytest.raises(SowError):
            command_arguments(command, {"name": bad})


@pytest.mark.full
def test_root_names_the_checkout(repo: Repo, tmp_path: Path) -> None:
    """A server that is started elsewhere works in the checkout that --root names."""
    (status,) = call(repo, ("status", {}), cwd=tmp_path, SOW_ROOT=str(repo.root))
    assert status.structured_content and status.structured_content["root"] == str(repo.root)

    async def talk(session: ClientSession) -> Any:
        return await session.call_tool("status", {})

    named = converse(repo, talk, "--root", str(repo.root), cwd=tmp_path)
    assert named.structured_content["project"]["name"] == "Add authentication"


@pytest.mark.full
def test_two_calls_run_in_parallel(repo: Repo) -> None:
    """Many calls at once are all answered, and lose nothing."""

    async def talk(session: ClientSession) -> None:
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(session.call_tool, "task_create", {"name": f"Task {number}"})

    converse(repo, talk)
    assert len(repo.ok("task", "list", "--json").json["tasks"]) == 8


def plan(repo: Repo, tmp_path: Path) -> dict[str, Any]:
    """A plan with one long task by a scripted agent."""
    scenario = tmp_path / "slow.yaml"
    scenario.write_text("tasks: {default: [[{sleep: 300}]]}\n")
    config = Path(repo.environment["HOME"]) / ".config/sow/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"agents: {{executors: {{slow: {{type: simulated, settings: {{scenario: {scenario}}}}}}}}}\n")
    (repo.root / "plan.md").write_text("# P\n\n## Task 1: Write it\n\nDo it.\n")
    return {"plan": ["plan.md"], "executor": "slow", "review": "off"}


def at_work(repo: Repo) -> bool:
    """Tells whether an agent of this repository is running."""
    scenario = str(Path(repo.environment["HOME"]).parent / "slow.yaml").encode()
    return any(scenario in _line(pid) for pid in processes())


def _line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.sleep(0.1)


@pytest.mark.full
def test_a_cancelled_run_is_stopped(repo: Repo, tmp_path: Path) -> None:
    """A cancelled call ends the run like Ctrl-C: no process is left, and the run can be continued."""
    given = plan(repo, tmp_path)

    async def talk(session: ClientSession) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(session.call_tool, "run", given)
            await until(lambda: at_work(repo))
            group.cancel_scope.cancel()
        await until(lambda: not at_work(repo))
        assert not (await session.call_tool("status", {})).is_error

    converse(repo, talk)
    assert repo.task("010")["status"] == "in_progress"


@pytest.fixture
def server(repo: Repo) -> Iterator[subprocess.Popen[bytes]]:
    """A server that was started by hand and initialised."""
    started = subprocess.Popen(
        [SOW, "mcp"], cwd=repo.root, env=repo.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    say(started, {"id": 1, "method": "initialize", "params": hello})
    assert started.stdout and json.loads(started.stdout.readline())["result"]["serverInfo"]["name"] == "sow"
    say(started, {"method": "notifications/initialized"})
    yield started
    started.kill()
    started.communicate()


def say(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


def begin_run(server: subprocess.Popen[bytes], repo: Repo, tmp_path: Path) -> None:
    """Call the tool run, and wait until its agent is at work."""
    params = {"name": "run", "arguments": plan(repo, tmp_path)}
    say(server, {"id": 2, "method": "tools/call", "params": params})
    anyio.run(until, lambda: at_work(repo))


@pytest.mark.full
def test_the_last_request_is_answered(server: subprocess.Popen[bytes]) -> None:
    """A client that sends a request and closes its output at once gets the answer."""
    say(server, {"id": 2, "method": "tools/call", "params": {"name": "status", "arguments": {}}})
    out, _ = server.communicate(timeout=PATIENCE)
    answer = json.loads(out.splitlines()[-1])
    assert answer["id"] == 2 and "next" in answer["result"]["structuredContent"], answer


@pytest.mark.full
def test_a_closed_input_stops_the_run(server: subprocess.Popen[bytes], repo: Repo, tmp_path: Path) -> None:
    """When standard input ends during a run, the run is stopped and the server ends."""
    begin_run(server, repo, tmp_path)
    server.communicate(timeout=PATIENCE)
    assert server.returncode == 0 and not at_work(repo)


@few_of("number", [signal.SIGTERM, signal.SIGINT], 1)
def test_a_signal_stops_the_run_and_the_server(
    server: subprocess.Popen[bytes], repo: Repo, tmp_path: Path, number: int
) -> None:
    """A signal stops first the run and then the server, although the client is still connected."""
    begin_run(server, repo, tmp_path)
    server.send_signal(number)
    assert server.wait(PATIENCE) == 128 + number and not at_work(repo)


@pytest.mark.full
def test_an_idle_server_ends_at_once(server: subprocess.Popen[bytes]) -> None:
    """Nothing is waited for where nothing is under way."""
    server.terminate()
    assert server.wait(PATIENCE) == 128 + signal.SIGTERM


def test_a_missing_sdk_is_named(repo: Repo, tmp_path: Path) -> None:
    """Without the package the error says how to install it, and all other commands work."""
    (tmp_path / "mcp_types.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'mcp_types'\", name='mcp_types')\n"
    )
    result = repo.sow("mcp", PYTHONPATH=str(tmp_path))
    assert result.code == 2 and "pip install 'sow[mcp]'" in result.err
    repo.ok("status", PYTHONPATH=str(tmp_path))


def test_the_tools_can_be_listed_without_the_sdk(repo: Repo) -> None:
    """`--list` and `--json` show them without starting a server."""
    assert "task_show" in repo.ok("mcp", "--list").out
    shown = repo.ok("mcp", "--json").json["tools"]
    assert [entry["name"] for entry in shown] == list(tools())
    assert {entry["name"].split("_")[0] for entry in shown} <= {*VERBS, "agent"}
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from sow.cli.main import main; main(['mcp', '--list']); print('anyio' in sys.modules)",
        ],
        cwd=repo.root,
        env=repo.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.endswith("False\n")
