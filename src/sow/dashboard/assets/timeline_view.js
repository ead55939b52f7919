// The drawing of a timeline: one lane for each task, of which only those in sight are built.

import { h, render, say } from "./dom.js";
import { FactsLine } from "./facts_line.js";
import { day, now as clockNow, part, plural } from "./format.js";
import { AXIS, axisDrawing, ground } from "./timeline_axis.js";
import { LANE, laneDrawing, laneSummary, markFacts, spanFacts } from "./timeline_lane.js";
import { horizon, scaleOf } from "./timeline_scale.js";

const HINT = "Point at a bar to read it here; on a task's name, the left and right arrow keys go from bar to bar.";
const SPARE = 6; // lanes beyond the edge that are built
const LARGEST = 64;
const NARROWEST = 480; // px of time; a smaller window scrolls

export class TimelineView {
  constructor() {
    Object.assign(this, { facts: null, zoom: 1, moment: null, end: null, onlyBegun: false, frame: 0, chosen: null });
    this.line = new FactsLine(HINT);
    this.axis = h("div", { class: "timeline-axis" });
    this.ground = h("div", { class: "timeline-ground", "aria-hidden": "true" });
    this.rows = h("div", { class: "timeline-rows" });
    this.cursor = h("div", { class: "timeline-cursor", hidden: true, "aria-hidden": "true" });
    this.sheet = h("div", { class: "timeline-sheet" }, this.ground, this.rows, this.cursor, this.axis);
    this.scroller = h("div", { class: "timeline-scroll", role: "region", "aria-label": "Timeline", tabindex: "0" }, this.sheet);
    this.below = h("div", { class: "timeline-below muted" });
    this.element = h("div", { class: "timeline" }, this.scroller, this.below, this.line.element);
    this.listen();
  }

