// A table that is sorted by clicking a heading, shows a long list in parts, and becomes cards on a narrow screen.

import { h, render } from "./dom.js";
import { icon } from "./icons.js";

const PAGE = 200;

/**
 * Columns are {key, word, value(row), cell(row), number?, head?}: `value` is what is sorted by (null comes last), `cell`
 * is what is shown, and `head` marks the column that names the row.
 */
export class DataTable {
  constructor({ label, columns, keyOf, sort = null, down = true }) {
    Object.assign(this, { label, columns, keyOf, sort, down, rows: [], most: PAGE });
    this.frame = h("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": label });
    this.rest = h("div", { class: "table-rest" });
    this.element = h("div", null, this.frame, this.rest);
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    render(
      this.frame,
      h(
        "table",
        { class: "table data-table" },
        h("thead", null, h("tr", null, this.columns.map((column) => this.heading(column)))),
        h("tbody", null, this.sorted().slice(0, this.most).map((row) => this.row(row))),
      ),
    );
    const left = this.rows.length - this.most;
    render(this.rest, left > 0 ? h("button", { type: "button", class: "button", onclick: () => this.widen() }, `Show ${Math.min(PAGE, left)} more of ${this.rows.length}`) : null);
  }

  widen() {
    this.most += PAGE;
    this.draw();
  }

  heading(column) {
    const chosen = this.sort === column.key;
    const order = chosen ? (this.down ? "descending" : "ascending") : null;
    const classes = ["sort", chosen && "is-chosen", chosen && !this.down && "is-up"];
    const button = h("button", { type: "button", class: classes, onclick: () => this.choose(column.key) }, column.word, icon("down"));
    return h("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": order, key: column.key }, button);
  }

  choose(key) {
    this.down = this.sort === key ? !this.down : true;
    this.sort = key;
    this.draw();
  }

  sorted() {
    const column = this.columns.find((each) => each.key === this.sort);
    if (!column) return this.rows;
    const sign = this.down ? -1 : 1;
    return [...this.rows].sort((one, other) => compare(column.value(one), column.value(other), sign));
  }

  row(row) {
    return h(
      "tr",
      { key: this.keyOf(row) },
      this.columns.map((column) =>
        h(
          column.head ? "th" : "td",
          { scope: column.head ? "row" : null, class: column.number ? "number" : null, "data-label": column.word, key: column.key },
          column.cell(row),
        ),
      ),
    );
  }
}

function compare(one, other, sign) {
  const empty = [one, other].map((value) => value === null || value === undefined || value === "");
  if (empty[0] || empty[1]) return Number(empty[0]) - Number(empty[1]);
  if (typeof one === "number" && typeof other === "number") return sign * (one - other);
  return sign * String(one).localeCompare(String(other), "en", { numeric: true });
}

/** A number with a thin bar that shows its share of the largest; what is unknown has no bar. */
export function withBar(words, value, most) {
  const share = value && most ? Math.max((100 * value) / most, 1) : 0;
  return h("span", { class: "measured" }, h("span", null, words), h("span", { class: "measure", "aria-hidden": "true" }, h("i", { style: { width: `${share.toFixed(1)}%` } })));
}

/** The largest of some values; unknown ones count as nothing. */
export function mostOf(rows, value) {
  return rows.reduce((most, row) => Math.max(most, value(row) ?? 0), 0);
}
