"""Comments on the lines of a task's changes: drafts, one feedback, and their places in the next iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.plan_repo import PlanRepo

from browser.accessibility import focused, overflows, violations
from browser.tabs import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FIRST = "printf 'import os\\n\\ndef load():\\n    return os.environ\\n\\ndef save():\\n    pass\\n' > app.py\n"
SECOND = "printf 'import os\\nimport sys\\n\\ndef load():\\n    return {}\\n\\ndef save():\\n    pass\\n' > app.py\n"


@pytest.fixture
def reviewed(plan_repo: PlanRepo) -> PlanRepo:
    """A run whose only task waits for a person with its first iteration."""
    plan_repo.act("implementer-010-1", FIRST)
    plan_repo.act("implementer-010-2", SECOND)
    plan_repo.judge("010", "RED", "GREEN")
    plan_repo.plan("First")
    assert plan_repo.run("--retries", "0").code == 4
    return plan_repo


def number(page: Page, line: int) -> Locator:
    return page.get_by_role("button", name=f"Comment on line {line}", exact=True)


def test_comments_are_sent_together_and_shown_again(reviewed: PlanRepo, serve: Any, tabs: Tabs):
    """Two drafts survive a reload and go as one feedback; the next iteration shows one at its new line, and the one
    whose line changed as outdated with the line as it was. Everything can be done with the keyboard."""
    from playwright.sync_api import expect

    server = serve(reviewed.repo)
    page = tabs.visit(server, "task/010/diff")
    number(page, 1).focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert focused(page) == "Comment on line 4"
    page.keyboard.press("Enter")
    page.keyboard.type("Read one <name> only")
    page.keyboard.press("Escape")
    assert focused(page) == "Comment on line 4"
    number(page, 7).click()
    page.get_by_label("Comment on line 7 of app.py").fill("Write it")
    bar = page.get_by_test_id("send-comments")
    expect(bar).to_contain_text("2 comments, not sent")
    page.reload()
    expect(page.get_by_label("Comment on line 4 of app.py")).to_have_value("Read one <name> only")
    expect(bar).to_contain_text("2 comments, not sent")
    assert violations(page) == []
    page.get_by_label("About the whole work").fill("Almost")
    page.get_by_test_id("send-feedback").click()
    expect(page.get_by_test_id("outcome")).to_contain_text("010 gets your comments with its next iteration.")
    expect(page.get_by_test_id("line-comment")).to_have_count(2)
    expect(bar).not_to_contain_text("not sent")
    feedback = reviewed.repo.task("010")["feedback"][-1]
    assert feedback["text"].startswith("Almost\n\n### app.py:4\n\n> return os.environ\n\nRead one <name> only")
    reviewed.repo.ok("answer", "1", "As I commented")
    assert reviewed.run().code == 0
    expect(page.get_by_role("button", name="Iteration 2")).to_have_attribute("aria-pressed", "true")
    moved = page.locator("tr[data-line='8'] + tr").get_by_test_id("line-comment")
    expect(moved).to_contain_text("Write it")
    expect(moved).to_contain_text("was app.py:7")
    page.get_by_text("1 outdated comment").click()
    outdated = page.get_by_test_id("line-comment").filter(has_text="outdated")
    expect(outdated).to_contain_text("return os.environ")
    expect(outdated).to_contain_text("Read one <name> only")
    expect(number(page, 1)).to_have_count(0)  # the task is completed, so there is nothing to send
    assert violations(page) == []


@pytest.mark.parametrize(("theme", "phone"), [("light", False), ("dark", False), ("light", True)])
def test_comments_fit_every_screen(reviewed: PlanRepo, serve: Any, tabs: Tabs, theme: str, phone: bool):
    """Drafts, sent comments and the bar are readable in both themes, and fit the width of a phone."""
    from playwright.sync_api import expect

    arguments = ("--at", "app.py:4", "Read one name only, and say in the error which one was missing.")
    reviewed.repo.ok("feedback", "add", "010", *arguments)
    page = tabs.visit(serve(reviewed.repo), "task/010/diff", theme=theme, phone=phone)
    expect(page.get_by_test_id("line-comment")).to_be_visible()
    number(page, 6).click()
    page.get_by_label("Comment on line 6 of app.py").fill("Name what it saves")
    expect(page.get_by_test_id("send-comments")).to_contain_text("1 comment, not sent")
    assert (violations(page), overflows(page)) == ([], [])
