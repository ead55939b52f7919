"""The pages of runs: graph, timeline, replay, report, list, costs and crew."""

from __future__ import annotations

import re
from typing import Any

from conftest import Repo

from browser.dashboard import Dashboard
from browser.navigation import go
from browser.shop_run import ShopRun
from browser.tabs import Tabs

Stage = tuple[ShopRun, Dashboard]


def test_the_graph_shows_dependencies(finished: Stage, tabs: Tabs):
    """Every task is a node, the critical path is marked, arrows move the focus, and a list says the same."""
    from playwright.sync_api import expect

    page = tabs.visit(finished[1], "graph")
    nodes = page.locator("svg [data-task]")
    expect(nodes).to_have_count(8)
    expect(page.get_by_text("critical path: 4 tasks")).to_be_visible()
    expect(page.locator("svg .node.is-critical")).to_have_count(4)
    expect(page.locator("svg path.edge.is-critical")).to_have_count(3)
    cart = page.locator("svg [data-task='040']")
    assert "depends on 010, 020" in (cart.get_attribute("aria-label") or "")
    cart.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.task") == "060"
    before = page.locator("svg.graph-sheet > g").last.get_attribute("transform")
    page.get_by_role("button", name="Zoom in").click()
    assert page.locator("svg.graph-sheet > g").last.get_attribute("transform") != before
    page.get_by_role("button", name="As a list").click()
    expect(page.get_by_role("row")).to_have_count(9)
    page.get_by_role("link", name="040 Cart").click()
    page.get_by_test_id("page-task").wait_for()


def test_the_timeline_shows_who_worked_when(finished: Stage, tabs: Tabs):
    """Each task has a lane with its work, review, checks and merge; questions and returned work are marked."""
    from playwright.sync_api import expect

    page = tabs.visit(finished[1], "timeline")
    expect(page.locator("svg.lane")).to_have_count(9)  # the run itself has one too
    for kind in ("work", "review", "check", "merge"):
        assert page.locator(f"svg.lane .kind-{kind}").count() >= 8, kind
    for kind in ("question", "answered", "sent_back", "conflict"):
        assert page.locator(f"svg.lane .mark-{kind}").count() >= 1, kind
    page.get_by_role("button", name="As a table").click()
    expect(page.get_by_role("table")).to_contain_text("How is half a cent rounded")


def test_a_finished_run_is_replayed(finished: Stage, tabs: Tabs):
    """The slider shows the board of any moment, from nothing done to everything done; it also plays."""
    from playwright.sync_api import expect

    run, server = finished
    page = tabs.visit(server, f"runs/{run.id}/board")
    slider = page.get_by_label("Moment of the run")
    slider.wait_for()
    done = page.locator(".moment-column.status-completed .moment-count")
    expect(done).to_have_text("8")
    slider.focus()
    page.keyboard.press("Home")
    expect(done).to_have_text("0")
    counts = []
    for place in (300, 600, 1000):
        slider.fill(str(place))
        counts.append(int(done.inner_text()))
    assert counts == sorted(counts) and counts[-1] == 8 and counts[0] < 8
    page.keyboard.press("Home")
    page.get_by_role("button", name="Next change").click()
    expect(page.locator(".moment-column.status-in_progress .moment-card").first).to_be_visible()
    page.get_by_role("button", name="Play the run").click()
    page.get_by_role("button", name="Pause the replay").wait_for()
    expect(done).not_to_have_text("0")


def test_a_run_has_its_report(finished: Stage, tabs: Tabs):
    """The page of a run shows its tasks by outcome, speed-up, estimate, questions and settings."""
    from playwright.sync_api import expect

    run, server = finished
    page = tabs.visit(server, f"runs/{run.id}")
    body = page.get_by_test_id("page-run")
    for text in ("Speed", "Of estimate", "How is half a cent rounded", "By executor", "max concurrency"):
        expect(body).to_contain_text(text)


def test_a_finished_run_is_reviewed(finished: Stage, tabs: Tabs):
    """The board names the plan and leads to all changes of the run, without the state files of sow."""
    from playwright.sync_api import expect

    run, server = finished
    page = tabs.visit(server)
    strip = page.get_by_test_id("run")
    expect(strip).to_contain_text("A shop in eight tasks")
    expect(strip).not_to_contain_text(run.id)
    page.get_by_role("link", name="Review the changes").click()
    pane = page.get_by_test_id("diff")
    expect(pane).to_contain_text("shop/cart.py")
    expect(pane).to_contain_text("class Cart")
    expect(pane).not_to_contain_text(".sow/")


def test_an_imported_plan_is_run_next(repo: Repo, serve: Any, tabs: Tabs):
    """After an import the board offers the command that runs the plan."""
    from playwright.sync_api import expect

    (repo.root / "plan.md").write_text("# Steps\n\n## Task 1: One\n\nDo it.\n")
    repo.ok("plan", "import", "plan.md", "--yes")
    page = tabs.visit(serve(repo))
    expect(page.get_by_test_id("command")).to_contain_text("sow run plan.md")


def test_all_runs_are_listed(finished: Stage, tabs: Tabs):
    """The history has one row for each run, with speed-up and estimate, and can be sorted; a row leads to its run."""
    from playwright.sync_api import expect

    run, server = finished
    page = tabs.visit(server, "runs")
    row = page.get_by_role("row").nth(1)
    expect(row).to_contain_text(run.id)
    expect(row).to_contain_text(re.compile(r"\d\.\d×"))
    page.get_by_role("button", name="Cost").click()
    row.get_by_role("link").first.click()
    page.get_by_test_id("page-run").wait_for()


def test_costs_are_summed_by_agent_executor_and_run(finished: Stage, tabs: Tabs):
    """Costs are summed by agent, executor and run, in money and in tokens."""
    from playwright.sync_api import expect

    run, server = finished
    page = tabs.visit(server, "cost")
    for label, name in {"By agent": "implementer", "By executor": "judge", "By run": run.id}.items():
        expect(page.get_by_role("region", name=label)).to_contain_text(name)
    expect(page.locator(".tile").first).to_contain_text("$")


def test_the_library_lists_agents_sinks_and_repositories(finished: Stage, tabs: Tabs):
    """Roles are listed with their executors; without a sink the page shows the command that adds one."""
    from playwright.sync_api import expect

    page = tabs.visit(finished[1], "library")
    body = page.get_by_test_id("page-library")
    expect(body).to_contain_text("quality-control")
    expect(body).to_contain_text("sow sinks install")
    page.get_by_label("Filter the library").fill("quality-control")
    expect(body.get_by_role("region", name="Roles").get_by_role("row")).to_have_count(2)  # with its heading


def test_links_lead_from_page_to_page(finished: Stage, tabs: Tabs):
    """The browser's back and forward work, and the title names the page."""
    page = tabs.visit(finished[1])
    go(page, "graph")
    assert page.title().startswith("Graph")
    go(page, "task/040")
    page.go_back()
    page.get_by_test_id("page-graph").wait_for()
    page.go_back()
    page.get_by_test_id("page-board").wait_for()
    page.go_forward()
    page.get_by_test_id("page-graph").wait_for()
