// The timeline with its summary, buttons, legend and table; the timeline's page and a run's page show it.

import { h, say } from "./dom.js";
import { icon } from "./icons.js";
import { legend } from "./legend.js";
import { KINDS, MARKS } from "./timeline_lane.js";
import { TimelineTable } from "./timeline_table.js";
import { TimelineView } from "./timeline_view.js";

const MANY = 60;
const LEGEND = [
  ...Object.entries(KINDS).map(([kind, word]) => [`sample-bar kind-${kind}`, word]),
  ["sample-bar sample-for-people", "waits for you"],
  ["sample-gap", "sow was not running"],
  ...Object.entries(MARKS).map(([kind, [sign, word]]) => [`sample-mark mark-${kind}`, word, sign]),
];

export class TimelinePanel {
  constructor() {
    this.view = new TimelineView();
    this.asTable = false;
    this.summary = h("p", { class: "tools-note" });
    this.table = new TimelineTable();
    this.legend = legend(LEGEND);
    this.toggle = h("button", { type: "button", class: "button", "aria-pressed": "false", onclick: () => this.turn() }, icon("board"), "As a table");
    this.begun = h("input", { type: "checkbox", onchange: () => this.choose() });
    this.beginning = h("label", { class: "check", hidden: true }, this.begun, "only started tasks");
    this.zooms = h("span", { class: "button-group" }, this.buttons());
    const tools = h("div", { class: "tools" }, this.summary, this.beginning, this.zooms, this.toggle);
    this.element = h("section", { class: "timeline-panel" }, tools, this.view.element, this.table.element, this.legend);
  }

  buttons() {
    const button = (word, name, act) => h("button", { type: "button", class: "button", "aria-label": name, title: name, onclick: act }, word);
    return [button("−", "Zoom out in time", () => this.view.farther()), button("+", "Zoom in in time", () => this.view.nearer())];
  }

  /** Show a run from its facts; also called again when they have grown. */
  show(facts) {
    if (!this.facts && facts.lanes.length > MANY) {
      this.beginning.hidden = false;
      this.begun.checked = true;
      this.view.onlyBegun = true;
    }
    this.facts = facts;
    this.view.show(facts);
    say(this.summary, facts.summary(this.view.now));
    if (this.asTable) this.table.show(facts, this.view.now);
  }

  choose() {
    this.view.onlyBegun = this.begun.checked;
    this.view.draw();
  }

  turn() {
    this.asTable = !this.asTable;
    this.toggle.setAttribute("aria-pressed", String(this.asTable));
    this.view.element.hidden = this.asTable;
    this.legend.hidden = this.asTable;
    this.zooms.hidden = this.asTable;
    this.table.element.hidden = !this.asTable;
    if (this.asTable) this.table.show(this.facts, this.view.now);
  }

  unmount() {
    this.view.unmount();
  }
}
