// The drawing of a dependency graph, live: tasks change in place, and stand elsewhere only when the plan changes.

import { h } from "./dom.js";
import { called, factsOf, FactsLine } from "./facts_line.js";
import { plural } from "./format.js";
import { Camera } from "./graph_camera.js";
import { layout, NODE, shapeOf } from "./graph_layout.js";
import { GraphNode } from "./graph_node.js";
import { partOf } from "./graph_part.js";

const READABLE = 0.6;
const READABLE_BY_TOUCH = 0.85;
const NARROW = 560;
const HINT = "Point at a task, or move with the arrow keys, to read its facts here. Drag or scroll to move, Ctrl and wheel to zoom.";
/** What is looked at first in a graph that does not fit. */
const MATTERS = [(task) => task.running, (task) => task.status === "paused", (task) => task.status === "failed", (task) => task.status === "pending"];
const ARROWS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

export class GraphView {
  constructor() {
    this.facts = new FactsLine(HINT);
    this.nodes = new Map();
    this.edges = [];
    this.tasks = new Map();
    this.drawn = null;
    this.shape = "";
    this.edgeGroup = h("g", { "aria-hidden": "true" });
    this.nodeGroup = h("g", {});
    this.content = h("g", {}, this.edgeGroup, this.nodeGroup);
    this.svg = h("svg", { class: "graph-sheet", role: "group", "aria-label": "Dependency graph" }, arrows(), this.content);
    this.camera = new Camera(this.svg, this.content, () => this.drawn ?? { width: 1, height: 1 });
    this.listen();
    this.element = h("div", { class: "graph" }, this.svg, this.facts.element);
    this.watcher = new ResizeObserver(() => (this.camera.touched ? this.camera.apply() : this.fit()));
    this.watcher.observe(this.svg);
  }

  listen() {
    for (const type of ["pointerover", "focusin"]) this.svg.addEventListener(type, (event) => this.point(event));
    for (const type of ["pointerleave", "focusout"]) this.svg.addEventListener(type, () => this.leave());
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  /** Show these rows; `chosen` is a task around which a large graph is drawn. Says how many are not drawn. */
  show(tasks, critical, chosen = null) {
    const shown = partOf(tasks, { chosen, shown: this.drawn ? new Set(this.nodes.keys()) : null });
    this.tasks = new Map(tasks.map((task) => [task.id, task]));
    const shape = shapeOf(shown);
    if (shape !== this.shape) this.redraw(shown, shape);
    const path = new Map(critical.map((id, index) => [id, index]));
    for (const task of shown) this.nodes.get(task.id).show(task, path.has(task.id), this.names(task.needs));
    for (const edge of this.edges) this.paint(edge, path);
    const left = tasks.length - shown.length;
    this.svg.setAttribute("aria-label", `Dependency graph: ${plural(shown.length, "task")}${left ? ` of ${tasks.length}` : ""}`);
    return left;
  }

  paint(edge, path) {
    const look = edgeClass(edge, path, this.tasks);
    if (look !== edge.look) edge.element.setAttribute("class", look);
    edge.look = look;
  }

  redraw(tasks, shape) {
    this.shape = shape;
    this.drawn = layout(tasks, this.drawn);
    this.edges = this.drawn.edges.map((edge) => ({ ...edge, element: h("path", { d: edge.path }) }));
    this.edgeGroup.replaceChildren(...this.edges.map((edge) => edge.element));
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
    const matters = MATTERS.map((test) => ids.filter((id) => test(this.tasks.get(id)))).find((found) => found.length) ?? ids;
    const places = matters.slice(0, 4).map((id) => this.drawn.places.get(id));
    const mean = (side) => places.reduce((sum, place) => sum + place[side], 0) / Math.max(places.length, 1);
    const centre = places.length ? { x: mean("x") + NODE.width / 2, y: mean("y") + NODE.height / 2 } : null;
    this.camera.fit(this.svg.clientWidth < NARROW ? READABLE_BY_TOUCH : READABLE, centre);
  }

  whole() {
    this.camera.fit();
  }

  names(ids) {
    return ids.map((id) => (this.tasks.has(id) ? called(this.tasks.get(id)) : id)).join(", ");
  }

  point(event) {
    const id = event.target.closest?.("[data-task]")?.dataset.task;
    const task = id && this.tasks.get(id);
    if (!task) return;
    if (event.type === "focusin" && event.target.matches(":focus-visible")) {
      this.camera.reveal({ ...this.drawn.places.get(id), ...NODE });
    }
    this.facts.show(factsOf(task, (ids) => this.names(ids)));
    for (const edge of this.edges) edge.element.classList.toggle("is-near", edge.from === id || edge.to === id);
  }

  leave() {
    this.facts.clear();
    for (const edge of this.edges) edge.element.classList.remove("is-near");
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

function onSide(from, to, side) {
  if (side === "up") return to.x === from.x && to.y < from.y;
  if (side === "down") return to.x === from.x && to.y > from.y;
  return side === "left" ? to.x < from.x : to.x > from.x;
}

function away(from, to) {
  return Math.hypot(from.x - to.x, from.y - to.y);
}

function edgeClass(edge, path, tasks) {
  const critical = path.has(edge.from) && path.get(edge.to) === path.get(edge.from) + 1;
  const done = tasks.get(edge.from)?.status === "completed";
  return ["edge", critical && "is-critical", done && "is-done"].filter(Boolean).join(" ");
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
