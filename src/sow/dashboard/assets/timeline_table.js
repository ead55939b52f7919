// The timeline as a table: every span and mark in the order of time.

import { DataTable } from "./data_table.js";
import { h } from "./dom.js";
import { clock, duration, part } from "./format.js";
import { kindOf, KINDS, laneName, MARKS, whoOf } from "./timeline_lane.js";

export class TimelineTable {
  constructor() {
    this.table = new DataTable({ label: "Timeline as a table", columns: COLUMNS, keyOf: (row) => row.key, sort: "at", down: false });
    this.element = h("div", { class: "panel", hidden: true }, this.table.element);
  }

  show(facts, now) {
    this.table.show(rowsOf(facts, now));
  }
}

const COLUMNS = [
  { key: "at", word: "From", value: (row) => row.at, cell: (row) => clock(row.at) },
  { key: "length", word: "Length", number: true, value: (row) => row.length, cell: (row) => (row.length === null ? "" : duration(row.length)) },
  { key: "task", word: "Task", head: true, value: (row) => laneName(row.lane), cell: task },
  { key: "what", word: "What", value: (row) => row.what, cell: (row) => row.what },
  { key: "who", word: "Who", value: (row) => row.who, cell: (row) => row.who },
  { key: "outcome", word: "Outcome", value: (row) => row.outcome, cell: (row) => row.outcome },
  { key: "text", word: "Words", value: (row) => row.text, cell: (row) => h("span", { class: "muted wrap" }, row.text) },
];

function task({ lane }) {
  return lane.id ? h("a", { href: `#/task/${part(lane.id)}`, "data-row": true }, laneName(lane)) : lane.name;
}

function rowsOf(facts, now) {
  const [whole] = facts.lanes;
  const rows = facts.gaps.map((gap) => row(whole, gap.from, gap.to - gap.from, "sow was not running"));
  for (const lane of facts.lanes) {
    for (const span of facts.spansOf(lane.id)) {
      const outcome = span.to === null ? "still running" : span.outcome;
      rows.push(row(lane, span.from, (span.to ?? now) - span.from, KINDS[kindOf(span)], whoOf(span), outcome, span.text));
    }
    for (const mark of facts.marksOf(lane.id)) rows.push(row(lane, mark.at, null, (MARKS[mark.kind] ?? ["", mark.kind])[1], "", "", mark.text));
  }
  return rows.sort((a, b) => a.at - b.at).map((each, index) => ({ ...each, key: index }));
}

function row(lane, at, length, what, who = "", outcome = "", text = "") {
  return { lane, at, length, what, who, outcome, text };
}
