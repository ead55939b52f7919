"""The pure functions that place graph layers, times and marks, called in a real browser."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

import pytest

from browser.dashboard import Dashboard
from browser.shop_run import ShopRun
from browser.tabs import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

Stage = tuple[ShopRun, Dashboard]
Task = dict[str, Any]

LAYOUT = """async ([tasks, grown]) => {
  const { layout, NODE } = await import("/assets/graph_layout.js");
  const places = (drawn) => Object.fromEntries(drawn.places);
  const start = performance.now();
  const first = layout(tasks);
  const took = performance.now() - start;
  const sizes = [first.width, first.height];
  const paths = first.edges.every((edge) => /^M[\\d. -]+C/.test(edge.path));
  const [again, grownBy] = [layout(tasks, first), layout(grown, first)].map(places);
  return { places: places(first), again, grown: grownBy, sizes, took, node: NODE, edges: first.edges.length, paths };
}"""
SCALE = """async ([from, to, gaps, width, moments]) => {
  const { scaleOf } = await import("/assets/timeline_scale.js");
  const scale = scaleOf(from, to, gaps, width);
  const ticks = scale.ticks().map((tick) => tick.x);
  const xs = moments.map((at) => scale.x(at));
  return { xs, back: xs.map((x) => scale.at(x)), ticks, breaks: scale.breaks.length };
}"""
GROUPED = """async ([tasks, isDown]) => {
  const { grouped } = await import("/assets/graph_groups.js");
  const { NODE } = await import("/assets/graph_layout.js");
  const drawn = grouped(tasks, isDown);
  const places = Object.fromEntries(drawn.places);
  return { places, groups: drawn.groups, edges: drawn.edges.length, width: drawn.width, node: NODE };
}"""
PART = """async ([tasks, options]) => {
  const { partOf } = await import("/assets/graph_part.js");
  const first = partOf(tasks, options).map((task) => task.id);
  const moved = tasks.map((task) => (task.id === first[5] ? { ...task, running: true } : task));
  const again = partOf(moved, { ...options, shown: new Set(first) }).map((task) => task.id);
  return { first, again };
}"""
MOMENTS = """async ([changes, tasks, moments]) => {
  const { Moments } = await import("/assets/moments.js");
  const known = new Moments(changes);
  return moments.map((at) => known.rows(tasks, at).map((row) => [row.status, row.step, row.running]));
}"""

HISTORY = """async (page) => {
  const { historyOf } = await import("/assets/task_history.js");
  return historyOf(page).map((each) => each.text);
}"""


def graph_of(count: int, waves: int, seed: int) -> list[Task]:
    """Returns a plan of so many tasks, most of which depend on earlier waves."""
    chance = random.Random(seed)
    tasks: list[Task] = []
    for number in range(count):
        wave = number * waves // count
        before = [task["id"] for task in tasks if task["wave"] < wave]
        needs = chance.sample(before, min(len(before), chance.randint(1, 3))) if before else []
        tasks.append({"id": f"{number:04}", "wave": wave, "needs": needs, "status": "pending"})
    return tasks


@pytest.fixture
def page(finished: Stage, tabs: Tabs) -> Page:
    """A page of the real server, with its content policy."""
    return tabs.visit(finished[1], "runs")


@pytest.mark.parametrize(("count", "waves"), [(1, 1), (30, 6), (300, 20), (1000, 8)])
def test_waves_are_columns_without_overlap(page: Page, count: int, waves: int) -> None:
    """A task is to the right of its dependencies, no boxes overlap, and the same plan gives the same drawing."""
    tasks = graph_of(count, waves, seed=count)
    extra = {"id": "9999", "wave": waves, "needs": [tasks[-1]["id"]], "status": "pending"}
    result = page.evaluate(LAYOUT, [tasks, [*tasks, extra]])
    places, node = result["places"], result["node"]
    assert set(places) == {task["id"] for task in tasks} and result["paths"]
    assert result["edges"] == sum(len(task["needs"]) for task in tasks)
    assert all(places[need]["x"] < places[task["id"]]["x"] for task in tasks for need in task["needs"])
    columns: dict[float, list[float]] = {}
    for place in places.values():
        columns.setdefault(place["x"], []).append(place["y"])
        assert 0 <= place["y"] <= result["sizes"][1] - node["height"]
    for own in map(sorted, columns.values()):
        assert all(low + node["height"] <= high for low, high in itertools.pairwise(own))
    assert set(result["again"]) == set(places) and set(result["grown"]) == {*places, "9999"}
    assert result["took"] < 5000  # a tenth of a second alone; a hundred times that would be another algorithm


def test_a_status_moves_no_task(page: Page) -> None:
    """The plan alone decides the place of a task, so a live update changes only colours."""
    tasks = graph_of(60, 6, seed=3)
    before = page.evaluate(LAYOUT, [tasks, tasks])["places"]
    busy = [{**task, "status": "in_progress", "running": True} for task in tasks]
    assert page.evaluate(LAYOUT, [busy, busy])["places"] == before


@pytest.mark.parametrize("is_down", [False, True])
def test_many_tasks_are_grouped_by_wave(page: Page, is_down: bool) -> None:
    """Each task is in the box of its wave, boxes and tasks do not overlap, and a phone gets a single column."""
    tasks = graph_of(500, 20, seed=7)
    result = page.evaluate(GROUPED, [tasks, is_down])
    node, places = result["node"], result["places"]
    assert [group["wave"] for group in result["groups"]] == sorted({task["wave"] for task in tasks})
    assert result["edges"] == sum(len(task["needs"]) for task in tasks)
    waves = {task["id"]: task["wave"] for task in tasks}
    for group in result["groups"]:
        assert {waves[ident] for ident in group["ids"]} == {group["wave"]}
        for ident in group["ids"]:
            place = places[ident]
            assert group["x"] <= place["x"] <= group["x"] + group["width"] - node["width"]
            assert group["y"] < place["y"] <= group["y"] + group["height"] - node["height"]
    side, size = ("y", "height") if is_down else ("x", "width")
    assert all(one[side] + one[size] < other[side] for one, other in itertools.pairwise(result["groups"]))
    spots = {(place["x"], place["y"]) for place in places.values()}
    assert len(spots) == len(tasks)
    assert all(
        abs(one[0] - other[0]) >= node["width"] or abs(one[1] - other[1]) >= node["height"]
        for one, other in itertools.combinations(sorted(spots)[:120], 2)
    )
    assert not is_down or result["width"] < 390


def test_a_large_graph_shows_what_matters(page: Page) -> None:
    """Of 2,000 tasks 600 are drawn, with all that ask or failed and their neighbours; a later change moves nothing."""
    tasks = graph_of(2000, 20, seed=5)
    pressing = {"0500": "failed", "1200": "paused", "1500": "in_progress"}
    for task in tasks:
        task["status"] = pressing.get(task["id"], "pending")
    result = page.evaluate(PART, [tasks, {"chosen": "1999"}])
    assert len(result["first"]) == 600 and {*pressing, "1999"} <= set(result["first"])
    assert {need for task in tasks if task["id"] in pressing for need in task["needs"]} <= set(result["first"])
    assert result["again"] == result["first"]
    assert page.evaluate(PART, [tasks[:40], {}])["first"] == [task["id"] for task in tasks[:40]]


def test_a_long_gap_on_the_time_axis_is_folded(page: Page) -> None:
    """Later times are further right, each place maps back to its time, and a night is as narrow as a mark."""
    start, night = 1_800_000_000, {"from": 1_800_000_600, "to": 1_800_040_000}
    moments = [start + step for step in (0, 1, 300, 599, 40_001, 40_300, 40_600)]
    result = page.evaluate(SCALE, [start, start + 40_600, [night], 1000, moments])
    assert result["xs"] == sorted(result["xs"]) and result["xs"][0] == 0 and abs(result["xs"][-1] - 1000) < 0.01
    assert all(abs(back - at) < 0.01 for back, at in zip(result["back"], moments, strict=True))
    assert result["breaks"] == 1 and result["xs"][4] - result["xs"][3] < 60
    assert result["ticks"] == sorted(result["ticks"]) and len(result["ticks"]) >= 4


def test_the_replay_shows_the_last_change_before_a_moment(page: Page) -> None:
    """Before its first change a task is pending; no change shows before its time."""
    changes = [[10, "1", "in_progress", "writes"], [30, "1", "completed", ""], [20, "2", "paused", "asks"]]
    tasks = [{"id": "1", "status": "completed"}, {"id": "2", "status": "completed"}]
    result = page.evaluate(MOMENTS, [changes, tasks, [5, 10, 25, 30]])
    assert result[0] == [["pending", "", False], ["pending", "", False]]
    assert result[1][0] == ["in_progress", "writes", True]
    assert result[2] == [["in_progress", "writes", True], ["paused", "asks", False]]
    assert result[3][0] == ["completed", "", False]


def test_events_of_one_second_are_told_in_their_order(page: Page) -> None:
    """Records have whole seconds; a worker's turn still comes before its check, its review and the next iteration."""
    at = "2026-01-01T00:00:01Z"

    def turn(kind: str, iteration: int) -> Task:
        return {"kind": kind, "started_at": at, "ended_at": at, "iteration": iteration, "outcome": "done", "seconds": 0}

    told = page.evaluate(HISTORY, {
        "sessions": [
            {"role": "reviewer", "executor": "b", "turns": [turn("review", 1)]},
            {"role": "worker", "executor": "a", "turns": [turn("spawn", 1), turn("resume", 2)]},
        ],
        "evidence": [{"at": at, "kind": "test", "passed": True, "command": "make test", "iteration": 1}],
        "reviews": [{"at": at, "verdict": "RED", "by": "reviewer", "iteration": 1}],
        "feedback": [{"at": at, "by": "run", "iteration": "1", "text": "no title"}],
    })  # fmt: skip
    assert told == [
        "worker on a: started, iteration 1",
        "worker on a: done after 0s",
        "check passed: make test",
        "reviewer on b: review, iteration 1",
        "reviewer on b: done after 0s",
        "RED by reviewer, iteration 1",
        "sent back by run: no title",
        "worker on a: resumed, iteration 2",
        "worker on a: done after 0s",
    ]
