"""A run that is paused for a picture: some tasks are done, some in progress, one asks, one was sent back."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import yaml
from conftest import SOW, Repo, fresh_environment

from browser.shop_run import WAITS, has_entry, until

PATIENCE = 120
ANSWER = "Thirty days, and say so in the mail that goes out a week before"
QUESTION = "How long may a customer go back to an old invoice before it is archived?"

# name, needs, minutes, what a worker says; what stops at a gate shows a command that takes its time.
TASKS: tuple[tuple[str, list[int], int, str], ...] = (
    ("Customer records", [], 30, "A customer has a name, a mail address and a language."),
    ("Money with currencies", [], 25, "Amounts are whole cents, and never meet another currency."),
    ("Mail templates", [], 20, "One template for each language, checked when it is loaded."),
    ("Price list", [2], 40, "Prices have a day from which they hold."),
    ("Tax rules", [2], 45, "Rates by country and by kind of goods, each with its source."),
    ("Invoices", [1, 4, 5], 90, "An invoice is written once and never changed."),
    ("Payment reminders", [1, 3], 45, "Three steps, each a week after the one before."),
    ("Import of old orders", [1, 2], 60, "The old file has two formats, told apart by their first line."),
    ("Sign-in with a mail link", [1, 3], 50, "A link works once, for a quarter of an hour."),
    ("Archive", [1], 35, "How long must an invoice stay where a customer can reach it?"),
    ("Export for the accountant", [6], 40, "One file for each month, in the accountant's format."),
    ("Statistics", [6, 8], 30, "Sums by month, kind and country."),
    ("Customer pages", [6, 9], 80, "What a customer sees: invoices, payments, settings."),
    ("How to run it", [11, 13], 20, "A page that takes a newcomer from nothing to a first invoice."),
)
DETAILS = {
    6: """
- Numbers have no gaps: the next one is taken in the same transaction that writes the invoice.
- Every line has an article, a count, a price and a rate of tax; the sums are kept, and not made again.
- What was sent cannot be changed. A mistake is fixed with a **credit note** that names the invoice.

