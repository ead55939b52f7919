"""Serves MCP over stdio; every tool call runs a sow command, so the same rules apply."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from sow import __version__
from sow.cli.serve import mcp_tools
from sow.domain.task import ORCHESTRATOR
from sow.engine.turns.allowed_commands import sow_path
from sow.errors import SowError
from sow.system import caller
from sow.system.process import program
from sow.system.process.program import ProgramResult
from sow.system.process.shutdown import GracefulShutdown
from sow.system.terminal import escape_control

ANSWER_SECONDS = 5.0  # for missing answers after the client closed its output; a run is stopped then
INSTRUCTIONS = (
    "sow keeps the facts of the work on this repository: tasks, logs, notes, questions. Start with status, or with "
    "task_show for your own task. A result with an error: line has a hint: line, which says what to do."
)


class ClientMessages:
    """The messages of the client. Their end waits a while for the answers that are missing."""

    def __init__(self, reading: Any) -> None:
        self.reading = reading
        self.unanswered: set[Any] = set()

    @property
    def last_context(self) -> Any:
        return self.reading.last_context

    def __aiter__(self) -> ClientMessages:
        return self

    async def __aenter__(self) -> ClientMessages:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self.reading.aclose()

    async def receive(self) -> Any:
        try:
            item = await self.reading.receive()
        except anyio.EndOfStream:
            with anyio.move_on_after(ANSWER_SECONDS):
                while self.unanswered:
                    await anyio.sleep(0.02)
            raise
        if isinstance(item, SessionMessage) and isinstance(item.message, types.JSONRPCRequest):
            self.unanswered.add(item.message.id)
        return item

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Answers:
    """The answers to the client, which are removed from those that are missing."""

    def __init__(self, writing: Any, messages: ClientMessages) -> None:
        self.writing = writing
        self.messages = messages

    async def __aenter__(self) -> Answers:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self.writing.aclose()

    async def send(self, item: SessionMessage) -> None:
        await self.writing.send(item)
        if not isinstance(item.message, types.JSONRPCRequest | types.JSONRPCNotification):
            self.messages.unanswered.discard(item.message.id)


class ToolServer:
    """Handles tool calls in the folder and the environment of the server."""

    def __init__(self, *, root: str, cwd: str, environment: Mapping[str, str]) -> None:
        self.root = root
        self.cwd = cwd
        self.environment = _agent_environment(environment)
        self.shutdown = GracefulShutdown()

    async def serve(self, server: Server[Any]) -> None:
        async with stdio_server() as (reading, writing):
            messages = ClientMessages(reading)
            await server.run(messages, Answers(writing, messages), server.create_initialization_options())

    async def list_tools(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=mcp_tools.description(command),
                    input_schema=mcp_tools.schema(command),
                )
                for name, command in mcp_tools.tools().items()
            ]
        )

    async def call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            command = self._command(params.name, params.arguments or {})
        except SowError as error:
            return _result(f"error: {error.message}\nhint: {error.hint}", wrong=True)
        stop = threading.Event()
        try:
            result = await anyio.to_thread.run_sync(self._run_command, command, stop, abandon_on_cancel=True)
        finally:
            stop.set()  # if the client cancels or disconnects, its command ends
        return _tool_result(result)

    def _run_command(self, command: list[str], stop: threading.Event) -> ProgramResult:
        with self.shutdown.during(stop):
            return program.run_until_stopped(command, cwd=self.cwd, environment=self.environment, stop=stop)

    def _command(self, name: str, arguments: Mapping[str, Any]) -> list[str]:
        tools = mcp_tools.tools()
        if name not in tools:
            raise SowError(f"unknown tool {name!r:.60}", f"the tools are: {', '.join(tools)}")
        root = [f"--root={self.root}"] if self.root else []
        return [sow_path(), *root, *mcp_tools.command_arguments(tools[name], arguments)]


def _agent_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of tool calls: a client is an agent, and its CLI asks no person about them."""
    variables = {name: value for name, value in environment.items() if name != caller.ASKS}
    return variables if variables.get("SOW_TASK") else {**variables, "SOW_AGENT": ORCHESTRATOR}


def _tool_result(result: ProgramResult) -> types.CallToolResult:
    """Returns the output of a command; a JSON object also as structured content."""
    text = result.out.strip()
    if result.code:
        return _result(
            "\n".join(part for part in (result.err.strip(), text, f"exit code {result.code}") if part), wrong=True
        )
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    output = "\n".join(part for part in (text, result.err.strip()) if part)
    return _result(output, document=document if isinstance(document, dict) else None)


def _result(text: str, *, document: dict[str, Any] | None = None, wrong: bool = False) -> types.CallToolResult:
    content = types.TextContent(text=escape_control(text))
    return types.CallToolResult(content=[content], structured_content=document, is_error=wrong)


def serve(*, root: str, cwd: str, environment: Mapping[str, str]) -> int:
    """Serves until the client disconnects."""
    handlers = ToolServer(root=root, cwd=cwd, environment=environment)
    server: Server[Any] = Server(
        "sow",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )
    handlers.shutdown.watch()
    anyio.run(handlers.serve, server)
    return 0
