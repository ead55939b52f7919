"""Acts of a person in the page: answer, approve, send back, retry, abandon and stop, as with the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from browser.paused_run import Gated, card, done
from browser.shop_run import WAITS, settings
from browser.tabs import Tabs, shifted

if TYPE_CHECKING:
    from playwright.sync_api import Page

ASK = "Which colour shall the button have?"


@pytest.fixture
def gated(plan_repo: Any) -> Gated:
    return Gated(plan_repo)


def do(page: Page, name: str, text: str = "") -> None:
    """Opens an act, fills in its fields, and sends it."""
    if page.get_by_test_id(f"go-{name}").count() == 0:
        page.get_by_test_id(f"act-{name}").click()
    if text:
        page.get_by_test_id(f"text-{name}").fill(text)
    page.get_by_test_id(f"go-{name}").click()


def test_an_answer_continues_the_run(gated: Gated, serve: Any, tabs: Tabs):
    """A question appears by itself, its answer reaches the worker, and the same run ends well."""
    from playwright.sync_api import expect

    gated.work("{task}", t010=[[{"ask": ASK}], [{"say": "Thank you"}, *done()]])
    gated.repo.ok("init")
    server = serve(gated.repo)
    page = tabs.open(server.address)
    page.get_by_test_id("page-board").wait_for()
    gated.start("First", "Second")
    expect(card(page, "010", "paused")).to_contain_text(ASK)
    expect(page.get_by_test_id("inbox-count")).to_contain_text("1")
    page.keyboard.press("g")
    page.keyboard.press("i")
    item = page.get_by_test_id("ask-1")
    expect(item).to_contain_text(ASK)
    do(page, "answer", "Green, like the <grass>")
    expect(page.get_by_test_id("outcome")).to_contain_text("The run continues by itself.")
    expect(page.get_by_test_id("inbox-count")).to_have_count(0)
    gated.says("010", "completed")
    page.keyboard.press("g")
    page.keyboard.press("b")
    card(page, "010", "completed").wait_for()
    gated.open("020")
    assert gated.ended() == 0
    prompt = gated.repo.root / ".sow/local/sessions/010/1/turn-002.prompt"
    assert "Green, like the <grass>" in prompt.read_text()


def test_an_answer_is_confirmed_after_its_question_is_gone(gated: Gated, serve: Any, tabs: Tabs):
    """The page confirms an answer even when the question leaves the inbox before the server's reply arrives."""
    from playwright.sync_api import Route, expect

    gated.work("{task}", t010=[[{"ask": ASK}], done()])
    gated.start("First", "Second")
    gated.says("010", "paused")
    page = tabs.visit(serve(gated.repo), "inbox")

    def reply_late(route: Route) -> None:
        reply = route.fetch()
        expect(page.get_by_test_id("ask-1")).to_have_count(0)
        route.fulfill(response=reply)

    page.get_by_test_id("ask-1").wait_for()
    page.route("**/api/acts/answer", reply_late)
    do(page, "answer", "Green")
    expect(page.get_by_test_id("outcome")).to_contain_text("Green")
    gated.open("020")
    assert gated.ended() == 0


def test_the_inbox_does_not_jump(gated: Gated, serve: Any, tabs: Tabs):
    """While a run continues and asks more, the first question and the text in its field stay in place."""
    from playwright.sync_api import expect

    asks = {f"t0{n}0": [[gated.waiting(f"0{n}0"), {"ask": ASK}], done()] for n in (2, 3)}
    gated.work("{task}", t010=[[{"ask": ASK}], done()], **asks)
    gated.start("First", "Second", "Third", "Fourth")
    gated.says("010", "paused")
    page = tabs.visit(serve(gated.repo), "inbox")
    field = page.get_by_test_id("ask-1").get_by_test_id("text-answer")
    field.fill("Gre")
    place = field.bounding_box()
    for number, task in enumerate(("020", "030"), 2):
        gated.open(task)
        expect(page.get_by_test_id(f"ask-{number}")).to_contain_text(ASK)
    gated.open("040")
    gated.says("040", "completed")
    expect(page.get_by_test_id("inbox-count")).to_contain_text("3")
    assert (field.bounding_box(), field.input_value()) == (place, "Gre")
    assert shifted(page) < 0.1, page.evaluate("window.__shifts")
    for number in (1, 2, 3):
        gated.repo.ok("answer", str(number), "Green")
    for number in (1, 2, 3):
        expect(page.get_by_test_id(f"ask-{number}")).to_have_count(0)
    if gated.ended() == WAITS:  # the run ended before the answers, so the inbox says how to continue it
        expect(page.get_by_test_id("inbox-count")).to_contain_text("1")
        expect(page.get_by_test_id("page-inbox")).to_contain_text("plan.yaml --yes")


