// The graph with its buttons, its legend and its other form as a list; the graph's page and a run's page show it.

import { h, say } from "./dom.js";
import { plural } from "./format.js";
import { GraphList } from "./graph_list.js";
import { GraphView } from "./graph_view.js";
import { icon } from "./icons.js";
import { legend } from "./legend.js";

const LEGEND = [
  ["sample-line-critical", "critical path: the longest chain of open tasks"],
  ["sample-line-open", "depends on"],
  ["sample-line-done", "depends on a completed task"],
];

export class GraphPanel {
  constructor() {
    this.view = new GraphView();
    this.asList = false;
    this.listed = new GraphList();
    this.note = h("p", { class: "tools-note" });
    this.toggle = h("button", { type: "button", class: "button", "aria-pressed": "false", onclick: () => this.turn() }, icon("timeline"), "As a list");
    this.zooms = h("span", { class: "button-group" }, this.buttons());
    this.legend = legend(LEGEND);
    this.tools = h("div", { class: "tools" }, this.note, this.zooms, this.toggle);
    this.element = h("section", { class: "graph-panel" }, this.tools, this.view.element, this.listed.element, this.legend);
  }

  buttons() {
    const { camera } = this.view;
    const button = (word, name, act) => h("button", { type: "button", class: "button", "aria-label": name, title: name, onclick: act }, word);
    return [
      button("−", "Zoom out", () => camera.farther()),
      button("+", "Zoom in", () => camera.nearer()),
      button("Fit", "Show the whole graph", () => this.view.whole()),
    ];
  }

  /** Show these rows. */
  show(tasks, critical, chosen = null) {
    this.shown = { tasks, critical };
    const left = this.view.show(tasks, critical, chosen);
    const waves = new Set(tasks.map((task) => task.wave)).size;
    const part = left ? `${tasks.length - left} of ${plural(tasks.length, "task")}, nearest to active work` : plural(tasks.length, "task");
    const lines = this.view.isGrouped && !this.view.isDown && "point at a task to see its lines";
    say(this.note, [part, plural(waves, "wave"), critical.length > 1 && `critical path: ${plural(critical.length, "task")}`, lines].filter(Boolean).join(", "));
    if (this.asList) this.listed.show(tasks, critical);
  }

  turn() {
    this.asList = !this.asList;
    this.toggle.setAttribute("aria-pressed", String(this.asList));
    this.view.element.hidden = this.asList;
    this.legend.hidden = this.asList;
    this.zooms.hidden = this.asList;
    this.listed.element.hidden = !this.asList;
    if (this.asList) this.listed.show(this.shown.tasks, this.shown.critical);
  }

  unmount() {
    this.view.unmount();
  }
}
