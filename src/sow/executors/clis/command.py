"""Runs any program that follows the state-file protocol: prompt on stdin, task in SOW_* variables, result in state."""

from __future__ import annotations

from sow.executors.adapter import GIVEN, Adapter, AgentCommand, Capabilities, Event, Request


class CommandLine(Adapter):
    type = "command"
    capabilities = Capabilities(
        binary="",
        install="its program is the first word of settings.command",
        session=GIVEN,
        structured=False,
        model=False,
        version_arguments=(),
    )
    exits_without_result = True

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        """Returns the arguments; a program that keeps conversations finds its own by SOW_SESSION."""
        command, turn = request.extra.get("command"), "resume" if resumes else "spawn"
        arguments = [str(argument) for argument in command[1:]] if isinstance(command, list) else []
        return AgentCommand(
            [*arguments, *request.custom_args], environment={"SOW_SESSION": request.session, "SOW_TURN": turn}
        )

    def read(self, line: str) -> list[Event]:
        return [Event("raw", line)]