def test_work_is_approved_and_sent_back(repo: Any, serve: Any, tabs: Tabs):
    """On a task's page work is approved or sent back with feedback; the result is that of the commands."""
    from playwright.sync_api import expect

    for name in ("Good", "Not yet"):
        repo.ok("task", "create", "--name", name, "--agent", "implementer")
    for task in ("010", "020"):
        repo.ok("task", "set", "--id", task, "status", "in_progress")
        repo.ok("task", "set", "--id", task, "status", "needs_review")
    server = serve(repo)
    page = tabs.visit(server, "task/010")
    do(page, "approve")
    expect(page.get_by_test_id("page-task")).to_contain_text("Completed")
    state = repo.task("010")
    assert state["status"] == "completed" and state["approval"]["by"] == "ada"
    page.goto(server.at("task/020"))
    page.get_by_test_id("page-task").get_by_text("Not yet").first.wait_for()
    do(page, "send-back", "Refuse an empty name")
    expect(page.get_by_test_id("page-task")).to_contain_text("In progress")
    state = repo.task("020")
    assert (state["status"], state["iteration"]) == ("in_progress", 2)
    assert "Refuse an empty name" in (repo.task_folder("020") / "feedback/001.md").read_text()


@pytest.mark.parametrize("route", ["inbox", "task/010"])
def test_refused_work_is_accepted_with_a_reason(plan_repo: Any, serve: Any, tabs: Tabs, route: str):
    """RED work is accepted in the inbox and on the task's page; the form names the check that this waives (D5)."""
    from playwright.sync_api import expect

    plan_repo.plan({"test_commands": ["test -e never.txt"]})
    assert plan_repo.run("--retries", "0").code == WAITS
    page = tabs.visit(serve(plan_repo.repo), route)
    page.get_by_test_id("act-approve").click()
    sheet = page.locator("form", has=page.get_by_test_id("go-approve"))
    expect(sheet).to_contain_text("These checks fail and will not run again: test -e never.txt.")
    expect(sheet).to_contain_text("sow approve 010 --waive 'test -e never.txt' --reason")
    do(page, "approve", "it was never there")
    expect(page.locator("body")).to_contain_text("The work on 010 is accepted.")
    expect(page.get_by_test_id("act-approve")).to_have_count(0)
    task = plan_repo.task("010")
    assert (task["status"], task["approval"]["reason"]) == ("needs_review", "it was never there")
    assert [waiver["command"] for waiver in task["waivers"]] == ["test -e never.txt"]
    assert plan_repo.run().code == 0
    assert plan_repo.task("010")["status"] == "completed"


CHECK = """
import sys
for number in range(60):
    print(f"test {number} ok")
print("Traceback:")
print('    raise ValueError("<odd>")')
sys.exit(1)
"""


def test_a_failed_check_is_shown_as_it_was_printed(plan_repo: Any, serve: Any, tabs: Tabs):
    """Its inbox item and its task show the end of the output in a fixed width, with links to all of it (D6)."""
    from playwright.sync_api import expect

    (plan_repo.repo.root / "check.py").write_text(CHECK)
    plan_repo.repo.git("add", "check.py")
    plan_repo.repo.git("commit", "-q", "-m", "A check")
    plan_repo.plan({"test_commands": ["python3 check.py"]})
    assert plan_repo.run("--retries", "0").code == WAITS
    page = tabs.visit(serve(plan_repo.repo), "inbox")
    tail = page.get_by_test_id("failed-checks").locator("pre")
    expect(tail).to_contain_text('Traceback:\n    raise ValueError("<odd>")')
    assert "mono" in tail.evaluate("(node) => getComputedStyle(node).fontFamily").lower()
    seen = "(node) => node.scrollTop + node.clientHeight >= node.scrollHeight - 1"
    assert tail.evaluate(seen)
    expect(page.get_by_test_id("ask-1").locator(".inbox-text")).not_to_contain_text("Traceback")
    page.get_by_role("link", name="Full output").click()
    evidence = page.get_by_test_id("evidence")
    expect(evidence.locator("details[open]")).to_have_count(1)  # the failed check opens by itself
    expect(evidence).to_contain_text("test 0 ok")
    expect(evidence).to_contain_text("Traceback:")
    question = page.get_by_test_id("task-acts").bounding_box()
    tab = page.get_by_test_id("tab-evidence").bounding_box()
    assert question and tab and question["x"] > tab["x"] + tab["width"]
    assert abs(question["y"] - tab["y"]) < tab["height"]  # beside the tabs, and not above them


