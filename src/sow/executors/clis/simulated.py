"""Runs the simulated agent: a scripted program in this package with Claude Code's output, without an account."""

from __future__ import annotations

import os
import sys

from sow.executors.adapter import GIVEN, AgentCommand, Capabilities, PrivateHome, Request
from sow.executors.clis.claude import Claude


class Simulated(Claude):
    type = "simulated"
    interactive_args = None
    capabilities = Capabilities(
        binary=sys.executable,
        install="it comes with sow",
        session=GIVEN,
        read_only=True,
        reports_cost=True,
        reports_tokens=True,
        variables=("SOW_SIMULATED_",),
        version_arguments=("-m", "sow", "--version"),
        private_home=PrivateHome(),
    )

    def needed_files(self, request: Request) -> list[str]:
        scenario = request.extra.get("scenario")
        return [os.path.expanduser(str(scenario))] if scenario else []

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        arguments = ["-m", "sow.simulated", "--resume" if resumes else "--session-id", request.session]
        arguments += ["--model", request.model] if request.model else []
        arguments += [f"--scenario={path}" for path in self.needed_files(request)]
        arguments += ["--read-only"] if request.role.judges else []
        return AgentCommand([*arguments, *request.custom_args])
