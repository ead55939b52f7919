"""Runs `python -m sow.simulated --session-id ID | --resume ID [--scenario FILE]` with the prompt on stdin."""

from __future__ import annotations

import argparse
import os
import sys

from sow.errors import SowError
from sow.simulated import scenario, stream
from sow.simulated.player import Memory, ScenarioPlayer


def main() -> int:
    parser = argparse.ArgumentParser(prog="sow.simulated")
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--session-id")
    group.add_argument("--resume")
    parser.add_argument("--model", default="simulated-1")
    parser.add_argument("--scenario", default=os.environ.get("SOW_SIMULATED_SCENARIO", ""))
    parser.add_argument("--read-only", action="store_true")
    options = parser.parse_args()
    prompt = sys.stdin.read()
    memory = Memory(options.resume or options.session_id, os.environ)
    if options.resume and not memory.exists():
        sys.stderr.write(f"No conversation found with session ID: {options.resume}\n")
        return 1
    if options.session_id and memory.exists():
        sys.stderr.write(f"Error: Session ID {options.session_id} is already in use.\n")
        return 1
    history = memory.add(prompt)
    try:
        steps = scenario.steps(
            options.scenario, os.environ, turn=len(history), prompt=prompt, judging=options.read_only
        )
    except SowError as error:
        sys.stderr.write(f"scenario: {error.message}\n")
        return 2
    voice = stream.OutputWriter(memory.session, options.model)
    voice.begin(history)
    return ScenarioPlayer(voice, read_only=options.read_only, prompt=prompt).play(steps)


if __name__ == "__main__":
    sys.exit(main())
