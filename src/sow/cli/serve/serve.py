"""Lists the commands that serve tools and pages, and starts the MCP server (`sow mcp`, `sow ui`, `sow demo`)."""

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
        "Serve commands as MCP tools on standard input and output",
        Option("--list", help="List the tools"),
        json=True,
        details="Each tool call runs a sow command in the server's environment, with the same limits as in the shell.\n"
        "This needs the package mcp: pip install 'sow[mcp]'",
    ),
    Command(
        "ui",
        "serve.ui:ui",
        "Show the project, runs and inbox in the browser",
        Option("--port", "P", "Listen on this port (default: 7690, or the next free one)"),
        Option("--open", help="Open the page in your browser"),
        Option("--read-only", help="Do not allow answers, approvals or stops"),
        json=True,
        details="sow listens on 127.0.0.1 only. The address has a token for one browser.\n"
        "For another browser, run 'sow ui' again. From another machine: ssh -L 7690:127.0.0.1:7690 HOST",
    ),
    Command(
        "demo",
        "serve.demo:demo",
        "Show a run of eight tasks with simulated agents",
        Option("--keep", "DIR", "Use this new or empty folder (default: a temporary one)"),
        Option("--no-ui", help="Do not serve the dashboard"),
        details="The demo needs no account and no network: the agents are scripts, and everything else is real.\n"
        "It takes half a minute. The repository stays, so that you can look at it.",
    ),
)
