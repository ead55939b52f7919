"""Refused tool calls of a task are counted per iteration and become one concern."""

from __future__ import annotations

from typing import Any

from support.samples import NOW, task

from sow.domain.checks import refusals
from sow.domain.inbox import items


def refusal(command: str = "npm install", **changes: Any) -> Any:
    facts = {"iteration": 1, "tool": "Bash", "command": command, "reason": "no", "count": 1, "at": NOW}
    return {**facts, "executor": "claude-code", **changes}


def test_repeated_refusals_are_counted() -> None:
    """A second turn of the iteration adds to the count; the task has one concern, which names all commands."""
    first = refusals.record(task(), [refusal(), refusal("curl x", count=2)])
    second = refusals.record(first, [refusal(count=3)])
    assert [(refusal["command"], refusal["count"]) for refusal in second["refusals"]] == [
        ("npm install", 4),
        ("curl x", 2),
    ]
    (concern,) = second["concerns"]
    assert (concern["iteration"], concern["kind"]) == (1, "refused")
    assert "6 commands refused: npm install (4 times), curl x (2 times)" in concern["text"]


def test_reading_a_turn_again_counts_nothing_twice() -> None:
    """After a crash the output is read again: known refusals stay, and missing ones are added."""
    before = refusals.record(task(), [refusal(count=2)])
    assert refusals.record(before, [refusal(count=2)], again=True) is before
    after = refusals.record(before, [refusal(count=2), refusal("curl x")], again=True)
    assert [refusal["count"] for refusal in after["refusals"]] == [2, 1]


def test_other_concerns_and_other_iterations_stay() -> None:
    """Only the concern about refusals of the same iteration is replaced."""
    others = [
        {"iteration": 1, "kind": "no_changes", "text": "no changes"},
        {"iteration": 1, "kind": "refused", "text": "before"},
    ]
    changed = refusals.record(task(iteration=2, concerns=others), [refusal(iteration=2)])
    assert changed["concerns"][:2] == others and len(changed["concerns"]) == 3


def test_the_number_of_refusals_is_limited() -> None:
    """A worker that is refused without end does not fill its task."""
    many = [refusal(f"command {number}") for number in range(1000)]
    assert len(refusals.record(task(), many)["refusals"]) == refusals.MOST


def test_the_words_of_a_refusal() -> None:
    """A shell command is shown alone, another tool is named, and every text fits on one line."""
    assert refusals.call_text("Bash", "a\nb\x1b[2J") == "a b [2J"
    assert refusals.call_text("Write", "/etc/x") == "Write /etc/x"
    assert refusals.call_text("Bash", "") == "Bash"
    assert len(refusals.call_text("Bash", "x" * 5000)) == refusals.LONGEST
    assert refusals.sentence([refusal()]) == "1 command refused: npm install"
    assert refusals.sentence([refusal(str(number)) for number in range(9)]).endswith("4, 4 more")
    assert "agents.executors.claude-code.settings.yolo_mode: true" in refusals.advice([refusal()])
    assert refusals.sentence([]) == refusals.advice([]) == ""


def test_the_inbox_names_refusals_and_the_setting() -> None:
    """A question, failed work and work to review have a remark; the text of the question stays as it is."""
    question = {"number": 1, "text": "how?", "asked_at": NOW}
    for changes in ({"status": "paused", "question": question}, {"status": "failed"}, {"status": "needs_review"}):
        (item,) = items([task(**changes, refusals=[refusal()])], [], {})
        assert item["remark"].startswith("1 command refused: npm install; ")
        assert "refused" not in item["text"]


def test_a_question_names_the_refusals_of_its_iteration() -> None:
    """Refusals of earlier iterations are not named."""
    question = {"number": 1, "text": "how?", "asked_at": NOW}
    asked = task(status="paused", iteration=2, question=question, refusals=[refusal(iteration=2)])
    assert refusals.current_refusals(asked) == [refusal(iteration=2)]
    assert refusals.current_refusals({**asked, "iteration": 3}) == []
    assert refusals.current_refusals(task(status="failed", iteration=3, refusals=[refusal(iteration=2)])) == []
