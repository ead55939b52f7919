"""R16: reviews end, and doubt is never GREEN."""

from __future__ import annotations

import json
from itertools import product

import pytest
from conftest import FULL
from support.quick_cases import all_of
from support.samples import NOW, task
from support.task_histories import MOST_ANSWERS, History

from sow.domain.reviews.finding import read
from sow.domain.reviews.verdict import Verdict, combined, may_retry, parse
from sow.domain.runs.stages import LOOP, next_stage, times_asked

SEEDS = 20_000 if FULL else 1500
CRASHED = 1000 if FULL else 50
BLOCKS = 10
blocks = pytest.mark.parametrize("block", range(BLOCKS))
NONCE = "7d1f0c52a9e84b63"


@blocks
def test_every_history_ends(block):
    """For any worker, check, reviewer and merge a task ends, and RED sends it back as often as allowed."""
    ends = set()
    for seed in range(block, SEEDS, BLOCKS):
        history = History(seed)
        ends.add(history.play())
        assert history.disk.get("retry_count", 0) <= history.retries, seed
        assert history.answers <= MOST_ANSWERS, seed
        tries = 1 + history.retries + history.answers + history.stages.count("send_back") + history.stages.count("ask")
        assert history.disk["iteration"] <= tries, seed
    assert ends == {"completed", "failed", "paused"}


@blocks
def test_a_crash_anywhere_changes_nothing(block):
    """Killed at any call, a history ends with the same state, byte for byte, and the same merges."""
    crashes = 0
    for seed in range(block, CRASHED, BLOCKS):
        calm = History(seed)
        calm.play()
        for door in range(1, calm.doors + 1):
            crashed = History(seed, die_at=door)
            crashed.play()
            assert crashed.disk == calm.disk, (seed, door)
            assert crashed.merges == calm.merges, (seed, door)
            crashes += 1
    assert crashes > 5 * CRASHED / BLOCKS


def handed_in(iteration: int = 1, *verdicts: str, used: int = 0, rule: str = "") -> dict:
    """A task with a review of each iteration so far."""
    reviews = [
        {
            "iteration": number,
            "commit": "1" * 40,
            "verdict": flag,
            "by": "quality-control",
            "at": NOW,
            "findings": [read({"severity": "error", "text": "No", "rule": rule or f"rule {number}"})],
        }
        for number, flag in enumerate(verdicts, 1)
    ]
    work = {"iteration": iteration, "base": "0" * 40, "commit": "1" * 40, "tree": "2" * 40}
    return task(status="needs_review", iteration=iteration, retry_count=used, work=work, reviews=reviews)


def stage(given: dict, *, retries: int = 2, reviewers: int = 1) -> str:
    return next_stage(given, merged={}, reviewers=reviewers, retries=retries)[0]


@pytest.mark.parametrize("retries", range(4))
def test_red_is_sent_back_up_to_the_limit(retries):
    """RED is sent back as often as allowed, and the next one is a person's."""
    seen = []
    for used in range(retries + 2):
        seen.append(stage(handed_in(used + 1, *["RED"] * (used + 1), used=used), retries=retries))
    assert seen == ["send_back"] * retries + ["ask"] * 2


def test_a_repeated_finding_is_a_question():
    """A finding that the last iteration did not fix goes to a person, though retries are left; others are sent back."""
    assert stage(handed_in(2, "RED", "RED", used=1, rule="tests"), retries=9) == "ask"
    assert stage(handed_in(2, "RED", "RED", used=1), retries=9) == "send_back"
    between = handed_in(3, "RED", "RED", "RED", used=2, rule="tests")
    between["reviews"][1]["findings"] = [read({"severity": "error", "text": "Other", "rule": "docs"})]
    assert stage(between, retries=9) == "send_back"


