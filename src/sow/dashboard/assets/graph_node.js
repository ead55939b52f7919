// One task in the graph: a link with a drawing, its name and what it is doing, changed in place.

import { h, say } from "./dom.js";
import { duration, part } from "./format.js";
import { NODE } from "./graph_layout.js";
import { icon } from "./icons.js";
import { statusClass, statusWord } from "./status.js";
import { fitted, inLines } from "./text_width.js";

const ROOM = NODE.width - 46;
/** The places of the lines of a name, by their number; the last place is that of the line below. */
const TOPS = [
  [31, 31, 31, 49],
  [23, 39, 39, 56],
  [17, 32, 47, 62],
];
const SANS = getComputedStyle(document.documentElement).getPropertyValue("--sans").trim() || "sans-serif";
const NAME_FONT = `550 13px ${SANS}`;
const DOING_FONT = `400 11.5px ${SANS}`;

export class GraphNode {
  constructor(id) {
    this.id = id;
    this.badge = h("g", { transform: "translate(14 17)" });
    this.lines = TOPS.map(() => h("text", { class: "node-name", x: 38 }));
    this.doing = h("text", { class: "node-doing", x: 38 });
    this.title = h("svg:title");
    this.element = h(
      "svg:a",
      { href: `#/task/${part(id)}`, "data-task": id },
      h("rect", { class: "node-box", width: NODE.width, height: NODE.height, rx: 7 }),
      h("path", { class: "node-stripe", d: `M7 0H5a5 5 0 0 0-5 5v${NODE.height - 10}a5 5 0 0 0 5 5h2z` }),
      this.title,
      this.badge,
      this.lines,
      this.doing,
    );
    this.shown = "";
  }

  place({ x, y }) {
    this.element.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
  }

  /** Show a row; nothing is touched when it looks the same. Where lines are not drawn, `tells` what it needs. */
  show(task, critical, needs, tells) {
    const doing = tells && needs && task.status === "pending" ? `needs ${needs}` : doingOf(task);
    const look = [task.name, task.status, doing, task.running, critical].join("\n");
    if (look === this.shown) return;
    this.shown = look;
    const classes = ["node", statusClass(task.status), task.running && "is-running", critical && "is-critical"];
    this.element.setAttribute("class", classes.filter(Boolean).join(" "));
    if (this.status !== task.status) this.badge.replaceChildren(icon(task.status));
    this.status = task.status;
    const name = `${task.id}  ${task.name}`;
    const lines = inLines(name, TOPS.length, ROOM, NAME_FONT);
    const tops = TOPS[lines.length - 1];
    this.lines.forEach((line, at) => (line.setAttribute("y", tops[at]), say(line, lines[at] ?? "")));
    this.doing.setAttribute("y", tops.at(-1));
    say(this.title, name);
    say(this.doing, fitted(doing, ROOM, DOING_FONT));
    const path = critical ? ", on the critical path" : "";
    const after = needs ? `, depends on ${needs}` : "";
    this.element.setAttribute("aria-label", `${task.id} ${task.name}: ${doing}${path}${after}`);
  }
}

function doingOf(task) {
  const word = task.own_status ? task.own_status.replaceAll("_", " ") : statusWord(task.status);
  if (task.question) return "asks a question";
  if (task.running && task.step) return task.step;
  const worked = task.seconds && ["completed", "failed"].includes(task.status) ? ` · ${duration(task.seconds)}` : "";
  return word + worked;
}
