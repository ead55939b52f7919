"""The pages of a workflow: crew, graph and notes, and a question that a person answers there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.workflow_repo import WorkflowRepo

from browser.accessibility import violations
from browser.crew_run import CrewRun
from browser.navigation import go
from browser.tabs import Tabs


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[CrewRun]:
    result = CrewRun(tmp_path / "crew")
    yield result
    result.close()


def test_a_crew_is_watched_and_answered(crew: CrewRun, serve: Any, tabs: Tabs):
    """The page shows agents, dependencies and notes; after an answer in the inbox the crew completes its work."""
    from playwright.sync_api import expect

    server = serve(crew.repo)
    page = tabs.visit(server, "workflow")
    body = page.get_by_test_id("page-workflow")
    expect(body).to_contain_text("api")
    crew.start()
    expect(page.get_by_test_id("inbox-count")).to_contain_text("1", timeout=60_000)
    expect(body).to_contain_text("Which colour?")
    assert violations(page) == []
    assert crew.process and crew.process.wait(timeout=60) == 4
    expect(body).to_contain_text("Names are short")
    go(page, "inbox")
    page.get_by_test_id("text-answer").fill("Blue")
    page.get_by_test_id("go-answer").click()
    page.get_by_test_id("outcome").wait_for()
    crew.start()
    assert crew.process.wait(timeout=60) == 0
    go(page, "workflow")
    expect(body).to_contain_text("session complete")
    expect(body).to_contain_text("no open notes")
    go(page, "board")
    expect(page.get_by_test_id("card-api")).to_be_visible()


@pytest.mark.parametrize("route", ["workflow", "inbox"])
def test_a_design_is_approved(repo: Any, tmp_path: Path, serve: Any, tabs: Tabs, route: str):
    """A design is approved on its page and in the inbox: the state has the approver, and the run is the next step."""
    from playwright.sync_api import expect

    flow = WorkflowRepo(repo, tmp_path).begin().crew({"first": [], "second": ["first"]})
    repo.ok("workflow", "verify", "--executor", "simulated")
    assert "approval" not in flow.state
    page = tabs.visit(serve(repo), route)
    expect(page.get_by_test_id("inbox-count")).to_contain_text("1")
    page.get_by_role("button", name="Approve the design").click()
    if route == "inbox":
        page.get_by_test_id("go-approve-workflow").click()
        expect(page.get_by_test_id("outcome")).to_contain_text("The design is approved.")
        go(page, "workflow")
    body = page.get_by_test_id("page-workflow")
    expect(body).to_contain_text("sow workflow run")
    expect(body.get_by_role("button", name="Approve the design")).to_have_count(0)
    expect(page.get_by_test_id("inbox-count")).to_have_count(0)
    assert flow.state["approval"]["by"] == "ada"
    assert repo.ok("workflow", "status", "--json").json["next"] == "sow workflow run"
