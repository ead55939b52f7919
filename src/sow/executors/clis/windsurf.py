"""Runs Windsurf as `devin -p`, without a session id that sow could choose. Follows its documentation; not tested."""

from __future__ import annotations

from sow.executors.adapter import NONE, Adapter, AgentCommand, Capabilities, Event, Request


class Windsurf(Adapter):
    type = "windsurf"
    capabilities = Capabilities(
        binary="devin",
        install="see https://docs.devin.ai/cli",
        session=NONE,
        resumes=False,
        structured=False,
        needs_yolo=True,
        stops_group=True,
        obeys=(".devin", ".windsurf/hooks.json"),
        variables=("DEVIN_API_KEY", "WINDSURF_API_KEY"),
        required_flags=("-p", "--prompt-file", "--model", "--permission-mode"),
    )
    exits_without_result = True

    def spawn_command(self, request: Request) -> AgentCommand:
        arguments = ["-p", "--prompt-file", "/dev/stdin"]
        arguments += ["--model", request.model] if request.model else []
        arguments += ["--permission-mode", "dangerous"] if request.yolo and not request.role.reads_only else []
        return AgentCommand([*arguments, *request.custom_args])

    def read(self, line: str) -> list[Event]:
        return [Event("raw", line)] if line.strip() else []
