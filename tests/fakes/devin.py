"""A stand-in for `devin -p`, the command line of Windsurf: one turn, plain text, commands only in dangerous mode."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conversation import directives, run


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="devin")
    parser.add_argument("--version", action="version", version="devin 2026.3.1")
    parser.add_argument("-p", "--print", action="store_true")
    parser.add_argument("--prompt-file")
    parser.add_argument("--model")
    parser.add_argument("--permission-mode", choices=("normal", "dangerous", "bypass"), default="normal")
    return parser.parse_args()


def main() -> int:
    given = options()
    prompt = Path(given.prompt_file).read_text() if given.prompt_file else ""
    if not (given.print and prompt.strip()):
        print("Error: no prompt", file=sys.stderr)
        return 1
    for verb, rest in directives(prompt):
        if verb == "fail":
            print(rest, file=sys.stderr)
            return 1
        if verb == "say":
            print(rest)
        elif given.permission_mode == "normal":
            print(f"I may not run: {rest}")
        else:
            print(run(rest, "."), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