The layout comes later, with the customer pages. Look at `billing/tax_rules.py` for the rates.
""",
}
HELD = {"060": "invoices", "070": "reminders", "080": "import"}  # tasks that wait at a gate in their last turn
ASKS, SENT_BACK, IN_REVIEW = "100", "060", "090"
AT_ONCE = 6


def _ident(number: int) -> str:
    return f"{number * 10:03d}"


class Studio:
    """One repository with scripted agents, and its run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.open = folder / "open"
        home = fresh_environment(folder / "home")
        self.repo = Repo(folder / "billing", {**home, "PATH": f"{folder}/bin:{home['PATH']}"})
        self.process: subprocess.Popen[bytes] | None = None
        self._write("bin/check", f"#!/bin/sh\nuntil [ -e {self.open} ]; do sleep 0.1; done\n", 0o755)
        self._write("worker.yaml", json.dumps({"tasks": self._workers()}))
        self._write("judge.yaml", json.dumps({"tasks": self._judges()}))
        self._write("home/.config/sow/config.yaml", yaml.safe_dump(self._settings()))
        self._write("billing/plan.md", plan())
        self._write("billing/.gitignore", "__pycache__/\n")
        for item in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "A plan"]):
            self.repo.git(*item)

    def _write(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def _workers(self) -> dict[str, Any]:
        return {_ident(number): _turns(number) for number in range(1, len(TASKS) + 1)}

    def _judges(self) -> dict[str, Any]:
        good = {"say": "Quality Control: GREEN\n\nFeedback: It does what the task asks for, and its tests pass."}
        bad = "Quality Control: RED\n\nFeedback: An invoice that was sent can still be changed. Refuse it, and test it."
        holds = ["grep", "-q", "frozen\\.", "billing/invoices.py"]
        return {
            "default": [[good]],
            SENT_BACK: [[{"if": {"run": holds, "then": [good], "else": [{"say": bad}]}}]],
            IN_REVIEW: [[{"run": ["check", "tests/test_sign_in.py"]}, good]],
        }

    def _settings(self) -> dict[str, Any]:
        executors = {
            name: {"type": "simulated", "settings": {"scenario": f"{self.folder}/{file}.yaml"}}
            for name, file in {"claude": "worker", "codex": "judge"}.items()
        }
        bindings = {"implementer": "claude", "quality-control": "codex", "integrator": "claude"}
        return {"agents": {"executors": executors, "bindings": bindings}}

    def start(self) -> None:
        """`sow run` in the background."""
        self.process = subprocess.Popen(
            [SOW, "run", "plan.md", "--yes", "--max-concurrency", str(AT_ONCE)],
            cwd=self.repo.root,
            env=self.repo.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def run(self) -> Path:
        """The folder of the run."""
        return max((self.repo.root / ".sow/local/runs").iterdir())

    def stands(self) -> None:
        """Waits until every task has the status that the picture shows."""
        self.until("question")
        self.until("sent_back", task=SENT_BACK)
        self.until("turn_started", task=IN_REVIEW, kind="review")
        for task, name in HELD.items():
            self.until("step", task=task, text=f"Bash: check tests/test_{name}.py")

    def until(self, event: str, **facts: object) -> None:
        """Wait until the journal has such an entry."""
        until(lambda: has_entry(self.repo.root, event, facts), f"no {event} {facts}", PATIENCE)

    def finish(self) -> None:
        """Answers, opens all gates, and waits for the end."""
        self.repo.ok("answer", "1", ANSWER)
        self.open.touch()
        assert self.process
        if self.process.wait(timeout=PATIENCE) == WAITS:
            self.start()
        assert self.process.wait(timeout=PATIENCE) == 0

    def close(self) -> None:
        """End what is still running."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=PATIENCE)


CODE = '''"""{name}."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Record:
    number: int
    cents: int = 0

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ValueError(f"{{self.number}} is no number")
'''
SENT = '''

def changed(record: Record, sent: bool, cents: int) -> Record:
    """Another one with this amount; what was sent is frozen."""
    if sent:
        raise ValueError(f"{record.number} was sent: write a credit note instead")
    return Record(record.number, cents)
'''
TEST = """import unittest

from billing.{file} import Record


class Records(unittest.TestCase):
    def test_numbers_begin_with_one(self) -> None:
        with self.assertRaises(ValueError):
            Record(0)
"""


def _file(number: int) -> str:
    return TASKS[number - 1][0].lower().replace(" ", "_").replace("-", "_")


def _turns(number: int) -> list[list[dict[str, Any]]]:
    """Returns the turns of a task's worker."""
    name, _, _, text = TASKS[number - 1]
    ident, file, code = _ident(number), _file(number), CODE.format(name=name)
    work = [
        {"write": {"path": f"billing/{file}.py", "text": code}},
        {"write": {"path": f"tests/test_{file}.py", "text": TEST.format(file=file)}},
    ]
    held = [{"run": ["check", f"tests/test_{HELD[ident]}.py"]}] if ident in HELD else []
    end = [{"log": f"Wrote {name.lower()} with its tests"}, {"status": "needs_review"}]
    if ident == ASKS:
        return [[{"say": text}, {"ask": QUESTION}], [{"say": "Thirty days, then."}, *work, *end]]
    if ident == SENT_BACK:
        better = {"write": {"path": f"billing/{file}.py", "text": code + SENT}}
        return [[{"say": text}, *work, *end], [{"say": "True: what was sent is frozen."}, better, *held, *end]]
    return [[{"say": text}, {"sleep": 0.3}, *work, *held, *end]]


def plan() -> str:
    """The plan as people write it."""
    text = "# Billing for the online shop\n\nInvoices, payments and what customers see of them.\n\n"
    for number, (name, needs, minutes, texts) in enumerate(TASKS, 1):
        waits = ", ".join(f"Task {need}" for need in needs) or "None"
        text += f"## Task {number}: {name}\n**Depends on**: {waits}\n**Estimated time**: {minutes}m\n\n{texts}\n"
        text += f"{DETAILS.get(number, '')}\n"
        text += f"**Success Criteria**:\n- every rule of {name.lower()} has a test\n\n"
        text += f"**Test Commands**:\n```bash\npython3 -m unittest -q tests.test_{_file(number)}\n```\n\n"
    return text
