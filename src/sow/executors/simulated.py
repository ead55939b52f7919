"""The simulated agent: a scripted program of this package that talks like Claude Code and needs no account."""

from __future__ import annotations

import os
import sys

from sow.executors.adapter import GIVEN, Call, Capabilities, Request
from sow.executors.claude import Claude


class Simulated(Claude):
    type = "simulated"
    opening = None
    capabilities = Capabilities(
        binary=sys.executable,
        install="it comes with sow",
        session=GIVEN,
        read_only=True,
        reports_cost=True,
        reports_tokens=True,
        variables=("SOW_SIMULATED_",),
        version_words=("-m", "sow", "--version"),
    )

    def _call(self, request: Request, session: list[str]) -> Call:
        words = ["-m", "sow.simulated", *session]
        words += ["--model", request.model] if request.model else []
        scenario = request.extra.get("scenario")
        words += [f"--scenario={os.path.expanduser(str(scenario))}"] if scenario else []
        words += ["--read-only"] if request.role.judges else []
        return Call([*words, *request.custom_args])
