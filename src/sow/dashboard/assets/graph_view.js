// The drawing of a dependency graph, live: tasks change in place, and move only when the plan changes.

import { h, say } from "./dom.js";
import { factsOf, FactsLine } from "./facts_line.js";
import { plural } from "./format.js";
import { Camera } from "./graph_camera.js";
import { grouped, HEADING } from "./graph_groups.js";
import { layout, NODE, shapeOf } from "./graph_layout.js";
import { GraphMap } from "./graph_map.js";
import { GraphNode } from "./graph_node.js";
import { partOf } from "./graph_part.js";

const READABLE = 0.8;
const READABLE_WITH_LINES = 0.7;
const MANY = 60; // tasks from which on they are grouped by wave
const NARROW = 560;
const EDGE = 12;
const HINT = matchMedia("(pointer: coarse)").matches
  ? "Tap a task to open it. Drag to move."
  : "Point at a task, or move with the arrow keys, to read its facts here. Drag or scroll to move, Ctrl and wheel to zoom.";
/** The tasks that a graph shows first if it does not fit. */
const MATTERS = [(task) => task.running, (task) => task.status === "paused", (task) => task.status === "failed", (task) => task.status === "pending"];
const ARROWS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

export class GraphView {
  constructor() {
    this.facts = new FactsLine(HINT);
    this.nodes = new Map();
    this.edges = [];
    this.near = null;
    this.isDown = false;
    this.tasks = new Map();
    this.drawn = null;
    this.shape = "";
    this.waveGroup = h("g", { "aria-hidden": "true" });
    this.headGroup = h("g", { "aria-hidden": "true" });
    this.edgeGroup = h("g", { "aria-hidden": "true" });
    this.nodeGroup = h("g", {});
    this.content = h("g", {}, this.waveGroup, this.edgeGroup, this.nodeGroup, this.headGroup);
    this.svg = h("svg", { class: "graph-sheet", role: "group", "aria-label": "Dependency graph" }, arrows(), this.content);
    this.camera = new Camera(this.svg, this.content, () => this.drawn ?? { width: 1, height: 1 });
    this.map = new GraphMap(this.camera);
    this.camera.moved = () => this.follow();
    this.listen();
    this.more = h("p", { class: "graph-more", hidden: true, "data-testid": "graph-more" });
    this.element = h("div", { class: "graph" }, h("div", { class: "graph-window" }, this.svg, this.more, this.map.element), this.facts.element);
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(this.svg);
  }