CHANGES = {
    "a time": ("12:03:59.120", "12:07:01.003"),
    "a date": ("2026-11-16T16:22:33Z", "2026-11-17 09:00:01,500"),
    "a duration": ("0.12s", "3.4 seconds"),
    "a long duration": ("1m30s", "12 ms"),
    "a temporary path": ("/tmp/pytest-of-ada/pytest-12/a0", "/tmp/tmp.Xy12"),
    "a process": ("pid 4711", "pid: 42"),
    "a process in brackets": ("worker[4711]:", "worker[52]:"),
    "an address": ("<Thing at 0x7f0f417041d0>", "<Thing at 0x55d0>"),
    "a slot": (".sow/local/worktrees/slot-1/a.py", ".sow/local/worktrees/slot-2/a.py"),
}


@all_of("name", CHANGES)
def test_changing_details_do_not_make_another_finding(name):
    """Times, durations, temporary paths, process ids and addresses in a text do not make it a new finding."""
    first, second = (read({"text": f"it fails: {change} and stops"})["id"] for change in CHANGES[name])
    assert first == second


@pytest.mark.parametrize(("one", "other"), [("2 failed", "1 failed"), ("a[3] is 5", "a[4] is 5"), ("x != 7", "x != 8")])
def test_other_numbers_make_another_finding(one, other):
    """Counts, indexes and values that differ make another finding."""
    assert read({"text": one})["id"] != read({"text": other})["id"]


def test_a_repeated_note_is_no_question():
    """Only errors count as the same finding again."""
    noted = handed_in(2, "RED", "RED", used=1, rule="tests")
    noted["reviews"][1]["findings"][0] = read({"severity": "note", "text": "No", "rule": "tests"})
    assert stage(noted) == "send_back"


@pytest.mark.parametrize("flag", ["GREEN", "YELLOW"])
def test_only_green_and_yellow_pass(flag):
    """GREEN and YELLOW go to the merge queue, whatever was RED before."""
    assert stage(handed_in(2, "RED", flag)) == "merge"


@pytest.mark.parametrize("reviewers", [1, 2, 3])
def test_no_verdict_is_no_pass(reviewers):
    """While a review is missing, the next stage is the review, and an older one does not count."""
    assert stage(handed_in(2, *["GREEN"]), reviewers=reviewers) == "review"
    there = handed_in(1, "GREEN")
    assert stage(there, reviewers=reviewers) == ("merge" if reviewers == 1 else "review")
    there["reviews"][0]["commit"] = "9" * 40
    assert stage(there, reviewers=reviewers) == "review"


FLAGS = ("GREEN", "YELLOW", "", None, "RED")


@all_of("flags", list(product(FLAGS, repeat=3)))
def test_several_reviewers_are_as_strict_as_the_strictest(flags):
    """With three reviewers only GREEN and YELLOW of all of them pass, and one RED is RED."""
    together = combined([None if flag is None else Verdict(flag) for flag in flags])
    assert together.passes == (set(flags) <= {"GREEN", "YELLOW"})
    assert (together.flag == "RED") == ("RED" in flags)
    assert (together.flag == "GREEN") == (set(flags) == {"GREEN"})


@pytest.mark.parametrize("text", ["", "I looked at it.", "Quality Control: PURPLE", "{}", json.dumps({"nonce": NONCE})])
def test_a_doubt_is_treated_like_red(text):
    """An answer without a verdict does not pass, and the work is not repeated."""
    verdict = parse(text, NONCE)
    assert not verdict.passes
    assert verdict.doubt
    assert not may_retry(verdict.flag, 0, 9)


def asked(times: int, *, other: int = 0) -> dict:
    """A paused task that has asked the same before, and other questions."""
    kept = {"number": 1, "asked_at": NOW, "answer": "a", "answered_at": NOW, "answered_by": "ada"}
    texts = ["Should the e-mail address be unique?"] * (times - 1) + [f"Question {number}?" for number in range(other)]
    question = {"number": 9, "text": "should the E-mail address be unique", "asked_at": NOW}
    return task(status="paused", question=question, questions=[{**kept, "text": text} for text in texts])


def test_the_same_question_three_times_is_a_loop():
    """The count of equal questions is read from the task's history on disk, and the third is reported."""
    for times in range(1, 6):
        given = asked(times, other=3)
        assert times_asked(given) == times
        name, why = next_stage(given, merged={}, reviewers=1, retries=2)
        assert name == "wait"
        assert ("the same" in why) == (times >= LOOP)
    assert times_asked(task()) == 0
