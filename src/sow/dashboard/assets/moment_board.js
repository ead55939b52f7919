// The board at a moment of a run: how many tasks stood where, and which.

import { h, render } from "./dom.js";
import { part } from "./format.js";
import { icon } from "./icons.js";
import { STATUSES, statusClass, statusWord } from "./status.js";

const MOST = 40;

export class MomentBoard {
  constructor() {
    this.element = h("div", { class: "moment-board" });
  }

  show(rows) {
    const groups = new Map(STATUSES.map((status) => [status, []]));
    for (const row of rows) (groups.get(row.status) ?? groups.get("pending")).push(row);
    render(this.element, STATUSES.map((status) => column(status, groups.get(status), rows.length)));
  }
}

function column(status, rows, total) {
  const share = total ? (100 * rows.length) / total : 0;
  return h(
    "section",
    { class: ["moment-column", statusClass(status)], key: status },
    h("h2", { class: "moment-head" }, icon(status), statusWord(status), h("span", { class: "moment-count number" }, rows.length)),
    h("div", { class: "bar", "aria-hidden": "true" }, h("span", { style: { width: `${share.toFixed(1)}%` } })),
    h("ul", { class: "moment-cards" }, rows.slice(0, MOST).map(card)),
    rows.length > MOST ? h("p", { class: "muted" }, `and ${rows.length - MOST} more`) : null,
  );
}

function card(row) {
  return h(
    "li",
    { key: row.id },
    h("a", { class: "moment-card", href: `#/task/${part(row.id)}` }, h("span", { class: "mono" }, row.id), ` ${row.name}`, row.running && row.step ? h("small", null, row.step) : null),
  );
}