def test_a_question_is_folded_on_a_phone(plan_repo: Any, serve: Any, tabs: Tabs):
    """On a phone one line above the tabs announces the question, and opens it."""
    from playwright.sync_api import expect

    plan_repo.plan({"test_commands": ["test -e never.txt"]})
    assert plan_repo.run("--retries", "0").code == WAITS
    page = tabs.visit(serve(plan_repo.repo), "task/010", phone=True)
    question = page.get_by_test_id("task-acts")
    expect(question).to_contain_text("test -e never.txt")
    expect(page.get_by_test_id("go-answer")).to_be_hidden()
    box = question.bounding_box()
    assert box and box["height"] < 60
    question.locator("summary").click()
    expect(page.get_by_test_id("go-answer")).to_be_visible()


def test_a_failed_task_is_retried_or_abandoned(repo: Any, serve: Any, tabs: Tabs):
    """In the inbox a failed task is retried or abandoned with a reason; a refusal says why."""
    from playwright.sync_api import expect

    for name in ("Again", "Never"):
        repo.ok("task", "create", "--name", name, "--agent", "implementer")
    for task in ("010", "020"):
        repo.ok("task", "set", "--id", task, "status", "in_progress")
        repo.ok("task", "set", "--id", task, "status", "failed")
    server = serve(repo)
    page = tabs.visit(server, "inbox")
    first, second = page.get_by_test_id("ask-010"), page.get_by_test_id("ask-020")
    first.get_by_test_id("act-retry").click()
    first.get_by_test_id("go-retry").click()
    expect(page.get_by_test_id("outcome")).to_have_count(1)
    second.get_by_test_id("act-abandon").click()
    second.get_by_test_id("go-abandon").click()
    expect(page.get_by_test_id("outcome")).to_have_count(1)  # it needs a reason
    second.get_by_test_id("text-abandon").fill("Nobody wants it")
    repo.ok("task", "abandon", "020", "--reason", "somebody was faster")
    second.get_by_test_id("go-abandon").click()
    tabs.allow("status of 409", "status of 422")
    assert repo.task("010")["status"] == "in_progress"


@pytest.mark.parametrize("route", ["inbox", "task/010"])
def test_a_task_is_abandoned(repo: Any, serve: Any, tabs: Tabs, route: str):
    """In the inbox and on its page a task is abandoned: its file has the reason, and the board a column for it."""
    from playwright.sync_api import expect

    repo.ok("task", "create", "--name", "Never", "--agent", "implementer")
    for status in ("in_progress", "failed"):
        repo.ok("task", "set", "--id", "010", "status", status)
    server = serve(repo)
    watching = tabs.visit(server)
    card(watching, "010", "failed").wait_for()
    page = tabs.visit(server, route)
    do(page, "abandon", "Nobody <wants> it")
    card(watching, "010", "abandoned").wait_for()
    expect(watching.get_by_test_id("count-failed")).to_have_text("0")
    state = yaml.safe_load(repo.state("010"))["task"]
    assert (state["status"], state["abandoned_reason"]) == ("abandoned", "Nobody <wants> it")
    expect(page.get_by_test_id("inbox-count")).to_have_count(0)
    page.goto(server.at("board"))
    card(page, "010", "abandoned").wait_for()


def test_the_inbox_shows_the_reason(repo: Any, serve: Any, tabs: Tabs):
    """The item of a failed task shows how its turn ended and what the reviewer wrote."""
    from playwright.sync_api import expect

    scripts = {
        "worker": {"010": [[{"exit": 3}]], "default": [[{"status": "needs_review"}]]},
        "judge": {"default": [[{"say": "Quality Control: RED\n\nFeedback: Half of it is missing."}]]},
    }
    for name, tasks in scripts.items():
        repo.root.parent.joinpath(f"{name}.yaml").write_text(json.dumps({"tasks": tasks}))
    config = Path(repo.environment["HOME"]) / ".config/sow/config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps(settings(repo.root.parent)))
    repo.root.joinpath("plan.md").write_text("# P\n\n## Task 1: Breaks\n\nTry.\n\n## Task 2: Half\n\nTry.\n")
    repo.sow("run", "plan.md", "--yes", "--retries", "0")
    page = tabs.visit(serve(repo), "inbox")
    expect(page.get_by_test_id("ask-010")).to_contain_text("exit code 3")
    asked = page.get_by_test_id("ask-1")
    expect(asked).to_contain_text("Half of it is missing")
    expect(asked.get_by_test_id("go-answer")).to_be_visible()
    expect(asked.get_by_test_id("always")).to_have_count(0)  # what a run asks is decided anew each time


def test_a_run_is_stopped(gated: Gated, serve: Any, tabs: Tabs):
    """A live run is stopped from the page after a confirmation, and can be continued."""
    from playwright.sync_api import expect

    gated.start("First", "Second")
    gated.says("010", "in_progress")
    server = serve(gated.repo)
    page = tabs.open(server.address)
    card(page, "010", "in_progress").wait_for()
    page.get_by_test_id("stop").click()
    page.get_by_test_id("go-stop").click()
    assert gated.ended() != 0
    expect(page.get_by_test_id("run")).not_to_contain_text("Live")
