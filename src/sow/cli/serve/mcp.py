"""Starts the MCP server, which offers commands of sow as tools (`sow mcp`)."""

from __future__ import annotations

from sow.cli.command import Command, Option
from sow.cli.context import Context
from sow.errors import SowError


def mcp(context: Context, *, list: bool, json: bool) -> int:
    from sow.cli.serve import mcp_tools

    if list or json:
        return mcp_tools.show(json=json)
    try:
        from sow.cli.serve import mcp_server
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("mcp", "mcp_types", "anyio", "pydantic"):
            raise
        raise SowError(
            "the MCP server needs the package mcp, which is not installed",
            "install sow with it: pip install 'sow[mcp]'",
        ) from None
    return mcp_server.serve(root=context.root, cwd=context.cwd, environment=context.environment)


COMMANDS = (
    Command(
        "mcp",
        mcp,
        "Offer the verbs of a worker and of the orchestrator as MCP tools, on standard input and output",
        options=(Option("--list", help="List the tools instead"),),
        json=True,
        details="Each call of a tool is a call of sow with the same arguments, in the environment of this server: a\n"
        "worker's marks limit it as they do in the shell. Needs the package mcp: pip install 'sow[mcp]'.",
    ),
)
