"""Reads scenario files, which say what the simulated agent does, by task and turn.

```yaml
tasks:
  "010":                      # or `default`, for every other task
    - - say: I look at the task
      - write: {path: src/login.py, text: "def login(): ...\n"}
      - run: python -m pytest -q
      - status: needs_review
    - - say: Second turn      # what it does when it is resumed
      - status: needs_review
```
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from yaml12 import parse_yaml

from sow.errors import SowError

MAX_BYTES = 1 << 20
WANTED = "each line after a bar"  # the line before a planner's goal
MOST_GOAL = 80  # characters
NONCE = 36  # characters of a UUID
NONCE_LETTERS = frozenset("0123456789abcdef-")
Step = dict[str, Any]

# The steps without a scenario: a small piece of work.
DEFAULT: list[Step] = [
    {"show": True},
    {"say": "I write a file about the task and hand it in."},
    {"write": {"path": "simulated/{task}.md", "text": "Work on task {task}, turn {turn}.\n"}},
    {"log": "Wrote simulated/{task}.md"},
    {"status": "needs_review"},
]
# The answers of a judge without a scenario, by the title of the form that its prompt asks for.
JUDGEMENTS = {
    "BEGIN PLAN": """\
BEGIN PLAN {nonce}
# {goal}

## Task 1: Do it: {goal}
**File(s)**: simulated/010.md
**Estimated time**: 10m

Do what the goal says: {goal}

**Success Criteria**:
- the goal is met

## Task 2: Describe it
**File(s)**: simulated/020.md
**Depends on**: 1
**Estimated time**: 5m

Describe in the documentation what task 1 has changed.

**Success Criteria**:
- the description is true
END PLAN {nonce}""",
    "Quality Control:": "Quality Control: GREEN\n\nFeedback: A simulated review. Nobody read the work.",
    "Verification:": "Verification: PASSED\n\nFeedback: A simulated verification. Nobody read the work.",
}


def steps(
    path: str, environment: Mapping[str, str], *, turn: int, prompt: str = "", judging: bool = False
) -> list[Step]:
    """Returns the steps for this turn of this task; the last scripted turn repeats."""
    task = environment.get("SOW_TASK", "default")
    values = {"task": task, "turn": str(turn), "agent": environment.get("SOW_AGENT", ""), "nonce": nonce_in(prompt)}
    values["goal"] = goal_in(prompt)
    title = max(JUDGEMENTS, key=prompt.rfind)
    if not path and judging and title in prompt:
        return [_fill({"say": JUDGEMENTS[title]}, values)]
    if not path:
        return [_fill(step, values) for step in DEFAULT]
    turns = _turns(_read(path), task, path)
    return [_fill(step, values) for step in turns[min(turn, len(turns)) - 1]]


def nonce_in(prompt: str) -> str:
    """Returns the one-time code that the prompt asks a judge to return: the UUID after the last `nonce `."""
    after = prompt.rpartition("nonce ")[2] if "nonce " in prompt else ""
    return after[:NONCE] if len(after) >= NONCE and NONCE_LETTERS.issuperset(after[:NONCE]) else ""


def goal_in(prompt: str) -> str:
    """Returns the first line of what a planner is asked for."""
    after = prompt.rpartition(WANTED)[2] if WANTED in prompt else ""
    lines = (line.removeprefix("| ").strip("#* ") for line in after.split("\n")[1:])
    return next((line for line in lines if line), "Nothing")[:MOST_GOAL]


def _read(path: str) -> Any:
    try:
        if os.path.getsize(path) > MAX_BYTES:
            raise SowError(f"{path}: larger than {MAX_BYTES >> 10} KiB", "keep the scenario small")
        with open(path, encoding="utf-8") as file:
            return parse_yaml(file.read())
    except OSError as error:
        raise SowError(f"{path}: {error.strerror}", "give the path of a scenario file") from None
    except ValueError as error:
        raise SowError(f"{path}: {error}", "a scenario is a YAML file") from None


def _turns(data: Any, task: str, path: str) -> list[list[Step]]:
    tasks = data.get("tasks") if isinstance(data, dict) else None
    script: Any = (tasks.get(task) or tasks.get("default")) if isinstance(tasks, dict) else None
    turns: list[list[Step]] = script if isinstance(script, list) else []
    are_lists = turns and all(isinstance(turn, list) for turn in turns)
    if not are_lists or not all(isinstance(step, dict) and len(step) == 1 for turn in turns for step in turn):
        raise SowError(
            f"{path}: no turns for task {task}", "tasks: {default: [[{say: hello}, {status: needs_review}]]}"
        )
    return turns


def _fill(value: Any, values: Mapping[str, str]) -> Any:
    """Replaces {task}, {turn}, {agent} and {nonce} in every text."""
    if isinstance(value, str):
        for name, text in values.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, dict):
        return {key: _fill(item, values) for key, item in value.items()}
    return [_fill(item, values) for item in value] if isinstance(value, list) else value