  listen() {
    this.scroller.addEventListener("scroll", () => this.soon(), { passive: true });
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.scroller);
    for (const type of ["pointerover", "focusin"]) this.sheet.addEventListener(type, (event) => this.point(event.target));
    for (const type of ["pointerleave", "focusout"]) this.sheet.addEventListener(type, () => this.leave());
    this.sheet.addEventListener("keydown", (event) => this.key(event));
  }

  /** Show a run's timeline from its facts. */
  show(facts) {
    if (this.facts?.run !== facts.run) this.end = null;
    this.facts = facts;
    this.draw();
  }

  /** Put the cursor of a replay at a moment; null takes it away. */
  at(moment) {
    this.moment = moment;
    this.drawCursor();
  }

  nearer() {
    this.magnify(2);
  }

  farther() {
    this.magnify(0.5);
  }

  /** Zoom in time around the middle of what is seen. */
  magnify(factor) {
    const zoom = Math.min(Math.max(this.zoom * factor, 1), LARGEST);
    const middle = this.scroller.scrollLeft + this.room / 2;
    const moment = this.scale?.at(middle);
    this.zoom = zoom;
    this.draw();
    if (moment !== undefined) this.scroller.scrollLeft = this.scale.x(moment) - this.room / 2;
  }

  get now() {
    return this.facts.live ? Math.max(clockNow(), this.facts.to) : this.facts.to;
  }

  get labels() {
    return this.scroller.clientWidth < 560 ? 112 : 200;
  }

  /** Pixels for the whole of time at single size. */
  get room() {
    return Math.max(this.scroller.clientWidth - this.labels - 12, NARROWEST);
  }

  soon() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.drawRows();
    });
  }

  draw() {
    if (!this.facts || !this.scroller.clientWidth) return;
    const { facts } = this;
    this.end = horizon(facts.from, this.now, facts.live, this.end);
    this.scale = scaleOf(facts.from, this.end, facts.gaps, this.room * this.zoom);
    this.lanes = this.onlyBegun ? facts.lanes.filter((lane) => !lane.id || facts.hasBegun(lane.id)) : facts.lanes;
    const height = AXIS + this.lanes.length * LANE;
    this.sheet.style.setProperty("--labels", `${this.labels}px`);
    this.sheet.style.setProperty("width", `${this.labels + this.scale.width}px`);
    this.sheet.style.setProperty("height", `${height}px`);
    render(this.axis, h("div", { class: "axis-label" }, h("span", null, day(facts.from).split(",")[0]), h("span", null, "agents at once")), axisDrawing(facts, this.scale, this.now));
    render(this.ground, ground(this.scale, facts.gaps));
    this.drawRows();
    this.drawCursor();
  }

  drawRows() {
    if (!this.scale) return;
    const first = Math.max(Math.floor((this.scroller.scrollTop - AXIS) / LANE) - SPARE, 0);
    const last = Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / LANE) + SPARE;
    const focused = document.activeElement?.closest?.(".lane-row")?.dataset.lane;
    const rows = [];
    this.lanes.forEach((lane, index) => {
      if ((index >= first && index < last) || lane.id === focused) rows.push(this.row(lane, index));
    });
    render(this.rows, rows);
    const seen = Math.floor((this.scroller.scrollTop + this.scroller.clientHeight - AXIS) / LANE);
    const hidden = this.lanes.length - seen;
    say(this.below, hidden > 0 ? `${plural(hidden, "more row")} below: scroll down` : "");
  }

  row(lane, index) {
    const spans = this.facts.spansOf(lane.id);
    const marks = this.facts.marksOf(lane.id);
    const name = lane.id ? `${lane.id}  ${lane.name}` : lane.name;
    return h(
      "div",
      { class: "lane-row", key: lane.id, "data-lane": lane.id, style: { top: `${AXIS + index * LANE}px` } },
      h("a", { class: "lane-label", href: lane.id ? `#/task/${part(lane.id)}` : `#/runs/${part(this.facts.run)}`, "data-row": true }, name),
      laneDrawing(lane, spans, marks, this.scale, this.now, this.facts.live, this.chosen?.lane === lane.id ? this.chosen.span : -1),
    );
  }

  drawCursor() {
    const shown = this.moment ?? (this.facts?.live ? this.now : null);
    this.cursor.hidden = shown === null || !this.scale;
    if (this.cursor.hidden) return;
    const x = this.scale.x(shown);
    this.cursor.classList.toggle("is-replay", this.moment !== null);
    this.cursor.style.setProperty("left", `${(this.labels + x).toFixed(1)}px`);
    this.cursor.style.setProperty("width", `${Math.max(this.scale.width - x, 1).toFixed(1)}px`);
    if (this.moment !== null) this.keepInSight(x);
  }

  keepInSight(x) {
    const left = this.scroller.scrollLeft;
    if (x < left || x > left + this.room) this.scroller.scrollLeft = x - this.room / 3;
  }

  laneOf(target) {
    const id = target.closest?.("[data-lane]")?.dataset.lane;
    return id === undefined ? null : this.facts.lanes.find((lane) => lane.id === id);
  }

  point(target) {
    const lane = this.laneOf(target);
    const id = lane?.id;
    const mark = target.closest?.("[data-mark]");
    const span = target.closest?.("[data-span]");
    if (!lane) this.line.clear();
    else if (mark) this.line.show(markFacts(lane, this.facts.marksOf(id)[Number(mark.dataset.mark)]));
    else if (span) this.line.show(spanFacts(lane, this.facts.spansOf(id)[Number(span.dataset.span)], this.now));
    else this.line.show([laneSummary(lane, this.facts.spansOf(id), this.facts.marksOf(id), this.now)]);
  }

  leave() {
    this.line.clear();
    this.chosen = null;
    this.drawRows();
  }

  /** On a task's name: from bar to bar with the arrow keys. */
  key(event) {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const row = document.activeElement?.closest?.(".lane-row");
    if (!direction || !row) return;
    event.preventDefault();
    const lane = this.laneOf(row);
    const spans = this.facts.spansOf(lane.id);
    const order = spans.map((span, index) => index).sort((a, b) => spans[a].from - spans[b].from);
    if (!order.length) return;
    const before = this.chosen?.lane === lane.id ? order.indexOf(this.chosen.span) : -1;
    const span = order[Math.min(Math.max(before + direction, 0), order.length - 1)];
    this.chosen = { lane: lane.id, span };
    this.drawRows();
    this.keepInSight(this.scale.x(spans[span].from));
    this.line.show(spanFacts(lane, spans[span], this.now));
  }

  unmount() {
    this.watcher.disconnect();
    cancelAnimationFrame(this.frame);
  }
}
