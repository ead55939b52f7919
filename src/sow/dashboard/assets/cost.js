// The page of costs: the cost of each agent, executor and run. A cost that was not reported is unknown, never 0.

import { get } from "./api.js";
import { DataTable, mostOf, withBar } from "./data_table.js";
import { h, render } from "./dom.js";
import { count, duration, money, part, plural } from "./format.js";
import { empty, load, panel } from "./parts.js";

export const title = "Cost";
const AGAIN = 5000; // ms between two looks at a live run's cost

/** #/cost */
export function mount(root, context) {
  const body = h("div", { class: "cost-body" });
  const groups = { agent: new Group("agent"), executor: new Group("executor"), run: new Group("run", runName) };
  let asked = Date.now();

  function show(answer) {
    if (!answer.total.turns) return body.replaceChildren(empty("Nothing spent yet", "The cost and tokens of agents appear here when they have worked."));
    render(
      body,
      tiles(answer.total),
      Object.entries(groups).map(([noun, group]) => group.show(answer[`by_${noun}`])),
    );
  }

  render(root, h("div", { class: "page-head" }, h("h1", null, "Cost")), body);
  const loading = load(body, (signal) => get("/api/cost", signal), show);
  return {
    update(change) {
      if (!change.kinds.has("run") || Date.now() - asked < AGAIN) return;
      asked = Date.now();
      void loading.again();
    },
    unmount: () => loading.stop(),
  };
}

function tiles(total) {
  const cost = total.cost_usd === null ? "unknown" : money(total.cost_usd);
  const unknown = total.cost_unknown_turns;
  const note = unknown ? `and ${plural(unknown, "turn")} of unknown cost` : "every turn reported its cost";
  return h(
    "div",
    { class: "tiles" },
    tile("Cost", unknown && total.cost_usd !== null ? `${cost}+` : cost, note),
    tile("Tokens in", told(count, total.input_tokens), ""),
    tile("Tokens out", told(count, total.output_tokens), ""),
    tile("Turns", count(total.turns), `${duration(total.seconds)} of work`),
  );
}

/** A large number with its name and a remark. */
export function tile(name, value, remark) {
  return h("div", { class: "tile", key: name }, h("span", { class: "tile-name" }, name), h("span", { class: "tile-value number" }, value), h("span", { class: "tile-remark" }, remark));
}

function told(format, value) {
  return value === null || value === undefined ? "unknown" : format(value);
}

/** One panel of sums; it is made once, so that an update takes neither focus nor order from it. */
class Group {
  constructor(noun, name = (row) => row.name) {
    Object.assign(this, { noun, name });
    this.table = new DataTable({ label: `By ${noun}`, columns: [], keyOf: (row) => row.name, sort: "cost" });
    this.element = panel(`By ${noun}`, this.table.element);
  }

  show(rows) {
    this.table.columns = costColumns(rows, this.noun, this.name);
    this.table.show(rows);
    return this.element;
  }
}

function runName(row) {
  if (!row.title || row.title === row.name) return row.name; // turns that belong to no run
  return h("span", { class: "run-name" }, h("a", { href: `#/runs/${part(row.name)}`, "data-row": true }, row.title), h("small", { class: "mono muted" }, row.name));
}

/** The columns that every sum of turns has. */
export function costColumns(rows, noun, name = (row) => row.name) {
  const most = (value) => mostOf(rows, value);
  const seconds = (row) => row.seconds ?? row.work_seconds;
  return [
    { key: "name", word: noun[0].toUpperCase() + noun.slice(1), head: true, value: (row) => row.name, cell: name },
    { key: "cost", word: "Cost", number: true, value: (row) => row.cost_usd, cell: (row) => withBar(costWords(row), row.cost_usd, most((each) => each.cost_usd)) },
    { key: "seconds", word: "Work", number: true, value: seconds, cell: (row) => withBar(duration(seconds(row)), seconds(row), most(seconds)) },
    { key: "turns", word: "Turns", number: true, value: (row) => row.turns, cell: (row) => String(row.turns) },
    { key: "input", word: "Tokens in", number: true, value: (row) => row.input_tokens, cell: (row) => withBar(told(count, row.input_tokens), row.input_tokens, most((each) => each.input_tokens)) },
    { key: "output", word: "Tokens out", number: true, value: (row) => row.output_tokens, cell: (row) => withBar(told(count, row.output_tokens), row.output_tokens, most((each) => each.output_tokens)) },
  ];
}

function costWords(row) {
  const unknown = row.cost_unknown_turns ?? 0;
  if (row.cost_usd === null || row.cost_usd === undefined) return h("span", { class: "muted" }, "unknown");
  return h("span", null, money(row.cost_usd), unknown ? h("small", { class: "muted", title: `${plural(unknown, "turn")} of unknown cost` }, ` + ${unknown} unknown`) : null);
}
