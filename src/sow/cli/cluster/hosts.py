"""Lists the commands for turns on other machines: `sow turn`, which sow itself starts there."""

from __future__ import annotations

from sow.cli.command import Argument, Command

TOKEN = Argument("token", "The name of the request")

COMMANDS = (
    Command("turn offers", "cluster.turn:offers", "Say what this machine offers to others, as JSON"),
    Command(
        "turn start",
        "cluster.turn:start",
        "Take a turn that another machine sent, and follow it",
        TOKEN,
        details="The turn runs on if the connection breaks: the same command attaches to it.",
    ),
    Command("turn stop", "cluster.turn:stop", "Interrupt a turn; what it did is still packed", TOKEN),
    Command("turn run", "cluster.turn:run", "Take a turn in this process", TOKEN),
)
