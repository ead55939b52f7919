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
        "Offer the verbs of a worker and of the orchestrator as MCP tools, on standard input and output",
        Option("--list", help="List the tools instead"),
        json=True,
        details="Each call of a tool is a call of sow with the same arguments, in the environment of this server: a\n"
        "worker's marks limit it as they do in the shell. Needs the package mcp: pip install 'sow[mcp]'.",
    ),
    Command(
        "ui",
        "serve.ui:ui",
        "Show the project, its runs and its inbox in a browser",
        Option("--port", "P", "Listen on this port instead of 7690, or on the next free one after it"),
        Option("--open", help="Open the page in your browser"),
        Option("--read-only", help="Show everything, but let nobody answer, approve or stop anything"),
        json=True,
        details="Listens on 127.0.0.1 only. The address that it prints has a token for one browser; a second 'sow ui'\n"
        "in the same checkout prints the address of the first with a token for the next browser. From another\n"
        "machine: ssh -L 7690:127.0.0.1:7690 HOST. See docs/dashboard.md.",
    ),
    Command(
        "demo",
        "serve.demo:demo",
        "Show a run of eight tasks in a scratch repository, with simulated agents",
        Option("--keep", "DIR", "Make it in this folder, which is new or empty; without: a temporary one"),
        Option("--no-ui", help="Show no page in the browser"),
        details="No account, no network, nothing to install: the agents are scripts, and all the rest is real (files,\n"
        "tests, worktrees, reviews, merges). One task is sent back by its reviewer, one asks a question, and two\n"
        "change the same line. It takes half a minute; the repository stays for you to look at. Its page in the\n"
        "browser is there meanwhile: open the address, and answer the question there. On a terminal the page stays\n"
        "until you press Enter.",
    ),
)