  listen() {
    for (const type of ["pointerover", "focusin"]) this.svg.addEventListener(type, (event) => this.point(event));
    for (const type of ["pointerleave", "focusout"]) this.svg.addEventListener(type, () => this.leave());
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  get isNarrow() {
    return this.svg.clientWidth > 0 && this.svg.clientWidth < NARROW;
  }

  get isGrouped() {
    return this.nodes.size > MANY || this.isDown;
  }

  /** The heading of a wave stays in the window as long as a part of the wave is there. */
  follow() {
    this.map.follow();
    const more = this.outside();
    this.more.hidden = !more;
    say(this.more, more);
    const top = -this.camera.y / this.camera.zoom;
    for (const { head, x, y, height } of this.drawn?.groups ?? []) {
      const at = Math.min(Math.max(y, top), y + height - HEADING);
      head.setAttribute("transform", `translate(${x} ${at.toFixed(1)})`);
    }
  }

  /** Says how many tasks are outside of the window, and on which sides. */
  outside() {
    const { x, y, zoom, window } = this.camera;
    const sides = { above: 0, below: 0, "to the left": 0, "to the right": 0 };
    for (const place of this.drawn ? [...this.nodes.keys()].map((id) => this.drawn.places.get(id)) : []) {
      if (y + (place.y + NODE.height) * zoom <= 0) sides.above += 1;
      else if (y + place.y * zoom >= window.height) sides.below += 1;
      else if (x + (place.x + NODE.width) * zoom <= 0) sides["to the left"] += 1;
      else if (x + place.x * zoom >= window.width) sides["to the right"] += 1;
    }
    const parts = Object.entries(sides).filter(([, count]) => count);
    return parts.length ? `More tasks: ${parts.map(([side, count]) => `${count} ${side}`).join(", ")}` : "";
  }

  resize() {
    if (this.isNarrow !== this.isDown && this.shown) this.show(...this.shown);
    if (this.camera.touched) this.camera.apply();
    else this.fit();
  }

  /** Show these rows; `chosen` is a task around which a large graph is drawn. Says how many are not drawn. */
  show(tasks, critical, chosen = null) {
    this.shown = [tasks, critical, chosen];
    this.isDown = this.isNarrow;
    const shown = partOf(tasks, { chosen, shown: this.drawn ? new Set(this.nodes.keys()) : null });
    this.tasks = new Map(tasks.map((task) => [task.id, task]));
    const shape = `${this.isDown} ${shapeOf(shown)}`;
    if (shape !== this.shape) this.redraw(shown, shape);
    const path = new Map(critical.map((id, index) => [id, index]));
    for (const task of shown) this.nodes.get(task.id).show(task, path.has(task.id), task.needs.join(", "), this.isGrouped);
    this.path = path;
    for (const edge of this.edges) this.paint(edge);
    for (const group of this.drawn.groups ?? []) say(group.words, waveWords(group.ids.map((id) => this.tasks.get(id))));
    this.map.show(this.drawn, this.tasks);
    const left = tasks.length - shown.length;
    this.svg.setAttribute("aria-label", `Dependency graph: ${plural(shown.length, "task")}${left ? ` of ${tasks.length}` : ""}`);
    return left;
  }

  /** Among many tasks only the lines of the critical path and of the task that is pointed at are drawn. */
  paint(edge) {
    const look = edgeClass(edge, this.path, this.tasks, this.near);
    const isDrawn = !this.isGrouped || look.includes("is-critical") || look.includes("is-near");
    if (isDrawn) edge.element ??= h("path", { d: edge.path });
    if (isDrawn && look !== edge.look) edge.element.setAttribute("class", look);
    if (isDrawn && !edge.element.parentNode) this.edgeGroup.append(edge.element);
    else if (!isDrawn) edge.element?.remove();
    edge.look = look;
  }

  redraw(tasks, shape) {
    this.shape = shape;
    const isGrouped = this.isDown || tasks.length > MANY;
    this.drawn = isGrouped ? grouped(tasks, this.isDown) : layout(tasks, this.drawn?.groups ? null : this.drawn);
    this.edges = this.drawn.edges.map((edge) => ({ ...edge }));
    this.edgeGroup.replaceChildren();
    const groups = this.drawn.groups ?? [];
    this.waveGroup.replaceChildren(...groups.map(({ x, y, width, height }) => h("rect", { class: "wave-box", x, y, width, height, rx: 12 })));
    this.headGroup.replaceChildren(...groups.map(waveHead));
    const nodes = new Map(tasks.map((task) => [task.id, this.nodes.get(task.id) ?? new GraphNode(task.id)]));
    this.nodes = nodes;
    for (const [id, node] of nodes) node.place(this.drawn.places.get(id));
    const inOrder = [...nodes.values()].sort((a, b) => this.order(a.id, b.id));
    this.nodeGroup.replaceChildren(...inOrder.map((node) => node.element));
    if (this.camera.touched) this.camera.apply();
    else this.fit();
  }

  order(one, other) {
    const [a, b] = [this.drawn.places.get(one), this.drawn.places.get(other)];
    return a.x - b.x || a.y - b.y;
  }

  /** All of it where that can be read, else the middle of what matters most. */
  fit() {
    if (!this.drawn || !this.svg.clientWidth) return;
    const ids = [...this.nodes.keys()];
    const chosen = ids.filter((id) => id === this.shown?.[2]);
    const matters = chosen.length ? chosen : MATTERS.map((test) => ids.filter((id) => test(this.tasks.get(id)))).find((found) => found.length) ?? ids;
    const places = matters.slice(0, 4).map((id) => this.drawn.places.get(id));
    const mean = (side) => places.reduce((sum, place) => sum + place[side], 0) / Math.max(places.length, 1);
    const centre = places.length ? { x: mean("x") + NODE.width / 2, y: mean("y") + NODE.height / 2 } : null;
    const width = (this.svg.clientWidth - 2 * EDGE) / this.drawn.width;
    this.camera.fit(this.isDown ? Math.min(width, 1) : this.isGrouped ? READABLE : READABLE_WITH_LINES, centre);
  }

  whole() {
    if (this.isDown) this.fit();
    else this.camera.fit();
  }

  point(event) {
    const id = event.target.closest?.("[data-task]")?.dataset.task;
    const task = id && this.tasks.get(id);
    if (!task) return;
    if (event.type === "focusin" && event.target.matches(":focus-visible")) {
      this.camera.reveal({ ...this.drawn.places.get(id), ...NODE });
    }
    this.facts.show(factsOf(task));
    this.lightUp(id);
  }

  leave() {
    this.facts.clear();
    this.lightUp(null);
  }

  lightUp(id) {
    if (id === this.near) return;
    const touched = this.edges.filter((edge) => [edge.from, edge.to].some((end) => end === id || end === this.near));
    this.near = id;
    for (const edge of touched) this.paint(edge);
  }

  key(event) {
    const side = ARROWS[event.key];
    const id = document.activeElement?.dataset?.task;
    if (!side || !id || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.nodes.get(this.beside(id, side))?.element.focus();
  }

  /** The nearest task on a side; to the left and right along the lines where there are some. */
  beside(id, side) {
    const from = this.drawn.places.get(id);
    const linked = this.edges.filter((edge) => (side === "left" ? edge.to : side === "right" ? edge.from : null) === id);
    const named = linked.map((edge) => (side === "left" ? edge.from : edge.to));
    const wanted = named.length ? named : [...this.nodes.keys()].filter((other) => other !== id && onSide(from, this.drawn.places.get(other), side));
    const far = (other) => away(from, this.drawn.places.get(other));
    return wanted.reduce((best, other) => (best === null || far(other) < far(best) ? other : best), null);
  }

  unmount() {
    this.watcher.disconnect();
  }
}

/** The heading of a wave; what its words say changes with the tasks. */
function waveHead(group) {
  const name = `Wave ${group.wave + 1}`;
  group.words = h("text", { class: "wave-words", x: 84, y: 25 });
  group.head = h("g", {}, h("rect", { class: "wave-head", x: 1, y: 1, width: group.width - 2, height: HEADING - 4, rx: 11 }), h("text", { class: "wave-name", x: 14, y: 25 }, name), group.words);
  return group.head;
}

function waveWords(tasks) {
  const done = tasks.filter((task) => task?.status === "completed").length;
  return `${plural(tasks.length, "task")}${done ? `, ${done} done` : ""}`;
}

function onSide(from, to, side) {
  if (side === "up") return to.x === from.x && to.y < from.y;
  if (side === "down") return to.x === from.x && to.y > from.y;
  return side === "left" ? to.x < from.x : to.x > from.x;
}

function away(from, to) {
  return Math.hypot(from.x - to.x, from.y - to.y);
}

function edgeClass(edge, path, tasks, near) {
  const critical = path.has(edge.from) && path.get(edge.to) === path.get(edge.from) + 1;
  const done = tasks.get(edge.from)?.status === "completed";
  const isNear = near !== null && (edge.from === near || edge.to === near);
  return ["edge", critical && "is-critical", done && "is-done", isNear && "is-near"].filter(Boolean).join(" ");
}

function arrows() {
  const head = (id) =>
    h(
      "marker",
      { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto", markerUnits: "userSpaceOnUse" },
      h("path", { d: "M0.5 0.5L7 4L0.5 7.5z" }),
    );
  return h("defs", {}, head("arrow"), head("arrow-critical"));
}
