"""The timeline of a run as a picture: who worked when, what was waited for, and when no call was alive."""

from __future__ import annotations

from sow.domain.duration import span, stopwatch
from sow.engine.html_text import Html, h
from sow.system.terminal import harmless_line
from sow.system.width import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Facts = dict[str, Any]

WIDTH = 1000
LEFT, RIGHT, TOP, BOTTOM = 200, 12, 30, 8
ROW, BAR = 30, 16
GAP = 26  # the width of a time in which no call was alive, however long it was
LETTERS = 26  # of a name
MOST = 150  # lanes
MOST_TICKS = 9
APART = 56  # between the words on the axis
STEPS = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800)
KINDS = {
    "work": "work",
    "check": "checks",
    "review": "review",
    "merge": "integration",
    "wait": "waits",
    "limit": "limit of an executor",
}
MARKS = {
    "question": "question",
    "answered": "answer",
    "sent_back": "sent back",
    "conflict": "merge conflict",
    "budget": "budget",
    "recovered": "went on",
}


class Axis:
    """Time from left to right; what lies between two calls is cut short."""

    def __init__(self, begin: float, end: float, gaps: Sequence[Facts]) -> None:
        self.begin = begin
        self.end = max(end, begin + 0.001)
        inside = ((float(max(each["from"], begin)), float(min(each["to"], self.end))) for each in gaps)
        self.gaps = sorted(each for each in inside if each[0] < each[1])
        alive = self.end - begin - sum(to - since for since, to in self.gaps)
        room = max(WIDTH - LEFT - RIGHT - GAP * len(self.gaps), 100)
        self.scale = room / max(alive, 0.001)

    def x(self, moment: float) -> float:
        """Where a moment is, in the units of the picture."""
        at = min(max(moment, self.begin), self.end)
        place, since = float(LEFT), self.begin
        for begin, end in self.gaps:
            if at <= begin:
                break
            place += (begin - since) * self.scale + GAP * min((at - begin) / (end - begin), 1)
            since = min(at, end)
        return round(place + (at - since) * self.scale, 2)

    def ticks(self) -> list[float]:
        """Round times since the beginning, not too many of them, and none beside the name of a gap."""
        alive = self.end - self.begin - sum(end - begin for begin, end in self.gaps)
        step = next((each for each in STEPS if alive / each <= MOST_TICKS), alive / MOST_TICKS)
        edges = [self.begin, *(moment for gap in self.gaps for moment in gap), self.end]
        found: list[float] = []
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            first = -int(-(begin - self.begin) // step)  # rounded up
            found += [self.begin + number * step for number in range(first, int((end - self.begin) / step) + 1)]
        named = [self.x(begin) + GAP / 2 for begin, _ in self.gaps]
        return [each for each in found if all(abs(self.x(each) - x) > APART for x in named)]


def chart(timeline: Facts) -> Html:
    """The picture with its legend; nothing where nobody has worked."""
    spans = [each for each in timeline["spans"] if each["kind"] in KINDS]
    if not spans or timeline["to"] <= timeline["from"]:
        return Html("")
    busy = {each["task"] for each in spans}
    lanes = [each for each in timeline["lanes"] if each["id"] in busy]
    shown = lanes[:MOST]
    rows = {each["id"]: TOP + index * ROW for index, each in enumerate(shown)}
    axis = Axis(timeline["from"], timeline["now"] or timeline["to"], timeline["gaps"])
    height = TOP + ROW * len(shown) + BOTTOM
    picture = h(
        "svg",
        _patterns(),
        _grid(axis, height),
        [_lane(each, rows[each["id"]]) for each in shown],
        [_band(each, axis, height) for each in spans if each["task"] is None],
        [_gap(begin, end, axis, height) for begin, end in axis.gaps],
        [_bar(each, axis, rows[each["task"]]) for each in spans if each["task"] in rows],
        [
            _mark(each, axis, rows[each["task"]])
            for each in timeline["marks"]
            if each["task"] in rows and each["kind"] in MARKS
        ],
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=f"Timeline of {len(shown)} tasks over {span(axis.end - axis.begin)}",
    )
    more = f"The first {MOST} of {len(lanes)} tasks that were worked on." if len(lanes) > MOST else None
    kinds = {each["kind"] for each in spans}
    marks = {each["kind"] for each in timeline["marks"] if each["task"] in rows}
    caption = h("figcaption", _legend(kinds, marks, bool(axis.gaps)), h("p", more) if more else None)
    return h("figure", h("div", picture, class_="scroll"), caption, class_="chart")


def _patterns() -> Html:
    """Stripes for what stands still."""
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
    whole = int(seconds)
    return f"{stopwatch(seconds)}.{int((seconds - whole) * 10)}" if seconds != whole else stopwatch(seconds)


def _anchor(x: float) -> str:
    return "start" if x < LEFT + 20 else "end" if x > WIDTH - RIGHT - 20 else "middle"


def _lane(lane: Facts, y: int) -> Html:
    called = f"{lane['plan_id'] or lane['id']}  {lane['name']}" if lane["name"] else lane["id"]
    number = lane["plan_id"] or (lane["id"] if lane["name"] else "")
    name = cut(harmless_line(lane["name"] or lane["id"]), LETTERS)
    return h(
        "g",
        h("title", harmless_line(called)),
        h("line", x1=0, y1=y + ROW, x2=WIDTH, y2=y + ROW, class_="rule"),
        h("text", cut(harmless_line(number), 6), x=24, y=y + 20, class_="number", text_anchor="end"),
        h("text", name, x=34, y=y + 20, class_="name"),
    )


def _bar(each: Facts, axis: Axis, y: int) -> Html:
    begin, end = axis.x(each["from"]), axis.x(axis.end if each["to"] is None else each["to"])
    bad = " bad" if each["outcome"] in ("RED", "failed", "cut off") else ""
    return h(
        "rect",
        h("title", _told(each, axis)),
        x=begin,
        y=y + (ROW - BAR) // 2,
        width=round(max(end - begin, 2.0), 2),
        height=BAR,
        rx=3,
        class_=f"bar {each['kind']}{bad}",
    )


def _band(each: Facts, axis: Axis, height: int) -> Html:
    """What all stood still for."""
    begin, end = axis.x(each["from"]), axis.x(axis.end if each["to"] is None else each["to"])
    return h(
        "rect",
        h("title", _told(each, axis)),
        x=begin,
        y=TOP - 4,
        width=round(max(end - begin, 2.0), 2),
        height=height - TOP - BOTTOM + 4,
        class_=f"band {each['kind']}",
    )


def _gap(begin: float, end: float, axis: Axis, height: int) -> Html:
    x = axis.x(begin)
    words = f"no call of sow was alive for {span(end - begin)}"
    area = h("rect", h("title", words), x=x, y=TOP - 4, width=GAP, height=height - TOP - BOTTOM + 4, class_="gap")
    return h("g", area, h("text", span(end - begin), x=x + GAP / 2, y=TOP - 12, class_="time", text_anchor="middle"))


def _mark(each: Facts, axis: Axis, y: int) -> Html:
    x, middle = axis.x(each["at"]), y + ROW // 2
    shape = f"M{x:g} {middle - 7}L{x + 6:g} {middle}L{x:g} {middle + 7}L{x - 6:g} {middle}Z"
    said = harmless_line(each["text"])
    words = f"{MARKS[each['kind']]} at {stopwatch(each['at'] - axis.begin)}{': ' if said else ''}{said}"
    return h("path", h("title", words), d=shape, class_=f"mark {each['kind']}")


def _told(each: Facts, axis: Axis) -> str:
    """`review, quality-control on judge, 00:02 to 00:04 (2.1s): GREEN`."""
    end = axis.end if each["to"] is None else each["to"]
    who = " on ".join(harmless_line(word) for word in (each["role"], each["executor"]) if word)
    when = (
        f"{stopwatch(each['from'] - axis.begin)} to {stopwatch(end - axis.begin)} ({span(max(end - each['from'], 0))})"
    )
    said = ": ".join(harmless_line(word) for word in (each["outcome"], each["text"]) if word)
    return ", ".join(word for word in (KINDS[each["kind"]], who, when) if word) + (f": {said}" if said else "")


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
