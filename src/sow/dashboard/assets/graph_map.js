// The whole graph in small, with a frame around the part that the window shows; a press or a drag moves the window.

import { h } from "./dom.js";
import { NODE } from "./graph_layout.js";
import { STATUSES, statusClass } from "./status.js";

const LARGEST = { width: 220, height: 130 };
const LEAST = 44; // of a side, so that a long and thin drawing can still be pressed

export class GraphMap {
  constructor(camera) {
    this.camera = camera;
    this.shapes = new Map(STATUSES.map((status) => [status, h("path", { class: ["map-tasks", statusClass(status)] })]));
    this.frame = h("rect", { class: "map-frame" });
    this.element = h("svg", { class: "graph-map", "aria-hidden": "true", preserveAspectRatio: "none", "data-testid": "graph-map" }, [...this.shapes.values()], this.frame);
    for (const type of ["pointerdown", "pointermove"]) this.element.addEventListener(type, (event) => this.go(event));
  }

  /** Draw the tasks of a layout by status. */
  show(drawn, tasks) {
    const scale = Math.min(LARGEST.width / drawn.width, LARGEST.height / drawn.height);
    this.element.style.width = `${Math.max(drawn.width * scale, LEAST)}px`;
    this.element.style.height = `${Math.max(drawn.height * scale, LEAST)}px`;
    this.element.setAttribute("viewBox", `0 0 ${Math.max(drawn.width, 1)} ${Math.max(drawn.height, 1)}`);
    const paths = new Map(STATUSES.map((status) => [status, []]));
    for (const [id, { x, y }] of drawn.places) {
      const status = tasks.get(id)?.status;
      (paths.get(status) ?? paths.get("pending")).push(`M${Math.round(x)} ${Math.round(y)}h${NODE.width}v${NODE.height}h-${NODE.width}z`);
    }
    for (const [status, shape] of this.shapes) shape.setAttribute("d", paths.get(status).join(""));
    this.follow();
  }

  /** Put the frame where the window is; where the window shows everything, the map is not needed. */
  follow() {
    const { camera } = this;
    const { width, height } = camera.window;
    const drawn = camera.size();
    this.element.classList.toggle("is-idle", drawn.width * camera.zoom <= width && drawn.height * camera.zoom <= height);
    const place = { x: -camera.x / camera.zoom, y: -camera.y / camera.zoom, width: width / camera.zoom, height: height / camera.zoom };
    for (const [name, value] of Object.entries(place)) this.frame.setAttribute(name, value.toFixed(1));
  }

  go(event) {
    if (event.type === "pointermove" && !event.buttons) return;
    event.preventDefault();
    if (event.type === "pointerdown") this.element.setPointerCapture(event.pointerId);
    const box = this.element.getBoundingClientRect();
    const drawn = this.camera.size();
    this.camera.centre(((event.clientX - box.left) / box.width) * drawn.width, ((event.clientY - box.top) / box.height) * drawn.height);
  }
}
