// The dependency graph as a table: wave by wave.

import { DataTable } from "./data_table.js";
import { h } from "./dom.js";
import { estimate, part } from "./format.js";
import { statusBadge } from "./status.js";

export class GraphList {
  constructor() {
    this.table = new DataTable({ label: "Tasks by wave", columns: [], keyOf: (task) => task.id, sort: "wave", down: false });
    this.element = h("div", { class: "panel", hidden: true }, this.table.element);
  }

  show(tasks, critical) {
    this.table.columns = columns(new Set(critical));
    this.table.show(tasks);
  }
}

function columns(path) {
  const names = (ids) => ids?.join(", ") || "–";
  return [
    { key: "wave", word: "Wave", value: (task) => task.wave, cell: (task) => String(task.wave + 1) },
    { key: "task", word: "Task", head: true, value: (task) => task.id, cell: (task) => h("a", { href: `#/task/${part(task.id)}`, "data-row": true }, `${task.id} ${task.name}`) },
    { key: "status", word: "Status", value: (task) => task.status, cell: (task) => statusBadge(task.status, task.own_status?.replaceAll("_", " ")) },
    { key: "needs", word: "Depends on", value: (task) => task.needs.length, cell: (task) => names(task.needs) },
    { key: "waits", word: "Waits for", value: (task) => task.waits_for?.length ?? 0, cell: (task) => names(task.waits_for) },
    { key: "estimate", word: "Estimate", number: true, value: (task) => task.estimated_minutes, cell: (task) => estimate(task.estimated_minutes) },
    { key: "critical", word: "Critical path", number: true, value: (task) => Number(path.has(task.id)), cell: (task) => (path.has(task.id) ? "yes" : "") },
  ];
}
