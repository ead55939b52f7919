"""Draws the timeline of a run as SVG: work, waits, and the times without a live process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sow.domain.text.units import cut, format_seconds, stopwatch
from sow.reports.html_elements import Html, h
from sow.system.terminal import escape_line

Facts = dict[str, Any]

WIDTH = 1000
LEFT, RIGHT, TOP, BOTTOM = 200, 12, 30, 8
ROW, BAR = 30, 16
GAP = 26  # the width of a time without a live process, however long it was
LETTERS = 26  # of a name
MOST = 150  # lanes
MOST_TICKS = 9
MIN_LABEL_DISTANCE = 56  # minimum distance between labels on the axis
STEPS = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800)
KINDS = {
    "work": "work",
    "check": "checks",
    "review": "review",
    "merge": "merge",
    "wait": "waits",
    "limit": "limit of an executor",
}
MARKS = {
    "question": "question",
    "answered": "answer",
    "sent_back": "sent back",
    "conflict": "merge conflict",
    "budget": "budget",
    "recovered": "continued",
}


class Axis:
    """The time axis from left to right. A gap between two processes has a fixed width."""

    def __init__(self, begin: float, end: float, gaps: Sequence[Facts]) -> None:
        self.begin = begin
        self.end = max(end, begin + 0.001)
        inside = ((float(max(gap["from"], begin)), float(min(gap["to"], self.end))) for gap in gaps)
        self.gaps = sorted(gap for gap in inside if gap[0] < gap[1])
        alive = self.end - begin - sum(to - since for since, to in self.gaps)
        width = max(WIDTH - LEFT - RIGHT - GAP * len(self.gaps), 100)
        self.scale = width / max(alive, 0.001)

    def x(self, moment: float) -> float:
        """Returns the x coordinate of a moment."""
        clamped = min(max(moment, self.begin), self.end)
        x, since = float(LEFT), self.begin
        for begin, end in self.gaps:
            if clamped <= begin:
                break
            x += (begin - since) * self.scale + GAP * min((clamped - begin) / (end - begin), 1)
            since = min(clamped, end)
        return round(x + (clamped - since) * self.scale, 2)

    def ticks(self) -> list[float]:
        """Returns a limited number of round times since the start, none of them beside the label of a gap."""
        alive = self.end - self.begin - sum(end - begin for begin, end in self.gaps)
        step = next((seconds for seconds in STEPS if alive / seconds <= MOST_TICKS), alive / MOST_TICKS)
        edges = [self.begin, *(moment for gap in self.gaps for moment in gap), self.end]
        moments: list[float] = []
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            first = -int(-(begin - self.begin) // step)  # rounded up
            moments += [self.begin + number * step for number in range(first, int((end - self.begin) / step) + 1)]
        gap_centers = [self.x(begin) + GAP / 2 for begin, _ in self.gaps]
        return [moment for moment in moments if all(abs(self.x(moment) - x) > MIN_LABEL_DISTANCE for x in gap_centers)]


def chart(timeline: Facts) -> Html:
    """Returns the picture with its legend, or "" if nobody has worked."""
    spans = [bar for bar in timeline["spans"] if bar["kind"] in KINDS]
    if not spans or timeline["to"] <= timeline["from"]:
        return Html("")
    busy = {bar["task"] for bar in spans}
    lanes = [lane for lane in timeline["lanes"] if lane["id"] in busy]
    visible = lanes[:MOST]
    rows = {lane["id"]: TOP + index * ROW for index, lane in enumerate(visible)}
    axis = Axis(timeline["from"], timeline["now"] or timeline["to"], timeline["gaps"])
    height = TOP + ROW * len(visible) + BOTTOM
    picture = h(
        "svg",
        _patterns(),
        _grid(axis, height),
        [_lane(lane, rows[lane["id"]]) for lane in visible],
        [_band(bar, axis, height) for bar in spans if bar["task"] is None],
        [_gap(begin, end, axis, height) for begin, end in axis.gaps],
        [_bar(bar, axis, rows[bar["task"]]) for bar in spans if bar["task"] in rows],
        [
            _mark(mark, axis, rows[mark["task"]])
            for mark in timeline["marks"]
            if mark["task"] in rows and mark["kind"] in MARKS
        ],
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=f"Timeline of {len(visible)} tasks over {format_seconds(axis.end - axis.begin)}",
    )
    note = f"The first {MOST} of {len(lanes)} tasks that were worked on." if len(lanes) > MOST else None
    kinds = {bar["kind"] for bar in spans}
    marks = {mark["kind"] for mark in timeline["marks"] if mark["task"] in rows}
    caption = h("figcaption", _legend(kinds, marks, bool(axis.gaps)), h("p", note) if note else None)
    return h("figure", h("div", picture, class_="scroll"), caption, class_="chart")


def _patterns() -> Html:
    stripes = [
        h(
            "pattern",
            h("rect", width=6, height=6, class_=f"{kind}-ground"),
            h("line", x1=0, y1=0, x2=0, y2=6, class_=f"{kind}-stripe"),
            id=f"{kind}-stripes",
            width=6,
            height=6,
            patternUnits="userSpaceOnUse",
            patternTransform="rotate(45)",
        )
        for kind in ("wait", "limit", "gap")
    ]
    return h("defs", stripes)


def _grid(axis: Axis, height: int) -> Html:
    lines = []
    for moment in axis.ticks():
        x = axis.x(moment)
        lines.append(h("line", x1=x, y1=TOP - 6, x2=x, y2=height - BOTTOM, class_="tick"))
        lines.append(h("text", _clock(moment - axis.begin), x=x, y=TOP - 12, class_="time", text_anchor=_anchor(x)))
    return h("g", lines)


def _clock(seconds: float) -> str:
    full = int(seconds)
    return f"{stopwatch(seconds)}.{int((seconds - full) * 10)}" if seconds != full else stopwatch(seconds)


def _anchor(x: float) -> str:
    return "start" if x < LEFT + 20 else "end" if x > WIDTH - RIGHT - 20 else "middle"


def _lane(lane: Facts, y: int) -> Html:
    title = f"{lane['plan_id'] or lane['id']}  {lane['name']}" if lane["name"] else lane["id"]
    number = lane["plan_id"] or (lane["id"] if lane["name"] else "")
    name = cut(escape_line(lane["name"] or lane["id"]), LETTERS)
    return h(
        "g",
        h("title", escape_line(title)),
        h("line", x1=0, y1=y + ROW, x2=WIDTH, y2=y + ROW, class_="rule"),
        h("text", cut(escape_line(number), 6), x=24, y=y + 20, class_="number", text_anchor="end"),
        h("text", name, x=34, y=y + 20, class_="name"),
    )


def _bar(bar: Facts, axis: Axis, y: int) -> Html:
    bad = " bad" if bar["outcome"] in ("RED", "failed", "cut off") else ""
    return _area(bar, axis, y=y + (ROW - BAR) // 2, height=BAR, rx=3, class_=f"bar {bar['kind']}{bad}")


def _band(bar: Facts, axis: Axis, height: int) -> Html:
    """Returns a band over all lanes for a time in which everything waited."""
    return _area(bar, axis, y=TOP - 4, height=height - TOP - BOTTOM + 4, class_=f"band {bar['kind']}")


def _area(bar: Facts, axis: Axis, **attributes: object) -> Html:
    begin, end = axis.x(bar["from"]), axis.x(axis.end if bar["to"] is None else bar["to"])
    title = h("title", _span_title(bar, axis))
    return h("rect", title, x=begin, width=round(max(end - begin, 2.0), 2), **attributes)


def _gap(begin: float, end: float, axis: Axis, height: int) -> Html:
    x = axis.x(begin)
    title = f"no call of sow was alive for {format_seconds(end - begin)}"
    area = h("rect", h("title", title), x=x, y=TOP - 4, width=GAP, height=height - TOP - BOTTOM + 4, class_="gap")
    return h(
        "g",
        area,
        h("text", format_seconds(end - begin), x=x + GAP / 2, y=TOP - 12, class_="time", text_anchor="middle"),
    )


def _mark(mark: Facts, axis: Axis, y: int) -> Html:
    x, middle = axis.x(mark["at"]), y + ROW // 2
    shape = f"M{x:g} {middle - 7}L{x + 6:g} {middle}L{x:g} {middle + 7}L{x - 6:g} {middle}Z"
    text = escape_line(mark["text"])
    title = f"{MARKS[mark['kind']]} at {stopwatch(mark['at'] - axis.begin)}{': ' if text else ''}{text}"
    return h("path", h("title", title), d=shape, class_=f"mark {mark['kind']}")


def _span_title(bar: Facts, axis: Axis) -> str:
    """Describes a bar: `review, quality-control on judge, 00:02 to 00:04 (2.1s): GREEN`."""
    end = axis.end if bar["to"] is None else bar["to"]
    agent = " on ".join(escape_line(name) for name in (bar["role"], bar["executor"]) if name)
    length = format_seconds(max(end - bar["from"], 0))
    period = f"{stopwatch(bar['from'] - axis.begin)} to {stopwatch(end - axis.begin)} ({length})"
    details = ": ".join(escape_line(part) for part in (bar["outcome"], bar["text"]) if part)
    return ", ".join(part for part in (KINDS[bar["kind"]], agent, period) if part) + (f": {details}" if details else "")


def _legend(kinds: set[str], marks: set[str], gaps: bool) -> Html:
    keys = [
        h("li", _key(h("rect", width=14, height=10, rx=2, class_=f"bar {kind}")), name)
        for kind, name in KINDS.items()
        if kind in kinds
    ]
    diamond = "M7 0L12 5L7 10L2 5Z"
    keys += [
        h("li", _key(h("path", d=diamond, class_=f"mark {kind}")), name)
        for kind, name in MARKS.items()
        if kind in marks
    ]
    keys += [h("li", _key(h("rect", width=14, height=10, class_="gap")), "between two calls")] if gaps else []
    return h("ul", keys, class_="legend")


def _key(shape: Html) -> Html:
    return h("svg", shape, viewBox="0 0 14 10", width=14, height=10, aria_hidden="true")
